/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that products read packed: weights, packed once instead of in each run. */
#include "lib/build/builder.h"
#include <string.h>
#include "runtime/engine/gemm_panels.h"
#include "runtime/step/device.h"

/* ---- the product, if all about it is known ---- */

static bool is_known(const weft_variant *variant, const uint32_t *slots, int64_t *out_values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const weft_formula *formula = &variant->formulas.items[slots[i]];
        if (formula->op != WEFT_FORMULA_CONSTANT) return false;
        out_values[i] = formula->constant;
    }
    return true;
}

typedef struct known_product {
    weft_gemm_call call;
    int64_t batch[4][2 * WEFT_MAX_RANK];
} known_product;

static bool find_product(const weft_variant *variant, const weft_gemm *gemm, known_product *p)
{
    const uint32_t slots[] = {gemm->m,        gemm->n,     gemm->k,        gemm->a_row,    gemm->a_column, gemm->b_row,
                              gemm->b_column, gemm->c_row, gemm->c_column, gemm->a_offset, gemm->b_offset};
    enum { COUNT = sizeof slots / sizeof *slots };
    int64_t v[COUNT];
    const uint32_t *const lists[] = {gemm->batch, gemm->a_batch, gemm->b_batch, gemm->c_batch};
    if (!is_known(variant, slots, v, COUNT)) return false;
    for (size_t i = 0; i < 4; i++)
        if (!is_known(variant, lists[i], p->batch[i], gemm->batch_rank)) return false;
    p->call = (weft_gemm_call){.size = sizeof p->call,
                               .dtype = gemm->dtype,
                               .m = v[0],
                               .n = v[1],
                               .k = v[2],
                               .batch_rank = gemm->batch_rank,
                               .batch = p->batch[0],
                               .a_batch = p->batch[1],
                               .b_batch = p->batch[2],
                               .c_batch = p->batch[3],
                               .a_row = v[3],
                               .a_column = v[4],
                               .b_row = v[5],
                               .b_column = v[6],
                               .c_row = v[7],
                               .c_column = v[8],
                               .a_offset = v[9],
                               .b_offset = v[10]};
    return true;
}

/* ---- its panels ---- */

typedef struct panel_source {
    const weft_gemm_engine *engine;
    const weft_gemm_call *call;
    weft_panels operand;
    const void *data;
} panel_source;

static void fill(void *context, void *memory)
{
    const panel_source *source = context;
    weft_gemm_panels_fill(source->engine, source->call, source->operand, source->data, memory);
}

/* What decides about the bytes: where the matrix is, how it lies, and for which engine it is packed. */
static void append_key(const panel_source *source, weft_bytes *key)
{
    const weft_gemm_call *call = source->call;
    bool is_a = source->operand == WEFT_PANELS_A;
    const int64_t numbers[] = {(int64_t)(uintptr_t)source->data,
                               (int64_t)(uintptr_t)source->engine,
                               (int64_t)call->dtype,
                               is_a ? call->m : call->n,
                               call->k,
                               is_a ? call->a_row : call->b_column,
                               is_a ? call->a_column : call->b_row,
                               is_a ? call->a_offset : call->b_offset};
    weft_bytes_append(key, numbers, sizeof numbers);
}

static weft_status *find_panels(const variant_builder *builder, const panel_source *source, size_t size,
                                const void **out_panels)
{
    weft_bytes key;
    weft_bytes_init(&key, builder->request->allocator);
    append_key(source, &key);
    weft_status *status =
        weft_program_share(builder->request->program, &key, size, fill, (void *)(uintptr_t)source, out_panels);
    weft_bytes_finish(&key);
    return status;
}

static weft_status *constant_slot(variant_builder *builder, int64_t value, uint32_t *out_slot)
{
    const weft_formula formula = {.op = WEFT_FORMULA_CONSTANT, .constant = value};
    return weft_formulas_add(&builder->variant->formulas, formula, out_slot);
}

/* A list of numbers. */
static weft_status *add_buffer(variant_builder *builder, const panel_source *source, uint32_t *out_buffer)
{
    weft_dtype dtype = source->call->dtype;
    size_t size = weft_gemm_panels_bytes(source->engine, source->call, source->operand);
    weft_buffer buffer = {.kind = WEFT_BUFFER_CONSTANT, .dtype = dtype, .rank = 1};
    uint32_t *extent = weft_arena_allocate(&builder->variant->arena, sizeof *extent);
    if (extent == NULL) return weft_status_out_of_memory();
    buffer.extents = extent;
    WEFT_TRY(constant_slot(builder, (int64_t)(size / weft_dtype_size(dtype)), extent));
    WEFT_TRY(constant_slot(builder, (int64_t)size, &buffer.bytes));
    WEFT_TRY(find_panels(builder, source, size, &buffer.data));
    return weft_builder_push_buffer(builder, &buffer, out_buffer);
}

