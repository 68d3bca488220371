/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_BIND_VARIANT_H
#define WEFT_RUNTIME_RUN_BIND_VARIANT_H
#include "runtime/step/bound_variant.h"
#include "runtime/run/call.h"

/* Checks the call (weft_call_bind) and binds `variant` to it, in a copy of `environment`: the allocator, the pool, and
 * what else steps use of the executor, if there is one. `key` is copied; NULL: nothing will look for it. */
weft_status *weft_bound_variant_create(const weft_bound_variant *environment, const weft_variant *variant,
                                       const weft_call *call, const weft_call_key *key,
                                       weft_bound_variant **out_bound) WEFT_MUST_USE;
void weft_bound_variant_destroy(weft_bound_variant *bound);

/* Word by word, as they were written: wider loads would wait until the key has left the store buffer. */
static inline bool weft_bound_variant_has_key(const weft_bound_variant *bound, const weft_call_key *key)
{
    size_t i = 0;
    if (bound->key_count != key->count) return false;
    while (i < key->count && bound->key[i] == key->words[i]) i++;
    return i == key->count;
}
#endif
