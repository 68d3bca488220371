/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_CANCEL_H
#define WEFT_RUNTIME_BASE_CANCEL_H
/* The flag that ends a run: weft_run.cancelled. */
#include <stdbool.h>
#include <stddef.h>

/* Whether it is set; NULL never is. Another thread may set it at any time. */
static inline bool weft_is_cancelled(const volatile bool *cancelled)
{
    return cancelled != NULL && __atomic_load_n(cancelled, __ATOMIC_RELAXED);
}
#endif
