/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/code.h"
#include <stdlib.h>
#include "runtime/base/cancel.h"
#include "runtime/base/pool.h"
#include "runtime/data/device.h"

/*
 * Code of all kernels of a variant, on all threads of the executor's pool: the longest first, so that none is left to
 * one thread at the end, and short ones together, as far as that leaves work for all threads.
 */

/* A kernel, and what its step calls. */
typedef struct code_job {
    const weft_kernel *kernel;
    weft_resolved *resolved;
    uint64_t work;  /* to make it, in instructions */
    weft_bytes key; /* empty: not known yet */
    weft_status *status;
} code_job;

typedef struct code_jobs {
    const weft_build_request *request;
    weft_code_source source;
    code_job *items;
    size_t count;
    code_job **order; /* by work */
    size_t *groups;   /* where each begins in `order`, and the end */
    size_t group_count;
} code_jobs;

static weft_status *check_cancelled(const weft_build_request *request)
{
    if (!weft_is_cancelled(request->cancelled)) return NULL;
    return weft_status_create(request->allocator, WEFT_CANCELLED, "weft_executor_run",
                              "the run was cancelled while its kernels were compiled");
}

static weft_status *fill_key(const code_jobs *jobs, code_job *job)
{
    return job->key.size > 0 ? NULL : weft_code_append_key(&jobs->source, job->kernel, &job->key);
}

static weft_code_request request_of(const code_jobs *jobs, const code_job *job)
{
    return (weft_code_request){jobs->request, jobs->source, job->kernel, &job->key};
}

static void resolve(code_job *job, weft_cache_handle *handle)
{
    job->resolved->handle = handle;
    job->resolved->code = weft_cache_value(handle);
}

static weft_status *run_job(const code_jobs *jobs, code_job *job)
{
    weft_cache_handle *handle;
    WEFT_TRY(check_cancelled(jobs->request));
    WEFT_TRY(fill_key(jobs, job));
    const weft_code_request wanted = request_of(jobs, job);
    WEFT_TRY(weft_code_keep(&wanted));
    WEFT_TRY(weft_code_find(&wanted, &handle));
    resolve(job, handle);
    return weft_code_keep(&wanted); /* what was there may have been broken */
}

static weft_status *fill_requests(const code_jobs *jobs, code_job *const *group, size_t count,
                                  weft_code_request *out_requests)
{
    WEFT_TRY(check_cancelled(jobs->request));
    for (size_t i = 0; i < count; i++) {
        WEFT_TRY(fill_key(jobs, group[i]));
        out_requests[i] = request_of(jobs, group[i]);
    }
    return NULL;
}

static void run_together(const code_jobs *jobs, code_job *const *group, size_t count)
{
    weft_code_request requests[WEFT_CODE_GROUP];
    weft_cache_handle *handles[WEFT_CODE_GROUP];
    weft_status *statuses[WEFT_CODE_GROUP];
    group[0]->status = fill_requests(jobs, group, count, requests);
    if (group[0]->status != NULL) return;
    weft_codes_find(requests, count, handles, statuses);
    for (size_t i = 0; i < count; i++) {
        group[i]->status = statuses[i];
        if (statuses[i] == NULL) resolve(group[i], handles[i]);
    }
}

static void run_groups(void *context, int64_t begin, int64_t end)
{
    const code_jobs *jobs = context;
    for (int64_t g = begin; g < end; g++) {
        code_job *const *group = jobs->order + jobs->groups[g];
        size_t count = jobs->groups[g + 1] - jobs->groups[g];
        if (count == 1) group[0]->status = run_job(jobs, group[0]);
        else run_together(jobs, group, count);
        for (size_t i = 0; i < count; i++) weft_bytes_finish(&group[i]->key);
    }
}

static bool is_kept(const weft_code_source *source, const weft_bytes *key)
{
    return weft_kept_code_has(source->kept, key->data, key->size) ||
           (source->store != NULL && weft_store_has(source->store, key->data, key->size));
}

/* Whether all that is to be done is to read a few files: less than it takes to wake another thread. */
static bool are_kept(const code_jobs *jobs)
{
    enum { FEW = 16 };
    const weft_code_source *source = &jobs->source;
    bool kept = (source->kept != NULL || source->store != NULL) && jobs->count <= FEW;
    for (size_t i = 0; i < jobs->count && kept; i++) {
        code_job *job = &jobs->items[i];
        weft_status *status = fill_key(jobs, job);
        kept = status == NULL && is_kept(source, &job->key);
        if (status != NULL) weft_bytes_finish(&job->key); /* the job tries again */
        weft_status_destroy(status);
    }
    return kept;
}

