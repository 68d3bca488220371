/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/tables.h"
#include <stdio.h>
#include <string.h>
#include "runtime/step/step.h"

/*
 * Structs are put as they are, without their pointers, which then point to what is put after them. Padding is zero, so
 * that equal programs make equal objects.
 */

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define CLEAR_PADDING(object) __builtin_clear_padding(object)
#endif
#endif
#if !defined(CLEAR_PADDING)
#define CLEAR_PADDING(object) ((void)(object))
#endif

/* Writes a struct to a place where there are zeros so far. */
#define WRITE(image, at, object)                                                                                       \
    do {                                                                                                               \
        CLEAR_PADDING(&(object));                                                                                      \
        weft_image_write(image, at, &(object), sizeof(object));                                                        \
    } while (0)

/* Has a pointer of the struct at `at` point to a copy of `count` items, or of a text. */
#define COPY(image, at, type, field, data, count)                                                                      \
    weft_image_point_to_copy(image, (at) + offsetof(type, field), data, (size_t)(count) * sizeof *(data))
#define TEXT(image, at, type, field, text) weft_image_point_to_text(image, (at) + offsetof(type, field), text)
/* Or to zeros for as many structs, which are filled in afterwards: their place. */
#define ROOM(image, at, type, field, item, count)                                                                      \
    weft_image_point_to_room(image, (at) + offsetof(type, field), (size_t)(count) * sizeof(item))

/* ---- formulas ---- */

static void fill_formulas(weft_image_data *image, size_t at, const weft_formulas *formulas)
{
    weft_formulas copy = {.symbol_count = formulas->symbol_count, .count = formulas->count};
    WRITE(image, at, copy);
    COPY(image, at, weft_formulas, symbol_slots, formulas->symbol_slots, formulas->symbol_count);
    size_t symbols = ROOM(image, at, weft_formulas, symbols, weft_symbol_info, formulas->symbol_count);
    for (size_t i = 0; i < formulas->symbol_count; i++) {
        weft_symbol_info info = formulas->symbols[i];
        info.name = NULL;
        WRITE(image, symbols + i * sizeof info, info);
        TEXT(image, symbols + i * sizeof info, weft_symbol_info, name, formulas->symbols[i].name);
    }
    size_t items = ROOM(image, at, weft_formulas, items, weft_formula, formulas->count);
    for (size_t i = 0; i < formulas->count; i++) {
        weft_formula item = formulas->items[i];
        WRITE(image, items + i * sizeof item, item);
    }
}

/* ---- programs ---- */

static void fill_value(weft_image_data *image, size_t at, const weft_program_value *value)
{
    weft_program_value copy = {.dtype = value->dtype, .rank = value->rank};
    WRITE(image, at, copy);
    TEXT(image, at, weft_program_value, name, value->name);
    COPY(image, at, weft_program_value, extents, value->extents, value->rank);
}

/* Without the folder, so that equal graphs in different places make equal objects. */
static const char *file_of(const char *location)
{
    const char *slash = location == NULL ? NULL : strrchr(location, '/');
    return slash == NULL ? location : slash + 1;
}

static void fill_guard(weft_image_data *image, size_t at, const weft_program_guard *guard)
{
    weft_program_guard copy = *guard;
    copy.message = copy.location = NULL;
    WRITE(image, at, copy);
    TEXT(image, at, weft_program_guard, message, guard->message);
    TEXT(image, at, weft_program_guard, location, file_of(guard->location));
}

size_t weft_tables_put_program(weft_image_data *image, const weft_program *program)
{
    size_t at = weft_image_put(image, NULL, sizeof *program, _Alignof(max_align_t));
    weft_program copy = {.input_count = program->input_count,
                         .output_count = program->output_count,
                         .guard_count = program->guard_count,
                         .policy = {.products = program->policy.products, .functions = program->policy.functions}};
    WRITE(image, at, copy);
    fill_formulas(image, at + offsetof(weft_program, formulas), &program->formulas);
    size_t inputs = ROOM(image, at, weft_program, inputs, weft_program_value, program->input_count);
    for (size_t i = 0; i < program->input_count; i++)
        fill_value(image, inputs + i * sizeof *program->inputs, &program->inputs[i]);
    size_t outputs = ROOM(image, at, weft_program, outputs, weft_program_value, program->output_count);
    for (size_t i = 0; i < program->output_count; i++)
        fill_value(image, outputs + i * sizeof *program->outputs, &program->outputs[i]);
    size_t guards = ROOM(image, at, weft_program, guards, weft_program_guard, program->guard_count);
    for (size_t i = 0; i < program->guard_count; i++)
        fill_guard(image, guards + i * sizeof *program->guards, &program->guards[i]);
    return at;
}

