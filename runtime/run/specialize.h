/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_SPECIALIZE_H
#define WEFT_RUNTIME_RUN_SPECIALIZE_H
/* Variants for extents and strides that are used often, built in the background. */
#include "runtime/run/variant_entry.h"

/* Whether other code could be made for the extents and strides of one call. */
bool weft_specialize_pays(const weft_variant *variant, const weft_program *program);
/* Has a variant built for the extents of `call`, a run of `bound` in the entry that `handle` is on, for later calls
 * with this key; the caller has counted one more run of it, which ends when that is done. False, and nothing is done,
 * where there is no memory. */
bool weft_specialize_later(weft_cache_handle *handle, weft_bound_variant *bound, const weft_call *call,
                           const weft_call_key *key);
#endif
