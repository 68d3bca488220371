/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* a lock that prefers writers */
#include "backends/llvm/runtime.h"
#include "backends/llvm/image.h"
#include "lib/build/build.h"
#include "lib/code_version.h"
#include "runtime/base/background.h"
#include "runtime/base/isa.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * The half of the backend that lives in libweft: it loads the other half, libweft-llvm.so, when the first kernel has
 * to be compiled. Hits never pay for LLVM. Once loaded it stays: LLVM does not survive being unloaded.
 *
 * A thread inside LLVM holds the gate; a fork waits until there is none, so that a child finds LLVM in a state between
 * two calls, and so does the end of the process.
 */

#define LIBRARY "libweft-llvm.so"

static _Atomic(const weft_llvm_interface *) loaded;

/* ---- the gate ---- */

/* A fork has priority over threads that arrive after it. */
static const pthread_rwlock_t open_gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/*
 * When a process ends, LLVM's data end before its threads do, so none may be inside of it then: a function that exit
 * calls closes the gate and waits. Data that LLVM makes at their first use end before functions that were registered by
 * then are called, so it is registered again after early compilations. And a destructor of the first thread's data runs
 * before all of them: when that thread ends, it may be with the process, so the background may not enter until somebody
 * else compiles, and what it was at stays undone.
 */
enum { OPEN, WITHOUT_BACKGROUND, CLOSED };
static atomic_int state;

static bool enter(void)
{
    pthread_rwlock_rdlock(&gate);
    int closed_to_it = WITHOUT_BACKGROUND;
    if (!weft_background_is_here()) atomic_compare_exchange_strong(&state, &closed_to_it, OPEN);
    if (atomic_load(&state) == OPEN) return true;
    pthread_rwlock_unlock(&gate);
    return false;
}

static void leave(void)
{
    pthread_rwlock_unlock(&gate);
}

static weft_status *is_closed(void)
{
    return weft_status_create(NULL, WEFT_NO_COMPILER, "llvm", "the process is about to end");
}

/* Waits until no thread is inside, unless it is this one. */
static void wait_for_gate(void)
{
    enum { SECONDS = 1 };
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += SECONDS;
    if (pthread_rwlock_timedwrlock(&gate, &limit) == 0) pthread_rwlock_unlock(&gate);
}

static void at_exit(void)
{
    atomic_store(&state, CLOSED);
    wait_for_gate();
}

/* After a compilation: of the first ones each may have made new data. */
static void register_at_exit(void)
{
    enum { FIRST = 64 };
    static atomic_uint compilations;
    unsigned count = atomic_fetch_add(&compilations, 1) + 1;
    if (count <= FIRST || (count & (count - 1)) == 0) (void)atexit(at_exit); /* where this fails, earlier ones stand */
}

static void at_end_of_first_thread(void *unused)
{
    (void)unused;
    int open = OPEN;
    if (atomic_compare_exchange_strong(&state, &open, WITHOUT_BACKGROUND)) wait_for_gate();
}

/* glibc's, for the data of threads of C++ */
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *library);
extern void *__dso_handle;

static void watch_end(void)
{
    static _Thread_local bool watches;
    if (watches || syscall(SYS_gettid) != getpid()) return;
    watches = __cxa_thread_atexit_impl(at_end_of_first_thread, NULL, &__dso_handle) == 0;
}

static void before_fork(void)
{
    pthread_rwlock_wrlock(&gate);
}

/* Threads that waited at the gate are not in the child. */
static void after_fork_in_child(void)
{
    gate = open_gate;
}

static bool watched;

static void watch_forks(void)
{
    watched = pthread_atfork(before_fork, leave, after_fork_in_child) == 0;
}

/* ---- memory ---- */

/* LLVM ends the process where it gets no memory, and so does the loader for its threads' data, so neither is entered
 * without more than it takes: to be loaded 200 MiB of addresses, then 12 MiB for kernels of hundreds of functions, 6 to
 * begin with. Another thread may be faster, though. */
enum { TO_LOAD = 224, TO_COMPILE = 16 }; /* MiB */

static weft_status *check_memory(const char *task, size_t megabytes)
{
    size_t size = megabytes << 20;
    int protection = megabytes == TO_LOAD ? PROT_NONE : PROT_READ | PROT_WRITE;
    void *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return weft_status_create(NULL, WEFT_OUT_OF_MEMORY, "llvm", "%s takes up to %zu MiB, which are not available",
                                  task, megabytes);
    munmap(memory, size);
    return NULL;
}

/* ---- inside of it ---- */

static const char *target(void)
{
    if (!enter()) return ""; /* nothing will be compiled for it */
    const char *name = atomic_load(&loaded)->target();
    leave();
    return name;
}

static weft_status *emit_format(const weft_allocator *allocator, const weft_kernel *kernel, const char *symbol,
                                weft_llvm_format format, weft_bytes *out_bytes)
{
    WEFT_TRY(check_memory("compiling", TO_COMPILE));
    if (!enter()) return is_closed();
    weft_status *status = atomic_load(&loaded)->emit(allocator, kernel, symbol, format, out_bytes);
    register_at_exit();
    leave();
    return status;
}

