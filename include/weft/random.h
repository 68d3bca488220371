/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RANDOM_H
#define WEFT_RANDOM_H
/*
 * Random numbers as functions of a key: u32 [2], an input or made by weft_random_key. There is no state: the same key
 * gives the same numbers, so each draw takes a key of its own, which weft_random_split or weft_random_fold makes from
 * another.
 *
 * Bits are those of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11),
 * a bijection of a counter of four words by a key of two. An element of a draw takes blocks of its own:
 *
 *     word 0, word 1   the lower and upper half of the element's number, row-major
 *     word 2           the number of the block: 0, or of the attempt where values are rejected (integers, gamma)
 *     word 3           0 in draws, 1 where keys are made from keys
 *
 * So element i depends on the key and on i alone: a draw of [n, m] is that of [n * m] under another shape, that of
 * [n + 1, m] begins with it, and a slice of a draw computes no more than its own elements, where it is read. Only what
 * rejects values is computed and stored as a whole, because it is a loop.
 *
 * Elements are the same bits on every runtime and processor, for any number of threads, shapes symbolic or not,
 * compiled ahead of time or not: they are made of integer operations and of additions, products, quotients and roots,
 * which round correctly, and of logarithms made of those, not of weft_log.
 *
 * Derivatives (gradient.h) go through weft_dropout, and pass through what is computed from the numbers; coins, integers
 * and classes pass none on, and gamma numbers have none with respect to alpha: UNSUPPORTED.
 *
 * What holds throughout: `shape` may be symbolic, and of any rank; floats are f16, bf16, f32 and f64, of which the
 * first two are those of f32 rounded once, unless stated otherwise. A key of another dtype or shape is DTYPE_MISMATCH
 * or SHAPE_MISMATCH; so is a dtype that a function does not make. Shares of probability below 2^-32 (f64: 2^-64) are
 * rounded. Philox is no cipher: do not make secrets with it.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- keys ---- */
/* A constant key: the lower and the upper half of `seed`. */
weft_tensor weft_random_key(weft_graph *graph, uint64_t seed);
/* A key for each of `numbers`, integers of any shape S, as i64: u32 S + [2], the first two words of the block at the
 * number. Different numbers give keys that have nothing to do with each other or with draws of `key`. */
weft_tensor weft_random_fold(weft_tensor key, weft_tensor numbers);
/* `count` keys, u32 [count, 2]: those of 0 .. count - 1. weft_gather(keys, j, 0) takes key j. */
weft_tensor weft_random_split(weft_tensor key, weft_extent count);
/* Philox4x32-10 itself: the block at each of `counters`, u32 [.., 4], of the same shape. */
weft_tensor weft_random_philox(weft_tensor key, weft_tensor counters);

/* ---- bits and numbers ---- */
/* Uniform over all values of `dtype`: u8, i32 and u32 are the lower bits of word 0, i64 has word 0 below word 1, bool
 * the lowest bit. */
weft_tensor weft_random_bits(weft_tensor key, weft_dtype dtype, weft_shape shape);
/*
 * Uniform over [low, high), both rounded to `dtype`: low + k * 2^-p * (high - low), where k has the p upper bits of
 * word 0, of both words for f64: 24 for f32, 53 for f64, 11 for f16, 8 for bf16. Of the range [0, 1) every such number
 * is exact; elsewhere the product and the sum round, in f32 for 16-bit floats, and what rounds to `high` is the float
 * below it. OUT_OF_RANGE unless low < high and the difference is finite.
 */
weft_tensor weft_random_uniform(weft_tensor key, weft_dtype dtype, weft_shape shape, double low, double high);
/*
 * Normal with mean 0 and variance 1, by inversion: the quantile of a uniform number of 32 bits for f32, 64 for f64, by
 * quotients of polynomials (in the manner of Wichura, "Algorithm AS 241", 1988) whose error is below 4 units of the
 * last place in f32, 5 in f64. No value is greater than 6.34 in f32, 9.16 in f64.
 */
weft_tensor weft_random_normal(weft_tensor key, weft_dtype dtype, weft_shape shape);
/* The same under the condition that it lies in [low, high], which may be infinite; rounded to `dtype` they are bounds
 * of the results too. Computed in f64; accurate in the tails. OUT_OF_RANGE unless low < high, and where so little
 * probability lies between them that it is below 2^-950 (both above 36.2, for example). */
weft_tensor weft_random_truncated_normal(weft_tensor key, weft_dtype dtype, weft_shape shape, double low, double high);
/* Exponential with mean 1: minus the logarithm of a uniform number of 31 bits for f32, 63 for f64, with an error below
 * 3 units of the last place. Never 0. */
weft_tensor weft_random_exponential(weft_tensor key, weft_dtype dtype, weft_shape shape);
/* Gamma of shape parameter `alpha`, which broadcasts to `shape`, and scale 1, in the dtype of alpha: by rejection
 * (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000), attempt by attempt for all elements
 * that have none yet; below 1 that of alpha + 1 by u^(1/alpha). NaN where alpha is not positive and finite. */
