/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_REGION_H
#define WEFT_RUNTIME_REGION_H
/* Steps that run other steps: fold, while, cond. */
#include "runtime/frame.h"

/* Runs the steps that belong to a REGION step. Nothing is allocated, looked up or copied from turn to turn. */
weft_status *weft_region_run(weft_frame *frame, const weft_bound_step *bound_step,
                             const volatile bool *cancelled) WEFT_MUST_USE;

/* A DATA_ERROR with "(iteration 3 of fold)" after its sentence; anything else as it is. Takes `status`. */
weft_status *weft_region_error(const weft_allocator *allocator, const char *op, int64_t turn,
                               weft_status *status) WEFT_MUST_USE;
#endif
