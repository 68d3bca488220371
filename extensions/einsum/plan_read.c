/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan tells its caller. */
#include "request.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

double weft_einsum_plan_seconds(const weft_einsum_plan *plan)
{
    return plan->seconds;
}

double weft_einsum_plan_log10_flops(const weft_einsum_plan *plan)
{
    return plan->log10_flops;
}

double weft_einsum_plan_log2_size(const weft_einsum_plan *plan)
{
    return plan->log2_size;
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

double weft_einsum_plan_log2_points(const weft_einsum_plan *plan)
{
    const einsum_problem *problem = &plan->expression.problem;
    double points = 0;
    for (size_t i = 0; i < problem->label_count; i++) points += problem->log2_extents[i];
    return points;
}

/* ---- values ---- */

static double size_of(const einsum_problem *problem, einsum_labels labels)
{
    double size = 0;
    for (size_t i = 0; i < labels.count; i++) size += problem->log2_extents[labels.items[i]];
    return size;
}

static bool has_label(einsum_labels labels, uint32_t label)
{
    for (size_t i = 0; i < labels.count; i++)
        if (labels.items[i] == label) return true;
    return false;
}

weft_einsum_value weft_einsum_plan_value(const weft_einsum_plan *plan, size_t value)
{
    const einsum_problem *problem = &plan->expression.problem;
    einsum_labels labels = plan->values[value];
    weft_einsum_value result = {.rank = labels.count, .log2_size = size_of(problem, labels)};
    if (value < problem->operand_count) return result;
    einsum_pair pair = plan->expression.pairs[value - problem->operand_count];
    einsum_labels a = plan->values[pair.a], b = plan->values[pair.b];
    double work = size_of(problem, a);
    for (size_t i = 0; i < b.count; i++)
        if (!has_label(a, b.items[i])) work += problem->log2_extents[b.items[i]];
    result.a = pair.a;
    result.b = pair.b;
    result.log10_flops = work * log10(2);
    return result;
}

size_t weft_einsum_plan_print_labels(const weft_einsum_plan *plan, size_t value, char *out_text, size_t size)
{
    const einsum_network *network = &plan->expression.network;
    einsum_labels labels = plan->values[value];
    size_t used = 0;
    if (size > 0) out_text[0] = '\0';
    for (size_t i = 0; i < labels.count; i++) {
        char name[EINSUM_LABEL_SIZE];
        int64_t label = network->names[labels.items[i]];
        einsum_label_print(network->numbered, label, name);
        size_t quotes = label >= 0 && !network->numbered;
        used += (size_t)snprintf(used < size ? out_text + used : NULL, used < size ? size - used : 0, "%s%.*s",
                                 !network->numbered ? ""
                                 : i == 0           ? "["
                                                    : " ",
                                 (int)(strlen(name) - 2 * quotes), name + quotes);
    }
    if (!network->numbered) return used;
    return used + (size_t)snprintf(used < size ? out_text + used : NULL, used < size ? size - used : 0, "%s",
                                   labels.count == 0 ? "[]" : "]");
}
