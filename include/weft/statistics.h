/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_STATISTICS_H
#define WEFT_STATISTICS_H
/*
 * Statistics, composed of the primitives of ops.h, whose rules hold here too. `axes` must be distinct; `keep` leaves
 * extents of one. Operands are floats unless the text says otherwise (WEFT_DTYPE_MISMATCH); f16 and bf16 compute in f32
 * and round once at the end.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- moments: two passes, so that a large mean does not cost precision ---- */
/* The mean of nothing is NaN. */
weft_tensor weft_mean(weft_tensor x, weft_ints axes, bool keep);
/* sum((x - mean)^2) / max(n - correction, 0): correction 0 for a population, 1 for a sample. NaN where n <= correction
 * and the sum is 0. */
weft_tensor weft_variance(weft_tensor x, weft_ints axes, int64_t correction, bool keep);
/* sqrt(variance). */
weft_tensor weft_standard_deviation(weft_tensor x, weft_ints axes, int64_t correction, bool keep);

/* log(sum(exp(x))), shifted by the greatest element. -inf for no elements and where all are -inf, inf where one is inf;
 * NaN propagates. */
weft_tensor weft_logsumexp(weft_tensor x, weft_ints axes, bool keep);

/* The vector norm of order p over `axes`: 1, 2, INFINITY (greatest absolute value), -INFINITY (least), 0 (how many are
 * not 0), otherwise sum(|x|^p)^(1/p). No scaling: the squares of p = 2 may overflow, or vanish. Of nothing it is 0, of
 * a negative order inf. */
weft_tensor weft_norm(weft_tensor x, weft_ints axes, double p, bool keep);

/* The number of elements that are not 0 (NaN is not 0), as i64; any dtype. */
weft_tensor weft_count_nonzero(weft_tensor x, weft_ints axes, bool keep);

/* ---- order ---- */
/* The q-quantile (q in [0, 1]) along `axis`, linearly interpolated between neighbours (numpy's "linear"); where their
 * difference is infinite, low * (1 - t) + high * t. NaN if any element is NaN; needs at least one element.
 */
weft_tensor weft_quantile(weft_tensor x, double q, int64_t axis, bool keep);
/* quantile 1/2. */
weft_tensor weft_median(weft_tensor x, int64_t axis, bool keep);
/* The k greatest elements along `axis`, or the least if `smallest`, best first; writes their positions (i64; may be
 * NULL). Equal elements keep their order; NaNs come last. Any dtype but complex. */
weft_tensor weft_top_k(weft_tensor x, int64_t axis, weft_extent k, bool smallest, weft_tensor *out_indices);
/* How many elements of `sorted` [..., n], which are ascending with NaN last, come before each value: those less than
 * it, or with `right` not greater. Values are [..., m] with the same leading axes, or of any shape where `sorted` is
 * [n]. i64. A binary search, unrolled to the bit length of n's upper bound: give its symbols tight ranges. */
weft_tensor weft_searchsorted(weft_tensor sorted, weft_tensor values, bool right);

/* ---- counting ---- */
/* How often each of 0 .. count - 1 is in x (integers of any shape), as i64 [count]; other numbers are not counted. With
 * weights (WEFT_NO_TENSOR: none), which broadcast to x, sums of weights instead, added in order. The distinct values of
 * x are those whose count is not 0. */
weft_tensor weft_bincount(weft_tensor x, weft_extent count, weft_tensor weights);
/*
 * The different elements of x (anything ordered, any shape), ascending, NaN once and last, as [size]; writes how often
 * each occurs (i64 [size]; may be NULL). If there are more than `size`, the first are returned; if there are fewer, the
 * rest are zeros with count 0.
 */
weft_tensor weft_unique(weft_tensor x, weft_extent size, weft_tensor *out_counts);
/*
 * How many elements of x (integers or floats of any shape) lie in each of `bins` equal bins from `low` to `high`, as
 * i64 [bins]. Bin i is from edge i up to edge i + 1, which only the last bin includes. As in numpy edge i is
 * low + i * ((high - low) / bins), computed in f64 and rounded to the dtype of x, the last one is `high` so rounded,
 * and where low == high the bins are from low - 0.5 to high + 0.5. Of integers the edges stay f64, and of 16-bit floats
 * they are f32 (or f64) where `low` or `high` would be infinite; x is compared as an f64. Other elements, NaN among
 * them, are not counted. INVALID_ARGUMENT: fewer bins than 1 or more than 2^63 - 2, `low` above `high`, one of them
 * NaN, their distance infinite, or low == high of such a size that f64 does not tell low - 0.5 from high + 0.5.
 */
weft_tensor weft_histogram(weft_tensor x, int64_t bins, double low, double high);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_mean(...) WEFT_LOCATED_(mean, __VA_ARGS__)
#define weft_variance(...) WEFT_LOCATED_(variance, __VA_ARGS__)
#define weft_standard_deviation(...) WEFT_LOCATED_(standard_deviation, __VA_ARGS__)
#define weft_logsumexp(...) WEFT_LOCATED_(logsumexp, __VA_ARGS__)
#define weft_norm(...) WEFT_LOCATED_(norm, __VA_ARGS__)
#define weft_count_nonzero(...) WEFT_LOCATED_(count_nonzero, __VA_ARGS__)
#define weft_quantile(...) WEFT_LOCATED_(quantile, __VA_ARGS__)
#define weft_median(...) WEFT_LOCATED_(median, __VA_ARGS__)
#define weft_top_k(...) WEFT_LOCATED_(top_k, __VA_ARGS__)
#define weft_searchsorted(...) WEFT_LOCATED_(searchsorted, __VA_ARGS__)
#define weft_bincount(...) WEFT_LOCATED_(bincount, __VA_ARGS__)
#define weft_unique(...) WEFT_LOCATED_(unique, __VA_ARGS__)
#define weft_histogram(...) WEFT_LOCATED_(histogram, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
