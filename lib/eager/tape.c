/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tapes. While one is open, arrays that depend on those it watches keep their record, also once they have values.
 *
 * A gradient is a call like any other. What it calls is the record from the watched arrays to the loss, as numbers:
 * tracing it traces these calls again and differentiates them in the graph. So it is recorded as well, and in a program
 * with the loss both are traced from the same calls on the same tensors, which are the same nodes: what they share is
 * computed once.
 */
#include <weft/gradient.h>
#include "lib/eager/record.h"
#include "lib/graph/graph.h"
#include "runtime/base/status.h"

/* ---- begin and end ---- */

static void watch(weft_eager_array *array)
{
    if (weft_eager_is_taped(array)) return;
    array->tape = array->watched = array->eager->tape;
}

void weft_eager_tape_begin(weft_eager *eager, weft_eager_arrays watched)
{
    if (eager == NULL) return;
    if (eager->tape_depth++ == 0) eager->tape++;
    for (size_t i = 0; i < watched.count && watched.items != NULL; i++) {
        weft_eager_array *array = watched.items[i];
        if (array != NULL && array->eager == eager) watch(array);
    }
}

/* Lets go of records that nothing needs any more. One that ends may end others, but none that are pinned. */
static void settle_all(weft_eager *eager)
{
    weft_eager_node *node = eager->nodes;
    if (node != NULL) weft_eager_node_pin(node);
    while (node != NULL) {
        weft_eager_node *next = node->next;
        if (next != NULL) weft_eager_node_pin(next);
        weft_eager_node_settle(node);
        weft_eager_node_unpin(node);
        node = next;
    }
}

void weft_eager_tape_end(weft_eager *eager)
{
    if (eager == NULL || eager->tape_depth == 0) return;
    if (--eager->tape_depth == 0) settle_all(eager);
}

void weft_eager_tape_forget(weft_eager *eager)
{
    if (eager->tape_depth == 0) return;
    eager->tape_depth = 0;
    settle_all(eager);
}

/* ---- what is differentiated ---- */

/* The options of a gradient: how many calls there are, and in how many arrays; the words of the calls, then the codes
 * of the loss and of these. */
enum { NODE_COUNT, ARRAY_COUNT, HEADER = WEFT_EAGER_GRADIENT_HEADER };

/*
 * weft_grad holds what it differentiates in independent of each other. Leaves are, and go together; what was computed
 * on the way may depend on others, and goes alone: what the derivatives share are the same nodes.
 */
static void differentiate(const weft_eager_replay *replay, weft_tensor *tensors, weft_tensor *out_results)
{
    size_t count = replay->wanted_count - 1, leaf_count = 0;
    weft_tensor *leaves = tensors + replay->wanted_count, *gradients = leaves + count;
    for (size_t i = 0; i < count; i++) {
        if ((replay->wanted[1 + i] & WEFT_EAGER_LEAF) != 0) leaves[leaf_count++] = tensors[1 + i];
        else out_results[i] = weft_grad(tensors[0], (weft_tensors){1, &tensors[1 + i]}, NULL);
    }
    if (leaf_count == 0) return;
    weft_grad(tensors[0], (weft_tensors){leaf_count, leaves}, gradients);
    for (size_t i = count; i-- > 0;) {
        if ((replay->wanted[1 + i] & WEFT_EAGER_LEAF) != 0) out_results[i] = gradients[--leaf_count];
    }
}

/* `tensors` has room for what is wanted, and twice for the arrays. */
static weft_status *replay_and_differentiate(weft_graph *graph, const uint64_t *options, const weft_tensor *operands,
                                             weft_tensor *tensors, weft_tensor *out_results)
{
    weft_eager_replay replay = {.node_count = options[NODE_COUNT],
                                .words = options + HEADER,
                                .leaves = operands,
                                .wanted_count = 1 + options[ARRAY_COUNT]};
    replay.wanted = weft_eager_replay_end(&replay);
    WEFT_TRY(weft_eager_replay_run(graph->allocator, &replay, graph, tensors));
    differentiate(&replay, tensors, out_results);
    return NULL;
}

/* A weft_eager_trace. */
static void trace_gradient(weft_graph *graph, const void *options, const weft_tensor *operands,
                           weft_tensor *out_results)
{
    size_t count = ((const uint64_t *)options)[ARRAY_COUNT], size = (1 + 3 * count) * sizeof(weft_tensor);
    weft_tensor *tensors = weft_allocate(graph->allocator, size);
    for (size_t i = 0; i < count; i++) out_results[i] = weft_tensor_failed(graph);
    weft_status *status = tensors == NULL ? weft_status_out_of_memory()
                                          : replay_and_differentiate(graph, options, operands, tensors, out_results);
    weft_free(graph->allocator, tensors, size);
    if (status != NULL) weft_graph_fail(graph, status);
}

/* ---- recorded ---- */

