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
    return weft_gemm_panels_of(engine->kernel, weft_dtype_size(call->dtype),
                               operand == WEFT_PANELS_A ? call->m : call->n, call->k);
}

size_t weft_gemm_panels_bytes(const weft_gemm_engine *engine, const weft_gemm_call *call, weft_panels operand)
{
    const weft_gemm_panels panels = panels_of(engine, call, operand);
    int64_t last = (call->k - 1) / panels.block * panels.block;
    return (size_t)weft_gemm_panels_at(&panels, panels.count * panels.width, last) + WEFT_GEMM_READ_AHEAD;
}

void weft_gemm_panels_fill(const weft_gemm_engine *engine, const weft_gemm_call *call, weft_panels operand,
                           const void *data, void *panels)
{
    /* The engine may be one for another processor; how panels are filled makes no difference. */
    const weft_gemm_engine *here =
        engine->numbers->fill != NULL ? engine : weft_gemm_engine_find(weft_isa_level(), call->dtype);
    const bool is_a = operand == WEFT_PANELS_A;
    const weft_gemm_panels layout = panels_of(engine, call, operand);
    const int64_t count = is_a ? call->m : call->n, size = (int64_t)weft_dtype_size(call->dtype);
    const weft_gemm_axes lines = {.count = count, .each = count, .stride = is_a ? call->a_row : call->b_column};
    const weft_gemm_axes terms = {.count = call->k, .each = call->k, .stride = is_a ? call->a_column : call->b_row};
    const weft_gemm_side side = {.data = (const char *)data + (is_a ? call->a_offset : call->b_offset) * size,
                                 .lines = &lines,
                                 .terms = &terms,
                                 .count = count,
                                 .size = (size_t)size,
                                 .pack = here->numbers->pack,
                                 .transpose = here->kernel->transpose};
    for (int64_t t = 0; t < call->k; t += layout.block) {
        int64_t left = call->k - t, taken = left < layout.block ? left : layout.block;
        char *block = (char *)panels + weft_gemm_panels_at(&layout, 0, t);
        if (here->numbers->fill != NULL) here->numbers->fill(&side, t, taken, block);
        else weft_gemm_pack(&side, 0, count, t, taken, layout.width, block, weft_gemm_panels_pitch(&layout, t));
    }
}
