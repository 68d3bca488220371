/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/variant_entry.h"
#include <string.h>
#include "runtime/run/bind_variant.h"
#include "runtime/run/executor.h"
#include "runtime/run/idle_frames.h"
#include "runtime/run/specialize.h"
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"

/*
 * The newest binding is first. A binding dropped while runs use it ends with the last of them. One short lock finds
 * binding and frame, another gives them back; none is held between. A frame kept at hand (idle_frames) is not given
 * back: it stands for a run that goes on.
 */

enum { MOST_BINDINGS = 32 };

struct weft_variant_entry {
    weft_executor *executor;
    weft_variant *variant;
    bool is_exact;
    pthread_mutex_t mutex;
    weft_fork_guard guard;
    weft_bound_variant *newest;
    size_t count;
};

weft_status *weft_variant_entry_create(weft_executor *executor, weft_variant *variant, bool is_exact,
                                       weft_variant_entry **out_entry)
{
    weft_variant_entry *entry = weft_allocate_zeroed(&executor->allocator, sizeof *entry);
    if (entry == NULL) {
        weft_variant_destroy(variant);
        return weft_status_out_of_memory();
    }
    entry->executor = executor;
    entry->variant = variant;
    entry->is_exact = is_exact;
    pthread_mutex_init(&entry->mutex, NULL);
    weft_status *status = weft_fork_guard_init(&entry->guard, &entry->mutex, NULL);
    if (status == NULL) *out_entry = entry;
    else weft_variant_entry_destroy(entry);
    return status;
}

size_t weft_variant_entry_bytes(const weft_variant *variant)
{
    size_t bytes = sizeof *variant + variant->arena.used + variant->formulas.count * sizeof(weft_formula);
    bytes += variant->self_bytes;
    for (size_t i = 0; i < variant->step_count; i++)
        if (variant->resolved[i].handle != NULL) bytes += weft_cache_bytes(variant->resolved[i].handle);
    return bytes;
}

/* The bound on specialised variants is one on their code too. */
static void drop_kernels(weft_variant_entry *entry)
{
    for (size_t i = 0; i < entry->variant->step_count; i++) {
        weft_resolved *resolved = &entry->variant->resolved[i];
        weft_cache_release_and_drop(entry->executor->kernels, resolved->handle);
        resolved->handle = NULL;
    }
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
    if (entry->is_exact) drop_kernels(entry);
    weft_variant_destroy(entry->variant);
    pthread_mutex_destroy(&entry->mutex);
    weft_free(&entry->executor->allocator, entry, sizeof *entry);
}

/* ---- under the lock ---- */

/* Puts a binding, the one that `link` points to, first. */
static void touch(weft_variant_entry *entry, weft_bound_variant **link)
{
    weft_bound_variant *bound = *link;
    *link = bound->older;
    bound->older = entry->newest;
    entry->newest = bound;
}

static weft_bound_variant *find(weft_variant_entry *entry, const weft_call_key *key)
{
    weft_bound_variant **link = &entry->newest;
    while (*link != NULL && !weft_bound_variant_has_key(*link, key)) link = &(*link)->older;
    if (*link == NULL) return NULL;
    touch(entry, link);
    return entry->newest;
}

static weft_bound_variant **find_oldest(weft_variant_entry *entry)
{
    weft_bound_variant **link = &entry->newest;
    while ((*link)->older != NULL) link = &(*link)->older;
    return link;
}

/* Before another binding comes first: those that would go next, but were used meanwhile, move up. */
static void touch_marked(weft_variant_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) {
        weft_bound_variant **oldest = find_oldest(entry);
        if (!atomic_exchange(&(*oldest)->marked, false)) return;
        touch(entry, oldest);
    }
}

/* What became of the oldest binding. */
typedef struct dropped {
    bool any;
    uint64_t hash;             /* of its key */
    weft_bound_variant *bound; /* to be destroyed without the lock; NULL while it is in use */
} dropped;

static dropped drop_oldest(weft_variant_entry *entry)
{
    weft_bound_variant **link = find_oldest(entry);
    weft_bound_variant *bound = *link;
    *link = NULL;
    entry->count--;
    atomic_store(&bound->kept, false);
    return (dropped){true, bound->key_hash, bound->running == 0 ? bound : NULL};
}

static weft_frame *take_idle(weft_bound_variant *bound)
{
    weft_frame *frame = bound->frames;
    if (frame != NULL) bound->frames = frame->next;
    return frame;
}

