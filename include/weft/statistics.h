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

/* ---- moments: two passes, so that a large mean costs no digits ---- */
/* The mean of nothing is NaN. */
weft_tensor weft_mean(weft_tensor x, weft_ints axes, bool keep);
/* sum((x - mean)^2) / max(n - correction, 0): correction 0 for the whole, 1 for a sample. NaN where n <= correction and
 * the sum is 0. */
weft_tensor weft_variance(weft_tensor x, weft_ints axes, int64_t correction, bool keep);
/* sqrt(variance). */
weft_tensor weft_standard_deviation(weft_tensor x, weft_ints axes, int64_t correction, bool keep);

/* log(sum(exp(x))), shifted by the greatest element. -inf for nothing and where all are -inf, inf where one is inf; NaN
 * stays. */
weft_tensor weft_logsumexp(weft_tensor x, weft_ints axes, bool keep);

/* The vector norm of order p over `axes`: 1, 2, INFINITY (greatest absolute value), -INFINITY (least), 0 (how many are
 * not 0). No scaling: the squares of p = 2 may overflow. Of nothing it is 0, of order -INFINITY inf. */
weft_tensor weft_norm(weft_tensor x, weft_ints axes, double p, bool keep);

/* How many elements are not 0 (NaN is not 0), as i64; any dtype. */
weft_tensor weft_count_nonzero(weft_tensor x, weft_ints axes, bool keep);

/* The same calls with the caller's place attached to errors. */
#ifndef WEFT_NO_PLACES
#define weft_mean(...) WEFT_PLACED_(weft_mean(__VA_ARGS__))
#define weft_variance(...) WEFT_PLACED_(weft_variance(__VA_ARGS__))
#define weft_standard_deviation(...) WEFT_PLACED_(weft_standard_deviation(__VA_ARGS__))
#define weft_logsumexp(...) WEFT_PLACED_(weft_logsumexp(__VA_ARGS__))
#define weft_norm(...) WEFT_PLACED_(weft_norm(__VA_ARGS__))
#define weft_count_nonzero(...) WEFT_PLACED_(weft_count_nonzero(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif
#endif