/* ---- variants ---- */

typedef struct variant_writer {
    weft_image_data *image;
    const weft_variant *variant;
    weft_isa level;
    weft_constants *constants;
} variant_writer;

enum { CONSTANT_ALIGNMENT = 64 };

/* One of nothing has an address too. */
static size_t put_constant(const variant_writer *w, const void *data, size_t size)
{
    weft_bytes *weights = w->constants->weights;
    if (size == 0) data = NULL;
    if (weights == NULL) return weft_image_put(w->image, data, size == 0 ? 1 : size, CONSTANT_ALIGNMENT);
    weft_bytes_pad(weights, CONSTANT_ALIGNMENT);
    size_t place = weights->size;
    weft_bytes_append(weights, data == NULL ? "" : data, size == 0 ? 1 : size);
    return place;
}

/* Of two buffers with the same data one has all of them: they are of one node. */
static void point_to_constant(const variant_writer *w, size_t at, const weft_buffer *buffer)
{
    size_t size = (size_t)w->variant->formulas.items[buffer->bytes].constant;
    weft_map *places = &w->constants->places;
    uintptr_t place = (uintptr_t)weft_map_find(places, &buffer->data, sizeof buffer->data);
    if (place == 0) {
        place = put_constant(w, buffer->data, size);
        if (!weft_map_insert(places, &buffer->data, sizeof buffer->data, (void *)place)) w->image->failed = true;
    }
    if (w->constants->weights == NULL) weft_image_point(w->image, at, place);
    else weft_image_write(w->image, at, &place, sizeof place);
}

static void fill_buffer(const variant_writer *w, size_t at, const weft_buffer *buffer)
{
    weft_buffer copy = *buffer;
    copy.extents = copy.strides = NULL;
    copy.data = NULL;
    WRITE(w->image, at, copy);
    COPY(w->image, at, weft_buffer, extents, buffer->extents, buffer->rank);
    COPY(w->image, at, weft_buffer, strides, buffer->strides, buffer->rank);
    if (buffer->kind == WEFT_BUFFER_CONSTANT) point_to_constant(w, at + offsetof(weft_buffer, data), buffer);
}

static void fill_kernel(const variant_writer *w, size_t at, const weft_step *step)
{
    weft_image_data *image = w->image;
    size_t sites = 0;
    COPY(image, at, weft_step, scalars, step->scalars, step->scalar_count);
    COPY(image, at, weft_step, accesses, step->accesses, step->buffer_count);
    COPY(image, at, weft_step, pitches, step->pitches, step->buffer_count);
    COPY(image, at, weft_step, groups, step->groups, step->buffer_count);
    COPY(image, at, weft_step, hidden, step->hidden, step->buffer_count);
    if (step->sites == NULL) return;
    COPY(image, at, weft_step, site_extents, step->site_extents, step->site_count);
    sites = ROOM(image, at, weft_step, sites, char *, step->site_count);
    for (size_t i = 0; i < step->site_count; i++)
        weft_image_point_to_text(image, sites + i * sizeof(char *), step->sites[i]);
}

static void fill_gemm(const variant_writer *w, size_t at, const weft_gemm *gemm)
{
    COPY(w->image, at, weft_gemm, batch, gemm->batch, gemm->batch_rank);
    COPY(w->image, at, weft_gemm, a_batch, gemm->a_batch, gemm->batch_rank);
    COPY(w->image, at, weft_gemm, b_batch, gemm->b_batch, gemm->batch_rank);
    COPY(w->image, at, weft_gemm, c_batch, gemm->c_batch, gemm->batch_rank);
}

static void fill_sort(const variant_writer *w, size_t at, const weft_sort_step *sort)
{
    COPY(w->image, at, weft_sort_step, rows, sort->rows, sort->rank);
    COPY(w->image, at, weft_sort_step, in_strides, sort->in_strides, sort->rank);
    COPY(w->image, at, weft_sort_step, out_strides, sort->out_strides, sort->rank);
}

