/* SPDX-License-Identifier: Apache-2.0 */
/* Tracing: callers' arguments become the attributes of one node. */
#define WEFT_NO_LOCATIONS
#include "labels.h"
#include "op.h"
#include "request.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static weft_graph *graph_of(weft_tensors operands)
{
    weft_graph *graph = NULL;
    for (size_t i = 0; operands.items != NULL && i < operands.count && graph == NULL; i++)
        graph = operands.items[i].graph;
    return graph;
}

static bool all_valid(weft_tensors operands)
{
    for (size_t i = 0; i < operands.count; i++)
        if (!weft_tensor_is_valid(operands.items[i])) return false;
    return true;
}

/* Where not all are valid. What failed before has its error already. */
static weft_tensor refuse(const char *function, weft_tensors operands)
{
    weft_graph *graph = graph_of(operands);
    for (size_t i = 0; graph != NULL && i < operands.count; i++)
        if (operands.items[i].graph == NULL)
            return weft_trace_error(graph,
                                    weft_status_create(weft_graph_allocator(graph), WEFT_INVALID_ARGUMENT, function,
                                                       "einsum: operand %zu is not a tensor of a graph", i));
    return weft_trace_error(graph, NULL);
}

static weft_status *register_op(weft_graph *graph)
{
    return weft_graph_find_op(graph, EINSUM_OP_NAME) != NULL ? NULL
                                                             : weft_graph_register(graph, weft_einsum_extension());
}

static weft_status *trace(einsum_expression *x, weft_graph *graph, const char *text, weft_tensors operands,
                          const weft_einsum_options *options, weft_tensor *out_tensor)
{
    einsum_request request;
    WEFT_TRY(register_op(graph));
    weft_shape *shapes = einsum_arena_allocate(&x->arena, operands.count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operands.count; i++) shapes[i] = weft_tensor_shape(operands.items[i]);
    WEFT_TRY(einsum_request_fill(x, text, operands.count, shapes, options, &request));
    const char *order = einsum_policy_name(&request.policy);
    weft_attr attrs[] = {{.data = request.equation, .size = strlen(request.equation)},
                         {.data = order, .size = strlen(order)},
                         {.ints = request.policy.path},
                         {.ints = request.policy.sliced},
                         {.data = request.planner, .size = strlen(request.planner)}};
    *out_tensor = weft_trace(graph, EINSUM_OP_NAME, operands, attrs);
    return NULL;
}

/* What `function` was called for. */
static weft_tensor contract(const char *function, const char *text, weft_tensors operands,
                            const weft_einsum_options *options)
{
    weft_graph *graph = graph_of(operands);
    if (graph == NULL || !all_valid(operands)) return refuse(function, operands);
    einsum_expression x;
    weft_tensor result = weft_trace_error(graph, NULL);
    einsum_expression_init(&x, weft_graph_allocator(graph));
    weft_status *status = trace(&x, graph, text, operands, options, &result);
    einsum_expression_finish(&x);
    return status == NULL ? result
                          : weft_trace_error(graph, einsum_status_at(weft_graph_allocator(graph), function, status));
}

weft_tensor weft_einsum(const char *text, weft_tensors operands, const weft_einsum_options *options)
{
    return contract("weft_einsum", text, operands, options);
}

/* ---- labels that are numbers ---- */

static weft_status *print_labels(einsum_arena *arena, einsum_labelled *x, weft_tensors operands, const char **out_text)
{
    size_t *ranks = einsum_arena_allocate(arena, operands.count, sizeof *ranks);
    if (ranks == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operands.count; i++) ranks[i] = weft_tensor_rank(operands.items[i]);
    x->operand_count = operands.count;
    x->ranks = ranks;
    return einsum_labels_print(arena, x, out_text);
}

static weft_tensor contract_labels(einsum_labelled x, weft_tensors operands, const weft_einsum_options *options)
{
    weft_graph *graph = graph_of(operands);
    if (graph == NULL || !all_valid(operands)) return refuse(x.function, operands);
    weft_tensor result = weft_trace_error(graph, NULL);
    einsum_arena arena;
    einsum_arena_init(&arena, weft_graph_allocator(graph));
    const char *text;
    weft_status *status = print_labels(&arena, &x, operands, &text);
    result = status == NULL ? contract(x.function, text, operands, options) : weft_trace_error(graph, status);
    einsum_arena_finish(&arena);
    return result;
}

weft_tensor weft_einsum_labels(weft_tensors operands, const weft_ints *labels, weft_ints output,
                               const weft_einsum_options *options)
{
    einsum_labelled x = {.function = "weft_einsum_labels", .labels = labels, .output = output};
    return contract_labels(x, operands, options);
}

/* ---- products over axes ---- */

