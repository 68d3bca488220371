/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "runtime/base/stack.h"
#include <signal.h>
#include <sys/resource.h>

/* ---- threads ---- */

static bool start(const pthread_attr_t *attributes, void *(*body)(void *), void *context, pthread_t *out_thread)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
    if (pthread_sigmask(SIG_SETMASK, &blocked, &before) != 0) return false;
    bool started = pthread_create(out_thread, attributes, body, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

bool weft_thread_start(void *(*body)(void *context), void *context, pthread_t *out_thread)
{
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_attr_init(&attributes) != 0) return false;
    bool small = pthread_attr_getstacksize(&attributes, &size) == 0 && size < WEFT_STACK_NEEDED;
    bool fine = !small || pthread_attr_setstacksize(&attributes, WEFT_STACK_NEEDED) == 0;
    bool started = fine && start(&attributes, body, context, out_thread);
    pthread_attr_destroy(&attributes);
    return started;
}

/* ---- calls ---- */

/* Where the stack of this thread lies, as found under a limit: for the first thread of a process the C library reads
 * /proc/self/maps each time, which takes as long as much of a compilation. The system maps nothing else within the
 * limit that a process is started with. */
static _Thread_local struct {
    uintptr_t low;
    size_t size;
    rlim_t limit;
} stack;

static bool find_stack(rlim_t limit)
{
    pthread_attr_t attributes;
    void *low = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    bool known = pthread_attr_getstack(&attributes, &low, &stack.size) == 0;
    pthread_attr_destroy(&attributes);
    stack.low = (uintptr_t)low;
    stack.limit = limit;
    if (!known) stack.size = 0;
    return known;
}

/* Bytes below this frame; 0 when it lies on another stack than that of the thread. */
static size_t stack_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0) return 0;
    if ((stack.size == 0 || stack.limit != limit.rlim_cur) && !find_stack(limit.rlim_cur)) return 0;
    uintptr_t above = (uintptr_t)__builtin_frame_address(0) - stack.low;
    return above < stack.size ? above : 0;
}

struct call {
    void (*body)(void *context);
    void *context;
};

static void *run(void *argument)
{
    const struct call *call = argument;
    call->body(call->context);
    return NULL;
}

weft_status *weft_stack_call(const weft_allocator *allocator, void (*body)(void *context), void *context)
{
    struct call call = {body, context};
    pthread_t thread;
    if (stack_left() >= WEFT_STACK_NEEDED) {
        body(context);
        return NULL;
    }
    if (!weft_thread_start(run, &call, &thread))
        return weft_status_create(
            allocator, WEFT_OUT_OF_MEMORY, "weft_executor_run",
            "this thread has too little stack to compile on, and no other thread could be started");
    pthread_join(thread, NULL);
    return NULL;
}
