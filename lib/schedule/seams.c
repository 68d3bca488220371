/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"
#include <string.h>

/*
 * What a concat, a pad or a roll reads is behind predicates, which change at a few seams. So the points of the kernel
 * are cut into regions, in each of which every predicate is known: for a concat of rows of 50 and 30 elements, j < 50
 * and 50 <= j < 80. Each becomes a stage of its own, with the last range as its inner one, without predicates and
 * without what they leave unused. A condition on the ranges around is an inner range of one element or none.
 *
 * A region is cut in two at the first predicate that is not known, until there is none; conditions on whole rows come
 * first, because they leave most unused.
 */

/* Stages, and instructions that they have together beyond those there were: all of them are compiled. */
#define MOST_STAGES 12u
#define MOST_ADDED 48u
/* Vectors of the last range for each stage, at least: starting a stage takes about as long as one. */
#define LEAST_VECTORS 2
/* Conditions of one region. */
#define MOST_FACTS 16u

/* ---- longer ranges ---- */

typedef struct pair {
    weft_expr outer, inner, inner_extent;
} pair;

static bool is_one_apart(weft_expr_context *x, weft_expr e, weft_expr variable)
{
    weft_expr step, rest;
    return weft_expr_affine(x, e, variable, &step, &rest) &&
           (step == weft_expr_constant(x, 1) || step == weft_expr_constant(x, -1));
}

/* p >= 0 on the outer range alone, as a predicate on both: extent * p + inner >= 0, or with the inner range backwards,
 * so that it walks them as one. */
static weft_expr widen(const pair *p, weft_expr_context *x, weft_expr predicate)
{
    weft_expr step, rest, inner = p->inner, one = weft_expr_constant(x, 1);
    if (weft_expr_uses(x, predicate, p->inner) || !is_one_apart(x, predicate, p->outer)) return predicate;
    weft_expr_affine(x, predicate, p->outer, &step, &rest);
    if (step != one) inner = weft_expr_sub(x, weft_expr_sub(x, p->inner_extent, one), inner);
    return weft_expr_add(x, weft_expr_mul(x, predicate, p->inner_extent), inner);
}

/* ---- regions ---- */

typedef struct region {
    weft_expr begin, end; /* of the last range */
    weft_expr share;      /* 1 where the conditions on other ranges hold, 0 elsewhere */
    uint32_t fact_count;
    weft_expr facts[MOST_FACTS]; /* what is >= 0 at all points */
} region;

typedef struct cutter {
    weft_kernel *kernel;
    weft_range along; /* the last range, which is cut */
    weft_inst_list list;
    weft_stage *stages;
    uint32_t stage_count;
    bool is_cut, fits;
} cutter;

/* p < 0, as what is >= 0. */
static weft_expr opposite(weft_expr_context *x, weft_expr p)
{
    return weft_expr_sub(x, weft_expr_constant(x, -1), p);
}

static bool follows(weft_expr_context *x, const region *r, weft_expr p)
{
    if (weft_expr_always_nonnegative(x, p)) return true;
    for (uint32_t i = 0; i < r->fact_count; i++)
        if (weft_expr_always_nonnegative(x, weft_expr_sub(x, p, r->facts[i]))) return true;
    return false;
}

/* Leaves of the predicates those that the region does not know, or -1 where one never holds; whether they may hold. */
static bool settle(cutter *c, const region *r, uint32_t *count, const weft_expr **predicates)
{
    weft_expr_context *x = c->kernel->exprs;
    if (*count == 0) return true;
    weft_expr *left = weft_arena_copy(&c->kernel->arena, *predicates, *count * sizeof *left);
    if (left == NULL) {
        c->list.failed = true;
        return true;
    }
    uint32_t kept = 0;
    bool holds = true;
    for (uint32_t i = 0; i < *count && holds; i++) {
        if (follows(x, r, left[i])) continue;
        holds = !follows(x, r, opposite(x, left[i]));
        left[kept++] = left[i];
    }
    if (!holds) left[0] = weft_expr_constant(x, -1);
    *count = holds ? kept : 1;
    *predicates = left;
    return holds;
}

static bool is_never(const cutter *c, const weft_inst *inst)
{
    return inst->predicate_count == 1 && inst->predicates[0] == weft_expr_constant(c->kernel->exprs, -1);
}

/* Instruction i as it is in the region; what it is the same as, or i. Operands in `same` are resolved already. */
static weft_inst_id draft_inst(cutter *c, const region *r, weft_stage_draft *d, uint32_t i, const weft_inst_id *same)
{
    weft_inst *inst = &d->insts[i];
    for (uint32_t a = 0; a < inst->arg_count; a++) inst->args[a] = same[inst->args[a]];
    bool holds = settle(c, r, &inst->predicate_count, &inst->predicates);
    *inst = weft_inst_settled(inst, holds);
    if (inst->op != WEFT_SCALAR_select) return i;
    const weft_inst *condition = &d->insts[inst->args[0]];
    return weft_inst_is_truth(condition, true)    ? inst->args[1]
           : weft_inst_is_truth(condition, false) ? inst->args[2]
                                                  : i;
}

