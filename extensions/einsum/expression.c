/* SPDX-License-Identifier: Apache-2.0 */
#include "expression.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- policies ---- */

static const char *const policy_names[] = {"auto", "left", "path"};
enum { POLICY_COUNT = sizeof policy_names / sizeof *policy_names };

const char *einsum_policy_name(const einsum_policy *policy)
{
    return policy_names[policy->kind];
}

static weft_status *check_name(const einsum_arena *arena, const char *name, unsigned kind)
{
    if (kind < POLICY_COUNT) return NULL;
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: order \"%s\" is not one of auto, left, path", name);
}

weft_status *einsum_policy_parse(const einsum_arena *arena, const char *name, weft_ints path, weft_ints sliced,
                                 const char *planner, einsum_policy *out_policy)
{
    unsigned kind = 0;
    while (kind < POLICY_COUNT && strcmp(policy_names[kind], name) != 0) kind++;
    WEFT_TRY(check_name(arena, name, kind));
    out_policy->kind = kind;
    out_policy->path = path;
    out_policy->sliced = sliced;
    WEFT_TRY(einsum_planner_parse(arena, planner, &out_policy->planner));
    if (kind != EINSUM_POLICY_PATH && path.count > 0) {
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                                  "einsum: a path requires order \"path\", not \"%s\"", name);
    }
    if (kind == EINSUM_POLICY_AUTO && sliced.count > 0)
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                                  "einsum: sliced labels require a given order, not \"auto\"");
    if (kind == EINSUM_POLICY_AUTO || *planner == '\0') return NULL;
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: the planner \"%.100s\" requires order \"auto\", not \"%s\"", planner, name);
}

bool einsum_policy_needs_extents(const einsum_policy *policy, size_t operand_count)
{
    bool planned = operand_count > 2 || (operand_count > 1 && policy->planner.limit > 0);
    return (policy->kind == EINSUM_POLICY_AUTO && planned) || policy->sliced.count > 0;
}

bool einsum_policy_has_limit(const einsum_policy *policy)
{
    return policy->kind == EINSUM_POLICY_AUTO && policy->planner.limit > 0;
}

/* ---- steps ---- */

void einsum_expression_init(einsum_expression *expression, const weft_allocator *allocator)
{
    *expression = (einsum_expression){.pairs = NULL};
    einsum_arena_init(&expression->arena, allocator);
}

void einsum_expression_finish(einsum_expression *expression)
{
    einsum_arena_finish(&expression->arena);
}

weft_status *einsum_expression_parse(einsum_expression *expression, const char *text, bool nested)
{
    if (text != NULL) return einsum_syntax_parse(&expression->arena, text, nested, &expression->syntax);
    return weft_status_create(expression->arena.allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: the expression is NULL");
}

weft_status *einsum_expression_bind(einsum_expression *expression, size_t operand_count, const weft_shape *shapes,
                                    weft_graph *graph)
{
    einsum_arena *arena = &expression->arena;
    if (operand_count == 0) {
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                                  "einsum: no operands are given; an expression needs at least one");
    }
    size_t *ranks = einsum_arena_allocate(arena, operand_count, sizeof *ranks);
    if (ranks == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operand_count; i++) ranks[i] = shapes[i].rank;
    WEFT_TRY(einsum_network_create(arena, &expression->syntax, operand_count, ranks, &expression->network));
    expression->shapes = shapes;
    expression->extents = einsum_arena_allocate(arena, expression->network.label_count, sizeof *expression->extents);
    if (expression->extents == NULL) return weft_status_out_of_memory();
    return einsum_network_extents(arena, &expression->network, shapes, graph, expression->extents);
}

bool einsum_expression_is_static(const einsum_expression *expression)
{
    for (size_t i = 0; i < expression->network.operand_count; i++)
        for (size_t axis = 0; axis < expression->shapes[i].rank; axis++)
            if (!weft_extent_is_static(expression->shapes[i].extents[axis], NULL)) return false;
    return true;
}

