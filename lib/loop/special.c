/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/special.h"
#include <string.h>

/* Instructions for a point that take longer than the loops that a short row does not need. */
enum { MOST_INSTRUCTIONS = 48 };

/* ---- which scalars ---- */

/* Ranges along which lanes go, scalars that matter there, and the values that these are to have. */
typedef struct lanes {
    const weft_kernel *kernel;
    uint32_t width; /* of the shortest vector; 0: there are no lanes */
    weft_expr scalars[WEFT_SPECIAL_SCALARS];
    size_t count; /* more than WEFT_SPECIAL_SCALARS: they are too many */
    int64_t least, most;
} lanes;

static void add_scalar(lanes *l, weft_expr scalar)
{
    for (size_t i = 0; i < l->count && i < WEFT_SPECIAL_SCALARS; i++)
        if (l->scalars[i] == scalar) return;
    if (l->count < WEFT_SPECIAL_SCALARS) l->scalars[l->count] = scalar;
    l->count++;
}

static void add_scalars(lanes *l, weft_expr expr)
{
    const weft_expr_context *exprs = l->kernel->exprs;
    for (size_t i = 0; i < weft_expr_context_symbol_count(exprs); i++) {
        weft_expr symbol = weft_expr_context_symbol(exprs, i);
        bool is_scalar = weft_expr_bound(exprs, symbol) == WEFT_EXPR_NONE;
        if (is_scalar && weft_expr_uses(exprs, expr, symbol)) add_scalar(l, symbol);
    }
}

static void add_range(lanes *l, const weft_range *range)
{
    if (range->bind != WEFT_BIND_LANE) return;
    if (l->width == 0 || range->width < l->width) l->width = range->width;
    add_scalars(l, range->extent);
}

/* The lanes of all stages, and what their extents use. */
static lanes find_lanes(const weft_kernel *kernel)
{
    lanes l = {.kernel = kernel, .least = INT64_MIN};
    for (uint32_t i = 0; i < kernel->range_count; i++) add_range(&l, &kernel->ranges[i]);
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        for (uint32_t i = 0; i < kernel->stages[s].range_count; i++) add_range(&l, &kernel->stages[s].ranges[i]);
    l.most = l.width;
    return l;
}

/* Adds what an expression is divided by that changes along the lanes, if it may be less than a vector has. */
static void add_divisors(lanes *l, weft_expr lane, weft_expr expr)
{
    const weft_expr_context *exprs = l->kernel->exprs;
    weft_expr_kind kind = weft_expr_kind_of(exprs, expr);
    bool is_leaf = kind == WEFT_EXPR_CONSTANT || kind == WEFT_EXPR_SYMBOL;
    if (is_leaf || !weft_expr_uses(exprs, expr, lane)) return;
    if (kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD) {
        int64_t least, most;
        weft_expr divisor = weft_expr_operand(exprs, expr, 1);
        weft_expr_range(exprs, divisor, &least, &most);
        if (least < l->width) add_scalars(l, divisor);
    }
    for (size_t i = 0; i < weft_expr_arity(exprs, expr); i++) add_divisors(l, lane, weft_expr_operand(exprs, expr, i));
}

static void add_divisors_of(lanes *l, const weft_stage *stage, const weft_range *range)
{
    if (range->bind != WEFT_BIND_LANE) return;
    l->width = range->width;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
        if (l->kernel->insts[i].op == WEFT_SCALAR_load) add_divisors(l, range->variable, l->kernel->insts[i].index);
    for (uint32_t i = 0; i < stage->store_count; i++) add_divisors(l, range->variable, stage->stores[i].index);
}

/* The scalars that places along lanes are divided by. */
static lanes find_divisors(const weft_kernel *kernel)
{
    enum { LONG = 64 }; /* some vectors, so that also a part of such a scalar is one at least */
    lanes l = {.kernel = kernel, .least = LONG, .most = INT64_MAX};
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = 0; i < kernel->range_count; i++) add_divisors_of(&l, stage, &kernel->ranges[i]);
        for (uint32_t i = 0; i < stage->range_count; i++) add_divisors_of(&l, stage, &stage->ranges[i]);
    }
    return l;
}

/* Whether the scalars may be more than a vector of the lanes, and as little. */
static bool may_be_short(const lanes *l)
{
    int64_t least, most;
    bool may_be_long = false;
    if (l->count == 0 || l->count > WEFT_SPECIAL_SCALARS) return false;
    if (l->width < 2 || l->kernel->inst_count > MOST_INSTRUCTIONS) return false;
    for (size_t i = 0; i < l->count; i++) {
        weft_expr_range(l->kernel->exprs, l->scalars[i], &least, &most);
        if (least >= l->width) return false;
        may_be_long |= most > l->width;
    }
    return may_be_long;
}

