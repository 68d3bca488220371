/* SPDX-License-Identifier: Apache-2.0 */
#include "methods.h"
#include <time.h>

double einsum_stop_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool einsum_stop_asked(const einsum_stop *stop)
{
    if (stop->cancelled != NULL && __atomic_load_n(stop->cancelled, __ATOMIC_RELAXED)) return true;
    return stop->deadline != INFINITY && einsum_stop_clock() >= stop->deadline;
}
