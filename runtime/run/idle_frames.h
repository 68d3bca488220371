/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_IDLE_FRAMES_H
#define WEFT_RUNTIME_RUN_IDLE_FRAMES_H
/*
 * Frames at hand for the next run with the same key, which takes one, and gives it back, without a lock. A frame here
 * is out: it keeps its binding and its variant alive.
 */
#include "runtime/run/call.h"
#include "runtime/step/frame.h"

typedef struct weft_idle_frames weft_idle_frames;

weft_status *weft_idle_frames_create(const weft_allocator *allocator, weft_idle_frames **out_idle) WEFT_MUST_USE;
/* None may be there, as after a review when the cache has no variants. */
void weft_idle_frames_destroy(weft_idle_frames *idle);

/* A frame of exactly this key, for one run; NULL: there is none. */
weft_frame *weft_idle_frames_take(weft_idle_frames *idle, const weft_call_key *key);
/* After a run. The frame goes back to its variant (weft_variant_entry_release) where it is not of use any more. */
void weft_idle_frames_give(weft_idle_frames *idle, weft_frame *frame);
/* After variants, or the binding of a key with that hash, were dropped: their frames go back, now or when their runs
 * end. The cache of variants is told of all hits. */
void weft_idle_frames_review(weft_idle_frames *idle);
void weft_idle_frames_review_hash(weft_idle_frames *idle, uint64_t hash);
#endif
