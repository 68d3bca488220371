/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as values: queries. */
#include "lib/graph/graph.h"
#include <weft/inspect.h>

weft_tensor weft_tensor_failed(weft_graph *graph)
{
    return (weft_tensor){graph, WEFT_NODE_INVALID, 0};
}

weft_tensor weft_trace_error(weft_graph *graph, weft_status *status)
{
    if (graph != NULL) weft_graph_fail(graph, status);
    else weft_status_destroy(status);
    return weft_tensor_failed(graph);
}

bool weft_tensor_is_valid(weft_tensor tensor)
{
    return tensor.graph != NULL && tensor.node < tensor.graph->node_count &&
           tensor.output < tensor.graph->nodes[tensor.node].output_count;
}

static const weft_type *tensor_type(weft_tensor tensor)
{
    static const weft_type none = {.dtype = WEFT_DTYPE_COUNT};
    return weft_tensor_is_valid(tensor) ? &tensor.graph->nodes[tensor.node].types[tensor.output] : &none;
}

weft_dtype weft_tensor_dtype(weft_tensor tensor)
{
    return tensor_type(tensor)->dtype;
}

weft_shape weft_tensor_shape(weft_tensor tensor)
{
    return tensor_type(tensor)->shape;
}

size_t weft_tensor_rank(weft_tensor tensor)
{
    return tensor_type(tensor)->shape.rank;
}

weft_extent weft_tensor_extent(weft_tensor tensor, int64_t axis)
{
    weft_shape shape = weft_tensor_shape(tensor);
    int64_t rank = (int64_t)shape.rank;
    if (axis < -rank || axis >= rank) return weft_extent_invalid(tensor.graph);
    return shape.extents[axis < 0 ? axis + rank : axis];
}

/* ---- the node that made it ---- */

static const weft_node *node_of(weft_tensor tensor)
{
    return weft_tensor_is_valid(tensor) ? &tensor.graph->nodes[tensor.node] : NULL;
}

const weft_op_def *weft_tensor_op(weft_tensor tensor)
{
    const weft_node *node = node_of(tensor);
    return node == NULL ? NULL : node->op;
}

size_t weft_tensor_input_count(weft_tensor tensor)
{
    const weft_node *node = node_of(tensor);
    return node == NULL ? 0 : node->input_count;
}

weft_tensor weft_tensor_input(weft_tensor tensor, size_t input)
{
    const weft_node *node = node_of(tensor);
    if (node == NULL || input >= node->input_count) return weft_tensor_failed(tensor.graph);
    return (weft_tensor){tensor.graph, node->inputs[input].node, node->inputs[input].output};
}

const weft_attr *weft_tensor_attrs(weft_tensor tensor)
{
    const weft_node *node = node_of(tensor);
    return node == NULL ? NULL : node->attrs;
}

const char *weft_tensor_name(weft_tensor tensor)
{
    const weft_node *node = node_of(tensor);
    return node == NULL ? NULL : node->name;
}
