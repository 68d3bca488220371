/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_CHAIN_ROWS_H
#define WEFT_RUNTIME_STEP_CHAIN_ROWS_H
/*
 * Steps of a chain run in strips if they all have the same rows. A product has one for each index of the batch axes
 * along which its result moves and of one side, m or n, or of the outer ones of these; a kernel runs so many iterations
 * for each, or each iteration has so many. An intermediate holds them one after another.
 */
#include "runtime/step/bound_variant.h"

/* Axes of a product that run over rows, outermost first: batch axes, and after all of them the side that does. */
typedef struct weft_row_axes {
    size_t count;
    int64_t extents[WEFT_MAX_RANK + 1];
    size_t batch[WEFT_MAX_RANK + 1]; /* which axis of the call; batch_rank: the side */
} weft_row_axes;

/* Some steps of a chain, and the intermediates that nothing but these uses. */
typedef struct weft_chain_view {
    const weft_bound_variant *bound;
    const weft_step *steps;
    const weft_bound_step *bound_steps;
    size_t count, intermediate_count;
    uint32_t intermediates[WEFT_CHAIN_STEPS];
    weft_strip_step found[WEFT_CHAIN_STEPS];
    int64_t rows;
    int64_t grain;      /* rows of which strips consist: those of an iteration, where it has several */
    weft_row_axes axes; /* of the first product */
} weft_chain_view;

/* Steps [begin, end) of the chain that begins with step `number`. */
weft_chain_view weft_chain_view_of(const weft_bound_variant *bound, size_t number, size_t begin, size_t end);
/* Whether the steps are connected and have the same rows: finds these, and what there is to know of each step but where
 * it is cut. */
bool weft_chain_find_rows(weft_chain_view *v);

bool weft_chain_step_uses(const weft_step *step, uint32_t buffer);
bool weft_chain_is_intermediate(const weft_chain_view *v, uint32_t buffer);
/* Of a buffer. */
int64_t weft_chain_bytes(const weft_chain_view *v, uint32_t buffer);
int64_t weft_chain_elements(const weft_chain_view *v, uint32_t buffer);
weft_row_axes weft_chain_axes(const weft_gemm_call *call, bool by_columns);
/* Which axis of the call, as in `batch`. */
size_t weft_chain_innermost(const weft_row_axes *axes);
#endif
