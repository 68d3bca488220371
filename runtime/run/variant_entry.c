/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/variant_entry.h"
#include <string.h>
#include "runtime/run/bind_variant.h"
#include "runtime/run/executor.h"
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"

/*
 * The newest binding is first. A binding dropped while runs use it ends with the last of them. One short lock finds
 * binding and frame, another gives them back; none is held between.
 */

enum { MOST_BINDINGS = 32 };

struct weft_variant_entry {
    weft_executor *executor;
    weft_variant *variant;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    weft_bound_variant *newest;
    size_t count;
};

weft_status *weft_variant_entry_create(weft_executor *executor, weft_variant *variant, weft_variant_entry **out_entry)
{
    weft_variant_entry *entry = weft_allocate_zeroed(&executor->allocator, sizeof *entry);
    if (entry == NULL) {
        weft_variant_destroy(variant);
        return weft_status_out_of_memory();
    }
    entry->executor = executor;
    entry->variant = variant;
    pthread_mutex_init(&entry->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&entry->guard, &entry->mutex, NULL);
    if (status == NULL) *out_entry = entry;
    else weft_variant_entry_destroy(entry);
    return status;
}

void weft_variant_entry_destroy(void *argument)
{
    weft_variant_entry *entry = argument;
    if (entry == NULL) return;
    weft_fork_guard_finish(&entry->guard);
    while (entry->newest != NULL) {
        weft_bound_variant *bound = entry->newest;
        entry->newest = bound->older;
        weft_bound_variant_destroy(bound);
    }
    weft_variant_destroy(entry->variant);
    pthread_mutex_destroy(&entry->mutex);
    weft_free(&entry->executor->allocator, entry, sizeof *entry);
}

/* ---- under the lock ---- */

static bool has_key(const weft_bound_variant *bound, const int64_t *key, size_t count)
{
    return bound->key_count == count && memcmp(bound->key, key, count * sizeof *key) == 0;
}

static weft_bound_variant *find(weft_variant_entry *entry, const int64_t *key, size_t count)
{
    weft_bound_variant **link = &entry->newest;
    while (*link != NULL && !has_key(*link, key, count)) link = &(*link)->older;
    weft_bound_variant *bound = *link;
    if (bound == NULL) return NULL;
    *link = bound->older;
    bound->older = entry->newest;
    entry->newest = bound;
    return bound;
}

/* The oldest binding, taken off the list, to be destroyed without the lock; NULL while it is in use. */
static weft_bound_variant *drop_oldest(weft_variant_entry *entry)
{
    weft_bound_variant **link = &entry->newest;
    while ((*link)->older != NULL) link = &(*link)->older;
    weft_bound_variant *bound = *link;
    *link = NULL;
    entry->count--;
    bound->kept = false;
    return bound->running == 0 ? bound : NULL;
}

static weft_frame *take_frame(weft_bound_variant *bound)
{
    weft_frame *frame = bound->frames;
    bound->running++;
    if (frame != NULL) bound->frames = frame->next;
    return frame;
}

/* ---- bindings ---- */

/* Puts `bound` first, unless another thread was faster: then that one's is used. */
static weft_bound_variant *keep(weft_variant_entry *entry, weft_bound_variant *bound, weft_frame **out_frame)
{
    weft_bound_variant *dropped = NULL;
    pthread_mutex_lock(&entry->mutex);
    weft_bound_variant *kept = find(entry, bound->key, bound->key_count);
    if (kept != NULL) {
        dropped = bound;
    } else {
        kept = bound;
        kept->kept = true;
        kept->older = entry->newest;
        entry->newest = kept;
        if (++entry->count > MOST_BINDINGS) dropped = drop_oldest(entry);
    }
    *out_frame = take_frame(kept);
    pthread_mutex_unlock(&entry->mutex);
    weft_bound_variant_destroy(dropped);
    return kept;
}

/* Ends one run of `bound`; `frame` may be NULL. */
static void end_run(weft_variant_entry *entry, weft_bound_variant *bound, weft_frame *frame)
{
    pthread_mutex_lock(&entry->mutex);
    if (frame != NULL) {
        frame->next = bound->frames;
        bound->frames = frame;
    }
    bool last = --bound->running == 0 && !bound->kept;
    pthread_mutex_unlock(&entry->mutex);
    if (last) weft_bound_variant_destroy(bound);
}

weft_status *weft_variant_entry_acquire(weft_variant_entry *entry, const weft_call *call, const weft_call_key *key,
                                        weft_frame **out_frame)
{
    const int64_t *words = key->words + key->variant_count;
    size_t count = key->count - key->variant_count;
    weft_frame *frame = NULL;
    pthread_mutex_lock(&entry->mutex);
    weft_bound_variant *bound = find(entry, words, count);
    if (bound != NULL) frame = take_frame(bound);
    pthread_mutex_unlock(&entry->mutex);
    if (bound == NULL) {
        WEFT_TRY(weft_bound_variant_create(entry->executor, entry->variant, call, words, count, &bound));
        bound = keep(entry, bound, &frame);
    }
    weft_status *status = frame == NULL ? weft_frame_create(bound, &frame) : NULL;
    if (status == NULL) *out_frame = frame;
    else end_run(entry, bound, NULL);
    return status;
}

void weft_variant_entry_release(weft_variant_entry *entry, weft_frame *frame)
{
    end_run(entry, frame->bound, frame);
}
