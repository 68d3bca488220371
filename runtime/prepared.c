/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/prepared.h"
#include <string.h>
#include "runtime/fork.h"
#include "runtime/memory.h"

/*
 * The newest binding is first. A binding dropped while runs use it ends with the last of them. One short lock finds
 * binding and frame, another gives them back; none is held between.
 */

enum { MOST_BINDINGS = 32 };

struct weft_prepared {
    weft_executor *executor;
    weft_variant *variant;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    weft_bound *newest;
    size_t count;
};

weft_status *weft_prepared_create(weft_executor *executor, weft_variant *variant, weft_prepared **out_prepared)
{
    weft_prepared *prepared = weft_allocate_zeroed(&executor->allocator, sizeof *prepared);
    if (prepared == NULL) {
        weft_variant_destroy(variant);
        return weft_status_out_of_memory();
    }
    prepared->executor = executor;
    prepared->variant = variant;
    pthread_mutex_init(&prepared->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&prepared->guard, &prepared->mutex, NULL);
    if (status == NULL) *out_prepared = prepared;
    else weft_prepared_destroy(prepared);
    return status;
}

void weft_prepared_destroy(void *argument)
{
    weft_prepared *prepared = argument;
    if (prepared == NULL) return;
    weft_fork_guard_finish(&prepared->guard);
    while (prepared->newest != NULL) {
        weft_bound *bound = prepared->newest;
        prepared->newest = bound->older;
        weft_bound_destroy(bound);
    }
    weft_variant_destroy(prepared->variant);
    pthread_mutex_destroy(&prepared->mutex);
    weft_free(&prepared->executor->allocator, prepared, sizeof *prepared);
}

/* ---- under the lock ---- */

static bool has_key(const weft_bound *bound, const int64_t *key, size_t count)
{
    return bound->key_count == count && memcmp(bound->key, key, count * sizeof *key) == 0;
}

static weft_bound *find(weft_prepared *prepared, const int64_t *key, size_t count)
{
    weft_bound **link = &prepared->newest;
    while (*link != NULL && !has_key(*link, key, count)) link = &(*link)->older;
    weft_bound *bound = *link;
    if (bound == NULL) return NULL;
    *link = bound->older;
    bound->older = prepared->newest;
    prepared->newest = bound;
    return bound;
}

/* The oldest binding, taken off the list, to be destroyed without the lock; NULL while it is in use. */
static weft_bound *drop_oldest(weft_prepared *prepared)
{
    weft_bound **link = &prepared->newest;
    while ((*link)->older != NULL) link = &(*link)->older;
    weft_bound *bound = *link;
    *link = NULL;
    prepared->count--;
    bound->kept = false;
    return bound->running == 0 ? bound : NULL;
}

static weft_frame *take_frame(weft_bound *bound)
{
    weft_frame *frame = bound->frames;
    bound->running++;
    if (frame != NULL) bound->frames = frame->next;
    return frame;
}

/* ---- bindings ---- */

/* Puts `bound` first, unless another thread was faster: then that one's is used. */
static weft_bound *keep(weft_prepared *prepared, weft_bound *bound, weft_frame **out_frame)
{
    weft_bound *dropped = NULL;
    pthread_mutex_lock(&prepared->mutex);
    weft_bound *kept = find(prepared, bound->key, bound->key_count);
    if (kept != NULL) {
        dropped = bound;
    } else {
        kept = bound;
        kept->kept = true;
        kept->older = prepared->newest;
        prepared->newest = kept;
        if (++prepared->count > MOST_BINDINGS) dropped = drop_oldest(prepared);
    }
    *out_frame = take_frame(kept);
    pthread_mutex_unlock(&prepared->mutex);
    weft_bound_destroy(dropped);
    return kept;
}

/* Ends one run of `bound`; `frame` may be NULL. */
static void end_run(weft_prepared *prepared, weft_bound *bound, weft_frame *frame)
{
    pthread_mutex_lock(&prepared->mutex);
    if (frame != NULL) {
        frame->next = bound->frames;
        bound->frames = frame;
    }
    bool last = --bound->running == 0 && !bound->kept;
    pthread_mutex_unlock(&prepared->mutex);
    if (last) weft_bound_destroy(bound);
}

weft_status *weft_prepared_acquire(weft_prepared *prepared, const weft_call *call, const weft_call_key *key,
                                   weft_frame **out_frame)
{
    const int64_t *words = key->words + key->variant_count;
    size_t count = key->count - key->variant_count;
    weft_frame *frame = NULL;
    pthread_mutex_lock(&prepared->mutex);
    weft_bound *bound = find(prepared, words, count);
    if (bound != NULL) frame = take_frame(bound);
    pthread_mutex_unlock(&prepared->mutex);
    if (bound == NULL) {
        WEFT_TRY(weft_bound_create(prepared->executor, prepared->variant, call, words, count, &bound));
        bound = keep(prepared, bound, &frame);
    }
    weft_status *status = frame == NULL ? weft_frame_create(bound, &frame) : NULL;
    if (status == NULL) *out_frame = frame;
    else end_run(prepared, bound, NULL);
    return status;
}

void weft_prepared_release(weft_prepared *prepared, weft_frame *frame)
{
    end_run(prepared, frame->bound, frame);
}
