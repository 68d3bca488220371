/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each operand loses its axes of extent one, keeps the diagonal of repeated labels and is summed over labels that
 * nothing else has. Then every step joins two values: shared labels that are still needed are batch axes, the other
 * shared ones are summed; without any to sum it is an elementwise product. The last value is brought into the order of
 * the output, where axes of extent one and diagonals come back.
 */
#define WEFT_NO_PLACES
#include "lower.h"
#include <math.h>
#include <string.h>

typedef struct axes {
    size_t count;
    int64_t items[WEFT_MAX_RANK];
} axes;

typedef struct lowering {
    einsum_expression *x;
    einsum_walk walk;
    weft_tensor *values; /* by value of the walk */
    bool boolean;        /* sums are "any", products "and" */
} lowering;

static weft_ints list(const axes *a)
{
    return (weft_ints){a->count, a->items};
}

static void add_axis(axes *a, size_t axis)
{
    a->items[a->count++] = (int64_t)axis;
}

/* The position of `label`; labels.count when it is not there. */
static size_t find_label(einsum_labels labels, uint32_t label)
{
    size_t i = 0;
    while (i < labels.count && labels.items[i] != label) i++;
    return i;
}

/* ---- arithmetic: bool computes in integers, and comes back before counts can overflow ---- */

static weft_tensor to_number(const lowering *l, weft_tensor x)
{
    return l->boolean ? weft_cast(x, WEFT_I64) : x;
}

static weft_tensor from_number(const lowering *l, weft_tensor x)
{
    return l->boolean ? weft_cast(x, WEFT_BOOL) : x;
}

static weft_tensor sum(const lowering *l, weft_tensor x, const axes *over)
{
    return over->count == 0 ? x : from_number(l, weft_reduce_sum(to_number(l, x), list(over), false));
}

/* ---- operands ---- */

/* `x` without the axes of labels that are of extent one here; `labels` follows. */
static weft_tensor squeeze(const lowering *l, size_t operand, weft_tensor x, einsum_labels *labels)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_shape shape = weft_tensor_shape(x);
    size_t rank = 0;
    for (size_t i = 0; i < shape.rank; i++) {
        uint32_t label = labels->items[i];
        if (einsum_network_is_one(&l->x->network, operand, label, l->x->shapes[operand])) continue;
        extents[rank] = shape.extents[i];
        labels->items[rank++] = label;
    }
    labels->count = rank;
    return rank == shape.rank ? x : weft_reshape(x, (weft_shape){rank, extents});
}

static weft_tensor take_diagonals(weft_tensor x, einsum_labels *labels)
{
    for (size_t i = 1; i < labels->count;) {
        size_t first = find_label(*labels, labels->items[i]);
        if (first == i) {
            i++;
            continue;
        }
        x = weft_extract_diagonal(x, (int64_t)first, (int64_t)i);
        labels->count--;
        memmove(labels->items + i, labels->items + i + 1, (labels->count - i) * sizeof *labels->items);
    }
    return x;
}

static weft_status *prepare(lowering *l, size_t operand, weft_tensor x)
{
    einsum_labels all = l->x->network.operands[operand], kept = l->walk.values[operand];
    einsum_labels labels = {all.count, einsum_arena_allocate(&l->x->arena, all.count, sizeof *labels.items)};
    if (labels.items == NULL) return weft_status_out_of_memory();
    if (all.count > 0) memcpy(labels.items, all.items, all.count * sizeof *labels.items);
    x = take_diagonals(squeeze(l, operand, x, &labels), &labels);
    axes private = {0};
    for (size_t i = 0; i < labels.count; i++)
        if (find_label(kept, labels.items[i]) == kept.count) add_axis(&private, i);
    l->values[operand] = sum(l, x, &private);
    return NULL;
}

/* ---- steps ---- */

static weft_shape shape_of(const lowering *l, einsum_labels labels, weft_extent *extents)
{
    for (size_t i = 0; i < labels.count; i++) extents[i] = l->x->extents[labels.items[i]];
    return (weft_shape){labels.count, extents};
}

static weft_tensor permute(weft_tensor x, const axes *order)
{
    bool same = true;
    for (size_t i = 0; i < order->count; i++) same = same && order->items[i] == (int64_t)i;
    return same ? x : weft_permute(x, list(order));
}

/* `x` over `labels` as a tensor over `to`, which has them all; the others repeat. */
static weft_tensor spread(const lowering *l, weft_tensor x, einsum_labels labels, einsum_labels to)
{
    axes order = {0}, places = {0};
    weft_extent extents[WEFT_MAX_RANK];
    for (size_t i = 0; i < to.count; i++) {
        size_t at = find_label(labels, to.items[i]);
        if (at == labels.count) continue;
        add_axis(&order, at);
        add_axis(&places, i);
    }
    x = permute(x, &order);
    return labels.count == to.count ? x : weft_broadcast_in_dim(x, shape_of(l, to, extents), list(&places));
}

