/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as values: what can be asked of them, and the one way to trace them. */
#include "lib/trace/trace.h"
#include <stdio.h>
#include <weft/inspect.h>
#include <string.h>
#include "lib/graph/attr.h"
#include "lib/text/text.h"
#include "runtime/status.h"

weft_tensor weft_tensor_failed(weft_graph *graph)
{
    return (weft_tensor){graph, WEFT_NODE_INVALID, 0};
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

/* Whether `message` begins with "function: ". */
static bool names_function(const char *message, const char *function)
{
    size_t length = strlen(function);
    return strncmp(message, function, length) == 0 && message[length] == ':';
}

/* Functions and ops that get arguments of theirs as they are: what is wrong with these for the op is so for the
 * function. */
static const char *const forwards[][2] = {
    {"adaptive_max_pool", "reduce_max"},
    {"angle", "imag"},
    {"arange", "iota"},
    {"broadcast_in_dim", "broadcast"},
    {"broadcast_like", "broadcast"},
    {"count_nonzero", "reduce_sum"},
    {"cummax", "scan_max"},
    {"cummin", "scan_min"},
    {"cumprod", "scan_prod"},
    {"cumsum", "scan_sum"},
    {"eye", "cast"},
    {"eye", "iota"},
    {"full", "broadcast"},
    {"full", "constant"},
    {"gather_axes", "gather"},
    {"index", "gather"},
    {"index_add", "scatter"},
    {"index_select", "gather"},
    {"index_update", "gather"},
    {"index_update", "index"},
    {"index_update", "scatter"},
    {"kron", "mul"},
    {"linspace", "iota"},
    {"logsumexp", "reduce_max"},
    {"max_pool", "reduce_max"},
    {"mean", "reduce_sum"},
    {"narrow", "slice"},
    {"norm", "reduce_sum"},
    {"one_hot", "cast"},
    {"one_hot", "iota"},
    {"ones", "broadcast"},
    {"ones", "constant"},
    {"outer", "mul"},
    {"relu", "max"},
    {"scatter_along_axis", "scatter"},
    {"split_at", "slice"},
    {"standard_deviation", "reduce_sum"},
    {"take_along_axis", "gather"},
    {"tensordot", "dot"},
    {"trace_matrix", "diagonal"},
    {"trace_matrix", "reduce_sum"},
    {"variance", "reduce_sum"},
    {"zeros", "broadcast"},
    {"zeros", "constant"},
};

/* What `message` says, for a caller of `function`, if it is one of a function: nothing is added where it speaks of that
 * already. */
static weft_status *place_message(const weft_allocator *allocator, weft_code code, const char *where,
                                  const char *message, const char *function)
{
    if (function == NULL || names_function(message, function))
        return weft_status_create(allocator, code, where, "%s", message);
    for (size_t i = 0; i < sizeof forwards / sizeof *forwards; i++) {
        const char *op = forwards[i][1];
        if (strcmp(forwards[i][0], function) == 0 && names_function(message, op))
            return weft_status_create(allocator, code, where, "%s%s", function, message + strlen(op));
    }
    return weft_status_create(allocator, code, where, "%s (in %s)", message, function);
}

static void place_error(weft_graph *graph, const char *function, const char *file, int line)
{
    weft_graph *root = weft_graph_root(graph);
    if (root->error == NULL || root->error_placed) return;
    root->error_placed = true;
    weft_bytes where;
    weft_bytes_init(&where, root->allocator);
    weft_bytes_print(&where, "%s:%d", file, line);
    weft_code code = weft_status_code(root->error);
    const char *message = weft_status_message(root->error);
    weft_status *placed = place_message(root->allocator, code, where.data, message, function);
    /* Without memory for the place the error is kept as it is. */
    bool made = !where.failed && weft_status_code(placed) == code;
    weft_status_destroy(made ? root->error : placed);
    if (made) root->error = placed;
    weft_bytes_finish(&where);
}

weft_tensor weft_tensor_place(weft_tensor tensor, const char *function, const char *file, int line)
{
    if (tensor.graph == NULL) return tensor;
    if (weft_tensor_is_valid(tensor)) weft_graph_place(tensor.graph, weft_graph_origin(tensor.graph, file, line));
    else place_error(tensor.graph, function, file, line);
    return tensor;
}

weft_extent weft_extent_place(weft_extent extent, const char *file, int line)
{
    if (extent.graph != NULL && !weft_extent_is_valid(extent)) place_error(extent.graph, NULL, file, line);
    return extent;
}

bool weft_require_place(bool may_hold, weft_graph *graph, const char *file, int line)
{
    /* What a type rule asks for is of the call that the rule is for. */
    if (graph == NULL || graph->rule != NULL) return may_hold;
    if (may_hold) weft_graph_place(graph, weft_graph_origin(graph, file, line));
    else place_error(graph, NULL, file, line);
    return may_hold;
}
/* ---- tracing ---- */

weft_tensor weft_trace_error(weft_graph *graph, weft_status *status)
{
    if (graph != NULL) weft_graph_fail(graph, status);
    else weft_status_destroy(status);
    return weft_tensor_failed(graph);
}

/* A failed operand needs no second error, one that cannot be of this graph is one. */
bool weft_trace_enter(weft_graph *graph, const char *op, size_t count, weft_tensor *operands)
{
    bool well = true;
    for (size_t i = 0; i < count; i++) {
        const char *fault = weft_tensor_enter(graph, &operands[i]);
        well = well && weft_tensor_is_valid(operands[i]);
        if (fault == NULL) continue;
        weft_graph_fail(
            graph, weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, op, "%s: operand %zu %s", op, i, fault));
        return false;
    }
    return well;
}