/* What has no pointers. */
static weft_step without_pointers(const weft_step *step)
{
    weft_step copy = *step;
    copy.name = copy.file = NULL;
    copy.buffers = copy.chain.intermediates = copy.scalars = copy.accesses = NULL;
    copy.pitches = copy.groups = copy.site_extents = NULL;
    copy.hidden = NULL;
    copy.sites = NULL;
    copy.gemm.batch = copy.gemm.a_batch = copy.gemm.b_batch = copy.gemm.c_batch = NULL;
    copy.sort.rows = copy.sort.in_strides = copy.sort.out_strides = NULL;
    copy.region.carried = NULL;
    copy.region.blocks = NULL;
    return copy;
}

static void fill_step(const variant_writer *w, size_t at, const weft_step *step)
{
    weft_image_data *image = w->image;
    weft_step copy = without_pointers(step);
    WRITE(image, at, copy);
    TEXT(image, at, weft_step, name, step->name);
    TEXT(image, at, weft_step, file, step->file);
    COPY(image, at, weft_step, buffers, step->buffers, step->buffer_count);
    COPY(image, at, weft_step, chain.intermediates, step->chain.intermediates, step->chain.intermediate_count);
    COPY(image, at, weft_step, region.carried, step->region.carried, step->region.carried_count);
    COPY(image, at, weft_step, region.blocks, step->region.blocks, step->region.block_count);
    fill_kernel(w, at, step);
    fill_gemm(w, at + offsetof(weft_step, gemm), &step->gemm);
    fill_sort(w, at + offsetof(weft_step, sort), &step->sort);
}

static void fill_code(const variant_writer *w, size_t at, const char *symbol)
{
    if (symbol == NULL) return;
    size_t code = weft_image_put(w->image, NULL, sizeof(weft_kernel_code), _Alignof(max_align_t));
    weft_image_point(w->image, at + offsetof(weft_resolved, code), code);
    weft_image_point_to_symbol(w->image, code + offsetof(weft_kernel_code, function), symbol);
}

/* Vector code of a level, as the names of engines have it; NULL: none. */
static const char *vectors_of(weft_isa level)
{
    return level == WEFT_ISA_V4 ? "v4" : level == WEFT_ISA_V3 ? "v3" : NULL;
}

/* Those of the level and the dtype alone, so that no others are linked. */
static void fill_engine(const variant_writer *w, size_t at, const weft_step *step)
{
    char symbol[64];
    const char *vectors = vectors_of(w->level);
    if (step->kind == WEFT_STEP_GEMM || step->kind == WEFT_STEP_PACK) {
        snprintf(symbol, sizeof symbol, "weft_gemm_%s_engine_%s", vectors == NULL ? "portable" : vectors,
                 weft_dtype_name(step->gemm.dtype));
        weft_image_point_to_symbol(w->image, at + offsetof(weft_resolved, products), symbol);
    }
    size_t size = weft_dtype_size(step->sort.dtype);
    if (step->kind != WEFT_STEP_SORT || vectors == NULL || (size == 1 && !step->sort.positions)) return;
    snprintf(symbol, sizeof symbol, "weft_key_sort_%s_%s%zu", vectors, step->sort.positions ? "positions" : "",
             8 * size);
    weft_image_point_to_symbol(w->image, at + offsetof(weft_resolved, keys), symbol);
}

/* The member that its kind says. Extents are slots already; there are no regions. */
static void fill_attr(weft_image_data *image, size_t at, weft_attr_kind kind, const weft_attr *attr)
{
    weft_attr copy;
    memset(&copy, 0, sizeof copy);
    copy.integer = attr->integer;
    copy.real = attr->real;
    if (kind == WEFT_ATTR_STRING || kind == WEFT_ATTR_DATA) copy.size = attr->size;
    if (kind == WEFT_ATTR_INTS) copy.ints.count = attr->ints.count;
    if (kind == WEFT_ATTR_EXTENT || kind == WEFT_ATTR_EXTENTS) copy.extents.rank = attr->extents.rank;
    weft_image_write(image, at, &copy, sizeof copy);
    if (copy.size > 0) COPY(image, at, weft_attr, data, (const char *)attr->data, copy.size);
    if (copy.ints.count > 0) COPY(image, at, weft_attr, ints.items, attr->ints.items, copy.ints.count);
    if (copy.extents.rank > 0) COPY(image, at, weft_attr, extents.extents, attr->extents.extents, copy.extents.rank);
}

