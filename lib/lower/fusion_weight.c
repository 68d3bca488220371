/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion: what it costs to compute a value where it is read. */
#include "lib/lower/chains.h"
#include "lib/lower/fusion_rules.h"
#include "lib/math/function.h"
#include "lib/pass/pass.h"

/* A value computed this many times as often as it has elements, at the cost of this many extra operations, gets memory
 * and a kernel. */
#define OFTEN_REPEATED 8
#define LARGE_REPETITION (1 << 20)

static uint32_t own_weight(const weft_node *node)
{
    if (weft_op_is_function(node->op)) return WEFT_FUSION_FUNCTION_WEIGHT;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_div:
    case WEFT_OP_sqrt: return 4;
    default: return node->op->op_class == WEFT_CLASS_LEAF ? 0 : 1;
    }
}

/* Whether the element of a result at a place is computed from elements of the operands whose places are affine in it.
 */
static bool is_local(const weft_graph *graph, const weft_node *node)
{
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_permute:
    case WEFT_OP_broadcast:
    case WEFT_OP_slice:
    case WEFT_OP_flip:
    case WEFT_OP_barrier: return true;
    case WEFT_OP_reshape: return weft_reshape_keeps_axes(graph, node);
    default: return node->op->op_class == WEFT_CLASS_ELEMENTWISE && !weft_node_may_fail(node);
    }
}

/* Whether a value has memory, gets memory when it is read like that, or is local. */
static bool is_reachable(const weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, n);
    bool has_memory = fusion->materialized[n] || weft_fusion_is_reduction(node) ||
                      weft_fusion_role_of_root(fusion, n) != WEFT_ROLE_KERNEL;
    has_memory |= node->op->op_class == WEFT_CLASS_LEAF || node->op->op_class == WEFT_CLASS_SCAN;
    if (has_memory || weft_indexing_updates(weft_op_id_of(node->op))) return true;
    bool all = is_local(graph, node);
    for (uint32_t i = 0; i < node->input_count; i++) all &= fusion->reachable[node->inputs[i].node];
    return all;
}

/* Whether the node is computed from positions and single constants alone. */
static uint8_t is_counted(const weft_fusion *fusion, const weft_node *node, bool is_read)
{
    bool all = !is_read && (node->op->op_class == WEFT_CLASS_LEAF || node->op->op_class == WEFT_CLASS_ELEMENTWISE ||
                            node->op->op_class == WEFT_CLASS_MOVEMENT);
    for (uint32_t i = 0; i < node->input_count; i++) all &= fusion->counted[node->inputs[i].node];
    return all;
}

bool weft_fusion_is_worth_storing(uint64_t count, uint32_t weight, double times)
{
    double more = (double)count * ((double)weight - 1);
    return times >= OFTEN_REPEATED && more * (times - 1) >= LARGE_REPETITION;
}

/* The operand, or the single value that is repeated to make it, and how often that is. */
static uint32_t repeated_value(const weft_fusion *fusion, uint32_t operand, double *out_times)
{
    const weft_graph *graph = fusion->compiled->graph;
    const weft_node *node = weft_graph_node(graph, operand);
    *out_times = 1;
    if (weft_op_id_of(node->op) != WEFT_OP_broadcast || weft_value_type(graph, node->inputs[0])->shape.rank > 0)
        return operand;
    *out_times = (double)weft_count_bound(fusion->space, node->types[0].shape);
    return node->inputs[0].node;
}

/* Whether a kernel computes elements of the operands at the place of the node's own: of a gather those of positions, as
 * many as there are results. */
static bool reads_in_place(const weft_graph *graph, const weft_node *node)
{
    bool is_gather = weft_op_id_of(node->op) == WEFT_OP_gather;
    for (uint32_t i = 1; i < node->input_count && is_gather; i++)
        is_gather = weft_shape_equal(weft_value_type(graph, node->inputs[i])->shape, node->types[0].shape);
    return is_gather || node->op->op_class == WEFT_CLASS_ELEMENTWISE;
}

/* The cost of a node that is not weighed yet, and reads in place, in a kernel, which merges equal instructions: what
 * several elementwise ops read counts once, and constants are free. A view reads its operand at places of its own, so
 * what it needs counts for each view. Stops above WEFT_FUSION_LARGEST_KERNEL. */
