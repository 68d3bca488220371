/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols and loop variables: their names and declarations. */
#include <inttypes.h>
#include <string.h>
#include "lib/expr/node.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_symbol_name(const char *name)
{
    if (!is_letter(name[0])) return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9') && *c != '.') return false;
    return strcmp(name, "mod") != 0 && strcmp(name, "min") != 0 && strcmp(name, "max") != 0;
}

static bool check_name(weft_expr_context *exprs, const char *name)
{
    if (name != NULL && is_symbol_name(name)) return true;
    weft_expr_fail(
        exprs, WEFT_INVALID_ARGUMENT,
        "'%s' is not a symbol name: it takes letters, digits and '_', no digit first, and not mod, min or max",
        name == NULL ? "(null)" : name);
    return false;
}

/* "a symbol in [1, 4]" or "a loop variable below n". */
static void describe(const weft_expr_context *exprs, const weft_expr_node *node, weft_bytes *text)
{
    if (node->bound != WEFT_EXPR_NONE) {
        weft_bytes_print(text, "a loop variable below ");
        weft_expr_print(exprs, node->bound, text);
    } else {
        weft_bytes_print(text, "a symbol in [%" PRId64 ", %" PRId64 "]", node->min, node->max);
    }
}

static weft_expr fail_redeclared(weft_expr_context *exprs, weft_expr old, weft_expr_node wanted)
{
    const weft_expr_node *node = weft_expr_node_of(exprs, old);
    weft_bytes text;
    weft_bytes_init(&text, exprs->allocator);
    weft_bytes_print(&text, "'%s' is declared as ", node->name);
    describe(exprs, &wanted, &text);
    weft_bytes_print(&text, ", but is already declared as ");
    describe(exprs, node, &text);
    if (text.failed) weft_expr_fail(exprs, WEFT_OUT_OF_MEMORY, "out of memory");
    else weft_expr_fail(exprs, WEFT_INVALID_ARGUMENT, "%s", text.data);
    weft_bytes_finish(&text);
    return WEFT_EXPR_NONE;
}

static weft_expr declare(weft_expr_context *exprs, const char *name, int64_t min, int64_t max, weft_expr bound)
{
    weft_expr old = weft_expr_find(exprs, name);
    if (old == WEFT_EXPR_NONE) return weft_expr_add_symbol(exprs, name, min, max, bound);
    const weft_expr_node *node = weft_expr_node_of(exprs, old);
    if (node->min == min && node->max == max && node->bound == bound) return old;
    return fail_redeclared(exprs, old, (weft_expr_node){.min = min, .max = max, .bound = bound});
}

weft_expr weft_expr_symbol(weft_expr_context *exprs, const char *name, int64_t min, int64_t max)
{
    if (!check_name(exprs, name)) return WEFT_EXPR_NONE;
    if (min > max)
        return weft_expr_fail(exprs, WEFT_INVALID_ARGUMENT,
                              "symbol '%s' has the range [%" PRId64 ", %" PRId64 "], which is empty", name, min, max);
    return declare(exprs, name, min, max, WEFT_EXPR_NONE);
}

weft_expr weft_expr_variable(weft_expr_context *exprs, const char *name, weft_expr extent)
{
    if (extent == WEFT_EXPR_NONE || !check_name(exprs, name)) return WEFT_EXPR_NONE;
    int64_t least = weft_expr_node_of(exprs, extent)->min, most = weft_expr_node_of(exprs, extent)->max;
    /* Were its only value 0, it would turn into that, and a range that may be empty could not be told from one of 1. */
    int64_t max = most == INT64_MAX ? INT64_MAX : most > 1 || least == 1 ? most - 1 : 1;
    weft_expr variable = declare(exprs, name, 0, max, extent);
    if (variable == WEFT_EXPR_NONE) return variable;
    exprs->speculating++;
    weft_expr_node_of(exprs, variable)->last = weft_expr_sub(exprs, extent, weft_expr_constant(exprs, 1));
    exprs->speculating--;
    return variable;
}