static bool is_empty(weft_extent extent)
{
    int64_t value;
    return weft_extent_is_static(extent, &value) && value == 0;
}

bool einsum_expression_is_empty(const einsum_expression *expression)
{
    for (size_t i = 0; i < expression->network.label_count; i++)
        if (is_empty(expression->extents[i])) return true;
    return false;
}

/* ---- reducing ---- */

/* `labels`, each once, without those that `keep` is not set for. */
static bool filter(einsum_arena *arena, einsum_labels labels, const bool *keep, bool *seen, einsum_labels *out_labels)
{
    *out_labels = (einsum_labels){0, einsum_arena_allocate(arena, labels.count, sizeof *out_labels->items)};
    if (out_labels->items == NULL) return false;
    for (size_t i = 0; i < labels.count; i++) {
        uint32_t label = labels.items[i];
        if (keep[label] && !seen[label]) out_labels->items[out_labels->count++] = label;
        seen[label] = true;
    }
    for (size_t i = 0; i < labels.count; i++) seen[labels.items[i]] = false;
    return true;
}

/* Takes labels of extent one out of operand `i`: where the extent is larger elsewhere, it broadcasts. */
static bool drop_ones(einsum_expression *x, size_t i, bool *keep, bool *seen, einsum_labels *out_labels)
{
    einsum_labels labels = x->network.operands[i];
    for (size_t k = 0; k < labels.count; k++) keep[labels.items[k]] = true;
    for (size_t k = 0; k < labels.count; k++)
        if (einsum_extent_is_one(x->shapes[i].extents[k])) keep[labels.items[k]] = false;
    return filter(&x->arena, labels, keep, seen, out_labels);
}

static void fill_sizes(const einsum_expression *x, double *out_log2_extents)
{
    bool empty = einsum_expression_is_empty(x);
    for (size_t i = 0; i < x->network.label_count; i++) {
        int64_t value;
        bool large = !empty && weft_extent_is_static(x->extents[i], &value) && value > 1;
        out_log2_extents[i] = large ? log2((double)value) : 0;
    }
}

/* Private labels, in one operand and not in the output, are summed before the operand goes into a step. */
static bool drop_private(einsum_expression *x, einsum_labels *operands, bool *keep, bool *seen)
{
    size_t count = x->network.label_count;
    uint32_t *uses = einsum_arena_allocate(&x->arena, count, sizeof *uses);
    bool *summed = einsum_arena_allocate(&x->arena, x->problem.operand_count, sizeof *summed);
    if (uses == NULL || summed == NULL) return false;
    for (size_t i = 0; i < x->problem.operand_count; i++)
        for (size_t k = 0; k < operands[i].count; k++) uses[operands[i].items[k]]++;
    for (size_t k = 0; k < x->problem.output.count; k++) uses[x->problem.output.items[k]]++;
    for (size_t i = 0; i < count; i++) keep[i] = uses[i] > 1;
    for (size_t i = 0; i < x->problem.operand_count; i++) {
        size_t labels = operands[i].count;
        if (!filter(&x->arena, operands[i], keep, seen, &operands[i])) return false;
        summed[i] = operands[i].count < labels;
    }
    x->problem.summed = summed;
    return true;
}

weft_status *einsum_expression_reduce(einsum_expression *expression)
{
    einsum_arena *arena = &expression->arena;
    const einsum_network *network = &expression->network;
    double *log2_extents = einsum_arena_allocate(arena, network->label_count, sizeof *log2_extents);
    bool *keep = einsum_arena_allocate(arena, network->label_count, sizeof *keep);
    bool *seen = einsum_arena_allocate(arena, network->label_count, sizeof *seen);
    einsum_labels *operands = einsum_arena_allocate(arena, network->operand_count, sizeof *operands);
    if (log2_extents == NULL || keep == NULL || seen == NULL || operands == NULL) return weft_status_out_of_memory();
    fill_sizes(expression, log2_extents);
    expression->problem = (einsum_problem){.operand_count = network->operand_count,
                                           .operands = operands,
                                           .label_count = network->label_count,
                                           .log2_extents = log2_extents};
    for (size_t i = 0; i < network->operand_count; i++)
        if (!drop_ones(expression, i, keep, seen, &operands[i])) return weft_status_out_of_memory();
    for (size_t i = 0; i < network->label_count; i++) keep[i] = !einsum_extent_is_one(expression->extents[i]);
    bool well = filter(arena, network->output, keep, seen, &expression->problem.output) &&
                drop_private(expression, operands, keep, seen);
    return well ? NULL : weft_status_out_of_memory();
}

