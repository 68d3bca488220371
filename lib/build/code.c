/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/base/pool.h"
#include "runtime/data/device.h"

/*
 * Code of kernels: from the executor's cache, or made and loaded, on all threads of its pool. Some may wait in the
 * cache for a kernel that another is making. There is no deadlock, because a thread that makes one takes nothing else
 * from the cache and starts no job.
 *
 * Code may be made in haste first; then the background makes it again.
 */

#define SYMBOL "weft_kernel"

typedef struct code_request {
    const weft_build_request *request;
    const weft_code_generator *generator;
    const weft_kernel *kernel;
} code_request;

/* Emits an object and loads it. */
static weft_status *load_code(const weft_kernel_code *code, const weft_kernel *kernel, bool quick,
                              const weft_code_generator *generator, weft_image **out_image,
                              weft_kernel_function *out_function, size_t *out_bytes)
{
    const weft_runtime *runtime = code->runtime;
    weft_bytes object;
    weft_bytes_init(&object, code->allocator);
    weft_status *status = (quick ? generator->emit_quick : generator->emit)(code->allocator, kernel, SYMBOL, &object);
    if (status == NULL)
        status = runtime->driver->load(runtime->self, object.data, object.size, SYMBOL, out_image, out_function);
    *out_bytes = object.size;
    weft_bytes_finish(&object);
    return status;
}

static bool is_quick(const weft_build_request *request, const weft_code_generator *generator)
{
    if (weft_device_is_apart(request->runtime)) return false; /* its driver keeps the image */
    return request->code != WEFT_CODE_OPTIMIZED && generator->emit_quick != NULL;
}

static weft_status *make_code(void *context, void **out_value, size_t *out_bytes)
{
    const code_request *code = context;
    const weft_build_request *request = code->request;
    bool quick = is_quick(request, code->generator);
    weft_kernel_function function;
    weft_kernel_code *made = weft_allocate_zeroed(request->allocator, sizeof *made);
    if (made == NULL) return weft_status_out_of_memory();
    made->allocator = request->allocator;
    made->runtime = request->runtime;
    weft_status *status = load_code(made, code->kernel, quick, code->generator, &made->image, &function, out_bytes);
    if (status != NULL) {
        weft_free(request->allocator, made, sizeof *made);
        return status;
    }
    atomic_init(&made->function, function);
    atomic_init(&made->is_settled, !quick);
    atomic_fetch_add(request->kernels_compiled, 1);
    *out_value = made;
    return NULL;
}

/* ---- optimised in the background ---- */

/* Of code that was made in haste. */
typedef struct optimization {
    weft_background_task task;
    const weft_allocator *allocator;
    const weft_code_generator *generator;
    weft_kernel *kernel;
    weft_cache_handle *handle;
    _Atomic uint64_t *count;
} optimization;

/* Where this fails, the code stays as it is. A child may find it done before a fork. */
static void optimize(weft_background_task *task)
{
    const optimization *o = (optimization *)task;
    weft_kernel_code *code = weft_cache_value(o->handle);
    weft_image *image;
    weft_kernel_function function;
    size_t bytes;
    if (code->optimized != NULL) return;
    weft_status *status = load_code(code, o->kernel, false, o->generator, &image, &function, &bytes);
    if (status == NULL) {
        code->optimized = image;
        atomic_store_explicit(&code->function, function, memory_order_release);
        atomic_fetch_add(o->count, 1);
    }
    weft_status_destroy(status);
}

static void destroy_optimization(weft_background_task *task)
{
    optimization *o = (optimization *)task;
    weft_kernel_destroy(o->kernel);
    weft_cache_release(o->handle);
    weft_free(o->allocator, o, sizeof *o);
}

/* Once for each code. Where there is no memory for it, it stays as it is. */
static void optimize_later(const weft_build_request *request, const weft_code_generator *generator,
                           const weft_kernel *kernel, weft_cache_handle *handle)
{
    weft_kernel_code *code = weft_cache_value(handle);
    if (atomic_exchange(&code->is_settled, true)) return;
    optimization *o = weft_allocate_zeroed(request->allocator, sizeof *o);
    if (o == NULL) return;
    *o = (optimization){{.run = optimize, .destroy = destroy_optimization},
                        request->allocator,
                        generator,
                        NULL,
                        weft_cache_retain(handle),
                        request->kernels_optimized};
    weft_status *status = weft_kernel_clone(kernel, &o->kernel);
    if (status == NULL) weft_background_add(request->background, &o->task);
    else destroy_optimization(&o->task);
    weft_status_destroy(status);
}

/* ---- the cache ---- */

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
                                    &out_resolved->handle);
    weft_bytes_finish(&key);
    if (status == NULL) out_resolved->code = weft_cache_value(out_resolved->handle);
    return status;
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
    WEFT_TRY(take_failure(&jobs));
    bool tiered = builder->request->code == WEFT_CODE_TIERED && is_quick(builder->request, generator);
    for (size_t i = 0; i < jobs.count && tiered; i++)
        optimize_later(builder->request, generator, jobs.items[i].kernel, jobs.items[i].resolved->handle);
    return NULL;
}
