/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ARRANGE_H
#define WEFT_RUNTIME_ARRANGE_H
/* Which steps of a binding run side by side, and where its temporaries lie. */
#include "runtime/bound.h"

/*
 * Fills phases, offsets, scratch_offsets and arena_bytes of a binding with all else in place. Steps side by side need
 * more memory: at most `limit` bytes, or, for 0, a quarter and WEFT_ARRANGE_ROOM more than one after another. Where
 * steps one after another need more than `limit`, that is how they are left, with any number of threads.
 */
#define WEFT_ARRANGE_ROOM (1 << 20)
weft_status *weft_bound_arrange(weft_bound *bound, size_t limit) WEFT_MUST_USE;
#endif
