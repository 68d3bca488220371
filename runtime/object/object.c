/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/object/object.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/float_mode.h"
#include "runtime/base/memory.h"
#include "runtime/data/array.h"
#include "runtime/object/trial.h"
#include "runtime/run/bind_variant.h"
#include "runtime/step/frame.h"
#include "runtime/step/step.h"

/*
 * A run binds its object to the extents and strides of the call, as the executor does, but in the caller's memory: the
 * binding, then the pointer tables of one run, then the temporaries. It stays there for the next run.
 */

/* For the status of a run that fails. */
enum { STATUS_BYTES = 8192 };

/* A call taken apart. */
typedef struct object_call {
    const weft_rt_object *object;
    const int64_t *extents;
    void *const *pointers; /* the weights, if they are in a file; then as `data` */
    size_t pointer_count;
    void *const *data; /* of inputs, then outputs; as `layouts` */
    const weft_rt_layout *const *layouts;
} object_call;

typedef struct object_binding {
    const weft_rt_object *object;
    weft_pool *pool; /* that the caller gave */
    int64_t *extents;
    size_t array_count; /* inputs, then outputs */
    weft_array **arrays;
    bool *laid_out; /* whether the caller said how an array lies */
    bool *donated;  /* of each input */
    weft_run run;
    void **pointers; /* of the call that those of `frame` were made for */
    bool is_set;
    weft_bound_variant *bound;
    weft_frame *frame;
    void *arena;
    size_t mark; /* of the workspace: what is used after it belongs to one run */
    weft_workspace workspace;
} object_binding;

/* ---- errors ---- */

static weft_rt_code code_of(const weft_status *status)
{
    switch (weft_status_code(status)) {
    case WEFT_OK: return WEFT_RT_OK;
    case WEFT_OUT_OF_MEMORY: return WEFT_RT_OUT_OF_MEMORY;
    case WEFT_INVALID_ARGUMENT: return WEFT_RT_INVALID_ARGUMENT;
    case WEFT_SHAPE_MISMATCH: return WEFT_RT_SHAPE_MISMATCH;
    case WEFT_OUT_OF_RANGE: return WEFT_RT_OUT_OF_RANGE;
    case WEFT_UNSUPPORTED: return WEFT_RT_UNSUPPORTED;
    case WEFT_DATA_ERROR: return WEFT_RT_DATA_ERROR;
    case WEFT_VERSION_MISMATCH: return WEFT_RT_VERSION_MISMATCH;
    default: return WEFT_RT_INTERNAL;
    }
}

