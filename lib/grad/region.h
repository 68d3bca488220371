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
/* The tangents of the results of weft_fold and weft_while. */
weft_status *weft_gradient_push_loop(const weft_gradient_context *context, weft_tensor *out_values) WEFT_MUST_USE;

/* ---- weft_fold in reverse mode: a loop back, which carries the cotangents ---- */

weft_status *weft_gradient_pull_fold(const weft_gradient_context *context, weft_tensor *out_values) WEFT_MUST_USE;
/* The same, with so many stored iterations at a time; 0: with all. */
weft_status *weft_gradient_pull_fold_by(const weft_gradient_context *context, int64_t snapshots,
                                        weft_tensor *out_values) WEFT_MUST_USE;

typedef struct weft_gradient_back {
    weft_gradient_loop loop;
    weft_region body; /* of the loop; after its results those of products that are stored */
    int64_t snapshots;
    bool *active;            /* by carried value: it depends on what is needed */
    bool *used;              /* by carried value: it has a cotangent at some iteration */
    bool *summed;            /* by captured value: it is needed, and something used depends on it */
    const weft_tensor *sums; /* by operand: its cotangent so far, or none */
    weft_tensor *buffers;    /* by carried value, then by product: those of several iterations, as rows */
    weft_tensor *initial;    /* of the loop back: cotangents of used values, then sums */
    size_t count;
} weft_gradient_back;

/* Products of a body whose results are stored, since computing them again takes longer: at most a few times as many
 * elements as are carried. They are computed from carried values. */
weft_status *weft_gradient_choose_products(const weft_gradient_loop *loop, size_t *out_count,
                                           weft_tensor *out_products) WEFT_MUST_USE;

/* A row of a buffer, in `shape`; and the buffer with another row. */
weft_tensor weft_gradient_load(weft_tensor rows, weft_tensor number, weft_shape shape);
weft_tensor weft_gradient_keep(weft_tensor rows, weft_tensor number, weft_tensor value);
/* The iteration that iteration `index` of the loop back goes back through. */
weft_tensor weft_gradient_count_down(const weft_gradient_back *back, weft_tensor index);
/* The cotangents before iteration `index`, into which row `row` of the buffers was carried, from those after it. */
weft_status *weft_gradient_go_back(const weft_gradient_back *back, weft_tensor index, weft_tensor row,
                                   const weft_tensor *carried, weft_tensor *out_next) WEFT_MUST_USE;
/* The loop back, which needs the carried values that are marked in `needed`, with few of them stored at a time. */
weft_status *weft_gradient_by_snapshots(weft_gradient_back *back, const bool *needed,
                                        weft_tensor *out_back) WEFT_MUST_USE;
#endif
