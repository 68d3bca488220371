/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_panels.h"
#include "runtime/engine/gemm_block.h"

weft_gemm_panels weft_gemm_panels_of(const weft_gemm_kernel *kernel, size_t size, int64_t lines, int64_t terms)
{
    int64_t width = weft_gemm_vector(kernel);
    return (weft_gemm_panels){.width = width,
                              .terms = terms,
                              .block = kernel->terms,
                              .step = kernel->step > 0 ? kernel->step : 1,
                              .count = (lines + width - 1) / width,
                              .size = (int64_t)size};
}

static weft_gemm_panels panels_of(const weft_gemm_engine *engine, const weft_gemm_call *call, weft_panels operand)
{
    size_t size = engine->kernel->size > 0 ? (size_t)engine->kernel->size : weft_dtype_size(call->dtype);
    return weft_gemm_panels_of(engine->kernel, size, operand == WEFT_PANELS_A ? call->m : call->n, call->k);
}

size_t weft_gemm_panels_bytes(const weft_gemm_engine *engine, const weft_gemm_call *call, weft_panels operand)
{
    const weft_gemm_panels panels = panels_of(engine, call, operand);
    int64_t last = (call->k - 1) / panels.block * panels.block;
    return (size_t)weft_gemm_panels_at(&panels, panels.count * panels.width, last) + WEFT_GEMM_READ_AHEAD;
}

/* An operand on its way into panels. */
typedef struct packing {
    weft_gemm_panels layout;
    weft_gemm_side side;
    char *panels;
} packing;

/* Terms of the block that begins with `term`. */
static int64_t block_terms(const weft_gemm_panels *layout, int64_t term)
{
    return layout->terms - term < layout->block ? layout->terms - term : layout->block;
}

/* Each task is a panel of all blocks. */
static void fill_panels(void *context, int64_t begin, int64_t end)
{
    const packing *p = context;
    const weft_gemm_panels *layout = &p->layout;
    int64_t first = begin * layout->width, last = end * layout->width;
    int64_t count = (last < p->side.count ? last : p->side.count) - first;
    for (int64_t t = 0; t < layout->terms; t += layout->block)
        weft_gemm_pack(&p->side, first, count, t, block_terms(layout, t), layout->width,
                       p->panels + weft_gemm_panels_at(layout, first, t), weft_gemm_panels_pitch(layout, t));
}

void weft_gemm_panels_fill(const weft_gemm_engine *engine, const weft_gemm_engine *packer, weft_pool *pool,
                           const weft_gemm_call *call, weft_panels operand, const void *data, void *panels)
{
    enum { LEAST_NUMBERS = 1 << 16 }; /* for a thread */
    const bool is_a = operand == WEFT_PANELS_A;
    const int64_t count = is_a ? call->m : call->n, size = (int64_t)weft_dtype_size(call->dtype);
    const weft_gemm_axes lines = {.count = count, .each = count, .stride = is_a ? call->a_row : call->b_column};
    const weft_gemm_axes terms = {.count = call->k, .each = call->k, .stride = is_a ? call->a_column : call->b_row};
    packing p = {.layout = panels_of(engine, call, operand),
                 .side = {.data = (const char *)data + (is_a ? call->a_offset : call->b_offset) * size,
                          .lines = &lines,
                          .terms = &terms,
                          .count = count,
                          .size = (size_t)size,
                          .pack = packer->numbers->pack,
                          .transpose = packer->kernel->transpose,
                          .runs = packer->kernel->runs},
                 .panels = panels};
    int64_t numbers = p.layout.width * call->k;
    if (packer->numbers->fill != NULL)
        for (int64_t t = 0; t < call->k; t += p.layout.block)
            packer->numbers->fill(&p.side, t, block_terms(&p.layout, t),
                                  (char *)panels + weft_gemm_panels_at(&p.layout, 0, t));
    else if (pool == NULL) fill_panels(&p, 0, p.layout.count);
    else weft_pool_run(pool, p.layout.count, (LEAST_NUMBERS + numbers - 1) / numbers, fill_panels, &p);
}
