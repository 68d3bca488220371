/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_OPTIONS_H
#define WEFT_LIB_OBJECT_OPTIONS_H
/* What weft_object_options ask for. */
#include <weft/object.h>
#include "runtime/base/isa.h"
#include "runtime/base/memory.h"

struct weft_schedules;

typedef struct weft_object_plan {
    weft_arena arena;
    const char *name, *target; /* "x86_64-linux-gnu" */
    bool weights_file, freestanding;
    weft_architecture architecture;
    bool levels[WEFT_ISA_COUNT]; /* of the architecture */
    weft_bytes isa;              /* their names, between commas */
    size_t specialized_count;
    int64_t **specialized;                                  /* values of all symbols of the program, of each */
    const struct weft_schedules *schedules[WEFT_ISA_COUNT]; /* NULL: those of the rules */
} weft_object_plan;

weft_status *weft_object_plan_init(weft_object_plan *plan, const weft_program *program,
                                   const weft_object_options *options) WEFT_MUST_USE;
/* Accepts one whose initialisation failed. */
void weft_object_plan_finish(weft_object_plan *plan);
#endif
