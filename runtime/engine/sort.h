/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_SORT_H
#define WEFT_RUNTIME_ENGINE_SORT_H
/* Stable sorting of rows, over our own thread pool. */
#include <weft/runtime.h>
#include "runtime/base/pool.h"

struct weft_key_sort;

/* Everything that is ordered: all but complex numbers. */
bool weft_sort_supports(weft_dtype dtype);
/* What sorts elements of a dtype, or their positions, with vectors, on the ISA level of the process; NULL: there is
 * none. The result is the same without it. Static. */
const struct weft_key_sort *weft_key_sort_find(weft_dtype dtype, bool positions);
/* Whether so few elements of a row are wanted that they are selected; otherwise it is sorted. */
bool weft_sort_selects(const struct weft_key_sort *keys, const weft_sort_call *call);
/* Bytes of scratch that weft_sort_run needs with that pool; INT64_MAX when they cannot be counted. `tight`: as little
 * as can be: rows one after another, each on one thread unless it is long. */
int64_t weft_sort_scratch(const struct weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call,
                          bool tight);
/* How many pieces threads of the pool share. */
int64_t weft_sort_pieces(const struct weft_key_sort *keys, const weft_pool *pool, const weft_sort_call *call,
                         bool tight);
/*
 * Sorts every row, or finds its first `wanted` elements in order; the others are then unspecified. Equal elements keep
 * their order in both directions, so do -0 and +0, which are equal, and NaNs, which come last in both. `in` and `out`
 * do not overlap. The result does not depend on the pool. False when
 * `*cancelled`, which may be NULL, was found true before all was done: the rows of `out` that are left are as they
 * were, except for one that was being sorted. It is read before each row, before each few short ones or ones side by
 * side, and while a long one is sorted.
 */
bool weft_sort_run(const struct weft_key_sort *keys, weft_pool *pool, const weft_sort_call *call, bool tight,
                   const void *in, void *out, void *scratch, const volatile bool *cancelled);
#endif
