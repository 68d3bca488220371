/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/node.h"
#include <string.h>

/* What `node` points to, in the memory of `clone`, whose nodes before it are there; false when out of memory. */
static bool own(weft_expr_context *clone, weft_expr_node *node)
{
    weft_arena *arena = &clone->arena;
    weft_expr_reading *readings = NULL;
    if (node->count > 0) node->terms = weft_arena_copy(arena, node->terms, node->count * sizeof *node->terms);
    if (node->words > 0) node->symbols = weft_arena_copy(arena, node->symbols, node->words * sizeof *node->symbols);
    if (node->name != NULL) node->name = weft_arena_string(arena, node->name, strlen(node->name));
    if (node->reading_count > 0)
        node->readings = readings = weft_arena_copy(arena, node->readings, node->reading_count * sizeof *readings);
    for (uint32_t i = 0; readings != NULL && i < node->reading_count; i++)
        readings[i].mod = clone->nodes[readings[i].mod->id];
    return (node->count == 0 || node->terms != NULL) && (node->words == 0 || node->symbols != NULL) &&
           (node->kind != WEFT_EXPR_SYMBOL || node->name != NULL) && (node->reading_count == 0 || readings != NULL);
}

/* Lets `node` be found: a symbol by its name, others by the list that they were made from (see weft_expr_begin). */
static bool enter(weft_expr_context *clone, weft_expr_node *node, weft_term *key)
{
    if (node->kind == WEFT_EXPR_SYMBOL) {
        clone->symbols[clone->symbol_count++] = node->id;
        return weft_map_insert(&clone->by_name, node->name, strlen(node->name), node);
    }
    key[0] = (weft_term){node->value, (uint64_t)node->kind};
    if (node->count > 0) memcpy(key + 1, node->terms, node->count * sizeof *key);
    return weft_map_insert(&clone->by_key, key, (node->count + 1) * sizeof *key, node);
}

/* Makes room for what `source` has, so that filling the clone needs the arena and the maps alone. */
static weft_expr_node *reserve(weft_expr_context *clone, const weft_expr_context *source, size_t most_terms)
{
    const weft_allocator *allocator = clone->allocator;
    bool fine =
        weft_reserve(allocator, &clone->nodes, &clone->capacity, source->count, sizeof *clone->nodes) &&
        weft_reserve(allocator, &clone->symbols, &clone->symbol_capacity, source->symbol_count + 1,
                     sizeof *clone->symbols) &&
        weft_reserve(allocator, &clone->scratch, &clone->scratch_capacity, most_terms + 1, sizeof *clone->scratch);
    return fine ? weft_arena_allocate(&clone->arena, source->count * sizeof(weft_expr_node)) : NULL;
}

static bool fill(weft_expr_context *clone, const weft_expr_context *source)
{
    size_t most_terms = 0;
    for (size_t i = 1; i < source->count; i++)
        if (source->nodes[i]->count > most_terms) most_terms = source->nodes[i]->count;
    weft_expr_node *nodes = reserve(clone, source, most_terms);
    if (nodes == NULL) return false;
    for (size_t i = 1; i < source->count; i++) clone->nodes[i] = &nodes[i];
    for (size_t i = 1; i < source->count; i++) {
        nodes[i] = *source->nodes[i];
        if (!own(clone, &nodes[i]) || !enter(clone, &nodes[i], clone->scratch)) return false;
    }
    clone->count = source->count;
    return true;
}

weft_status *weft_expr_context_clone(const weft_expr_context *exprs, weft_expr_context **out_clone)
{
    weft_expr_context *clone;
    WEFT_TRY(weft_expr_context_create(exprs->allocator, &clone));
    if (fill(clone, exprs)) {
        *out_clone = clone;
        return NULL;
    }
    weft_expr_context_destroy(clone);
    return weft_status_out_of_memory();
}
