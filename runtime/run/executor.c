/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/executor.h"
#include <string.h>
#include "runtime/data/device.h"
#include "runtime/program/extension.h"
#include "runtime/base/isa.h"
#include "runtime/base/machine.h"
#include "runtime/base/memory.h"
#include "runtime/run/idle_frames.h"
#include "runtime/run/variant_entry.h"
#include "runtime/base/status.h"
#include "runtime/program/variant.h"

enum { DEFAULT_VARIANTS = 256, DEFAULT_KERNELS = 1024, DEFAULT_SPECIALIZED = 64, DEFAULT_BUFFER_SHARE = 4 };
enum { DEFAULT_SPECIALIZE_AFTER = 100, DEFAULT_SPECIALIZED_BYTES = 32 << 20 };

static const uint64_t DEFAULT_CACHE_BYTES = (uint64_t)256 << 20;

/* ---- create, destroy ---- */

/* In a forked child: the thread that held the lock does not exist here, and the list is consistent at every moment. */
static void renew(weft_fork_guard *guard)
{
    weft_executor *executor = (weft_executor *)((char *)guard - offsetof(weft_executor, guard));
    pthread_mutex_init(&executor->registering, NULL);
}

static weft_status *open_store(weft_executor *executor, const weft_executor_options *options)
{
    uint64_t bytes = options->cache_bytes == 0 ? DEFAULT_CACHE_BYTES : options->cache_bytes;
    if (options->cache_directory == NULL) return NULL;
    return weft_status_locate(weft_store_open(&executor->allocator, options->cache_directory, bytes, &executor->store),
                              "weft_executor_create");
}

static weft_status *create_parts(weft_executor *executor, const weft_executor_options *options)
{
    const weft_allocator *allocator = &executor->allocator;
    size_t variants = options->variant_capacity == 0 ? DEFAULT_VARIANTS : options->variant_capacity;
    size_t kernels = options->kernel_capacity == 0 ? DEFAULT_KERNELS : options->kernel_capacity;
    size_t bytes = options->buffer_capacity;
    if (bytes == 0) bytes = weft_memory_size() / DEFAULT_BUFFER_SHARE;
    WEFT_TRY(weft_fork_guard_init(&executor->guard, NULL, renew));
    const weft_machine *machine = options->machine == NULL ? weft_machine_host() : options->machine;
    WEFT_TRY(weft_pool_create(allocator, machine, options->threads, &executor->pool));
    WEFT_TRY(weft_block_store_create(allocator, bytes, &executor->blocks));
    WEFT_TRY(weft_queues_create(allocator, &executor->queues));
    WEFT_TRY(weft_background_create(allocator, &executor->background));
    WEFT_TRY(open_store(executor, options));
    WEFT_TRY(weft_idle_frames_create(allocator, &executor->idle));
    WEFT_TRY(weft_cache_create(allocator, kernels, SIZE_MAX, weft_kernel_code_destroy, &executor->kernels));
    WEFT_TRY(weft_cache_create(allocator, variants, SIZE_MAX, weft_variant_entry_destroy, &executor->variants));
    size_t specialized = options->specialized_capacity == 0 ? DEFAULT_SPECIALIZED : options->specialized_capacity;
    bytes = options->specialized_bytes == 0 ? DEFAULT_SPECIALIZED_BYTES : options->specialized_bytes;
    return weft_cache_create(allocator, specialized, bytes, weft_variant_entry_destroy, &executor->specialized);
}

weft_status *weft_executor_create(const weft_executor_options *options, weft_executor **out_executor)
{
    const weft_executor_options defaults = {0};
    WEFT_REQUIRE(out_executor);
    if (options == NULL) options = &defaults;
    const weft_allocator *allocator = weft_allocator_or_default(options->allocator);
    WEFT_TRY(weft_isa_check(allocator));
    if (options->machine != NULL) WEFT_TRY(weft_machine_check_cpu(allocator, options->machine, "weft_executor_create"));
    if ((unsigned)options->code > WEFT_CODE_QUICK)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "weft_executor_create",
                                  "there is no policy %d of code", (int)options->code);
    weft_executor *executor = weft_allocate_zeroed(allocator, sizeof *executor);
    if (executor == NULL) return weft_status_out_of_memory();
    executor->allocator = *allocator;
    executor->schedules = options->schedules;
    executor->code = options->code;
    executor->specialize_after = options->specialize_after == 0 ? DEFAULT_SPECIALIZE_AFTER : options->specialize_after;
    pthread_mutex_init(&executor->registering, NULL);
    weft_status *status = create_parts(executor, options);
    if (status == NULL) *out_executor = executor;
    else weft_executor_destroy(executor);
    return status;
}

