/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_LANES_H
#define WEFT_RUNTIME_LANES_H
/*
 * Steps that run side by side. A sequence of steps (the program's, or a region's) is cut into stages that follow each
 * other; a stage has lanes that need nothing of each other, each of them runs its steps one after another.
 */
#include "runtime/bound.h"

typedef struct weft_lane {
    size_t count;
    const uint32_t *steps; /* numbers, in the order in which they run */
} weft_lane;

typedef struct weft_stage {
    size_t lane_count; /* one: its steps have all threads; more: each has one */
    const weft_lane *lanes;
} weft_stage;

typedef struct weft_stages {
    size_t count;
    const weft_stage *stages;
} weft_stages;

/* How far steps may be taken out of their order. */
typedef struct weft_lanes_limits {
    size_t lanes;  /* of a stage */
    size_t window; /* steps of a sequence that are looked at together */
} weft_lanes_limits;

/* Sets `stages` of the first step of every sequence that gains from lanes, NULL for the others; *out_found: some do. */
weft_status *weft_lanes_fill(weft_bound *bound, weft_lanes_limits limits, bool *out_found) WEFT_MUST_USE;
#endif
