/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PREPARED_H
#define WEFT_RUNTIME_PREPARED_H
/* A variant in the executor's cache, with its most recently used bindings. */
#include "runtime/frame.h"

typedef struct weft_prepared weft_prepared;

/* Takes `variant`, also when it fails. */
weft_status *weft_prepared_create(weft_executor *executor, weft_variant *variant,
                                  weft_prepared **out_prepared) WEFT_MUST_USE;
/* Takes a weft_prepared, as a cache hands it over; no frame of it may be out. */
void weft_prepared_destroy(void *prepared);
/* A frame of the binding of `key`, which is made when there is none. */
weft_status *weft_prepared_acquire(weft_prepared *prepared, const weft_call *call, const weft_call_key *key,
                                   weft_frame **out_frame) WEFT_MUST_USE;
void weft_prepared_release(weft_prepared *prepared, weft_frame *frame);
#endif
