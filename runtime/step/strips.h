/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_STRIPS_H
#define WEFT_RUNTIME_STEP_STRIPS_H
/* Steps that run strip by strip. */
#include <stdatomic.h>
#include "runtime/step/frame.h"

/* The bytes of the largest block of bound->blocks that a thread acquires for products of the steps from `number` on
 * that have strips. */
size_t weft_strips_block_bytes(const weft_bound_variant *bound, size_t number);
/* Runs the steps from `number` on that have strips, on all threads. `times`, if not NULL, gets the ns of each step,
 * those of threads added up. CANCELLED, OUT_OF_MEMORY. */
weft_status *weft_strips_run(weft_frame *frame, size_t number, const volatile bool *cancelled,
                             atomic_llong *times) WEFT_MUST_USE;
#endif
