/* SPDX-License-Identifier: Apache-2.0 */
/* Moments and norms. */
#include <weft/statistics.h>
#include <inttypes.h>
#include <math.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

/* Common prologue: an operand of floats, widened, and its axes. */
typedef struct subject {
    weft_tensor x;
    weft_axis_list axes;
    weft_ints along;
} subject;

static bool begin(const char *function, weft_tensor x, weft_ints axes, subject *out_subject)
{
    bool fine = weft_composite_begin(function, 1, 1, &x) && weft_composite_wants_float(function, "the operand", x) &&
                weft_axes_normalize(x.graph, function, axes, weft_tensor_rank(x), &out_subject->axes);
    if (!fine) return false;
    out_subject->x = weft_composite_widen(x);
    out_subject->along = weft_axis_list_ints(&out_subject->axes);
    return true;
}

/* `x` with its axes gone unless they are kept, in the dtype of `like`. */
static weft_tensor end(const subject *s, weft_tensor kept, bool keep, weft_tensor like)
{
    weft_extent extents[WEFT_MAX_RANK];
    bool gone[WEFT_MAX_RANK] = {false};
    weft_shape shape = weft_tensor_shape(kept);
    size_t rank = 0;
    if (!weft_tensor_is_valid(kept)) return kept;
    for (size_t i = 0; i < s->axes.count; i++) gone[s->axes.items[i]] = !keep;
    for (size_t i = 0; i < shape.rank; i++) {
        if (!gone[i]) extents[rank++] = shape.extents[i];
    }
    weft_tensor x = rank == shape.rank ? kept : weft_reshape(kept, (weft_shape){rank, extents});
    return weft_composite_cast(x, weft_tensor_dtype(like));
}

/* ---- moments ---- */

static weft_tensor mean_of(const subject *s)
{
    weft_tensor sum = weft_reduce_sum(s->x, s->along, true);
    return weft_div(sum, weft_extent_like(sum, weft_extent_along(s->x, s->along)));
}

weft_tensor weft_composite_freedom(weft_tensor x, weft_ints axes, int64_t correction, weft_tensor like)
{
    weft_extent freedom = weft_extent_sub(weft_extent_along(x, axes), weft_extent_of(correction));
    return weft_extent_like(like, weft_extent_max(freedom, weft_extent_of(0)));
}

static weft_tensor variance_of(const char *function, const subject *s, int64_t correction)
{
    weft_extent count = weft_extent_along(s->x, s->along);
    weft_extent freedom = weft_extent_sub(count, weft_extent_of(correction));
    if (!weft_extent_is_valid(freedom)) {
        return weft_trace_fail(s->x.graph, WEFT_OUT_OF_RANGE, function,
                               "the correction is %" PRId64 ": %s elements less that many do not fit an int64",
                               correction, weft_extent_describe(count).text);
    }
    weft_tensor centered = weft_sub(s->x, mean_of(s));
    weft_tensor sum = weft_reduce_sum(weft_mul(centered, centered), s->along, true);
    return weft_div(sum, weft_composite_freedom(s->x, s->along, correction, sum));
}

/* `moment`, with a rule of its own. */
static weft_tensor moment_as(weft_composed_id function, const subject *s, int64_t correction, weft_tensor moment)
{
    const weft_attr attrs[] = {{.ints = s->along}, {.integer = correction}};
    return weft_composite_as(function, WEFT_TENSORS(s->x), attrs, moment);
}

weft_tensor weft_mean(weft_tensor x, weft_ints axes, bool keep)
{
    subject s;
    if (!begin("mean", x, axes, &s)) return weft_tensor_failed(x.graph);
    return end(&s, mean_of(&s), keep, x);
}

weft_tensor weft_variance(weft_tensor x, weft_ints axes, int64_t correction, bool keep)
{
    subject s;
    if (!begin("variance", x, axes, &s)) return weft_tensor_failed(x.graph);
    weft_tensor variance = variance_of("variance", &s, correction);
    return end(&s, moment_as(WEFT_COMPOSED_variance, &s, correction, variance), keep, x);
}