static void mark_live(const cutter *c, weft_stage_draft *d)
{
    const weft_kernel *kernel = c->kernel;
    memset(d->live, 0, kernel->inst_count * sizeof *d->live);
    for (uint32_t i = 0; i < d->store_count; i++) d->live[d->stores[i].value] = true;
    for (uint32_t i = kernel->inst_count; i-- > 0;) {
        d->live[i] |= weft_inst_has_effect(&d->insts[i]) && !is_never(c, &d->insts[i]);
        for (uint32_t a = 0; d->live[i] && a < d->insts[i].arg_count; a++) d->live[d->insts[i].args[a]] = true;
    }
}

static weft_status *draft_stage(cutter *c, const region *r, weft_stage_draft *d)
{
    weft_kernel *kernel = c->kernel;
    *d = weft_stage_draft_all(kernel);
    weft_inst_id *same = weft_arena_allocate(&kernel->arena, kernel->inst_count * sizeof *same);
    if (d->insts == NULL || same == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < kernel->inst_count; i++) same[i] = draft_inst(c, r, d, i, same);
    uint32_t count = d->store_count;
    d->store_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        weft_store store = d->stores[i];
        if (!settle(c, r, &store.predicate_count, &store.predicates)) continue;
        store.value = same[store.value];
        d->stores[d->store_count++] = store;
    }
    mark_live(c, d);
    return c->list.failed ? weft_status_out_of_memory() : NULL;
}

/* ---- cutting ---- */

/* Whether the region can be cut where the predicate changes. */
static bool is_seam(const cutter *c, weft_expr p, bool across_rows)
{
    weft_expr_context *x = c->kernel->exprs;
    int64_t known;
    if (across_rows == weft_expr_uses(x, p, c->along.variable) || !weft_expr_is_total(x, p)) return false;
    if (weft_expr_is_constant(x, p, &known)) return false;
    return across_rows || is_one_apart(x, p, c->along.variable);
}

static weft_expr seam_among(const cutter *c, uint32_t count, const weft_expr *predicates, bool across_rows)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_seam(c, predicates[i], across_rows)) return predicates[i];
    return WEFT_EXPR_NONE;
}

static weft_expr find_seam(const cutter *c, const weft_stage_draft *d, bool across_rows)
{
    weft_expr seam = WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < d->store_count && seam == WEFT_EXPR_NONE; i++)
        seam = seam_among(c, d->stores[i].predicate_count, d->stores[i].predicates, across_rows);
    for (uint32_t i = 0; i < c->kernel->inst_count && seam == WEFT_EXPR_NONE; i++)
        if (d->live[i]) seam = seam_among(c, d->insts[i].predicate_count, d->insts[i].predicates, across_rows);
    return seam;
}

/* The part of the region where the predicate holds. */
static region part_of(const cutter *c, const region *whole, weft_expr p)
{
    weft_expr_context *x = c->kernel->exprs;
    weft_expr step, rest, one = weft_expr_constant(x, 1), none = weft_expr_constant(x, 0);
    region part = *whole;
    part.facts[part.fact_count++] = p;
    if (!weft_expr_uses(x, p, c->along.variable)) {
        weft_expr holds = weft_expr_min(x, one, weft_expr_max(x, none, weft_expr_add(x, p, one)));
        part.share = weft_expr_mul(x, part.share, holds);
        return part;
    }
    weft_expr_affine(x, p, c->along.variable, &step, &rest);
    if (step == one) part.begin = weft_expr_max(x, part.begin, weft_expr_sub(x, none, rest));
    else part.end = weft_expr_min(x, part.end, weft_expr_add(x, rest, one));
    return part;
}

/* The ranges of the region's stage; *out_value is what the last range's variable is in terms of them. */
static weft_status *add_ranges(cutter *c, const region *r, weft_stage *stage, weft_expr *out_value)
{
    weft_expr_context *x = c->kernel->exprs;
    int64_t share;
    weft_range ranges[2] = {c->along, c->along};
    uint32_t first = weft_expr_is_constant(x, r->share, &share) ? 1 : 0;
    ranges[0].extent = r->share;
    if (first == 0) ranges[0].variable = weft_kernel_fresh_variable(c->kernel, r->share);
    ranges[1].extent = weft_expr_max(x, weft_expr_constant(x, 0), weft_expr_sub(x, r->end, r->begin));
    ranges[1].variable = weft_kernel_fresh_variable(c->kernel, ranges[1].extent);
    *out_value = weft_expr_add(x, r->begin, ranges[1].variable);
    stage->range_count = 2 - first;
    stage->ranges = weft_arena_copy(&c->kernel->arena, ranges + first, stage->range_count * sizeof *ranges);
    return stage->ranges == NULL ? weft_status_out_of_memory() : NULL;
}

