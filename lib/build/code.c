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
 *
 * Optimised objects are also kept on disk, where the executor has a place for them, and with a program that is to have
 * its code, and used from there whatever the policy. Those made in haste are not kept: a later process would find slow
 * code where it makes fast code now.
 */

#define SYMBOL "weft_kernel"

/* Where code comes from: the program, the disk, or the generator. */
typedef struct code_source {
    const weft_allocator *allocator;
    const weft_runtime *runtime;
    const weft_code_generator *generator;
    weft_kept_code *kept; /* the program's; NULL: none */
    weft_store *store;    /* NULL: none */
} code_source;

/* Code that was loaded. */
typedef struct loaded_code {
    weft_image *image;
    weft_kernel_function function;
    size_t bytes; /* of its object */
} loaded_code;

typedef struct code_request {
    const weft_build_request *request;
    code_source source;
    const weft_kernel *kernel;
    const weft_bytes *key; /* on disk */
} code_request;

static code_source source_of(const weft_build_request *request, const weft_code_generator *generator)
{
    return (code_source){request->allocator, request->runtime, generator, request->program->kept, request->store};
}

/* What identifies the object of a kernel, for all processes. */
static weft_status *append_key(const code_source *source, const weft_kernel *kernel, weft_bytes *key)
{
    source->generator->append_target(key);
    WEFT_TRY(weft_kernel_key(kernel, key));
    return weft_bytes_status(key);
}

static weft_status *load_object(const code_source *source, const weft_bytes *object, loaded_code *out_code)
{
    const weft_runtime *runtime = source->runtime;
    out_code->bytes = object->size;
    return runtime->driver->load(runtime->self, object->data, object->size, SYMBOL, &out_code->image,
                                 &out_code->function);
}

/* `out_broken`: it cannot be loaded at all, and that is not for want of memory. */
static bool try_load(const code_source *source, const weft_bytes *object, loaded_code *out_code, bool *out_broken)
{
    weft_status *status = load_object(source, object, out_code);
    bool loaded = status == NULL;
    *out_broken = !loaded && weft_status_code(status) != WEFT_OUT_OF_MEMORY;
    weft_status_destroy(status);
    return loaded;
}

/* From the program, which loses what is broken: it would be saved again. */
static bool load_from_program(const code_source *source, const weft_bytes *key, weft_bytes *object,
                              loaded_code *out_code)
{
    bool broken;
    if (!weft_kept_code_read(source->kept, key->data, key->size, object)) return false;
    if (try_load(source, object, out_code, &broken)) return true;
    if (broken) weft_kept_code_drop(source->kept, key->data, key->size);
    return false;
}

static bool load_from_disk(const code_source *source, const weft_bytes *key, weft_bytes *object, loaded_code *out_code)
{
    bool broken;
    if (source->store == NULL || !weft_store_read(source->store, key->data, key->size, object)) return false;
    if (try_load(source, object, out_code, &broken)) return true;
    weft_store_refuse(source->store);
    return false;
}

/* From the program or the disk; false: it is not there, or cannot be used. */
static bool load_kept(const code_source *source, const weft_bytes *key, loaded_code *out_code)
{
    weft_bytes object;
    weft_bytes_init(&object, source->allocator);
    bool loaded = load_from_program(source, key, &object, out_code) || load_from_disk(source, key, &object, out_code);
    weft_bytes_finish(&object);
    return loaded;
}

/* Emits an object and loads it. */
static weft_status *load_new(const code_source *source, const weft_kernel *kernel, bool quick, loaded_code *out_code,
                             weft_bytes *out_object)
{
    const weft_code_generator *generator = source->generator;
    WEFT_TRY((quick ? generator->emit_quick : generator->emit)(source->allocator, kernel, SYMBOL, out_object));
    return load_object(source, out_object, out_code);
}

/* And keeps it, unless it was made in haste. */
static weft_status *make_and_keep(const code_source *source, const weft_kernel *kernel, const weft_bytes *key,
                                  bool quick, loaded_code *out_code)
{
    weft_bytes object;
    weft_bytes_init(&object, source->allocator);
    weft_status *status = load_new(source, kernel, quick, out_code, &object);
    if (status == NULL && !quick && source->store != NULL)
        weft_store_write(source->store, key->data, key->size, object.data, object.size);
    weft_bytes_finish(&object);
    return status;
}

static bool is_quick(const weft_build_request *request, const weft_code_generator *generator)
{
    if (weft_device_is_apart(request->runtime)) return false; /* its driver keeps the image */
    return request->code != WEFT_CODE_OPTIMIZED && generator->emit_quick != NULL;
}

static weft_status *find_or_make(const code_request *code, bool quick, bool *out_kept, loaded_code *out_code)
{
    *out_kept = load_kept(&code->source, code->key, out_code);
    return *out_kept ? NULL : make_and_keep(&code->source, code->kernel, code->key, quick, out_code);
}

