/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_TRACE_TRACE_H
#define WEFT_LIB_TRACE_TRACE_H
/* What tracing functions share. */
#include <weft/ops.h>
#include "lib/graph/graph.h"

/* weft_trace with the op in hand. */
weft_tensor weft_graph_trace(weft_graph *graph, const weft_op_def *op, weft_tensors inputs, const weft_attr *attrs);
/* Traces a built-in op; where `graph` is NULL, in the graph of the first operand that has one. */
weft_tensor weft_trace_op(weft_graph *graph, weft_op_id op, weft_tensors inputs, const weft_attr *attrs);
/* The graph in which an op over the operands is traced now; NULL when none of them has a graph. */
weft_graph *weft_trace_graph(weft_tensors operands);
/* A failed tensor of the graph of the first operand that has one. */
weft_tensor weft_trace_failed(weft_tensors operands);
/* Makes `*tensor` one of `graph`, a region being traced that captures it, if it is of a graph around. Otherwise returns
 * what is wrong: "belongs to another graph". Failed tensors stay failed. */
const char *weft_tensor_enter(weft_graph *graph, weft_tensor *tensor);
/* The same for operands of `op`, which are replaced. False when one of them is no tensor for `graph`, with an
 * error, or a failed one. */
bool weft_trace_enter(weft_graph *graph, const char *op, size_t count, weft_tensor *operands);
/* An error of the tracing function called `function`: its name comes before the sentence. Returns a failed tensor. */
weft_tensor weft_trace_fail(weft_graph *graph, weft_code code, const char *function, const char *format, ...)
    WEFT_FORMAT(4, 5);
/* Whether a list of `count` that `function` calls `name` is not NULL; false with an error. */
bool weft_trace_wants_list(const char *function, const char *name, weft_graph *graph, size_t count, const void *items);
/* Broadcasts operands first .. count - 1, valid ones of one graph, to the shape they meet in; false, with an error of
 * `op`, when they never fit. */
bool weft_trace_broadcast(weft_op_id op, size_t first, size_t count, weft_tensor *operands);
/* Operand 0 as a value of its own, which no other node is merged with, until it is compiled or, if `keep`, also then;
 * it may be read once the other operands have been computed. */
weft_tensor weft_trace_barrier(weft_tensors operands, bool keep);
/* A gather with batch axes (lib/graph/indexing.h), which must increase. */
weft_tensor weft_trace_gather(weft_tensor x, weft_tensors indices, weft_ints axes, weft_ints batch);
/* A scatter with batch axes. */
weft_tensor weft_trace_scatter(weft_tensor x, weft_tensor updates, weft_tensors indices, weft_ints axes,
                               weft_ints batch, weft_scatter_mode mode);
/* Counts a negative axis from the end; false, with an error of `function`, when it is out of range. */
bool weft_axis_normalize(weft_graph *graph, const char *function, int64_t axis, size_t rank, int64_t *out_axis);

/* Axes in [0, rank). */
typedef struct weft_axis_list {
    size_t count;
    int64_t items[WEFT_MAX_RANK];
} weft_axis_list;
/* The same for a list. */
bool weft_axes_normalize(weft_graph *graph, const char *function, weft_ints axes, size_t rank,
                         weft_axis_list *out_axes);

/* Writes a number as one element of `dtype`, under the rules of operand.h; false when the dtype cannot hold it. */
bool weft_operand_store(weft_dtype dtype, const weft_operand *operand, void *out_element);
#endif
