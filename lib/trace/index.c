/* SPDX-License-Identifier: Apache-2.0 */
/* Tracing functions of ops that index by data: gather, scatter, dynamic slices. */
#include "lib/graph/indexing.h"
#include "lib/trace/trace.h"
#include <inttypes.h>
#include <string.h>

/* Operands of an op, and the axes that those from `first` on belong to, which are put in order of the axes. */
typedef struct indexed_call {
    weft_graph *graph;
    weft_op_id op;
    size_t first, count;
    weft_tensor operands[WEFT_MAX_RANK + 2];
    int64_t axes[WEFT_MAX_RANK];
} indexed_call;

/* Insertion sort: an axis, with its operand, moves in front of all greater ones. */
static void insert_axis(indexed_call *call, int64_t axis, weft_tensor operand)
{
    size_t i = call->count++ - call->first;
    for (; i > 0 && call->axes[i - 1] > axis; i--) {
        call->axes[i] = call->axes[i - 1];
        call->operands[call->first + i] = call->operands[call->first + i - 1];
    }
    call->axes[i] = axis;
    call->operands[call->first + i] = operand;
}

/* Makes a tensor one of the graph that is traced; the error says which cannot be. */
static bool enter(const indexed_call *call, weft_tensor *tensor, const char *what, size_t number)
{
    const char *fault = weft_tensor_enter(call->graph, tensor);
    if (fault == NULL) return weft_tensor_is_valid(*tensor);
    weft_trace_fail(call->graph, WEFT_INVALID_ARGUMENT, weft_op_table()[call->op].name, "%s %zu %s", what, number,
                    fault);
    return false;
}

static bool takes_indices(weft_op_id op)
{
    return op == WEFT_OP_gather || op == WEFT_OP_scatter;
}

/* Whether there is an operand for each of the axes. */
static bool check_lists(const indexed_call *call, weft_tensors others, weft_ints axes)
{
    const char *name = weft_op_table()[call->op].name;
    bool indices = takes_indices(call->op);
    if (!weft_trace_wants_list(name, indices ? "indices" : "starts", call->graph, others.count, others.items) ||
        !weft_trace_wants_list(name, "axes", call->graph, axes.count, axes.items))
        return false;
    if (others.count == axes.count) return true;
    weft_trace_fail(call->graph, WEFT_INVALID_ARGUMENT, name, "the %s have length %zu but axes has %zu",
                    indices ? "index tensors" : "starts", others.count, axes.count);
    return false;
}

/* `data` are the leading operands: x, and the updates if there are any. */
static bool start_call(indexed_call *call, weft_op_id op, weft_tensors data, weft_tensors others, weft_ints axes)
{
    const char *name = weft_op_table()[op].name, *what = takes_indices(op) ? "indices" : "start";
    weft_graph *graph = weft_trace_graph(data);
    if (graph == NULL) graph = weft_trace_graph(others);
    *call = (indexed_call){.graph = graph, .op = op, .first = data.count, .count = data.count};
    for (size_t i = 0; i < data.count; i++) {
        call->operands[i] = data.items[i];
        if (graph == NULL || !enter(call, &call->operands[i], "operand", i)) return false;
    }
    size_t rank = weft_tensor_rank(data.items[0]);
    weft_axis_list list;
    if (!check_lists(call, others, axes) || !weft_axes_normalize(call->graph, name, axes, rank, &list)) return false;
    for (size_t i = 0; i < list.count; i++) {
        weft_tensor operand = others.items[i];
        if (!enter(call, &operand, what, i)) return false;
        insert_axis(call, list.items[i], operand);
    }
    return true;
}

static weft_tensor finish_call(const indexed_call *call, const weft_attr *attrs)
{
    return weft_trace_op(call->graph, call->op, (weft_tensors){call->count, call->operands}, attrs);
}

static weft_ints axes_of(const indexed_call *call)
{
    return (weft_ints){call->count - call->first, call->axes};
}

