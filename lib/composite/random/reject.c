/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts, until all elements have a value. The first is not part of the loop: mostly there is no other. */
#include <weft/region.h>
#include "lib/composite/random/random.h"

typedef struct rejection {
    weft_tensor key;
    weft_shape shape;
    const weft_random_rule *rule;
} rejection;

enum { CANDIDATES, ATTEMPT };

static weft_tensor is_any_waiting(void *context, const weft_tensor *carried)
{
    const rejection *r = context;
    weft_tensor waits = r->rule->waits(r->rule->context, carried[CANDIDATES]);
    weft_axis_list axes = weft_axis_range(0, weft_tensor_rank(waits));
    return weft_reduce_any(waits, weft_axis_list_ints(&axes), false);
}

static void try_again(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    const rejection *r = context;
    weft_random_block block = weft_random_draw(r->key, r->shape, carried[ATTEMPT]);
    weft_tensor waits = r->rule->waits(r->rule->context, carried[CANDIDATES]);
    out_next[CANDIDATES] = weft_select(waits, r->rule->try(r->rule->context, &block), carried[CANDIDATES]);
    out_next[ATTEMPT] = weft_add(carried[ATTEMPT], weft_scalar_like(carried[ATTEMPT], 1));
}

weft_tensor weft_random_accepted(weft_tensor key, weft_shape shape, int64_t first, const weft_random_rule *rule)
{
    rejection r = {key, shape, rule};
    weft_tensor number = first == 0 ? WEFT_NO_TENSOR : weft_random_integer(key.graph, first);
    weft_random_block block = weft_random_draw(key, shape, number);
    weft_tensor candidates = rule->try(rule->context, &block), next = weft_random_integer(key.graph, first + 1);
    return weft_while(WEFT_TENSORS(candidates, next), is_any_waiting, try_again, &r, NULL);
}
