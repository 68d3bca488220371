/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/base/pool.h"

/*
 * Code of kernels: from the executor's cache, or made and loaded, on all threads of its pool. Some may wait in the
 * cache for a kernel that another is making. There is no deadlock, because a thread that makes one takes nothing else
 * from the cache and starts no job.
 */

typedef struct code_request {
    const weft_build_request *request;
    const weft_code_generator *generator;
    const weft_kernel *kernel;
} code_request;

static weft_status *make_code(void *context, void **out_value, size_t *out_bytes)
{
    code_request *code = context;
    const weft_build_request *request = code->request;
    weft_kernel_code *made = weft_allocate_zeroed(request->allocator, sizeof *made);
    if (made == NULL) return weft_status_out_of_memory();
    *made = (weft_kernel_code){.allocator = request->allocator, .runtime = request->runtime};
    weft_bytes object;
    weft_bytes_init(&object, request->allocator);
    weft_status *status = code->generator->emit(request->allocator, code->kernel, "weft_kernel", &object);
    if (status == NULL) {
        const weft_runtime *runtime = request->runtime;
        status = runtime->driver->load(runtime->self, object.data, object.size, "weft_kernel", &made->image,
                                       &made->function);
    }
    *out_bytes = object.size;
    weft_bytes_finish(&object);
    if (status != NULL) {
        weft_free(request->allocator, made, sizeof *made);
        return status;
    }
    atomic_fetch_add(request->kernels_compiled, 1);
    *out_value = made;
    return NULL;
}

static weft_status *find_code(const code_request *wanted, weft_resolved *out_resolved)
{
    const weft_build_request *request = wanted->request;
    weft_bytes key;
    weft_bytes_init(&key, request->allocator);
    const char *target = wanted->generator->target();
    /* Code belongs to the driver that loaded it. */
    weft_bytes_append(&key, &request->runtime, sizeof request->runtime);
    weft_bytes_append(&key, target, strlen(target) + 1);
    weft_status *status = weft_kernel_key(wanted->kernel, &key);
    if (status == NULL) status = weft_bytes_status(&key);
    if (status == NULL)
        status = weft_cache_acquire(request->kernels, key.data, key.size, make_code, (void *)wanted, request->cancelled,
                                    &out_resolved->code);
    weft_bytes_finish(&key);
    if (status != NULL) return status;
    out_resolved->function = ((weft_kernel_code *)weft_cache_value(out_resolved->code))->function;
    return NULL;
}

static weft_status *check_cancelled(const weft_build_request *request)
{
    if (!weft_is_cancelled(request->cancelled)) return NULL;
    return weft_status_create(request->allocator, WEFT_CANCELLED, "weft_executor_run",
                              "the run was cancelled while its kernels were compiled");
}

/* A kernel, and what its step calls. */
typedef struct code_job {
    const weft_kernel *kernel;
    weft_resolved *resolved;
    weft_status *status;
} code_job;

typedef struct code_jobs {
    const weft_build_request *request;
    const weft_code_generator *generator;
    code_job *items;
    size_t count;
} code_jobs;

static void run_jobs(void *context, int64_t begin, int64_t end)
{
    const code_jobs *jobs = context;
    for (int64_t i = begin; i < end; i++) {
        code_job *job = &jobs->items[i];
        const code_request wanted = {jobs->request, jobs->generator, job->kernel};
        job->status = check_cancelled(jobs->request);
        if (job->status == NULL) job->status = find_code(&wanted, job->resolved);
    }
}

/* The first failure; the others are forgotten. */
static weft_status *take_failure(const code_jobs *jobs)
{
    weft_status *first = NULL;
    for (size_t i = 0; i < jobs->count; i++) {
        if (first == NULL) first = jobs->items[i].status;
        else weft_status_destroy(jobs->items[i].status);
    }
    return first;
}

weft_status *weft_builder_make_code(variant_builder *builder, const weft_code_generator *generator)
{
    const weft_variant *variant = builder->variant;
    const weft_runtime *runtime = builder->request->runtime;
    code_jobs jobs = {.request = builder->request, .generator = generator};
    if (runtime->driver->load == NULL)
        return weft_status_create(builder->request->allocator, WEFT_UNSUPPORTED, "weft_executor_run",
                                  "the driver of runtime \"%s\" loads no code", runtime->name);
    jobs.items = weft_arena_allocate(builder->arena, (variant->step_count + 1) * sizeof *jobs.items);
    if (jobs.items == NULL) return weft_status_out_of_memory();
    for (size_t s = 0; s < variant->step_count; s++)
        if (variant->steps[s].kind == WEFT_STEP_KERNEL)
            jobs.items[jobs.count++] = (code_job){.kernel = builder->kernels[s], .resolved = &variant->resolved[s]};
    weft_pool_run(builder->request->pool, (int64_t)jobs.count, 1, run_jobs, &jobs);
    return take_failure(&jobs);
}
