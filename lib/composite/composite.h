/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPOSITE_COMPOSITE_H
#define WEFT_LIB_COMPOSITE_COMPOSITE_H
/* Helpers of tracing functions that are composed of others. Function names are as in messages. */
#include "lib/trace/trace.h"
#include "runtime/base/float_bits.h"

/* Whether all operands are valid and of one graph, which every composition asks first. After the first `needed` ones
 * WEFT_NO_TENSOR counts as well. Missing and foreign operands are an error of `function`. */
bool weft_composite_begin(const char *function, size_t needed, size_t count, const weft_tensor *operands);
/* The same where messages have `names` instead of numbers. */
bool weft_composite_begin_named(const char *function, size_t needed, size_t count, const weft_tensor *operands,
                                const char *const *names);
/* Whether `x`, called `name` in the error, is of floats, or of integers. */
bool weft_composite_wants_float(const char *function, const char *name, weft_tensor x);
bool weft_composite_wants_integer(const char *function, const char *name, weft_tensor x);
/* Whether `x` has rank `least` at least. */
bool weft_composite_wants_rank(const char *function, const char *name, weft_tensor x, size_t least);
/* Whether `x` can be compared, or is no bool. */
bool weft_composite_wants_order(const char *function, const char *name, weft_tensor x);
bool weft_composite_wants_number(const char *function, const char *name, weft_tensor x);
/* An operand and what messages call it. */
typedef struct weft_named {
    const char *name;
    weft_tensor tensor;
} weft_named;
/* Whether `x` has the dtype of `like`; whether an axis of x may have the extent of one of `like`. */
bool weft_composite_wants_dtype(const char *function, weft_named x, weft_named like);
bool weft_composite_wants_extent(const char *function, weft_named x, int64_t axis, weft_named like, int64_t like_axis);
/* Whether both broadcast together; whether `x` broadcasts to the shape of `in`. */
bool weft_composite_wants_broadcast(const char *function, weft_named x, weft_named y);
bool weft_composite_wants_fit(const char *function, weft_named x, weft_named in);
/* Whether an extent is valid and of `graph`. */
bool weft_composite_wants_own(weft_graph *graph, const char *function, const char *name, weft_extent extent);
/* Whether a number of something is so, and none below 0; whether each of a list is. */
bool weft_composite_wants_count(weft_graph *graph, const char *function, const char *name, weft_extent count);
bool weft_composite_wants_counts(weft_graph *graph, const char *function, const char *name, weft_shape counts);
bool weft_composite_is_absent(weft_tensor x);

/* `x`, or its cast where the dtype differs. */
weft_tensor weft_composite_cast(weft_tensor x, weft_dtype dtype);
/* The cast to weft_accumulator_dtype. */
weft_tensor weft_composite_widen(weft_tensor x);

/* `result`, differentiated by the rule that lib/grad has for the function of these operands, which may be absent. */
weft_tensor weft_composite_as(weft_composed_id function, weft_tensors operands, const weft_attr *attrs,
                              weft_tensor result);

/* The loop that `result` is of, differentiated likewise; false with an error. */
bool weft_composite_fold_as(weft_composed_id function, const weft_attr *attrs, weft_tensor result);

/* log(1 + exp(x)), with `size` the magnitude of x, which several may share. */
weft_tensor weft_composite_softplus(weft_tensor x, weft_tensor size);
/* x less its mean along `axes`, or x, and the inverse root of the mean square of that and `epsilon`: their product is
 * the normalised x. */
typedef struct weft_normal {
    weft_tensor centered, factor;
} weft_normal;
weft_normal weft_composite_normal(weft_tensor x, weft_ints axes, double epsilon, bool centers);
/* The number of elements along `axes` less a correction, 0 where that is more, of the dtype of `like`. */
weft_tensor weft_composite_freedom(weft_tensor x, weft_ints axes, int64_t correction, weft_tensor like);
/* The sum along `axes` of exp(x - greatest): the number of the greatest where these are infinite. Kept. */
weft_tensor weft_composite_sum_of_powers(weft_tensor x, weft_tensor greatest, weft_ints axes);

/* An optional operand that goes with `x`, of its dtype or of the one it is widened to: cast to the latter. False with
 * an error. WEFT_NO_TENSOR stays that. */
bool weft_composite_join(const char *function, const char *name, weft_named x, weft_tensor *operand);

/* a + (b - a) * t of floats, from the nearer end: t = 1 gives b. */
weft_tensor weft_composite_between(weft_tensor a, weft_tensor b, weft_tensor t);
/* A scalar of the dtype of `x`. */
weft_tensor weft_scalar_like(weft_tensor x, double value);
weft_tensor weft_extent_like(weft_tensor x, weft_extent extent);

weft_extent weft_extent_plus(weft_extent extent, int64_t value);
weft_extent weft_extent_times(weft_extent extent, int64_t value);
/* Rounded up, by a positive divisor. */
weft_extent weft_extent_ceil_div(weft_extent extent, int64_t divisor);
/* Product of the extents of `shape` in [first, last). */
weft_extent weft_extent_product(weft_shape shape, size_t first, size_t last);
/* The number of elements that a reduction over `axes` combines. */
weft_extent weft_extent_along(weft_tensor x, weft_ints axes);
static inline bool weft_extent_is_value(weft_extent extent, int64_t value)
{
    int64_t known;
    return weft_extent_is_static(extent, &known) && known == value;
}

static inline weft_ints weft_axis_list_ints(const weft_axis_list *axes)
{
    return (weft_ints){axes->count, axes->items};
}
/* Axes first .. last - 1. */
weft_axis_list weft_axis_range(size_t first, size_t last);

/* x, whose axes are axes `first` and following of a shape of rank `rank`, with extents of one around it. */
weft_tensor weft_composite_align(weft_tensor x, size_t first, size_t rank);
/* `x` with axis `axis` as the axes `extents`, whose product it is. */
weft_tensor weft_composite_unravel(weft_tensor x, size_t axis, size_t count, const weft_extent *extents);
/* `x` with axes first .. last - 1 as one. */
weft_tensor weft_composite_ravel(weft_tensor x, size_t first, size_t last);
/* The index along `axis` as an i64 of x's rank, with extents of one elsewhere. */
weft_tensor weft_composite_positions(weft_tensor x, size_t axis);
#endif
