/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <string.h>

/*
 * Scans. Virtual lanes on vectors: what is carried is one vector, all of whose lanes are what the groups before have.
 * One after the other: what is carried for each level of the tree is the lower half that the upper one takes in.
 */

uint32_t weft_scan_levels(const weft_stage *stage)
{
    uint32_t levels = 0, lanes = stage->range_count == 0 ? 1 : stage->ranges[stage->range_count - 1].virtual_lanes;
    while (lanes > 1u << levels) levels++;
    return levels;
}

static LLVMValueRef *running_at(const weft_emitter *e, uint32_t slot, uint32_t part)
{
    return &e->reduction.running[slot * e->reduction.parts + part];
}

/* ---- lanes on vectors ---- */

typedef LLVMValueRef components[WEFT_MAX_COMPONENTS];

/* In each lane with bit `half` the last lane of the lower half; in others those of `otherwise`. */
static LLVMValueRef lower_halves(weft_emitter *e, LLVMValueRef vector, LLVMValueRef otherwise, uint32_t half)
{
    LLVMValueRef from[WEFT_MAX_WIDTH];
    uint32_t width = e->reduction.width;
    for (uint32_t i = 0; i < width; i++) {
        uint32_t last = (i & ~(2 * half - 1)) + half - 1;
        from[i] = LLVMConstInt(e->i32, (i & half) != 0 ? last : width + i, false);
    }
    return LLVMBuildShuffleVector(e->builder, vector, otherwise, LLVMConstVector(from, width), "");
}

static LLVMValueRef upper_lanes(const weft_emitter *e, uint32_t half)
{
    LLVMValueRef bits[WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < e->reduction.width; i++) bits[i] = LLVMConstInt(e->i1, (i & half) != 0, false);
    return LLVMConstVector(bits, e->reduction.width);
}

/* A vector, of numbers alone or not. Lower halves take in init, which takes no blend. It leaves them as they are except
 * for the sign of a zero, and what is carried begins with +0 then; where it does not, they are picked. */
static void scan_vector(weft_emitter *e, const weft_accumulator *accumulator, bool numbers, LLVMValueRef *values)
{
    uint32_t width = e->reduction.width;
    bool is_neutral = weft_accumulator_init_is_neutral(accumulator);
    for (uint32_t half = 1; half < width; half *= 2) {
        components lower = {0}, both = {0};
        LLVMValueRef upper = upper_lanes(e, half);
        for (uint32_t c = 0; c < accumulator->width; c++) {
            LLVMValueRef init = weft_constant_emit(e, accumulator->dtypes[c], accumulator->init[c]);
            lower[c] = lower_halves(e, values[c], weft_splat(e, init, width), half);
        }
        weft_reduce_combine(e, accumulator, numbers, lower, values, both);
        for (uint32_t c = 0; c < accumulator->width; c++)
            values[c] = is_neutral ? both[c] : LLVMBuildSelect(e->builder, upper, both[c], values[c], "");
    }
}

/* The last lane, in all lanes. */
static void spread_last(weft_emitter *e, const weft_accumulator *accumulator, const LLVMValueRef *values,
                        LLVMValueRef *out)
{
    uint32_t width = e->reduction.width;
    for (uint32_t c = 0; c < accumulator->width; c++)
        out[c] = weft_splat(e, weft_element(e, values[c], width, width - 1), width);
}

/* A group: its vectors become what there is at each element, and what is carried comes after them. */
typedef struct group {
    components values[WEFT_MAX_PARTS + 1];
} group;

static void scan_group(weft_emitter *e, const weft_accumulator *accumulator, bool numbers, group *g)
{
    components last = {0}, carried;
    uint32_t parts = e->lane.parts;
    memcpy(carried, g->values[parts], sizeof carried);
    for (uint32_t part = 0; part < parts; part++) scan_vector(e, accumulator, numbers, g->values[part]);
    for (uint32_t half = 1; half < parts; half *= 2)
        for (uint32_t part = half; part < parts; part++) {
            if ((part & half) == 0) continue;
            spread_last(e, accumulator, g->values[(part & ~(2 * half - 1)) + half - 1], last);
            weft_reduce_combine(e, accumulator, numbers, last, g->values[part], g->values[part]);
        }
    spread_last(e, accumulator, g->values[parts - 1], g->values[parts]);
    for (uint32_t part = 0; part <= parts; part++)
        weft_reduce_combine(e, accumulator, numbers, carried, g->values[part], g->values[part]);
}

/* An extremum, whose elements are NaN where `any`: a branch there, so that others take one instruction. */
static void scan_numbers(weft_emitter *e, const weft_accumulator *accumulator, LLVMValueRef any, group *g)
{
    weft_detour detour;
    group all = *g;
    uint32_t level = weft_scope_top(e);
    scan_group(e, accumulator, true, g);
    weft_detour_open(e, level, any, &detour);
    scan_group(e, accumulator, false, &all);
    weft_detour_close(e, level, &detour);
    for (uint32_t part = 0; part <= e->lane.parts; part++)
        weft_detour_merge(e, &detour, accumulator->width, all.values[part], g->values[part]);
}