static weft_tensor add_node(weft_graph *graph, const weft_op_def *op, size_t count, weft_tensor *operands,
                            weft_value *values, const weft_attr *attrs)
{
    if (!weft_trace_enter(graph, op->name, count, operands)) return weft_tensor_failed(graph);
    weft_status *status = weft_attrs_check_bools(graph, op, attrs);
    if (status != NULL) return weft_trace_error(graph, status);
    for (size_t i = 0; i < count; i++) values[i] = (weft_value){operands[i].node, operands[i].output};
    return (weft_tensor){graph, weft_graph_add(graph, op, count, values, attrs), 0};
}

weft_tensor weft_graph_trace(weft_graph *graph, const weft_op_def *op, weft_tensors inputs, const weft_attr *attrs)
{
    graph = weft_graph_current(graph);
    if (weft_op_id_of(op) == WEFT_OP_input && graph->captures != NULL) graph = weft_graph_root(graph);
    if (inputs.count > 0 && inputs.items == NULL) {
        return weft_trace_error(graph, weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, op->name,
                                                          "%s: the operands are NULL", op->name));
    }
    size_t size = inputs.count * (sizeof(weft_tensor) + sizeof(weft_value));
    weft_tensor *operands = weft_allocate(graph->allocator, size);
    if (operands == NULL) return weft_trace_error(graph, weft_status_out_of_memory());
    if (inputs.count > 0) memcpy(operands, inputs.items, inputs.count * sizeof *operands);
    weft_value *values = (weft_value *)(operands + inputs.count);
    weft_tensor made = add_node(graph, op, inputs.count, operands, values, attrs);
    weft_free(graph->allocator, operands, size);
    return made;
}

weft_tensor weft_trace(weft_graph *graph, const char *op, weft_tensors inputs, const weft_attr *attrs)
{
    if (graph == NULL) return weft_tensor_failed(NULL);
    if (op == NULL)
        return weft_trace_error(graph, weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, "weft_trace",
                                                          "the name of the op is NULL"));
    const weft_op_def *def = weft_graph_find_op(graph, op);
    if (def != NULL) return weft_graph_trace(graph, def, inputs, attrs);
    char sentence[128];
    snprintf(sentence, sizeof sentence, weft_graph_missing_op(graph, op), op);
    return weft_trace_error(graph, weft_status_create(graph->allocator, WEFT_NOT_REGISTERED, op, "%s", sentence));
}
