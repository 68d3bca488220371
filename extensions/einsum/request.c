/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"
#include <inttypes.h>
#include <string.h>

/* `options` as this version knows them: what an older caller's shorter struct lacks is zero. */
static weft_einsum_options options_of(const weft_einsum_options *options)
{
    weft_einsum_options known = {.size = sizeof known};
    if (options == NULL) return known;
    memcpy(&known, options, options->size == 0 || options->size > sizeof known ? sizeof known : options->size);
    return known;
}

static weft_status *check_options(const einsum_arena *arena, const weft_einsum_options *options)
{
    const char *fault = NULL;
    bool path = options->order == WEFT_EINSUM_PATH || options->order == WEFT_EINSUM_SSA;
    if ((unsigned)options->order > WEFT_EINSUM_SSA) fault = "order is not a weft_einsum_order";
    else if (options->order == WEFT_EINSUM_TREE && options->tree == NULL) fault = "order TREE needs a tree";
    else if (options->order != WEFT_EINSUM_TREE && options->tree != NULL) fault = "a tree requires order TREE";
    else if (options->order != WEFT_EINSUM_NESTED && options->nested != NULL) fault = "nested requires order NESTED";
    else if (!path && options->path.count > 0) fault = "a path requires order PATH or SSA";
    else if (options->sliced.count > 0 && (options->order == WEFT_EINSUM_AUTO || options->order == WEFT_EINSUM_TREE))
        fault = "sliced labels require a given order, not AUTO or TREE";
    else if (options->memory_limit > 0 && options->order != WEFT_EINSUM_AUTO)
        fault = "a memory limit requires order AUTO; a tree planned with one keeps its slices";
    else if (options->sliced.count > 0 && options->sliced.items == NULL)
        fault = "sliced is NULL, but its count is not 0";
    else if ((unsigned)options->dtype >= WEFT_DTYPE_COUNT) fault = "dtype is not a weft_dtype";
    else if (options->path.count > 0 && options->path.items == NULL) fault = "the path is NULL, but its count is not 0";
    if (fault == NULL) return NULL;
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum", "einsum: %s", fault);
}

/* ---- trees ---- */

static weft_status *wrong_tree(const einsum_expression *x, const weft_einsum_plan *tree, const char *equation)
{
    return weft_status_create(x->arena.allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: the tree was planned for \"%.200s\" but the expression is \"%.200s\"",
                              tree->equation, equation);
}

static weft_status *wrong_extent(const einsum_expression *x, size_t operand, size_t axis, weft_extent planned)
{
    char was[64], is[64];
    weft_extent_print(planned, was, sizeof was);
    weft_extent_print(x->shapes[operand].extents[axis], is, sizeof is);
    return weft_status_create(
        x->arena.allocator, WEFT_SHAPE_MISMATCH, "weft_einsum",
        "einsum: the tree was planned for extent %s at axis %zu of operand %zu, which is %s; a tree fits "
        "the extents it was planned for only",
        was, axis, operand, is);
}

static weft_status *check_tree(const einsum_expression *x, const weft_einsum_plan *tree, const char *equation)
{
    const einsum_expression *planned = &tree->expression;
    if (strcmp(tree->equation, equation) != 0 || planned->network.operand_count != x->network.operand_count)
        return wrong_tree(x, tree, equation);
    for (size_t i = 0; i < x->network.operand_count; i++) {
        if (planned->shapes[i].rank != x->shapes[i].rank) return wrong_tree(x, tree, equation);
        for (size_t axis = 0; axis < x->shapes[i].rank; axis++)
            if (!weft_extent_equal(planned->shapes[i].extents[axis], x->shapes[i].extents[axis]))
                return wrong_extent(x, i, axis, planned->shapes[i].extents[axis]);
    }
    return NULL;
}

/* ---- policies ---- */

static weft_status *keep_pairs(einsum_expression *x, const einsum_pair *pairs, einsum_policy *out_policy)
{
    size_t count = x->network.operand_count;
    int64_t *path = einsum_arena_allocate(&x->arena, 2 * count, sizeof *path);
    if (path == NULL) return weft_status_out_of_memory();
    *out_policy = (einsum_policy){.kind = EINSUM_POLICY_PATH, .path = {2 * (count - 1), path}};
    return einsum_order_to_path(&x->arena, count, pairs, path);
}

