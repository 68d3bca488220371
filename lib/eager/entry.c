/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with options and types of operands: what their results are, found by tracing them once. */
#include <stdio.h>
#include <string.h>
#include "lib/eager/eager.h"

/* ---- looked up ---- */

/* Types are what they are by their address, as long as the entry has them. */
static weft_status *fill_key(weft_eager *eager, const weft_eager_function *function, weft_eager_arrays operands)
{
    size_t size = function->options_size, option_words = (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    eager->key.count = 0;
    uint64_t *words = weft_eager_list_words(&eager->key, eager->allocator, 4 + operands.count + option_words);
    if (words == NULL) return weft_status_out_of_memory();
    *words++ = (uint64_t)(uintptr_t)function->trace;
    *words++ = function->result_count;
    *words++ = operands.count;
    *words++ = size;
    for (size_t i = 0; i < operands.count; i++) *words++ = (uint64_t)(uintptr_t)operands.items[i]->type;
    if (size == 0) return NULL;
    words[option_words - 1] = 0;
    memcpy(words, function->options, size);
    return NULL;
}

/* ---- its life ---- */

static void destroy_views(weft_eager *eager, weft_eager_entry *entry)
{
    if (entry->views == NULL) return;
    for (size_t i = 0; i < entry->function.result_count; i++)
        weft_eager_view_destroy(eager->allocator, entry->views[i]);
    weft_free(eager->allocator, entry->views, entry->function.result_count * sizeof(weft_eager_view *));
    entry->views = NULL;
}

static size_t type_count(const weft_eager_entry *entry)
{
    return entry->operand_count + entry->function.result_count;
}

static void entry_destroy(weft_eager *eager, weft_eager_entry *entry)
{
    const weft_allocator *allocator = eager->allocator;
    destroy_views(eager, entry);
    for (size_t i = 0; entry->types != NULL && i < type_count(entry); i++)
        weft_eager_type_release(eager, entry->types[i]);
    for (size_t i = 0; entry->parts != NULL && i < entry->part_count; i++)
        weft_eager_entry_release(eager, entry->parts[i]);
    weft_free(allocator, entry->types, type_count(entry) * sizeof *entry->types);
    weft_free(allocator, entry->parts, entry->part_count * sizeof *entry->parts);
    weft_free(allocator, (char *)entry->function.name, entry->name_size);
    weft_free(allocator, (void *)entry->function.options, entry->function.options_size);
    weft_free(allocator, entry, sizeof *entry);
}

void weft_eager_entry_release(weft_eager *eager, weft_eager_entry *entry)
{
    if (entry != NULL && --entry->references == 0) entry_destroy(eager, entry);
}

void weft_eager_entry_drop(void *context, weft_eager_kept_item *item)
{
    weft_eager_entry_release(context, (weft_eager_entry *)item);
}

/* ---- made ---- */

static void *copy_of(const weft_allocator *allocator, const void *data, size_t size)
{
    void *copy = weft_allocate(allocator, size);
    if (copy != NULL && size > 0) memcpy(copy, data, size);
    return copy;
}

static weft_status *copy_function(weft_eager *eager, weft_eager_entry *entry, const weft_eager_function *function)
{
    entry->name_size = strlen(function->name) + 1;
    entry->function.name = copy_of(eager->allocator, function->name, entry->name_size);
    entry->function.options = copy_of(eager->allocator, function->options, function->options_size);
    bool well = entry->function.name != NULL && entry->function.options != NULL;
    return well ? NULL : weft_status_out_of_memory();
}

static weft_status *copy_parts(weft_eager *eager, weft_eager_entry *entry, weft_eager_entry *const *parts)
{
    entry->parts = copy_of(eager->allocator, parts, entry->part_count * sizeof(weft_eager_entry *));
    if (entry->parts == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < entry->part_count; i++) parts[i]->references++;
    return NULL;
}

static weft_status *copy_types(weft_eager *eager, weft_eager_entry *entry, weft_eager_arrays operands)
{
    entry->types = weft_allocate_zeroed(eager->allocator, type_count(entry) * sizeof *entry->types);
    if (entry->types == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operands.count; i++) {
        entry->types[i] = operands.items[i]->type;
        entry->types[i]->references++;
    }
    return NULL;
}

static weft_tensor input_of(weft_graph *graph, const weft_eager_type *type, size_t number)
{
    char name[32];
    weft_extent extents[WEFT_MAX_RANK];
    snprintf(name, sizeof name, "operand%zu", number);
    for (size_t i = 0; i < type->rank; i++) extents[i] = weft_extent_of(type->extents[i]);
    return weft_input(graph, name, type->dtype, (weft_shape){type->rank, extents});
}

static weft_status *result_fault(weft_eager *eager, const weft_eager_entry *entry, size_t result, const char *what)
{
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, entry->function.name, "%s: result %zu %s",
                              entry->function.name, result, what);
}

