/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_LOCATIONS
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
        if (!einsum_labels_have(keep, value.labels.items[i])) einsum_axes_add(&over, i);
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

/* Appends the labels of `labels` that `of` has too, or has not. */
static void append(einsum_labels labels, einsum_labels of, bool in, einsum_labels *out_labels)
{
    for (size_t i = 0; i < labels.count; i++)
        if (einsum_labels_have(of, labels.items[i]) == in) out_labels->items[out_labels->count++] = labels.items[i];
}

static void append_all(einsum_labels labels, einsum_labels *out_labels)
{
    append(labels, (einsum_labels){0, NULL}, false, out_labels);
}

static weft_tensor multiply_elements(einsum_value a, einsum_value b, einsum_labels result,
                                     const weft_extent *label_extents)
{
    weft_tensor x = einsum_value_spread(a, result, label_extents), y = einsum_value_spread(b, result, label_extents);
    return is_bool(x) ? weft_and(x, y) : weft_mul(x, y);
}

static weft_tensor multiply_matrices(weft_tensor x, weft_tensor y, size_t batch, size_t free, size_t summed)
{
    int64_t axes[WEFT_MAX_RANK];
    for (size_t i = 0; i < WEFT_MAX_RANK; i++) axes[i] = (int64_t)i;
    weft_dot_axes with = {{batch, axes}, {batch, axes}, {summed, axes + batch + free}, {summed, axes + batch}};
    return like(x, weft_dot(to_number(x), to_number(y), with));
}

weft_dtype einsum_value_sum_dtype(weft_dtype dtype)
{
    return dtype == WEFT_F16 || dtype == WEFT_BF16 ? WEFT_F32 : dtype;
}

weft_tensor einsum_value_multiply(einsum_value a, einsum_value b, einsum_labels result, bool b_leads,
                                  const weft_extent *label_extents)
{
    uint32_t items[7][WEFT_MAX_RANK];
    einsum_labels shared = {0, items[0]}, summed = {0, items[1]}, batch = {0, items[2]}, free = {0, items[3]};
    einsum_labels left = {0, items[4]}, right = {0, items[5]}, made = {0, items[6]};
    append(b_leads ? b.labels : a.labels, b_leads ? a.labels : b.labels, true, &shared);
    append(shared, result, false, &summed);
    if (summed.count == 0) return multiply_elements(a, b, result, label_extents);
    append(result, shared, true, &batch);
    append(result, b.labels, false, &free);
    append_all(batch, &left);
    append_all(free, &left);
    append_all(left, &made);
    append_all(summed, &left);
    append_all(batch, &right);
    append_all(summed, &right);
    append(result, a.labels, false, &right);
    append(result, a.labels, false, &made);
    weft_tensor x = einsum_value_spread(a, left, label_extents), y = einsum_value_spread(b, right, label_extents);
    weft_tensor dot = multiply_matrices(x, y, batch.count, free.count, summed.count);
    return einsum_value_spread((einsum_value){dot, made}, result, label_extents);
}