const char *weft_rt_code_name(weft_rt_code code)
{
    static const char *const names[] = {
        [WEFT_RT_OK] = "OK",
        [WEFT_RT_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
        [WEFT_RT_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
        [WEFT_RT_SHAPE_MISMATCH] = "SHAPE_MISMATCH",
        [WEFT_RT_OUT_OF_RANGE] = "OUT_OF_RANGE",
        [WEFT_RT_UNSUPPORTED] = "UNSUPPORTED",
        [WEFT_RT_BAD_FILE] = "BAD_FILE",
        [WEFT_RT_DATA_ERROR] = "DATA_ERROR",
        [WEFT_RT_VERSION_MISMATCH] = "VERSION_MISMATCH",
        [WEFT_RT_INTERNAL] = "INTERNAL",
    };
    return (unsigned)code < sizeof names / sizeof *names ? names[code] : "UNKNOWN";
}

/* Takes no memory. */
static WEFT_FORMAT(3, 4) weft_rt_code fail(weft_rt_error *out_error, weft_rt_code code, const char *format, ...)
{
    va_list arguments;
    if (out_error == NULL) return code;
    out_error->code = code;
    va_start(arguments, format);
    vsnprintf(out_error->message, sizeof out_error->message, format, arguments);
    va_end(arguments);
    return code;
}

/* Takes `status`. */
static weft_rt_code report(weft_status *status, weft_rt_error *out_error)
{
    if (status == NULL) return WEFT_RT_OK;
    weft_rt_code code = fail(out_error, code_of(status), "%s", weft_status_message(status));
    weft_status_destroy(status);
    return code;
}

/* ---- the call ---- */

/* Reads nothing but the manifest: the object may be of another version. */
static object_call call_of(const weft_rt_object *object, const void *call)
{
    const int64_t *extents = call;
    void *const *pointers = (void *const *)(extents + object->manifest.symbol_count);
    size_t arrays = (size_t)object->manifest.input_count + object->manifest.output_count;
    size_t weights = object->manifest.weights_size > 0;
    return (object_call){.object = object,
                         .extents = extents,
                         .pointers = pointers,
                         .pointer_count = weights + arrays,
                         .data = pointers + weights,
                         .layouts = (const weft_rt_layout *const *)(pointers + weights + arrays)};
}

static const weft_program_value *value_of(const weft_program *program, size_t array)
{
    return array < program->input_count ? &program->inputs[array] : &program->outputs[array - program->input_count];
}

static bool has_layout(const object_call *call, size_t array)
{
    const weft_rt_layout *layout = call->layouts[array];
    return layout != NULL && (layout->shape != NULL || layout->strides != NULL);
}

static weft_rt_code check_pointers(const weft_rt_object *object, const void *call, const weft_rt_workspace *workspace,
                                   weft_rt_error *out_error)
{
    if (call != NULL && workspace != NULL) return WEFT_RT_OK;
    return fail(out_error, WEFT_RT_INVALID_ARGUMENT, "%s: %s is NULL", object->manifest.name,
                call == NULL ? "call" : "workspace");
}

/* That the object is for this library, and the processor for the object. */
static weft_rt_code check_object(const weft_rt_object *object, weft_rt_error *out_error)
{
    const weft_rt_manifest *manifest = &object->manifest;
    if (manifest->abi != WEFT_RT_ABI || manifest->size != sizeof *manifest)
        return fail(out_error, WEFT_RT_VERSION_MISMATCH,
                    "%s was compiled by weft %s, for interface %u of libweft-rt; this one is of weft %d.%d.%d and has "
                    "interface %d",
                    manifest->name, manifest->version, (unsigned)manifest->abi, WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
                    WEFT_VERSION_PATCH, WEFT_RT_ABI);
    for (size_t i = 0; i < object->variant_count; i++)
        if (weft_isa_includes(weft_isa_level(), object->variants[i].level)) return WEFT_RT_OK;
    return fail(out_error, WEFT_RT_UNSUPPORTED, "%s was compiled for processors with %s, this one has %s",
                manifest->name, manifest->isa, weft_isa_name());
}

/* ---- arrays ---- */

/* Takes `status`, which is about an array. */
static weft_status *name_array(const object_binding *b, size_t array, weft_status *status)
{
    const weft_program *program = b->object->program;
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    return weft_status_create(&b->workspace.allocator, weft_status_code(status), b->object->manifest.name,
                              "%s \"%s\": %s", array < program->input_count ? "input" : "output",
                              value_of(program, array)->name, weft_status_message(status));
}

/* Shape and strides are those of the call, or follow from the values of the program's formulas; any address will do
 * until the run. */
static weft_status *make_array(object_binding *b, const object_call *call, const int64_t *values, size_t array)
{
    const weft_program_value *value = value_of(b->object->program, array);
    const weft_rt_layout none = {NULL, NULL}, *layout = has_layout(call, array) ? call->layouts[array] : &none;
    int64_t shape[WEFT_MAX_RANK];
    const int64_t *given = layout->shape;
    for (size_t axis = 0; axis < value->rank && given == NULL; axis++) shape[axis] = values[value->extents[axis]];
    return name_array(b, array,
                      weft_array_wrap(&b->workspace.allocator, value->dtype, value->rank, given != NULL ? given : shape,
                                      layout->strides, b, NULL, NULL, &b->arrays[array]));
}

/* First those whose shape is given, which are checked with the extents; the others follow from these. */
static weft_status *make_arrays(object_binding *b, const object_call *call, const weft_call *inner)
{
    const weft_formulas *formulas = &b->object->program->formulas;
    const weft_allocator *allocator = &b->workspace.allocator;
    int64_t *symbols = weft_allocate(allocator, (formulas->symbol_count + formulas->count) * sizeof *symbols);
    if (symbols == NULL) return weft_status_out_of_memory();
    int64_t *values = symbols + formulas->symbol_count;
    for (size_t i = 0; i < b->array_count; i++) {
        b->laid_out[i] = has_layout(call, i);
        if (b->laid_out[i] && call->layouts[i]->shape != NULL) WEFT_TRY(make_array(b, call, NULL, i));
    }
    WEFT_TRY(weft_call_bind(allocator, inner, symbols, values));
    for (size_t i = 0; i < b->array_count; i++)
        if (b->arrays[i] == NULL) WEFT_TRY(make_array(b, call, values, i));
    return NULL;
}

/* ---- binding ---- */

static bool fits(const object_binding *b, const weft_rt_variant *variant, bool strided)
{
    size_t bytes = b->object->manifest.symbol_count * sizeof(int64_t);
    return weft_isa_includes(weft_isa_level(), variant->level) && (variant->strided || !strided) &&
           (variant->extents == NULL || memcmp(variant->extents, b->extents, bytes) == 0);
}

/* The best is the first that fits; there is one, since each level has one for any extents and strides. */
static const weft_variant *choose(const object_binding *b)
{
    const weft_rt_variant *variant = b->object->variants;
    bool strided = false;
    for (size_t i = 0; i < b->array_count; i++) strided |= !weft_array_is_contiguous(b->arrays[i]);
    while (!fits(b, variant, strided)) variant++;
    return variant->variant;
}

/* For products, which pack their operands: a block for each thread. */
static weft_status *make_blocks(weft_bound_variant *bound)
{
    if (bound->variant->methods[WEFT_STEP_GEMM] == NULL) return NULL;
    return weft_block_store_create_fixed(bound->allocator, weft_pool_size(bound->pool), bound->block_bytes,
                                         &bound->blocks);
}

static const weft_driver driver = {.size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}};
static const weft_runtime runtime = {.size = sizeof runtime, .name = "object", .driver = &driver};
static const weft_registry extensions; /* none: an object has the ops that it needs */

static weft_status *bind_variant(object_binding *b, const weft_call *inner)
{
    weft_bound_variant environment = {
        .allocator = &b->workspace.allocator, .pool = b->pool, .extensions = &extensions, .host_runtime = &runtime};
    if (b->pool == NULL) WEFT_TRY(weft_pool_create(environment.allocator, weft_machine_host(), 1, &environment.pool));
    WEFT_TRY(weft_bound_variant_create(&environment, choose(b), inner, NULL, &b->bound));
    WEFT_TRY(make_blocks(b->bound));
    WEFT_TRY(weft_frame_create(b->bound, &b->frame));
    b->arena = b->frame->arena != NULL ? b->frame->arena
                                       : weft_workspace_reserve(&b->workspace, (size_t)b->bound->arena_bytes);
    b->mark = atomic_load(&b->workspace.used);
    return NULL;
}

static weft_status *bind(object_binding *b, const object_call *call)
{
    const weft_program *program = b->object->program;
    const weft_allocator *allocator = &b->workspace.allocator;
    size_t symbols = b->object->manifest.symbol_count;
    b->array_count = program->input_count + program->output_count;
    b->extents = weft_allocate(allocator, symbols * sizeof *b->extents);
    b->arrays = weft_allocate_zeroed(allocator, b->array_count * sizeof *b->arrays);
    b->laid_out = weft_allocate_zeroed(allocator, b->array_count);
    b->donated = weft_allocate_zeroed(allocator, program->input_count);
    b->pointers = weft_allocate_zeroed(allocator, call->pointer_count * sizeof *b->pointers);
    weft_binding *extents = weft_allocate(allocator, symbols * sizeof *extents);
    if (b->extents == NULL || b->arrays == NULL || b->laid_out == NULL || b->donated == NULL || b->pointers == NULL ||
        extents == NULL)
        return weft_status_out_of_memory();
    memcpy(b->extents, call->extents, symbols * sizeof *b->extents);
    for (size_t i = 0; i < symbols; i++)
        extents[i] = (weft_binding){program->formulas.symbols[i].name, call->extents[i]};
    b->run = (weft_run){.input_count = program->input_count,
                        .inputs = b->arrays,
                        .output_count = program->output_count,
                        .outputs = b->arrays + program->input_count,
                        .extent_count = symbols,
                        .extents = extents,
                        .donated = b->donated};
    const weft_call inner = {.runtime = &runtime, .program = (weft_program *)(uintptr_t)program, .run = &b->run};
    WEFT_TRY(make_arrays(b, call, &inner));
    return bind_variant(b, &inner);
}

/* ---- prepare ---- */

static void fill_shapes(const object_binding *b, int64_t *out_shapes)
{
    for (size_t i = b->object->program->input_count; i < b->array_count && out_shapes != NULL; i++)
        for (size_t axis = 0; axis < weft_array_rank(b->arrays[i]); axis++)
            *out_shapes++ = weft_array_shape(b->arrays[i])[axis];
}

/* Of memory of any alignment, for a binding that is complete. */
static size_t bytes_needed(const object_binding *b)
{
    return sizeof *b + b->mark + 2 * WEFT_WORKSPACE_ALIGNMENT + STATUS_BYTES;
}

static weft_rt_code run_trial(object_binding *b, const object_call *call, weft_rt_workspace *given,
                              weft_rt_error *out_error)
{
    weft_status *status = bind(b, call);
    if (status == NULL) weft_trial_tell(given, bytes_needed(b));
    size_t more = weft_status_code(status) == WEFT_OUT_OF_MEMORY ? weft_trial_ask(given) : 0;
    if (more == 0) return report(status, out_error);
    return fail(out_error, WEFT_RT_OUT_OF_MEMORY,
                "%s_prepare needs memory in the workspace, and more than there was: %zu bytes may do",
                b->object->manifest.name, more);
}

weft_rt_code weft_rt_prepare(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                             int64_t *out_shapes, weft_rt_error *out_error)
{
    weft_rt_code code = check_pointers(object, call, workspace, out_error);
    if (code == WEFT_RT_OK) code = check_object(object, out_error);
    if (code != WEFT_RT_OK) return code;
    const object_call taken = call_of(object, call);
    object_binding b = {.object = object, .pool = (weft_pool *)workspace->pool};
    weft_trial_begin(&b.workspace, workspace);
    weft_float_mode saved = weft_float_mode_enter();
    code = run_trial(&b, &taken, workspace, out_error);
    weft_float_mode_leave(saved);
    if (code == WEFT_RT_OK) fill_shapes(&b, out_shapes);
    weft_trial_end(&b.workspace);
    return code;
}

/* ---- run ---- */

static bool is_same_layout(const object_binding *b, const object_call *call, size_t array)
{
    if (has_layout(call, array) != b->laid_out[array]) return false;
    if (!b->laid_out[array]) return true;
    const weft_rt_layout *layout = call->layouts[array];
    const weft_array *bound = b->arrays[array];
    size_t bytes = weft_array_rank(bound) * sizeof(int64_t);
    if (layout->shape != NULL && memcmp(layout->shape, weft_array_shape(bound), bytes) != 0) return false;
    if (layout->strides == NULL) return weft_array_is_contiguous(bound);
    return memcmp(layout->strides, weft_array_strides(bound), bytes) == 0;
}

/* Whether the last run in this memory had the same extents and strides. */
static bool is_bound(const object_binding *b, const object_call *call, const weft_rt_workspace *workspace)
{
    if (b == NULL || workspace->memory == NULL || (char *)b != weft_workspace_align(workspace->memory) ||
        b->object != call->object || b->pool != (weft_pool *)workspace->pool)
        return false;
    for (size_t i = 0; i < b->object->manifest.symbol_count; i++)
        if (b->extents[i] != call->extents[i]) return false;
    size_t i = 0;
    while (i < b->array_count && is_same_layout(b, call, i)) i++;
    return i == b->array_count;
}

static weft_rt_code bind_in(const object_call *call, weft_rt_workspace *workspace, weft_rt_error *out_error)
{
    const weft_rt_object *object = call->object;
    char *memory = workspace->memory;
    weft_rt_code code = check_object(object, out_error);
    if (code != WEFT_RT_OK) return code;
    if (memory == NULL)
        return fail(out_error, WEFT_RT_INVALID_ARGUMENT,
                    "workspace.memory is NULL: %s_prepare says how many bytes it needs", object->manifest.name);
    char *begin = weft_workspace_align(memory), *rest = weft_workspace_align(begin + sizeof(object_binding));
    size_t taken = (size_t)(rest - memory);
    weft_status *status = weft_status_out_of_memory();
    object_binding *b = (object_binding *)begin;
    if (workspace->size >= taken) {
        *b = (object_binding){.object = object, .pool = (weft_pool *)workspace->pool};
        weft_workspace_init(&b->workspace, rest, workspace->size - taken);
        status = bind(b, call);
        if (status == NULL && b->arena == NULL)
            return fail(out_error, WEFT_RT_OUT_OF_MEMORY,
                        "the workspace of %zu bytes is too small: this call needs %zu, as %s_prepare says",
                        workspace->size, bytes_needed(b), object->manifest.name);
    }
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY)
        return fail(out_error, WEFT_RT_OUT_OF_MEMORY,
                    "the workspace of %zu bytes is too small: %s_prepare says how many this call needs",
                    workspace->size, object->manifest.name);
    if (status == NULL) workspace->binding = b;
    return report(status, out_error);
}

