/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_STATE_H
#define EINSUM_STATE_H
/* What the extension keeps for one executor. */
#include "cache.h"
#include <weft/einsum.h>

typedef struct einsum_state {
    const weft_allocator *allocator;
    einsum_cache caches[WEFT_EINSUM_ORDERS + 1]; /* by weft_einsum_cache */
} einsum_state;

/* Of an executor that `function`, for errors, was given. */
weft_status *einsum_state_find(const char *function, const weft_executor *executor,
                               einsum_state **out_state) WEFT_MUST_USE;
#endif
