/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include "lib/schedule/ranges.h"
#include "lib/schedule/transform.h"
#include <string.h>

/*
 * What a repeat or a tile reads is at i / 3 or i mod 3: lanes that follow each other have no common step. But after
 * every 3 vectors their places come again. So the last range is cut into periods of whole vectors, and the range inside
 * of a period is the lanes': all of its lanes are constants there, and so is where each of them is in a few vectors
 * that are loaded. What the last period leaves is a second stage. Longer periods are ranges of their own, along which
 * each vector has a step again.
 */

/* Vectors of a period that is not one of the addresses itself. */
#define MOST_VECTORS 8
/* Instructions: those of all vectors of a period are emitted, and with many the loads matter little. */
#define MOST_INSTRUCTIONS 20
/* Instructions up to which all vectors of a period are computed together, and half of them beyond. */
#define SMALL_BODY 6
/* Periods beyond that are left alone. */
#define LONGEST 4096
/* Steps that are short enough for lanes to be near each other. */
#define MOST_APART 4

typedef struct cycle {
    weft_kernel *kernel;
    weft_expr along; /* variable of the last range */
    int64_t width, period;
    int64_t jump;   /* the period after which there are longer steps; 0: none */
    bool is_uneven; /* some vectors of one period lie across its end */
} cycle;

static int64_t common_multiple(int64_t a, int64_t b)
{
    return a / weft_expr_gcd(a, b) * b;
}

/* A quotient or remainder, of which the address has `factor`. Its steps are short, or are those from one period to the
 * next. */
static bool add_period(cycle *c, weft_expr e, int64_t factor)
{
    weft_expr_context *x = c->kernel->exprs;
    weft_expr b = weft_expr_operand(x, e, 1), step, rest;
    int64_t divisor;
    if (!weft_expr_is_constant(x, b, &divisor) || divisor < 2 || divisor > LONGEST) return false;
    if (!weft_expr_affine(x, weft_expr_operand(x, e, 0), c->along, &step, &rest)) return false;
    c->period = common_multiple(c->period, divisor);
    c->is_uneven |= c->width % divisor != 0 && divisor % c->width != 0;
    if (factor < -MOST_APART || factor > MOST_APART) {
        bool is_whole = step == weft_expr_constant(x, 1) && weft_expr_mod(x, rest, b) == weft_expr_constant(x, 0);
        if (weft_expr_kind_of(x, e) != WEFT_EXPR_DIV || !is_whole) return false;
        if (c->jump != 0 && c->jump != divisor) return false;
        c->jump = divisor;
    }
    return c->period <= LONGEST;
}

/* Adds the periods of an address; false where its lanes are not near each other. */
static bool add_periods(cycle *c, weft_expr e, int64_t factor)
{
    weft_expr_context *x = c->kernel->exprs;
    weft_expr_kind kind = weft_expr_kind_of(x, e);
    bool is_near = factor >= -MOST_APART && factor <= MOST_APART;
    if (!weft_expr_uses(x, e, c->along)) return true;
    if (e == c->along) return is_near;
    if (kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD) return add_period(c, e, factor);
    if (kind != WEFT_EXPR_SUM) return false;
    for (size_t i = 0; i < weft_expr_arity(x, e); i++)
        if (!add_periods(c, weft_expr_operand(x, e, i), weft_expr_coefficient_of(x, e, i))) return false;
    return true;
}

/* Whether the kernel stores along its last range and nothing but the places that it reads is periodic. */
static bool find_period(cycle *c)
{
    const weft_kernel *kernel = c->kernel;
    const weft_stage *stage = &kernel->stages[0];
    weft_expr step, rest, one = weft_expr_constant(kernel->exprs, 1);
    if (kernel->stage_count != 1 || stage->range_count != 0 || stage->accumulator_count != 0) return false;
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        if (store->is_indirect || store->predicate_count != 0) return false;
        if (!weft_expr_affine(kernel->exprs, store->index, c->along, &step, &rest) || step != one) return false;
    }
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->index != WEFT_EXPR_NONE && !add_periods(c, inst->index, 1)) return false;
        for (uint32_t k = 0; k < inst->predicate_count; k++)
            if (weft_expr_uses(kernel->exprs, inst->predicates[k], c->along)) return false;
    }
    return c->is_uneven;
}

