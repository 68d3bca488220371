/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PLAN_PLACE_TEMPORARIES_H
#define WEFT_RUNTIME_PLAN_PLACE_TEMPORARIES_H
/* Which steps of a binding run side by side, and where its temporaries lie. */
#include "runtime/step/bound_variant.h"

/*
 * Fills phases, offsets, scratch_offsets and arena_bytes of a binding with all else in place. Steps side by side need
 * more memory: at most `limit` bytes, or, for 0, a quarter and WEFT_PLACEMENT_ROOM more than one after another. Where
 * steps one after another need more than `limit`, that is how they are left, with any number of threads.
 */
#define WEFT_PLACEMENT_ROOM (1 << 20)
weft_status *weft_place_temporaries(weft_bound_variant *bound, size_t limit) WEFT_MUST_USE;
#endif
