/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_OP_H
#define WEFT_LIB_GRAPH_OP_H
/* The built-in ops, expanded from op.def. */
#include <weft/extension.h>

typedef enum weft_op_id {
#define WEFT_OP(name, inputs, attributes, dtypes, op_class, infer) WEFT_OP_##name,
#include "lib/graph/op.def"
#undef WEFT_OP
    WEFT_OP_COUNT,
    WEFT_OP_EXTENSION = WEFT_OP_COUNT /* any op that is not built in */
} weft_op_id;

/* The table, in the order of weft_op_id. */
const weft_op_def *weft_op_table(void);
/* Which built-in op `op` is, or WEFT_OP_EXTENSION. */
weft_op_id weft_op_id_of(const weft_op_def *op);

/* Functions that are composed of ops but have derivatives of their own, expanded from composed.def. */
typedef enum weft_composed_id {
#define WEFT_COMPOSED(name, attributes) WEFT_COMPOSED_##name,
#include "lib/graph/composed.def"
#undef WEFT_COMPOSED
    WEFT_COMPOSED_COUNT
} weft_composed_id;

/* Their names and schemas, in the order of weft_composed_id. */
const weft_op_def *weft_composed_table(void);
/* Which of them `op` is, or WEFT_COMPOSED_COUNT. */
weft_composed_id weft_composed_id_of(const weft_op_def *op);

/*
 * Positions of attributes in the schemas of op.def:
 *  - leaf: name STRING, dtype DTYPE, shape EXTENTS  (input)
 *  - constant: dtype DTYPE, shape INTS, data DATA
 *  - iota: dtype DTYPE, shape EXTENTS, axis INT
 *  - extent: value EXTENT
 *  - cast: dtype DTYPE  (cast, bitcast)
 *  - shape: shape EXTENTS  (reshape)
 *  - axes: axes INTS  (permute, flip, reduce_*: increasing except for permute; dynamic_update_slice: x, update, starts)
 *  - broadcast: shape EXTENTS, axes INTS
 *  - slice: starts EXTENTS, sizes EXTENTS, steps INTS
 *  - pad: low EXTENTS, high EXTENTS
 *  - window: axis INT, size EXTENT, stride INT, dilation INT
 *  - shear: axis INT, along INT, step INT, extent EXTENT
 *  - barrier: number INT, keep BOOL; those of different numbers are different values, although all are the operand. If
 *    `keep` they stay so when compiled, and what is computed from them is computed again
 *    inputs: the operand, then values that are computed before it may be read
 *  - axis: axis INT  (concat, argmax, argmin)
 *  - gather: axes INTS, batch INTS  inputs: x, then i32 or i64 indices for each axis; see indexing.h
 *  - scatter: axes INTS, batch INTS, mode STRING  inputs: x, updates, then indices for each axis
 *  - dynamic_slice: axes INTS, sizes EXTENTS  inputs: x, then an i64[] start for each axis
 *  - scan: axis INT, reverse BOOL, exclusive BOOL  (scan_sum, scan_prod, scan_max, scan_min)
 *  - linear: axis INT, reverse BOOL  (scan_linear)
 *  - sort: axis INT, descending BOOL  (sort, argsort)
 *  - diagonal: axis_a INT, axis_b INT  (extract_diagonal)
 *  - embed: axis INT, new_axis INT  (embed_diagonal)
 *  - dot: batch_a INTS, batch_b INTS, contract_a INTS, contract_b INTS
 *  - fold: trips EXTENT, body REGION, carried INT  inputs: carried, then invariants;
 *    body: (index i64[], carried..., invariants...) -> carried...
 *  - while: carried INT, condition REGION, body REGION  inputs and body as for fold, without the index;
 *    condition: (carried..., invariants...) -> bool[]
 *  - cond: then REGION, else REGION  inputs: predicate bool[], then operands of both regions
 * Axes in attributes are non-negative: tracing normalises them. Elementwise nodes have operands of equal shape: tracing
 * inserts broadcasts.
 */
#endif