/* Appends the draft as a stage over the region. */
static weft_status *add_stage(cutter *c, const region *r, const weft_stage_draft *d)
{
    weft_stage ranges, *stage = &c->stages[c->stage_count++];
    weft_substitution s = {.variables = {c->along.variable}, .count = 1};
    WEFT_TRY(add_ranges(c, r, &ranges, &s.values[0]));
    WEFT_TRY(weft_stage_draft_finish(c->kernel, d, &s, &c->list, stage));
    stage->range_count = ranges.range_count;
    stage->ranges = ranges.ranges;
    return NULL;
}

static bool is_empty(const cutter *c, const region *r)
{
    weft_expr_context *x = c->kernel->exprs;
    return weft_expr_always_nonnegative(x, weft_expr_sub(x, r->begin, r->end));
}

static bool is_idle(const cutter *c, const weft_stage_draft *d)
{
    uint32_t live = d->store_count;
    for (uint32_t i = 0; i < c->kernel->inst_count; i++) live += d->live[i];
    return live == 0;
}

/* A region at a time, in order along the last range; the others wait. */
static weft_status *cut_regions(cutter *c, const region *whole)
{
    region waiting[MOST_STAGES + 1];
    uint32_t count = 0;
    waiting[count++] = *whole;
    while (count > 0 && c->fits) {
        region r = waiting[--count];
        weft_stage_draft d;
        if (is_empty(c, &r)) continue;
        WEFT_TRY(draft_stage(c, &r, &d));
        weft_expr seam = find_seam(c, &d, true);
        if (seam == WEFT_EXPR_NONE) seam = find_seam(c, &d, false);
        if (seam == WEFT_EXPR_NONE) {
            if (!is_idle(c, &d)) WEFT_TRY(add_stage(c, &r, &d));
            c->fits = c->list.count <= c->kernel->inst_count + MOST_ADDED;
            continue;
        }
        c->fits = c->stage_count + count + 2 <= MOST_STAGES && r.fact_count < MOST_FACTS;
        if (!c->fits) break;
        c->is_cut = true;
        region holds = part_of(c, &r, seam), fails = part_of(c, &r, opposite(c->kernel->exprs, seam));
        bool rises = holds.begin != r.begin;
        waiting[count++] = rises ? holds : fails;
        waiting[count++] = rises ? fails : holds;
    }
    return NULL;
}

/* ---- kernels ---- */

static bool has_predicates(const weft_kernel *kernel)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) count += kernel->insts[i].predicate_count;
    for (uint32_t i = 0; i < kernel->stages[0].store_count; i++) count += kernel->stages[0].stores[i].predicate_count;
    return count > 0;
}

/* Kernels of one stage whose points meet nowhere, and which have something to cut. */
static bool is_plain(const weft_kernel *kernel)
{
    if (kernel->stage_count != 1 || kernel->range_count == 0) return false;
    const weft_stage *stage = &kernel->stages[0];
    if (stage->range_count != 0 || stage->accumulator_count != 0 || !has_predicates(kernel)) return false;
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (stage->stores[i].is_indirect) return false;
    return true;
}

/* Whether each step of the range is the same step in memory: only then may it begin anywhere. */
static bool is_even(weft_kernel *kernel, weft_expr along)
{
    weft_expr step, rest;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        weft_expr index = kernel->insts[i].index;
        if (index != WEFT_EXPR_NONE && !weft_expr_affine(kernel->exprs, index, along, &step, &rest)) return false;
    }
    const weft_stage *stage = &kernel->stages[0];
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (!weft_expr_affine(kernel->exprs, stage->stores[i].index, along, &step, &rest)) return false;
    return true;
}

/* Whether stages are worth their starts. Those whose extents are not known may be short, and masked stores then take
 * longer than the loads that are saved: 2.5 times for rows of 30 and 34 f32 with AVX2, 0.9 with vectors of 64 bytes.
 * Without a machine they are. */