static weft_status *make_code(void *context, void **out_value, size_t *out_bytes)
{
    const code_request *code = context;
    const weft_build_request *request = code->request;
    bool quick = is_quick(request, code->source.generator), kept;
    loaded_code loaded;
    weft_kernel_code *made = weft_allocate_zeroed(request->allocator, sizeof *made);
    if (made == NULL) return weft_status_out_of_memory();
    made->allocator = request->allocator;
    made->runtime = request->runtime;
    weft_status *status = find_or_make(code, quick, &kept, &loaded);
    if (status != NULL) {
        weft_free(request->allocator, made, sizeof *made);
        return status;
    }
    made->image = loaded.image;
    atomic_init(&made->function, loaded.function);
    atomic_init(&made->is_settled, kept || !quick);
    if (!kept) atomic_fetch_add(request->kernels_compiled, 1);
    *out_value = made;
    *out_bytes = loaded.bytes;
    return NULL;
}

/* ---- optimised in the background ---- */

/* Of code that was made in haste. */
typedef struct optimization {
    weft_background_task task;
    code_source source;
    weft_kernel *kernel;
    weft_cache_handle *handle;
    _Atomic uint64_t *count;
} optimization;

static weft_status *make_optimized(const optimization *o, loaded_code *out_code)
{
    weft_bytes key;
    weft_bytes_init(&key, o->source.allocator);
    weft_status *status = append_key(&o->source, o->kernel, &key);
    if (status == NULL) status = make_and_keep(&o->source, o->kernel, &key, false, out_code);
    weft_bytes_finish(&key);
    return status;
}

/* Where this fails, the code stays as it is. A child may find it done before a fork. */
static void optimize(weft_background_task *task)
{
    const optimization *o = (optimization *)task;
    weft_kernel_code *code = weft_cache_value(o->handle);
    loaded_code loaded;
    if (code->optimized != NULL) return;
    weft_status *status = make_optimized(o, &loaded);
    if (status == NULL) {
        code->optimized = loaded.image;
        atomic_store_explicit(&code->function, loaded.function, memory_order_release);
        atomic_fetch_add(o->count, 1);
    }
    weft_status_destroy(status);
}

static void destroy_optimization(weft_background_task *task)
{
    optimization *o = (optimization *)task;
    weft_kernel_destroy(o->kernel);
    weft_cache_release(o->handle);
    weft_free(o->source.allocator, o, sizeof *o);
}

/* Once for each code. Where there is no memory for it, it stays as it is. */
static void optimize_later(const weft_build_request *request, const weft_code_generator *generator,
                           const weft_kernel *kernel, weft_cache_handle *handle)
{
    weft_kernel_code *code = weft_cache_value(handle);
    if (atomic_exchange(&code->is_settled, true)) return;
    optimization *o = weft_allocate_zeroed(request->allocator, sizeof *o);
    if (o == NULL) return;
    *o = (optimization){.task = {.run = optimize, .destroy = destroy_optimization},
                        .source = source_of(request, generator),
                        .handle = weft_cache_retain(handle),
                        .count = request->kernels_optimized};
    weft_status *status = weft_kernel_clone(kernel, &o->kernel);
    if (status == NULL) weft_background_add(request->background, &o->task);
    else destroy_optimization(&o->task);
    weft_status_destroy(status);
}

/* ---- the program's own ---- */

static bool read_from_disk(const code_source *source, const weft_bytes *key, weft_bytes *out_object)
{
    loaded_code loaded;
    if (!load_from_disk(source, key, out_object, &loaded)) return false;
    source->runtime->driver->unload(source->runtime->self, loaded.image);
    return true;
}

/* From the disk, if it can be loaded, or made. */
static weft_status *find_object(const code_request *wanted, weft_bytes *out_object)
{
    const code_source *source = &wanted->source;
    const weft_bytes *key = wanted->key;
    if (read_from_disk(source, key, out_object)) return NULL;
    weft_bytes_finish(out_object);
    weft_bytes_init(out_object, source->allocator);
    WEFT_TRY(source->generator->emit(source->allocator, wanted->kernel, SYMBOL, out_object));
    atomic_fetch_add(wanted->request->kernels_compiled, 1);
    if (source->store != NULL)
        weft_store_write(source->store, key->data, key->size, out_object->data, out_object->size);
    return NULL;
}

/*
 * Gives the program the optimised object of a kernel, if it is to have all. That the code may be in the cache does not
 * help, as objects are not kept there. The code is then loaded from the program.
 */
