/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_INDEXING_H
#define WEFT_LIB_GRAPH_INDEXING_H
/*
 * How gather and scatter interpret their axes, shared by type rules and lowering.
 *
 * The result of a gather, and the updates of a scatter, have the shape of x without `axes`, with the axes I of the
 * index tensors put where the lowest of `axes` was. `batch` are axes of x that the index tensors have too: there both
 * are read at the same place. The axes of the index tensors are in the order of the result: the batch axes before the
 * lowest of `axes`, then I, then the batch axes after.
 */
#include "lib/graph/graph.h"

/* An axis of the result of a gather or of the updates of a scatter. */
typedef struct weft_indexed_axis {
    int32_t data;  /* the axis of x that it is, or -1: one of I */
    int32_t index; /* the axis of the index tensors that it is, or -1 */
} weft_indexed_axis;

/* Fills in the axes for x of rank `rank` and index tensors of rank `index_rank`, of at least batch.count; returns their
 * number. `out_axes` has room for rank + index_rank of them. */
size_t weft_indexing_fill(size_t rank, weft_ints axes, weft_ints batch, size_t index_rank, weft_indexed_axis *out_axes);
/* The first operand that is an index tensor or a start; 0 where the op has none. What an op that has them reads or
 * writes through them is operand 0. */
uint32_t weft_indexing_first(weft_op_id op);
/* Whether the result is operand 0 with some elements changed: its memory is first filled with operand 0, then the
 * changed elements are stored.
 */
bool weft_indexing_updates(weft_op_id op);

/*
 * Whether a dynamic slice or update is there for the error of the run alone, which comes where its start, a truth
 * value, is true: weft_while_at_most ends so, and what the error says is that its condition still holds. Such nodes
 * have the name WEFT_BOUND_OP.
 */
bool weft_indexing_is_bound(const weft_node *node);
#define WEFT_BOUND_OP "while_at_most"
#define WEFT_BOUND_SENTENCE "the condition still holds after as many iterations as there may be"

/* How a scatter combines an element with an update: by an elementwise op whose first operand is the element. */
#define WEFT_SCATTER_MODE_COUNT 5
const char *weft_scatter_mode_name(size_t mode);
/* The op of a mode; WEFT_OP_COUNT for "set", where the update takes the element's place. False for no mode. */
bool weft_scatter_mode_find(const char *name, weft_op_id *out_op);
/* Whether that op, which may be WEFT_OP_COUNT, takes elements of `dtype`. */
bool weft_scatter_op_takes(weft_op_id op, weft_dtype dtype);
#endif