static bool are_worth_it(const cutter *c, weft_expr whole, const weft_machine *machine, uint32_t width)
{
    int64_t extent, least, most;
    if (machine == NULL) return true;
    weft_expr_range(c->kernel->exprs, whole, &least, &most);
    if (most / width < (int64_t)c->stage_count * LEAST_VECTORS) return false;
    if (least == most || machine->vector_bytes >= 64) return true;
    for (uint32_t s = 0; s < c->stage_count; s++) {
        weft_expr last = c->stages[s].ranges[c->stages[s].range_count - 1].extent;
        if (!weft_expr_is_constant(c->kernel->exprs, last, &extent) &&
            weft_expr_divisor(c->kernel->exprs, last) % width != 0)
            return false;
    }
    return true;
}

/* Moves the last range into the stages, one for each region; not done (false) where there are too many for its
 * length. */
static weft_status *cut_last_range(weft_kernel *kernel, const weft_machine *machine, uint32_t width, int64_t tile,
                                   bool *out_cut)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr extent = kernel->ranges[kernel->range_count - 1].extent;
    WEFT_TRY(weft_kernel_split(kernel, kernel->range_count - 1, tile));
    cutter c = {.kernel = kernel, .along = kernel->ranges[kernel->range_count - 1], .fits = true};
    c.list.arena = &kernel->arena;
    c.stages = weft_arena_allocate(&kernel->arena, MOST_STAGES * sizeof *c.stages);
    if (c.stages == NULL) return weft_status_out_of_memory();
    region whole = {.begin = weft_expr_constant(x, 0), .end = c.along.extent, .share = weft_expr_constant(x, 1)};
    WEFT_TRY(cut_regions(&c, &whole));
    *out_cut = c.fits && c.is_cut && c.stage_count > 0 && are_worth_it(&c, extent, machine, width);
    kernel->range_count--;
    kernel->insts = c.list.items;
    kernel->inst_count = c.list.count;
    kernel->stages = c.stages;
    kernel->stage_count = c.stage_count;
    return weft_expr_context_take_error(x);
}

static bool widen_each(const pair *p, weft_kernel *kernel, uint32_t count, const weft_expr **predicates)
{
    weft_expr *copy = count == 0 ? NULL : weft_arena_copy(&kernel->arena, *predicates, count * sizeof *copy);
    if (count != 0 && copy == NULL) return false;
    for (uint32_t i = 0; i < count; i++) copy[i] = widen(p, kernel->exprs, copy[i]);
    *predicates = copy;
    return true;
}

/* Makes range i and the next one the same range, with predicates that walk it. */
static weft_status *collapse_widened(weft_kernel *kernel, uint32_t i)
{
    weft_stage *stage = &kernel->stages[0];
    const weft_range *outer = &kernel->ranges[i], *inner = &kernel->ranges[i + 1];
    pair p = {outer->variable, inner->variable, inner->extent};
    weft_inst *insts = weft_arena_copy(&kernel->arena, kernel->insts, kernel->inst_count * sizeof *insts);
    weft_store *stores = weft_arena_copy(&kernel->arena, stage->stores, stage->store_count * sizeof *stores);
    bool done = insts != NULL && stores != NULL;
    for (uint32_t k = 0; k < kernel->inst_count && done; k++)
        done = widen_each(&p, kernel, kernel->insts[k].predicate_count, &kernel->insts[k].predicates);
    for (uint32_t k = 0; k < stage->store_count && done; k++)
        done = widen_each(&p, kernel, stage->stores[k].predicate_count, &stage->stores[k].predicates);
    if (!done) return weft_status_out_of_memory();
    if (weft_kernel_fuse_refusal(kernel, kernel->ranges, kernel->range_count, i) == NULL)
        return weft_kernel_fuse(kernel, kernel->ranges, &kernel->range_count, i);
    kernel->insts = insts;
    stage->stores = stores;
    return NULL;
}

static weft_status *cut_kernel(weft_kernel *kernel, const weft_machine *machine, uint32_t width, int64_t tile,
                               bool *out_cut)
{
    for (uint32_t i = kernel->range_count; i-- > 1;) WEFT_TRY(collapse_widened(kernel, i - 1));
    const weft_range *last = &kernel->ranges[kernel->range_count - 1];
    if (!is_even(kernel, last->variable)) return NULL;
    if (machine != NULL && weft_kernel_find_transposition(kernel, machine) < kernel->range_count) return NULL;
    return cut_last_range(kernel, machine, width, tile, out_cut);
}

weft_status *weft_kernel_cut_at_seams(weft_kernel *kernel, const weft_machine *machine, uint32_t width, int64_t tile,
                                      bool *out_cut)
{
    weft_kernel *trial;
    *out_cut = false;
    if (!is_plain(kernel)) return NULL;
    WEFT_TRY(weft_kernel_clone(kernel, &trial));
    weft_status *status = cut_kernel(trial, machine, width, tile, out_cut);
    if (status == NULL) status = weft_expr_context_take_error(trial->exprs);
    return weft_kernel_end_attempt(kernel, trial, status, out_cut);
}
