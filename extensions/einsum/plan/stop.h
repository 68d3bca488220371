/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_STOP_H
#define EINSUM_PLAN_STOP_H
/* Early termination of a search, and reports on its progress. */
#include "score.h"
#include <pthread.h>

/* The watcher of a search, and what is reported to it. */
typedef struct einsum_watch {
    const weft_einsum_watch *told; /* may be NULL */
    pthread_t thread;              /* on which it is told */
    double begin, budget, next;    /* seconds */
    einsum_score flops;
    double log2_common, log2_rest; /* multiplications of each step for each of a core's; of all other cores */
    double log2_flops;             /* of the best so far; INFINITY: there is none */
    const char *found_by;
} einsum_watch;

/* Who may end a search: once its flag was seen to be true it counts as true, whatever becomes of it. */
typedef struct einsum_cancel {
    const volatile bool *flag; /* the caller's; NULL: never */
    bool *seen;                /* what remembers, false at first, for all threads of the search; NULL: nothing does */
} einsum_cancel;

/* Asked now and then by what takes long. */
typedef struct einsum_stop {
    einsum_cancel cancel;
    double deadline;     /* of CLOCK_MONOTONIC, in seconds; INFINITY: none */
    einsum_watch *watch; /* NULL: none */
} einsum_stop;

/* NULL is never. Once true it stays so, where `seen` is there. Also tells the watcher, where that is due. */
bool einsum_stop_asked(const einsum_stop *stop);
/* The same for the first of them alone. */
bool einsum_stop_cancelled(einsum_cancel cancel);
/* The clock of deadlines. */
double einsum_stop_clock(void);
#endif
