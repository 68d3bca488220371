/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/code.h"
#include <string.h>
#include "runtime/data/device.h"

/*
 * Code of kernels: from the executor's cache, or made and loaded. Some may wait in the cache for a kernel that another
 * thread is making. There is no deadlock, because a thread that makes one, or several, waits for nothing else from the
 * cache and starts no job.
 *
 * Code may be made in haste first; then the background makes it again.
 *
 * Optimised objects are also kept on disk, where the executor has a place for them, and with a program that is to have
 * its code, and used from there whatever the policy. Those made in haste are not kept: a later process would find slow
 * code where it makes fast code now.
 */

#define SYMBOL "weft_kernel"

/* Code that was loaded. */
typedef struct loaded_code {
    weft_image *image;
    weft_kernel_function function;
    size_t bytes; /* of its object */
} loaded_code;

weft_code_source weft_code_source_of(const weft_build_request *request, const weft_code_generator *generator)
{
    return (weft_code_source){request->allocator, request->runtime, generator, request->program->kept, request->store};
}

weft_status *weft_code_append_key(const weft_code_source *source, const weft_kernel *kernel, weft_bytes *key)
{
    source->generator->append_target(key);
    WEFT_TRY(weft_kernel_key(kernel, key));
    return weft_bytes_status(key);
}

static weft_status *load_object(const weft_code_source *source, const weft_bytes *object, loaded_code *out_code)
{
    const weft_runtime *runtime = source->runtime;
    out_code->bytes = object->size;
    return runtime->driver->load(runtime->self, object->data, object->size, SYMBOL, &out_code->image,
                                 &out_code->function);
}

/* `out_broken`: it cannot be loaded at all, and that is not for want of memory. */
static bool try_load(const weft_code_source *source, const weft_bytes *object, loaded_code *out_code, bool *out_broken)
{
    weft_status *status = load_object(source, object, out_code);
    bool loaded = status == NULL;
    *out_broken = !loaded && weft_status_code(status) != WEFT_OUT_OF_MEMORY;
    weft_status_destroy(status);
    return loaded;
}

/* From the program, which loses what is broken: it would be saved again. */
static bool load_from_program(const weft_code_source *source, const weft_bytes *key, weft_bytes *object,
                              loaded_code *out_code)
{
    bool broken;
    if (!weft_kept_code_read(source->kept, key->data, key->size, object)) return false;
    if (try_load(source, object, out_code, &broken)) return true;
    if (broken) weft_kept_code_drop(source->kept, key->data, key->size);
    return false;
}

static bool load_from_disk(const weft_code_source *source, const weft_bytes *key, weft_bytes *object,
                           loaded_code *out_code)
{
    bool broken;
    if (source->store == NULL || !weft_store_read(source->store, key->data, key->size, object)) return false;
    if (try_load(source, object, out_code, &broken)) return true;
    weft_store_refuse(source->store);
    return false;
}

/* From the program or the disk; false: it is not there, or cannot be used. */
static bool load_kept(const weft_code_source *source, const weft_bytes *key, loaded_code *out_code)
{
    weft_bytes object;
    weft_bytes_init(&object, source->allocator);
    bool loaded = load_from_program(source, key, &object, out_code) || load_from_disk(source, key, &object, out_code);
    weft_bytes_finish(&object);
    return loaded;
}

static weft_status *emit(const weft_code_source *source, const weft_code_group *group, bool quick,
                         weft_bytes *out_object)
{
    const weft_code_generator *generator = source->generator;
    return (quick ? generator->emit_quick : generator->emit)(source->allocator, group, out_object);
}

static weft_status *emit_one(const weft_code_source *source, const weft_kernel *kernel, bool quick,
                             weft_bytes *out_object)
{
    int64_t offset;
    const weft_code_group group = {.kernels = &kernel, .count = 1, .symbol = SYMBOL, .offsets = &offset};
    return emit(source, &group, quick, out_object);
}

/* Emits an object and loads it. */
static weft_status *load_new(const weft_code_source *source, const weft_kernel *kernel, bool quick,
                             loaded_code *out_code, weft_bytes *out_object)
{
    WEFT_TRY(emit_one(source, kernel, quick, out_object));
    return load_object(source, out_object, out_code);
}

