/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as callers see them. */
#include "labels.h"
#include "op.h"
#include "plain.h"
#include "request.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <weft/inspect.h>

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
            return weft_status_create(arena->allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
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
        bool known = weft_extent_is_static(x->extents[output.items[i]], &shape[i]);
        empty = empty || (known && shape[i] == 0);
        overflow = overflow || (known && __builtin_mul_overflow(elements, shape[i], &elements));
        if (!known) shape[i] = -1;
    }
    plan->shape = (weft_ints){output.count, shape};
    if (!overflow || empty) return NULL;
    return weft_status_create(x->arena.allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
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
    for (size_t i = 0; i < count; i++) {
        if (i > 0) einsum_text_append(&order, i % 2 == 0 ? "," : "-", 1);
        einsum_text_number(&order, path[i]);
    }
    plan->path = (weft_ints){count, path};
    plan->order = order.data;
    return order.failed ? weft_status_out_of_memory() : NULL;
}

static weft_status *fill_ssa(weft_einsum_plan *plan)
{
    einsum_expression *x = &plan->expression;
    size_t count = 2 * (x->network.operand_count - 1);
    int64_t *values = einsum_arena_allocate(&x->arena, count, sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) values[i] = (int64_t)(i % 2 == 0 ? x->pairs[i / 2].a : x->pairs[i / 2].b);
    plan->ssa = (weft_ints){count, values};
    return NULL;
}

/* What is still to be printed lies on a stack: values, and between them what closes a group or parts its two. */
static weft_status *fill_nested(weft_einsum_plan *plan)
{
    enum { CLOSE = -1, COMMA = -2 };
    einsum_expression *x = &plan->expression;
    int64_t operands = (int64_t)x->network.operand_count;
    int64_t *stack = einsum_arena_allocate(&x->arena, 4 * x->network.operand_count, sizeof *stack), *top = stack;
    einsum_text text;
    einsum_text_init(&text, &x->arena);
    if (stack == NULL) return weft_status_out_of_memory();
    for (*top++ = 2 * operands - 2; top != stack;) {
        int64_t item = *--top;
        if (item == CLOSE) einsum_text_append(&text, ")", 1);
        else if (item == COMMA) einsum_text_append(&text, ",", 1);
        else if (item < operands) einsum_text_number(&text, item);
        else {
            const int64_t *pair = plan->ssa.items + 2 * (item - operands);
            einsum_text_append(&text, "(", 1);
            memcpy(top, (int64_t[]){CLOSE, pair[1], COMMA, pair[0]}, 4 * sizeof *top);
            top += 4;
        }
    }
    plan->nested = text.data;
    return text.failed ? weft_status_out_of_memory() : NULL;
}

static weft_status *fill_sliced(weft_einsum_plan *plan)
{
    einsum_labels sliced = plan->expression.sliced;
    int64_t *names = einsum_arena_allocate(&plan->expression.arena, sliced.count, sizeof *names);
    if (names == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < sliced.count; i++) names[i] = plan->expression.network.names[sliced.items[i]];
    plan->sliced = (weft_ints){sliced.count, names};
    return NULL;
}

/* What the steps cost, all iterations of the loop together. */
typedef struct bill {
    einsum_score scores[2]; /* TIME, FLOPS */
    einsum_cost costs[2];
    double whole; /* log2 of the multiplications without slices */
} bill;

static void add_step(bill *b, einsum_step step, double iterations)
{
    for (size_t i = 0; i < 2; i++) {
        einsum_cost cost = einsum_score_step(&b->scores[i], step);
        cost.major += iterations;
        b->costs[i] = einsum_score_add(&b->scores[i], b->costs[i], cost);
    }
}

static weft_status *add_steps(weft_einsum_plan *plan, einsum_walk *walk, bill *b)
{
    einsum_expression *x = &plan->expression;
    einsum_slices *slices = &plan->slices;
    *slices = (einsum_slices){.x = x, .results = walk->values};
    WEFT_TRY(einsum_slices_init(slices));
    double iterations = einsum_slices_iterations(slices);
    for (size_t k = 0; k + 1 < x->problem.operand_count; k++) {
        size_t value = walk->value_count;
        if (!einsum_walk_join(walk, x->pairs[k])) return weft_status_out_of_memory();
        add_step(b, einsum_slices_step(slices, value, walk->step), slices->inside[value] ? iterations : 0);
        b->whole = einsum_log2_add(b->whole, walk->step.work);
    }
    return einsum_slices_peak(slices, &plan->log2_peak);
}

