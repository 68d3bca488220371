/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_SEARCH_H
#define EINSUM_PLAN_SEARCH_H
/* The methods together: an order of one core, as good as a budget allows. */
#include "methods.h"

typedef struct einsum_search {
    einsum_score score; /* what is minimised */
    uint64_t seed;
    uint64_t moves;  /* tried by all chains together; other methods get the time that so many moves take */
    double deadline; /* of einsum_stop_clock, `moves` being a guess: not deterministic; INFINITY: moves count */
    size_t threads;  /* at least 1; the result does not depend on it, except for `seconds` */
    einsum_cancel cancel;
    einsum_watch *watch; /* NULL: none; else who is told knows of the order that the result holds already */
    bool improve;        /* the result is an order already, which shall get no worse */
} einsum_search;

/* More are as good as without end. */
#define EINSUM_MOST_MOVES (UINT64_C(1) << 50)

/* A number of moves, brought into range. */
static inline uint64_t einsum_moves_of(double moves)
{
    if (!(moves > 1)) return 1;
    return moves < (double)EINSUM_MOST_MOVES ? (uint64_t)moves : EINSUM_MOST_MOVES;
}

weft_status *einsum_search_run(const weft_allocator *allocator, const einsum_core *core, const einsum_search *options,
                               einsum_pair *out_pairs) WEFT_MUST_USE;
#endif
