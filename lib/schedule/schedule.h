/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_SCHEDULE_H
#define WEFT_LIB_SCHEDULE_SCHEDULE_H
#include <weft/machine.h>
#include "lib/loop/loop.h"

/* Pass: a costly value that a reducing stage and the last one both compute is computed once (stage_cse.c). Unscheduled,
 * before lower_math. */
weft_status *weft_kernel_stage_cse(weft_kernel *kernel) WEFT_MUST_USE;

/* All passes in order: what a kernel as lowered goes through before code is generated (pipeline.c). */
weft_status *weft_kernel_prepare(weft_kernel *kernel, const weft_machine *machine) WEFT_MUST_USE;
/* Pass: unscheduled to scheduled for `machine` (schedule.c). */
weft_status *weft_kernel_schedule(weft_kernel *kernel, const weft_machine *machine) WEFT_MUST_USE;
#endif
