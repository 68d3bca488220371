/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_FLAT_H
#define WEFT_LIB_SCHEDULE_FLAT_H
/* The points of stages as instructions one after another, which flattening and scans of long rows share. */
#include "lib/loop/inst.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"

enum {
    WEFT_FLAT_STORES = 128, /* at most, of a stage that is made */
    WEFT_FLAT_RANGES = 8    /* at most, of a stage */
};

typedef struct weft_flat {
    weft_kernel *kernel;
    weft_inst_list list;
    weft_inst_id *ids;     /* by old instruction, of the latest point */
    weft_inst_id *results; /* of accumulators, WEFT_MAX_COMPONENTS each, so far or at the end */
    weft_store *stores;
    uint32_t store_count;
} weft_flat;

/* A stage, and its accumulators in each virtual lane. */
typedef struct weft_flat_stage {
    const weft_stage *stage;
    const weft_range *ranges;
    uint32_t range_count; /* 0: one point */
    weft_expr first;      /* where the first range is at the first point */
    uint32_t points, lanes;
    bool goes_on;               /* with the accumulators as they are */
    weft_inst_id *accumulators; /* lane by lane, as in `results` */
} weft_flat_stage;

/* Points of a stage; 0: they are not known, or too many. */
uint32_t weft_flat_points(const weft_kernel *kernel, const weft_stage *stage);
/* An expression of the stage at one of them. */
weft_expr weft_flat_at_point(weft_expr_context *x, const weft_flat_stage *s, uint32_t point, weft_expr e);
/* Why points with this instruction of stage number `stage` are not put one after another; NULL: they may be. */
const char *weft_flat_refusal(const weft_kernel *kernel, uint32_t stage, const weft_inst *inst);
/* Components of an accumulator of the kernel, in a virtual lane. */
weft_inst_id *weft_flat_accumulator(const weft_flat_stage *s, uint32_t lane, uint32_t number);
/* Adds the instructions and stores of a point, and takes its values in. */
weft_status *weft_flat_add_point(weft_flat *f, const weft_flat_stage *s, uint32_t point) WEFT_MUST_USE;
#endif
