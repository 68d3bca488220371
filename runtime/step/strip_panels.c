/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/strip_panels.h"
#include "runtime/base/memory.h"
#include "runtime/engine/gemm_panels.h"

/* The bytes to pack B of product `number`, if several strips read the same one, each of whose products would pack it;
 * otherwise 0. */
static int64_t panel_bytes(const weft_bound_variant *bound, size_t number, const weft_strips *strips,
                           const weft_strip_step *step)
{
    const weft_bound_step *bound_step = &bound->steps[number];
    if (bound_step->step->kind != WEFT_STEP_GEMM || strips->parts == 1 || strips->inner > 1) return 0;
    const weft_gemm_engine *engine = bound_step->resolved->products;
    weft_gemm_call call = bound_step->gemm;
    /* One whose columns are adjacent is read in place by products of few rows. */
    if (call.panels != WEFT_PANELS_NONE || call.b_column == 1) return 0;
    if (step->by_columns || step->cut != call.batch_rank) return 0;
    for (size_t i = 0; i < call.batch_rank; i++)
        if (call.c_batch[i] == 0 && call.batch[i] != 1) return 0; /* several matrices are added up */
    call.batch_rank = 0;
    call.m = strips->extent / strips->parts;
    if (weft_gemm_panels_choose(engine, weft_pool_machine(bound->pool), &call, false, true) != WEFT_PANELS_B) return 0;
    return WEFT_STRIP_ALIGNMENT + weft_strip_aligned((int64_t)weft_gemm_panels_bytes(engine, &call, WEFT_PANELS_B));
}

weft_status *weft_strip_panels_share(weft_bound_variant *bound, size_t first, weft_strips **strips)
{
    const weft_strips *plain = *strips;
    int64_t bytes = plain->bytes;
    weft_strip_step *steps = weft_arena_copy(&bound->arena, plain->steps, plain->count * sizeof *steps);
    weft_strips *made = weft_arena_copy(&bound->arena, plain, sizeof *made);
    if (steps == NULL || made == NULL) return weft_status_out_of_memory();
    for (size_t s = 0; s < plain->count; s++) {
        int64_t own = panel_bytes(bound, first + s, plain, &steps[s]);
        if (own == 0 || bytes + own > plain->most_bytes) continue;
        steps[s].panels = bytes + WEFT_STRIP_ALIGNMENT;
        bytes += own;
    }
    if (bytes == plain->bytes) return NULL;
    made->steps = steps;
    made->bytes = bytes;
    *strips = made;
    return NULL;
}

void weft_strip_panels_fill(const weft_bound_step *bound_step, const weft_gemm_call *call, const void *b, void *panels)
{
    const weft_gemm_engine *engine = bound_step->resolved->products;
    weft_gemm_call whole = *call;
    whole.n = bound_step->gemm.n;
    weft_gemm_panels_fill(engine, engine, NULL, &whole, WEFT_PANELS_B, b, panels);
}
