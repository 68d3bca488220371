/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_INFER_H
#define WEFT_LIB_GRAPH_INFER_H
/*
 * Type rules of the built-in ops. A rule may trust that operands and attributes are as many and of the kinds the schema
 * says, that attribute extents belong to the graph and operand dtypes to the op's set; that extents are not negative is
 * checked after it.
 */
#include "lib/graph/graph.h"

#define WEFT_OP(name, inputs, attributes, dtypes, op_class, infer)                                                     \
    weft_status *weft_infer_##infer(const weft_infer_context *context, weft_type *out_types) WEFT_MUST_USE;
#include "lib/graph/op.def"
#undef WEFT_OP

/* An error of the op: its name comes before the sentence. */
weft_status *weft_infer_error(const weft_infer_context *context, weft_code code, const char *format, ...) WEFT_MUST_USE
    WEFT_FORMAT(3, 4);
/* NULL when a == b or a <= b is proven or becomes a guard; otherwise the error. The op's name comes before the
 * sentence. */
weft_status *weft_infer_require(const weft_infer_context *context, weft_guard_kind kind, weft_extent a, weft_extent b,
                                const char *format, ...) WEFT_MUST_USE WEFT_FORMAT(5, 6);
/* Room for a shape of `rank` axes; an error when that is over WEFT_MAX_RANK or memory is short. */
weft_status *weft_infer_extents(const weft_infer_context *context, size_t rank,
                                weft_extent **out_extents) WEFT_MUST_USE;
/* Every operand from number `first` on has the dtype of that one. */
weft_status *weft_infer_same_dtypes(const weft_infer_context *context, size_t first) WEFT_MUST_USE;
/* `axis`, the attribute called `name`, lies in [0, rank). */
weft_status *weft_infer_axis(const weft_infer_context *context, const char *name, int64_t axis,
                             size_t rank) WEFT_MUST_USE;
/* All of `axes`, the attribute called `name`, lie in [0, rank) and are distinct; increasing if so asked. */
weft_status *weft_infer_axes(const weft_infer_context *context, const char *name, weft_ints axes, size_t rank,
                             bool increasing) WEFT_MUST_USE;
#endif