static weft_status *emit_group(const weft_allocator *allocator, const weft_code_group *group, bool quick,
                               weft_bytes *out_object)
{
    WEFT_TRY(check_memory("compiling", TO_COMPILE));
    if (!enter()) return is_closed();
    weft_status *status = atomic_load(&loaded)->emit_group(allocator, group, quick, out_object);
    register_at_exit();
    leave();
    return status;
}

static weft_status *emit_object(const weft_allocator *allocator, const weft_object_request *request,
                                weft_bytes *out_object)
{
    WEFT_TRY(check_memory("compiling", TO_COMPILE));
    if (!enter()) return is_closed();
    weft_status *status = atomic_load(&loaded)->emit_object(allocator, request, out_object);
    register_at_exit();
    leave();
    return status;
}

static weft_status *load_image(const void *object, size_t size, const char *symbol, weft_image **out_image,
                               weft_kernel_function *out_function)
{
    if (!enter()) return is_closed();
    weft_status *status = atomic_load(&loaded)->load(object, size, symbol, out_image, out_function);
    leave();
    return status;
}

static void unload_image(weft_image *image)
{
    if (!enter()) return;
    atomic_load(&loaded)->unload(image);
    leave();
}

static weft_status *open_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const weft_llvm_interface *(*query)(void) = NULL;
    if (library != NULL) *(void **)&query = dlsym(library, "weft_llvm_query");
    if (query == NULL)
        return weft_status_create(NULL, WEFT_NO_COMPILER, "llvm", "the LLVM code generator cannot be loaded: %s",
                                  dlerror());
    const weft_llvm_interface *interface = query();
    if (interface->size != sizeof *interface)
        return weft_status_create(NULL, WEFT_NO_COMPILER, "llvm", "%s is from a different build than this library",
                                  LIBRARY);
    if (atexit(at_exit) != 0) return weft_status_out_of_memory();
    atomic_store(&loaded, interface);
    return NULL;
}

weft_status *weft_llvm_load(const weft_llvm_interface **out_interface)
{
    static const weft_llvm_interface gated = {.size = sizeof gated,
                                              .target = target,
                                              .emit = emit_format,
                                              .emit_group = emit_group,
                                              .emit_object = emit_object,
                                              .load = load_image,
                                              .unload = unload_image};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    WEFT_TRY(weft_isa_check(NULL));
    if (atomic_load(&loaded) == NULL) {
        pthread_once(&once, watch_forks);
        if (!watched) return weft_status_out_of_memory();
        WEFT_TRY(check_memory("loading the code generator", TO_LOAD));
        if (!enter()) return is_closed();
        weft_status *status = open_library();
        leave();
        WEFT_TRY(status);
    }
    watch_end();
    *out_interface = &gated;
    return check_memory("compiling", TO_COMPILE);
}

/* ---- the runtime ---- */

/* Sanitizers see nothing of what LLVM makes, but slow it down: beside them all code is made quickly. */
#if defined(WEFT_SANITIZED)
enum { ALWAYS_QUICK = true };
#else
enum { ALWAYS_QUICK = false };
#endif

static weft_status *emit(const weft_allocator *allocator, const weft_code_group *group, weft_bytes *out_object)
{
    const weft_llvm_interface *llvm;
    WEFT_TRY(weft_llvm_load(&llvm));
    return llvm->emit_group(allocator, group, ALWAYS_QUICK, out_object);
}

static weft_status *emit_quick(const weft_allocator *allocator, const weft_code_group *group, weft_bytes *out_object)
{
    const weft_llvm_interface *llvm;
    WEFT_TRY(weft_llvm_load(&llvm));
    return llvm->emit_group(allocator, group, true, out_object);
}

/* Of one generator, and for the instructions of a processor; how fast those are changes no bit of a result. */
static void append_target(weft_bytes *key)
{
    weft_bytes_print(key, "%s %s\n", WEFT_CODE_VERSION, weft_isa_text());
}

/* Loads LLVM when a kernel is emitted: not for products and sorts alone, nor where all code is on disk or with the
 * program. */
static weft_status *build(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    static const weft_code_generator generator = {append_target, emit, emit_quick};
    (void)self;
    watch_end();
    return weft_variant_build(request, &generator, out_variant);
}

/* By ORC what LLVM made in this process. Code from elsewhere needs no LLVM, and does not load it. */
static weft_status *load(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function)
{
    (void)self;
    bool by_orc = atomic_load(&loaded) != NULL;
    return (by_orc ? load_image : weft_image_load)(object, size, symbol, out_image, out_function);
}

static void unload(void *self, weft_image *image)
{
    (void)self;
    if (image == NULL) return;
    (image->by_orc ? unload_image : weft_image_unload)(image);
}

const weft_runtime *weft_runtime_llvm(void)
{
    static const weft_driver driver = {
        .size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}, .load = load, .unload = unload};
    static const weft_compiler compiler = {.size = sizeof compiler, .build = build};
    static const weft_runtime runtime = {
        .size = sizeof runtime, .name = "llvm", .driver = &driver, .compiler = &compiler};
    return &runtime;
}
