/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BRANCHES_H
#define WEFT_RUNTIME_BRANCHES_H
/*
 * Steps that run side by side. A sequence of steps (the program's, or a region's) is cut into phases that follow each
 * other; a phase has branches that need nothing of each other, each of them runs its steps one after another.
 */
#include "runtime/bound_variant.h"

typedef struct weft_branch {
    size_t count;
    const uint32_t *steps; /* numbers, in the order in which they run */
} weft_branch;

typedef struct weft_phase {
    size_t branch_count; /* one: its steps have all threads; more: each has one */
    const weft_branch *branches;
} weft_phase;

typedef struct weft_phases {
    size_t count;
    const weft_phase *phases;
} weft_phases;

/* How far steps may be taken out of their order. */
typedef struct weft_branches_limits {
    size_t branches; /* of a phase */
    size_t window;   /* steps of a sequence that are looked at together */
} weft_branches_limits;

/* Sets `phases` of the first step of every sequence that gains from branches, NULL for the others; *out_found: some do.
 */
weft_status *weft_branches_fill(weft_bound_variant *bound, weft_branches_limits limits, bool *out_found) WEFT_MUST_USE;
#endif
