/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as values: what can be asked of them. */
#include "lib/graph/graph.h"
#include <string.h>
#include <weft/inspect.h>
#include "lib/text/text.h"
#include "runtime/status.h"

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

weft_tensor weft_tensor_set_name(weft_tensor tensor, const char *name)
{
    if (!weft_tensor_is_valid(tensor)) return tensor;
    weft_graph *graph = tensor.graph;
    weft_node *node = &graph->nodes[tensor.node];
    if (name == NULL) return weft_trace_error(graph, weft_status_null(__func__, "name"));
    if (!weft_text_is_identifier(name)) {
        return weft_trace_error(
            graph, weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, __func__,
                                      "name \"%s\" must be a letter or _ followed by letters, digits, _ or .", name));
    }
    if (weft_op_id_of(node->op) == WEFT_OP_input) return tensor;
    const char *copy = weft_arena_string(&graph->arena, name, strlen(name));
    if (copy == NULL) return weft_trace_error(graph, weft_status_out_of_memory());
    node->name = copy;
    return tensor;
}
