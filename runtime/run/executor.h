/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_EXECUTOR_H
#define WEFT_RUNTIME_RUN_EXECUTOR_H
/* Inside of an executor. */
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/base/background.h"
#include "runtime/data/block.h"
#include "runtime/base/cache.h"
#include "runtime/base/fork.h"
#include "runtime/base/pool.h"
#include "runtime/base/store.h"
#include "runtime/program/program.h"
#include "runtime/program/registry.h"
#include "runtime/step/queues.h"

struct weft_executor {
    weft_allocator allocator;
    weft_pool *pool;
    weft_cache *variants;          /* of weft_variant_entry, by the variant's part of a weft_call_key */
    weft_cache *specialized;       /* the same, for the extents of one weft_call_key, by all of it */
    struct weft_idle_frames *idle; /* frames of both */
    weft_cache *kernels;
    weft_store *store;               /* of their code, on disk; NULL: none */
    const weft_schedules *schedules; /* not owned; NULL: none */
    weft_code_policy code;
    weft_background *background;
    uint32_t specialize_after; /* WEFT_SPECIALIZE_NEVER: never */
    _Atomic uint64_t kernels_compiled, kernels_optimized, variants_specialized;
    weft_block_store *blocks;
    weft_queues *queues;
    pthread_mutex_t registering;
    weft_fork_guard guard;
    weft_registry runtimes, extensions;
};

/* The runtime of that name, or the first for NULL; NULL when there is none. */
const weft_runtime *weft_executor_find_runtime(const weft_executor *executor, const char *name);
/* The error of function `where` that there is none. */
weft_status *weft_executor_no_runtime(const weft_executor *executor, const char *where, const char *name) WEFT_MUST_USE;
/* weft_executor_run except for its queue and its events. With `event`, one of a queue of the runtime, the run goes on
 * after the call unless that fails. */
weft_status *weft_executor_run_until(weft_executor *executor, weft_program *program, const weft_run *run,
                                     weft_event *event) WEFT_MUST_USE;
/* `runtime` if the host sees its memory, else the first one that it does; `runtime` when there is none. */
const weft_runtime *weft_executor_find_host_runtime(const weft_executor *executor, const weft_runtime *runtime);
/* NOT_REGISTERED unless every extension the program needs is registered. */
weft_status *weft_executor_check_extensions(const weft_executor *executor, const weft_program *program) WEFT_MUST_USE;
#endif
