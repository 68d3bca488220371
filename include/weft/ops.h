/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_OPS_H
#define WEFT_OPS_H
/*
 * Tracing functions of the primitives. Functions composed of them are in shape.h, linear.h, statistics.h, nn.h and
 * others.
 *
 * Every one returns a tensor of the graph of its operands; a failed operand gives a failed result.
 *
 * Rules that hold throughout:
 *  - operands must belong to one graph and have equal dtypes unless stated; casts are explicit (WEFT_DTYPE_MISMATCH);
 *  - elementwise functions of several operands take numbers for all of these but one: weft_mul(x, 2.5) (operand.h);
 *  - elementwise operands broadcast as in numpy: shapes are aligned at the right, an extent that is statically 1
 *    stretches, others must be equal, which is checked while tracing where it can be and otherwise becomes a guard;
 *  - axes may be negative, counting from the end; out of range is WEFT_OUT_OF_RANGE;
 *  - integer arithmetic wraps; integer division is floor division and division by zero is a run-time error;
 *  - max and min return NaN when either operand is NaN, and either zero of two that differ in sign; comparisons with
 *    NaN are false, except ne.
 */
#include <weft/graph.h>
#include <weft/operand.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- leaves ---- */
/* An input of the program. The same name and type give the same input; another type is an error. A name is a letter or
 * _ followed by letters, digits, _ or dots. */
weft_tensor weft_input(weft_graph *graph, const char *name, weft_dtype dtype, weft_shape shape);
/* A constant with a copy of `data`, row-major; `shape` must be static. Bools are bytes 0 and 1; others are
 * WEFT_INVALID_ARGUMENT. */
weft_tensor weft_constant(weft_graph *graph, weft_dtype dtype, weft_ints shape, const void *data);
/* `value` converted to `dtype`, rank 0, as weft_cast does from an f64: into integers it is truncated toward zero,
 * values out of range saturate (300 as u8 is 255) and NaN becomes 0; into bool it is false for 0 alone; into floats it
 * is rounded once, to nearest even, and may become infinite; into complex dtypes it is the real part. None of this is
 * an error, in contrast to numbers as operands (operand.h), which must fit. */
weft_tensor weft_scalar(weft_graph *graph, weft_dtype dtype, double value);
weft_tensor weft_full(weft_graph *graph, weft_dtype dtype, double value, weft_shape shape);
/* The index along `axis`, converted to `dtype`. */
weft_tensor weft_iota(weft_graph *graph, weft_dtype dtype, weft_shape shape, int64_t axis);
/* An extent as an i64 of rank 0. A run in which it overflows or divides by zero fails (WEFT_OUT_OF_RANGE); a factor
 * that is zero may hide it. */
weft_tensor weft_extent_tensor(weft_graph *graph, weft_extent extent);

/* ---- elementwise ---- */
/* Any dtype but bool. */
weft_tensor weft_neg(weft_tensor x);
/* Any dtype but bool; of a complex one its size, as f32 or f64: sqrt(re^2 + im^2), infinite where a part is. */
weft_tensor weft_abs(weft_tensor x);
/* For floats, like the functions of floats below, and for complex numbers. */
weft_tensor weft_exp(weft_tensor x);
weft_tensor weft_log(weft_tensor x);
weft_tensor weft_tanh(weft_tensor x);
/* For floats, correctly rounded, and for complex numbers. */
weft_tensor weft_sqrt(weft_tensor x);
/* The parts of complex numbers, as f32 for c64 and f64 for c128; other dtypes have none. */
weft_tensor weft_real(weft_tensor x);
weft_tensor weft_imag(weft_tensor x);
/* re + im i: c64 from f32, c128 from f64. */
weft_tensor weft_complex(weft_tensor re, weft_tensor im);
/* re - im i, of complex numbers only. */
weft_tensor weft_conj(weft_tensor x);
/* atan2(im, re), of complex numbers only, as f32 or f64: in [-pi, pi], the zeros of both parts by their signs. */
weft_tensor weft_angle(weft_tensor x);
/*
 * exp, log, log2, log10, log1p, pow, sqrt, the circular and hyperbolic functions and their inverses take complex
 * numbers too. With z = x + yi:
 *  - exp(z)  = exp(x) cos(y) + exp(x) sin(y) i
 *  - log(z)  = log(|z|) + atan2(y, x) i               cut along the negative reals, where the sign of y decides
 *  - sqrt(z)   the root with Re >= 0                  the same cut
 *  - sinh(z) = sinh(x) cos(y) + cosh(x) sin(y) i      sin(z)  = -i sinh(iz)
 *  - cosh(z) = cosh(x) cos(y) + sinh(x) sin(y) i      cos(z)  = cosh(iz)
 *  - tanh(z) = (sinh(x) cosh(x) + sin(y) cos(y) i) / (sinh(x)^2 + cos(y)^2)      tan(z) = -i tanh(iz)
 *  - log1p(z) = log(1 + z)                            log2, log10: log(z) over log(2), over log(10)
 *  - asin(z), acos(z)  as Hull, Fairgrieve and Tang (1997), cut beyond -1 and 1 along the reals
 *  - atanh(z) = log(1 + 4x / ((1 - x)^2 + y^2)) / 4 + atan2(2y, (1 - x) (1 + x) - y^2) / 2 i     the same cuts
 *  - asinh(z) = -i asin(iz), atan(z) = -i atanh(iz)   cut beyond -i and i
 *  - acosh(z) = +-i acos(z) with Re >= 0              cut below 1
 *  - pow(a, b) = exp(b log(a)), the principal value   cut as log(a); the product is the plain formula
 * Each part is near its exact value: the bounds are in lib/math/math.def, and hold where |z| is close to 1 (log), next
 * to poles (tan, tanh, atan, atanh) and to the ends of cuts, and where only a factor overflows (up to parts of 1300).
 * The error of pow is relative to the whole number and grows with |b log(a)|; it is no sharper for small integer
 * exponents: multiply instead.
 *
 * Special values of all but pow are those of C's Annex G; signs it leaves open are those of the formula. pow is NaN
 * where the formula is; pow(a, 0) is 1, pow(0, b) is 0 if Re(b) > 0 and otherwise NaN, as in numpy.
 */