/* `*out_due`: this is as late a run of the binding as the executor waits for, to specialise it. */
static weft_frame *take_frame(weft_bound_variant *bound, bool *out_due)
{
    uint32_t left = atomic_load(&bound->runs_left);
    *out_due = left == 1;
    if (left > 0) atomic_store(&bound->runs_left, left - 1);
    bound->running++;
    return take_idle(bound);
}

/* ---- bindings ---- */

/* Puts `bound` first. */
static dropped add(weft_variant_entry *entry, weft_bound_variant *bound)
{
    touch_marked(entry);
    atomic_store(&bound->kept, true);
    bound->older = entry->newest;
    entry->newest = bound;
    return ++entry->count > MOST_BINDINGS ? drop_oldest(entry) : (dropped){.any = false};
}

/* Adds `bound`, unless another thread was faster: then that one's is used. */
static weft_bound_variant *keep(weft_variant_entry *entry, weft_bound_variant *bound, const weft_call_key *key,
                                weft_frame **out_frame, bool *out_due)
{
    dropped gone = {.bound = bound};
    pthread_mutex_lock(&entry->mutex);
    weft_bound_variant *kept = find(entry, key);
    if (kept == NULL) {
        kept = bound;
        gone = add(entry, bound);
    }
    *out_frame = take_frame(kept, out_due);
    pthread_mutex_unlock(&entry->mutex);
    weft_bound_variant_destroy(gone.bound);
    if (gone.any && gone.bound == NULL) weft_idle_frames_review_hash(entry->executor->idle, gone.hash);
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

static weft_status *bind(const weft_variant_entry *entry, const weft_call *call, const weft_call_key *key,
                         weft_bound_variant **out_bound)
{
    weft_executor *executor = entry->executor;
    const weft_bound_variant environment = {.allocator = &executor->allocator,
                                            .pool = executor->pool,
                                            .blocks = executor->blocks,
                                            .queues = executor->queues,
                                            .executor = executor,
                                            .extensions = &executor->extensions,
                                            .host_runtime = weft_executor_find_host_runtime(executor, call->runtime)};
    WEFT_TRY(weft_bound_variant_create(&environment, entry->variant, call, key, out_bound));
    bool pays = executor->specialize_after != WEFT_SPECIALIZE_NEVER && !entry->is_exact && !call->run->specialize &&
                weft_specialize_pays(entry->variant, call->program);
    (*out_bound)->patience = pays ? executor->specialize_after : 0;
    atomic_init(&(*out_bound)->runs_left, (*out_bound)->patience);
    return NULL;
}

/* A frame for a run of `bound` that has begun, and ends with an error. */
static weft_status *frame_or_end(weft_variant_entry *entry, weft_bound_variant *bound, weft_frame *idle,
                                 weft_frame **out_frame)
{
    weft_status *status = NULL;
    if (idle != NULL) *out_frame = idle;
    else status = weft_frame_create(bound, out_frame);
    if (status != NULL) end_run(entry, bound, NULL);
    return status;
}

/* A frame of the binding of `key`; or none, but the binding, a run of which has begun, where there was a variant for
 * exactly its extents. `out_due` as take_frame has it. */
static weft_status *acquire(weft_variant_entry *entry, const weft_call *call, const weft_call_key *key,
                            weft_frame **out_frame, weft_bound_variant **out_generic, bool *out_due)
{
    weft_frame *frame = NULL;
    *out_due = false;
    pthread_mutex_lock(&entry->mutex);
    weft_bound_variant *bound = find(entry, key);
    *out_generic = bound != NULL && bound->is_specialized ? bound : NULL;
    if (*out_generic != NULL) bound->running++;
    else if (bound != NULL) frame = take_frame(bound, out_due);
    pthread_mutex_unlock(&entry->mutex);
    if (*out_generic != NULL) return NULL;
    if (bound == NULL) {
        WEFT_TRY(bind(entry, call, key, &bound));
        bound = keep(entry, bound, key, &frame, out_due);
    }
    return frame_or_end(entry, bound, frame, out_frame);
}

static void specialize_later(weft_cache_handle *handle, weft_bound_variant *bound, const weft_call *call,
                             const weft_call_key *key)
{
    weft_variant_entry *entry = weft_cache_value(handle);
    pthread_mutex_lock(&entry->mutex);
    bound->running++; /* until the background is done with it */
    pthread_mutex_unlock(&entry->mutex);
    if (!weft_specialize_later(handle, bound, call, key)) end_run(entry, bound, NULL);
}

/* For a run of `generic` that has begun, whose other variant was evicted: it waits longer for the next one, or more
 * than there is room for would be built forever. */
static weft_status *acquire_generic(weft_variant_entry *entry, weft_bound_variant *generic, weft_frame **out_frame)
{
    pthread_mutex_lock(&entry->mutex);
    if (atomic_exchange(&generic->is_specialized, false)) {
        if (generic->patience <= UINT32_MAX / 2) generic->patience *= 2;
        atomic_store(&generic->runs_left, generic->patience);
    }
    weft_frame *frame = take_idle(generic);
    pthread_mutex_unlock(&entry->mutex);
    return frame_or_end(entry, generic, frame, out_frame);
}

/* For a run of `generic` that has begun: a frame of the variant on `exact`, which the frame has from now on. */
static weft_status *acquire_exact(weft_cache_handle *exact, const weft_call *call, const weft_call_key *key,
                                  weft_bound_variant *generic, weft_frame **out_frame)
{
    weft_bound_variant *none;
    bool due;
    WEFT_TRY(acquire(weft_cache_value(exact), call, key, out_frame, &none, &due));
    (*out_frame)->generic = generic;
    (*out_frame)->exact = exact;
    return NULL;
}

/* weft_variant_entry_acquire, except that the handle stays the caller's. */
static weft_status *acquire_best(weft_cache_handle *handle, const weft_call *call, const weft_call_key *key,
                                 weft_frame **out_frame)
{
    weft_variant_entry *entry = weft_cache_value(handle);
    weft_bound_variant *generic;
    bool due;
    WEFT_TRY(acquire(entry, call, key, out_frame, &generic, &due));
    if (due) specialize_later(handle, (*out_frame)->bound, call, key);
    if (generic == NULL) return NULL;
    weft_cache_handle *exact =
        weft_cache_find(entry->executor->specialized, key->words, key->count * sizeof *key->words);
    if (exact == NULL) return acquire_generic(entry, generic, out_frame);
    weft_status *status = acquire_exact(exact, call, key, generic, out_frame);
    if (status == NULL) return NULL;
    weft_cache_release(exact);
    end_run(entry, generic, NULL);
    return status;
}

weft_status *weft_variant_entry_acquire(weft_cache_handle *handle, const weft_call *call, const weft_call_key *key,
                                        weft_frame **out_frame)
{
    weft_status *status = acquire_best(handle, call, key, out_frame);
    if (status == NULL) (*out_frame)->handle = handle;
    else weft_cache_release(handle);
    return status;
}

void weft_variant_entry_release(weft_frame *frame)
{
    weft_cache_handle *handle = frame->handle;
    weft_cache_handle *exact = frame->exact;
    weft_bound_variant *generic = frame->generic;
    weft_variant_entry_add_hits(frame);
    frame->generic = NULL;
    frame->exact = NULL;
    end_run(weft_cache_value(exact == NULL ? handle : exact), frame->bound, frame);
    if (generic != NULL) end_run(weft_cache_value(handle), generic, NULL);
    weft_cache_release(exact);
    weft_cache_release(handle);
}

/* ---- frames at hand ---- */

/* The binding that the key of its runs stands for. */
static weft_bound_variant *asked_for(const weft_frame *frame)
{
    return frame->generic == NULL ? frame->bound : frame->generic;
}

/* Runs that are counted until their binding is specialised, and those after that, ask. */
bool weft_variant_entry_is_current(const weft_frame *frame)
{
    const weft_bound_variant *bound = asked_for(frame);
    return weft_cache_keeps(frame->handle) && atomic_load(&bound->kept) &&
           (frame->exact != NULL ? weft_cache_keeps(frame->exact)
                                 : !atomic_load(&bound->is_specialized) && atomic_load(&bound->runs_left) == 0);
}

void weft_variant_entry_mark(weft_frame *frame)
{
    weft_bound_variant *bound = asked_for(frame);
    frame->hits++;
    weft_cache_mark(frame->handle);
    if (frame->exact != NULL) weft_cache_mark(frame->exact);
    if (!atomic_load_explicit(&bound->marked, memory_order_relaxed))
        atomic_store_explicit(&bound->marked, true, memory_order_relaxed);
}

void weft_variant_entry_add_hits(weft_frame *frame)
{
    if (frame->hits > 0) weft_cache_add_hits(frame->bound->executor->variants, frame->hits);
    frame->hits = 0;
}

/* ---- specialised variants ---- */

void weft_variant_entry_end(weft_variant_entry *entry, weft_bound_variant *bound)
{
    end_run(entry, bound, NULL);
}