/* Whether a NaN is among the vectors, of a scan that asks for that once; NULL: it does not. */
static LLVMValueRef any_nan_in_group(weft_emitter *e, const weft_accumulator *accumulator, const group *g)
{
    LLVMValueRef any = NULL;
    bool asks = weft_reduce_is_extremum(accumulator) && weft_emitter_has(e, WEFT_ISA_V4) && e->lane.mask == NULL;
    for (uint32_t part = 0; part < e->lane.parts && asks && e->reduction.width > 1; part++) {
        LLVMValueRef carried = g->values[e->lane.parts][0];
        LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, g->values[part][0], carried, "");
        any = any == NULL ? is_nan : LLVMBuildOr(e->builder, any, is_nan, "");
    }
    return any == NULL ? NULL : weft_any_lane(e, any);
}

static void scan_lanes(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot)
{
    group g = {0};
    uint32_t parts = e->lane.parts;
    for (uint32_t part = 0; part < parts; part++)
        for (uint32_t c = 0; c < accumulator->width; c++)
            g.values[part][c] = weft_value_part(e, &e->values[accumulator->values[c]], part, e->reduction.width > 1);
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t c = 0; c < accumulator->width; c++) g.values[parts][c] = *weft_reduce_carried(e, slot + c, 0);
    LLVMValueRef any = any_nan_in_group(e, accumulator, &g);
    if (any == NULL) scan_group(e, accumulator, false, &g);
    else scan_numbers(e, accumulator, any, &g);
    for (uint32_t c = 0; c < accumulator->width; c++) {
        *weft_reduce_carried(e, slot + c, 0) = g.values[parts][c];
        for (uint32_t part = 0; part < parts; part++) *running_at(e, slot + c, part) = g.values[part][c];
    }
}

/* ---- lanes one after the other ---- */

/* Whether the position has that bit. */
static LLVMValueRef has_bit(weft_emitter *e, LLVMValueRef position, uint32_t bit)
{
    LLVMValueRef only = LLVMBuildAnd(e->builder, position, weft_int(e, bit), "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, only, weft_int(e, 0), "");
}

/* A part at a point: what is carried for a level is the latest value without its bit, which in the upper half is that
 * of all the lower one. */
static void scan_part(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot, uint32_t part,
                      LLVMValueRef position)
{
    components value = {0}, lower = {0}, both = {0};
    uint32_t width = e->reduction.width, slots = 0, levels = e->reduction.levels;
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) slots += weft_reduce_accumulator(e, a)->width;
    for (uint32_t c = 0; c < accumulator->width; c++)
        value[c] = weft_value_part(e, &e->values[accumulator->values[c]], part, width > 1);
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t first = (1 + level) * slots + slot;
        LLVMValueRef upper = has_bit(e, position, 1u << level);
        for (uint32_t c = 0; c < accumulator->width; c++) lower[c] = *weft_reduce_carried(e, first + c, part);
        weft_reduce_combine(e, accumulator, false, lower, value, both);
        for (uint32_t c = 0; c < accumulator->width; c++) {
            *weft_reduce_carried(e, first + c, part) = LLVMBuildSelect(e->builder, upper, lower[c], value[c], "");
            value[c] = LLVMBuildSelect(e->builder, upper, both[c], value[c], "");
        }
    }
    for (uint32_t c = 0; c < accumulator->width; c++) lower[c] = *weft_reduce_carried(e, slot + c, part);
    weft_reduce_combine(e, accumulator, false, lower, value, both);
    LLVMValueRef next = LLVMBuildAdd(e->builder, position, weft_int(e, 1), "");
    LLVMValueRef within = LLVMBuildAnd(e->builder, next, weft_int(e, (1 << levels) - 1), "");
    LLVMValueRef ends = LLVMBuildICmp(e->builder, LLVMIntEQ, within, weft_int(e, 0), "");
    for (uint32_t c = 0; c < accumulator->width; c++) {
        *running_at(e, slot + c, part) = both[c];
        *weft_reduce_carried(e, slot + c, part) = LLVMBuildSelect(e->builder, ends, both[c], lower[c], "");
    }
}

void weft_scan_point(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot)
{
    const weft_stage *stage = e->reduction.stage;
    if (e->reduction.along_lanes) {
        scan_lanes(e, accumulator, slot);
        return;
    }
    LLVMValueRef position = weft_index_emit(e, stage->ranges[0].variable, 0);
    uint32_t parts = e->lane.variable == WEFT_EXPR_NONE ? 1 : e->lane.parts;
    for (uint32_t part = 0; part < parts; part++) scan_part(e, accumulator, slot, part, position);
}

/* ---- blocks ---- */

void weft_scan_look(weft_emitter *e, bool in_tree)
{
    uint32_t slot = 0, parts = e->lane.variable == WEFT_EXPR_NONE ? 1 : e->lane.parts;
    const LLVMValueRef *before = e->reduction.before;
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        for (uint32_t part = 0; part < parts; part++) {
            components left = {0}, value = {0};
            for (uint32_t c = 0; c < accumulator->width; c++) {
                uint32_t carried = (slot + c) * e->reduction.parts + (e->reduction.along_lanes ? 0 : part);
                value[c] = in_tree ? *running_at(e, slot + c, part) : e->carried[carried];
                if (before != NULL) left[c] = before[carried];
            }
            if (before != NULL) weft_reduce_combine(e, accumulator, false, left, value, value);
            for (uint32_t c = 0; c < accumulator->width; c++) *running_at(e, slot + c, part) = value[c];
        }
        slot += accumulator->width;
    }
}