/* What is differentiated ends at what is watched, and at what does not depend on it. */
static bool is_constant(const weft_eager_array *array)
{
    return array->node == NULL || !weft_eager_is_taped(array) || array->watched == array->tape;
}

static weft_status *record_loss(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays)
{
    weft_eager_walk_begin(eager, is_constant);
    for (size_t i = 0; i < HEADER; i++) WEFT_TRY(weft_eager_walk_word(eager, 0));
    WEFT_TRY(weft_eager_walk_to(eager, loss));
    for (size_t i = 0; i < arrays.count; i++) WEFT_TRY(weft_eager_walk_to(eager, arrays.items[i]));
    WEFT_TRY(weft_eager_walk_code(eager, loss));
    for (size_t i = 0; i < arrays.count; i++) WEFT_TRY(weft_eager_walk_code(eager, arrays.items[i]));
    uint64_t *words = eager->record.words.items;
    words[NODE_COUNT] = eager->record.nodes.count;
    words[ARRAY_COUNT] = arrays.count;
    return NULL;
}

typedef struct caller {
    const char *file;
    int line;
} caller;

static weft_status *call_gradient(weft_eager *eager, size_t count, weft_eager_entry **parts, caller at,
                                  weft_eager_array **out_gradients)
{
    const weft_eager_record *record = &eager->record;
    weft_eager_node **nodes = record->nodes.items;
    for (size_t i = 0; i < record->nodes.count; i++) parts[i] = nodes[i]->entry;
    weft_eager_function function = {.name = "gradient",
                                    .trace = trace_gradient,
                                    .options = record->words.items,
                                    .options_size = record->words.count * sizeof(uint64_t),
                                    .result_count = count,
                                    .file = at.file,
                                    .line = at.line};
    weft_eager_arrays operands = {record->leaves.count, record->leaves.items};
    return weft_eager_call_with(eager, &function, operands, record->nodes.count, parts, out_gradients);
}

static weft_status *refuse(const weft_eager *eager, const char *what)
{
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, "weft_eager_gradient", "gradient: %s", what);
}

static weft_status *refuse_array(const weft_eager *eager, size_t i, size_t count, const char *what)
{
    if (count == 1)
        return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, "weft_eager_gradient",
                                  "gradient: the array %s", what);
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, "weft_eager_gradient",
                              "gradient: array %zu of %zu (from 0) %s", i, count, what);
}

static weft_status *check(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays)
{
    if (eager->tape_depth == 0)
        return refuse(eager, "there is no tape: gradients are asked for between weft_eager_tape_begin and _end");
    if (loss->eager != eager) return refuse(eager, "the loss belongs to another context");
    for (size_t i = 0; i < arrays.count; i++) {
        if (arrays.items[i]->eager != eager) return refuse_array(eager, i, arrays.count, "belongs to another context");
        if (!weft_eager_is_taped(arrays.items[i]))
            return refuse_array(eager, i, arrays.count,
                                "is not followed by the tape: it is not watched, nor computed from what is");
    }
    return NULL;
}

static weft_status *make_gradients(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays, caller at,
                                   weft_eager_array **out_gradients)
{
    WEFT_TRY(check(eager, loss, arrays));
    WEFT_TRY(record_loss(eager, loss, arrays));
    size_t size = eager->record.nodes.count * sizeof(weft_eager_entry *);
    weft_eager_entry **parts = weft_allocate(eager->allocator, size);
    if (parts == NULL) return weft_status_out_of_memory();
    weft_status *status = call_gradient(eager, arrays.count, parts, at, out_gradients);
    weft_free(eager->allocator, parts, size);
    return status;
}

/* Whether nothing has failed before. */
static bool are_there(const weft_eager_array *loss, weft_eager_arrays arrays)
{
    bool there = loss != NULL;
    for (size_t i = 0; i < arrays.count; i++) there = there && arrays.items[i] != NULL;
    return there;
}

void weft_eager_gradient_located(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays,
                                 weft_eager_array **out_gradients, const char *file, int line)
{
    if (eager == NULL || arrays.count == 0) return;
    weft_status *status = arrays.items == NULL    ? weft_status_null("weft_eager_gradient", "arrays")
                          : out_gradients == NULL ? weft_status_null("weft_eager_gradient", "out_gradients")
                                                  : NULL;
    if (status == NULL) {
        for (size_t i = 0; i < arrays.count; i++) out_gradients[i] = NULL;
        if (!are_there(loss, arrays)) return;
        status = make_gradients(eager, loss, arrays, (caller){file, line}, out_gradients);
        for (size_t i = 0; status != NULL && i < arrays.count; i++) out_gradients[i] = NULL;
    }
    if (status != NULL) weft_eager_fail(eager, status, file, line);
}

void(weft_eager_gradient)(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays,
                          weft_eager_array **out_gradients)
{
    weft_eager_gradient_located(eager, loss, arrays, out_gradients, NULL, 0);
}
