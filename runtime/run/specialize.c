/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/specialize.h"
#include "runtime/base/memory.h"
#include "runtime/run/build_variant.h"

typedef struct specialization {
    weft_background_task task;
    weft_arena arena; /* of the request */
    weft_variant_request request;
    weft_cache_handle *handle; /* on the generic variant's entry */
    weft_bound_variant *bound;
} specialization;

bool weft_specialize_pays(const weft_variant *variant, const weft_program *program)
{
    size_t i = 0;
    while (i < variant->step_count && variant->steps[i].kind != WEFT_STEP_KERNEL) i++;
    return i < variant->step_count && program->formulas.symbol_count > 0;
}

/* Takes one of those that the executor may have. */
static bool reserve(weft_executor *executor)
{
    if (atomic_fetch_add(&executor->specialized_count, 1) < executor->specialized_capacity) return true;
    atomic_fetch_sub(&executor->specialized_count, 1);
    return false;
}

void weft_specialize_forget(weft_executor *executor)
{
    atomic_fetch_sub(&executor->specialized_count, 1);
}

/* Where this fails, runs go on as they are. A child may find it done before a fork, and a program that nobody else has
 * will not run again. */
static void specialize(weft_background_task *task)
{
    specialization *s = (specialization *)task;
    weft_executor *executor = s->request.executor;
    bool is_last = atomic_load_explicit(&s->request.program->references, memory_order_acquire) == 1;
    if (s->bound->specialized != NULL || is_last) return;
    weft_variant *variant;
    weft_variant_entry *entry;
    weft_status *status = weft_variant_request_build(&s->request, &variant);
    if (status == NULL) status = weft_variant_entry_create(executor, variant, &entry);
    if (status == NULL) {
        weft_variant_entry_replace(weft_cache_value(s->handle), s->bound, entry);
        atomic_fetch_add(&executor->variants_specialized, 1);
    }
    weft_status_destroy(status);
}

static void destroy_specialization(weft_background_task *task)
{
    specialization *s = (specialization *)task;
    weft_executor *executor = s->request.executor;
    if (s->bound->specialized == NULL) weft_specialize_forget(executor);
    weft_variant_entry_end(weft_cache_value(s->handle), s->bound);
    weft_cache_release(s->handle);
    weft_program_release(s->request.program);
    weft_arena_finish(&s->arena);
    weft_free(&executor->allocator, s, sizeof *s);
}

bool weft_specialize_later(weft_cache_handle *handle, weft_bound_variant *bound, const weft_call *call)
{
    weft_executor *executor = bound->executor;
    if (!reserve(executor)) return false;
    specialization *s = weft_allocate_zeroed(&executor->allocator, sizeof *s);
    if (s == NULL) {
        weft_specialize_forget(executor);
        return false;
    }
    weft_arena_init(&s->arena, &executor->allocator);
    weft_status *status = weft_variant_request_init(&s->request, executor, call, true, &s->arena);
    if (status != NULL) {
        weft_status_destroy(status);
        weft_arena_finish(&s->arena);
        weft_free(&executor->allocator, s, sizeof *s);
        weft_specialize_forget(executor);
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
