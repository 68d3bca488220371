/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/expr.h"

#include <string.h>

#include "lib/expr/node.h"

weft_status *weft_expr_context_create(const weft_allocator *allocator, weft_expr_context **out_context)
{
    allocator = weft_allocator_or_default(allocator);
    weft_expr_context *exprs = weft_allocate_zeroed(allocator, sizeof *exprs);
    if (exprs == NULL) return weft_status_out_of_memory();
    exprs->allocator = allocator;
    weft_arena_init(&exprs->arena, allocator);
    weft_map_init(&exprs->by_key, allocator);
    weft_map_init(&exprs->by_name, allocator);
    exprs->none = (weft_expr_node){.kind = WEFT_EXPR_CONSTANT, .min = INT64_MIN, .max = INT64_MAX, .divisor = 1};
    exprs->count = 1;
    *out_context = exprs;
    return NULL;
}

void weft_expr_context_destroy(weft_expr_context *exprs)
{
    if (exprs == NULL) return;
    const weft_allocator *allocator = exprs->allocator;
    weft_map_finish(&exprs->by_key, NULL);
    weft_map_finish(&exprs->by_name, NULL);
    weft_arena_finish(&exprs->arena);
    weft_free(allocator, exprs->nodes, exprs->capacity * sizeof *exprs->nodes);
    weft_free(allocator, exprs->symbols, exprs->symbol_capacity * sizeof *exprs->symbols);
    weft_free(allocator, exprs->scratch, exprs->scratch_capacity * sizeof *exprs->scratch);
    weft_status_destroy(exprs->error);
    weft_free(allocator, exprs, sizeof *exprs);
}

weft_status *weft_expr_context_take_error(weft_expr_context *exprs)
{
    weft_status *error = exprs->error;
    exprs->error = NULL;
    return error;
}

weft_status *weft_expr_context_take_out_of_memory(weft_expr_context *exprs)
{
    weft_status *error = weft_expr_context_take_error(exprs);
    if (weft_status_code(error) == WEFT_OUT_OF_MEMORY) return error;
    weft_status_destroy(error);
    return NULL;
}

weft_expr weft_expr_fail(weft_expr_context *exprs, weft_code code, const char *format, ...)
{
    if (exprs->error != NULL) return WEFT_EXPR_NONE;
    va_list arguments;
    va_start(arguments, format);
    exprs->error = weft_status_create_v(exprs->allocator, code, NULL, format, arguments);
    va_end(arguments);
    return WEFT_EXPR_NONE;
}

weft_expr weft_expr_overflow(weft_expr_context *exprs)
{
    if (exprs->speculating > 0) return WEFT_EXPR_NONE;
    return weft_expr_fail(exprs, WEFT_OUT_OF_RANGE, "a size, a stride or an offset does not fit in 64 bits");
}

weft_expr_node *weft_expr_node_of(const weft_expr_context *exprs, weft_expr e)
{
    return e == WEFT_EXPR_NONE ? (weft_expr_node *)&exprs->none : exprs->nodes[e];
}

weft_expr_view weft_expr_view_of(const weft_expr_context *exprs, weft_expr e)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
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

weft_expr weft_expr_find(const weft_expr_context *exprs, const char *name)
{
    const weft_expr_node *node = weft_map_find(&exprs->by_name, name, strlen(name));
    return node == NULL ? WEFT_EXPR_NONE : node->id;
}

size_t weft_expr_context_symbol_count(const weft_expr_context *exprs)
{
    return exprs->symbol_count;
}

weft_expr weft_expr_context_symbol(const weft_expr_context *exprs, size_t i)
{
    return i < exprs->symbol_count ? exprs->symbols[i] : WEFT_EXPR_NONE;
}

weft_expr_kind weft_expr_kind_of(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->kind;
}

bool weft_expr_is_constant(const weft_expr_context *exprs, weft_expr e, int64_t *out_value)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    if (!weft_expr_is_point(node)) return false;
    if (out_value != NULL) *out_value = node->min;
    return true;
}

const char *weft_expr_name(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->name;
}

weft_expr weft_expr_bound(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->bound;
}

int64_t weft_expr_offset(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_view_of(exprs, e).offset;
}

size_t weft_expr_arity(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->count;
}

weft_expr weft_expr_operand(const weft_expr_context *exprs, weft_expr e, size_t i)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    return i < node->count ? (weft_expr)node->terms[i].expr : WEFT_EXPR_NONE;
}

int64_t weft_expr_coefficient_of(const weft_expr_context *exprs, weft_expr e, size_t i)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    return i < node->count ? node->terms[i].coefficient : 0;
}

void weft_expr_range(const weft_expr_context *exprs, weft_expr e, int64_t *out_min, int64_t *out_max)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    *out_min = node->min;
    *out_max = node->max;
}

bool weft_expr_is_total(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->total;
}

int64_t weft_expr_divisor(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->divisor;
}

uint32_t weft_expr_parts(const weft_expr_context *exprs, weft_expr e)
{
    return weft_expr_node_of(exprs, e)->parts;
}

bool weft_expr_uses(const weft_expr_context *exprs, weft_expr e, weft_expr symbol)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, e);
    const weft_expr_node *leaf = weft_expr_node_of(exprs, symbol);
    if (leaf->kind != WEFT_EXPR_SYMBOL || leaf->symbol / 64 >= node->words) return false;
    return (node->symbols[leaf->symbol / 64] >> (leaf->symbol % 64) & 1) != 0;
}
