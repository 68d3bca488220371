/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/idle_frames.h"
#include <stdatomic.h>
#include "runtime/base/memory.h"
#include "runtime/run/bind_variant.h"
#include "runtime/run/variant_entry.h"

/*
 * A frame belongs to who takes it out of its slot by an exchange; only then is it looked into, so no frame can end
 * under a reader. A hash beside it spares most exchanges that would find another key; nothing depends on it.
 *
 * What is dropped is marked so first, then the number of reviews is raised, then the slots are gone through. Who gives
 * a frame back reads that number before it looks whether the frame is of use, and after the frame lies in its slot: if
 * the number is the same the review, if there is one, comes upon the slot later.
 */

enum { SET_BITS = 6, SETS = 1 << SET_BITS, WAYS = 4 };

typedef struct slot {
    _Atomic uint64_t hash; /* of the key of the frame, as far as anybody knows */
    weft_frame *_Atomic frame;
} slot;

struct weft_idle_frames {
    weft_allocator allocator;
    atomic_uint reviews; /* so far */
    atomic_uint turn;    /* which slot of a full set is next to be emptied */
    slot slots[SETS][WAYS];
};

weft_status *weft_idle_frames_create(const weft_allocator *allocator, weft_idle_frames **out_idle)
{
    weft_idle_frames *idle = weft_allocate_zeroed(allocator, sizeof *idle);
    if (idle == NULL) return weft_status_out_of_memory();
    idle->allocator = *weft_allocator_or_default(allocator);
    *out_idle = idle;
    return NULL;
}

void weft_idle_frames_destroy(weft_idle_frames *idle)
{
    if (idle == NULL) return;
    weft_allocator allocator = idle->allocator;
    weft_free(&allocator, idle, sizeof *idle);
}

static slot *set_of(weft_idle_frames *idle, uint64_t hash)
{
    return idle->slots[hash >> (64 - SET_BITS)];
}

static weft_frame *empty(slot *place)
{
    if (atomic_load(&place->frame) == NULL) return NULL;
    return atomic_exchange(&place->frame, NULL);
}

weft_frame *weft_idle_frames_take(weft_idle_frames *idle, const weft_call_key *key)
{
    slot *set = set_of(idle, key->hash);
    for (size_t i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&set[i].hash, memory_order_relaxed) != key->hash) continue;
        weft_frame *frame = empty(&set[i]);
        if (frame == NULL) continue;
        if (weft_bound_variant_has_key(frame->bound, key)) {
            weft_variant_entry_mark(frame);
            return frame;
        }
        weft_idle_frames_give(idle, frame);
    }
    return NULL;
}

static slot *choose(weft_idle_frames *idle, slot *set)
{
    for (size_t i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].frame, memory_order_relaxed) == NULL) return &set[i];
    unsigned turn = atomic_load_explicit(&idle->turn, memory_order_relaxed);
    atomic_store_explicit(&idle->turn, turn + 1, memory_order_relaxed);
    return &set[turn % WAYS];
}

void weft_idle_frames_give(weft_idle_frames *idle, weft_frame *frame)
{
    while (frame != NULL) {
        unsigned review = atomic_load(&idle->reviews);
        if (!weft_variant_entry_is_current(frame)) {
            weft_variant_entry_release(frame);
            return;
        }
        uint64_t hash = frame->bound->key_hash;
        slot *place = choose(idle, set_of(idle, hash));
        atomic_store_explicit(&place->hash, hash, memory_order_relaxed);
        weft_frame *replaced = atomic_exchange(&place->frame, frame);
        if (replaced != NULL) weft_variant_entry_release(replaced);
        frame = atomic_load(&idle->reviews) == review ? NULL : empty(place);
    }
}

static void review_set(weft_idle_frames *idle, slot *set)
{
    for (size_t i = 0; i < WAYS; i++) {
        weft_frame *frame = empty(&set[i]);
        if (frame == NULL) continue;
        weft_variant_entry_add_hits(frame);
        weft_idle_frames_give(idle, frame);
    }
}

void weft_idle_frames_review(weft_idle_frames *idle)
{
    atomic_fetch_add(&idle->reviews, 1);
    for (size_t i = 0; i < SETS; i++) review_set(idle, idle->slots[i]);
}

void weft_idle_frames_review_hash(weft_idle_frames *idle, uint64_t hash)
{
    atomic_fetch_add(&idle->reviews, 1);
    review_set(idle, set_of(idle, hash));
}
