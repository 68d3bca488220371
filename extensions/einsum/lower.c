/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each operand loses its axes of extent one, keeps the diagonal of repeated labels and is summed over labels that
 * nothing else has. Then every step joins two values: shared labels that are still needed are batch axes, the other
 * shared ones are summed; without any to sum it is an elementwise product. The last value is brought into the order of
 * the output, where axes of extent one and diagonals come back. Where an extent is zero there is nothing to do: the
 * result is zeros.
 */
#define WEFT_NO_LOCATIONS
#include "lower.h"
#include "iterations.h"
#include "operand.h"
#include <math.h>
#include <weft/weft.h>

typedef struct lowering {
    einsum_expression *x;
    const weft_tensor *operands;
    einsum_walk walk;
    einsum_value *values; /* by value of the walk */
    einsum_form *forms;   /* by step */
    einsum_slices slices;
} lowering;

/* ---- steps ---- */

/* Those that are inside are prepared there. */
static weft_status *prepare_operands(lowering *l)
{
    for (size_t i = 0; i < l->x->problem.operand_count; i++)
        if (!l->slices.inside[i])
            WEFT_TRY(einsum_operand_prepare(l->x, i, l->operands[i], (einsum_labels){0, NULL}, &l->values[i]));
    return NULL;
}

static weft_status *check_result(const lowering *l, size_t step, einsum_labels labels)
{
    const weft_allocator *allocator = l->x->arena.allocator;
    if (labels.count > WEFT_MAX_RANK) {
        return weft_status_create(
            allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
            "einsum: step %zu of the order has a result of rank %zu but a tensor has at most %d axes", step,
            labels.count, WEFT_MAX_RANK);
    }
    double size = 0;
    for (size_t i = 0; i < labels.count; i++) size += l->x->problem.log2_extents[labels.items[i]];
    if (size < 63) return NULL;
    return weft_status_create(
        allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
        "einsum: step %zu of the order has a result of 2^%.1f elements, more than an int64 counts", step, size);
}

/* Step k; inside of a loop it is left to it. */
static weft_status *take_step(lowering *l, size_t k)
{
    size_t value = l->x->problem.operand_count + k;
    einsum_labels labels = l->walk.values[value];
    bool inside = l->slices.inside[value];
    einsum_labels made = inside ? einsum_labels_without(&l->x->arena, labels, l->x->sliced) : labels;
    if (made.items == NULL) return weft_status_out_of_memory();
    WEFT_TRY(check_result(l, k, made));
    l->values[value].labels = labels;
    if (!inside) {
        einsum_form form = l->forms[k];
        l->values[value].tensor = einsum_value_multiply(l->values[form.first], l->values[form.second], labels,
                                                        form.second_leads, l->x->extents);
        return NULL;
    }
    if (value != l->slices.last) return NULL;
    WEFT_TRY(check_result(l, k, labels));
    return einsum_iterations_trace(&l->slices, l->operands, l->forms, l->values, &l->values[value].tensor);
}

/* The output's labels, each at its first place; those of extent one included. */
static einsum_labels first_places(const lowering *l, uint32_t *items)
{
    einsum_labels output = l->x->network.output, distinct = {0, items};
    for (size_t i = 0; i < output.count; i++)
        if (!einsum_labels_have(distinct, output.items[i])) items[distinct.count++] = output.items[i];
    return distinct;
}

/* Where memory is short, the loop adds up the output in place, at the price of parts that are permuted. */
static weft_status *order_output(lowering *l)
{
    einsum_expression *x = l->x;
    size_t result = l->walk.value_count - 1;
    double elements = exp2(einsum_slices_size(&l->slices, result, false));
    if (!l->slices.inside[result] || x->most_elements == 0 || 2 * elements <= x->most_elements) return NULL;
    uint32_t *items = einsum_arena_allocate(&x->arena, x->network.output.count, sizeof *items);
    if (items == NULL) return weft_status_out_of_memory();
    l->walk.values[result] = first_places(l, items);
    return NULL;
}