/* What kernels and runs read of an op. */
static void fill_op(weft_image_data *image, size_t at, const weft_op_def *op)
{
    weft_op_def copy = {.size = sizeof copy,
                        .version = op->version,
                        .input_count = op->input_count,
                        .output_count = op->output_count,
                        .op_class = op->op_class,
                        .traits = op->traits,
                        .dtypes = op->dtypes,
                        .attr_count = op->attr_count};
    WRITE(image, at, copy);
    TEXT(image, at, weft_op_def, name, op->name);
    size_t attrs = ROOM(image, at, weft_op_def, attrs, weft_attr_def, op->attr_count);
    for (size_t i = 0; i < op->attr_count; i++) {
        weft_attr_def attr = {.kind = op->attrs[i].kind};
        WRITE(image, attrs + i * sizeof attr, attr);
        TEXT(image, attrs + i * sizeof attr, weft_attr_def, name, op->attrs[i].name);
    }
    weft_image_point_to_symbol(image, at + offsetof(weft_op_def, kernel), op->kernel_symbol);
    if (op->scratch_size != NULL)
        weft_image_point_to_symbol(image, at + offsetof(weft_op_def, scratch_size), op->scratch_symbol);
}

static void fill_host(weft_image_data *image, size_t at, const weft_resolved *resolved)
{
    const weft_op_def *op = resolved->op;
    if (op == NULL) return;
    fill_op(image, ROOM(image, at, weft_resolved, op, weft_op_def, 1), op);
    size_t attrs = ROOM(image, at, weft_resolved, attrs, weft_attr, op->attr_count);
    for (size_t i = 0; i < op->attr_count; i++)
        fill_attr(image, attrs + i * sizeof(weft_attr), op->attrs[i].kind, &resolved->attrs[i]);
}

/* Whether strips of a chain pack an operand of theirs: one whose columns are known not to be adjacent. */
static bool packs_in_strips(const weft_variant *variant)
{
    bool packs = false;
    for (size_t first = 0; first < variant->step_count; first++)
        for (size_t i = 0; variant->steps[first].chain.steps > 0 && i <= variant->steps[first].chain.steps; i++) {
            const weft_step *step = &variant->steps[first + i];
            if (step->kind != WEFT_STEP_GEMM || step->gemm.panels != WEFT_PANELS_NONE) continue;
            const weft_formula *distance = &variant->formulas.items[step->gemm.b_column];
            packs |= distance->op == WEFT_FORMULA_CONSTANT && distance->constant != 1;
        }
    return packs;
}

/* Of the kinds that there are. */
static void fill_methods(weft_image_data *image, size_t at, const weft_variant *variant)
{
    static const char *const symbols[WEFT_STEP_KINDS] = {
        [WEFT_STEP_KERNEL] = "weft_step_kernel", [WEFT_STEP_GEMM] = "weft_step_product",
        [WEFT_STEP_PACK] = "weft_step_pack",     [WEFT_STEP_SORT] = "weft_step_sort",
        [WEFT_STEP_HOST] = "weft_step_host",     [WEFT_STEP_REGION] = "weft_step_region"};
    bool has[WEFT_STEP_KINDS] = {false};
    size_t methods = weft_image_point_to_room(image, at, WEFT_STEP_KINDS * sizeof(void *));
    for (size_t i = 0; i < variant->step_count; i++) has[variant->steps[i].kind] = true;
    has[WEFT_STEP_PACK] |= packs_in_strips(variant);
    for (size_t i = 0; i < WEFT_STEP_KINDS; i++)
        if (has[i]) weft_image_point_to_symbol(image, methods + i * sizeof(void *), symbols[i]);
}

/* What runs steps strip by strip, and finds those that run side by side, where that can be. */
static void fill_ways(weft_image_data *image, size_t at, const weft_variant *variant)
{
    bool has_chains = false;
    for (size_t i = 0; i < variant->step_count; i++) has_chains |= variant->steps[i].chain.steps > 0;
    if (has_chains) weft_image_point_to_symbol(image, at + offsetof(weft_variant, chains), "weft_step_chains");
    if (variant->step_count > 1)
        weft_image_point_to_symbol(image, at + offsetof(weft_variant, branches), "weft_plan_branches");
}