static weft_status *fill_values(weft_einsum_plan *plan, const einsum_planner *planner, weft_dtype dtype)
{
    einsum_walk walk;
    einsum_expression *x = &plan->expression;
    bill b = {.scores = {einsum_planner_score(planner, WEFT_EINSUM_TIME, dtype),
                         einsum_planner_score(planner, WEFT_EINSUM_FLOPS, dtype)},
              .costs = {EINSUM_NO_COST, EINSUM_NO_COST},
              .whole = -INFINITY};
    WEFT_TRY(einsum_walk_init(&walk, &x->arena, &x->problem));
    WEFT_TRY(add_steps(plan, &walk, &b));
    plan->values = walk.values;
    plan->log2_seconds = b.costs[0].major;
    plan->log10_flops = fmax(b.costs[1].major * log10(2), 0);
    plan->log2_size = fmax(b.costs[1].minor, 0);
    if (x->sliced.count > 0 && b.whole > -INFINITY)
        plan->log10_overhead = fmax(0, b.costs[1].major - b.whole) * log10(2);
    if (x->network.operand_count > 1) return NULL;
    for (size_t i = 0; i < x->problem.output.count; i++)
        plan->log2_size += x->problem.log2_extents[x->problem.output.items[i]];
    return NULL;
}

/* Finds the order of a reduced expression, and fills the plan from it. */
static weft_status *fill_plan(weft_einsum_plan *plan, const einsum_policy *policy, weft_dtype dtype)
{
    WEFT_TRY(einsum_expression_order(&plan->expression, policy, dtype));
    WEFT_TRY(fill_shape(plan));
    WEFT_TRY(fill_path(plan));
    WEFT_TRY(fill_ssa(plan));
    WEFT_TRY(fill_sliced(plan));
    WEFT_TRY(fill_nested(plan));
    return fill_values(plan, &policy->planner, dtype);
}

/* What comes before slices may take too much: then there is less room for them. */
static weft_status *fill_within(weft_einsum_plan *plan, const einsum_policy *policy, weft_dtype dtype)
{
    const weft_allocator *allocator = plan->expression.arena.allocator;
    einsum_policy tried = *policy;
    einsum_room room = einsum_room_start(policy->planner.limit);
    double log2_limit = log2((double)policy->planner.limit), least = INFINITY, over;
    do {
        tried.planner.limit = room.bytes;
        plan->expression.problem.copied = room.copies;
        weft_status *status = fill_plan(plan, &tried, dtype);
        bool none = least < INFINITY && weft_status_code(status) == WEFT_OVER_LIMIT;
        if (status != NULL && !none) return status;
        weft_status_destroy(status);
        double log2_bytes = none ? INFINITY : plan->log2_peak + log2((double)weft_dtype_size(dtype));
        over = log2_bytes - log2_limit;
        if (over <= 1e-9) return NULL; /* logarithms are rounded */
        WEFT_TRY(einsum_planner_check(allocator, &policy->planner));
        least = fmin(least, log2_bytes);
    } while (einsum_room_lower(&room, over));
    return einsum_planner_over_limit(allocator, policy->planner.limit,
                                     "intermediates of the orders that were found take %s at least",
                                     einsum_planner_print_bytes(least).text);
}

static weft_status *fill_limited(weft_einsum_plan *plan, const einsum_policy *policy, weft_dtype dtype)
{
    bool seen = false;
    einsum_policy own = *policy;
    own.planner.cancel.seen = &seen;
    bool limited = einsum_policy_has_limit(&own) && !einsum_expression_is_empty(&plan->expression);
    return limited ? fill_within(plan, &own, dtype) : fill_plan(plan, &own, dtype);
}

/* What a plan is made from: a caller's request, or a node. */
typedef struct plan_source {
    const char *function; /* that was called: its name, for errors */
    const char *text;
    size_t operand_count;
    const weft_ints *shapes;
    const weft_einsum_options *options;
    weft_tensor node;
} plan_source;

static weft_status *fill_from_request(weft_einsum_plan *plan, const plan_source *source)
{
    einsum_request request;
    weft_shape *extents;
    einsum_expression *x = &plan->expression;
    WEFT_TRY(copy_shapes(plan, source->operand_count, source->shapes, &extents));
    WEFT_TRY(einsum_request_fill(x, source->text, source->operand_count, extents, source->options, &request));
    plan->equation = request.equation;
    WEFT_TRY(einsum_expression_reduce(x));
    return fill_limited(plan, &request.policy, request.dtype);
}