/* ---- ordering ---- */

enum { LAST_CODE_POINT = 0x10ffff };

static weft_status *fill_pairs(einsum_expression *x, const einsum_policy *policy, weft_dtype dtype)
{
    size_t count = x->network.operand_count;
    x->pairs = einsum_arena_allocate(&x->arena, count, sizeof *x->pairs);
    if (x->pairs == NULL) return weft_status_out_of_memory();
    switch (policy->kind) {
    case EINSUM_POLICY_AUTO:
        if (!einsum_expression_is_empty(x))
            return einsum_plan_find(&x->arena, &x->problem, &policy->planner, dtype, x->pairs, &x->sliced);
        einsum_order_left(count, x->pairs);
        return NULL;
    case EINSUM_POLICY_LEFT: einsum_order_left(count, x->pairs); return NULL;
    case EINSUM_POLICY_PATH: return einsum_order_from_path(&x->arena, count, policy->path, x->pairs);
    }
    return NULL;
}

static weft_status *wrong_label(const einsum_expression *x, int64_t name, const char *fault)
{
    char text[EINSUM_LABEL_SIZE] = "";
    bool numbered = x->network.numbered && name >= 0, named = name < 0 || (name > ' ' && name <= LAST_CODE_POINT);
    if (!numbered && named) einsum_label_print(false, name, text);
    return weft_status_create(x->arena.allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: sliced label %" PRId64 "%s%s%s %s%s", name, *text == '\0' ? "" : " (", text,
                              *text == '\0' ? "" : ")", fault,
                              numbered || named ? "" : ", whose labels are code points");
}

static void mark(einsum_labels labels, bool *marks)
{
    for (size_t i = 0; i < labels.count; i++) marks[labels.items[i]] = true;
}

/* Labels of extent one, and private ones, are no labels of the problem: there is nothing to slice, as there is not
 * where an extent is zero. */
static weft_status *fill_sliced(einsum_expression *x, weft_ints names)
{
    const einsum_network *network = &x->network;
    bool empty = einsum_expression_is_empty(x);
    bool *seen = einsum_arena_allocate(&x->arena, network->label_count, sizeof *seen);
    bool *joined = einsum_arena_allocate(&x->arena, network->label_count, sizeof *joined);
    x->sliced = (einsum_labels){0, einsum_arena_allocate(&x->arena, names.count, sizeof *x->sliced.items)};
    if (seen == NULL || joined == NULL || x->sliced.items == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < x->problem.operand_count; i++) mark(x->problem.operands[i], joined);
    for (size_t i = 0; i < names.count; i++) {
        uint32_t label = 0;
        while (label < network->label_count && network->names[label] != names.items[i]) label++;
        if (label == network->label_count) return wrong_label(x, names.items[i], "is not a label of the expression");
        if (seen[label]) return wrong_label(x, names.items[i], "is named twice");
        seen[label] = true;
        if (joined[label] && !empty) x->sliced.items[x->sliced.count++] = label;
    }
    return NULL;
}

weft_status *einsum_expression_order(einsum_expression *expression, const einsum_policy *policy, weft_dtype dtype)
{
    WEFT_TRY(fill_pairs(expression, policy, dtype));
    return policy->kind == EINSUM_POLICY_AUTO ? NULL : fill_sliced(expression, policy->sliced);
}