size_t weft_tables_put_variant(weft_image_data *image, const weft_variant *variant, weft_isa level, size_t input_count,
                               const char *const *symbols, weft_constants *constants)
{
    const variant_writer w = {image, variant, level, constants};
    size_t at = weft_image_put(image, NULL, sizeof *variant, _Alignof(max_align_t));
    weft_variant copy = {.buffer_count = variant->buffer_count, .step_count = variant->step_count};
    WRITE(image, at, copy);
    fill_formulas(image, at + offsetof(weft_variant, formulas), &variant->formulas);
    COPY(image, at, weft_variant, output_alias, variant->output_alias, input_count);
    size_t buffers = ROOM(image, at, weft_variant, buffers, weft_buffer, variant->buffer_count);
    for (size_t i = 0; i < variant->buffer_count; i++)
        fill_buffer(&w, buffers + i * sizeof(weft_buffer), &variant->buffers[i]);
    fill_methods(image, at + offsetof(weft_variant, methods), variant);
    fill_ways(image, at, variant);
    size_t steps = ROOM(image, at, weft_variant, steps, weft_step, variant->step_count);
    size_t resolved = ROOM(image, at, weft_variant, resolved, weft_resolved, variant->step_count);
    for (size_t i = 0; i < variant->step_count; i++) {
        fill_step(&w, steps + i * sizeof(weft_step), &variant->steps[i]);
        fill_code(&w, resolved + i * sizeof(weft_resolved), symbols[i]);
        fill_engine(&w, resolved + i * sizeof(weft_resolved), &variant->steps[i]);
        fill_host(image, resolved + i * sizeof(weft_resolved), &variant->resolved[i]);
    }
    return at;
}

/* ---- the manifest ---- */

static void fill_rt_value(weft_image_data *image, size_t at, const weft_program_value *value)
{
    weft_rt_value copy = {.rank = value->rank};
    WRITE(image, at, copy);
    TEXT(image, at, weft_rt_value, name, value->name);
    TEXT(image, at, weft_rt_value, dtype, weft_dtype_name(value->dtype));
    size_t extents = ROOM(image, at, weft_rt_value, extents, char *, value->rank);
    for (size_t i = 0; i < value->rank; i++)
        weft_image_point_to_text(image, extents + i * sizeof(char *), value->axes[i].extent);
}

void weft_tables_fill_manifest(weft_image_data *image, size_t at, const weft_program *program, const char *name,
                               const char *isa)
{
    const weft_formulas *formulas = &program->formulas;
    char version[32];
    weft_rt_manifest copy = {.size = sizeof copy,
                             .abi = WEFT_RT_ABI,
                             .symbol_count = (uint32_t)formulas->symbol_count,
                             .input_count = (uint32_t)program->input_count,
                             .output_count = (uint32_t)program->output_count};
    WRITE(image, at, copy);
    snprintf(version, sizeof version, "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
    TEXT(image, at, weft_rt_manifest, version, version);
    TEXT(image, at, weft_rt_manifest, name, name);
    TEXT(image, at, weft_rt_manifest, isa, isa);
    size_t symbols = ROOM(image, at, weft_rt_manifest, symbols, weft_rt_symbol, formulas->symbol_count);
    for (size_t i = 0; i < formulas->symbol_count; i++) {
        weft_rt_symbol symbol = {.min = formulas->symbols[i].min, .max = formulas->symbols[i].max};
        WRITE(image, symbols + i * sizeof symbol, symbol);
        TEXT(image, symbols + i * sizeof symbol, weft_rt_symbol, name, formulas->symbols[i].name);
    }
    size_t inputs = ROOM(image, at, weft_rt_manifest, inputs, weft_rt_value, program->input_count);
    for (size_t i = 0; i < program->input_count; i++)
        fill_rt_value(image, inputs + i * sizeof(weft_rt_value), &program->inputs[i]);
    size_t outputs = ROOM(image, at, weft_rt_manifest, outputs, weft_rt_value, program->output_count);
    for (size_t i = 0; i < program->output_count; i++)
        fill_rt_value(image, outputs + i * sizeof(weft_rt_value), &program->outputs[i]);
}

void weft_tables_fill_weights(weft_image_data *image, size_t at, const weft_bytes *weights)
{
    uint64_t size = weights->size, digest;
    memcpy(&digest, weights->data + WEFT_RT_WEIGHTS_DIGEST_AT, sizeof digest);
    weft_image_write(image, at + offsetof(weft_rt_manifest, weights_size), &size, sizeof size);
    weft_image_write(image, at + offsetof(weft_rt_manifest, weights_digest), &digest, sizeof digest);
}
