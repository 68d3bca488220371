/* SPDX-License-Identifier: Apache-2.0 */
/* What a value depends on, as numbers. */
#include "lib/eager/record.h"
#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

bool weft_eager_list_add(weft_eager *eager, weft_eager_list *list, const void *item, size_t size)
{
    if (list->count == list->capacity &&
        !weft_reserve(eager->allocator, &list->items, &list->capacity, list->count + 1, size))
        return false;
    memcpy((char *)list->items + list->count++ * size, item, size);
    return true;
}

void weft_eager_list_finish(weft_eager *eager, weft_eager_list *list, size_t size)
{
    weft_free(eager->allocator, list->items, list->capacity * size);
    *list = (weft_eager_list){0};
}

/* ---- the walk ---- */

weft_status *weft_eager_walk_word(weft_eager *eager, uint64_t word)
{
    uint64_t *place = weft_eager_list_words(&eager->record.words, eager->allocator, 1);
    if (place == NULL) return weft_status_out_of_memory();
    *place = word;
    return NULL;
}

static weft_status *lost(const weft_eager *eager)
{
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, "weft_eager",
                              "an operand was given to a run that failed, which may have overwritten it");
}

/* Puts the node on the stack unless this walk has met it. */
static weft_status *enter(weft_eager *eager, weft_eager_node *node)
{
    if (node->epoch == eager->epoch) return NULL;
    node->epoch = eager->epoch;
    node->at = 0;
    bool added = weft_eager_list_add(eager, &eager->record.stack, &node, sizeof node);
    return added ? NULL : weft_status_out_of_memory();
}

/* The next operand of the node that has to be recorded first, or NULL. */
static weft_eager_node *next_below(weft_eager *eager, weft_eager_node *node)
{
    while (node->at < node->entry->operand_count) {
        weft_eager_array *operand = node->items[node->at++];
        if (!eager->record.is_leaf(operand) && operand->node->epoch != eager->epoch) return operand->node;
    }
    return NULL;
}

static weft_status *check_operands(weft_eager *eager, weft_eager_node *node)
{
    for (size_t i = 0; i < node->entry->operand_count; i++) {
        const weft_eager_array *operand = node->items[i];
        if (!eager->record.is_leaf(operand) && operand->node == NULL) return lost(eager);
    }
    return NULL;
}

static void number_array(weft_eager *eager, weft_eager_array *array, size_t index)
{
    if (array->epoch == eager->epoch) return;
    array->epoch = eager->epoch;
    array->index = index;
    array->inside = 0;
}

static weft_status *encode_leaf(weft_eager *eager, weft_eager_array *array)
{
    weft_eager_record *record = &eager->record;
    bool is_new = array->epoch != eager->epoch;
    number_array(eager, array, record->leaves.count);
    array->inside++;
    if (is_new && !weft_eager_list_add(eager, &record->leaves, &array, sizeof array))
        return weft_status_out_of_memory();
    return weft_eager_walk_word(eager, weft_eager_code_of_leaf(array->index));
}

static weft_status *encode_operand(weft_eager *eager, weft_eager_array *array)
{
    if (eager->record.is_leaf(array)) return encode_leaf(eager, array);
    number_array(eager, array, 0);
    array->inside++;
    return weft_eager_walk_word(eager, weft_eager_code_of_result(array->node->index, array->output));
}

/* All its operands are recorded. */
static weft_status *encode_node(weft_eager *eager, weft_eager_node *node)
{
    weft_eager_record *record = &eager->record;
    node->index = record->nodes.count;
    if (!weft_eager_list_add(eager, &record->nodes, &node, sizeof node)) return weft_status_out_of_memory();
    WEFT_TRY(weft_eager_walk_word(eager, (uint64_t)(uintptr_t)node->entry));
    for (size_t i = 0; i < node->entry->operand_count; i++) WEFT_TRY(encode_operand(eager, node->items[i]));
    return NULL;
}

static weft_status *visit(weft_eager *eager)
{
    weft_eager_list *stack = &eager->record.stack;
    while (stack->count > 0) {
        weft_eager_node *node = ((weft_eager_node **)stack->items)[stack->count - 1];
        if (node->at == 0) WEFT_TRY(check_operands(eager, node));
        weft_eager_node *below = next_below(eager, node);
        if (below != NULL) {
            WEFT_TRY(enter(eager, below));
            continue;
        }
        stack->count--;
        WEFT_TRY(encode_node(eager, node));
    }
    return NULL;
}

void weft_eager_walk_begin(weft_eager *eager, bool (*is_leaf)(const weft_eager_array *array))
{
    weft_eager_record *record = &eager->record;
    eager->epoch++;
    record->is_leaf = is_leaf;
    record->nodes.count = record->leaves.count = record->wanted.count = record->words.count = record->stack.count = 0;
}

weft_status *weft_eager_walk_to(weft_eager *eager, weft_eager_array *array)
{
    if (eager->record.is_leaf(array)) return NULL;
    if (array->node == NULL) return lost(eager);
    WEFT_TRY(enter(eager, array->node));
    return visit(eager);
}

weft_status *weft_eager_walk_code(weft_eager *eager, weft_eager_array *array)
{
    if (eager->record.is_leaf(array)) return encode_leaf(eager, array);
    return weft_eager_walk_word(eager, weft_eager_code_of_result(array->node->index, array->output));
}

