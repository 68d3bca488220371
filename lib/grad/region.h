/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAD_REGION_H
#define WEFT_LIB_GRAD_REGION_H
/* What the rules of loops and branches share. */
#include "lib/grad/grad.h"

/* Makes the nodes of a region where tracing is now. Arguments may be tensors of graphs around. */
weft_status *weft_gradient_inline(const weft_region *region, weft_arena *arena, weft_tensors arguments,
                                  weft_tensor *out_results) WEFT_MUST_USE;
/* A zeroed array of `arena`; NULL when out of memory. */
void *weft_gradient_allocate(weft_arena *arena, size_t count, size_t size);
/* Makes `status` stick to the graph; takes it. True for NULL, and no error of the graph. */
bool weft_gradient_well(weft_graph *graph, weft_status *status);

/* A loop, as its rules see it. The body's parameters are index, carried, captured. */
typedef struct weft_gradient_loop {
    const weft_gradient_context *context;
    weft_arena *arena;
    weft_extent trips;
    const weft_region *body;
    size_t carried, captured;
} weft_gradient_loop;
weft_gradient_loop weft_gradient_loop_of(const weft_gradient_context *context, weft_arena *arena);
/* Which carried values depend on active operands, `active` of the node, after any number of iterations. */
weft_status *weft_gradient_loop_active(const weft_gradient_loop *loop, const bool *active,
                                       bool *out_carried) WEFT_MUST_USE;
/* The vjp of weft_fold. */
weft_status *weft_gradient_pull_fold(const weft_gradient_context *context, weft_tensor *out_values) WEFT_MUST_USE;
#endif
