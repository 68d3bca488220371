/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPOSITE_RANDOM_RANDOM_H
#define WEFT_LIB_COMPOSITE_RANDOM_RANDOM_H
/* What random numbers are made of. Words are i64 tensors that hold 32 bits each: products of two words fit, and lanes
 * of 64 bits are where processors multiply them. */
#include <weft/random.h>
#include "lib/composite/composite.h"

/* ---- blocks (key.c) ---- */

enum { WEFT_RANDOM_DRAWS, WEFT_RANDOM_KEYS }; /* word 3 of a counter */

typedef struct weft_random_block {
    weft_tensor words[4];
} weft_random_block;

/* Whether `key` is a key and, where a list of extents is given too, all are numbers of elements; otherwise false with
 * an error of `function`. */
bool weft_random_begin(const char *function, weft_tensor key);
bool weft_random_begin_shape(const char *function, weft_tensor key, weft_shape shape);
/* Whether `x`, called `name`, is valid, of the graph of `key`, of floats, and broadcasts to `shape`. */
bool weft_random_wants_parameter(const char *function, weft_tensor key, weft_named x, weft_shape shape);
/* The numbers of elements, row-major: i64 of `shape`. */
weft_tensor weft_random_positions(weft_graph *graph, weft_shape shape);
/* Block `attempt` (i64 of rank 0; WEFT_NO_TENSOR: block 0) of each element of a draw of `shape`. */
weft_random_block weft_random_draw(weft_tensor key, weft_shape shape, weft_tensor attempt);
/* What weft_random_bits returns. */
weft_tensor weft_random_bits_of(const weft_random_block *block, weft_dtype dtype);

/* ---- rejection (reject.c) ---- */

/* How values are made and rejected: `try` has a candidate for each element, `waits` says of candidates which are none.
 * What both compute is not shared, so `waits` should be cheap. */
typedef struct weft_random_rule {
    weft_tensor (*try)(const void *context, const weft_random_block *block);
    weft_tensor (*waits)(const void *context, weft_tensor candidates);
    const void *context;
} weft_random_rule;
/* The first candidate of each element that does not wait, of attempts `first`, `first` + 1, ... */
weft_tensor weft_random_accepted(weft_tensor key, weft_shape shape, int64_t first, const weft_random_rule *rule);

/* Uniform over low .. high - 1, where low < high, which `dtype` holds (integer.c). */
weft_tensor weft_random_between(weft_tensor key, weft_dtype dtype, weft_shape shape, weft_extent low, weft_extent high);

/* ---- numbers (exact.c), of integer operations and of those that round correctly ---- */

/* An i64 of rank 0. */
weft_tensor weft_random_integer(weft_graph *graph, int64_t value);
/* A word, or any integer in [0, 2^52), as an f64. */
weft_tensor weft_random_f64(weft_tensor word);
/* A number u in (0, 1), (k + 1/2) / 2^31 or / 2^63, and 1 - u, each rounded once. */
typedef struct weft_random_share {
    weft_tensor u, rest;
} weft_random_share;
/* From the lower 31 bits of word `first`, and in f64 from the word after it too. `dtype` is f32 or f64. */
weft_random_share weft_random_share_of(const weft_random_block *block, size_t first, weft_dtype dtype);
/* log(u). */
weft_tensor weft_random_log_share(weft_random_share share);
/* log(x) of positive normal numbers, f32 or f64. */
weft_tensor weft_random_log(weft_tensor x);
/* log(1 + t) - t for t > -1, without cancellation. */
weft_tensor weft_random_log1p_rest(weft_tensor t);
/* exp(x) for x <= 0. */
weft_tensor weft_random_exp(weft_tensor x);
/* The z >= 0 that a normal number is above with probability `tail`; `middle` is 1/2 - tail. f32 from 2^-33 on; f64 from
 * 2^-65 on, or, with `far`, wherever it is normal. */
weft_tensor weft_random_quantile(weft_tensor tail, weft_tensor middle, bool far);

/* Normal numbers and exponential ones (real.c), f32 or f64, from the words from `first` on: one, or two for f64. */
weft_tensor weft_random_normal_of(const weft_random_block *block, size_t first, weft_dtype dtype);
weft_tensor weft_random_exponential_of(const weft_random_block *block, size_t first, weft_dtype dtype);
#endif
