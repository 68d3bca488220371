/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_PLACES
#include "value.h"
#include <weft/weft.h>

void einsum_axes_add(einsum_axes *axes, size_t axis)
{
    axes->items[axes->count++] = (int64_t)axis;
}

weft_ints einsum_axes_list(const einsum_axes *axes)
{
    return (weft_ints){axes->count, axes->items};
}

size_t einsum_labels_find(einsum_labels labels, uint32_t label)
{
    size_t i = 0;
    while (i < labels.count && labels.items[i] != label) i++;
    return i;
}

weft_shape einsum_labels_shape(einsum_labels labels, const weft_extent *label_extents, weft_extent *extents)
{
    for (size_t i = 0; i < labels.count; i++) extents[i] = label_extents[labels.items[i]];
    return (weft_shape){labels.count, extents};
}

/* ---- arithmetic: bool computes in integers, and comes back before counts can overflow ---- */

static bool is_bool(weft_tensor x)
{
    return weft_tensor_dtype(x) == WEFT_BOOL;
}

static weft_tensor to_number(weft_tensor x)
{
    return is_bool(x) ? weft_cast(x, WEFT_I64) : x;
}

static weft_tensor like(weft_tensor x, weft_tensor number)
{
    return is_bool(x) ? weft_cast(number, WEFT_BOOL) : number;
}

weft_tensor einsum_value_sum(einsum_value value, einsum_labels keep)
{
    einsum_axes over = {0};
    for (size_t i = 0; i < value.labels.count; i++)
        if (einsum_labels_find(keep, value.labels.items[i]) == keep.count) einsum_axes_add(&over, i);
    if (over.count == 0) return value.tensor;
    return like(value.tensor, weft_reduce_sum(to_number(value.tensor), einsum_axes_list(&over), false));
}

weft_tensor einsum_value_add(weft_tensor a, weft_tensor b)
{
    return is_bool(a) ? weft_or(a, b) : weft_add(a, b);
}

/* ---- movement ---- */

static weft_tensor permute(weft_tensor x, const einsum_axes *order)
{
    bool same = true;
    for (size_t i = 0; i < order->count; i++) same = same && order->items[i] == (int64_t)i;
    return same ? x : weft_permute(x, einsum_axes_list(order));
}

weft_tensor einsum_value_spread(einsum_value value, einsum_labels to, const weft_extent *label_extents)
{
    einsum_axes order = {0}, places = {0};
    weft_extent extents[WEFT_MAX_RANK];
    for (size_t i = 0; i < to.count; i++) {
        size_t at = einsum_labels_find(value.labels, to.items[i]);
        if (at == value.labels.count) continue;
        einsum_axes_add(&order, at);
        einsum_axes_add(&places, i);
    }
    weft_tensor x = permute(value.tensor, &order);
    if (value.labels.count == to.count) return x;
    return weft_broadcast_in_dim(x, einsum_labels_shape(to, label_extents, extents), einsum_axes_list(&places));
}

/* ---- products ---- */

/* Pairs the labels that both have: batch if the result keeps them, else contracted. Returns how many are contracted. */
static size_t pair_axes(einsum_labels a, einsum_labels b, einsum_labels result, einsum_axes batch[2],
                        einsum_axes contract[2])
{
    for (size_t i = 0; i < a.count; i++) {
        size_t at = einsum_labels_find(b, a.items[i]);
        if (at == b.count) continue;
        einsum_axes *pair = einsum_labels_find(result, a.items[i]) < result.count ? batch : contract;
        einsum_axes_add(&pair[0], i);
        einsum_axes_add(&pair[1], at);
    }
    return contract[0].count;
}

weft_tensor einsum_value_multiply(einsum_value a, einsum_value b, einsum_labels result,
                                  const weft_extent *label_extents)
{
    einsum_axes batch[2] = {{0}}, contract[2] = {{0}};
    if (pair_axes(a.labels, b.labels, result, batch, contract) == 0) {
        weft_tensor x = einsum_value_spread(a, result, label_extents);
        weft_tensor y = einsum_value_spread(b, result, label_extents);
        return is_bool(x) ? weft_and(x, y) : weft_mul(x, y);
    }
    weft_dot_axes with = {einsum_axes_list(&batch[0]), einsum_axes_list(&batch[1]), einsum_axes_list(&contract[0]),
                          einsum_axes_list(&contract[1])};
    return like(a.tensor, weft_dot(to_number(a.tensor), to_number(b.tensor), with));
}
