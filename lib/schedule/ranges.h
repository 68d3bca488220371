/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_RANGES_H
#define WEFT_LIB_SCHEDULE_RANGES_H
/* Operations of scheduling on the ranges of a kernel and on the expressions over them. */
#include "lib/loop/inst.h"

/* Called with every expression of a kernel, which it may replace; false stops. */
typedef bool (*weft_expr_visit)(void *context, weft_expr_context *exprs, weft_expr *expr);
bool weft_kernel_visit_exprs(weft_kernel *kernel, weft_expr_visit visit, void *context);

typedef struct weft_substitution {
    weft_expr variables[2], values[2];
    size_t count;
} weft_substitution;

/* Why ranges i and i + 1 of a list of `count` are not one; NULL: they can be. */
const char *weft_kernel_fuse_refusal(weft_kernel *kernel, const weft_range *ranges, uint32_t count, uint32_t i);
/* Makes them one. */
weft_status *weft_kernel_fuse(weft_kernel *kernel, weft_range *ranges, uint32_t *count, uint32_t i) WEFT_MUST_USE;
/* Why an expression of the kernel failed. */
weft_status *weft_kernel_expr_failure(weft_kernel *kernel) WEFT_MUST_USE;
/* What a stage is made of: instructions of the kernel, perhaps changed, of which the `live` ones are in the stage. */
typedef struct weft_stage_draft {
    weft_inst *insts; /* as many as the kernel has, operands numbered as there */
    bool *live;
    uint32_t store_count;
    weft_store *stores;
} weft_stage_draft;

/* All that stage 0 consists of; NULL in `insts` when out of memory. */
weft_stage_draft weft_stage_draft_all(weft_kernel *kernel);
/* Appends the draft's instructions to `list` and makes a stage of them and the stores, without ranges, where other
 * values stand for variables. The draft's stores become the stage's. */
weft_status *weft_stage_draft_finish(weft_kernel *kernel, const weft_stage_draft *draft, const weft_substitution *s,
                                     weft_inst_list *list, weft_stage *out_stage) WEFT_MUST_USE;
/* Whether the extent of an inner range depends on the variable. */
bool weft_kernel_bounds_inner(const weft_kernel *kernel, weft_expr variable);
/* A range variable of a name not used yet. */
weft_expr weft_kernel_fresh_variable(weft_kernel *kernel, weft_expr extent);
/*
 * Cuts outer range `number` into tiles of `tile` elements: the range becomes one of tiles, and one inside the tile is
 * added after the last range. A range known to fit one tile only moves to the end.
 */
weft_status *weft_kernel_split(weft_kernel *kernel, uint32_t number, int64_t tile) WEFT_MUST_USE;
#endif
