/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/expr.h"

#include <string.h>

#include "lib/expr/internal.h"

weft_status *weft_expr_context_create(const weft_allocator *allocator, weft_expr_context **out_context)
{
    allocator = weft_allocator_or_default(allocator);
    weft_expr_context *extents = weft_allocate_zeroed(allocator, sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    extents->allocator = allocator;
    weft_arena_init(&extents->arena, allocator);
    weft_map_init(&extents->by_key, allocator);
    weft_map_init(&extents->by_name, allocator);
    extents->none = (weft_expr_node){.kind = WEFT_EXPR_CONSTANT, .min = INT64_MIN, .max = INT64_MAX, .divisor = 1};
    extents->count = 1;
    *out_context = extents;
    return NULL;
}

void weft_expr_context_destroy(weft_expr_context *extents)
{
    if (extents == NULL) return;
    const weft_allocator *allocator = extents->allocator;
    weft_map_finish(&extents->by_key, NULL);
    weft_map_finish(&extents->by_name, NULL);
    weft_arena_finish(&extents->arena);
    weft_free(allocator, extents->nodes, extents->capacity * sizeof *extents->nodes);
    weft_free(allocator, extents->symbols, extents->symbol_capacity * sizeof *extents->symbols);
    weft_free(allocator, extents->scratch, extents->scratch_capacity * sizeof *extents->scratch);
    weft_status_destroy(extents->error);
    weft_free(allocator, extents, sizeof *extents);
}

weft_status *weft_expr_context_take_error(weft_expr_context *extents)
{
    weft_status *error = extents->error;
    extents->error = NULL;
    return error;
}

weft_expr weft_expr_fail(weft_expr_context *extents, weft_code code, const char *format, ...)
{
    if (extents->error != NULL) return WEFT_EXPR_NONE;
    va_list arguments;
    va_start(arguments, format);
    extents->error = weft_status_create_v(extents->allocator, code, "extent", format, arguments);
    va_end(arguments);
    return WEFT_EXPR_NONE;
}

weft_expr weft_expr_overflow(weft_expr_context *extents)
{
    if (extents->speculating > 0) return WEFT_EXPR_NONE;
    return weft_expr_fail(extents, WEFT_OUT_OF_RANGE,
                          "an extent expression has a coefficient that does not fit in 64 bits");
}

weft_expr_node *weft_expr_node_of(const weft_expr_context *extents, weft_expr e)
{
    return e == WEFT_EXPR_NONE ? (weft_expr_node *)&extents->none : extents->nodes[e];
}

weft_expr_view weft_expr_view_of(const weft_expr_context *extents, weft_expr e)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    if (node->kind == WEFT_EXPR_CONSTANT) return (weft_expr_view){node->value, NULL, 0};
    if (node->kind == WEFT_EXPR_SUM) return (weft_expr_view){node->value, node->terms, node->count};
    return (weft_expr_view){0, &node->self, 1};
}

bool weft_expr_is_point(const weft_expr_node *node)
{
    if (node->kind == WEFT_EXPR_CONSTANT) return node->id != WEFT_EXPR_NONE;
    return node->min == node->max && node->min != INT64_MIN && node->max != INT64_MAX;
}

bool weft_expr_is_choice(const weft_expr_node *node)
{
    return node->kind == WEFT_EXPR_MIN || node->kind == WEFT_EXPR_MAX;
}

/* ---- reading ---- */

weft_expr weft_expr_find(const weft_expr_context *extents, const char *name)
{
    const weft_expr_node *node = weft_map_find(&extents->by_name, name, strlen(name));
    return node == NULL ? WEFT_EXPR_NONE : node->id;
}

size_t weft_expr_context_symbol_count(const weft_expr_context *extents)
{
    return extents->symbol_count;
}

weft_expr weft_expr_context_symbol(const weft_expr_context *extents, size_t i)
{
    return i < extents->symbol_count ? extents->symbols[i] : WEFT_EXPR_NONE;
}

weft_expr_kind weft_expr_kind_of(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->kind;
}

bool weft_expr_is_constant(const weft_expr_context *extents, weft_expr e, int64_t *out_value)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    if (!weft_expr_is_point(node)) return false;
    if (out_value != NULL) *out_value = node->min;
    return true;
}

const char *weft_expr_name(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->name;
}

weft_expr weft_expr_bound(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->bound;
}

int64_t weft_expr_offset(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_view_of(extents, e).offset;
}

size_t weft_expr_arity(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->count;
}

weft_expr weft_expr_operand(const weft_expr_context *extents, weft_expr e, size_t i)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    return i < node->count ? (weft_expr)node->terms[i].expr : WEFT_EXPR_NONE;
}

int64_t weft_expr_coefficient_of(const weft_expr_context *extents, weft_expr e, size_t i)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    return i < node->count ? node->terms[i].coefficient : 0;
}

void weft_expr_range(const weft_expr_context *extents, weft_expr e, int64_t *out_min, int64_t *out_max)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    *out_min = node->min;
    *out_max = node->max;
}

bool weft_expr_is_total(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->total;
}

int64_t weft_expr_divisor(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->divisor;
}

uint32_t weft_expr_parts(const weft_expr_context *extents, weft_expr e)
{
    return weft_expr_node_of(extents, e)->parts;
}

bool weft_expr_uses(const weft_expr_context *extents, weft_expr e, weft_expr symbol)
{
    const weft_expr_node *node = weft_expr_node_of(extents, e);
    const weft_expr_node *leaf = weft_expr_node_of(extents, symbol);
    if (leaf->kind != WEFT_EXPR_SYMBOL || leaf->symbol / 64 >= node->words) return false;
    return (node->symbols[leaf->symbol / 64] >> (leaf->symbol % 64) & 1) != 0;
}
