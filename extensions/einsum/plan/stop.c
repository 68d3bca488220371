/* SPDX-License-Identifier: Apache-2.0 */
#include "methods.h"
#include <time.h>

bool einsum_stop_asked(const einsum_stop *stop)
{
    if (stop->cancelled != NULL && __atomic_load_n(stop->cancelled, __ATOMIC_RELAXED)) return true;
    if (stop->deadline == INFINITY) return false;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec >= stop->deadline;
}
