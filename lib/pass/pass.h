/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_PASS_H
#define WEFT_LIB_PASS_PASS_H
/* What the passes share. */
#include "lib/pass/rewrite.h"
#include "runtime/program/formula.h"

#define WEFT_PASS(name, text)                                                                                          \
    weft_status *weft_pass_##name(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)     \
        WEFT_MUST_USE;
#include "lib/pass/pass.def"
#undef WEFT_PASS

/* Extents that a program is made for: a value of each symbol of formulas, in the range that it has. */
typedef struct weft_expected {
    const weft_formulas *formulas;
    const int64_t *values;
    bool exact; /* there are no others */
} weft_expected;

/* Whether an op is lowered for extents that are expected. */
bool weft_op_expects(const weft_op_def *op);
/* Expands these ops, in one sweep: if `exact`, by `lower` over operands of these extents, which guards require. */
weft_status *weft_lower_for(weft_graph *graph, const weft_expected *expected, size_t count,
                            weft_value *outputs) WEFT_MUST_USE;

/* The extent with these values of symbols; NONE: out of memory, as graph->exprs has it. */
weft_expr weft_expected_expr(const weft_expected *expected, weft_graph *graph, weft_extent extent);
/* canonicalize_dot once more, where extents are these. No bit depends on it. */
weft_status *weft_canonicalize_dot_for(weft_graph *graph, const weft_policy *policy, const weft_expected *expected,
                                       size_t count, weft_value *outputs) WEFT_MUST_USE;

/* Results of a dot that are worth a kernel of its own. */
enum { WEFT_DOT_LARGE_RESULT = 65536 };

#define WEFT_COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What a row returns to leave the node alone. */
static inline weft_tensor weft_site_leave(void)
{
    return (weft_tensor){0};
}

/* The node that makes `value`; not to be kept across tracing, its attributes may be. */
static inline const weft_node *weft_tensor_node(weft_tensor value)
{
    return weft_graph_node(value.graph, value.node);
}

static inline bool weft_tensor_is_op(weft_tensor value, weft_op_id op)
{
    return weft_op_id_of(weft_tensor_node(value)->op) == op;
}

/* Operand `i` of the node that makes `value`. */
static inline weft_tensor weft_tensor_operand(weft_tensor value, size_t i)
{
    weft_value operand = weft_tensor_node(value)->inputs[i];
    return (weft_tensor){value.graph, operand.node, operand.output};
}

static inline bool weft_tensor_same(weft_tensor a, weft_tensor b)
{
    return a.graph == b.graph && a.node == b.node && a.output == b.output;
}

static inline bool weft_extent_is(weft_extent extent, int64_t value)
{
    int64_t known;
    return weft_extent_is_static(extent, &known) && known == value;
}

static inline bool weft_shape_equal(weft_shape a, weft_shape b)
{
    bool equal = a.rank == b.rank;
    for (size_t i = 0; i < a.rank && equal; i++) equal = weft_extent_equal(a.extents[i], b.extents[i]);
    return equal;
}
#endif
