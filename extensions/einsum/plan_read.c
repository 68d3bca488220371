/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan tells its caller. */
#include "plain.h"
#include "request.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

EINSUM_PLAIN_FUNCTION(double, weft_einsum_plan_seconds, (const weft_einsum_plan *plan), (plan))
{
    return exp2(plan->log2_seconds);
}

EINSUM_PLAIN_FUNCTION(double, weft_einsum_plan_log10_seconds, (const weft_einsum_plan *plan), (plan))
{
    return plan->log2_seconds * log10(2);
}

double weft_einsum_plan_log10_flops(const weft_einsum_plan *plan)
{
    return plan->log10_flops;
}

double weft_einsum_plan_log2_size(const weft_einsum_plan *plan)
{
    return plan->log2_size;
}

double weft_einsum_plan_log2_peak(const weft_einsum_plan *plan)
{
    return plan->log2_peak;
}

double weft_einsum_plan_log10_overhead(const weft_einsum_plan *plan)
{
    return plan->log10_overhead;
}

const char *weft_einsum_plan_order(const weft_einsum_plan *plan)
{
    return plan->order;
}

weft_ints weft_einsum_plan_path(const weft_einsum_plan *plan)
{
    return plan->path;
}

weft_ints weft_einsum_plan_shape(const weft_einsum_plan *plan)
{
    return plan->shape;
}

weft_ints weft_einsum_plan_sliced(const weft_einsum_plan *plan)
{
    return plan->sliced;
}

const char *weft_einsum_plan_equation(const weft_einsum_plan *plan)
{
    return plan->equation;
}

weft_ints weft_einsum_plan_ssa(const weft_einsum_plan *plan)
{
    return plan->ssa;
}

const char *weft_einsum_plan_nested(const weft_einsum_plan *plan)
{
    return plan->nested;
}

size_t weft_einsum_plan_operand_count(const weft_einsum_plan *plan)
{
    return plan->expression.problem.operand_count;
}

size_t weft_einsum_plan_label_count(const weft_einsum_plan *plan)
{
    const einsum_problem *problem = &plan->expression.problem;
    size_t count = 0;
    for (size_t i = 0; i < problem->label_count; i++) count += problem->log2_extents[i] > 0;
    return count;
}

EINSUM_PLAIN_FUNCTION(double, weft_einsum_plan_log2_points, (const weft_einsum_plan *plan), (plan))
{
    const einsum_problem *problem = &plan->expression.problem;
    double points = 0;
    for (size_t i = 0; i < problem->label_count; i++) points += problem->log2_extents[i];
    return points;
}

/* ---- values ---- */

/* Whether a step makes it. */
static bool is_result(const weft_einsum_plan *plan, size_t value)
{
    size_t operands = plan->expression.problem.operand_count;
    return value >= operands && value - operands < operands - 1;
}

/* Of a value; none of one that the plan does not have. */
static einsum_labels labels_of(const weft_einsum_plan *plan, size_t value)
{
    bool known = value < plan->expression.problem.operand_count || is_result(plan, value);
    return known ? plan->values[value] : (einsum_labels){0, NULL};
}

static double size_of(const einsum_problem *problem, einsum_labels labels)
{
    double size = 0;
    for (size_t i = 0; i < labels.count; i++) size += problem->log2_extents[labels.items[i]];
    return size;
}

/* log2 of the multiplications of the whole step. */
static double work_of(const weft_einsum_plan *plan, einsum_pair pair)
{
    const einsum_problem *problem = &plan->expression.problem;
    einsum_labels a = plan->values[pair.a], b = plan->values[pair.b];
    double work = size_of(problem, a);
    for (size_t i = 0; i < b.count; i++)
        if (!einsum_labels_have(a, b.items[i])) work += problem->log2_extents[b.items[i]];
    return work;
}

/* Whether the step of `value` does sliced label number `i` one element at a time. */
static bool is_sliced(const weft_einsum_plan *plan, size_t value, size_t i)
{
    size_t operands = plan->expression.problem.operand_count;
    if (!is_result(plan, value) || !plan->slices.inside[value]) return false;
    einsum_pair pair = plan->expression.pairs[value - operands];
    uint32_t label = plan->expression.sliced.items[i];
    return einsum_labels_have(plan->values[pair.a], label) || einsum_labels_have(plan->values[pair.b], label);
}

static size_t open_labels(const einsum_expression *x, einsum_labels labels)
{
    size_t count = 0;
    for (size_t i = 0; i < labels.count; i++) count += !weft_extent_is_static(x->extents[labels.items[i]], NULL);
    return count;
}

EINSUM_PLAIN_FUNCTION(weft_einsum_value, weft_einsum_plan_value, (const weft_einsum_plan *plan, size_t value),
                      (plan, value))
{
    const einsum_expression *x = &plan->expression;
    size_t operands = x->problem.operand_count;
    einsum_labels labels = labels_of(plan, value);
    weft_einsum_value result = {.rank = labels.count, .open = open_labels(x, labels)};
    einsum_step step = {.result = size_of(&x->problem, labels)};
    result.log2_size = step.result;
    if (!is_result(plan, value)) return result;
    einsum_pair pair = x->pairs[value - operands];
    step.work = work_of(plan, pair);
    step = einsum_slices_step(&plan->slices, value, step);
    for (size_t i = 0; i < x->sliced.count; i++) result.sliced += is_sliced(plan, value, i);
    double iterations = plan->slices.inside[value] ? einsum_slices_iterations(&plan->slices) : 0;
    result.a = pair.a;
    result.b = pair.b;
    result.log2_size = step.result;
    result.log10_flops = (step.work + iterations) * log10(2);
    return result;
}

/* A text that may be longer than its room. */
typedef struct room {
    char *text;
    size_t size, used;
} room;

static void put(room *r, const char *format, ...) WEFT_FORMAT(2, 3);

static void put(room *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool left = r->used < r->size;
    r->used += (size_t)vsnprintf(left ? r->text + r->used : NULL, left ? r->size - r->used : 0, format, arguments);
    va_end(arguments);
}

/* A name of a label after others, or the first of them. */
static void put_label(room *r, const einsum_network *network, uint32_t label)
{
    char name[EINSUM_LABEL_SIZE];
    einsum_label_print(network->numbered, network->names[label], name);
    size_t quotes = network->names[label] >= 0 && !network->numbered;
    const char *before = !network->numbered ? "" : r->used == 0 ? "[" : " ";
    put(r, "%s%.*s", before, (int)(strlen(name) - 2 * quotes), name + quotes);
}

static size_t end_labels(room *r, const einsum_network *network)
{
    put(r, "%s", !network->numbered ? "" : r->used == 0 ? "[]" : "]");
    return r->used;
}

size_t weft_einsum_plan_print_labels(const weft_einsum_plan *plan, size_t value, char *out_text, size_t size)
{
    const einsum_network *network = &plan->expression.network;
    einsum_labels labels = labels_of(plan, value);
    room r = {out_text, size, 0};
    for (size_t i = 0; i < labels.count; i++) put_label(&r, network, labels.items[i]);
    return end_labels(&r, network);
}

size_t weft_einsum_plan_print_sliced(const weft_einsum_plan *plan, size_t value, char *out_text, size_t size)
{
    const einsum_network *network = &plan->expression.network;
    einsum_labels sliced = plan->expression.sliced;
    room r = {out_text, size, 0};
    for (size_t i = 0; i < sliced.count; i++)
        if (is_sliced(plan, value, i)) put_label(&r, network, sliced.items[i]);
    return end_labels(&r, network);
}
