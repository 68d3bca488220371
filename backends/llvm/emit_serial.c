/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges without lanes: point by point, a few points at a time where they scatter, blocks where rows are turned. */
#include "backends/llvm/emit_nest.h"

void weft_nest_count(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef start, LLVMValueRef end,
                     int64_t step)
{
    weft_count_open(e, n->ranges[i].variable, start);
    weft_nest_emit(e, n, i + 1);
    weft_count_close(e, end, weft_int(e, step));
}

/* Whether points of the stage are single elements that are stored where data say. */
static bool scatters(const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (stage->stores[i].is_indirect) return true;
    return false;
}

/* A few points in turn. A processor foretells by the address of a load's instruction which store it waits for: a point
 * that finds what one shortly before it has stored would make all points wait for the one before. Spans begin at
 * multiples of them: at 0, or where a block of a reduction does. */
static void emit_scatter(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s)
{
    enum { POINTS = 4 };
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef limit = LLVMBuildAnd(e->builder, s->end, weft_int(e, -POINTS), "");
    weft_guard_open(e, is_less(e, s->begin, limit), false);
    LLVMValueRef at = weft_count_open(e, WEFT_EXPR_NONE, s->begin);
    for (int64_t k = 0; k < POINTS; k++) {
        weft_scope_move(e, weft_scope_top(e));
        weft_once_open(e, n->ranges[i].variable, LLVMBuildAdd(e->builder, at, weft_int(e, k), ""));
        weft_nest_emit(e, n, i + 1);
        weft_once_close(e);
    }
    weft_count_close(e, limit, weft_int(e, POINTS));
    weft_guard_close(e);
    weft_scope_move(e, weft_scope_top(e));
    weft_guard_open(e, is_less(e, limit, s->end), false);
    weft_nest_count(e, n, i, limit, s->end, 1);
    weft_guard_close(e);
}

/* A point of a block that was turned, number `row` of it. */
static void emit_turned_point(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef row)
{
    e->turned_row = row;
    weft_nest_emit(e, n, i + 1);
    e->turned_row = NULL;
}

/* The points from `at`, where a block begins, to `end`. */
static void emit_turned_part(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef at, LLVMValueRef end)
{
    LLVMValueRef point = weft_count_open(e, n->ranges[i].variable, at);
    weft_scope_move(e, weft_scope_top(e));
    emit_turned_point(e, n, i, LLVMBuildSub(e->builder, point, at, ""));
    weft_count_close(e, end, weft_int(e, 1));
}

/* A whole block from `at` on: where little is computed, its points in turn, which need no loop. */
static void emit_turned_block(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef at, uint32_t points)
{
    enum { LITTLE = 8 };
    weft_expr variable = n->ranges[i].variable;
    bool is_little = n->stage->inst_count <= LITTLE;
    LLVMValueRef end = LLVMBuildAdd(e->builder, at, weft_int(e, points), "");
    weft_once_open(e, variable, at);
    weft_turned_read(e, n->stage, NULL);
    weft_once_close(e);
    for (uint32_t k = 0; k < points && is_little; k++) {
        weft_scope_move(e, weft_scope_top(e));
        weft_once_open(e, variable, LLVMBuildAdd(e->builder, at, weft_int(e, k), ""));
        emit_turned_point(e, n, i, weft_int(e, k));
        weft_once_close(e);
    }
    if (!is_little) emit_turned_part(e, n, i, at, end);
}

/* Block by block; spans begin with one. The last one is part of one: read under a mask, or else point by point. */
static void emit_turned(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s, uint32_t points,
                        bool masked)
{
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef limit = LLVMBuildAnd(e->builder, s->end, weft_int(e, -(int64_t)points), "");
    weft_guard_open(e, is_less(e, s->begin, limit), false);
    LLVMValueRef at = weft_count_open(e, WEFT_EXPR_NONE, s->begin);
    weft_scope_move(e, weft_scope_top(e));
    emit_turned_block(e, n, i, at, points);
    weft_count_close(e, limit, weft_int(e, points));
    weft_guard_close(e);
    if (weft_expr_divisor(e->exprs, n->ranges[i].extent) % points == 0) return;
    weft_guard_open(e, is_less(e, limit, s->end), false);
    if (masked) {
        weft_once_open(e, n->ranges[i].variable, limit);
        weft_turned_read(e, n->stage, LLVMBuildSub(e->builder, s->end, limit, ""));
        weft_once_close(e);
        emit_turned_part(e, n, i, limit, s->end);
    } else {
        weft_nest_count(e, n, i, limit, s->end, 1);
    }
    weft_guard_close(e);
}

void weft_serial_emit(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s)
{
    const weft_range *range = &n->ranges[i];
    bool masked, is_inner = n->stage != NULL && i + 1 == n->count && n->virtual_lane == NULL;
    uint32_t points = is_inner && s->most > 1 ? weft_turned_points(e, n->stage, range, &masked) : 0;
    if (points != 0) {
        emit_turned(e, n, i, s, points, masked);
        return;
    }
    if (n->virtual_lane != NULL && i + 1 == n->count) {
        weft_scope_move(e, weft_scope_top(e));
        LLVMValueRef start = LLVMBuildAdd(e->builder, n->virtual_lane, s->begin, "");
        weft_guard_open(e, is_less(e, start, s->end), false);
        weft_nest_count(e, n, i, start, s->end, range->virtual_lanes);
        weft_guard_close(e);
    } else if (s->most == 1 && is_at_least(e, range->extent, 1)) {
        weft_once_open(e, range->variable, s->begin);
        weft_nest_emit(e, n, i + 1);
        weft_once_close(e);
    } else if (n->stage != NULL && i + 1 == n->count && !e->gpu && scatters(n->stage)) {
        emit_scatter(e, n, i, s);
    } else {
        weft_nest_count(e, n, i, s->begin, s->end, 1);
    }
}
