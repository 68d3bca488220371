/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_VARIANT_ENTRY_H
#define WEFT_RUNTIME_RUN_VARIANT_ENTRY_H
/* A variant in the executor's cache, with its most recently used bindings. */
#include "runtime/base/cache.h"
#include "runtime/run/call.h"
#include "runtime/step/frame.h"

typedef struct weft_variant_entry weft_variant_entry;

/* Takes `variant`, also when it fails. */
weft_status *weft_variant_entry_create(weft_executor *executor, weft_variant *variant,
                                       weft_variant_entry **out_entry) WEFT_MUST_USE;
/* Takes a weft_variant_entry, as a cache hands it over; no frame of it may be out. */
void weft_variant_entry_destroy(void *entry);
/* A frame of the binding of `key`, which is made when there is none, in the entry that `handle` is on; or of a variant
 * for exactly these extents, if the binding has one by now. */
weft_status *weft_variant_entry_acquire(weft_cache_handle *handle, const weft_call *call, const weft_call_key *key,
                                        weft_frame **out_frame) WEFT_MUST_USE;
void weft_variant_entry_release(weft_variant_entry *entry, weft_frame *frame);

/* Of the background that specialises: a variant in place of that of `entry` for runs of `bound`, and the end of what
 * counted as a run of it. */
void weft_variant_entry_replace(weft_variant_entry *entry, weft_bound_variant *bound, weft_variant_entry *specialized);
void weft_variant_entry_end(weft_variant_entry *entry, weft_bound_variant *bound);
#endif