static uint32_t weigh_merged(weft_fusion *fusion, uint32_t n)
{
    const weft_graph *graph = fusion->compiled->graph;
    uint32_t pending[WEFT_FUSION_LARGEST_KERNEL + 1] = {n}, count = 1;
    uint32_t weight = own_weight(weft_graph_node(graph, n));
    while (count > 0 && weight <= WEFT_FUSION_LARGEST_KERNEL) {
        const weft_node *node = weft_graph_node(graph, pending[--count]);
        for (uint32_t i = 0; i < node->input_count && weight <= WEFT_FUSION_LARGEST_KERNEL; i++) {
            double times;
            uint32_t operand = repeated_value(fusion, node->inputs[i].node, &times);
            if (fusion->weights[operand] == 0 || fusion->merged_for[operand] == n + 1) continue;
            fusion->merged_for[operand] = n + 1;
            const weft_node *inner = weft_graph_node(graph, operand);
            bool is_read =
                fusion->materialized[operand] || weft_fusion_is_worth_storing(1, fusion->weights[operand], times);
            bool is_table = i == 0 && node->op->op_class == WEFT_CLASS_INDEX;
            bool merges = !is_read && !is_table && reads_in_place(graph, inner);
            weight += is_read ? 1 : merges ? own_weight(inner) : fusion->weights[operand];
            if (merges) pending[count++] = operand;
        }
    }
    return weight;
}

uint32_t weft_fusion_kernel_weight(const weft_fusion *fusion, uint32_t n)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    uint32_t weight = own_weight(node);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t sum = weight + fusion->weights[node->inputs[i].node];
        weight = sum < weight ? UINT32_MAX : sum;
    }
    return weight;
}

/* The operand of a broadcast that repeats what takes more than a read, node + 1; or 0. */
static uint32_t costly_repeated(const weft_fusion *fusion, const weft_node *node)
{
    if (weft_op_id_of(node->op) != WEFT_OP_broadcast) return 0;
    uint32_t operand = node->inputs[0].node;
    const weft_node *source = weft_graph_node(fusion->compiled->graph, operand);
    bool is_costly = source->op->op_class == WEFT_CLASS_ELEMENTWISE && fusion->weights[operand] > 1;
    return is_costly && source->types[0].shape.rank > 0 ? operand + 1 : 0;
}

/* What an element costs where costly values that it repeats are stored, which `store` does; or more than `most`. */
static uint32_t weigh_rest(weft_fusion *fusion, uint32_t n, uint32_t most, bool store)
{
    const weft_node *node = weft_graph_node(fusion->compiled->graph, n);
    uint32_t weight = fusion->weights[n] <= 1 ? fusion->weights[n] : own_weight(node);
    uint32_t repeated = costly_repeated(fusion, node);
    if (repeated != 0 && store) fusion->materialized[repeated - 1] = 1;
    if (repeated != 0 || fusion->weights[n] <= 1) return weight;
    for (uint32_t i = 0; i < node->input_count && weight <= most; i++)
        weight += weigh_rest(fusion, node->inputs[i].node, most, store);
    return weight;
}

bool weft_fusion_stores_repeated(weft_fusion *fusion, uint32_t n)
{
    bool is_elementwise = weft_graph_node(fusion->compiled->graph, n)->op->op_class == WEFT_CLASS_ELEMENTWISE;
    if (!is_elementwise || fusion->materialized[n]) return false;
    if (weigh_rest(fusion, n, WEFT_FUSION_CHEAP_TO_REPEAT, false) > WEFT_FUSION_CHEAP_TO_REPEAT) return false;
    weigh_rest(fusion, n, WEFT_FUSION_CHEAP_TO_REPEAT, true);
    return true;
}

void weft_fusion_weigh(weft_fusion *fusion, const uint8_t *live)
{
    const weft_graph *graph = fusion->compiled->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(graph, n);
        uint32_t weight = weft_fusion_kernel_weight(fusion, n);
        bool follows = false;
        for (uint32_t i = 0; i < node->input_count; i++) follows |= fusion->fused_row[node->inputs[i].node];
        if (weight > WEFT_FUSION_LARGEST_KERNEL && reads_in_place(graph, node)) weight = weigh_merged(fusion, n);
        bool computed = node->op->op_class != WEFT_CLASS_LEAF;
        if (computed && weight > WEFT_FUSION_LARGEST_KERNEL) fusion->materialized[n] = 1;
        weft_op_id id = weft_op_id_of(node->op);
        bool is_step =
            weft_fusion_is_reduction(node) || node->op->op_class == WEFT_CLASS_REGION || weft_indexing_updates(id);
        bool is_read = fusion->materialized[n] || weft_fusion_is_leaf_memory(fusion, node) || is_step;
        fusion->weights[n] = is_read ? 1 : weight;
        fusion->reachable[n] = is_reachable(fusion, n);
        fusion->plain[n] = weft_fusion_is_plain(fusion, n);
        fusion->reads_arrays[n] = weft_fusion_reads_arrays(fusion, n);
        fusion->counted[n] = is_counted(fusion, node, is_read);
        fusion->fused_row[n] = weft_fusion_is_reduction(node) ? weft_fusion_starts_row(fusion, n) : follows && !is_read;
    }
}
