/* SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"
#include <math.h>
#include <time.h>

double einsum_stop_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void tell(einsum_watch *watch)
{
    static const double interval = 0.1;
    double now = einsum_stop_clock();
    if (now < watch->next) return;
    watch->next = now + interval;
    const weft_einsum_progress progress = {.size = sizeof progress,
                                           .seconds = now - watch->begin,
                                           .budget = watch->budget,
                                           .log10_flops = fmax(watch->log2_flops * log10(2), 0),
                                           .found_by = watch->found_by};
    watch->told->progress(watch->told->self, &progress);
}

bool einsum_stop_cancelled(einsum_cancel cancel)
{
    if (cancel.flag == NULL) return false;
    bool now = __atomic_load_n(cancel.flag, __ATOMIC_RELAXED);
    if (cancel.seen == NULL) return now;
    if (now) __atomic_store_n(cancel.seen, true, __ATOMIC_RELAXED);
    return now || __atomic_load_n(cancel.seen, __ATOMIC_RELAXED);
}

bool einsum_stop_asked(const einsum_stop *stop)
{
    if (stop == NULL) return false;
    einsum_watch *watch = stop->watch;
    if (watch != NULL && watch->told != NULL && pthread_equal(watch->thread, pthread_self())) tell(watch);
    if (einsum_stop_cancelled(stop->cancel)) return true;
    return stop->deadline != INFINITY && einsum_stop_clock() >= stop->deadline;
}