/* And keeps it, unless it was made in haste. */
static weft_status *make_and_keep(const weft_code_source *source, const weft_kernel *kernel, const weft_bytes *key,
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

bool weft_code_is_quick(const weft_build_request *request, const weft_code_generator *generator)
{
    if (weft_device_is_apart(request->runtime)) return false; /* its driver keeps the image */
    return request->code != WEFT_CODE_OPTIMIZED && generator->emit_quick != NULL;
}

static weft_status *find_or_make(const weft_code_request *code, bool quick, bool *out_kept, loaded_code *out_code)
{
    *out_kept = load_kept(&code->source, code->key, out_code);
    return *out_kept ? NULL : make_and_keep(&code->source, code->kernel, code->key, quick, out_code);
}

static void fill_code(const loaded_code *loaded, int64_t offset, bool is_settled, weft_kernel_code *out_code)
{
    void *address;
    weft_kernel_function function;
    memcpy(&address, &loaded->function, sizeof address);
    address = (char *)address + offset;
    memcpy(&function, &address, sizeof function);
    out_code->image = loaded->image;
    atomic_init(&out_code->function, function);
    atomic_init(&out_code->is_settled, is_settled);
}

static weft_status *make_code(void *context, void **out_value, size_t *out_bytes)
{
    const weft_code_request *code = context;
    const weft_build_request *request = code->request;
    bool quick = weft_code_is_quick(request, code->source.generator), kept;
    loaded_code loaded;
    weft_kernel_code *made;
    WEFT_TRY(weft_kernel_codes_create(request->allocator, request->runtime, 1, &made));
    weft_status *status = find_or_make(code, quick, &kept, &loaded);
    if (status != NULL) {
        weft_kernel_code_destroy(made);
        return status;
    }
    fill_code(&loaded, 0, kept || !quick, made);
    if (!kept) atomic_fetch_add(request->kernels_compiled, 1);
    *out_value = made;
    *out_bytes = loaded.bytes;
    return NULL;
}

/* ---- several in one object ---- */

/* Emits an object of all kernels, and loads it. */
static weft_status *make_group(const weft_code_request *requests, size_t count, int64_t *offsets, loaded_code *out_code)
{
    const weft_kernel *kernels[WEFT_CODE_GROUP];
    const weft_code_source *source = &requests->source;
    const weft_code_group group = {.kernels = kernels, .count = count, .symbol = SYMBOL, .offsets = offsets};
    weft_bytes object;
    for (size_t i = 0; i < count; i++) kernels[i] = requests[i].kernel;
    weft_bytes_init(&object, source->allocator);
    weft_status *status = emit(source, &group, weft_code_is_quick(requests->request, source->generator), &object);
    if (status == NULL) status = load_object(source, &object, out_code);
    weft_bytes_finish(&object);
    return status;
}

/* Codes of all kernels, each in its own value. */
static weft_status *make_codes(const weft_code_request *requests, size_t count, weft_kernel_code **out_codes,
                               size_t *out_bytes)
{
    const weft_build_request *request = requests->request;
    int64_t offsets[WEFT_CODE_GROUP];
    loaded_code loaded;
    weft_kernel_code *made;
    WEFT_TRY(weft_kernel_codes_create(request->allocator, request->runtime, count, &made));
    weft_status *status = make_group(requests, count, offsets, &loaded);
    bool is_settled = !weft_code_is_quick(request, requests->source.generator);
    for (size_t i = 0; i < count; i++) {
        if (status == NULL) fill_code(&loaded, offsets[i], is_settled, &made[i]);
        else weft_kernel_code_destroy(&made[i]);
    }
    if (status != NULL) return status;
    atomic_fetch_add(request->kernels_compiled, count);
    *out_codes = made;
    *out_bytes = loaded.bytes / count;
    return NULL;
}

/* ---- optimised in the background ---- */

/* Of code that was made in haste. */
typedef struct optimization {
    weft_background_task task;
    weft_code_source source;
    weft_kernel *kernel;
    weft_cache_handle *handle;
    _Atomic uint64_t *count;
} optimization;

static weft_status *make_optimized(const optimization *o, loaded_code *out_code)
{
    weft_bytes key;
    weft_bytes_init(&key, o->source.allocator);
    weft_status *status = weft_code_append_key(&o->source, o->kernel, &key);
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

void weft_code_optimize_later(const weft_build_request *request, const weft_code_generator *generator,
                              const weft_kernel *kernel, weft_cache_handle *handle)
{
    weft_kernel_code *code = weft_cache_value(handle);
    if (atomic_exchange(&code->is_settled, true)) return;
    optimization *o = weft_allocate_zeroed(request->allocator, sizeof *o);
    if (o == NULL) return;
    *o = (optimization){.task = {.run = optimize, .destroy = destroy_optimization},
                        .source = weft_code_source_of(request, generator),
                        .handle = weft_cache_retain(handle),
                        .count = request->kernels_optimized};
    weft_status *status = weft_kernel_clone(kernel, &o->kernel);
    if (status == NULL) weft_background_add(request->background, &o->task);
    else destroy_optimization(&o->task);
    weft_status_destroy(status);
}

/* ---- the program's own ---- */

static bool read_from_disk(const weft_code_source *source, const weft_bytes *key, weft_bytes *out_object)
{
    loaded_code loaded;
    if (!load_from_disk(source, key, out_object, &loaded)) return false;
    source->runtime->driver->unload(source->runtime->self, loaded.image);
    return true;
}

/* From the disk, if it can be loaded, or made. */
static weft_status *find_object(const weft_code_request *wanted, weft_bytes *out_object)
{
    const weft_code_source *source = &wanted->source;
    const weft_bytes *key = wanted->key;
    if (read_from_disk(source, key, out_object)) return NULL;
    weft_bytes_finish(out_object);
    weft_bytes_init(out_object, source->allocator);
    WEFT_TRY(emit_one(source, wanted->kernel, false, out_object));
    atomic_fetch_add(wanted->request->kernels_compiled, 1);
    if (source->store != NULL)
        weft_store_write(source->store, key->data, key->size, out_object->data, out_object->size);
    return NULL;
}

weft_status *weft_code_keep(const weft_code_request *wanted)
{
    const weft_code_source *source = &wanted->source;
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

static weft_status *fill_key(const weft_code_request *wanted, weft_bytes *key)
{
    const weft_build_request *request = wanted->request;
    /* Code belongs to the driver that loaded it. */
    weft_bytes_append(key, &request->runtime, sizeof request->runtime);
    weft_bytes_append(key, wanted->key->data, wanted->key->size);
    return weft_bytes_status(key);
}

weft_status *weft_code_find(const weft_code_request *wanted, weft_cache_handle **out_handle)
{
    weft_bytes key;
    weft_bytes_init(&key, wanted->request->allocator);
    weft_status *status = fill_key(wanted, &key);
    if (status == NULL)
        status = weft_cache_acquire(wanted->request->kernels, key.data, key.size, make_code, (void *)wanted,
                                    wanted->request->cancelled, out_handle);
    weft_bytes_finish(&key);
    return status;
}

static weft_status *claim(const weft_code_request *wanted, weft_cache_handle **out_claim)
{
    weft_bytes key;
    weft_bytes_init(&key, wanted->request->allocator);
    weft_status *status = fill_key(wanted, &key);
    if (status == NULL) *out_claim = weft_cache_claim(wanted->request->kernels, key.data, key.size);
    weft_bytes_finish(&key);
    return status;
}

/* Ends all claims. Where kernels cannot be made together, each is made alone, so that none fails because of another,
 * except for want of memory. */
static void make_claimed(const weft_code_request *wanted, size_t count, weft_cache_handle **claims,
                         weft_cache_handle **out_handles, weft_status **out_statuses)
{
    weft_kernel_code *codes = NULL;
    size_t bytes = 0;
    weft_status *failure = make_codes(wanted, count, &codes, &bytes);
    bool without_memory = weft_status_code(failure) == WEFT_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        void *value = failure == NULL ? &codes[i] : NULL;
        weft_status *status = without_memory ? weft_status_out_of_memory() : NULL;
        if (failure != NULL && !without_memory) status = make_code((void *)&wanted[i], &value, &bytes);
        out_statuses[i] = weft_cache_settle(wanted->request->kernels, claims[i], status, value, bytes, &out_handles[i]);
    }
    weft_status_destroy(failure);
}

void weft_codes_find(const weft_code_request *wanted, size_t count, weft_cache_handle **out_handles,
                     weft_status **out_statuses)
{
    weft_code_request claimed[WEFT_CODE_GROUP];
    weft_cache_handle *claims[WEFT_CODE_GROUP], *handles[WEFT_CODE_GROUP] = {NULL};
    weft_status *statuses[WEFT_CODE_GROUP];
    size_t places[WEFT_CODE_GROUP], claim_count = 0;
    for (size_t i = 0; i < count; i++) {
        out_handles[i] = claims[claim_count] = NULL;
        out_statuses[i] = claim(&wanted[i], &claims[claim_count]);
        if (claims[claim_count] == NULL) continue;
        claimed[claim_count] = wanted[i];
        places[claim_count++] = i;
    }
    if (claim_count > 0) make_claimed(claimed, claim_count, claims, handles, statuses);
    for (size_t i = 0; i < claim_count; i++) {
        out_handles[places[i]] = handles[i];
        out_statuses[places[i]] = statuses[i];
    }
    for (size_t i = 0; i < count; i++)
        if (out_handles[i] == NULL && out_statuses[i] == NULL)
            out_statuses[i] = weft_code_find(&wanted[i], &out_handles[i]);
}