/* Functions of extensions are called. */
static weft_rt_code bind_plainly(const object_call *call, weft_rt_workspace *workspace, weft_rt_error *out_error)
{
    weft_float_mode saved = weft_float_mode_enter();
    weft_rt_code code = bind_in(call, workspace, out_error);
    weft_float_mode_leave(saved);
    return code;
}

static weft_status *set_data(object_binding *b, const object_call *call)
{
    for (size_t i = 0; i < b->array_count; i++) {
        weft_status *status = weft_array_move(b->arrays[i], b->object->manifest.name, call->data[i]);
        if (status != NULL) return name_array(b, i, status);
    }
    return NULL;
}

/* An output that updates an input may be the same memory. */
static void find_donated(object_binding *b)
{
    const uint32_t *alias = b->bound->variant->output_alias;
    size_t inputs = b->object->program->input_count;
    for (size_t i = 0; alias != NULL && i < inputs; i++)
        if (alias[i] != WEFT_NO_ALIAS)
            b->donated[i] = weft_array_data(b->arrays[inputs + alias[i]]) == weft_array_data(b->arrays[i]);
}

static weft_status *set_weights(object_binding *b, const object_call *call)
{
    const char *weights = b->object->manifest.weights_size > 0 ? call->pointers[0] : NULL;
    if (b->object->manifest.weights_size > 0) {
        if (weights == NULL || (uintptr_t)weights % WEFT_WORKSPACE_ALIGNMENT != 0)
            return weft_status_create(&b->workspace.allocator, WEFT_INVALID_ARGUMENT, b->object->manifest.name,
                                      weights == NULL ? "weights is NULL" : "weights is not aligned to 64 bytes");
        uint64_t digest;
        memcpy(&digest, weights + WEFT_RT_WEIGHTS_DIGEST_AT, sizeof digest);
        if (digest != b->object->manifest.weights_digest)
            return weft_status_create(&b->workspace.allocator, WEFT_INVALID_ARGUMENT, b->object->manifest.name,
                                      "weights are not those of the program");
    }
    b->frame->weights = weights;
    return NULL;
}