/* ---- gather, scatter ---- */

weft_tensor weft_trace_gather(weft_tensor x, weft_tensors indices, weft_ints axes, weft_ints batch)
{
    indexed_call call;
    bool fine = start_call(&call, WEFT_OP_gather, (weft_tensors){1, &x}, indices, axes) &&
                weft_trace_broadcast(WEFT_OP_gather, call.first, call.count, call.operands);
    if (!fine) return weft_tensor_failed(call.graph);
    return finish_call(&call, (weft_attr[]){{.ints = axes_of(&call)}, {.ints = batch}});
}

weft_tensor weft_trace_scatter(weft_tensor x, weft_tensor updates, weft_tensors indices, weft_ints axes,
                               weft_ints batch, weft_scatter_mode mode)
{
    indexed_call call;
    const weft_tensor data[] = {x, updates};
    const char *name = weft_scatter_mode_name((size_t)mode);
    if (!start_call(&call, WEFT_OP_scatter, (weft_tensors){2, data}, indices, axes) ||
        !weft_trace_broadcast(WEFT_OP_scatter, call.first, call.count, call.operands)) {
        return weft_tensor_failed(call.graph);
    }
    if (name == NULL) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "scatter", "%d is not a weft_scatter_mode", (int)mode);
    }
    return finish_call(&call,
                       (weft_attr[]){{.ints = axes_of(&call)}, {.ints = batch}, {.data = name, .size = strlen(name)}});
}

weft_tensor weft_gather_axes(weft_tensor x, weft_tensors indices, weft_ints axes)
{
    return weft_trace_gather(x, indices, axes, (weft_ints){0, NULL});
}

weft_tensor weft_gather(weft_tensor x, weft_tensor indices, int64_t axis)
{
    return weft_gather_axes(x, (weft_tensors){1, &indices}, (weft_ints){1, &axis});
}

weft_tensor weft_scatter(weft_tensor x, weft_tensors indices, weft_ints axes, weft_tensor updates,
                         weft_scatter_mode mode)
{
    return weft_trace_scatter(x, updates, indices, axes, (weft_ints){0, NULL}, mode);
}

/* ---- dynamic slices ---- */

weft_tensor weft_dynamic_slice(weft_tensor x, weft_tensors starts, weft_ints axes, weft_shape sizes)
{
    indexed_call call;
    weft_extent sorted[WEFT_MAX_RANK];
    if (!start_call(&call, WEFT_OP_dynamic_slice, (weft_tensors){1, &x}, starts, axes)) {
        return weft_tensor_failed(call.graph);
    }
    if (!weft_trace_wants_list("dynamic_slice", "sizes", x.graph, sizes.rank, sizes.extents))
        return weft_tensor_failed(x.graph);
    if (sizes.rank != axes.count) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "dynamic_slice",
                               "the sizes have length %zu but axes has %zu", sizes.rank, axes.count);
    }
    for (size_t i = 0; i < axes.count; i++) {
        int64_t axis = axes.items[i] < 0 ? axes.items[i] + (int64_t)weft_tensor_rank(x) : axes.items[i];
        size_t at = 0;
        while (call.axes[at] != axis) at++;
        sorted[at] = sizes.extents[i];
    }
    return finish_call(&call, (weft_attr[]){{.ints = axes_of(&call)}, {.extents = {axes.count, sorted}}});
}

weft_tensor weft_dynamic_update_slice(weft_tensor x, weft_tensor update, weft_tensors starts, weft_ints axes)
{
    indexed_call call;
    const weft_tensor data[] = {x, update};
    if (!start_call(&call, WEFT_OP_dynamic_update_slice, (weft_tensors){2, data}, starts, axes)) {
        return weft_tensor_failed(call.graph);
    }
    return finish_call(&call, &(weft_attr){.ints = axes_of(&call)});
}
