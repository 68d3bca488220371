/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/chains.h"
#include <string.h>
#include "lib/loop/loop.h"

/* After more consecutive reshapes than this, the index expressions of an element are too large for a kernel. */
#define MOST_RESHAPED 4

bool weft_reshape_keeps_axes(const weft_graph *graph, const weft_node *node)
{
    weft_shape in = weft_value_type(graph, node->inputs[0])->shape, out = node->types[0].shape;
    size_t i = 0, o = 0;
    for (;;) {
        while (i < in.rank && weft_extent_equal(in.extents[i], weft_extent_of(1))) i++;
        while (o < out.rank && weft_extent_equal(out.extents[o], weft_extent_of(1))) o++;
        if (i == in.rank || o == out.rank) return i == in.rank && o == out.rank;
        if (!weft_extent_equal(in.extents[i++], out.extents[o++])) return false;
    }
}

/* Ascending: memory for concats of many operands before they are operands of another concat. `joined` has, for each
 * node, how many operands of concats a kernel that computes an element of it looks at. */
static void cut_joins(const weft_graph *graph, const uint8_t *live, uint8_t *materialized, uint8_t *joined)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(graph, n);
        bool joins = weft_op_id_of(node->op) == WEFT_OP_concat;
        uint32_t most = 1, sum = 0;
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t operand = node->inputs[i].node, count = materialized[operand] ? 1 : joined[operand];
            if (count > most) most = count;
            sum += count;
        }
        bool is_long = joins && sum > WEFT_MOST_JOINED && !weft_node_makes_rows(node);
        for (uint32_t i = 0; i < node->input_count && is_long; i++)
            if (joined[node->inputs[i].node] > 1) materialized[node->inputs[i].node] = 1;
        if (joins) most = is_long ? node->input_count : sum;
        joined[n] = most < UINT8_MAX ? (uint8_t)most : UINT8_MAX;
    }
}

/* Ascending: memory for what has been reshaped often before it is again. `reshaped` has, for each node, how often an
 * element has been since memory. */
static void cut_reshapes(const weft_graph *graph, const uint8_t *live, uint8_t *materialized, uint8_t *reshaped)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(graph, n);
        bool reshapes = weft_op_id_of(node->op) == WEFT_OP_reshape && !weft_reshape_keeps_axes(graph, node);
        uint8_t most = 0;
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t operand = node->inputs[i].node;
            if (reshapes && reshaped[operand] == MOST_RESHAPED) materialized[operand] = 1;
            if (!materialized[operand] && reshaped[operand] > most) most = reshaped[operand];
        }
        reshaped[n] = most + reshapes;
    }
}

/* The operand of a shear, without padding and what is done to that. */
static uint32_t under_padding(const weft_graph *graph, uint32_t n)
{
    uint32_t found = n;
    for (;;) {
        const weft_node *node = weft_graph_node(graph, n);
        weft_op_id id = weft_op_id_of(node->op);
        if (id != WEFT_OP_pad && id != WEFT_OP_permute && id != WEFT_OP_reshape) return found;
        n = node->inputs[0].node;
        if (id == WEFT_OP_pad) found = n;
    }
}

/* How a value is computed: of sheared rows, which another reshape may have interleaved. */
enum { SHEARED = 1, INTERLEAVED = 2 };

/* The marks of operands without memory of their own. */
static uint8_t marks_of(const weft_node *node, const uint8_t *materialized, const uint8_t *marks)
{
    uint8_t all = 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!materialized[node->inputs[i].node]) all |= marks[node->inputs[i].node];
    return all;
}

/* Whether the node interleaves the rows of its operand: a reshape of a permuted value. */
static bool interleaves(const weft_graph *graph, const weft_node *node)
{
    return weft_op_id_of(node->op) == WEFT_OP_reshape && !weft_reshape_keeps_axes(graph, node) &&
           weft_op_id_of(weft_graph_node(graph, node->inputs[0].node)->op) == WEFT_OP_permute;
}

/* Memory for concats whose rows are interleaved: of each element a kernel would have to find out where it is from. */
static void cut_interleaved(const weft_graph *graph, const uint8_t *live, uint8_t *materialized)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        if (!live[n] || !interleaves(graph, node)) continue;
        const weft_node *permute = weft_graph_node(graph, node->inputs[0].node);
        weft_ints axes = permute->attrs[0].ints;
        if (axes.count == 0 || (size_t)axes.items[axes.count - 1] + 1 == axes.count) continue;
        uint32_t from = permute->inputs[0].node;
        while (weft_op_id_of(weft_graph_node(graph, from)->op) == WEFT_OP_reshape)
            from = weft_graph_node(graph, from)->inputs[0].node;
        if (weft_op_id_of(weft_graph_node(graph, from)->op) == WEFT_OP_concat) materialized[from] = 1;
    }
}

/* Ascending: memory between sums of sheared rows. Rows that are interleaved have more to read in a line by themselves;
 * where they are sheared again after that, or their ends are known, two kernels have fewer bounds to check. */
static void cut_sheared(const weft_graph *graph, const uint8_t *live, uint8_t *materialized, uint8_t *marks)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(graph, n);
        weft_shape shape = node->types[0].shape;
        bool passes = node->op->op_class == WEFT_CLASS_ELEMENTWISE || node->op->op_class == WEFT_CLASS_MOVEMENT;
        uint8_t mark = passes ? marks_of(node, materialized, marks) : 0;
        if (mark != 0 && interleaves(graph, node)) {
            materialized[weft_graph_node(graph, node->inputs[0].node)->inputs[0].node] = 1;
            mark |= INTERLEAVED;
        }
        if (weft_op_id_of(node->op) == WEFT_OP_shear && node->attrs[2].integer != 0) {
            bool is_known = weft_extent_is_static(shape.extents[shape.rank - 1], NULL);
            if (mark > SHEARED || (mark != 0 && is_known)) materialized[under_padding(graph, node->inputs[0].node)] = 1;
            mark = SHEARED;
        }
        marks[n] = mark;
    }
}

void weft_chains_cut(const weft_graph *graph, const uint8_t *live, uint8_t *materialized, uint8_t *room)
{
    cut_interleaved(graph, live, materialized);
    cut_joins(graph, live, materialized, room);
    memset(room, 0, graph->node_count);
    cut_reshapes(graph, live, materialized, room);
    memset(room, 0, graph->node_count);
    cut_sheared(graph, live, materialized, room);
}
