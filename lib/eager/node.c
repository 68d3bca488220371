/* SPDX-License-Identifier: Apache-2.0 */
/* Records of calls. */
#include <string.h>
#include "lib/eager/eager.h"

static size_t item_count(const weft_eager_entry *entry)
{
    return entry->operand_count + entry->function.result_count;
}

static size_t size_of(const weft_eager_entry *entry)
{
    return sizeof(weft_eager_node) + item_count(entry) * sizeof(weft_eager_array *);
}

/* ---- its end ---- */

static void unlink_node(weft_eager *eager, weft_eager_node *node)
{
    if (node->previous != NULL) node->previous->next = node->next;
    else eager->nodes = node->next;
    if (node->next != NULL) node->next->previous = node->previous;
}

static void destroy_node(weft_eager *eager, weft_eager_node *node)
{
    weft_eager_entry *entry = node->entry;
    size_t size = size_of(entry);
    for (size_t i = 0; i < entry->operand_count; i++) {
        if (node->items[i] == NULL) continue;
        node->items[i]->uses--;
        weft_eager_array_review(node->items[i]);
    }
    weft_free(eager->allocator, node, size);
    weft_eager_entry_release(eager, entry);
}

/* Nodes that end with this one are put on the list: chains of them are long, the stack may not be. */
void weft_eager_node_unpin(weft_eager_node *node)
{
    weft_eager *eager = node->eager;
    if (--node->attached > 0) return;
    unlink_node(eager, node);
    node->next = eager->doomed;
    eager->doomed = node;
    if (eager->is_draining) return;
    eager->is_draining = true;
    while (eager->doomed != NULL) {
        weft_eager_node *doomed = eager->doomed;
        eager->doomed = doomed->next;
        destroy_node(eager, doomed);
    }
    eager->is_draining = false;
}

void weft_eager_node_pin(weft_eager_node *node)
{
    node->attached++;
}

void weft_eager_node_settle(weft_eager_node *node)
{
    weft_eager_array **results = weft_eager_node_results(node);
    weft_eager_node_pin(node);
    for (size_t i = 0; i < node->entry->function.result_count; i++) {
        weft_eager_array *array = results[i];
        if (array == NULL || array->value == NULL || weft_eager_is_taped(array)) continue;
        results[i] = NULL;
        array->node = NULL;
        weft_eager_node_unpin(node);
    }
    weft_eager_node_unpin(node);
}

/* ---- its beginning ---- */

static size_t depth_of(weft_eager_arrays operands)
{
    size_t depth = 0;
    for (size_t i = 0; i < operands.count; i++) {
        const weft_eager_array *x = operands.items[i];
        if (x->value == NULL && x->node != NULL && x->node->depth > depth) depth = x->node->depth;
    }
    return depth + 1;
}

bool weft_eager_are_taped(weft_eager_arrays operands)
{
    for (size_t i = 0; i < operands.count; i++) {
        if (weft_eager_is_taped(operands.items[i])) return true;
    }
    return false;
}

static weft_status *make_results(weft_eager *eager, weft_eager_node *node)
{
    weft_eager_array **results = weft_eager_node_results(node);
    for (size_t i = 0; i < node->entry->function.result_count; i++) {
        WEFT_TRY(weft_eager_array_create(eager, weft_eager_entry_result(node->entry, i), NULL, &results[i]));
        results[i]->node = node;
        results[i]->output = i;
        node->attached++;
    }
    return NULL;
}

static void link_node(weft_eager *eager, weft_eager_node *node)
{
    node->next = eager->nodes;
    if (eager->nodes != NULL) eager->nodes->previous = node;
    eager->nodes = node;
}

static void release_results(weft_eager_node *node)
{
    weft_eager_array **results = weft_eager_node_results(node);
    for (size_t i = 0; i < node->entry->function.result_count; i++) weft_eager_release(results[i]);
}

weft_status *weft_eager_node_create(weft_eager *eager, weft_eager_entry *entry, weft_eager_arrays operands,
                                    weft_eager_array **out_results)
{
    weft_eager_node *node = weft_allocate_zeroed(eager->allocator, size_of(entry));
    if (node == NULL) return weft_status_out_of_memory();
    node->eager = eager;
    node->entry = entry;
    node->depth = depth_of(operands);
    node->attached = 1;
    entry->references++;
    link_node(eager, node);
    for (size_t i = 0; i < operands.count; i++) {
        node->items[i] = operands.items[i];
        node->items[i]->uses++;
    }
    weft_status *status = make_results(eager, node);
    uint64_t tape = weft_eager_are_taped(operands) ? eager->tape : 0;
    for (size_t i = 0; status == NULL && i < entry->function.result_count; i++) {
        out_results[i] = weft_eager_node_results(node)[i];
        out_results[i]->tape = tape;
    }
    if (status != NULL) release_results(node);
    weft_eager_node_unpin(node);
    return status;
}