/* Whether the scalars may be as many as that, and fewer. */
static bool may_be_long(const lanes *l)
{
    int64_t least, most;
    if (l->count == 0 || l->count > WEFT_SPECIAL_SCALARS || l->kernel->inst_count > MOST_INSTRUCTIONS) return false;
    for (size_t i = 0; i < l->count; i++) {
        weft_expr_range(l->kernel->exprs, l->scalars[i], &least, &most);
        if (most < l->least) return false;
    }
    return true;
}

/* Whether data decide where it loads. */
static bool is_picked(const weft_inst *inst)
{
    return inst->op == WEFT_SCALAR_load && inst->arg_count != 0;
}

/* Whether a kernel that data decide about reads each row, too: lanes across rows would jump through it. */
static bool picks_by_row(const weft_kernel *kernel)
{
    bool picks = false, reads = false;
    for (uint32_t i = 0; i < kernel->inst_count && kernel->range_count > 0; i++) {
        const weft_inst *inst = &kernel->insts[i];
        picks |= is_picked(inst);
        reads |= inst->op == WEFT_SCALAR_load && !is_picked(inst) &&
                 weft_expr_uses(kernel->exprs, inst->index, kernel->ranges[0].variable);
    }
    return picks && reads;
}

/* ---- the kernel for these values ---- */

/* Expressions of a kernel in another context, in which some scalars have other ranges. */
typedef struct narrowing {
    const weft_expr_context *from;
    weft_expr_context *to;
    const lanes *lanes;
    weft_expr narrow[WEFT_SPECIAL_SCALARS];
} narrowing;

static bool put_expr(const narrowing *n, weft_expr *expr)
{
    if (*expr == WEFT_EXPR_NONE) return true;
    *expr = weft_expr_import_with(n->to, n->from, *expr, n->lanes->count, n->lanes->scalars, n->narrow);
    return *expr != WEFT_EXPR_NONE;
}

/* Those of a clone, which nothing else has. */
static bool put_exprs(const narrowing *n, uint32_t count, const weft_expr *exprs)
{
    uint32_t i = 0;
    while (i < count && put_expr(n, (weft_expr *)(uintptr_t)&exprs[i])) i++;
    return i == count;
}

static bool put_ranges(const narrowing *n, uint32_t count, weft_range *ranges)
{
    uint32_t i = 0;
    while (i < count && put_expr(n, &ranges[i].extent) && put_expr(n, &ranges[i].variable)) i++;
    return i == count;
}

static bool put_stage(const narrowing *n, weft_kernel *kernel, weft_stage *stage)
{
    bool done = put_ranges(n, stage->range_count, stage->ranges);
    for (uint32_t i = 0; i < stage->inst_count && done; i++) {
        weft_inst *inst = &kernel->insts[stage->inst_first + i];
        done = put_expr(n, &inst->index) && put_expr(n, &inst->position) &&
               put_exprs(n, inst->predicate_count, inst->predicates);
    }
    for (uint32_t i = 0; i < stage->store_count && done; i++) {
        weft_store *store = &stage->stores[i];
        done = put_expr(n, &store->index) && put_exprs(n, store->predicate_count, store->predicates);
    }
    return done;
}

/* All scalars in their order, by which they are given. */
static bool put_scalars(narrowing *n)
{
    for (size_t i = 0; i < weft_expr_context_symbol_count(n->from); i++) {
        weft_expr symbol = weft_expr_context_symbol(n->from, i);
        size_t number = 0;
        int64_t min, max;
        if (weft_expr_bound(n->from, symbol) != WEFT_EXPR_NONE) continue;
        while (number < n->lanes->count && n->lanes->scalars[number] != symbol) number++;
        bool is_narrow = number < n->lanes->count;
        weft_expr_range(n->from, symbol, &min, &max);
        if (is_narrow && max > n->lanes->most) max = n->lanes->most;
        if (is_narrow && min < n->lanes->least) min = n->lanes->least;
        weft_expr put = weft_expr_symbol(n->to, weft_expr_name(n->from, symbol), min, max);
        if (put == WEFT_EXPR_NONE) return false;
        if (is_narrow) n->narrow[number] = put;
    }
    return true;
}

/* Outer ranges that have one point now are none: iterations keep their numbers. */
static void drop_ranges(weft_kernel *kernel)
{
    uint32_t count = 0;
    int64_t extent;
    for (uint32_t i = 0; i < kernel->range_count; i++) {
        const weft_range *range = &kernel->ranges[i];
        bool is_one = weft_expr_is_constant(kernel->exprs, range->extent, &extent) && extent == 1;
        if (!is_one || range->bind == WEFT_BIND_LANE) kernel->ranges[count++] = *range;
    }
    kernel->range_count = count;
}

static bool fits(const weft_kernel *kernel, const weft_range *range)
{
    int64_t least, most;
    weft_expr_range(kernel->exprs, range->extent, &least, &most);
    return range->bind != WEFT_BIND_LANE || most <= range->width;
}

