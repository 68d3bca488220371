/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that products read packed: weights, packed once instead of in each run. */
#include "lib/build/pack.h"
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

bool weft_pack_find_product(const weft_variant *variant, const weft_gemm *gemm, known_product *p)
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
    const weft_gemm_engine *engine, *packer; /* which this processor can run */
    const weft_gemm_call *call;
    weft_panels operand;
    const void *data;
    size_t size; /* of the data, in bytes */
} panel_source;

static void fill(void *context, void *memory)
{
    const panel_source *source = context;
    weft_gemm_panels_fill(source->engine, source->packer, NULL, source->call, source->operand, source->data, memory);
}

/* What decides about the bytes: the matrix, how it lies, and for which engine it is packed. Large constants are known
 * by their address; small ones may be those of a variant's own graph, which others take the place of. */
static void append_key(const panel_source *source, weft_bytes *key)
{
    const weft_gemm_call *call = source->call;
    bool is_a = source->operand == WEFT_PANELS_A, is_small = source->size < WEFT_BLOB_LEAST;
    const int64_t numbers[] = {is_small ? 0 : (int64_t)(uintptr_t)source->data,
                               (int64_t)(uintptr_t)source->engine,
                               (int64_t)call->dtype,
                               is_a ? call->m : call->n,
                               call->k,
                               is_a ? call->a_row : call->b_column,
                               is_a ? call->a_column : call->b_row,
                               is_a ? call->a_offset : call->b_offset};
    weft_bytes_append(key, numbers, sizeof numbers);
    if (is_small) weft_bytes_append(key, source->data, source->size);
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

weft_status *weft_pack_add_buffer(variant_builder *builder, const weft_gemm_engine *engine, const weft_gemm_call *call,
                                  weft_panels operand, uint32_t *out_buffer)
{
    size_t size = weft_gemm_panels_bytes(engine, call, operand);
    weft_buffer buffer = {.kind = WEFT_BUFFER_TEMPORARY, .dtype = call->dtype, .rank = 1};
    uint32_t *extent = weft_arena_allocate(&builder->variant->arena, sizeof *extent);
    if (extent == NULL) return weft_status_out_of_memory();
    buffer.extents = extent;
    WEFT_TRY(constant_slot(builder, (int64_t)(size / weft_dtype_size(call->dtype)), extent));
    WEFT_TRY(constant_slot(builder, (int64_t)size, &buffer.bytes));
    return weft_builder_push_buffer(builder, &buffer, out_buffer);
}

const weft_gemm_engine *weft_pack_find_engine(const weft_build_request *request, weft_dtype dtype)
{
    if (request->runtime == NULL) return weft_gemm_engine_find(request->level, dtype);
    return weft_gemm_engine_find_here(request->level, dtype, request->program->policy.products == WEFT_PRODUCTS_FAST);
}

static bool is_constant(const variant_builder *builder, const weft_step *step, size_t operand)
{
    return builder->variant->buffers[step->buffers[operand]].kind == WEFT_BUFFER_CONSTANT;
}

static double count_elements(const weft_variant *variant, const weft_buffer *buffer)
{
    int64_t extents[WEFT_MAX_RANK];
    double count = 1;
    if (!is_known(variant, buffer->extents, extents, buffer->rank)) return 0;
    for (uint32_t i = 0; i < buffer->rank; i++) count *= (double)extents[i];
    return count;
}

bool weft_pack_is_whole(const weft_variant *variant, const weft_step *step, const weft_gemm_call *call, size_t operand)
{
    double lines = (double)(operand == 0 ? call->m : call->n);
    return lines * (double)call->k <= 2 * count_elements(variant, &variant->buffers[step->buffers[operand]]);
}

weft_status *weft_pack_read_panels(variant_builder *builder, weft_step *step, weft_panels operand, uint32_t panels)
{
    uint32_t *buffers = weft_arena_copy(&builder->variant->arena, step->buffers, step->buffer_count * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    buffers[operand == WEFT_PANELS_A ? 0 : 1] = panels;
    step->buffers = buffers;
    step->gemm.panels = operand;
    return NULL;
}

static weft_status *pack_operand(variant_builder *builder, weft_step *step)
{
    weft_variant *variant = builder->variant;
    const weft_gemm_engine *engine = weft_pack_find_engine(builder->request, step->gemm.dtype);
    bool is_here = builder->request->runtime != NULL;
    const weft_gemm_engine *packer = is_here ? engine : weft_gemm_engine_find(weft_isa_level(), step->gemm.dtype);
    known_product p;
    uint32_t panels;
    if (packer == NULL) return NULL;
    if (!weft_pack_find_product(variant, &step->gemm, &p)) return NULL;
    bool a = is_constant(builder, step, 0) && weft_pack_is_whole(variant, step, &p.call, 0);
    bool b = is_constant(builder, step, 1) && weft_pack_is_whole(variant, step, &p.call, 1);
    if (!a && !b) return NULL;
    weft_panels operand = weft_gemm_panels_choose(engine, builder->request->machine, &p.call, a, b);
    if (operand == WEFT_PANELS_NONE) return NULL;
    size_t index = operand == WEFT_PANELS_A ? 0 : 1;
    const weft_buffer *matrix = &variant->buffers[step->buffers[index]];
    size_t size = (size_t)variant->formulas.items[matrix->bytes].constant;
    panel_source source = {engine, packer, &p.call, operand, matrix->data, size};
    WEFT_TRY(weft_pack_add_buffer(builder, engine, &p.call, operand, &panels));
    weft_buffer *buffer = &variant->buffers[panels];
    buffer->kind = WEFT_BUFFER_CONSTANT;
    WEFT_TRY(find_panels(builder, &source, (size_t)variant->formulas.items[buffer->bytes].constant, &buffer->data));
    return weft_pack_read_panels(builder, step, operand, panels);
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

bool weft_pack_is_possible(const variant_builder *builder)
{
    const weft_runtime *runtime = builder->request->runtime;
    if (builder->request->program->policy.products == WEFT_PRODUCTS_LIBRARY) return false;
    return runtime == NULL || !weft_device_is_apart(runtime);
}

weft_status *weft_builder_pack_constants(variant_builder *builder)
{
    const weft_variant *variant = builder->variant;
    bool any = false;
    if (!weft_pack_is_possible(builder)) return NULL;
    for (size_t s = 0; s < variant->step_count; s++) {
        weft_step *step = &variant->steps[s];
        if (step->kind != WEFT_STEP_GEMM) continue;
        WEFT_TRY(pack_operand(builder, step));
        any |= step->gemm.panels != WEFT_PANELS_NONE;
    }
    return any ? drop_unread(builder) : NULL;
}
