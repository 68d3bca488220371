/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_BUILD_SCHEDULES_H
#define WEFT_LIB_BUILD_SCHEDULES_H
#include <weft/schedules.h>
#include "lib/schedule/schedule.h"
#include "runtime/base/map.h"

/* A schedule that takes the place of what is kept; *out_moves NULL: that of the rules. */
typedef weft_status *(*weft_schedule_chooser)(void *self, uint64_t key, const weft_kernel *kernel,
                                              const weft_machine *machine, const char **out_moves);

struct weft_schedules {
    const weft_allocator *allocator;
    weft_map moves;               /* by the key of their kernel; owned */
    weft_schedule_chooser choose; /* asked first, while schedules are tried; NULL otherwise */
    void *self;
};

/* Schedules an expanded kernel with what there is for it, or by the rules; `schedules` NULL and kernels of GPUs: by the
 * rules. *out_key is the kernel's, 0 for these. */
weft_status *weft_schedules_apply(const weft_schedules *schedules, weft_kernel *kernel, const weft_machine *machine,
                                  uint64_t *out_key) WEFT_MUST_USE;
/* Keeps a copy of the moves, in place of those that were there. */
weft_status *weft_schedules_keep(weft_schedules *schedules, uint64_t key, const char *moves) WEFT_MUST_USE;
#endif
