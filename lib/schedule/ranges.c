/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/ranges.h"
#include <stdio.h>
#include <string.h>

static bool visit_predicates(weft_kernel *kernel, uint32_t count, const weft_expr **predicates, weft_expr_visit visit,
                             void *context)
{
    if (count == 0) return true;
    weft_expr *copy = weft_arena_copy(&kernel->arena, *predicates, count * sizeof *copy);
    if (copy == NULL) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!visit(context, kernel->exprs, &copy[i])) return false;
    }
    *predicates = copy;
    return true;
}

static bool visit_ranges(weft_kernel *kernel, uint32_t count, weft_range *ranges, weft_expr_visit visit, void *context)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!visit(context, kernel->exprs, &ranges[i].extent)) return false;
    }
    return true;
}

static bool visit_optional(weft_kernel *kernel, weft_expr *expr, weft_expr_visit visit, void *context)
{
    return *expr == WEFT_EXPR_NONE || visit(context, kernel->exprs, expr);
}

bool weft_kernel_visit_exprs(weft_kernel *kernel, weft_expr_visit visit, void *context)
{
    if (!visit_ranges(kernel, kernel->range_count, kernel->ranges, visit, context)) return false;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        weft_inst *inst = &kernel->insts[i];
        if (!visit_optional(kernel, &inst->index, visit, context)) return false;
        if (!visit_optional(kernel, &inst->position, visit, context)) return false;
        if (!visit_predicates(kernel, inst->predicate_count, &inst->predicates, visit, context)) return false;
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        weft_stage *stage = &kernel->stages[s];
        if (!visit_ranges(kernel, stage->range_count, stage->ranges, visit, context)) return false;
        for (uint32_t i = 0; i < stage->store_count; i++) {
            weft_store *store = &stage->stores[i];
            if (!visit(context, kernel->exprs, &store->index)) return false;
            if (!visit_predicates(kernel, store->predicate_count, &store->predicates, visit, context)) return false;
        }
    }
    return true;
}

static bool substitute(void *context, weft_expr_context *exprs, weft_expr *expr)
{
    const weft_substitution *s = context;
    *expr = weft_expr_substitute(exprs, *expr, s->count, s->variables, s->values);
    return *expr != WEFT_EXPR_NONE;
}

/* Replaces variables in every expression of the kernel; false when an expression fails or memory is short. */
static bool substitute_all(weft_kernel *kernel, const weft_substitution *substitution)
{
    return weft_kernel_visit_exprs(kernel, substitute, (void *)(uintptr_t)substitution);
}

weft_status *weft_kernel_expr_failure(weft_kernel *kernel)
{
    weft_status *error = weft_expr_context_take_error(kernel->exprs);
    return error != NULL ? error : weft_status_out_of_memory();
}

weft_stage_draft weft_stage_draft_all(weft_kernel *kernel)
{
    const weft_stage *stage = &kernel->stages[0];
    weft_stage_draft draft = {.store_count = stage->store_count};
    draft.stores = weft_arena_copy(&kernel->arena, stage->stores, stage->store_count * sizeof *draft.stores);
    draft.live = weft_arena_allocate(&kernel->arena, kernel->inst_count * sizeof *draft.live);
    if (draft.stores == NULL || draft.live == NULL) return draft;
    memset(draft.live, true, kernel->inst_count * sizeof *draft.live);
    draft.insts = weft_arena_copy(&kernel->arena, kernel->insts, kernel->inst_count * sizeof *draft.insts);
    return draft;
}

/* The substitution in what an instruction refers to. */
static bool substitute_inst(weft_kernel *kernel, weft_inst *inst, void *s)
{
    return visit_optional(kernel, &inst->index, substitute, s) &&
           visit_optional(kernel, &inst->position, substitute, s) &&
           visit_predicates(kernel, inst->predicate_count, &inst->predicates, substitute, s);
}

weft_status *weft_stage_draft_finish(weft_kernel *kernel, const weft_stage_draft *draft, const weft_substitution *s,
                                     weft_inst_list *list, weft_stage *out_stage)
{
    void *context = (void *)(uintptr_t)s;
    weft_inst_id *number = weft_arena_allocate(&kernel->arena, kernel->inst_count * sizeof *number);
    bool done = number != NULL;
    *out_stage = (weft_stage){.inst_first = list->count, .store_count = draft->store_count, .stores = draft->stores};
    list->visible = list->count;
    for (uint32_t i = 0; i < kernel->inst_count && done; i++) {
        weft_inst inst = draft->insts[i];
        if (!draft->live[i]) continue;
        for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = number[inst.args[a]];
        done = substitute_inst(kernel, &inst, context);
        number[i] = weft_inst_list_add(list, &inst);
    }
    for (uint32_t i = 0; i < draft->store_count && done; i++) {
        weft_store *store = &draft->stores[i];
        store->value = number[store->value];
        if (store->is_indirect) store->offset = number[store->offset];
        done = substitute(context, kernel->exprs, &store->index) &&
               visit_predicates(kernel, store->predicate_count, &store->predicates, substitute, context);
    }
    out_stage->inst_count = list->count - out_stage->inst_first;
    if (done && !list->failed) return NULL;
    return weft_kernel_expr_failure(kernel);
}

