/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_SEARCH_H
#define EINSUM_PLAN_SEARCH_H
/* The methods together: an order of one core, as good as a budget allows. */
#include "methods.h"

typedef struct einsum_search {
    einsum_score score; /* what is minimised */
    uint64_t seed;
    uint64_t moves; /* tried by all chains together; other methods get the time that so many moves take */
    double seconds; /* above 0: how long to search, `moves` being a guess; not deterministic */
    size_t threads; /* at least 1; the result does not depend on it, but for `seconds` */
    const volatile bool *cancelled; /* NULL: never */
} einsum_search;

weft_status *einsum_search_run(const weft_allocator *allocator, const einsum_core *core, const einsum_search *options,
                               einsum_pair *out_pairs) WEFT_MUST_USE;
#endif
