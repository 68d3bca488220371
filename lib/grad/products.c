/* SPDX-License-Identifier: Apache-2.0 */
/* Which products of a loop are stored for the loop back. */
#include "lib/grad/region.h"
#include <weft/shape.h>

/* Storing and loading an element takes as long as some 40 terms of a product, on one core that computes 100 and moves
 * 10 thousand millions of bytes a second. */
enum { LEAST_TERMS = 128, FEW_TIMES = 4 };

/* Whether each element of the product is a sum of many terms. */
static bool is_long(weft_graph *graph, const weft_node *node)
{
    const weft_type *type = weft_value_type(graph, node->inputs[0]);
    const weft_ints *contracted = &node->attrs[2].ints;
    int64_t terms = 1;
    for (size_t i = 0; i < contracted->count && terms < LEAST_TERMS; i++) {
        int64_t least, most;
        weft_expr extent = weft_extent_expr(graph, type->shape.extents[contracted->items[i]]);
        weft_expr_range(graph->exprs, extent, &least, &most);
        if (least < LEAST_TERMS) terms *= least;
        else terms = LEAST_TERMS;
    }
    return terms >= LEAST_TERMS;
}

/* Marks what is computed from what is carried. The rest is what a loop is there to have in parts: slices of a
 * contraction, whose memory is limited. */
static void mark_dependent(const weft_gradient_loop *loop, bool *depends)
{
    const weft_graph *graph = loop->body->graph;
    for (size_t i = 1; i < loop->body->parameters.count - loop->captured; i++)
        depends[loop->body->parameters.items[i].node] = true;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        for (uint32_t i = 0; i < node->input_count; i++) depends[n] = depends[n] || depends[node->inputs[i].node];
    }
}

static weft_status *mark_live(const weft_gradient_loop *loop, uint8_t *out_live)
{
    size_t count = loop->body->results.count;
    weft_value *values = weft_gradient_allocate(loop->arena, count, sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
        values[i] = (weft_value){loop->body->results.items[i].node, loop->body->results.items[i].output};
    weft_graph_mark(loop->body->graph, count, values, out_live);
    return NULL;
}

weft_status *weft_gradient_choose_products(const weft_gradient_loop *loop, size_t *out_count, weft_tensor *out_products)
{
    weft_graph *graph = loop->body->graph;
    weft_expr_context *x = graph->exprs;
    bool *depends = weft_gradient_allocate(loop->arena, graph->node_count, sizeof *depends);
    uint8_t *live = weft_gradient_allocate(loop->arena, graph->node_count, sizeof *live);
    weft_expr left = weft_expr_constant(x, 0);
    if (depends == NULL || live == NULL) return weft_status_out_of_memory();
    WEFT_TRY(mark_live(loop, live));
    mark_dependent(loop, depends);
    for (size_t k = 0; k < loop->carried; k++)
        left = weft_expr_add(x, left, weft_shape_elements(graph, weft_tensor_shape(loop->context->inputs.items[k])));
    left = weft_expr_mul(x, left, weft_expr_constant(x, FEW_TIMES));
    *out_count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = weft_graph_node(graph, n);
        bool may_be = live[n] && depends[n] && weft_op_id_of(node->op) == WEFT_OP_dot;
        if (!may_be || node->types[0].shape.rank == WEFT_MAX_RANK || !is_long(graph, node)) continue;
        weft_expr rest = weft_expr_sub(x, left, weft_shape_elements(graph, node->types[0].shape));
        if (!weft_expr_always_nonnegative(x, rest)) continue;
        left = rest;
        out_products[(*out_count)++] = (weft_tensor){graph, n, 0};
    }
    /* A size that overflows is merely not known to be small enough, but out of memory nothing is known. */
    weft_status *status = weft_expr_context_take_error(x);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    return NULL;
}
