/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_CORE_H
#define EINSUM_PLAN_CORE_H
/*
 * What the methods of planning work on: one connected network, simplified, with sets of labels as bits. An order is
 * a list of leaf_count - 1 pairs, as order.h has it: value v < leaf_count is leaf v, value leaf_count + k the result
 * of step k. The labels of a value are those of its leaves that a leaf outside of it, or the output, has too; so a
 * label in many leaves is summed at the step after which nothing needs it.
 */
#include "../memory.h"
#include "../order.h"
#include "score.h"

typedef struct einsum_core {
    uint32_t leaf_count; /* at least 1 */
    uint32_t label_count;
    uint32_t words;       /* of a set of labels: bit l % 64 of word l / 64 */
    const uint64_t *legs; /* by leaf, `words` each; a label that one leaf alone has is in the output */
    const uint64_t *output;
    const double *extents; /* by label: log2, above 0 */
    const bool *made;      /* by leaf: it is in memory as results are; NULL: none is */
    bool widened;          /* sums have a dtype of their own: what adds up the result is in memory beside it */
} einsum_core;

static inline const uint64_t *einsum_core_legs(const einsum_core *core, uint32_t leaf)
{
    return core->legs + (size_t)leaf * core->words;
}

static inline bool einsum_core_makes(const einsum_core *core, uint32_t leaf)
{
    return core->made != NULL && core->made[leaf];
}

/* log2 of the elements of a tensor with the labels of `set`. */
double einsum_core_size(const einsum_core *core, const uint64_t *set);

/* What the steps of an order cost together. */
weft_status *einsum_core_cost(einsum_arena *arena, const einsum_core *core, const einsum_score *score,
                              const einsum_pair *pairs, einsum_cost *out_cost) WEFT_MUST_USE;
#endif