/* Pairs the labels that both have: batch if the result keeps them, else contracted. Returns how many are contracted. */
static size_t pair_axes(einsum_labels a, einsum_labels b, einsum_labels result, axes batch[2], axes contract[2])
{
    for (size_t i = 0; i < a.count; i++) {
        size_t at = find_label(b, a.items[i]);
        if (at == b.count) continue;
        axes *pair = find_label(result, a.items[i]) < result.count ? batch : contract;
        add_axis(&pair[0], i);
        add_axis(&pair[1], at);
    }
    return contract[0].count;
}

static weft_tensor multiply(const lowering *l, einsum_pair pair, einsum_labels result)
{
    weft_tensor a = l->values[pair.a], b = l->values[pair.b];
    einsum_labels of_a = l->walk.values[pair.a], of_b = l->walk.values[pair.b];
    axes batch[2] = {{0}}, contract[2] = {{0}};
    if (pair_axes(of_a, of_b, result, batch, contract) == 0) {
        a = spread(l, a, of_a, result);
        b = spread(l, b, of_b, result);
        return l->boolean ? weft_and(a, b) : weft_mul(a, b);
    }
    weft_dot_axes with = {list(&batch[0]), list(&batch[1]), list(&contract[0]), list(&contract[1])};
    return from_number(l, weft_dot(to_number(l, a), to_number(l, b), with));
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
    for (size_t i = 0; i < labels.count; i++) {
        int64_t extent;
        if (weft_extent_is_static(l->x->extents[labels.items[i]], &extent) && extent == 0) return NULL;
        size += l->x->problem.log2_extents[labels.items[i]];
    }
    if (size < 63) return NULL;
    return weft_status_create(
        allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
        "einsum: step %zu of the order has a result of 2^%.1f elements, more than an int64 counts", step, size);
}

static weft_status *contract(lowering *l)
{
    for (size_t k = 0; k + 1 < l->x->problem.operand_count; k++) {
        einsum_pair pair = l->x->pairs[k];
        if (!einsum_walk_join(&l->walk, pair)) return weft_status_out_of_memory();
        einsum_labels result = l->walk.values[l->walk.value_count - 1];
        WEFT_TRY(check_result(l, k, result));
        l->values[l->walk.value_count - 1] = multiply(l, pair, result);
    }
    return NULL;
}

/* ---- the output ---- */

/* The output's labels, each at its first place; those of extent one included. */
static einsum_labels first_places(const lowering *l, uint32_t *items)
{
    einsum_labels output = l->x->network.output, distinct = {0, items};
    for (size_t i = 0; i < output.count; i++)
        if (find_label(distinct, output.items[i]) == distinct.count) items[distinct.count++] = output.items[i];
    return distinct;
}

static weft_tensor embed_diagonals(weft_tensor x, einsum_labels output)
{
    for (size_t i = 1; i < output.count; i++) {
        size_t first = find_label(output, output.items[i]);
        if (first < i) x = weft_embed_diagonal(x, (int64_t)first, (int64_t)i);
    }
    return x;
}

/* The type rule and the value must agree on extents that only a guard makes equal. */
static weft_tensor restate(weft_tensor x, weft_shape shape)
{
    axes all = {0};
    bool same = true;
    weft_shape known = weft_tensor_shape(x);
    for (size_t i = 0; i < shape.rank && i < known.rank; i++) {
        same = same && weft_extent_equal(shape.extents[i], known.extents[i]);
        add_axis(&all, i);
    }
    return same ? x : weft_broadcast_in_dim(x, shape, list(&all));
}

static weft_tensor shape_output(const lowering *l)
{
    size_t last = l->walk.value_count - 1;
    einsum_labels kept = l->x->problem.output;
    uint32_t items[WEFT_MAX_RANK];
    weft_extent extents[WEFT_MAX_RANK], all_extents[WEFT_MAX_RANK];
    weft_tensor x = restate(spread(l, l->values[last], l->walk.values[last], kept), shape_of(l, kept, extents));
    einsum_labels distinct = first_places(l, items);
    if (distinct.count != kept.count) x = weft_reshape(x, shape_of(l, distinct, all_extents));
    return embed_diagonals(x, l->x->network.output);
}

weft_status *einsum_lower(einsum_expression *expression, const weft_tensor *operands, weft_tensor *out_tensor)
{
    einsum_arena *arena = &expression->arena;
    lowering l = {.x = expression, .boolean = weft_tensor_dtype(operands[0]) == WEFT_BOOL};
    WEFT_TRY(einsum_walk_init(&l.walk, arena, &expression->problem));
    l.values = einsum_arena_allocate(arena, 2 * expression->problem.operand_count, sizeof *l.values);
    if (l.values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < expression->problem.operand_count; i++) WEFT_TRY(prepare(&l, i, operands[i]));
    WEFT_TRY(contract(&l));
    *out_tensor = shape_output(&l);
    return NULL;
}