/*
 * Functions of floats. Their errors are at most 1 ulp in f32 and 1.5 in f64; lib/math/math.def in the sources has the
 * bound of each. Signed zeros, infinities and NaN are as Annex F of the C standard has them.
 */
weft_tensor weft_exp2(weft_tensor x);
weft_tensor weft_expm1(weft_tensor x); /* exp(x) - 1 without cancellation */
weft_tensor weft_log2(weft_tensor x);
weft_tensor weft_log10(weft_tensor x);
weft_tensor weft_log1p(weft_tensor x); /* log(1 + x) without cancellation */
weft_tensor weft_rsqrt(weft_tensor x); /* 1 / sqrt(x); of a zero the infinity of its sign */
weft_tensor weft_cbrt(weft_tensor x);
weft_tensor weft_sinh(weft_tensor x);
weft_tensor weft_cosh(weft_tensor x);
weft_tensor weft_asinh(weft_tensor x);
weft_tensor weft_acosh(weft_tensor x);
weft_tensor weft_atanh(weft_tensor x);
weft_tensor weft_sigmoid(weft_tensor x); /* 1 / (1 + exp(-x)) */
/* To integral values, exactly: down, up, to the nearest with ties to even, toward zero. */
weft_tensor weft_floor(weft_tensor x);
weft_tensor weft_ceil(weft_tensor x);
weft_tensor weft_round(weft_tensor x);
weft_tensor weft_trunc(weft_tensor x);
/* -1, 0 or 1; zeros and NaN are their own signs. Floats and integers; complex numbers have none. */
weft_tensor weft_sign(weft_tensor x);
/* The results are bool. Of floats and complex numbers: whether a part is NaN, whether both are finite. */
weft_tensor weft_is_nan(weft_tensor x);
weft_tensor weft_is_finite(weft_tensor x);
/* The number of one bits of an integer, in its own dtype. */
weft_tensor weft_population_count(weft_tensor x);
/* Angles are in radians; the argument is reduced exactly, however large. Infinities give NaN. */
weft_tensor weft_sin(weft_tensor x);
weft_tensor weft_cos(weft_tensor x);
weft_tensor weft_tan(weft_tensor x);
/* NaN outside of [-1, 1]. asin and atan lie in [-pi/2, pi/2], acos in [0, pi]. */
weft_tensor weft_asin(weft_tensor x);
weft_tensor weft_acos(weft_tensor x);
weft_tensor weft_atan(weft_tensor x);
/* The angle of the point (x, y), in [-pi, pi], the sign of y its own; zeros count by their signs: atan2(+-0, -0) is
 * +-pi, atan2(+-0, +0) is +-0. Two infinities count as equal. */