static void destroy_states(const weft_registry *extensions)
{
    const weft_registration *at = weft_registry_first(extensions);
    for (; at != NULL; at = weft_registry_next(at)) {
        const weft_extension *extension = at->table;
        if (extension->state_destroy != NULL) extension->state_destroy(at->state);
    }
}

static void drop_variants(weft_executor *executor)
{
    weft_cache_clear(executor->variants);
    weft_cache_clear(executor->specialized);
    weft_idle_frames_review(executor->idle);
}

void weft_executor_destroy(weft_executor *executor)
{
    if (executor == NULL) return;
    weft_fork_guard_finish(&executor->guard);
    weft_background_destroy(executor->background);
    if (executor->specialized != NULL) drop_variants(executor); /* the last part */
    weft_idle_frames_destroy(executor->idle);
    weft_cache_destroy(executor->variants);
    weft_cache_destroy(executor->specialized);
    destroy_states(&executor->extensions);
    weft_cache_destroy(executor->kernels);
    weft_store_close(executor->store);
    weft_queues_destroy(executor->queues);
    weft_block_store_release(executor->blocks);
    weft_pool_destroy(executor->pool);
    pthread_mutex_destroy(&executor->registering);
    weft_allocator allocator = executor->allocator;
    weft_registry_finish(&executor->extensions, &allocator);
    weft_registry_finish(&executor->runtimes, &allocator);
    weft_free(&allocator, executor, sizeof *executor);
}

/* ---- registering ---- */

const weft_runtime *weft_executor_find_runtime(const weft_executor *executor, const char *name)
{
    const weft_registration *at = weft_registry_first(&executor->runtimes);
    for (; at != NULL; at = weft_registry_next(at)) {
        const weft_runtime *runtime = at->table;
        if (name == NULL || strcmp(runtime->name, name) == 0) return runtime;
    }
    return NULL;
}

weft_status *weft_executor_no_runtime(const weft_executor *executor, const char *where, const char *name)
{
    if (name == NULL)
        return weft_status_create(&executor->allocator, WEFT_NOT_REGISTERED, where,
                                  "no runtime is registered with this executor");
    weft_bytes text;
    weft_bytes_init(&text, &executor->allocator);
    weft_bytes_print(&text, "runtime \"%s\" is not registered with this executor, which has", name);
    const weft_registration *at = weft_registry_first(&executor->runtimes);
    if (at == NULL) weft_bytes_print(&text, " none");
    for (const char *before = " "; at != NULL; at = weft_registry_next(at), before = ", ")
        weft_bytes_print(&text, "%s%s", before, ((const weft_runtime *)at->table)->name);
    weft_status *status = weft_bytes_status(&text);
    if (status == NULL) status = weft_status_create(&executor->allocator, WEFT_NOT_REGISTERED, where, "%s", text.data);
    weft_bytes_finish(&text);
    return status;
}

const weft_runtime *weft_executor_find_host_runtime(const weft_executor *executor, const weft_runtime *runtime)
{
    if (!weft_device_is_apart(runtime)) return runtime;
    const weft_registration *at = weft_registry_first(&executor->runtimes);
    while (at != NULL && weft_device_is_apart(at->table)) at = weft_registry_next(at);
    return at == NULL ? runtime : at->table;
}

static weft_status *add_runtime(weft_executor *executor, const weft_runtime *runtime)
{
    if (weft_executor_find_runtime(executor, runtime->name) != NULL)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_register_runtime",
                                  "a runtime \"%s\" is registered already", runtime->name);
    bool added = weft_registry_add(&executor->runtimes, &executor->allocator, runtime, NULL);
    return added ? NULL : weft_status_out_of_memory();
}