static weft_status *keep_object(const code_request *wanted)
{
    const code_source *source = &wanted->source;
    const weft_bytes *key = wanted->key;
    weft_bytes object;
    if (!weft_kept_code_grows(source->kept) || weft_kept_code_has(source->kept, key->data, key->size)) return NULL;
    weft_bytes_init(&object, source->allocator);
    weft_status *status = find_object(wanted, &object);
    if (status == NULL) status = weft_kept_code_add(source->kept, key->data, key->size, object.data, object.size);
    weft_bytes_finish(&object);
    return status;
}

/* ---- the cache ---- */

static weft_status *acquire(const code_request *wanted, weft_bytes *key, weft_cache_handle **out_handle)
{
    const weft_build_request *request = wanted->request;
    /* Code belongs to the driver that loaded it. */
    weft_bytes_append(key, &request->runtime, sizeof request->runtime);
    weft_bytes_append(key, wanted->key->data, wanted->key->size);
    WEFT_TRY(weft_bytes_status(key));
    return weft_cache_acquire(request->kernels, key->data, key->size, make_code, (void *)wanted, request->cancelled,
                              out_handle);
}

static weft_status *find_code(const code_request *wanted, weft_resolved *out_resolved)
{
    weft_bytes key;
    weft_bytes_init(&key, wanted->request->allocator);
    weft_status *status = acquire(wanted, &key, &out_resolved->handle);
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
    weft_bytes key; /* empty: not known yet */
    weft_status *status;
} code_job;

typedef struct code_jobs {
    const weft_build_request *request;
    const weft_code_generator *generator;
    code_job *items;
    size_t count;
} code_jobs;

static weft_status *fill_key(const code_jobs *jobs, code_job *job)
{
    const code_source source = source_of(jobs->request, jobs->generator);
    return job->key.size > 0 ? NULL : append_key(&source, job->kernel, &job->key);
}

static weft_status *run_job(const code_jobs *jobs, code_job *job)
{
    WEFT_TRY(check_cancelled(jobs->request));
    WEFT_TRY(fill_key(jobs, job));
    const code_request wanted = {jobs->request, source_of(jobs->request, jobs->generator), job->kernel, &job->key};
    WEFT_TRY(keep_object(&wanted));
    WEFT_TRY(find_code(&wanted, job->resolved));
    return keep_object(&wanted); /* what was there may have been broken */
}

static void run_jobs(void *context, int64_t begin, int64_t end)
{
    const code_jobs *jobs = context;
    for (int64_t i = begin; i < end; i++) {
        jobs->items[i].status = run_job(jobs, &jobs->items[i]);
        weft_bytes_finish(&jobs->items[i].key);
    }
}

static bool is_kept(const code_source *source, const weft_bytes *key)
{
    return weft_kept_code_has(source->kept, key->data, key->size) ||
           (source->store != NULL && weft_store_has(source->store, key->data, key->size));
}

/* Whether all that is to be done is to read a few files: less than it takes to wake another thread. */
static bool are_kept(const code_jobs *jobs)
{
    enum { FEW = 16 };
    const code_source source = source_of(jobs->request, jobs->generator);
    bool kept = (source.kept != NULL || source.store != NULL) && jobs->count <= FEW;
    for (size_t i = 0; i < jobs->count && kept; i++) {
        code_job *job = &jobs->items[i];
        weft_status *status = fill_key(jobs, job);
        kept = status == NULL && is_kept(&source, &job->key);
        if (status != NULL) weft_bytes_finish(&job->key); /* the job tries again */
        weft_status_destroy(status);
    }
    return kept;
}

static void add_job(code_jobs *jobs, const weft_kernel *kernel, weft_resolved *resolved)
{
    code_job *job = &jobs->items[jobs->count++];
    *job = (code_job){.kernel = kernel, .resolved = resolved};
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
    code_jobs jobs = {.request = builder->request, .generator = generator};
    if (runtime->driver->load == NULL)
        return weft_status_create(builder->request->allocator, WEFT_UNSUPPORTED, "weft_executor_run",
                                  "the driver of runtime \"%s\" loads no code", runtime->name);
    jobs.items = weft_arena_allocate(builder->arena, (variant->step_count + 1) * sizeof *jobs.items);
    if (jobs.items == NULL) return weft_status_out_of_memory();
    for (size_t s = 0; s < variant->step_count; s++)
        if (variant->steps[s].kind == WEFT_STEP_KERNEL) add_job(&jobs, builder->kernels[s], &variant->resolved[s]);
    if (are_kept(&jobs)) run_jobs(&jobs, 0, (int64_t)jobs.count);
    else weft_pool_run(builder->request->pool, (int64_t)jobs.count, 1, run_jobs, &jobs);
    WEFT_TRY(take_failure(&jobs));
    bool tiered = builder->request->code == WEFT_CODE_TIERED && is_quick(builder->request, generator);
    for (size_t i = 0; i < jobs.count && tiered; i++)
        optimize_later(builder->request, generator, jobs.items[i].kernel, jobs.items[i].resolved->handle);
    return NULL;
}