static weft_status *nested_policy(einsum_expression *x, const weft_einsum_options *options, einsum_policy *out_policy)
{
    if (options->nested == NULL) return keep_pairs(x, x->syntax.pairs, out_policy);
    einsum_pair *pairs = einsum_arena_allocate(&x->arena, x->network.operand_count, sizeof *pairs);
    if (pairs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(einsum_syntax_parse_nested(&x->arena, options->nested, x->network.operand_count, pairs));
    return keep_pairs(x, pairs, out_policy);
}

/* Checked here so that the error comes where the caller is; the pairs are worked out again when they are needed. */
static weft_status *path_policy(einsum_expression *x, weft_ints path, einsum_policy *out_policy)
{
    einsum_pair *pairs = einsum_arena_allocate(&x->arena, x->network.operand_count, sizeof *pairs);
    if (pairs == NULL) return weft_status_out_of_memory();
    *out_policy = (einsum_policy){.kind = EINSUM_POLICY_PATH, .path = path};
    return einsum_order_from_path(&x->arena, x->network.operand_count, path, pairs);
}

static weft_status *ssa_policy(einsum_expression *x, weft_ints values, einsum_policy *out_policy)
{
    einsum_pair *pairs = einsum_arena_allocate(&x->arena, x->network.operand_count, sizeof *pairs);
    if (pairs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(einsum_order_from_values(&x->arena, x->network.operand_count, values, pairs));
    return keep_pairs(x, pairs, out_policy);
}

static weft_status *find_order(einsum_expression *x, const weft_einsum_options *options, const char *equation,
                               einsum_policy *out_policy)
{
    switch (options->order) {
    case WEFT_EINSUM_LEFT: *out_policy = (einsum_policy){.kind = EINSUM_POLICY_LEFT}; break;
    case WEFT_EINSUM_PATH: return path_policy(x, options->path, out_policy);
    case WEFT_EINSUM_SSA: return ssa_policy(x, options->path, out_policy);
    case WEFT_EINSUM_NESTED: return nested_policy(x, options, out_policy);
    case WEFT_EINSUM_TREE:
        *out_policy = (einsum_policy){.kind = EINSUM_POLICY_PATH, .path = options->tree->path};
        return check_tree(x, options->tree, equation);
    case WEFT_EINSUM_AUTO: return einsum_planner_from_options(&x->arena, options, &out_policy->planner);
    }
    return NULL;
}

static weft_status *find_policy(einsum_expression *x, const weft_einsum_options *options, const char *equation,
                                einsum_policy *out_policy)
{
    WEFT_TRY(find_order(x, options, equation, out_policy));
    out_policy->sliced = options->order == WEFT_EINSUM_TREE ? options->tree->sliced : options->sliced;
    return NULL;
}

weft_status *einsum_request_check(const einsum_arena *arena, const weft_einsum_options *options,
                                  weft_einsum_options *out_known)
{
    *out_known = options_of(options);
    return check_options(arena, out_known);
}

weft_status *einsum_request_print_planner(einsum_arena *arena, const weft_einsum_options *known, const char **out_text)
{
    einsum_planner planner;
    einsum_text text;
    *out_text = "";
    if (known->order != WEFT_EINSUM_AUTO) return NULL;
    WEFT_TRY(einsum_planner_from_options(arena, known, &planner));
    if (einsum_planner_is_default(&planner)) return NULL;
    einsum_text_init(&text, arena);
    einsum_planner_print(&planner, &text);
    *out_text = text.data;
    return text.failed ? weft_status_out_of_memory() : NULL;
}

weft_status *einsum_request_fill(einsum_expression *expression, const char *text, size_t operand_count,
                                 const weft_shape *shapes, const weft_einsum_options *options,
                                 einsum_request *out_request)
{
    weft_einsum_options known;
    WEFT_TRY(einsum_request_check(&expression->arena, options, &known));
    bool parentheses = known.order == WEFT_EINSUM_NESTED && known.nested == NULL;
    WEFT_TRY(einsum_expression_parse(expression, text, parentheses));
    WEFT_TRY(einsum_expression_bind(expression, operand_count, shapes, NULL));
    einsum_text equation;
    einsum_text_init(&equation, &expression->arena);
    einsum_syntax_print(&expression->syntax, &equation);
    if (equation.failed) return weft_status_out_of_memory();
    *out_request =
        (einsum_request){.equation = equation.data, .dtype = known.dtype == WEFT_BOOL ? WEFT_F32 : known.dtype};
    WEFT_TRY(find_policy(expression, &known, equation.data, &out_request->policy));
    return einsum_request_print_planner(&expression->arena, &known, &out_request->planner);
}
