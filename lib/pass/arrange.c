/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the operands of every dot in the order a matrix library reads: batch, free, contracted axes for a; batch, contracted, free for b. An operand
 * that has to be copied for the library is then copied into that order.
 * requires: nothing. maintains: values, bits, guards. breaks: nothing; canonicalize has nothing to merge afterwards but the permutes added.
 */
#include "lib/pass/pass.h"

static bool contains(weft_ints list, int64_t value)
{
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i] == value) return true;
    }
    return false;
}

static size_t append(weft_ints list, int64_t *order, size_t next)
{
    for (size_t i = 0; i < list.count; i++) order[next++] = list.items[i];
    return next;
}

/* Axes of an operand in the wanted order, and where its batch and contracted axes then are; false when they are there already. */
static bool fill_order(size_t rank, weft_ints batch, weft_ints contract, bool contract_last, int64_t *order, int64_t *new_batch,
                       int64_t *new_contract)
{
    size_t next = append(batch, order, 0);
    size_t first_contract = contract_last ? rank - contract.count : next;
    if (!contract_last) next = append(contract, order, next);
    for (size_t i = 0; i < rank; i++) {
        if (!contains(batch, (int64_t)i) && !contains(contract, (int64_t)i)) order[next++] = (int64_t)i;
    }
    if (contract_last) append(contract, order, next);
    for (size_t i = 0; i < batch.count; i++) new_batch[i] = (int64_t)i;
    for (size_t i = 0; i < contract.count; i++) new_contract[i] = (int64_t)(first_contract + i);
    for (size_t i = 0; i < rank; i++) {
        if (order[i] != (int64_t)i) return true;
    }
    return false;
}

static weft_status *arrange(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    int64_t orders[2][WEFT_MAX_RANK], batch[2][WEFT_MAX_RANK], contract[2][WEFT_MAX_RANK];
    weft_tensor operands[2];
    bool moved = false;
    if (weft_op_id_of(site->node->op) != WEFT_OP_dot) return NULL;
    const weft_attr *attrs = site->node->attrs;
    for (size_t side = 0; side < 2; side++) {
        operands[side] = site->inputs.items[side];
        size_t rank = weft_tensor_rank(operands[side]);
        if (fill_order(rank, attrs[side].ints, attrs[2 + side].ints, side == 0, orders[side], batch[side], contract[side])) {
            operands[side] = weft_permute(operands[side], (weft_ints){rank, orders[side]});
            moved = true;
        }
    }
    if (!moved) return NULL;
    size_t batch_count = attrs[0].ints.count, contract_count = attrs[2].ints.count;
    weft_dot_axes axes = {{batch_count, batch[0]}, {batch_count, batch[1]}, {contract_count, contract[0]}, {contract_count, contract[1]}};
    out_values[0] = weft_dot(operands[0], operands[1], axes);
    *out_replaced = true;
    return NULL;
}

weft_status *weft_pass_arrange(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    (void)policy;
    return weft_rewrite_run(graph, count, outputs, arrange, NULL);
}