weft_tensor weft_random_gamma(weft_tensor key, weft_tensor alpha, weft_shape shape);
/* True with probability p, floats that broadcast to `shape`; never where p <= 0 or NaN, always where p >= 1. */
weft_tensor weft_random_bernoulli(weft_tensor key, weft_tensor p, weft_shape shape);

/* ---- integers ---- */
/* Uniform over low .. high - 1, without bias (Lemire, "Fast random integer generation in an interval", 2019: the high
 * half of a product of 64 bits, which is rejected if it is one of the surplus). u8, i32, u32 and i64; `dtype` must hold
 * low and high - 1. OUT_OF_RANGE unless low < high: where that depends on symbols, a guard. */
weft_tensor weft_random_integers(weft_tensor key, weft_dtype dtype, weft_shape shape, weft_extent low,
                                 weft_extent high);
/* The same with tensors of one integer dtype, also that of the result, as bounds; they broadcast to `shape`. `low`
 * where high <= low. */
weft_tensor weft_random_integers_between(weft_tensor key, weft_tensor low, weft_tensor high, weft_shape shape);

/* ---- choices ---- */
/* Numbers of classes, i64: `shape` draws for each row of `logits` (floats [.., k], k at least 1), which are logarithms
 * of probabilities up to a constant; the result is of shape + [..]. The greatest of logits plus Gumbel noise, so no row
 * is stored. A class of -inf is drawn only if all are. */
weft_tensor weft_random_categorical(weft_tensor key, weft_tensor logits, weft_shape shape);
/* 0 .. count - 1 in random order, i64 [count]: the order of `count` random i64. weft_gather shuffles by it. Two of
 * these are equal, and then in ascending order, in one of 2^65 / count^2 permutations. */
weft_tensor weft_random_permutation(weft_tensor key, weft_extent count);
/*
 * Numbers below `count`, i64 of `shape`. `weights`, floats [count], say how likely each is, up to a constant factor;
 * those that are not positive count as 0. WEFT_NO_TENSOR: all alike. With `replace` draws are independent. Otherwise
 * all are different, in the order in which they would be drawn one after another (Efraimidis and Spirakis, 2006: the
 * least exponential numbers divided by weights); `shape` may have no more elements than `count`, which is a guard, and
 * numbers of weight 0 come last. OUT_OF_RANGE where there is nothing to draw from with `replace`; where that depends on
 * symbols, a guard.
 */
weft_tensor weft_random_choice(weft_tensor key, weft_extent count, weft_shape shape, bool replace, weft_tensor weights);

/* ---- noise ---- */
/* x, floats, with elements replaced by 0 with probability p, and the others divided by 1 - p: multiplied by that
 * quotient, rounded once to x's dtype (f16, bf16: in f32). Element i is dropped if word 0 is below p * 2^32, so the
 * mask of a key is the same wherever it is computed. p = 0 gives x, p = 1 zeros. OUT_OF_RANGE unless p is in [0, 1]. */
weft_tensor weft_dropout(weft_tensor x, weft_tensor key, double p);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_random_key(...) WEFT_LOCATED_(random_key, __VA_ARGS__)
#define weft_random_fold(...) WEFT_LOCATED_(random_fold, __VA_ARGS__)
#define weft_random_split(...) WEFT_LOCATED_(random_split, __VA_ARGS__)
#define weft_random_philox(...) WEFT_LOCATED_(random_philox, __VA_ARGS__)
#define weft_random_bits(...) WEFT_LOCATED_(random_bits, __VA_ARGS__)
#define weft_random_uniform(...) WEFT_LOCATED_(random_uniform, __VA_ARGS__)
#define weft_random_normal(...) WEFT_LOCATED_(random_normal, __VA_ARGS__)
#define weft_random_truncated_normal(...) WEFT_LOCATED_(random_truncated_normal, __VA_ARGS__)
#define weft_random_exponential(...) WEFT_LOCATED_(random_exponential, __VA_ARGS__)
#define weft_random_gamma(...) WEFT_LOCATED_(random_gamma, __VA_ARGS__)
#define weft_random_bernoulli(...) WEFT_LOCATED_(random_bernoulli, __VA_ARGS__)
#define weft_random_integers(...) WEFT_LOCATED_(random_integers, __VA_ARGS__)
#define weft_random_integers_between(...) WEFT_LOCATED_(random_integers_between, __VA_ARGS__)
#define weft_random_categorical(...) WEFT_LOCATED_(random_categorical, __VA_ARGS__)
#define weft_random_permutation(...) WEFT_LOCATED_(random_permutation, __VA_ARGS__)
#define weft_random_choice(...) WEFT_LOCATED_(random_choice, __VA_ARGS__)
#define weft_dropout(...) WEFT_LOCATED_(dropout, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