weft_status *weft_executor_register_runtime(weft_executor *executor, const weft_runtime *runtime)
{
    WEFT_REQUIRE(executor);
    WEFT_REQUIRE(runtime);
    const char *fault = weft_runtime_fault(runtime);
    const weft_machine *machine = fault == NULL ? weft_device_machine(runtime) : NULL;
    if (machine != NULL) WEFT_TRY(weft_machine_check(machine));
    if (fault != NULL)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_register_runtime",
                                  "the runtime cannot be used: %s", fault);
    pthread_mutex_lock(&executor->registering);
    weft_status *status = add_runtime(executor, runtime);
    pthread_mutex_unlock(&executor->registering);
    return status;
}

static const weft_extension *find_family(const weft_executor *executor, const char *family)
{
    const weft_registration *at = weft_registry_first(&executor->extensions);
    for (; at != NULL; at = weft_registry_next(at)) {
        const weft_extension *extension = at->table;
        if (strcmp(extension->family, family) == 0) return extension;
    }
    return NULL;
}

static weft_status *add_extension(weft_executor *executor, const weft_extension *extension)
{
    const weft_extension *same = find_family(executor, extension->family);
    if (same == extension) return NULL;
    if (same != NULL)
        return weft_status_create(&executor->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_register_extension",
                                  "another extension of family \"%s\" is registered already", extension->family);
    void *state = NULL;
    if (extension->state_create != NULL)
        WEFT_TRY(weft_status_locate(extension->state_create(&executor->allocator, &state),
                                    "weft_executor_register_extension"));
    if (weft_registry_add(&executor->extensions, &executor->allocator, extension, state)) return NULL;
    if (extension->state_destroy != NULL) extension->state_destroy(state);
    return weft_status_out_of_memory();
}

weft_status *weft_executor_register_extension(weft_executor *executor, const weft_extension *extension)
{
    WEFT_REQUIRE(executor);
    WEFT_TRY(weft_extension_check_for("weft_executor_register_extension", extension));
    pthread_mutex_lock(&executor->registering);
    weft_status *status = add_extension(executor, extension);
    pthread_mutex_unlock(&executor->registering);
    return status;
}

void *weft_executor_extension_state(const weft_executor *executor, const weft_extension *extension)
{
    return weft_registry_state(&executor->extensions, extension);
}

weft_status *weft_executor_check_extensions(const weft_executor *executor, const weft_program *program)
{
    for (size_t i = 0; i < program->family_count; i++) {
        const weft_extension *extension = program->families[i];
        const weft_extension *registered = find_family(executor, extension->family);
        if (registered == NULL)
            return weft_status_create(&executor->allocator, WEFT_NOT_REGISTERED, "weft_executor_run",
                                      "op %s of the program needs extension \"%s\"; register it with this executor",
                                      program->family_ops[i]->name, extension->family);
        if (registered != extension)
            return weft_status_create(
                &executor->allocator, WEFT_NOT_REGISTERED, "weft_executor_run",
                "op %s of the program was traced with another extension \"%s\" than this executor has registered",
                program->family_ops[i]->name, extension->family);
    }
    return NULL;
}

/* ---- counters ---- */

void weft_executor_counters_read(const weft_executor *executor, weft_executor_counters *out_counters)
{
    weft_idle_frames_review(executor->idle);
    const weft_executor_counters all = {.size = out_counters->size,
                                        .variants = weft_cache_counters_of(executor->variants),
                                        .kernels = weft_cache_counters_of(executor->kernels),
                                        .kernels_compiled = atomic_load(&executor->kernels_compiled),
                                        .buffer_bytes = weft_block_store_idle(executor->blocks),
                                        .background_waiting = weft_background_count(executor->background),
                                        .kernels_optimized = atomic_load(&executor->kernels_optimized),
                                        .variants_specialized = atomic_load(&executor->variants_specialized),
                                        .disk = weft_store_counters(executor->store)};
    memcpy(out_counters, &all, all.size == 0 || all.size > sizeof all ? sizeof all : all.size);
}

void weft_executor_settle(weft_executor *executor)
{
    if (executor == NULL) return;
    weft_background_finish(executor->background);
}

void weft_executor_clear(weft_executor *executor)
{
    if (executor == NULL) return;
    weft_background_clear(executor->background);
    drop_variants(executor);
    weft_cache_clear(executor->kernels);
    weft_block_store_clear(executor->blocks);
}

unsigned weft_executor_threads(const weft_executor *executor)
{
    return (unsigned)weft_pool_size(executor->pool);
}
