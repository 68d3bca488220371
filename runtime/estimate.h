/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ESTIMATE_H
#define WEFT_RUNTIME_ESTIMATE_H
/* About how long a step takes. Nothing depends on it but time. */
#include "runtime/bound_variant.h"

typedef struct weft_estimate {
    bool known;
    double alone;    /* ns on one thread */
    double together; /* ns with all threads of the pool */
} weft_estimate;

/* Of the step and all that belong to it. Not known of what runs an extension's code, or loops until something holds. */
weft_estimate weft_estimate_step(const weft_bound_variant *bound, size_t number);
#endif