/* ---- traced again ---- */

/*
 * Programs serve calls of one kind wherever they are made. So a location in them is the number of the call among those
 * of the record, and what takes its place in an error comes from the record that is run.
 */
#define CALL "<call>"

static void print_places(const weft_eager *eager, const char *message, weft_bytes *text)
{
    static const char mark[] = " (" CALL ":";
    weft_eager_node *const *nodes = eager->record.nodes.items;
    for (const char *begin; (begin = strstr(message, mark)) != NULL;) {
        char *end;
        size_t number = (size_t)strtoul(begin + sizeof mark - 1, &end, 10);
        const weft_eager_node *node = number < eager->record.nodes.count ? nodes[number] : NULL;
        weft_bytes_print(text, "%.*s", (int)(begin - message), message);
        if (node != NULL && node->file != NULL) weft_bytes_print(text, " (%s:%d)", node->file, node->line);
        message = *end == ')' ? end + 1 : end;
    }
    weft_bytes_print(text, "%s", message);
}

weft_status *weft_eager_name_calls(const weft_eager *eager, weft_status *status)
{
    weft_bytes text;
    if (strstr(weft_status_message(status), CALL) == NULL) return status;
    weft_bytes_init(&text, eager->allocator);
    print_places(eager, weft_status_message(status), &text);
    weft_code code = weft_status_code(status);
    weft_status *placed = weft_status_create(eager->allocator, code, weft_status_where(status), "%s", text.data);
    bool made = !text.failed && weft_status_code(placed) == code;
    weft_bytes_finish(&text);
    weft_status_destroy(status);
    if (made) return placed;
    weft_status_destroy(placed);
    return weft_status_out_of_memory();
}

const uint64_t *weft_eager_replay_end(const weft_eager_replay *replay)
{
    const uint64_t *at = replay->words;
    for (size_t i = 0; i < replay->node_count; i++) at += 1 + ((const weft_eager_entry *)(uintptr_t)*at)->operand_count;
    return at;
}

/* Where the results of each call are among all. */
static weft_status *find_firsts(const weft_allocator *allocator, const weft_eager_replay *replay, size_t **out_firsts)
{
    size_t *firsts = weft_allocate(allocator, (replay->node_count + 1) * sizeof *firsts);
    const uint64_t *at = replay->words;
    if (firsts == NULL) return weft_status_out_of_memory();
    firsts[0] = 0;
    for (size_t i = 0; i < replay->node_count; i++) {
        const weft_eager_entry *entry = (const weft_eager_entry *)(uintptr_t)*at;
        firsts[i + 1] = firsts[i] + entry->function.result_count;
        at += 1 + entry->operand_count;
    }
    *out_firsts = firsts;
    return NULL;
}

static weft_tensor tensor_of(const weft_eager_replay *replay, const size_t *firsts, const weft_tensor *tensors,
                             uint64_t code)
{
    if ((code & WEFT_EAGER_LEAF) != 0) return replay->leaves[code >> 1];
    return tensors[firsts[code >> 32] + ((code & UINT32_MAX) >> 1)];
}

static weft_status *trace_fault(const weft_allocator *allocator, const weft_eager_entry *entry, weft_graph *graph)
{
    const weft_status *error = weft_graph_error(graph);
    if (error != NULL) return weft_status_clone(allocator, error);
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, entry->function.name,
                              "%s: gave another result than before", entry->function.name);
}

static weft_status *trace_calls(const weft_allocator *allocator, const weft_eager_replay *replay, weft_graph *graph,
                                const size_t *firsts, weft_tensor *tensors)
{
    const uint64_t *at = replay->words;
    for (size_t i = 0; i < replay->node_count; i++) {
        const weft_eager_entry *entry = (const weft_eager_entry *)(uintptr_t)*at++;
        size_t size = entry->operand_count * sizeof(weft_tensor);
        weft_tensor *operands = weft_allocate(allocator, size);
        if (operands == NULL) return weft_status_out_of_memory();
        for (size_t k = 0; k < entry->operand_count; k++) operands[k] = tensor_of(replay, firsts, tensors, *at++);
        bool well = weft_eager_entry_trace(entry, graph, operands, tensors + firsts[i]);
        weft_free(allocator, operands, size);
        if (!well) return trace_fault(allocator, entry, graph);
        if (replay->names_calls) weft_tensor_locate(tensors[firsts[i]], NULL, CALL, (int)i);
    }
    return NULL;
}

weft_status *weft_eager_replay_run(const weft_allocator *allocator, const weft_eager_replay *replay, weft_graph *graph,
                                   weft_tensor *out_wanted)
{
    size_t *firsts = NULL;
    WEFT_TRY(find_firsts(allocator, replay, &firsts));
    size_t size = firsts[replay->node_count] * sizeof(weft_tensor);
    weft_tensor *tensors = weft_allocate_zeroed(allocator, size);
    weft_status *status =
        tensors == NULL ? weft_status_out_of_memory() : trace_calls(allocator, replay, graph, firsts, tensors);
    for (size_t i = 0; status == NULL && i < replay->wanted_count; i++)
        out_wanted[i] = tensor_of(replay, firsts, tensors, replay->wanted[i]);
    weft_free(allocator, tensors, size);
    weft_free(allocator, firsts, (replay->node_count + 1) * sizeof *firsts);
    return status;
}