weft_tensor weft_atan2(weft_tensor y, weft_tensor x);
/* 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x, and one minus that, accurate in the far tail too. */
weft_tensor weft_erf(weft_tensor x);
weft_tensor weft_erfc(weft_tensor x);
/* The logarithm of |gamma(x)|: infinite at zero, at negative integers and at both infinities. */
weft_tensor weft_lgamma(weft_tensor x);
/* The gamma function: +-infinity at +-0, NaN at negative integers and at -infinity. */
weft_tensor weft_tgamma(weft_tensor x);
/* The derivative of log(gamma(x)): -+infinity at +-0, NaN at negative integers and at -infinity. */
weft_tensor weft_digamma(weft_tensor x);
weft_tensor weft_not(weft_tensor x); /* bool: logical; integers: bitwise */
/* Any dtype but bool. */
weft_tensor weft_add(weft_tensor a, weft_tensor b);
weft_tensor weft_sub(weft_tensor a, weft_tensor b);
weft_tensor weft_mul(weft_tensor a, weft_tensor b);
/* Of complex numbers a conj(b) / |b|^2; by zero and by infinities each part is divided by |b|, NaN in b makes both NaN.
 * Intermediate squares and products do not overflow or underflow, even of c128. Digits of the smaller part of b are
 * lost if it is 2^1022 times smaller than the other, and of a if its parts differ by 2^1980. */
weft_tensor weft_div(weft_tensor a, weft_tensor b);
/*
 * Remainders. remainder: a - b floor(a / b), with the sign of b, as % of Python and numpy; of floats the exact value is
 * rounded once. fmod: a - b trunc(a / b), with the sign of a, as C's fmod and %; always exact. A zero has the sign that
 * a nonzero remainder would have. Floats: NaN where b is zero or a infinite. Integers: a divisor of zero is an error of
 * the run.
 */
weft_tensor weft_remainder(weft_tensor a, weft_tensor b);
weft_tensor weft_fmod(weft_tensor a, weft_tensor b);
/*
 * a to the power of b. Integers wrap; a negative exponent gives 1 / a^-b truncated toward zero, and 0 where a is 0. A
 * real exponent that is the constant 0, 1, 2, 3, -1, 0.5 or -0.5 takes products, a division or a root; last bits may
 * differ from those of the same exponent as an input.
 */
weft_tensor weft_pow(weft_tensor a, weft_tensor b);
/* The magnitude of a with the sign of b; floats. */
weft_tensor weft_copysign(weft_tensor a, weft_tensor b);
/* Any dtype but complex. */
weft_tensor weft_max(weft_tensor a, weft_tensor b);
weft_tensor weft_min(weft_tensor a, weft_tensor b);
/* bool: logical; integers: bitwise. */
weft_tensor weft_and(weft_tensor a, weft_tensor b);
weft_tensor weft_or(weft_tensor a, weft_tensor b);
weft_tensor weft_xor(weft_tensor a, weft_tensor b);
/* Integers. A right shift of a signed integer copies its sign. A count outside of [0, width) shifts everything out: 0,
 * or -1 where a negative integer is shifted right. */
weft_tensor weft_shift_left(weft_tensor x, weft_tensor count);
weft_tensor weft_shift_right(weft_tensor x, weft_tensor count);
/* Comparisons give bool. eq and ne take any dtype, the others anything ordered: all but complex numbers. */
weft_tensor weft_eq(weft_tensor a, weft_tensor b);
weft_tensor weft_ne(weft_tensor a, weft_tensor b);
weft_tensor weft_lt(weft_tensor a, weft_tensor b);
weft_tensor weft_le(weft_tensor a, weft_tensor b);
weft_tensor weft_gt(weft_tensor a, weft_tensor b);
weft_tensor weft_ge(weft_tensor a, weft_tensor b);
/* condition ? a : b; `condition` is bool. */
weft_tensor weft_select(weft_tensor condition, weft_tensor a, weft_tensor b);
/* To bool: x != 0 (NaN is true). Float to integer: toward zero, saturating, NaN gives 0. Integer to integer: the low
 * bits. To floats: to nearest even, overflow gives infinity, NaN stays NaN. Complex to real drops the imaginary part;
 * complex to bool is true if either part is not 0; real to complex has an imaginary part of 0. */
weft_tensor weft_cast(weft_tensor x, weft_dtype dtype);
/* The same bits as another dtype of the same size: integers and floats. */
weft_tensor weft_bitcast(weft_tensor x, weft_dtype dtype);

/* ---- movement: views, never copies by themselves ---- */
/* The same elements in row-major order under another shape. One extent may be WEFT_INFER. The counts must agree after
 * removing the extents that both shapes have: [m, a] as [m, b] requires a == b, and [m] as [m, 2] is rejected although
 * m might be 0. Only where each shape has an extent that is the constant 0 may the others be anything. */
weft_tensor weft_reshape(weft_tensor x, weft_shape shape);
#define WEFT_INFER (weft_extent_of(-1))
/* Axis i of the result is axis axes[i] of x. */
weft_tensor weft_permute(weft_tensor x, weft_ints axes);
/* numpy's broadcast_to: aligned at the right. */
weft_tensor weft_broadcast(weft_tensor x, weft_shape shape);
/* Axis i of x becomes axis axes[i] (increasing) of a result of `shape`; other axes repeat. Where x's extent is
 * statically 1 it stretches, elsewhere it must equal the result's. */
