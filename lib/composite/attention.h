/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_COMPOSITE_ATTENTION_H
#define WEFT_LIB_COMPOSITE_ATTENTION_H
/* Attention after its scale, for the rule of its derivative. */
#include "lib/composite/composite.h"

/* q is [b..., r..., l, d], where r are query heads that share a key head, k [b..., s, d] and v [b..., s, e]. */
typedef struct weft_attention_core {
    weft_tensor q, k, v;
    weft_tensor mask; /* of bools or widened floats, broadcasts to [b..., r..., l, s]; or WEFT_NO_TENSOR */
    bool causal;
    weft_extent offset; /* of the causal mask */
    weft_tensor first;  /* the position of the first row of q, i64 of rank 0; WEFT_NO_TENSOR: 0 */
} weft_attention_core;

/* The weights times *out_sums, which are at least 1, or 0 in rows without scores: [b..., r..., l, s], wide, and
 * [b..., r..., l, 1]. */
weft_tensor weft_attention_powers(const weft_attention_core *core, weft_tensor *out_sums);
/* x, with those rows, over the sums; as it is where they are 0. */
weft_tensor weft_attention_share(weft_tensor x, weft_tensor sums);
/* The sum over the last axis of a and axis `contract_b` of b; all axes of b but the last two are a batch. */
weft_tensor weft_attention_product(weft_tensor a, weft_tensor b, int64_t contract_b);
#endif
