/* SPDX-License-Identifier: Apache-2.0 */
/* Loops composed of others. */
#include <weft/region.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "lib/composite/composite.h"
#include "lib/graph/indexing.h"
#include "runtime/base/float_mode.h"

/* A loop of `length` iterations of the caller's body, from iteration `start` on. */
typedef struct segment {
    weft_fold_body body;
    void *context;
    weft_extent length;
    weft_tensor start;
} segment;

static void run_one(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const segment *s = context;
    s->body(s->context, weft_add(s->start, index), carried, out_next);
}

typedef struct segmented_fold {
    segment segment;
    size_t count; /* of carried values */
} segmented_fold;

static void run_segment(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const segmented_fold *f = context;
    segment s = f->segment;
    s.start = weft_mul(index, weft_extent_tensor(index.graph, s.length));
    weft_fold(s.length, (weft_tensors){f->count, carried}, run_one, &s, out_next);
}

/* About the square root of the iterations, so that their number and that of the segments are alike. */
static weft_extent usual_length(weft_extent trips)
{
    int64_t value;
    return weft_extent_of(weft_extent_is_static(trips, &value) && value > 0 ? (int64_t)ceil(sqrt((double)value)) : 64);
}

static weft_tensor fail(weft_graph *graph, size_t count, weft_tensor *out_results)
{
    for (size_t i = 0; out_results != NULL && i < count; i++) out_results[i] = weft_tensor_failed(graph);
    return weft_tensor_failed(graph);
}

static weft_tensor trace(segmented_fold *f, weft_extent trips, weft_tensors initial, weft_tensor *results)
{
    weft_graph *graph = weft_trace_graph(initial);
    weft_extent length = f->segment.length, whole = weft_extent_div(trips, length),
                rest = weft_extent_mod(trips, length);
    weft_tensor first = weft_fold(whole, initial, run_segment, f, results);
    if (!weft_tensor_is_valid(first) || weft_extent_is_value(rest, 0)) return first;
    segment s = f->segment;
    s.start = weft_extent_tensor(graph, weft_extent_mul(whole, length));
    return weft_fold(rest, (weft_tensors){initial.count, results}, run_one, &s, results);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_fold_in_segments,
                    (weft_extent trips, weft_extent length, weft_tensors initial, weft_fold_body body, void *context,
                     weft_tensor *out_results),
                    (trips, length, initial, body, context, out_results))
{
    weft_graph *graph = weft_trace_graph(initial);
    if (graph == NULL) return fail(NULL, initial.count, out_results);
    if (weft_extent_is_value(length, 0)) length = usual_length(trips);
    bool fine = weft_composite_wants_own(graph, "fold_in_segments", "the number of iterations", trips) &&
                weft_composite_wants_own(graph, "fold_in_segments", "the length of a segment", length) &&
                weft_require_at_most(
                    graph, weft_extent_of(1), length,
                    "fold_in_segments: the length of a segment is %s, but must be at least 1, or 0 for the usual one",
                    weft_extent_describe(length).text);
    if (body == NULL) weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, "fold_in_segments", "%s", "the body is NULL");
    weft_tensor *results = weft_allocate(graph->allocator, (initial.count + 1) * sizeof *results);
    if (results == NULL) weft_graph_fail(graph, weft_status_out_of_memory());
    if (results == NULL || !fine || body == NULL) {
        weft_free(graph->allocator, results, (initial.count + 1) * sizeof *results);
        return fail(graph, initial.count, out_results);
    }
    segmented_fold f = {{body, context, length, WEFT_NO_TENSOR}, initial.count};
    weft_tensor first = trace(&f, trips, initial, results);
    for (size_t i = 0; out_results != NULL && i < initial.count; i++) out_results[i] = results[i];
    weft_free(graph->allocator, results, (initial.count + 1) * sizeof *results);
    return first;
}

/* ---- loops of which few iterations are stored ---- */

bool weft_composite_fold_as(weft_composed_id function, const weft_attr *attrs, weft_tensor result)
{
    weft_arena arena;
    const weft_node *node = weft_graph_node(result.graph, result.node);
    size_t inputs = node->input_count, outputs = node->output_count;
    weft_arena_init(&arena, result.graph->allocator);
    weft_tensor *tensors = weft_arena_allocate(&arena, (inputs + outputs) * sizeof *tensors);
    if (tensors == NULL) weft_graph_fail(result.graph, weft_status_out_of_memory());
    for (size_t i = 0; i < inputs && tensors != NULL; i++)
        tensors[i] = (weft_tensor){result.graph, node->inputs[i].node, node->inputs[i].output};
    for (size_t k = 0; k < outputs && tensors != NULL; k++)
        tensors[inputs + k] = (weft_tensor){result.graph, result.node, (uint32_t)k};
    bool well = tensors != NULL &&
                weft_graph_compose(result.graph, &weft_composed_table()[function], attrs,
                                   (weft_tensors){inputs, tensors}, (weft_tensors){outputs, tensors + inputs});
    weft_arena_finish(&arena);
    return well;
}