/* Elements of a period as it is cut: whole vectors, or one of the addresses. */
static int64_t length_of(const cycle *c)
{
    int64_t vectors = common_multiple(c->period, c->width);
    bool is_short = c->period < c->width || vectors <= MOST_VECTORS * c->width;
    return is_short && c->jump == 0 ? vectors : c->period;
}

/* The stage again, with `value` for the last range's variable and these inner ranges. */
static weft_status *add_stage(cycle *c, weft_inst_list *list, weft_expr value, uint32_t count, const weft_range *ranges,
                              weft_stage *out_stage)
{
    weft_stage_draft draft = weft_stage_draft_all(c->kernel);
    weft_substitution s = {{c->along}, {value}, 1};
    weft_range *copy = weft_arena_copy(&c->kernel->arena, ranges, count * sizeof *copy);
    if (draft.insts == NULL || copy == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_stage_draft_finish(c->kernel, &draft, &s, list, out_stage));
    out_stage->range_count = count;
    out_stage->ranges = copy;
    return NULL;
}

static weft_range range_of(weft_kernel *kernel, weft_expr extent)
{
    return (weft_range){.variable = weft_kernel_fresh_variable(kernel, extent),
                        .extent = extent,
                        .virtual_lanes = 1,
                        .width = 1,
                        .unroll = 1};
}

/* The lanes of a period of whole vectors, in two rounds at most, so that they are constants. */
static void bind_lanes(const cycle *c, weft_range *range, int64_t length)
{
    int64_t vectors = length / c->width, least = c->kernel->inst_count <= SMALL_BODY ? vectors : (vectors + 1) / 2;
    range->bind = WEFT_BIND_LANE;
    range->width = (uint32_t)c->width;
    while (range->unroll < least) range->unroll *= 2;
}

/* Moves the last range into the stage, cut into periods, and the rest of it into another one. */
static weft_status *cut_periods(cycle *c, int64_t length)
{
    weft_kernel *kernel = c->kernel;
    weft_expr_context *x = kernel->exprs;
    weft_inst_list list = {.arena = &kernel->arena};
    weft_stage *stages = weft_arena_allocate(&kernel->arena, 2 * sizeof *stages);
    if (stages == NULL) return weft_status_out_of_memory();
    c->along = kernel->ranges[kernel->range_count - 1].variable;
    weft_expr extent = kernel->ranges[kernel->range_count - 1].extent, size = weft_expr_constant(x, length);
    weft_expr count = weft_expr_div(x, extent, size), left = weft_expr_mod(x, extent, size);
    weft_range ranges[2] = {range_of(kernel, count), range_of(kernel, size)}, rest = range_of(kernel, left);
    if (length % c->width == 0 && length / c->width <= WEFT_MAX_UNROLL) bind_lanes(c, &ranges[1], length);
    weft_expr start = weft_expr_mul(x, ranges[0].variable, size), end = weft_expr_mul(x, count, size);
    WEFT_TRY(add_stage(c, &list, weft_expr_add(x, start, ranges[1].variable), 2, ranges, &stages[0]));
    bool has_rest = left != weft_expr_constant(x, 0);
    if (has_rest) WEFT_TRY(add_stage(c, &list, weft_expr_add(x, end, rest.variable), 1, &rest, &stages[1]));
    kernel->range_count--;
    kernel->insts = list.items;
    kernel->inst_count = list.count;
    kernel->stages = stages;
    kernel->stage_count = has_rest ? 2 : 1;
    return NULL;
}

weft_status *weft_kernel_cut_periods(weft_kernel *kernel, uint32_t width, int64_t tile, bool *out_cut)
{
    *out_cut = false;
    if (kernel->range_count == 0) return NULL;
    uint32_t last = kernel->range_count - 1;
    cycle c = {.kernel = kernel, .along = kernel->ranges[last].variable, .width = width, .period = 1};
    int64_t least, most;
    weft_expr_range(kernel->exprs, kernel->ranges[last].extent, &least, &most);
    if (!find_period(&c)) return NULL;
    int64_t length = length_of(&c);
    if (most < length || (c.jump != 0 && c.jump != length)) return NULL;
    if (kernel->inst_count > MOST_INSTRUCTIONS) return NULL;
    *out_cut = true;
    WEFT_TRY(weft_kernel_split(kernel, last, tile < length ? length : tile / length * length));
    return cut_periods(&c, length);
}