/* ---- groups ---- */

/* About the instructions that are emitted, and what any kernel takes besides. */
static uint64_t work_of(const weft_kernel *kernel)
{
    enum { EACH = 100 };
    uint64_t work = EACH;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        uint64_t copies = 1;
        for (uint32_t i = 0; i < stage->range_count; i++) copies *= stage->ranges[i].unroll;
        for (uint32_t i = 0; i < kernel->range_count; i++) copies *= kernel->ranges[i].unroll;
        work += copies * stage->inst_count;
    }
    return work;
}

/* The longest first. */
static int compare_work(const void *a, const void *b)
{
    const code_job *x = *(code_job *const *)a, *y = *(code_job *const *)b;
    if (x->work != y->work) return x->work > y->work ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* How much work kernels that are compiled together may be: objects that are kept have one each, and with several
 * threads each is to have a few groups. No more than one kernel of a dozen functions is, so that a group needs no more
 * memory and no longer to be cancelled. */
static uint64_t most_work(const code_jobs *jobs)
{
    enum { GROUPS = 2, MOST = 2000 };
    size_t threads = weft_pool_width(jobs->request->pool);
    uint64_t sum = 0;
    if (jobs->source.kept != NULL || jobs->source.store != NULL || weft_device_is_apart(jobs->request->runtime))
        return 0;
    for (size_t i = 0; i < jobs->count; i++) sum += jobs->items[i].work;
    uint64_t share = threads == 1 ? sum : sum / (GROUPS * threads);
    return share < MOST ? share : MOST;
}

static weft_status *form_groups(code_jobs *jobs, weft_arena *arena)
{
    jobs->order = weft_arena_allocate(arena, (jobs->count + 1) * sizeof *jobs->order);
    jobs->groups = weft_arena_allocate(arena, (jobs->count + 1) * sizeof *jobs->groups);
    if (jobs->order == NULL || jobs->groups == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < jobs->count; i++) jobs->order[i] = &jobs->items[i];
    qsort(jobs->order, jobs->count, sizeof *jobs->order, compare_work);
    uint64_t most = most_work(jobs), work = 0;
    for (size_t i = 0, first = 0; i < jobs->count; i++) {
        work += jobs->order[i]->work;
        if (i > 0 && work <= most && i - first < WEFT_CODE_GROUP) continue;
        jobs->groups[jobs->group_count++] = first = i;
        work = jobs->order[i]->work;
    }
    jobs->groups[jobs->group_count] = jobs->count;
    return NULL;
}

static void add_job(code_jobs *jobs, const weft_kernel *kernel, weft_resolved *resolved)
{
    code_job *job = &jobs->items[jobs->count++];
    *job = (code_job){.kernel = kernel, .resolved = resolved, .work = work_of(kernel)};
    weft_bytes_init(&job->key, jobs->request->allocator);
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
    code_jobs jobs = {.request = builder->request, .source = weft_code_source_of(builder->request, generator)};
    if (runtime->driver->load == NULL)
        return weft_status_create(builder->request->allocator, WEFT_UNSUPPORTED, "weft_executor_run",
                                  "the driver of runtime \"%s\" loads no code", runtime->name);
    jobs.items = weft_arena_allocate(builder->arena, (variant->step_count + 1) * sizeof *jobs.items);
    if (jobs.items == NULL) return weft_status_out_of_memory();
    for (size_t s = 0; s < variant->step_count; s++)
        if (variant->steps[s].kind == WEFT_STEP_KERNEL) add_job(&jobs, builder->kernels[s], &variant->resolved[s]);
    WEFT_TRY(form_groups(&jobs, builder->arena));
    if (are_kept(&jobs)) run_groups(&jobs, 0, (int64_t)jobs.group_count);
    else weft_pool_run(builder->request->pool, (int64_t)jobs.group_count, 1, run_groups, &jobs);
    WEFT_TRY(take_failure(&jobs));
    bool tiered = builder->request->code == WEFT_CODE_TIERED && weft_code_is_quick(builder->request, generator);
    for (size_t i = 0; i < jobs.count && tiered; i++)
        weft_code_optimize_later(builder->request, generator, jobs.items[i].kernel, jobs.items[i].resolved->handle);
    return NULL;
}
