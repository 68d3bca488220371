/* SPDX-License-Identifier: Apache-2.0 */
/* The single path by which nodes are traced, and helpers of tracing functions. */
#include "lib/trace/trace.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/graph/attr.h"
#include "lib/text/text.h"
#include "runtime/base/status.h"

/* ---- one node ---- */

/* A failed operand needs no second error; one that cannot belong to this graph is an error. */
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
    char sentence[WEFT_MISSING_OP_ROOM];
    weft_graph_missing_op(graph, op, sentence);
    return weft_trace_error(graph, weft_status_create(graph->allocator, WEFT_NOT_REGISTERED, op, "%s", sentence));
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

/* ---- for tracing functions ---- */

weft_graph *weft_trace_graph(weft_tensors operands)
{
    weft_graph *graph = NULL;
    for (size_t i = 0; graph == NULL && operands.items != NULL && i < operands.count; i++)
        graph = operands.items[i].graph;
    return graph == NULL ? NULL : weft_graph_current(graph);
}

weft_tensor weft_trace_failed(weft_tensors operands)
{
    return weft_tensor_failed(weft_trace_graph(operands));
}

weft_tensor weft_trace_op(weft_graph *graph, weft_op_id op, weft_tensors inputs, const weft_attr *attrs)
{
    if (graph == NULL) graph = weft_trace_graph(inputs);
    return graph == NULL ? weft_tensor_failed(NULL) : weft_graph_trace(graph, &weft_op_table()[op], inputs, attrs);
}

weft_tensor weft_trace_fail(weft_graph *graph, weft_code code, const char *function, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *plain = weft_status_create_v(graph->allocator, code, NULL, format, arguments);
    va_end(arguments);
    weft_status *status = weft_status_create(graph->allocator, weft_status_code(plain), function, "%s: %s", function,
                                             weft_status_message(plain));
    weft_status_destroy(plain);
    return weft_trace_error(graph, status);
}

bool weft_trace_wants_list(const char *function, const char *name, weft_graph *graph, size_t count, const void *items)
{
    if (count == 0 || items != NULL) return true;
    weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "%s is NULL, but its length is %zu", name, count);
    return false;
}

bool weft_axis_normalize(weft_graph *graph, const char *function, int64_t axis, size_t rank, int64_t *out_axis)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        weft_trace_fail(graph, WEFT_OUT_OF_RANGE, function, "axis %" PRId64 " is out of range for rank %zu", axis,
                        rank);
        return false;
    }
    *out_axis = axis < 0 ? axis + (int64_t)rank : axis;
    return true;
}