/* Whether every row of lanes is a vector, and there is a range of rows. */
static bool has_short_rows(const weft_kernel *kernel)
{
    bool all = true;
    uint32_t ranges = kernel->range_count;
    for (uint32_t i = 0; i < kernel->range_count; i++) all &= fits(kernel, &kernel->ranges[i]);
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        ranges += kernel->stages[s].range_count;
        for (uint32_t i = 0; i < kernel->stages[s].range_count; i++) all &= fits(kernel, &kernel->stages[s].ranges[i]);
    }
    return all && ranges > 1;
}

/* Whether the lanes of a kernel that only goes through short rows load one by one, since data decide where. */
static bool jumps_along_rows(const weft_kernel *kernel)
{
    const weft_stage *stage = &kernel->stages[0];
    bool jumps = false, is_ordered = false;
    if (kernel->range_count != 2 || kernel->stage_count != 1 || stage->range_count != 0) return false;
    if (kernel->ranges[0].bind != WEFT_BIND_THREAD || kernel->ranges[1].bind != WEFT_BIND_LANE) return false;
    for (uint32_t i = 0; i < stage->inst_count; i++) jumps |= is_picked(&kernel->insts[stage->inst_first + i]);
    for (uint32_t i = 0; i < stage->store_count; i++) is_ordered |= stage->stores[i].is_indirect;
    return jumps && !is_ordered && !weft_expr_uses(kernel->exprs, kernel->ranges[1].extent, kernel->ranges[0].variable);
}

static weft_status *narrow(weft_kernel *kernel, const lanes *l, bool *out_done)
{
    narrowing n = {.from = kernel->exprs, .lanes = l};
    WEFT_TRY(weft_expr_context_create(kernel->arena.allocator, &n.to));
    bool done = put_scalars(&n) && put_ranges(&n, kernel->range_count, kernel->ranges);
    for (uint32_t s = 0; s < kernel->stage_count && done; s++) done = put_stage(&n, kernel, &kernel->stages[s]);
    weft_status *status = weft_expr_context_take_out_of_memory(n.to);
    weft_expr_context_destroy(kernel->exprs);
    kernel->exprs = n.to;
    *out_done = done && status == NULL;
    if (*out_done) drop_ranges(kernel);
    return status;
}

static size_t number_of(const weft_kernel *kernel, weft_expr scalar)
{
    const char *name = weft_expr_name(kernel->exprs, scalar);
    size_t i = 0;
    while (strcmp(weft_kernel_scalar_name(kernel, i), name) != 0) i++;
    return i;
}

/* `out_special` has no kernel where that would be no better, as `is_better` says. */
static weft_status *find(const lanes *l, bool (*is_better)(const weft_kernel *kernel), weft_special_kernel *out_special)
{
    weft_kernel *clone;
    bool done;
    WEFT_TRY(weft_kernel_clone(l->kernel, &clone));
    weft_status *status = narrow(clone, l, &done);
    if (status != NULL || !done || !is_better(clone)) {
        weft_kernel_destroy(clone);
        return status;
    }
    *out_special = (weft_special_kernel){.kernel = clone, .count = l->count, .least = l->least, .most = l->most};
    for (size_t i = 0; i < l->count; i++) out_special->scalars[i] = number_of(l->kernel, l->scalars[i]);
    return NULL;
}

/* Lanes go across rows, and each of them along its row. */
static weft_status *turn_lanes(weft_special_kernel *special)
{
    enum { VECTORS = 2 };
    weft_kernel *kernel = special->kernel;
    weft_range *rows = &kernel->ranges[0], *row = weft_arena_allocate(&kernel->arena, sizeof *row);
    if (row == NULL) {
        weft_kernel_destroy(kernel);
        special->kernel = NULL;
        return weft_status_out_of_memory();
    }
    *row = kernel->ranges[1];
    rows->bind = WEFT_BIND_LANE;
    rows->width = row->width;
    rows->unroll = VECTORS;
    row->bind = WEFT_BIND_SERIAL;
    row->width = row->unroll = 1;
    kernel->stages[0].ranges = row;
    kernel->stages[0].range_count = kernel->range_count = 1;
    return NULL;
}

static bool has_long_periods(const weft_kernel *kernel)
{
    return find_divisors(kernel).count == 0;
}

weft_status *weft_kernel_find_special(const weft_kernel *kernel, weft_special_kernel *out_special)
{
    lanes rows = find_lanes(kernel), divisors = find_divisors(kernel);
    if (picks_by_row(kernel)) rows.most /= 2;
    *out_special = (weft_special_kernel){.kernel = NULL};
    if (may_be_short(&rows)) WEFT_TRY(find(&rows, has_short_rows, out_special));
    out_special->has_rows_in_lanes = out_special->kernel != NULL && jumps_along_rows(out_special->kernel);
    if (out_special->has_rows_in_lanes) return turn_lanes(out_special);
    if (out_special->kernel != NULL || !may_be_long(&divisors)) return NULL;
    return find(&divisors, has_long_periods, out_special);
}
