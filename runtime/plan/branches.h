/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PLAN_BRANCHES_H
#define WEFT_RUNTIME_PLAN_BRANCHES_H
/* Which steps of a binding run side by side. */
#include "runtime/step/bound_variant.h"

/* How far steps may be taken out of their order. */
typedef struct weft_branches_limits {
    size_t branches; /* of a phase */
    size_t window;   /* steps of a sequence that are looked at together */
} weft_branches_limits;

/* What a variant of several steps refers to, so that others need not link it. */
typedef struct weft_branch_methods {
    /* Sets `phases` of the first step of every sequence that gains from branches, NULL for the others; *out_found: some
     * do. */
    weft_status *(*fill)(weft_bound_variant *bound, weft_branches_limits limits, bool *out_found);
} weft_branch_methods;

extern const weft_branch_methods weft_plan_branches;
#endif
