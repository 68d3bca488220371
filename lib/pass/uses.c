/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/uses.h"
#include <string.h>
#include "lib/loop/order.h"
#include "lib/pass/pass.h"
#include "runtime/base/float_bits.h"

static weft_status *count_uses(weft_usages *all, const weft_graph *graph, size_t count, const weft_value *outputs);

static weft_status *count_in_regions(weft_usages *all, const weft_node *node)
{
    if (node->op->op_class != WEFT_CLASS_REGION) return NULL;
    for (size_t i = 0; i < node->op->attr_count; i++) {
        if (node->op->attrs[i].kind != WEFT_ATTR_REGION) continue;
        const weft_region *region = &node->attrs[i].region;
        weft_value *results = weft_arena_allocate(&all->arena, region->results.count * sizeof *results);
        if (results == NULL) return weft_status_out_of_memory();
        for (size_t k = 0; k < region->results.count; k++)
            results[k] = (weft_value){region->results.items[k].node, region->results.items[k].output};
        WEFT_TRY(count_uses(all, region->graph, region->results.count, results));
    }
    return NULL;
}

/* Elements along the axes of an operand of a dot that are contracted, or along its free ones; at most. */
static int64_t count_elements(const weft_graph *graph, const weft_node *dot, size_t operand, bool contracted)
{
    int64_t count = 1, least, most;
    weft_ints batch = dot->attrs[operand].ints, contract = dot->attrs[2 + operand].ints;
    weft_shape shape = weft_value_type(graph, dot->inputs[operand])->shape;
    for (size_t i = 0; i < shape.rank; i++) {
        if (weft_ints_contain(batch, i) || weft_ints_contain(contract, i) != contracted) continue;
        weft_extent_range(shape.extents[i], &least, &most);
        if (__builtin_mul_overflow(count, most, &count)) return INT64_MAX;
    }
    return count;
}

weft_few_rows weft_dot_few_rows(const weft_graph *graph, const weft_node *dot)
{
    const weft_type *type = weft_value_type(graph, dot->inputs[0]);
    weft_ints contract = dot->attrs[2].ints;
    int64_t rows = count_elements(graph, dot, 0, false), columns = count_elements(graph, dot, 1, false), least, last;
    int64_t few = rows < columns ? rows : columns, many = rows < columns ? columns : rows;
    weft_few_rows found = {.matrix = rows < columns ? 1 : 0, .may_copy = true};
    if (contract.count == 0 || few > WEFT_ORDER_MOST_ROWS) return found;
    weft_extent_range(type->shape.extents[contract.items[contract.count - 1]], &least, &last);
    found.in_lanes = last >= WEFT_ORDER_FEWEST_IN_LANES;
    if (few <= 1) return found;
    found.may_copy = many / WEFT_ORDER_ROWS_OF_COPY >= few;
    if (weft_dtype_info_of(type->dtype)->kind == WEFT_KIND_COMPLEX || type->dtype == WEFT_I64) few *= 2;
    int64_t size = (int64_t)weft_dtype_size(weft_dtype_component(weft_accumulator_dtype(type->dtype)));
    found.in_lanes = few <= WEFT_ORDER_MOST_ROWS && last >= (few + 1) * WEFT_ORDER_TERMS_OF_ROW &&
                     count_elements(graph, dot, 0, true) <= WEFT_ORDER_BYTES_OF_ROWS / (few * size);
    return found;
}

bool weft_op_adds_as_it_lies(const weft_graph *graph, const weft_node *node)
{
    weft_dtype_kind kind = weft_dtype_info_of(node->types[0].dtype)->kind;
    if (kind != WEFT_KIND_FLOAT && kind != WEFT_KIND_COMPLEX) return false;
    weft_op_id id = weft_op_id_of(node->op);
    bool adds = id == WEFT_OP_scan_sum || id == WEFT_OP_scan_prod;
    return adds || (id == WEFT_OP_dot && weft_dot_few_rows(graph, node).in_lanes);
}

static void mark_ordered(const weft_graph *graph, const weft_node *node, uint8_t *ordered)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const weft_node *operand = weft_graph_node(graph, node->inputs[i].node);
        if (weft_op_id_of(operand->op) == WEFT_OP_permute) ordered[operand->inputs[0].node] = 1;
    }
}

static weft_status *count_uses(weft_usages *all, const weft_graph *graph, size_t count, const weft_value *outputs)
{
    size_t nodes = graph->node_count;
    weft_usage *u = weft_arena_allocate(&all->arena, sizeof *u);
    uint32_t *uses = weft_arena_allocate(&all->arena, nodes * (sizeof *uses + 2));
    if (u == NULL || uses == NULL) return weft_status_out_of_memory();
    uint8_t *live = memset(uses, 0, nodes * (sizeof *uses + 2));
    live += nodes * sizeof *uses;
    *u = (weft_usage){.graph = graph, .node_count = nodes, .uses = uses, .ordered = live + nodes};
    weft_graph_mark(graph, count, outputs, live);
    for (size_t i = 0; i < count; i++) uses[outputs[i].node]++;
    for (size_t n = 0; n < nodes; n++) {
        const weft_node *node = weft_graph_node(graph, (uint32_t)n);
        if (!live[n]) continue;
        for (uint32_t i = 0; i < node->input_count; i++) uses[node->inputs[i].node]++;
        if (weft_op_adds_as_it_lies(graph, node)) mark_ordered(graph, node, u->ordered);
        WEFT_TRY(count_in_regions(all, node));
    }
    u->next = all->first;
    all->first = u;
    return NULL;
}

weft_status *weft_usages_fill(weft_usages *usages, const weft_graph *graph, size_t count, const weft_value *outputs)
{
    usages->first = NULL;
    weft_arena_init(&usages->arena, graph->allocator);
    return count_uses(usages, graph, count, outputs);
}

void weft_usages_finish(weft_usages *usages)
{
    weft_arena_finish(&usages->arena);
}

static const weft_usage *find_usage(const weft_usages *usages, const weft_graph *graph, uint32_t node)
{
    const weft_usage *u = usages->first;
    while (u != NULL && u->graph != graph) u = u->next;
    return u != NULL && node < u->node_count ? u : NULL;
}

bool weft_usages_is_read_once(const weft_usages *usages, const weft_graph *graph, uint32_t node)
{
    const weft_usage *u = find_usage(usages, graph, node);
    return u != NULL && u->uses[node] == 1;
}

bool weft_usages_is_ordered(const weft_usages *usages, const weft_graph *graph, uint32_t node)
{
    const weft_usage *u = find_usage(usages, graph, node);
    return u != NULL && u->ordered[node] != 0;
}

bool weft_graph_has(const weft_graph *graph, weft_op_id op)
{
    bool found = false;
    for (uint32_t n = 0; n < graph->node_count && !found; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        found = weft_op_id_of(node->op) == op;
        for (size_t i = 0; i < node->op->attr_count && !found; i++)
            found = node->op->attrs[i].kind == WEFT_ATTR_REGION && weft_graph_has(node->attrs[i].region.graph, op);
    }
    return found;
}