/* Where axes_a[i] and axes_b[i] stand in labels: axis k of a is label k, axis k of b is label rank(a) + k. */
static weft_status *pair_axes(const weft_allocator *allocator, weft_tensor tensor, char name, weft_ints axes,
                              int64_t *out_axes)
{
    int64_t rank = (int64_t)weft_tensor_rank(tensor);
    if (axes.count > 0 && axes.items == NULL) {
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_einsum_tensordot",
                                  "tensordot: axes_%c is NULL, but its length is %zu", name, axes.count);
    }
    for (size_t i = 0; i < axes.count; i++) {
        int64_t axis = axes.items[i] < 0 ? axes.items[i] + rank : axes.items[i];
        if (axis < 0 || axis >= rank) {
            return weft_status_create(allocator, WEFT_OUT_OF_RANGE, "weft_einsum_tensordot",
                                      "tensordot: axis %" PRId64 " of %c is out of range for rank %" PRId64,
                                      axes.items[i], name, rank);
        }
        for (size_t k = 0; k < i; k++) {
            if (out_axes[k] != axis) continue;
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_einsum_tensordot",
                                      "tensordot: axis %" PRId64 " of %c is named twice", axes.items[i], name);
        }
        out_axes[i] = axis;
    }
    return NULL;
}

/* Unlike labels of an expression, axes of extent one do not broadcast. What symbols decide is checked at run time. */
static weft_status *pair_extents(weft_tensor a, weft_tensor b, int64_t axis_a, int64_t axis_b, bool *out_may_hold)
{
    char sentence[224], in_a[64], in_b[64];
    weft_extent x = weft_tensor_extent(a, axis_a), y = weft_tensor_extent(b, axis_b);
    weft_extent_print(x, in_a, sizeof in_a);
    weft_extent_print(y, in_b, sizeof in_b);
    snprintf(sentence, sizeof sentence,
             "tensordot: axis %" PRId64 " of a has extent %s but axis %" PRId64 " of b has %s", axis_a, in_a, axis_b,
             in_b);
    bool known = weft_extent_is_static(x, NULL) && weft_extent_is_static(y, NULL);
    if (!known) *out_may_hold = weft_require_equal(a.graph, x, y, "%s", sentence);
    if (!known || weft_extent_equal(x, y)) return NULL;
    return weft_status_create(weft_graph_allocator(a.graph), WEFT_SHAPE_MISMATCH, "weft_einsum_tensordot", "%s",
                              sentence);
}

/* Labels that are summed stand in both operands and are no label of the output. */
static size_t fill_output(size_t rank_a, size_t rank_b, const int64_t *summed_a, const int64_t *summed_b, size_t count,
                          int64_t *labels_b, int64_t *out_labels)
{
    bool is_summed[2 * WEFT_MAX_RANK] = {false};
    size_t size = 0;
    for (size_t i = 0; i < rank_b; i++) labels_b[i] = (int64_t)(rank_a + i);
    for (size_t i = 0; i < count; i++) {
        labels_b[summed_b[i]] = summed_a[i];
        is_summed[summed_a[i]] = is_summed[rank_a + (size_t)summed_b[i]] = true;
    }
    for (size_t i = 0; i < rank_a + rank_b; i++)
        if (!is_summed[i]) out_labels[size++] = (int64_t)i;
    return size;
}

weft_tensor weft_einsum_tensordot(weft_tensor a, weft_tensor b, weft_ints axes_a, weft_ints axes_b)
{
    weft_tensor operands[] = {a, b};
    const weft_allocator *allocator = weft_graph_allocator(a.graph);
    int64_t summed[2][WEFT_MAX_RANK], labels[2][WEFT_MAX_RANK], output[2 * WEFT_MAX_RANK];
    size_t rank_a = weft_tensor_rank(a), rank_b = weft_tensor_rank(b);
    if (!all_valid((weft_tensors){2, operands})) return refuse("weft_einsum_tensordot", (weft_tensors){2, operands});
    if (axes_a.count != axes_b.count || axes_a.count > WEFT_MAX_RANK) {
        return weft_trace_error(a.graph,
                                weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_einsum_tensordot",
                                                   "tensordot: axes_a has length %zu but axes_b %zu; they are pairs",
                                                   axes_a.count, axes_b.count));
    }
    weft_status *status = pair_axes(allocator, a, 'a', axes_a, summed[0]);
    if (status == NULL) status = pair_axes(allocator, b, 'b', axes_b, summed[1]);
    bool may_hold = true;
    for (size_t i = 0; status == NULL && may_hold && i < axes_a.count; i++)
        status = pair_extents(a, b, summed[0][i], summed[1][i], &may_hold);
    if (status != NULL || !may_hold) return weft_trace_error(a.graph, status);
    size_t size = fill_output(rank_a, rank_b, summed[0], summed[1], axes_a.count, labels[1], output);
    for (size_t i = 0; i < rank_a; i++) labels[0][i] = (int64_t)i;
    weft_ints lists[] = {{rank_a, labels[0]}, {rank_b, labels[1]}};
    einsum_labelled x = {.function = "weft_einsum_tensordot", .labels = lists, .output = {size, output}};
    return contract_labels(x, (weft_tensors){2, operands}, NULL);
}