/* A fold over a value of its own: an equal one, which may be differentiated in another way, is another node. */
static weft_tensor fold_apart(weft_graph *graph, weft_extent trips, weft_tensors initial, weft_fold_body body,
                              void *context, weft_tensor *out_results)
{
    size_t size = initial.count * sizeof(weft_tensor);
    weft_tensor *values = weft_allocate(graph->allocator, size);
    if (values == NULL) {
        weft_graph_fail(graph, weft_status_out_of_memory());
        return weft_tensor_failed(graph);
    }
    memcpy(values, initial.items, size);
    if (weft_tensor_is_valid(values[0])) values[0] = weft_trace_barrier((weft_tensors){1, values}, false);
    weft_tensor first = weft_fold(trips, (weft_tensors){initial.count, values}, body, context, out_results);
    weft_free(graph->allocator, values, size);
    return first;
}

weft_tensor weft_fold_with_snapshots(weft_extent trips, int64_t count, weft_tensors initial, weft_fold_body body,
                                     void *context, weft_tensor *out_results)
{
    weft_graph *graph = weft_trace_graph(initial);
    if (graph == NULL) return fail(NULL, initial.count, out_results);
    if (count < 1 || count == INT64_MAX) {
        weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, "fold_with_snapshots",
                        "the number of stored iterations is %" PRId64 ", but must be at least 1 and less than 2^63 - 1",
                        count);
        return fail(graph, initial.count, out_results);
    }
    weft_tensor first = fold_apart(graph, trips, initial, body, context, out_results);
    bool well = weft_tensor_is_valid(first) &&
                weft_composite_fold_as(WEFT_COMPOSED_fold_with_snapshots, &(weft_attr){.integer = count}, first);
    return well ? first : fail(graph, initial.count, out_results);
}

/* ---- loops that may end early ---- */

/* One iteration where the condition holds, nothing otherwise. */
typedef struct bounded_while {
    size_t count;
    weft_while_condition condition;
    weft_while_body body;
    void *context;
    const weft_tensor *carried; /* of the iteration that is traced */
} bounded_while;

static void go_on(void *context, weft_tensor *out_results)
{
    const bounded_while *w = context;
    w->body(w->context, w->carried, out_results);
}

static void stay(void *context, weft_tensor *out_results)
{
    const bounded_while *w = context;
    for (size_t i = 0; i < w->count; i++) out_results[i] = w->carried[i];
}

static void maybe_go_on(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    bounded_while *w = context;
    (void)index;
    w->carried = carried;
    weft_cond(w->condition(w->context, carried), w->count, go_on, stay, w, out_next);
}

/* `x`, which is an error of the run where `again` is true: then there is no element of that number. The error says what
 * it means (weft_indexing_is_bound). */
static weft_tensor ended(weft_tensor x, weft_tensor again)
{
    weft_shape shape = weft_tensor_shape(x);
    weft_extent extents[WEFT_MAX_RANK + 1] = {weft_extent_of(1)};
    for (size_t i = 0; i < shape.rank; i++) extents[1 + i] = shape.extents[i];
    weft_tensor only = weft_reshape(x, (weft_shape){1 + shape.rank, extents});
    weft_tensor start = weft_cast(again, WEFT_I64);
    weft_tensor element = weft_dynamic_slice(only, WEFT_TENSORS(start), WEFT_INTS(0), WEFT_SHAPE(1));
    return weft_reshape(weft_tensor_set_name(element, WEFT_BOUND_OP), shape);
}

weft_tensor weft_while_at_most(weft_extent most, weft_tensors initial, weft_while_condition condition,
                               weft_while_body body, void *context, weft_tensor *out_results)
{
    weft_graph *graph = weft_trace_graph(initial);
    if (graph == NULL) return fail(NULL, initial.count, out_results);
    if (condition == NULL || body == NULL) {
        weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, "while_at_most", "the %s is NULL",
                        condition == NULL ? "condition" : "body");
        return fail(graph, initial.count, out_results);
    }
    weft_tensor *results = weft_allocate(graph->allocator, (initial.count + 1) * sizeof *results);
    if (results == NULL) {
        weft_graph_fail(graph, weft_status_out_of_memory());
        return fail(graph, initial.count, out_results);
    }
    bounded_while w = {initial.count, condition, body, context, NULL};
    weft_tensor first = weft_fold(most, initial, maybe_go_on, &w, results);
    weft_tensor again = weft_tensor_is_valid(first) ? condition(context, results) : first;
    for (size_t i = 0; i < initial.count; i++) {
        results[i] = weft_tensor_is_valid(first) ? ended(results[i], again) : weft_tensor_failed(graph);
        if (out_results != NULL) out_results[i] = results[i];
    }
    if (initial.count > 0) first = results[0];
    weft_free(graph->allocator, results, (initial.count + 1) * sizeof *results);
    return first;
}