/* The type of a result; all extents have to be numbers. */
static weft_status *find_type(weft_eager *eager, const weft_eager_entry *entry, weft_graph *graph, size_t result,
                              weft_tensor tensor, weft_eager_type **out_type)
{
    int64_t extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(tensor);
    if (!weft_tensor_is_valid(tensor)) return result_fault(eager, entry, result, "is a failed tensor");
    if (tensor.graph != graph) return result_fault(eager, entry, result, "belongs to another graph");
    for (size_t i = 0; i < shape.rank; i++) {
        if (!weft_extent_is_static(shape.extents[i], &extents[i]))
            return result_fault(eager, entry, result, "has an extent that is no number");
    }
    return weft_eager_type_acquire(eager, weft_tensor_dtype(tensor), shape.rank, extents, out_type);
}

static weft_status *find_views(weft_eager *eager, weft_eager_entry *entry, const weft_tensor *operands,
                               const weft_tensor *results)
{
    entry->views = weft_allocate_zeroed(eager->allocator, entry->function.result_count * sizeof(weft_eager_view *));
    if (entry->views == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < entry->function.result_count; i++) {
        WEFT_TRY(weft_eager_view_find(eager->allocator, results[i], entry->operand_count, operands, &entry->views[i]));
        if (entry->views[i] != NULL) continue;
        destroy_views(eager, entry);
        return NULL;
    }
    return NULL;
}

static weft_status *learn(weft_eager *eager, weft_eager_entry *entry, weft_graph *graph, weft_tensor *tensors)
{
    weft_tensor *results = tensors + entry->operand_count;
    for (size_t i = 0; i < entry->operand_count; i++) tensors[i] = input_of(graph, entry->types[i], i);
    entry->function.trace(graph, entry->function.options, tensors, results);
    if (entry->function.file != NULL) weft_tensor_locate(results[0], NULL, entry->function.file, entry->function.line);
    const weft_status *error = weft_graph_error(graph);
    if (error != NULL) return weft_status_clone(eager->allocator, error);
    for (size_t i = 0; i < entry->function.result_count; i++)
        WEFT_TRY(find_type(eager, entry, graph, i, results[i], &entry->types[entry->operand_count + i]));
    return find_views(eager, entry, tensors, results);
}

/* Traces the function, in a graph of its own. */
static weft_status *trace_once(weft_eager *eager, weft_eager_entry *entry)
{
    weft_graph *graph;
    size_t size = type_count(entry) * sizeof(weft_tensor);
    weft_tensor *tensors = weft_allocate_zeroed(eager->allocator, size);
    if (tensors == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_create(&(weft_graph_options){.allocator = eager->allocator}, &graph);
    if (status == NULL) {
        status = learn(eager, entry, graph, tensors);
        weft_graph_destroy(graph);
    }
    weft_free(eager->allocator, tensors, size);
    eager->counters.traces++;
    return status;
}

static weft_status *fill(weft_eager *eager, weft_eager_entry *entry, const weft_eager_function *function,
                         weft_eager_arrays operands, weft_eager_entry *const *parts)
{
    WEFT_TRY(copy_function(eager, entry, function));
    WEFT_TRY(copy_types(eager, entry, operands));
    WEFT_TRY(copy_parts(eager, entry, parts));
    WEFT_TRY(trace_once(eager, entry));
    entry->function.file = NULL; /* of this call, not of others of its kind */
    size_t key_size = eager->key.count * sizeof(uint64_t);
    bool kept = weft_eager_kept_add(&eager->entries, eager->key.items, key_size, &entry->kept);
    return kept ? NULL : weft_status_out_of_memory();
}

weft_status *weft_eager_entry_acquire(weft_eager *eager, const weft_eager_function *function,
                                      weft_eager_arrays operands, size_t part_count, weft_eager_entry *const *parts,
                                      weft_eager_entry **out_entry)
{
    WEFT_TRY(fill_key(eager, function, operands));
    size_t key_size = eager->key.count * sizeof(uint64_t);
    weft_eager_kept_item *found = weft_eager_kept_find(&eager->entries, eager->key.items, key_size);
    if (found != NULL) {
        *out_entry = (weft_eager_entry *)found;
        return NULL;
    }
    weft_eager_entry *entry = weft_allocate(eager->allocator, sizeof *entry);
    if (entry == NULL) return weft_status_out_of_memory();
    *entry = (weft_eager_entry){
        .references = 1, .function = *function, .operand_count = operands.count, .part_count = part_count};
    entry->function.name = NULL;
    entry->function.options = NULL;
    weft_status *status = fill(eager, entry, function, operands, parts);
    if (status == NULL) *out_entry = entry;
    else weft_eager_entry_release(eager, entry);
    return status;
}

bool weft_eager_entry_trace(const weft_eager_entry *entry, weft_graph *graph, const weft_tensor *operands,
                            weft_tensor *out_results)
{
    entry->function.trace(graph, entry->function.options, operands, out_results);
    for (size_t i = 0; i < entry->function.result_count; i++) {
        if (!weft_tensor_is_valid(out_results[i]) || out_results[i].graph != graph) return false;
    }
    return true;
}
