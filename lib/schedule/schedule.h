/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_SCHEDULE_H
#define WEFT_LIB_SCHEDULE_SCHEDULE_H
#include <weft/program.h>
#include "lib/schedule/move.h"

/* Pass: a costly value that a reducing stage and the last one both compute is computed once (stage_cse.c). As lowered,
 * once, before the passes below. `may_keep`: it may be kept in memory of the thread's own, where there is no other. */
weft_status *weft_kernel_stage_cse(weft_kernel *kernel, bool may_keep) WEFT_MUST_USE;

/* All other passes in order that a kernel as lowered goes through before it is scheduled (pipeline.c). */
weft_status *weft_kernel_expand(weft_kernel *kernel, weft_function_policy policy) WEFT_MUST_USE;

/* How points of a kernel without reductions are visited. */
typedef enum weft_form { WEFT_FORM_ANY, WEFT_FORM_PLAIN, WEFT_FORM_TRANSPOSED, WEFT_FORM_TILED } weft_form;

/* What a schedule is to have where it can; 0: what the rules say. */
typedef struct weft_template {
    weft_form form;
    uint32_t width, unroll, rows;
    int64_t tile;
} weft_template;

/* Chooses moves for `machine` and makes them (schedule.c): from unscheduled to scheduled. */
weft_status *weft_schedule_choose(weft_kernel *kernel, const weft_machine *machine, const weft_template *wanted,
                                  weft_schedule *out_schedule) WEFT_MUST_USE;
/* Pass: the same by the rules alone. */
weft_status *weft_kernel_schedule(weft_kernel *kernel, const weft_machine *machine) WEFT_MUST_USE;
#endif