weft_tensor weft_broadcast_in_dim(weft_tensor x, weft_shape shape, weft_ints axes);
/* Element i of an axis of the result is element starts + i * steps of x, for sizes elements; steps may be negative, not
 * 0 or INT64_MIN. One entry for each axis. Every element addressed must lie inside x. Where sizes is 0, starts may lie
 * up to a step outside: 0 <= starts < extent + steps where the step is positive, steps <= starts < extent where it is
 * negative; a step beyond 2^62 counts as 1 or -1 in this. */
weft_tensor weft_slice(weft_tensor x, weft_shape starts, weft_shape sizes, weft_ints steps);
/* One axis: elements start .. start+size-1. */
weft_tensor weft_narrow(weft_tensor x, int64_t axis, weft_extent start, weft_extent size);
/* Adds low[i] elements before and high[i] after axis i, of `value` (rank 0). Counts may not be negative. */
weft_tensor weft_pad(weft_tensor x, weft_tensor value, weft_shape low, weft_shape high);
/* Reverses x along each of `axes`. */
weft_tensor weft_flip(weft_tensor x, weft_ints axes);
/* Sliding windows: `axis` is replaced by the number of windows, and a new last axis of extent `size` runs through each:
 * result[.., i, .., k] = x[.., i * stride + k * dilation, ..]. There are max(0, floor((n - (size - 1) * dilation - 1) /
 * stride) + 1) windows for an extent of n: only those that lie inside, so none where one would be longer than the axis.
 * All three are at least 1 (a symbolic size: a guard). For windows over the edge weft_pad first. */
weft_tensor weft_window(weft_tensor x, int64_t axis, weft_extent size, int64_t stride, int64_t dilation);
/*
 * The other way: adds windows up where weft_window took them from. x has the windows at `axis`, which counts the axes
 * before the last one, and runs through each along the last axis; the result has `extent` elements at `axis`, and no
 * last axis: result[.., j, ..] is the sum of x[.., i, .., k] over the i and k with j == i * stride + k * dilation, zero
 * where there are none. There must be as many windows as weft_window has in that extent (a guard where that depends on
 * symbols). Any dtype but bool. Terms are added by increasing k, in the way of weft_reduce_sum; where none overlap,
 * which is a stride of the size or more without dilation, elements are copied, with their bits.
 */
weft_tensor weft_window_add(weft_tensor x, int64_t axis, weft_extent extent, int64_t stride, int64_t dilation);
/* Slants x: what lies at k along `along` moves by k * step along `axis`, which gets `extent` elements:
 * result[.., i, .., k, ..] = x[.., i - k * step, .., k, ..], and zero where x has no such element. The two axes differ,
 * in either order; step may be 0 or negative. With -step and the extent that x had it is undone, except for what was
 * cut off. */
weft_tensor weft_shear(weft_tensor x, int64_t axis, int64_t along, int64_t step, weft_extent extent);
/* Joins the operands along `axis`; all other extents must agree. At least one operand. */
weft_tensor weft_concat(weft_tensors operands, int64_t axis);
/* Takes the diagonal i == j of two axes of equal extent: it becomes the lower of the two axes, and the other is
 * removed. */
weft_tensor weft_extract_diagonal(weft_tensor x, int64_t axis_a, int64_t axis_b);
/* Inverse: a new axis at position `new_axis` of the result with the extent of x's `axis`; zero off the diagonal. */
weft_tensor weft_embed_diagonal(weft_tensor x, int64_t axis, int64_t new_axis);

/* ---- indexing by data: indices are i64 or i32. Negative ones count from the end; one outside [-extent, extent) is an
 * error of the run (WEFT_DATA_ERROR) that names the index, its row-major position among the indices, the extent and the
 * axis, where the result has elements. ---- */
/* numpy's take: the result is x with `axis` replaced by the shape of `indices`. */
weft_tensor weft_gather(weft_tensor x, weft_tensor indices, int64_t axis);
/* Several axes at once, each with an index tensor of its own; these broadcast to one shape I. The result has x's shape
 * without `axes` (distinct), with I where the lowest of them was: for axes side by side what numpy gives. */
weft_tensor weft_gather_axes(weft_tensor x, weft_tensors indices, weft_ints axes);

/* How scatters combine an element with an update. */
typedef enum weft_scatter_mode {
    WEFT_SCATTER_SET, /* the update takes its place */
    WEFT_SCATTER_ADD,
    WEFT_SCATTER_MUL,
    WEFT_SCATTER_MAX,
    WEFT_SCATTER_MIN
} weft_scatter_mode;
/*
 * x with `updates` scattered into it; they have x's dtype and the shape of weft_gather_axes(x, indices, axes). Updates
 * of one element are applied in row-major order, so SET keeps the last one; each is one elementwise add, mul, max or
 * min that rounds to the dtype. Bit-identical for any number of threads. BOOL takes SET, MAX and MIN, complex dtypes
 * SET, ADD and MUL.
 */
