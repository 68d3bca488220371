/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel reads and does not use, or writes the same of: scores under a causal mask, and weights. */
#include "lib/build/builder.h"
#include "lib/loop/inst.h"

/* A stage along rows under a mask. */
typedef struct masked_row {
    const weft_kernel *kernel;
    const weft_stage *stage;
    weft_expr column, row; /* variables: along the row that is read; of the innermost range that threads share */
    uint32_t buffer;       /* of what is written */
    weft_expr stored;      /* from where on an earlier stage stored one number in each row there; NONE: none did */
} masked_row;

static const weft_range *last_thread(const weft_kernel *kernel)
{
    const weft_range *last = NULL;
    for (uint32_t i = 0; i < kernel->range_count; i++)
        if (kernel->ranges[i].bind == WEFT_BIND_THREAD) last = &kernel->ranges[i];
    return last;
}

/* Where the condition is false from element i + c of row i on, column <= row + c: c + 1, in which no variable is; NONE:
 * it is another one. */
static weft_expr hides_from(const masked_row *m, weft_inst_id condition)
{
    weft_expr_context *x = m->kernel->exprs;
    const weft_inst *inst = &m->kernel->insts[condition];
    weft_expr rest, step, one = weft_expr_constant(x, 1);
    if (inst->op == WEFT_SCALAR_and) {
        weft_expr left = hides_from(m, inst->args[0]);
        return left != WEFT_EXPR_NONE ? left : hides_from(m, inst->args[1]);
    }
    rest = weft_inst_margin(m->kernel, inst);
    if (rest == WEFT_EXPR_NONE || !weft_expr_affine(x, rest, m->column, &step, &rest) ||
        step != weft_expr_constant(x, -1))
        return WEFT_EXPR_NONE;
    if (!weft_expr_affine(x, rest, m->row, &step, &rest) || step != one) return WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < m->kernel->range_count; i++)
        if (weft_expr_uses(x, rest, m->kernel->ranges[i].variable)) return WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < m->stage->range_count; i++)
        if (weft_expr_uses(x, rest, m->stage->ranges[i].variable)) return WEFT_EXPR_NONE;
    return weft_expr_add(x, rest, one);
}

/* Whether an index is that of row `iteration` of a buffer, one after another, at `column`. */
static bool is_in_rows(const masked_row *m, weft_expr index)
{
    weft_expr_context *x = m->kernel->exprs;
    weft_expr step;
    for (uint32_t i = 0; i < m->kernel->range_count; i++)
        if (!weft_expr_affine(x, index, m->kernel->ranges[i].variable, &step, &index)) return false;
    return index == m->column;
}

/* Whether something other than a select of the value takes it. */
static bool is_taken(const weft_kernel *kernel, weft_inst_id id)
{
    for (uint32_t i = 0; i < kernel->accumulator_count; i++)
        for (uint32_t v = 0; v < kernel->accumulators[i].value_count; v++)
            if (kernel->accumulators[i].values[v] == id) return true;
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) {
            const weft_store *store = &kernel->stages[s].stores[i];
            if (store->value == id || (store->is_indirect && store->offset == id)) return true;
        }
    return false;
}

/* From where on no select takes the value, or what it is cast to; NONE: one may take all, or something else does. */
static weft_expr masked_from(const masked_row *m, weft_inst_id id)
{
    const weft_kernel *kernel = m->kernel;
    weft_expr from = WEFT_EXPR_NONE;
    if (is_taken(kernel, id)) return from;
    for (uint32_t i = m->stage->inst_first; i < kernel->inst_count; i++)
        for (uint32_t a = 0; a < kernel->insts[i].arg_count; a++) {
            if (kernel->insts[i].args[a] != id) continue;
            bool picks = kernel->insts[i].op == WEFT_SCALAR_select && a == 1;
            weft_expr own = picks                                     ? hides_from(m, kernel->insts[i].args[0])
                            : kernel->insts[i].op == WEFT_SCALAR_cast ? masked_from(m, i)
                                                                      : WEFT_EXPR_NONE;
            if (own == WEFT_EXPR_NONE || (from != WEFT_EXPR_NONE && own != from)) return WEFT_EXPR_NONE;
            from = own;
        }
    return from;
}