weft_tensor weft_standard_deviation(weft_tensor x, weft_ints axes, int64_t correction, bool keep)
{
    subject s;
    if (!begin("standard_deviation", x, axes, &s)) return weft_tensor_failed(x.graph);
    weft_tensor root = weft_sqrt(variance_of("standard_deviation", &s, correction));
    return end(&s, moment_as(WEFT_COMPOSED_standard_deviation, &s, correction, root), keep, x);
}

weft_tensor weft_composite_sum_of_powers(weft_tensor x, weft_tensor greatest, weft_ints axes)
{
    /* What is infinite itself would be inf - inf. */
    weft_tensor powers = weft_exp(weft_sub(x, greatest));
    return weft_reduce_sum(weft_select(weft_eq(x, greatest), weft_scalar_like(x, 1), powers), axes, true);
}

weft_tensor weft_logsumexp(weft_tensor x, weft_ints axes, bool keep)
{
    subject s;
    if (!begin("logsumexp", x, axes, &s)) return weft_tensor_failed(x.graph);
    weft_tensor greatest = weft_reduce_max(s.x, s.along, true);
    weft_tensor y = weft_add(weft_log(weft_composite_sum_of_powers(s.x, greatest, s.along)), greatest);
    y = weft_composite_as(WEFT_COMPOSED_logsumexp, WEFT_TENSORS(s.x), &(weft_attr){.ints = s.along}, y);
    return end(&s, y, keep, x);
}

/* ---- norms ---- */

static weft_tensor count_of(weft_tensor x, weft_ints axes, bool keep, weft_dtype dtype)
{
    return weft_reduce_sum(weft_cast(weft_ne(x, weft_scalar_like(x, 0)), dtype), axes, keep);
}

static weft_tensor norm_of_order(const subject *s, weft_tensor sizes, double p)
{
    weft_tensor powers = p == 2 ? weft_mul(s->x, s->x) : weft_pow(sizes, weft_scalar_like(sizes, p));
    weft_tensor sum = weft_reduce_sum(powers, s->along, true);
    weft_tensor norm = p == 2 ? weft_sqrt(sum) : weft_pow(sum, weft_scalar_like(sum, 1 / p));
    const weft_attr attrs[] = {{.ints = s->along}, {.real = p}};
    return weft_composite_as(WEFT_COMPOSED_norm, WEFT_TENSORS(s->x), attrs, norm);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_norm, (weft_tensor x, weft_ints axes, double p, bool keep), (x, axes, p, keep))
{
    subject s;
    if (!begin("norm", x, axes, &s)) return weft_tensor_failed(x.graph);
    weft_tensor sizes = weft_abs(s.x), norm;
    if (isnan(p)) return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "norm", "%s", "the order is NaN");
    if (p == 0) norm = count_of(s.x, s.along, true, weft_tensor_dtype(s.x));
    else if (p == 1) norm = weft_reduce_sum(sizes, s.along, true);
    else if (p == INFINITY) norm = weft_max(weft_reduce_max(sizes, s.along, true), weft_scalar_like(s.x, 0));
    else if (p == -INFINITY) norm = weft_reduce_min(sizes, s.along, true);
    else norm = norm_of_order(&s, sizes, p);
    return end(&s, norm, keep, x);
}

weft_tensor weft_count_nonzero(weft_tensor x, weft_ints axes, bool keep)
{
    weft_axis_list list;
    if (!weft_composite_begin("count_nonzero", 1, 1, &x) ||
        !weft_axes_normalize(x.graph, "count_nonzero", axes, weft_tensor_rank(x), &list)) {
        return weft_tensor_failed(x.graph);
    }
    return count_of(x, weft_axis_list_ints(&list), keep, WEFT_I64);
}