weft_tensor weft_scatter(weft_tensor x, weft_tensors indices, weft_ints axes, weft_tensor updates,
                         weft_scatter_mode mode);
/* numpy's take_along_axis: result[.., i, ..] = x[.., indices[.., i, ..], ..] along `axis`. The indices have x's rank;
 * along other axes the two broadcast. */
weft_tensor weft_take_along_axis(weft_tensor x, weft_tensor indices, int64_t axis);
/* The other direction: with SET numpy's put_along_axis. The indices have x's rank and broadcast to it along the axes
 * but `axis`, the updates to the indices. */
weft_tensor weft_scatter_along_axis(weft_tensor x, weft_tensor indices, weft_tensor updates, int64_t axis,
                                    weft_scatter_mode mode);
/* weft_gather by a list of indices. */
weft_tensor weft_index_select(weft_tensor x, weft_tensor indices, int64_t axis);
/* x with updates[.., j, ..] added at indices[j] of `axis`; `updates` has weft_gather's shape. */
weft_tensor weft_index_add(weft_tensor x, weft_tensor indices, weft_tensor updates, int64_t axis);
/* sizes[i] elements of axes[i] from starts[i] on, which is an i64 of rank 0; other axes are taken whole. A start
 * outside [0, extent - size] is a run-time error: nothing is clamped, nothing counts from the end. A slice or an
 * update without elements has no such error. */
weft_tensor weft_dynamic_slice(weft_tensor x, weft_tensors starts, weft_ints axes, weft_shape sizes);
/* x with `update` in place of the elements from `starts` on along `axes`. `update` has x's dtype and rank, and x's
 * extents along other axes. */
weft_tensor weft_dynamic_update_slice(weft_tensor x, weft_tensor update, weft_tensors starts, weft_ints axes);

/* ---- reductions: `axes` must be distinct; `keep` leaves extents of one. Of no elements, a sum is 0, a product 1, max
 * and min of floats -inf and +inf, of integers the least and greatest value, any is false, all is true, argmax and
 * argmin are 0. NaN: max and min return it, argmax and argmin return the position of the first. Floats add up and
 * multiply in blocks of blocks, along any axis, so that no chain is long; the order depends only on the graph, except
 * that runtime "ref" uses row-major order. ---- */
/* Any dtype but bool; integers wrap. */
weft_tensor weft_reduce_sum(weft_tensor x, weft_ints axes, bool keep);
weft_tensor weft_reduce_prod(weft_tensor x, weft_ints axes, bool keep);
/* Everything that is ordered: all but complex numbers. */
weft_tensor weft_reduce_max(weft_tensor x, weft_ints axes, bool keep);
weft_tensor weft_reduce_min(weft_tensor x, weft_ints axes, bool keep);
/* bool. */
weft_tensor weft_reduce_any(weft_tensor x, weft_ints axes, bool keep);
weft_tensor weft_reduce_all(weft_tensor x, weft_ints axes, bool keep);
/* Index (i64) of the first greatest or least element along `axis`; anything ordered. */
weft_tensor weft_argmax(weft_tensor x, int64_t axis, bool keep);
weft_tensor weft_argmin(weft_tensor x, int64_t axis, bool keep);

/* ---- scans: element i of `axis` of the result combines the elements up to and with element i, from the first to the
 * last; `reverse`: from the last to the first. `exclusive`: up to but without element i, so that the first one is what
 * a reduction of nothing gives: 0, 1, the least, the greatest value. Combining begins with that value: a sum that
 * begins with -0 is +0. Sums and products combine in the order that the guide's page on numerics describes: the same
 * for any number of threads. bf16 and f16 accumulate in f32, and each result is rounded once; runtime ref accumulates
 * in long double, one element after the other. ---- */
/* Any dtype but bool; integers wrap. */
weft_tensor weft_cumsum(weft_tensor x, int64_t axis, bool reverse, bool exclusive);
weft_tensor weft_cumprod(weft_tensor x, int64_t axis, bool reverse, bool exclusive);
/* Anything ordered; from the first NaN on the result is NaN. */
weft_tensor weft_cummax(weft_tensor x, int64_t axis, bool reverse, bool exclusive);
weft_tensor weft_cummin(weft_tensor x, int64_t axis, bool reverse, bool exclusive);
/*
 * The linear recurrence y[0] = b[0], y[i] = a[i] * y[i - 1] + b[i] along `axis`, or from the last element to the first
 * with `reverse`: y[n - 1] = b[n - 1], y[i] = a[i] * y[i + 1] + b[i]. The first a takes no part, whatever it is. The
 * operands broadcast. Any dtype but bool; integers wrap. Floats take a step with one rounding (fma); f16 and bf16 as
 * above. Complex numbers take the products of a step one by one, which may lose the signs of zeros.
 */
