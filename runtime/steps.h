/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEPS_H
#define WEFT_RUNTIME_STEPS_H
/* The short loop that runs the steps of a variant. */
#include "runtime/frame.h"

/* Runs `count` steps from number `first` on, in order; DATA_ERROR, CANCELLED, or what a host step returns. `cancelled`
 * may be NULL. */
weft_status *weft_steps_run(weft_frame *frame, size_t first, size_t count,
                            const volatile bool *cancelled) WEFT_MUST_USE;

/* What only the run time knows of a kernel's context; what its `host` points to. */
typedef struct weft_host_call {
    weft_executor *executor;
    const volatile bool *cancelled;
} weft_host_call;

/* The context of host step `step`, without scratch. */
weft_kernel_context weft_steps_context(const weft_bound_variant *bound, const weft_bound_step *step, weft_view *views,
                                       weft_host_call *host);
#endif