/* Whether an operand is a constant that panels take no more than twice the memory of: not one that is broadcast, or
 * read in windows. */
static bool may_be_packed(const weft_variant *variant, const weft_step *step, const weft_gemm_call *call,
                          size_t operand)
{
    const weft_buffer *buffer = &variant->buffers[step->buffers[operand]];
    double lines = (double)(operand == 0 ? call->m : call->n);
    double bytes = lines * (double)call->k * (double)weft_dtype_size(call->dtype);
    return buffer->kind == WEFT_BUFFER_CONSTANT && bytes <= 2 * (double)variant->formulas.items[buffer->bytes].constant;
}

/* What the step is run with. Programs compiled ahead of time, for no runtime, have no fast products. */
static const weft_gemm_engine *find_engine(const weft_build_request *request, weft_dtype dtype)
{
    bool is_fast = request->program->policy.products == WEFT_PRODUCTS_FAST && request->runtime != NULL;
    return (is_fast ? weft_gemm_engine_find_fast : weft_gemm_engine_find)(request->level, dtype);
}

static weft_status *pack_operand(variant_builder *builder, weft_step *step)
{
    weft_variant *variant = builder->variant;
    const weft_gemm_engine *engine = find_engine(builder->request, step->gemm.dtype);
    known_product p;
    if (!find_product(variant, &step->gemm, &p)) return NULL;
    bool a = may_be_packed(variant, step, &p.call, 0), b = may_be_packed(variant, step, &p.call, 1);
    if (!a && !b) return NULL;
    weft_panels operand = weft_gemm_panels_choose(engine, builder->request->machine, &p.call, a, b);
    if (operand == WEFT_PANELS_NONE) return NULL;
    size_t index = operand == WEFT_PANELS_A ? 0 : 1;
    panel_source source = {engine, &p.call, operand, variant->buffers[step->buffers[index]].data};
    uint32_t *buffers = weft_arena_copy(&variant->arena, step->buffers, step->buffer_count * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    WEFT_TRY(add_buffer(builder, &source, &buffers[index]));
    step->buffers = buffers;
    step->gemm.panels = operand;
    return NULL;
}

/* ---- constants that are left over ---- */

static void mark_read(const weft_step *step, bool *read)
{
    for (size_t i = 0; i < step->buffer_count; i++) read[step->buffers[i]] = true;
    for (size_t i = 0; i < step->region.carried_count; i++) read[step->region.carried[i].initial] = true;
    if (step->kind == WEFT_STEP_REGION) read[step->region.scalar] = true;
}

static weft_status *drop_unread(variant_builder *builder)
{
    weft_variant *variant = builder->variant;
    bool *read = weft_arena_allocate(builder->arena, variant->buffer_count);
    uint32_t nothing;
    if (read == NULL) return weft_status_out_of_memory();
    memset(read, 0, variant->buffer_count);
    for (size_t s = 0; s < variant->step_count; s++) mark_read(&variant->steps[s], read);
    WEFT_TRY(constant_slot(builder, 0, &nothing));
    for (size_t i = 0; i < variant->buffer_count; i++) {
        weft_buffer *buffer = &variant->buffers[i];
        if (buffer->kind != WEFT_BUFFER_CONSTANT || read[i]) continue;
        buffer->bytes = nothing;
        buffer->data = NULL; /* other variants may read what is there */
    }
    return NULL;
}

/* ---- all ---- */

weft_status *weft_builder_pack_constants(variant_builder *builder)
{
    const weft_runtime *runtime = builder->request->runtime;
    const weft_variant *variant = builder->variant;
    bool any = false;
    if (builder->request->program->policy.products == WEFT_PRODUCTS_LIBRARY) return NULL;
    if (runtime != NULL && weft_device_is_apart(runtime)) return NULL;
    for (size_t s = 0; s < variant->step_count; s++) {
        weft_step *step = &variant->steps[s];
        if (step->kind != WEFT_STEP_GEMM) continue;
        WEFT_TRY(pack_operand(builder, step));
        any |= step->gemm.panels != WEFT_PANELS_NONE;
    }
    return any ? drop_unread(builder) : NULL;
}
