/* SPDX-License-Identifier: Apache-2.0 */
/* Integers that are computed from positions, as expressions. */
#include "lib/loop/inst.h"

/* A sum of indices and constants, in which nothing overflows; NONE: it is another value. */
static weft_expr value_of(const weft_kernel *kernel, weft_inst_id id)
{
    enum { MOST_BITS = 60 };
    weft_expr_context *x = kernel->exprs;
    const weft_inst *inst = &kernel->insts[id];
    weft_expr value = WEFT_EXPR_NONE, left, right;
    int64_t least, most;
    if (inst->op == WEFT_SCALAR_index) value = inst->index;
    if (inst->op == WEFT_SCALAR_const && inst->dtype == WEFT_I64) value = weft_expr_constant(x, (int64_t)inst->bits);
    if ((inst->op == WEFT_SCALAR_add || inst->op == WEFT_SCALAR_sub) && inst->dtype == WEFT_I64) {
        left = value_of(kernel, inst->args[0]);
        right = value_of(kernel, inst->args[1]);
        if (left == WEFT_EXPR_NONE || right == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
        value = inst->op == WEFT_SCALAR_add ? weft_expr_add(x, left, right) : weft_expr_sub(x, left, right);
    }
    if (value == WEFT_EXPR_NONE) return value;
    weft_expr_range(x, value, &least, &most);
    return least < -(INT64_C(1) << MOST_BITS) || most > INT64_C(1) << MOST_BITS ? WEFT_EXPR_NONE : value;
}

weft_expr weft_inst_margin(const weft_kernel *kernel, const weft_inst *inst)
{
    weft_expr_context *x = kernel->exprs;
    bool strict = inst->op == WEFT_SCALAR_lt || inst->op == WEFT_SCALAR_gt;
    bool rises = inst->op == WEFT_SCALAR_le || inst->op == WEFT_SCALAR_lt;
    if (!strict && inst->op != WEFT_SCALAR_le && inst->op != WEFT_SCALAR_ge) return WEFT_EXPR_NONE;
    weft_expr left = value_of(kernel, inst->args[0]), right = value_of(kernel, inst->args[1]);
    if (left == WEFT_EXPR_NONE || right == WEFT_EXPR_NONE) return WEFT_EXPR_NONE;
    weft_expr difference = rises ? weft_expr_sub(x, right, left) : weft_expr_sub(x, left, right);
    return strict ? weft_expr_sub(x, difference, weft_expr_constant(x, 1)) : difference;
}
