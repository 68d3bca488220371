/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel reads and does not use: scores under a causal mask. */
#include "lib/build/builder.h"

/* A load whose value goes nowhere but into selects that take something else where `visible` is below zero. */
typedef struct masked_load {
    const weft_kernel *kernel;
    weft_inst_id id;
    weft_expr column, row; /* variables: along the row that is read; of the innermost range of iterations */
    weft_expr from;        /* NONE: nothing is hidden yet */
} masked_load;

static const weft_range *last_thread(const weft_kernel *kernel)
{
    const weft_range *last = NULL;
    for (uint32_t i = 0; i < kernel->range_count; i++)
        if (kernel->ranges[i].bind == WEFT_BIND_THREAD) last = &kernel->ranges[i];
    return last;
}

/* A sum of indices and constants as an expression, in which nothing overflows; NONE: it is another value. */
static weft_expr value_of(const weft_kernel *kernel, weft_inst_id id)
{
    enum { MOST_BITS = 62 };
    weft_expr_context *x = kernel->exprs;
    const weft_inst *inst = &kernel->insts[id];
    weft_expr value = WEFT_EXPR_NONE, left, right;
    int64_t least, most;
    if (inst->op == WEFT_SCALAR_index) return inst->index;
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

/* What is at least zero where a comparison holds; NONE: it is none of positions. */
static weft_expr holds_from(const weft_kernel *kernel, const weft_inst *inst)
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

/* Whether the condition is false from a column on that is as far behind that of the row above as the row itself:
 * column <= row + c. */
static bool hides(masked_load *m, weft_inst_id condition)
{
    weft_expr_context *x = m->kernel->exprs;
    const weft_inst *inst = &m->kernel->insts[condition];
    weft_expr difference, step, one = weft_expr_constant(x, 1);
    if (inst->op == WEFT_SCALAR_and) return hides(m, inst->args[0]) || hides(m, inst->args[1]);
    difference = holds_from(m->kernel, inst);
    if (difference == WEFT_EXPR_NONE) return false;
    if (!weft_expr_affine(x, difference, m->column, &step, &difference) || step != weft_expr_constant(x, -1))
        return false;
    if (!weft_expr_affine(x, difference, m->row, &step, &difference) || step != one) return false;
    for (uint32_t i = 0; i < m->kernel->range_count; i++)
        if (weft_expr_uses(x, difference, m->kernel->ranges[i].variable)) return false;
    weft_expr from = weft_expr_add(x, difference, one);
    if (m->from != WEFT_EXPR_NONE && m->from != from) return false;
    m->from = from;
    return true;
}

/* Whether the load reads row `iteration` of the buffer, one after another, at `column`. */
static bool reads_rows(const masked_load *m)
{
    weft_expr_context *x = m->kernel->exprs;
    weft_expr index = m->kernel->insts[m->id].index, step;
    for (uint32_t i = 0; i < m->kernel->range_count; i++)
        if (!weft_expr_affine(x, index, m->kernel->ranges[i].variable, &step, &index)) return false;
    return index == m->column;
}

static bool is_masked(masked_load *m, const weft_stage *stage)
{
    const weft_kernel *kernel = m->kernel;
    bool any = false;
    for (uint32_t i = stage->inst_first; i < kernel->inst_count; i++)
        for (uint32_t a = 0; a < kernel->insts[i].arg_count; a++) {
            if (kernel->insts[i].args[a] != m->id) continue;
            if (kernel->insts[i].op != WEFT_SCALAR_select || a != 1 || !hides(m, kernel->insts[i].args[0]))
                return false;
            any = true;
        }
    for (uint32_t i = 0; i < kernel->accumulator_count; i++)
        for (uint32_t v = 0; v < kernel->accumulators[i].value_count; v++)
            if (kernel->accumulators[i].values[v] == m->id) return false;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) {
            const weft_store *store = &kernel->stages[s].stores[i];
            if (store->value == m->id || (store->is_indirect && store->offset == m->id)) return false;
        }
    return any;
}

weft_expr weft_hidden_from(const weft_kernel *kernel, uint32_t buffer, weft_expr *out_extent)
{
    const weft_range *row = last_thread(kernel);
    masked_load m = {.kernel = kernel, .from = WEFT_EXPR_NONE};
    if (row == NULL) return WEFT_EXPR_NONE;
    m.row = row->variable;
    *out_extent = row->extent;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (m.id = stage->inst_first; m.id < stage->inst_first + stage->inst_count; m.id++) {
            if (kernel->insts[m.id].op != WEFT_SCALAR_load || kernel->insts[m.id].buffer != buffer) continue;
            if (stage->range_count == 0 || kernel->insts[m.id].arg_count > 0) return WEFT_EXPR_NONE;
            m.column = stage->ranges[stage->range_count - 1].variable;
            if (!reads_rows(&m) || !is_masked(&m, stage)) return WEFT_EXPR_NONE;
        }
    }
    return m.from;
}
