/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_VARIANT_ENTRY_H
#define WEFT_RUNTIME_RUN_VARIANT_ENTRY_H
/* A variant in the executor's cache, with its most recently used bindings. */
#include "runtime/base/cache.h"
#include "runtime/run/call.h"
#include "runtime/step/frame.h"

typedef struct weft_variant_entry weft_variant_entry;

/* Takes `variant`, also when it fails. `is_exact`: it was made in the background, for extents that are used often, and
 * its runs are not counted. */
weft_status *weft_variant_entry_create(weft_executor *executor, weft_variant *variant, bool is_exact,
                                       weft_variant_entry **out_entry) WEFT_MUST_USE;
/* Takes a weft_variant_entry, as a cache hands it over; no frame of it may be out. */
void weft_variant_entry_destroy(void *entry);
/* That a variant takes: its tables, and the code of its kernels as that was first compiled. */
size_t weft_variant_entry_bytes(const weft_variant *variant);
/* A frame of the binding of `key`, which is made when there is none, in the entry that `handle` is on; or of a variant
 * for exactly these extents, if the binding has one by now. The frame has the handle from now on; after an error it is
 * released. */
weft_status *weft_variant_entry_acquire(weft_cache_handle *handle, const weft_call *call, const weft_call_key *key,
                                        weft_frame **out_frame) WEFT_MUST_USE;
/* Gives a frame and its handle back. */
void weft_variant_entry_release(weft_frame *frame);

/* Of a frame that is out, for another run with the same key; no lock is taken: */
/* whether it is what acquire might give for it; */
bool weft_variant_entry_is_current(const weft_frame *frame);
/* that run, with all that counts as use of binding and variant. */
void weft_variant_entry_mark(weft_frame *frame);
/* Tells the cache of the hits since it was told last. */
void weft_variant_entry_add_hits(weft_frame *frame);

/* Of the background that specialises: the end of what counted as a run of `bound`. */
void weft_variant_entry_end(weft_variant_entry *entry, weft_bound_variant *bound);
#endif
