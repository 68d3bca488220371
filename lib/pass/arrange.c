/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts every dot in the form a matrix library wants: operands come as batch, free, contracted axes of a and batch,
 * contracted, free axes of b, so that one that has to be copied is copied into that order; and a dot whose result is
 * only wanted with the free axes of b in front is the dot of b and a. A dot of short floats, which is summed in f32
 * anyhow, becomes a dot of f32 between casts. requires: nothing. maintains: values, guards.
 * breaks: nothing; no permute it adds can be merged away.
 */
#include "lib/loop/loop.h"
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

/* An operand with its axes in order, and where its batch and contracted axes then are. */
typedef struct side {
    weft_tensor operand;
    int64_t batch[WEFT_MAX_RANK], contract[WEFT_MAX_RANK];
} side;

static side arrange_side(weft_tensor operand, weft_ints batch, weft_ints contract, bool contract_last)
{
    side s = {.operand = operand};
    int64_t order[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(operand), next = append(batch, order, 0);
    size_t first_contract = contract_last ? rank - contract.count : next;
    if (!contract_last) next = append(contract, order, next);
    for (size_t i = 0; i < rank; i++) {
        if (!contains(batch, (int64_t)i) && !contains(contract, (int64_t)i)) order[next++] = (int64_t)i;
    }
    if (contract_last) append(contract, order, next);
    for (size_t i = 0; i < batch.count; i++) s.batch[i] = (int64_t)i;
    for (size_t i = 0; i < contract.count; i++) s.contract[i] = (int64_t)(first_contract + i);
    bool moved = false;
    for (size_t i = 0; i < rank; i++) moved |= order[i] != (int64_t)i;
    if (moved) s.operand = weft_permute(operand, (weft_ints){rank, order});
    return s;
}

static weft_tensor arranged_dot(weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    side left = arrange_side(a, axes.batch_a, axes.contract_a, true);
    side right = arrange_side(b, axes.batch_b, axes.contract_b, false);
    return weft_dot(left.operand, right.operand,
                    (weft_dot_axes){{axes.batch_a.count, left.batch},
                                    {axes.batch_b.count, right.batch},
                                    {axes.contract_a.count, left.contract},
                                    {axes.contract_b.count, right.contract}});
}

static weft_tensor widened_dot(weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    weft_dtype dtype = weft_tensor_dtype(a), wide = weft_accumulator_dtype(dtype);
    if (dtype == wide) return arranged_dot(a, b, axes);
    weft_tensor left = weft_cast(a, wide), right = weft_cast(b, wide);
    return weft_cast(arranged_dot(left, right, axes), dtype);
}

static weft_dot_axes axes_of(const weft_attr *attrs)
{
    return (weft_dot_axes){attrs[0].ints, attrs[1].ints, attrs[2].ints, attrs[3].ints};
}

/* Whether `order` leaves the batch axes of the dot and swaps the free axes of a with those of b. */
static bool swaps_free_axes(weft_tensor dot, weft_ints order)
{
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    size_t batch = axes.batch_a.count;
    size_t free_a = weft_tensor_rank(weft_tensor_operand(dot, 0)) - batch - axes.contract_a.count;
    size_t free_b = order.count - batch - free_a;
    for (size_t i = 0; i < order.count; i++) {
        size_t from = i < batch ? i : i < batch + free_b ? i + free_a : i - free_b;
        if ((size_t)order.items[i] != from) return false;
    }
    return free_a > 0 && free_b > 0;
}

/* A permute of a dot that nobody else reads. */
static weft_tensor swap(const weft_rewrite_site *site)
{
    const uint32_t *uses = site->context;
    weft_tensor dot = site->inputs.items[0];
    if (!weft_tensor_is_op(dot, WEFT_OP_dot) || uses[site->node->inputs[0].node] != 1) return weft_site_leave();
    if (!swaps_free_axes(dot, site->node->attrs[0].ints)) return weft_site_leave();
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    return arranged_dot(b, a, (weft_dot_axes){axes.batch_b, axes.batch_a, axes.contract_b, axes.contract_a});
}

static weft_status *arrange(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    weft_tensor value = weft_site_leave();
    weft_op_id op = weft_op_id_of(site->node->op);
    if (op == WEFT_OP_permute) value = swap(site);
    if (op == WEFT_OP_dot)
        value = widened_dot(site->inputs.items[0], site->inputs.items[1], axes_of(site->node->attrs));
    if (!weft_tensor_is_valid(value)) return NULL;
    out_values[0] = value;
    *out_replaced = true;
    return NULL;
}

/* How often each node is an operand, or an output. */
static void count_uses(const weft_graph *graph, size_t count, const weft_value *outputs, const uint8_t *live,
                       uint32_t *out_uses)
{
    for (size_t i = 0; i < count; i++) out_uses[outputs[i].node]++;
    for (size_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, (uint32_t)n);
        for (uint32_t i = 0; live[n] && i < node->input_count; i++) out_uses[node->inputs[i].node]++;
    }
}

weft_status *weft_pass_arrange(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    size_t nodes = graph->node_count, size = nodes * (sizeof(uint32_t) + 1);
    (void)policy;
    uint32_t *uses = weft_allocate_zeroed(graph->allocator, size);
    if (uses == NULL) return weft_status_out_of_memory();
    uint8_t *live = (uint8_t *)(uses + nodes);
    weft_graph_mark(graph, count, outputs, live);
    count_uses(graph, count, outputs, live, uses);
    weft_status *status = weft_rewrite_run(graph, count, outputs, arrange, uses);
    weft_free(graph->allocator, uses, size);
    return status;
}
