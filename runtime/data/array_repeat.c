/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether elements of a layout share a place: two index vectors with the same offset differ by a vector d that is not
 * 0, |d_k| < extent_k, with sum d_k stride_k = 0. Most layouts nest: sorted by stride, each axis steps over all that
 * the shorter ones reach, and there is no such d. For others d is searched for, depth first from the longest stride on.
 * What d_k may be follows from the reach of the shorter axes, which have to make up for it, and from the greatest
 * common divisor of their strides, which has to divide what is left.
 */
#include "runtime/data/array.h"

__extension__ typedef __int128 wide;

/* A search of that many steps takes 0.1 ms. Two axes need three; those that need more than all of them are refused. */
enum { MOST_NODES = 4096 };

typedef struct repeat_axis {
    int64_t stride, last; /* magnitude; the greatest index */
    size_t number;
    int64_t reach, divisor;  /* of this and all shorter axes: the greatest offset, divisor of the strides (0: none) */
    int64_t period, inverse; /* d_k is determined modulo `period`, as a multiple of `inverse` */
} repeat_axis;

typedef struct repeat_search {
    size_t count;
    repeat_axis axes[WEFT_MAX_RANK + 1]; /* by decreasing stride, then one without elements */
    int nodes;
    size_t first; /* axis at which d begins */
} repeat_search;

typedef enum repeat_result { REPEAT_NONE, REPEAT_FOUND, REPEAT_UNDECIDED } repeat_result;

/* The axes with more than one element. */
static void sort_axes(const weft_array *array, repeat_search *search)
{
    const int64_t *shape = weft_array_shape(array), *strides = weft_array_strides(array);
    search->count = 0;
    for (size_t i = 0; i < weft_array_rank(array); i++) {
        if (shape[i] == 1) continue;
        int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
        size_t at = search->count++;
        for (; at > 0 && search->axes[at - 1].stride < stride; at--) search->axes[at] = search->axes[at - 1];
        search->axes[at] = (repeat_axis){.stride = stride, .last = shape[i] - 1, .number = i};
    }
    search->axes[search->count] = (repeat_axis){0};
}

/* Fills `reach`. */
static bool nests(repeat_search *search)
{
    bool nested = true;
    for (size_t i = search->count; i-- > 0;) {
        repeat_axis *axis = &search->axes[i];
        nested &= axis->stride > axis[1].reach;
        axis->reach = axis->last * axis->stride + axis[1].reach;
    }
    return nested;
}

/* The greatest common divisor of a > 0 and b, and x with a * x = it (modulo b, if b is not 0). */
static int64_t divide_euclid(int64_t a, int64_t b, int64_t *out_x)
{
    int64_t x = 1, next_x = 0;
    while (b != 0) {
        int64_t quotient = a / b, rest = a % b, rest_x = x - quotient * next_x;
        a = b, b = rest;
        x = next_x, next_x = rest_x;
    }
    *out_x = x;
    return a;
}

/* For d_k * stride_k = rest modulo the divisor of the shorter axes, where rest is a multiple of the axis's own. */
static void fill_divisors(repeat_search *search)
{
    for (size_t i = search->count; i-- > 0;) {
        repeat_axis *axis = &search->axes[i];
        int64_t shorter = axis[1].divisor;
        axis->divisor = divide_euclid(axis->stride, shorter, &axis->inverse);
        axis->period = shorter == 0 ? 1 : shorter / axis->divisor;
    }
}

static wide floor_divide(wide a, int64_t b)
{
    return a / b - (a % b < 0);
}

static wide floor_modulo(wide a, int64_t b)
{
    return a - floor_divide(a, b) * b;
}

/* The part of d from axis `at` on, with sum d_k stride_k = rest, which it can reach and its divisor divides. As d and
 * -d are both or neither there, d begins with a positive number. */
static repeat_result find_difference(repeat_search *search, size_t at, int64_t rest, bool begun)
{
    const repeat_axis *axis = &search->axes[at], *shorter = axis + 1;
    if (at == search->count) return begun ? REPEAT_FOUND : REPEAT_NONE;
    if (search->nodes++ == MOST_NODES) return REPEAT_UNDECIDED;
    wide low = begun ? -floor_divide((wide)shorter->reach - rest, axis->stride) : 0;
    wide high = floor_divide((wide)rest + shorter->reach, axis->stride);
    if (low < -axis->last) low = -axis->last;
    if (high > axis->last) high = axis->last;
    wide solution = floor_modulo((wide)(rest / axis->divisor) * axis->inverse, axis->period);
    for (wide d = low + floor_modulo(solution - low, axis->period); d <= high; d += axis->period) {
        if (!begun) search->first = axis->number;
        repeat_result result = find_difference(search, at + 1, (int64_t)(rest - d * axis->stride), begun || d != 0);
        if (result != REPEAT_NONE) return result;
    }
    return REPEAT_NONE;
}

static repeat_result search_repeat(repeat_search *search)
{
    const repeat_axis *shortest = &search->axes[search->count - 1];
    if (nests(search)) return REPEAT_NONE;
    if (shortest->stride == 0) {
        search->first = shortest->number;
        return REPEAT_FOUND;
    }
    fill_divisors(search);
    search->nodes = 0;
    return find_difference(search, 0, 0, false);
}

const char *weft_array_find_repeat(const weft_array *array, size_t *out_axis)
{
    repeat_search search;
    if (weft_array_is_contiguous(array)) return NULL;
    sort_axes(array, &search);
    repeat_result result = search_repeat(&search);
    if (result == REPEAT_NONE) return NULL;
    *out_axis = search.first;
    return result == REPEAT_FOUND ? "addresses elements twice" : "may address elements twice";
}