weft_expr weft_hidden_from(const weft_kernel *kernel, uint32_t buffer, weft_expr *out_extent)
{
    const weft_range *row = last_thread(kernel);
    weft_expr from = WEFT_EXPR_NONE;
    if (row == NULL) return from;
    *out_extent = row->extent;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (weft_inst_id id = stage->inst_first; id < stage->inst_first + stage->inst_count; id++) {
            const weft_inst *inst = &kernel->insts[id];
            if (inst->op != WEFT_SCALAR_load || inst->buffer != buffer) continue;
            if (stage->range_count == 0 || inst->arg_count > 0) return WEFT_EXPR_NONE;
            const masked_row m = {.kernel = kernel,
                                  .stage = stage,
                                  .column = stage->ranges[stage->range_count - 1].variable,
                                  .row = row->variable};
            weft_expr own = is_in_rows(&m, inst->index) ? masked_from(&m, id) : WEFT_EXPR_NONE;
            if (own == WEFT_EXPR_NONE || (from != WEFT_EXPR_NONE && own != from)) return WEFT_EXPR_NONE;
            from = own;
        }
    }
    return from;
}

/* ---- what is written ---- */

/* From where on the first select of the stage that a mask decides has something else in its rows; NONE for none. */
static weft_expr mask_of(const masked_row *m)
{
    weft_expr from = WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < m->stage->inst_count && from == WEFT_EXPR_NONE; i++) {
        const weft_inst *inst = &m->kernel->insts[m->stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_select) from = hides_from(m, inst->args[0]);
    }
    return from;
}

static bool has_column(const masked_row *m, const weft_inst *inst)
{
    weft_expr_context *x = m->kernel->exprs;
    bool has =
        (weft_inst_fields(inst->op, inst->dtype) & WEFT_INST_INDEX) != 0 && weft_expr_uses(x, inst->index, m->column);
    for (uint32_t i = 0; i < inst->predicate_count; i++) has |= weft_expr_uses(x, inst->predicates[i], m->column);
    return has;
}

/* Whether it loads what the earlier stage stored. */
static bool loads_stored(const masked_row *m, const weft_inst *inst)
{
    return inst->op == WEFT_SCALAR_load && inst->buffer == m->buffer && inst->arg_count == 0 &&
           inst->predicate_count == 0 && is_in_rows(m, inst->index);
}

/* Whether the value varies along the row where the mask hides; `varies` is filled in for those before. */
static bool varies(const masked_row *m, weft_expr from, weft_inst_id id, const bool *varies_before)
{
    const weft_inst *inst = &m->kernel->insts[id];
    bool picks = weft_scalar_is_choice(inst->op) && hides_from(m, inst->args[0]) == from;
    if (picks) return varies_before[inst->args[2]];
    if (m->stored == from && loads_stored(m, inst)) return false;
    bool own = inst->op == WEFT_SCALAR_running || has_column(m, inst);
    for (uint32_t i = 0; i < inst->arg_count; i++) own |= varies_before[inst->args[i]];
    return own;
}

/* Whether the stage stores one number in each row of the buffer from there on. */
static bool repeats(const masked_row *m, const weft_store *store, weft_expr from, bool *memory)
{
    if (store->is_indirect || store->predicate_count > 0 || !is_in_rows(m, store->index)) return false;
    for (weft_inst_id id = 0; id <= store->value; id++) memory[id] = varies(m, from, id, memory);
    return !memory[store->value];
}

weft_expr weft_repeated_from(const weft_kernel *kernel, uint32_t buffer, bool *memory, weft_expr *out_extent)
{
    const weft_range *row = last_thread(kernel);
    weft_expr from = WEFT_EXPR_NONE, columns = WEFT_EXPR_NONE;
    if (row == NULL) return from;
    *out_extent = row->extent;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = 0; i < stage->store_count; i++) {
            if (stage->stores[i].buffer != buffer) continue;
            if (stage->range_count == 0) return WEFT_EXPR_NONE;
            const weft_range *column = &stage->ranges[stage->range_count - 1];
            const masked_row m = {kernel, stage, column->variable, row->variable, buffer, from};
            weft_expr own = mask_of(&m);
            if (own == WEFT_EXPR_NONE) own = from; /* it makes something of what is stored */
            if (own == WEFT_EXPR_NONE || !repeats(&m, &stage->stores[i], own, memory)) return WEFT_EXPR_NONE;
            /* A row is stored as a whole each time. */
            if (from != WEFT_EXPR_NONE && (own != from || column->extent != columns)) return WEFT_EXPR_NONE;
            from = own;
            columns = column->extent;
        }
    }
    return from;
}
