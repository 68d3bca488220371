/* SPDX-License-Identifier: Apache-2.0 */
/* What the process has for each kind of step. Programs compiled ahead of time name what they need instead. */
#include "runtime/engine/gemm.h"
#include "runtime/engine/sort.h"
#include "runtime/step/step.h"

static const weft_step_methods *const all[WEFT_STEP_KINDS] = {
    [WEFT_STEP_KERNEL] = &weft_step_kernel, [WEFT_STEP_GEMM] = &weft_step_product,
    [WEFT_STEP_PACK] = &weft_step_pack,     [WEFT_STEP_SORT] = &weft_step_sort,
    [WEFT_STEP_HOST] = &weft_step_host,     [WEFT_STEP_REGION] = &weft_step_region};

void weft_steps_resolve(weft_variant *variant, weft_product_policy policy)
{
    bool is_fast = policy == WEFT_PRODUCTS_FAST;
    variant->methods = all;
    variant->chains = &weft_step_chains;
    for (size_t i = 0; i < variant->step_count; i++) {
        const weft_step *step = &variant->steps[i];
        weft_resolved *resolved = &variant->resolved[i];
        if (step->kind == WEFT_STEP_GEMM || step->kind == WEFT_STEP_PACK)
            resolved->products = weft_gemm_engine_find_here(weft_isa_level(), step->gemm.dtype, is_fast);
        if (step->kind == WEFT_STEP_SORT) resolved->keys = weft_key_sort_find(step->sort.dtype, step->sort.positions);
    }
}