static weft_status *fill_from_node(weft_einsum_plan *plan, const plan_source *source)
{
    einsum_policy policy;
    einsum_expression *x = &plan->expression;
    const weft_attr *attrs = weft_tensor_attrs(source->node);
    size_t count = weft_tensor_input_count(source->node);
    weft_shape *shapes = einsum_arena_allocate(&x->arena, count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) shapes[i] = weft_tensor_shape(weft_tensor_input(source->node, i));
    WEFT_TRY(einsum_op_read(x, attrs, count, shapes, NULL, &policy));
    plan->equation = attrs[EINSUM_ATTR_EQUATION].data;
    if (policy.kind == EINSUM_POLICY_AUTO && einsum_policy_needs_extents(&policy, count) &&
        !einsum_expression_is_static(x))
        return weft_status_create(x->arena.allocator, WEFT_UNSUPPORTED, "weft_einsum",
                                  "einsum: the order of \"%.200s\" is found at run time, from extents that are symbols",
                                  plan->equation);
    return fill_limited(plan, &policy, weft_tensor_dtype(source->node));
}

static weft_status *check_source(const weft_allocator *allocator, const plan_source *source, bool placed)
{
    const weft_ints *shapes = source->shapes;
    bool shaped = source->operand_count == 0 || shapes != NULL;
    if (!placed || !shaped)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, source->function, "einsum: %s",
                                  placed ? "the shapes are NULL" : "the pointer for the plan is NULL");
    for (size_t i = 0; i < source->operand_count; i++)
        if (shapes[i].count > 0 && shapes[i].items == NULL)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, source->function,
                                      "einsum: the shape of operand %zu is NULL but has rank %zu", i, shapes[i].count);
    return NULL;
}

static EINSUM_PLAIN_FUNCTION(weft_status *, create,
                             (const weft_allocator *allocator, const plan_source *source, weft_einsum_plan **out_plan),
                             (allocator, source, out_plan))
{
    WEFT_TRY(check_source(allocator, source, out_plan != NULL));
    einsum_expression expression;
    einsum_expression_init(&expression, allocator);
    weft_einsum_plan *plan = einsum_arena_allocate(&expression.arena, 1, sizeof *plan);
    if (plan == NULL) return weft_status_out_of_memory();
    plan->expression = expression;
    weft_status *status = source->node.graph != NULL ? fill_from_node(plan, source) : fill_from_request(plan, source);
    if (status == NULL) *out_plan = plan;
    else weft_einsum_plan_destroy(plan);
    return einsum_status_at(allocator, source->function, status);
}

weft_status *weft_einsum_plan_create(const weft_allocator *allocator, const char *text, size_t operand_count,
                                     const weft_ints *shapes, const weft_einsum_options *options,
                                     weft_einsum_plan **out_plan)
{
    plan_source source = {.function = "weft_einsum_plan_create",
                          .text = text,
                          .operand_count = operand_count,
                          .shapes = shapes,
                          .options = options};
    return create(allocator, &source, out_plan);
}

weft_status *weft_einsum_plan_create_tensor(const weft_allocator *allocator, weft_tensor tensor,
                                            weft_einsum_plan **out_plan)
{
    plan_source source = {.function = "weft_einsum_plan_create_tensor", .node = tensor};
    if (weft_tensor_op(tensor) == &einsum_op) return create(allocator, &source, out_plan);
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, source.function,
                              "einsum: the tensor was not made by an einsum");
}

static weft_status *create_labelled(einsum_arena *arena, einsum_labelled *x, plan_source *source,
                                    weft_einsum_plan **out_plan)
{
    size_t *ranks = einsum_arena_allocate(arena, source->operand_count, sizeof *ranks);
    WEFT_TRY(check_source(arena->allocator, source, out_plan != NULL));
    if (ranks == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < source->operand_count; i++) ranks[i] = source->shapes[i].count;
    x->ranks = ranks;
    WEFT_TRY(einsum_labels_print(arena, x, &source->text));
    return create(arena->allocator, source, out_plan);
}

weft_status *weft_einsum_plan_create_labels(const weft_allocator *allocator, size_t operand_count,
                                            const weft_ints *labels, weft_ints output, const weft_ints *shapes,
                                            const weft_einsum_options *options, weft_einsum_plan **out_plan)
{
    plan_source source = {.function = "weft_einsum_plan_create_labels",
                          .operand_count = operand_count,
                          .shapes = shapes,
                          .options = options};
    einsum_labelled x = {
        .function = source.function, .operand_count = operand_count, .labels = labels, .output = output};
    einsum_arena arena;
    einsum_arena_init(&arena, allocator);
    weft_status *status = create_labelled(&arena, &x, &source, out_plan);
    einsum_arena_finish(&arena);
    return status;
}

/* The plan lies in its own arena. */
void weft_einsum_plan_destroy(weft_einsum_plan *plan)
{
    if (plan == NULL) return;
    einsum_expression expression = plan->expression;
    einsum_expression_finish(&expression);
}