/* Has the pointer tables point to the arrays of the call. */
static weft_status *set_pointers(object_binding *b, const object_call *call)
{
    size_t bytes = call->pointer_count * sizeof *b->pointers;
    if (b->is_set && memcmp(b->pointers, call->pointers, bytes) == 0) return NULL;
    b->is_set = false;
    WEFT_TRY(set_weights(b, call));
    WEFT_TRY(set_data(b, call));
    find_donated(b);
    WEFT_TRY(weft_frame_open_in(b->frame, &b->run, b->arena));
    memcpy(b->pointers, call->pointers, bytes);
    b->is_set = true;
    return NULL;
}

weft_rt_code weft_rt_run(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                         weft_rt_error *out_error)
{
    weft_rt_code code = check_pointers(object, call, workspace, out_error);
    if (code != WEFT_RT_OK) return code;
    const object_call taken = call_of(object, call);
    if (!is_bound(workspace->binding, &taken, workspace)) {
        workspace->binding = NULL;
        code = bind_plainly(&taken, workspace, out_error);
        if (code != WEFT_RT_OK) return code;
    }
    object_binding *b = workspace->binding;
    bool calls_others = b->bound->view_count > 0; /* they may compute in long double, and take memory */
    weft_float_mode saved = calls_others ? weft_float_mode_enter() : weft_float_mode_enter_sse();
    weft_status *status = set_pointers(b, &taken);
    if (status == NULL) status = weft_steps_run(b->frame, 0, b->bound->variant->step_count, NULL);
    if (calls_others) weft_float_mode_leave(saved);
    else weft_float_mode_leave_sse(saved);
    if (status == NULL && !calls_others) return WEFT_RT_OK;
    code = report(status, out_error);
    atomic_store(&b->workspace.used, b->mark); /* the status was there */
    return code;
}

/* ---- pools ---- */

weft_rt_pool *weft_rt_pool_create(unsigned threads)
{
    weft_pool *pool = NULL;
    weft_status *status = weft_pool_create(NULL, weft_machine_host(), threads, &pool);
    weft_status_destroy(status);
    return status == NULL ? (weft_rt_pool *)pool : NULL;
}

void weft_rt_pool_destroy(weft_rt_pool *pool)
{
    weft_pool_destroy((weft_pool *)pool);
}