static weft_status *contract(lowering *l)
{
    einsum_expression *x = l->x;
    size_t steps = x->problem.operand_count - 1;
    l->forms = einsum_arena_allocate(&x->arena, steps, sizeof *l->forms);
    if (l->forms == NULL) return weft_status_out_of_memory();
    for (size_t k = 0; k < steps; k++)
        if (!einsum_walk_join(&l->walk, x->pairs[k])) return weft_status_out_of_memory();
    WEFT_TRY(einsum_layout_run(&x->arena, &x->problem, x->pairs, l->walk.values, l->forms));
    l->slices = (einsum_slices){.x = x, .results = l->walk.values};
    WEFT_TRY(einsum_slices_init(&l->slices));
    WEFT_TRY(order_output(l));
    WEFT_TRY(prepare_operands(l));
    for (size_t k = 0; k < steps; k++) WEFT_TRY(take_step(l, k));
    return NULL;
}

/* ---- the output ---- */

static weft_tensor embed_diagonals(weft_tensor x, einsum_labels output)
{
    for (size_t i = 1; i < output.count; i++) {
        size_t first = einsum_labels_find(output, output.items[i]);
        if (first < i) x = weft_embed_diagonal(x, (int64_t)first, (int64_t)i);
    }
    return x;
}

/* The type rule and the value must agree on extents that only a guard makes equal. */
static weft_tensor restate(weft_tensor x, weft_shape shape)
{
    einsum_axes all = {0};
    bool same = true;
    weft_shape known = weft_tensor_shape(x);
    for (size_t i = 0; i < shape.rank && i < known.rank; i++) {
        same = same && weft_extent_equal(shape.extents[i], known.extents[i]);
        einsum_axes_add(&all, i);
    }
    return same ? x : weft_broadcast_in_dim(x, shape, einsum_axes_list(&all));
}

static weft_tensor shape_output(const lowering *l)
{
    size_t last = l->walk.value_count - 1;
    einsum_value value = l->values[last];
    uint32_t items[WEFT_MAX_RANK];
    weft_extent extents[WEFT_MAX_RANK], all_extents[WEFT_MAX_RANK];
    einsum_labels distinct = first_places(l, items);
    bool whole = value.labels.count == distinct.count;
    einsum_labels order = whole ? distinct : l->x->problem.output;
    weft_tensor x =
        restate(einsum_value_spread(value, order, l->x->extents), einsum_labels_shape(order, l->x->extents, extents));
    if (!whole) x = weft_reshape(x, einsum_labels_shape(distinct, l->x->extents, all_extents));
    return embed_diagonals(x, l->x->network.output);
}

static weft_status *check_output(const einsum_expression *x)
{
    size_t rank = x->network.output.count;
    if (rank <= WEFT_MAX_RANK) return NULL;
    return weft_status_create(x->arena.allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
                              "einsum: the result has rank %zu but a tensor has at most %d axes", rank, WEFT_MAX_RANK);
}

/* A result of what is empty, which no operand matters for. */
static weft_tensor fill_output(const einsum_expression *x, weft_tensor like)
{
    weft_extent extents[WEFT_MAX_RANK];
    return weft_zeros(like.graph, weft_tensor_dtype(like), einsum_labels_shape(x->network.output, x->extents, extents));
}

weft_status *einsum_lower(einsum_expression *expression, const weft_tensor *operands, weft_tensor *out_tensor)
{
    WEFT_TRY(check_output(expression));
    if (einsum_expression_is_empty(expression)) {
        *out_tensor = fill_output(expression, operands[0]);
        return NULL;
    }
    einsum_arena *arena = &expression->arena;
    lowering l = {.x = expression, .operands = operands};
    WEFT_TRY(einsum_walk_init(&l.walk, arena, &expression->problem));
    l.values = einsum_arena_allocate(arena, 2 * expression->problem.operand_count, sizeof *l.values);
    if (l.values == NULL) return weft_status_out_of_memory();
    WEFT_TRY(contract(&l));
    *out_tensor = shape_output(&l);
    return NULL;
}
