/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as callers see them. */
#include "request.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- making one ---- */

/* Shapes of numbers as shapes of extents, in the plan. */
static weft_status *copy_shapes(weft_einsum_plan *plan, size_t count, const weft_ints *shapes, weft_shape **out_shapes)
{
    einsum_arena *arena = &plan->expression.arena;
    *out_shapes = einsum_arena_allocate(arena, count, sizeof **out_shapes);
    for (size_t i = 0; *out_shapes != NULL && i < count; i++) {
        weft_extent *extents = einsum_arena_allocate(arena, shapes[i].count, sizeof *extents);
        if (extents == NULL) return weft_status_out_of_memory();
        for (size_t axis = 0; axis < shapes[i].count; axis++) {
            int64_t extent = shapes[i].items[axis];
            extents[axis] = weft_extent_of(extent);
            if (extent >= 0) continue;
            return weft_status_create(arena->allocator, WEFT_OUT_OF_RANGE, "weft_einsum_plan_create",
                                      "einsum: axis %zu of operand %zu has extent %" PRId64 ", below 0", axis, i,
                                      extent);
        }
        (*out_shapes)[i] = (weft_shape){shapes[i].count, extents};
    }
    return *out_shapes == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *fill_shape(weft_einsum_plan *plan)
{
    einsum_expression *x = &plan->expression;
    einsum_labels output = x->network.output;
    int64_t *shape = einsum_arena_allocate(&x->arena, output.count, sizeof *shape), elements = 1;
    if (shape == NULL) return weft_status_out_of_memory();
    bool overflow = false, empty = false;
    for (size_t i = 0; i < output.count; i++) {
        weft_extent_is_static(x->extents[output.items[i]], &shape[i]);
        empty = empty || shape[i] == 0;
        overflow = overflow || __builtin_mul_overflow(elements, shape[i], &elements);
    }
    plan->shape = (weft_ints){output.count, shape};
    if (!overflow || empty) return NULL;
    return weft_status_create(x->arena.allocator, WEFT_OUT_OF_RANGE, "weft_einsum_plan_create",
                              "einsum: the result of rank %zu has more elements than an int64 counts", output.count);
}

static weft_status *fill_path(weft_einsum_plan *plan)
{
    einsum_expression *x = &plan->expression;
    size_t count = 2 * (x->network.operand_count - 1);
    int64_t *path = einsum_arena_allocate(&x->arena, count, sizeof *path);
    if (path == NULL) return weft_status_out_of_memory();
    WEFT_TRY(einsum_order_to_path(&x->arena, x->network.operand_count, x->pairs, path));
    einsum_text order;
    einsum_text_init(&order, &x->arena);
    for (size_t i = 0; i < count; i += 2)
        einsum_text_print(&order, "%s%" PRId64 "-%" PRId64, i == 0 ? "" : ",", path[i], path[i + 1]);
    plan->path = (weft_ints){count, path};
    plan->order = order.data;
    return order.failed ? weft_status_out_of_memory() : NULL;
}

static weft_status *fill_cost(weft_einsum_plan *plan)
{
    einsum_totals cost;
    einsum_expression *x = &plan->expression;
    WEFT_TRY(einsum_plan_cost(&x->arena, &x->problem, x->pairs, &cost));
    plan->log10_flops = cost.log2_flops > 0 ? cost.log2_flops * log10(2) : 0;
    plan->log2_size = cost.log2_size > 0 ? cost.log2_size : 0;
    if (x->network.operand_count > 1) return NULL;
    for (size_t i = 0; i < x->problem.output.count; i++)
        plan->log2_size += x->problem.log2_extents[x->problem.output.items[i]];
    return NULL;
}

static weft_status *fill(weft_einsum_plan *plan, const char *text, size_t operand_count, const weft_ints *shapes,
                         const weft_einsum_options *options)
{
    einsum_request request;
    weft_shape *extents;
    einsum_expression *x = &plan->expression;
    WEFT_TRY(copy_shapes(plan, operand_count, shapes, &extents));
    WEFT_TRY(einsum_request_fill(x, text, operand_count, extents, options, &request));
    plan->equation = request.equation;
    WEFT_TRY(einsum_expression_reduce(x));
    WEFT_TRY(einsum_expression_order(x, request.policy));
    WEFT_TRY(fill_shape(plan));
    WEFT_TRY(fill_path(plan));
    return fill_cost(plan);
}

weft_status *weft_einsum_plan_create(const weft_allocator *allocator, const char *text, size_t operand_count,
                                     const weft_ints *shapes, const weft_einsum_options *options,
                                     weft_einsum_plan **out_plan)
{
    einsum_expression expression;
    einsum_expression_init(&expression, allocator);
    weft_einsum_plan *plan = einsum_arena_allocate(&expression.arena, 1, sizeof *plan);
    if (plan == NULL) return weft_status_out_of_memory();
    plan->expression = expression;
    weft_status *status = fill(plan, text, operand_count, shapes, options);
    if (status == NULL) *out_plan = plan;
    else weft_einsum_plan_destroy(plan);
    return status;
}

/* The plan lies in its own arena. */
void weft_einsum_plan_destroy(weft_einsum_plan *plan)
{
    if (plan == NULL) return;
    einsum_expression expression = plan->expression;
    einsum_expression_finish(&expression);
}

/* ---- asking it ---- */

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