weft_tensor weft_scan_linear(weft_tensor a, weft_tensor b, int64_t axis, bool reverse);

/* ---- sorting: along `axis`, stable in both directions: equal elements keep their order, and so do -0 and +0, which
 * are equal. NaNs come last in both directions. Anything ordered, so no complex numbers. ---- */
weft_tensor weft_sort(weft_tensor x, int64_t axis, bool descending);
/* Where the elements of the sorted axis come from (i64). */
weft_tensor weft_argsort(weft_tensor x, int64_t axis, bool descending);

/* ---- products ---- */
/* Batch axes pair up, contracted axes pair up and are summed; result: batch, free of a, free of b, each in order of
 * appearance. Of bools: whether any pair is true. The order in which terms are added is unspecified, but a product
 * without free axes adds like reduce_sum of mul, in f32 for 16-bit floats. */
typedef struct weft_dot_axes {
    weft_ints batch_a, batch_b, contract_a, contract_b;
} weft_dot_axes;
weft_tensor weft_dot(weft_tensor a, weft_tensor b, weft_dot_axes axes);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define WEFT_LOCATED_(name, ...) WEFT_LOCATED(#name, weft_##name(__VA_ARGS__))
#define weft_input(...) WEFT_LOCATED_(input, __VA_ARGS__)
#define weft_constant(...) WEFT_LOCATED_(constant, __VA_ARGS__)
#define weft_scalar(...) WEFT_LOCATED_(scalar, __VA_ARGS__)
#define weft_full(...) WEFT_LOCATED_(full, __VA_ARGS__)
#define weft_iota(...) WEFT_LOCATED_(iota, __VA_ARGS__)
#define weft_extent_tensor(...) WEFT_LOCATED_(extent_tensor, __VA_ARGS__)
#define weft_neg(...) WEFT_LOCATED_(neg, __VA_ARGS__)
#define weft_abs(...) WEFT_LOCATED_(abs, __VA_ARGS__)
#define weft_exp(...) WEFT_LOCATED_(exp, __VA_ARGS__)
#define weft_log(...) WEFT_LOCATED_(log, __VA_ARGS__)
#define weft_sqrt(...) WEFT_LOCATED_(sqrt, __VA_ARGS__)
#define weft_tanh(...) WEFT_LOCATED_(tanh, __VA_ARGS__)
#define weft_real(...) WEFT_LOCATED_(real, __VA_ARGS__)
#define weft_imag(...) WEFT_LOCATED_(imag, __VA_ARGS__)
#define weft_complex(...) WEFT_LOCATED_TWO_("complex", weft_complex, __VA_ARGS__)
#define weft_conj(...) WEFT_LOCATED_(conj, __VA_ARGS__)
#define weft_angle(...) WEFT_LOCATED_(angle, __VA_ARGS__)
#define weft_exp2(...) WEFT_LOCATED_(exp2, __VA_ARGS__)
#define weft_expm1(...) WEFT_LOCATED_(expm1, __VA_ARGS__)
#define weft_log2(...) WEFT_LOCATED_(log2, __VA_ARGS__)
#define weft_log10(...) WEFT_LOCATED_(log10, __VA_ARGS__)
#define weft_log1p(...) WEFT_LOCATED_(log1p, __VA_ARGS__)
#define weft_rsqrt(...) WEFT_LOCATED_(rsqrt, __VA_ARGS__)
#define weft_cbrt(...) WEFT_LOCATED_(cbrt, __VA_ARGS__)
#define weft_sinh(...) WEFT_LOCATED_(sinh, __VA_ARGS__)
#define weft_cosh(...) WEFT_LOCATED_(cosh, __VA_ARGS__)
#define weft_asinh(...) WEFT_LOCATED_(asinh, __VA_ARGS__)
#define weft_acosh(...) WEFT_LOCATED_(acosh, __VA_ARGS__)
#define weft_atanh(...) WEFT_LOCATED_(atanh, __VA_ARGS__)
#define weft_sigmoid(...) WEFT_LOCATED_(sigmoid, __VA_ARGS__)
#define weft_floor(...) WEFT_LOCATED_(floor, __VA_ARGS__)
#define weft_ceil(...) WEFT_LOCATED_(ceil, __VA_ARGS__)
#define weft_round(...) WEFT_LOCATED_(round, __VA_ARGS__)
#define weft_trunc(...) WEFT_LOCATED_(trunc, __VA_ARGS__)
#define weft_sign(...) WEFT_LOCATED_(sign, __VA_ARGS__)
#define weft_is_nan(...) WEFT_LOCATED_(is_nan, __VA_ARGS__)
#define weft_is_finite(...) WEFT_LOCATED_(is_finite, __VA_ARGS__)
#define weft_population_count(...) WEFT_LOCATED_(population_count, __VA_ARGS__)
#define weft_sin(...) WEFT_LOCATED_(sin, __VA_ARGS__)
#define weft_cos(...) WEFT_LOCATED_(cos, __VA_ARGS__)
#define weft_tan(...) WEFT_LOCATED_(tan, __VA_ARGS__)
#define weft_asin(...) WEFT_LOCATED_(asin, __VA_ARGS__)
#define weft_acos(...) WEFT_LOCATED_(acos, __VA_ARGS__)
#define weft_atan(...) WEFT_LOCATED_(atan, __VA_ARGS__)
#define weft_atan2(...) WEFT_LOCATED_TWO_("atan2", weft_atan2, __VA_ARGS__)
#define weft_erf(...) WEFT_LOCATED_(erf, __VA_ARGS__)
#define weft_erfc(...) WEFT_LOCATED_(erfc, __VA_ARGS__)
#define weft_lgamma(...) WEFT_LOCATED_(lgamma, __VA_ARGS__)
#define weft_tgamma(...) WEFT_LOCATED_(tgamma, __VA_ARGS__)
#define weft_digamma(...) WEFT_LOCATED_(digamma, __VA_ARGS__)
#define weft_not(...) WEFT_LOCATED_(not, __VA_ARGS__)
#define weft_add(...) WEFT_LOCATED_TWO_("add", weft_add, __VA_ARGS__)
#define weft_sub(...) WEFT_LOCATED_TWO_("sub", weft_sub, __VA_ARGS__)
#define weft_mul(...) WEFT_LOCATED_TWO_("mul", weft_mul, __VA_ARGS__)
#define weft_div(...) WEFT_LOCATED_TWO_("div", weft_div, __VA_ARGS__)
#define weft_remainder(...) WEFT_LOCATED_TWO_("remainder", weft_remainder, __VA_ARGS__)
#define weft_fmod(...) WEFT_LOCATED_TWO_("fmod", weft_fmod, __VA_ARGS__)
#define weft_pow(...) WEFT_LOCATED_TWO_("pow", weft_pow, __VA_ARGS__)
#define weft_copysign(...) WEFT_LOCATED_TWO_("copysign", weft_copysign, __VA_ARGS__)
#define weft_shift_left(...) WEFT_LOCATED_TWO_("shift_left", weft_shift_left, __VA_ARGS__)
#define weft_shift_right(...) WEFT_LOCATED_TWO_("shift_right", weft_shift_right, __VA_ARGS__)
#define weft_max(...) WEFT_LOCATED_TWO_("max", weft_max, __VA_ARGS__)
#define weft_min(...) WEFT_LOCATED_TWO_("min", weft_min, __VA_ARGS__)
#define weft_and(...) WEFT_LOCATED_TWO_("and", weft_and, __VA_ARGS__)
#define weft_or(...) WEFT_LOCATED_TWO_("or", weft_or, __VA_ARGS__)
#define weft_xor(...) WEFT_LOCATED_TWO_("xor", weft_xor, __VA_ARGS__)
#define weft_eq(...) WEFT_LOCATED_TWO_("eq", weft_eq, __VA_ARGS__)
#define weft_ne(...) WEFT_LOCATED_TWO_("ne", weft_ne, __VA_ARGS__)
#define weft_lt(...) WEFT_LOCATED_TWO_("lt", weft_lt, __VA_ARGS__)
#define weft_le(...) WEFT_LOCATED_TWO_("le", weft_le, __VA_ARGS__)
#define weft_gt(...) WEFT_LOCATED_TWO_("gt", weft_gt, __VA_ARGS__)
#define weft_ge(...) WEFT_LOCATED_TWO_("ge", weft_ge, __VA_ARGS__)
#define weft_select(...) WEFT_LOCATED_THREE_("select", weft_select, 1, __VA_ARGS__)
#define weft_cast(...) WEFT_LOCATED_(cast, __VA_ARGS__)
#define weft_bitcast(...) WEFT_LOCATED_(bitcast, __VA_ARGS__)
#define weft_reshape(...) WEFT_LOCATED_(reshape, __VA_ARGS__)
#define weft_permute(...) WEFT_LOCATED_(permute, __VA_ARGS__)
#define weft_broadcast(...) WEFT_LOCATED_(broadcast, __VA_ARGS__)
#define weft_broadcast_in_dim(...) WEFT_LOCATED_(broadcast_in_dim, __VA_ARGS__)
#define weft_slice(...) WEFT_LOCATED_(slice, __VA_ARGS__)
#define weft_narrow(...) WEFT_LOCATED_(narrow, __VA_ARGS__)
#if WEFT_TAKES_NUMBERS_
static inline weft_tensor weft_pad_(weft_tensor x, weft_operand value, weft_shape low, weft_shape high)
{
    return weft_pad(x, weft_operand_beside_("pad", x, value), low, high);
}
#define weft_pad(...) WEFT_PAD_(__VA_ARGS__)
#define WEFT_PAD_(x, value, ...) WEFT_LOCATED("pad", weft_pad_(x, WEFT_OPERAND_(value), __VA_ARGS__))
#else
#define weft_pad(...) WEFT_LOCATED_(pad, __VA_ARGS__)
#endif
#define weft_flip(...) WEFT_LOCATED_(flip, __VA_ARGS__)
#define weft_window(...) WEFT_LOCATED_(window, __VA_ARGS__)
#define weft_window_add(...) WEFT_LOCATED_(window_add, __VA_ARGS__)
#define weft_shear(...) WEFT_LOCATED_(shear, __VA_ARGS__)
#define weft_concat(...) WEFT_LOCATED_(concat, __VA_ARGS__)
#define weft_gather(...) WEFT_LOCATED_(gather, __VA_ARGS__)
#define weft_gather_axes(...) WEFT_LOCATED_(gather_axes, __VA_ARGS__)
#define weft_scatter(...) WEFT_LOCATED_(scatter, __VA_ARGS__)
#define weft_take_along_axis(...) WEFT_LOCATED_(take_along_axis, __VA_ARGS__)
#define weft_scatter_along_axis(...) WEFT_LOCATED_(scatter_along_axis, __VA_ARGS__)
#define weft_index_select(...) WEFT_LOCATED_(index_select, __VA_ARGS__)
#define weft_index_add(...) WEFT_LOCATED_(index_add, __VA_ARGS__)
#define weft_dynamic_slice(...) WEFT_LOCATED_(dynamic_slice, __VA_ARGS__)
#define weft_dynamic_update_slice(...) WEFT_LOCATED_(dynamic_update_slice, __VA_ARGS__)
#define weft_extract_diagonal(...) WEFT_LOCATED_(extract_diagonal, __VA_ARGS__)
#define weft_embed_diagonal(...) WEFT_LOCATED_(embed_diagonal, __VA_ARGS__)
#define weft_reduce_sum(...) WEFT_LOCATED_(reduce_sum, __VA_ARGS__)
#define weft_reduce_prod(...) WEFT_LOCATED_(reduce_prod, __VA_ARGS__)
#define weft_reduce_max(...) WEFT_LOCATED_(reduce_max, __VA_ARGS__)
#define weft_reduce_min(...) WEFT_LOCATED_(reduce_min, __VA_ARGS__)
#define weft_reduce_any(...) WEFT_LOCATED_(reduce_any, __VA_ARGS__)
#define weft_reduce_all(...) WEFT_LOCATED_(reduce_all, __VA_ARGS__)
#define weft_argmax(...) WEFT_LOCATED_(argmax, __VA_ARGS__)
#define weft_argmin(...) WEFT_LOCATED_(argmin, __VA_ARGS__)
#define weft_cumsum(...) WEFT_LOCATED_(cumsum, __VA_ARGS__)
#define weft_cumprod(...) WEFT_LOCATED_(cumprod, __VA_ARGS__)
#define weft_cummax(...) WEFT_LOCATED_(cummax, __VA_ARGS__)
#define weft_cummin(...) WEFT_LOCATED_(cummin, __VA_ARGS__)
#if WEFT_TAKES_NUMBERS_
static inline weft_tensor weft_scan_linear_(weft_operand a, weft_operand b, int64_t axis, bool reverse)
{
    weft_tensor operands[2];
    weft_operands_fill("scan_linear", 0, 2, (weft_operand[]){a, b}, operands);
    return weft_scan_linear(operands[0], operands[1], axis, reverse);
}
#define weft_scan_linear(...) WEFT_SCAN_LINEAR_(__VA_ARGS__)
#define WEFT_SCAN_LINEAR_(a, b, ...)                                                                                   \
    WEFT_LOCATED("scan_linear", weft_scan_linear_(WEFT_OPERAND_(a), WEFT_OPERAND_(b), __VA_ARGS__))
#else
#define weft_scan_linear(...) WEFT_LOCATED_(scan_linear, __VA_ARGS__)
#endif
#define weft_sort(...) WEFT_LOCATED_(sort, __VA_ARGS__)
#define weft_argsort(...) WEFT_LOCATED_(argsort, __VA_ARGS__)
#define weft_dot(...) WEFT_LOCATED_(dot, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
