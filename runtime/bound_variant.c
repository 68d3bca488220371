/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/array.h"
#include "runtime/bound_variant.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "runtime/place_temporaries.h"
#include "runtime/memory.h"
#include "runtime/steps.h"

/* In scalar operations: below SERIAL_WORK, ten microseconds or so, a kernel stays on the caller's thread, as waking
 * another one may take longer; no thread is given less than CHUNK_WORK. */
enum { SERIAL_WORK = 131072, CHUNK_WORK = 32768 };

static void *take(weft_bound_variant *bound, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *block = weft_arena_allocate(&bound->arena, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

/* values[slots[0 .. count-1]] in the arena; NULL when out of memory. */
static int64_t *gather(weft_bound_variant *bound, const uint32_t *slots, size_t count)
{
    int64_t *items = take(bound, count, sizeof *items);
    for (size_t i = 0; items != NULL && i < count; i++) items[i] = bound->values[slots[i]];
    return items;
}

/* ---- symbols of the variant ---- */

/* The array that "in0.s1" or "out0.s1" names, and the axis; NULL when it names none. */
static const weft_array *find_strided(const weft_run *run, const char *name, size_t *out_axis)
{
    size_t number;
    char end;
    const weft_array *array = NULL;
    if (sscanf(name, "in%zu.s%zu%c", &number, out_axis, &end) == 2 && number < run->input_count)
        array = run->inputs[number];
    else if (sscanf(name, "out%zu.s%zu%c", &number, out_axis, &end) == 2 && number < run->output_count)
        array = run->outputs[number];
    return array != NULL && *out_axis < weft_array_rank(array) ? array : NULL;
}

static weft_status *fill_symbol(const weft_bound_variant *bound, const weft_run *run, const char *name,
                                const int64_t *symbols, int64_t *out_value)
{
    size_t axis = weft_formulas_find_symbol(&bound->program->formulas, name);
    if (axis != SIZE_MAX) {
        *out_value = symbols[axis];
        return NULL;
    }
    if (strcmp(name, WEFT_WRITES_SYMBOL) == 0) {
        *out_value = 1;
        return NULL;
    }
    const weft_array *array = find_strided(run, name, &axis);
    if (array == NULL)
        return weft_status_create(&bound->executor->allocator, WEFT_INTERNAL, __func__,
                                  "the variant's symbol \"%s\" is neither one of the program nor a stride of an array",
                                  name);
    *out_value = weft_array_strides(array)[axis];
    return NULL;
}

static weft_status *evaluate(weft_bound_variant *bound, const weft_run *run, const int64_t *program_symbols)
{
    const weft_formulas *formulas = &bound->variant->formulas;
    int64_t *symbols = take(bound, formulas->symbol_count, sizeof *symbols);
    bound->values = take(bound, formulas->count, sizeof *bound->values);
    if (symbols == NULL || bound->values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < formulas->symbol_count; i++)
        WEFT_TRY(fill_symbol(bound, run, formulas->symbols[i].name, program_symbols, &symbols[i]));
    weft_formulas_evaluate(formulas, symbols, bound->values);
    return NULL;
}

/* Whether the slots, which `step` needs, have values. */
static weft_status *check(const weft_bound_variant *bound, const weft_step *step, const uint32_t *slots, size_t count)
{
    const char *where = "weft_executor_run";
    weft_status *plain = weft_formulas_check(&bound->variant->formulas, where, bound->values, slots, count);
    if (plain == NULL || weft_status_code(plain) == WEFT_OUT_OF_MEMORY) return plain;
    weft_status *status = weft_status_create(&bound->executor->allocator, weft_status_code(plain), where, "%s: %s",
                                             step->name, weft_status_message(plain));
    weft_status_destroy(plain);
    return status;
}

weft_status *weft_bound_variant_too_large(const weft_bound_variant *bound, const char *before, const char *name,
                                          const char *after, weft_output_shape shape)
{
    const weft_allocator *allocator = &bound->executor->allocator;
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    for (size_t axis = 0; axis < shape.rank; axis++) {
        const char *separator = axis > 0 ? ", " : "";
        if (shape.shape[axis] == WEFT_FORMULA_NONE) weft_bytes_print(&text, "%s?", separator);
        else weft_bytes_print(&text, "%s%" PRId64, separator, shape.shape[axis]);
    }
    weft_status *status = text.failed ? weft_status_out_of_memory()
                                      : weft_status_create(allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                                                           "%s%s%s, %s[%s], has more bytes than 64 bits count", before,
                                                           name, after, weft_dtype_name(shape.dtype), text.data);
    weft_bytes_finish(&text);
    return status;
}

static weft_status *fill_output(weft_bound_variant *bound, const weft_program_value *value,
                                const int64_t *program_values, weft_output_shape *out_shape)
{
    *out_shape = (weft_output_shape){.dtype = value->dtype, .rank = value->rank};
    out_shape->shape = take(bound, value->rank, sizeof *out_shape->shape);
    if (out_shape->shape == NULL) return weft_status_out_of_memory();
    int64_t bytes = (int64_t)weft_dtype_size(value->dtype);
    bool overflow = false, empty = false;
    for (size_t axis = 0; axis < value->rank; axis++) {
        int64_t extent = out_shape->shape[axis] = program_values[value->extents[axis]];
        if (extent == 0) empty = true;
        else overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
    }
    out_shape->bytes = empty ? 0 : overflow ? SIZE_MAX : (size_t)bytes;
    return NULL;
}

static weft_status *fill_values(weft_bound_variant *bound, const weft_call *call)
{
    const weft_formulas *formulas = &call->program->formulas;
    int64_t *symbols = take(bound, formulas->symbol_count, sizeof *symbols);
    int64_t *values = take(bound, formulas->count, sizeof *values);
    bound->outputs = take(bound, bound->output_count, sizeof *bound->outputs);
    if (symbols == NULL || values == NULL || bound->outputs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_call_bind(&bound->executor->allocator, call, symbols, values));
    for (size_t i = 0; i < bound->output_count; i++)
        WEFT_TRY(fill_output(bound, &call->program->outputs[i], values, &bound->outputs[i]));
    return evaluate(bound, call->run, symbols);
}

/* ---- spans ---- */

static weft_span span_of(const weft_array *array)
{
    weft_span span = {0, 0};
    if (array != NULL) weft_array_span(array, &span.low, &span.high);
    return span;
}

static weft_status *fill_spans(weft_bound_variant *bound, const weft_run *run)
{
    bound->input_spans = take(bound, run->input_count, sizeof(weft_span));
    bound->output_spans = take(bound, run->output_count, sizeof(weft_span));
    if (bound->input_spans == NULL || bound->output_spans == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < run->input_count; i++) bound->input_spans[i] = span_of(run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) bound->output_spans[i] = span_of(run->outputs[i]);
    return NULL;
}

/* ---- steps ---- */

static int64_t grain_of(int64_t iterations, int64_t work)
{
    int64_t total;
    if (work >= CHUNK_WORK) return 1;
    if (work < 1) work = 1;
    if (__builtin_mul_overflow(iterations, work, &total)) total = INT64_MAX;
    return total < SERIAL_WORK ? iterations : (CHUNK_WORK + work - 1) / work;
}

static weft_status *bind_kernel(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    bound_step->scalars = gather(bound, step->scalars, step->scalar_count);
    if (bound_step->scalars == NULL) return weft_status_out_of_memory();
    if (step->update.guarded) {
        bound_step->trial = gather(bound, step->scalars, step->scalar_count);
        if (bound_step->trial == NULL) return weft_status_out_of_memory();
        bound_step->trial[step->update.writes] = 0;
    }
    int64_t work = weft_bound_variant_estimate(bound, step->work);
    /* Where the first iteration has nothing to do, none has, and there may be many, with any strides. */
    if (work <= 0 || bound->values[step->iterations] == 0) return NULL;
    WEFT_TRY(check(bound, step, &step->iterations, 1));
    WEFT_TRY(check(bound, step, step->scalars, step->scalar_count));
    bound_step->iterations = bound->values[step->iterations];
    bound_step->grain = grain_of(bound_step->iterations, work);
    return NULL;
}

static bool has_zero(const int64_t *extents, size_t count)
{
    size_t i = 0;
    while (i < count && extents[i] != 0) i++;
    return i < count;
}

static weft_status *check_gemm(const weft_bound_variant *bound, const weft_step *step, const weft_gemm_call *call)
{
    const weft_gemm *gemm = &step->gemm;
    const uint32_t slots[] = {gemm->m,        gemm->n,        gemm->k,        gemm->a_row,
                              gemm->a_column, gemm->b_row,    gemm->b_column, gemm->c_row,
                              gemm->c_column, gemm->a_offset, gemm->b_offset, gemm->c_offset};
    if (call->m == 0 || call->n == 0 || has_zero(call->batch, call->batch_rank)) return NULL;
    WEFT_TRY(check(bound, step, slots, sizeof slots / sizeof *slots));
    WEFT_TRY(check(bound, step, gemm->batch, gemm->batch_rank));
    WEFT_TRY(check(bound, step, gemm->a_batch, gemm->batch_rank));
    WEFT_TRY(check(bound, step, gemm->b_batch, gemm->batch_rank));
    return check(bound, step, gemm->c_batch, gemm->batch_rank);
}

static weft_status *bind_gemm(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_gemm *gemm = &bound_step->step->gemm;
    const int64_t *values = bound->values;
    weft_gemm_call *call = &bound_step->gemm;
    *call = (weft_gemm_call){.dtype = gemm->dtype,
                             .m = values[gemm->m],
                             .n = values[gemm->n],
                             .k = values[gemm->k],
                             .batch_rank = gemm->batch_rank,
                             .batch = gather(bound, gemm->batch, gemm->batch_rank),
                             .a_batch = gather(bound, gemm->a_batch, gemm->batch_rank),
                             .b_batch = gather(bound, gemm->b_batch, gemm->batch_rank),
                             .c_batch = gather(bound, gemm->c_batch, gemm->batch_rank),
                             .a_row = values[gemm->a_row],
                             .a_column = values[gemm->a_column],
                             .b_row = values[gemm->b_row],
                             .b_column = values[gemm->b_column],
                             .c_row = values[gemm->c_row],
                             .c_column = values[gemm->c_column],
                             .a_offset = values[gemm->a_offset],
                             .b_offset = values[gemm->b_offset],
                             .c_offset = values[gemm->c_offset]};
    bool failed = call->batch == NULL || call->a_batch == NULL || call->b_batch == NULL || call->c_batch == NULL;
    return failed ? weft_status_out_of_memory() : check_gemm(bound, bound_step->step, call);
}

static weft_status *check_sort(const weft_bound_variant *bound, const weft_step *step, weft_sort_call *call)
{
    const weft_sort_step *sort = &step->sort;
    const uint32_t slots[] = {sort->length, sort->in_step, sort->out_step, sort->in_offset, sort->out_offset};
    if (call->length == 0 || has_zero(call->rows, call->rank)) call->length = 0;
    if (call->length == 0) return NULL;
    WEFT_TRY(check(bound, step, slots, sizeof slots / sizeof *slots));
    WEFT_TRY(check(bound, step, sort->rows, sort->rank));
    WEFT_TRY(check(bound, step, sort->in_strides, sort->rank));
    return check(bound, step, sort->out_strides, sort->rank);
}

static weft_status *bind_sort(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_sort_step *sort = &bound_step->step->sort;
    const int64_t *values = bound->values;
    weft_sort_call *call = &bound_step->sort;
    *call = (weft_sort_call){.dtype = sort->dtype,
                             .positions = sort->positions,
                             .descending = sort->descending,
                             .length = values[sort->length],
                             .rank = sort->rank,
                             .rows = gather(bound, sort->rows, sort->rank),
                             .in_strides = gather(bound, sort->in_strides, sort->rank),
                             .out_strides = gather(bound, sort->out_strides, sort->rank),
                             .in_step = values[sort->in_step],
                             .out_step = values[sort->out_step],
                             .in_offset = values[sort->in_offset],
                             .out_offset = values[sort->out_offset]};
    if (call->rows == NULL || call->in_strides == NULL || call->out_strides == NULL) return weft_status_out_of_memory();
    WEFT_TRY(check_sort(bound, bound_step->step, call));
    bound_step->scratch_bytes = weft_sort_scratch(bound->executor->pool, call);
    return NULL;
}

static weft_status *bind_view(weft_bound_variant *bound, const weft_step *step, const weft_buffer *buffer,
                              weft_view *out_view)
{
    int64_t *shape = gather(bound, buffer->extents, buffer->rank);
    int64_t *strides = buffer->strides != NULL ? gather(bound, buffer->strides, buffer->rank)
                                               : take(bound, buffer->rank, sizeof *strides);
    if (shape == NULL || strides == NULL) return weft_status_out_of_memory();
    WEFT_TRY(check(bound, step, buffer->extents, buffer->rank));
    int64_t stride = 1;
    for (size_t axis = buffer->rank; buffer->strides == NULL && axis-- > 0;) {
        strides[axis] = stride;
        if (shape[axis] > 1 && __builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
    }
    *out_view = (weft_view){.dtype = buffer->dtype, .rank = buffer->rank, .shape = shape, .strides = strides};
    return NULL;
}

/* The attribute with the slots in it replaced by their values. */
static weft_status *bind_attr(weft_bound_variant *bound, const weft_step *step, weft_attr_kind kind, weft_attr *attr)
{
    if (kind != WEFT_ATTR_EXTENT && kind != WEFT_ATTR_EXTENTS) return NULL;
    weft_extent *extents = take(bound, attr->extents.rank, sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < attr->extents.rank; i++) {
        int64_t slot = attr->extents.extents[i].value;
        if (slot < 0 || (uint64_t)slot >= bound->variant->formulas.count)
            return weft_status_create(&bound->executor->allocator, WEFT_INTERNAL, __func__,
                                      "an attribute names slot %lld, which does not exist", (long long)slot);
        WEFT_TRY(check(bound, step, &(uint32_t){(uint32_t)slot}, 1));
        extents[i] = (weft_extent){.value = bound->values[slot]};
    }
    attr->extents.extents = extents;
    return NULL;
}

static weft_status *bind_attrs(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    bound_step->attrs = step->attrs;
    if (step->op == NULL || step->op->attr_count == 0) return NULL;
    weft_attr *attrs = take(bound, step->op->attr_count, sizeof *attrs);
    if (attrs == NULL) return weft_status_out_of_memory();
    memcpy(attrs, step->attrs, step->op->attr_count * sizeof *attrs);
    for (size_t i = 0; i < step->op->attr_count; i++)
        WEFT_TRY(bind_attr(bound, step, step->op->attrs[i].kind, &attrs[i]));
    bound_step->attrs = attrs;
    return NULL;
}

static weft_status *find_scratch(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_op_def *op = bound_step->step->op;
    if (op == NULL || op->size < offsetof(weft_op_def, scratch_size) + sizeof op->scratch_size ||
        op->scratch_size == NULL)
        return NULL;
    weft_host_call host = {.executor = bound->executor};
    weft_kernel_context context = weft_steps_context(bound, bound_step, bound->views + bound_step->first_view, &host);
    size_t bytes = 0;
    WEFT_TRY(op->scratch_size(&context, &bytes));
    if (bytes > INT64_MAX)
        return weft_status_create(&bound->executor->allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                                  "op %s asks for %zu bytes of scratch", op->name, bytes);
    bound_step->scratch_bytes = (int64_t)bytes;
    return NULL;
}

static weft_status *bind_host(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_step *step = bound_step->step;
    for (size_t i = 0; i < step->buffer_count; i++)
        WEFT_TRY(bind_view(bound, step, &bound->variant->buffers[step->buffers[i]],
                           &bound->views[bound_step->first_view + i]));
    WEFT_TRY(bind_attrs(bound, bound_step));
    return find_scratch(bound, bound_step);
}

static bool is_carried(const weft_region_step *region, uint32_t buffer)
{
    for (size_t i = 0; i < region->carried_count; i++)
        if (region->carried[i].current == buffer || region->carried[i].next == buffer) return true;
    return false;
}

/* Where steps that belong to the region step use what it carries; NULL counts them. */
static size_t find_uses(const weft_bound_step *bound_step, weft_alias_use *out_uses)
{
    const weft_step *step = bound_step->step;
    size_t count = 0, nested = weft_step_nested(step);
    for (size_t s = 1; s <= nested; s++) {
        const weft_bound_step *inner = bound_step + s;
        const weft_step *inner_step = inner->step;
        for (size_t i = 0; inner_step->kind != WEFT_STEP_REGION && i < inner_step->buffer_count; i++) {
            if (!is_carried(&step->region, inner_step->buffers[i])) continue;
            size_t view = inner_step->kind == WEFT_STEP_HOST ? inner->first_view + i : SIZE_MAX;
            if (out_uses != NULL)
                out_uses[count] = (weft_alias_use){inner_step->buffers[i], inner->first_pointer + i, view};
            count++;
        }
    }
    return count;
}

static weft_status *bind_region(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    const weft_region_step *region = &bound_step->step->region;
    if (region->control == WEFT_CONTROL_FOLD) WEFT_TRY(check(bound, bound_step->step, &region->trips, 1));
    bound_step->use_count = find_uses(bound_step, NULL);
    bound_step->uses = take(bound, bound_step->use_count, sizeof *bound_step->uses);
    if (bound_step->uses == NULL) return weft_status_out_of_memory();
    find_uses(bound_step, bound_step->uses);
    return NULL;
}

static weft_status *bind_step(weft_bound_variant *bound, weft_bound_step *bound_step)
{
    switch (bound_step->step->kind) {
    case WEFT_STEP_KERNEL: return bind_kernel(bound, bound_step);
    case WEFT_STEP_GEMM: return bind_gemm(bound, bound_step);
    case WEFT_STEP_SORT: return bind_sort(bound, bound_step);
    case WEFT_STEP_HOST: return bind_host(bound, bound_step);
    case WEFT_STEP_REGION: return bind_region(bound, bound_step);
    }
    return NULL;
}

static bool is_empty_fold(const weft_bound_variant *bound, const weft_step *step)
{
    return step->kind == WEFT_STEP_REGION && step->region.control == WEFT_CONTROL_FOLD &&
           bound->values[step->region.trips] <= 0;
}

static weft_status *bind_steps(weft_bound_variant *bound)
{
    const weft_variant *variant = bound->variant;
    bound->steps = take(bound, variant->step_count, sizeof *bound->steps);
    if (bound->steps == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < variant->step_count; i++) {
        const weft_step *step = &variant->steps[i];
        bound->steps[i].step = step;
        bound->steps[i].first_pointer = bound->pointer_count;
        bound->steps[i].first_view = bound->view_count;
        if (step->kind != WEFT_STEP_REGION) bound->pointer_count += step->buffer_count;
        if (step->kind == WEFT_STEP_HOST) bound->view_count += step->buffer_count;
    }
    bound->views = take(bound, bound->view_count, sizeof *bound->views);
    if (bound->views == NULL) return weft_status_out_of_memory();
    size_t idle_end = 0;
    for (size_t i = 0; i < variant->step_count; i++) {
        weft_bound_step *bound_step = &bound->steps[i];
        bound_step->idle = i < idle_end;
        if (bound_step->idle) continue;
        WEFT_TRY(bind_step(bound, bound_step));
        if (is_empty_fold(bound, bound_step->step)) idle_end = i + 1 + weft_step_nested(bound_step->step);
    }
    return NULL;
}

/* ---- binding ---- */

static weft_status *bound_fill(weft_bound_variant *bound, const weft_call *call, const int64_t *key, size_t key_count)
{
    bound->key = weft_arena_copy(&bound->arena, key, key_count * sizeof *key);
    bound->key_count = key_count;
    if (bound->key == NULL) return weft_status_out_of_memory();
    WEFT_TRY(fill_values(bound, call));
    WEFT_TRY(fill_spans(bound, call->run));
    WEFT_TRY(bind_steps(bound));
    return weft_place_temporaries(bound, call->run->memory_limit);
}

weft_status *weft_bound_variant_create(weft_executor *executor, const weft_variant *variant, const weft_call *call,
                                       const int64_t *key, size_t key_count, weft_bound_variant **out_bound)
{
    weft_bound_variant *bound = weft_allocate_zeroed(&executor->allocator, sizeof *bound);
    if (bound == NULL) return weft_status_out_of_memory();
    bound->executor = executor;
    bound->runtime = call->runtime;
    bound->program = call->program;
    bound->input_count = call->program->input_count;
    bound->output_count = call->program->output_count;
    bound->variant = variant;
    weft_arena_init(&bound->arena, &executor->allocator);
    weft_status *status = bound_fill(bound, call, key, key_count);
    if (status == NULL) *out_bound = bound;
    else weft_bound_variant_destroy(bound);
    return status;
}

void weft_bound_variant_destroy(weft_bound_variant *bound)
{
    if (bound == NULL) return;
    while (bound->frames != NULL) {
        weft_frame *frame = bound->frames;
        bound->frames = frame->next;
        weft_frame_destroy(frame);
    }
    weft_arena_finish(&bound->arena);
    weft_free(&bound->executor->allocator, bound, sizeof *bound);
}