/* ---- fusing ---- */

typedef struct pair {
    weft_expr outer, inner, inner_extent;
} pair;

/* Whether the expression walks the two ranges as one: a step of the outer is as long as the whole inner range. */
static bool walks_as_one(void *context, weft_expr_context *exprs, weft_expr *expr)
{
    const pair *p = context;
    weft_expr outer, inner, rest;
    if (!weft_expr_uses(exprs, *expr, p->outer) && !weft_expr_uses(exprs, *expr, p->inner)) return true;
    if (!weft_expr_affine(exprs, *expr, p->outer, &outer, &rest)) return false;
    if (weft_expr_uses(exprs, outer, p->inner)) return false;
    if (!weft_expr_affine(exprs, *expr, p->inner, &inner, &rest)) return false;
    return outer == weft_expr_mul(exprs, inner, p->inner_extent);
}

const char *weft_kernel_fuse_refusal(weft_kernel *kernel, const weft_range *ranges, uint32_t count, uint32_t i)
{
    if (i + 1 >= count) return "no range follows it";
    const weft_range *outer = &ranges[i], *inner = outer + 1;
    pair p = {outer->variable, inner->variable, inner->extent};
    if (outer->reduce || inner->reduce) return "the ranges of a reduction stay apart";
    if (outer->bind != WEFT_BIND_SERIAL || inner->bind != WEFT_BIND_SERIAL) return "its lanes are bound";
    if (weft_expr_uses(kernel->exprs, inner->extent, outer->variable)) return "the next extent depends on it";
    return weft_kernel_visit_exprs(kernel, walks_as_one, &p) ? NULL : "an address does not walk both as one";
}

weft_status *weft_kernel_fuse(weft_kernel *kernel, weft_range *ranges, uint32_t *count, uint32_t i)
{
    weft_range *outer = &ranges[i], *inner = outer + 1;
    weft_expr extent = weft_expr_mul(kernel->exprs, outer->extent, inner->extent);
    weft_expr variable = weft_kernel_fresh_variable(kernel, extent);
    weft_substitution s = {{outer->variable, inner->variable}, {weft_expr_constant(kernel->exprs, 0), variable}, 2};
    if (!substitute_all(kernel, &s)) return weft_kernel_expr_failure(kernel);
    outer->variable = variable;
    outer->extent = extent;
    memmove(inner, inner + 1, (*count - i - 2) * sizeof *inner);
    (*count)--;
    return NULL;
}

bool weft_kernel_bounds_inner(const weft_kernel *kernel, weft_expr variable)
{
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].range_count; i++)
            if (weft_expr_uses(kernel->exprs, kernel->stages[s].ranges[i].extent, variable)) return true;
    return false;
}

weft_expr weft_kernel_fresh_variable(weft_kernel *kernel, weft_expr extent)
{
    char name[24];
    size_t number = weft_expr_context_symbol_count(kernel->exprs);
    do snprintf(name, sizeof name, "t%zu", number++);
    while (weft_expr_find(kernel->exprs, name) != WEFT_EXPR_NONE);
    return weft_expr_variable(kernel->exprs, name, extent);
}

/*
 * Cuts outer range `number` into tiles of `tile` elements: the range becomes one of tiles, and one inside the tile is
 * added after the last range. A range known to fit one tile only moves to the end.
 */
weft_status *weft_kernel_split(weft_kernel *kernel, uint32_t number, int64_t tile)
{
    weft_expr_context *x = kernel->exprs;
    weft_range *ranges = weft_arena_allocate(&kernel->arena, (kernel->range_count + 1) * sizeof *ranges);
    if (ranges == NULL) return weft_status_out_of_memory();
    memcpy(ranges, kernel->ranges, kernel->range_count * sizeof *ranges);
    weft_range cut = ranges[number];
    weft_expr size = weft_expr_constant(x, tile);
    kernel->ranges = ranges;
    if (weft_expr_always_nonnegative(x, weft_expr_sub(x, size, cut.extent))) {
        memmove(&ranges[number], &ranges[number + 1], (kernel->range_count - number - 1) * sizeof *ranges);
        ranges[kernel->range_count - 1] = cut;
        return NULL;
    }
    weft_range *tiles = &ranges[number], *inside = &ranges[kernel->range_count];
    tiles->extent = weft_expr_div(x, weft_expr_add(x, cut.extent, weft_expr_constant(x, tile - 1)), size);
    tiles->variable = weft_kernel_fresh_variable(kernel, tiles->extent);
    weft_expr start = weft_expr_mul(x, tiles->variable, size);
    *inside = cut;
    inside->extent = weft_expr_min(x, size, weft_expr_sub(x, cut.extent, start));
    inside->variable = weft_kernel_fresh_variable(kernel, inside->extent);
    kernel->range_count++;
    weft_substitution s = {{cut.variable}, {weft_expr_add(x, start, inside->variable)}, 1};
    return substitute_all(kernel, &s) ? NULL : weft_kernel_expr_failure(kernel);
}
