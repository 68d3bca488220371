/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_COST_H
#define WEFT_LIB_SCHEDULE_COST_H
#include <weft/machine.h>
#include "lib/loop/loop.h"

/* Nanoseconds of one thread. */
typedef struct weft_estimate {
    double computing, memory, total;
} weft_estimate;

/* What a scheduled kernel takes on the machine; symbols count as 1024, or the nearest that they can be. */
weft_status *weft_kernel_estimate(const weft_kernel *kernel, const weft_machine *machine,
                                  weft_estimate *out_estimate) WEFT_MUST_USE;
#endif
