/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/specialize.h"
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/run/build_variant.h"
#include "runtime/run/idle_frames.h"

typedef struct specialization {
    weft_background_task task;
    weft_arena arena; /* of the request and the key */
    weft_variant_request request;
    int64_t *key; /* of the calls */
    size_t key_count;
    weft_cache_handle *handle; /* on the generic variant's entry */
    weft_bound_variant *bound;
} specialization;

static bool has_step(const weft_variant *variant, weft_step_kind kind)
{
    bool any = false;
    for (size_t i = 0; i < variant->step_count && !any; i++) any = variant->steps[i].kind == kind;
    return any;
}

static bool has_strided(const weft_variant *variant)
{
    bool any = false;
    for (size_t i = 0; i < variant->buffer_count && !any; i++) any = variant->buffers[i].strides != NULL;
    return any;
}

/* Small products become loops. */
bool weft_specialize_pays(const weft_variant *variant, const weft_program *program)
{
    bool has_symbols = program->formulas.symbol_count > 0;
    if (has_step(variant, WEFT_STEP_KERNEL)) return has_symbols || has_strided(variant);
    return has_symbols && has_step(variant, WEFT_STEP_GEMM);
}

static weft_status *make_entry(void *context, void **out_value, size_t *out_bytes)
{
    specialization *s = context;
    weft_executor *executor = s->request.executor;
    weft_variant *variant;
    weft_variant_entry *entry;
    WEFT_TRY(weft_variant_request_build(&s->request, &variant));
    *out_bytes = weft_variant_entry_bytes(variant);
    WEFT_TRY(weft_variant_entry_create(executor, variant, true, &entry));
    *out_value = entry;
    atomic_fetch_add(&executor->variants_specialized, 1);
    return NULL;
}

/* Where this fails, runs go on as they are. A child may find it done before a fork, and a program that nobody else has
 * will not run again. Others may have gone to make room. */
static void specialize(weft_background_task *task)
{
    specialization *s = (specialization *)task;
    weft_executor *executor = s->request.executor;
    bool is_last = atomic_load_explicit(&s->request.program->references, memory_order_acquire) == 1;
    if (atomic_load(&s->bound->is_specialized) || is_last) return;
    weft_cache_handle *made = NULL;
    weft_status *status =
        weft_cache_acquire(executor->specialized, s->key, s->key_count * sizeof *s->key, make_entry, s, NULL, &made);
    if (status == NULL && weft_cache_keeps(made)) atomic_store(&s->bound->is_specialized, true);
    weft_cache_release(made);
    weft_idle_frames_review(executor->idle);
    weft_status_destroy(status);
}

static void destroy(specialization *s)
{
    weft_allocator allocator = s->request.executor->allocator;
    weft_arena_finish(&s->arena);
    weft_free(&allocator, s, sizeof *s);
}

static void destroy_specialization(weft_background_task *task)
{
    specialization *s = (specialization *)task;
    weft_variant_entry_end(weft_cache_value(s->handle), s->bound);
    weft_cache_release(s->handle);
    weft_program_release(s->request.program);
    destroy(s);
}

static weft_status *fill(specialization *s, const weft_call *call, const weft_call_key *key)
{
    s->key_count = key->count;
    s->key = weft_arena_allocate(&s->arena, key->count * sizeof *key->words);
    if (s->key == NULL) return weft_status_out_of_memory();
    memcpy(s->key, key->words, key->count * sizeof *key->words);
    return weft_variant_request_init(&s->request, s->request.executor, call, true, &s->arena);
}

bool weft_specialize_later(weft_cache_handle *handle, weft_bound_variant *bound, const weft_call *call,
                           const weft_call_key *key)
{
    weft_executor *executor = bound->executor;
    specialization *s = weft_allocate_zeroed(&executor->allocator, sizeof *s);
    if (s == NULL) return false;
    s->request.executor = executor;
    weft_arena_init(&s->arena, &executor->allocator);
    weft_status *status = fill(s, call, key);
    if (status != NULL) {
        weft_status_destroy(status);
        destroy(s);
        return false;
    }
    s->task = (weft_background_task){.run = specialize, .destroy = destroy_specialization};
    s->request.program = weft_program_retain(call->program);
    s->request.cancelled = weft_background_cancelled(executor->background);
    if (s->request.code == WEFT_CODE_TIERED) s->request.code = WEFT_CODE_OPTIMIZED; /* nobody waits for it */
    s->handle = weft_cache_retain(handle);
    s->bound = bound;
    weft_background_add(executor->background, &s->task);
    return true;
}
