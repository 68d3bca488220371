/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit_nest.h"
#include "lib/loop/inst.h"

static void emit_stages(weft_emitter *e);

static void emit_point(weft_emitter *e, const weft_stage *stage)
{
    if (e->lane.rows != 0) {
        weft_transposed_emit(e, stage);
        return;
    }
    bool waiting = stage->accumulator_count != 0;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count && e->error == NULL; i++) {
        bool runs = e->kernel->insts[i].op == WEFT_SCALAR_running;
        if (waiting && runs) weft_reduce_point(e);
        waiting &= !runs;
        weft_inst_emit(e, i);
    }
    if (e->error != NULL) return;
    if (waiting) weft_reduce_point(e);
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (!weft_rows_store(e, stage, &stage->stores[i])) weft_store_emit(e, &stage->stores[i]);
}

static bool is_at_most(weft_emitter *e, weft_expr expr, int64_t value)
{
    weft_expr most = weft_expr_constant(e->exprs, value);
    return weft_expr_always_nonnegative(e->exprs, weft_expr_sub(e->exprs, most, expr));
}

/* Opens a guard that all ranges of the nest whose extents are known here have points. */
static void open_points_guard(weft_emitter *e, const weft_nest *n)
{
    LLVMValueRef all = LLVMConstInt(e->i1, 1, false);
    for (uint32_t i = 0; i < n->count; i++) {
        bool known_here = true;
        for (uint32_t k = 0; k < i; k++)
            known_here &= !weft_expr_uses(e->exprs, n->ranges[i].extent, n->ranges[k].variable);
        if (!known_here || is_at_least(e, n->ranges[i].extent, 1)) continue;
        LLVMValueRef some = is_less(e, weft_int(e, 0), weft_index_emit(e, n->ranges[i].extent, 0));
        all = LLVMBuildAnd(e->builder, all, some, "");
    }
    weft_guard_open(e, all, true);
}

/* The guard of one range whose extent depends on others of its nest. */
static bool open_own_guard(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef extent)
{
    bool dependent = false;
    for (uint32_t k = 0; k < i; k++) dependent |= weft_expr_uses(e->exprs, n->ranges[i].extent, n->ranges[k].variable);
    if (!dependent || is_at_least(e, n->ranges[i].extent, 1)) return false;
    weft_guard_open(e, is_less(e, weft_int(e, 0), extent), true);
    return true;
}

/* ---- lane ranges ---- */

typedef struct pass {
    LLVMValueRef start, limit;
    uint32_t parts;
    uint32_t rows;       /* as in the lane state */
    LLVMValueRef latest; /* no vector begins later, the last one overlaps; or NULL */
    bool masked, once;
    bool any_length; /* a mask may leave nothing of the last part, and less than all of those before */
    bool in_memory;  /* accumulators */
} pass;

/* A counted loop in which the variable is at most `latest`. */
static void open_latest(weft_emitter *e, weft_expr variable, LLVMValueRef start, LLVMValueRef latest)
{
    LLVMValueRef at = weft_count_open(e, WEFT_EXPR_NONE, start), late = is_less(e, latest, at);
    weft_once_open(e, variable, LLVMBuildSelect(e->builder, late, latest, at, ""));
}

/* Whether [start, end) is all of a range. */
static bool is_whole_row(weft_emitter *e, weft_expr extent, LLVMValueRef start, LLVMValueRef end)
{
    bool is_first = LLVMIsAConstantInt(start) != NULL && LLVMConstIntGetZExtValue(start) == 0;
    return is_first && weft_index_emit(e, extent, 0) == end;
}

/* `first`: the first lane. The mask of a whole row is made where its length is known. */
static void mask_lanes(weft_emitter *e, const pass *p, weft_expr extent, LLVMValueRef first)
{
    bool is_row = p->once && is_whole_row(e, extent, first, p->limit);
    weft_scope_move(e, is_row ? weft_index_level(e, extent) : weft_scope_top(e));
    LLVMValueRef left = LLVMBuildSub(e->builder, p->limit, first, "");
    for (uint32_t part = 0; part + 1 < p->parts && p->any_length; part++) {
        LLVMValueRef before = weft_int(e, (int64_t)e->lane.width * part);
        e->lane.earlier[part] = weft_mask_below(e, LLVMBuildSub(e->builder, left, before, ""));
    }
    e->lane.left = LLVMBuildSub(e->builder, left, weft_int(e, (int64_t)e->lane.width * (p->parts - 1)), "");
    e->lane.mask = weft_mask_below(e, e->lane.left);
}

/* Whether the loop ends once nothing can change what it reduces: not a short one, whose end then could not be foreseen
 * by the processor. */
static bool ends_early(const weft_emitter *e, const weft_nest *n, const weft_range *range, const pass *p)
{
    enum { ROUNDS = 8 };
    int64_t least, most;
    if (p->once || n->stage == NULL || !range->reduce || p->in_memory || !weft_emitter_has(e, WEFT_ISA_V4))
        return false;
    if (!weft_reduce_decides(e)) return false;
    for (uint32_t i = 0; i < n->stage->inst_count; i++)
        if (weft_inst_has_effect(&e->kernel->insts[n->stage->inst_first + i])) return false;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    return n->stage->store_count == 0 && most >= ROUNDS * (int64_t)range->width * p->parts;
}

static void emit_pass(weft_emitter *e, const weft_nest *n, uint32_t i, const pass *p)
{
    const weft_range *range = &n->ranges[i];
    bool early = ends_early(e, n, range, p), undecided = early && weft_reduce_is_undecided(e);
    bool is_whole = !p->masked && p->rows == 0 && p->latest == NULL;
    bool paired = is_whole && weft_pairs_fit(e, n->stage, range, p->parts), moves = paired && range->reduce;
    if (p->in_memory) weft_reduce_keep(e, weft_int(e, 0));
    if (moves) weft_pairs_move(e, true);
    if (p->latest != NULL) open_latest(e, range->variable, p->start, p->latest);
    else if (p->once) weft_once_open(e, range->variable, p->start);
    else weft_count_open(e, range->variable, p->start);
    LLVMValueRef first = weft_index_emit(e, range->variable, 0);
    weft_scope_move(e, weft_scope_top(e));
    e->lane = (weft_lane_state){.variable = range->variable,
                                .level = weft_scope_top(e),
                                .width = range->width,
                                .parts = p->parts,
                                .paired = paired,
                                .rows = p->rows};
    if (p->masked) mask_lanes(e, p, range->extent, first);
    weft_scope_move(e, weft_scope_top(e));
    if (p->in_memory) {
        LLVMValueRef done = LLVMBuildSub(e->builder, first, p->start, "");
        e->reduction.row = LLVMBuildUDiv(e->builder, done, weft_int(e, range->width), "");
    }
    if (undecided) weft_reduce_restart(e);
    weft_nest_emit(e, n, i + 1);
    e->reduction.row = NULL;
    e->lane = (weft_lane_state){.variable = WEFT_EXPR_NONE};
    if (p->once || p->latest != NULL) weft_once_close(e);
    LLVMValueRef done = early ? weft_reduce_decided(e) : NULL;
    if (!p->once) weft_count_close_unless(e, p->limit, weft_int(e, (int64_t)range->width * p->parts), done);
    if (p->in_memory) weft_reduce_fetch(e, weft_int(e, 0));
    if (moves) weft_pairs_move(e, false);
}

/* The vectors of the next round of `left` elements. Around a reduction, whose every step takes longer for two rounds of
 * one vector than for one of two, they are filled by a mask where that takes no longer. */
static uint32_t next_parts(const weft_emitter *e, const weft_range *range, int64_t left)
{
    bool fills = e->kernel->accumulator_count > 0 && weft_emitter_has(e, WEFT_ISA_V4);
    int64_t parts = (fills ? left + range->width - 1 : left) / range->width;
    if (parts > range->unroll) parts = range->unroll;
    return parts == 0 ? 1 : (uint32_t)parts;
}

/* The main pass in two: of the rounds that a mask hides, the last ones, only what is in place of them is computed. */
static void emit_main_pass(weft_emitter *e, const weft_nest *n, uint32_t i, const pass *p)
{
    weft_expr seen = WEFT_EXPR_NONE;
    bool is_inner = n->stage != NULL && i + 1 == n->count && !p->once;
    const weft_inst *mask = is_inner ? weft_mask_find(e, n->stage, &n->ranges[i], &seen) : NULL;
    if (mask == NULL) {
        emit_pass(e, n, i, p);
        return;
    }
    pass shown = *p, hidden = *p;
    shown.limit = hidden.start = weft_mask_limit(e, &n->ranges[i], seen, p->start, p->limit);
    weft_guard_open(e, is_less(e, shown.start, shown.limit), false);
    e->shown = mask;
    emit_pass(e, n, i, &shown);
    e->shown = NULL;
    weft_guard_close(e);
    if (!weft_mask_leaves(e, n->stage, mask)) return;
    weft_guard_open(e, is_less(e, hidden.start, hidden.limit), false);
    e->hidden = mask;
    emit_pass(e, n, i, &hidden);
    e->hidden = NULL;
    weft_guard_close(e);
}

/* Whether the lanes are around inner loops, of many vectors a round: then two masked ones take little more than one. */
static bool is_around_loops(weft_emitter *e, const weft_nest *n, const weft_range *range)
{
    enum { MANY = 4 };
    return n->stage == NULL && e->kernel->accumulator_count > 0 && weft_emitter_has(e, WEFT_ISA_V4) &&
           range->unroll >= MANY && !is_at_most(e, range->extent, range->width);
}

/* Whether the lanes go along the iterations, some of their range. */
static bool goes_along_iterations(const weft_emitter *e, const weft_nest *n)
{
    return e->has_rows_in_lanes && n->stage == NULL;
}

/* A number that divides how many elements there are. */
static int64_t divisor_of(const weft_emitter *e, const weft_nest *n, const weft_range *range)
{
    return goes_along_iterations(e, n) ? 1 : weft_expr_divisor(e->exprs, range->extent);
}

/* Where whole rounds end. Spans of other ranges begin at a multiple of a round. */
static LLVMValueRef end_of_rounds(weft_emitter *e, const weft_nest *n, const weft_span *s, int64_t round)
{
    LLVMValueRef mask = weft_int(e, -round);
    if (!goes_along_iterations(e, n)) return LLVMBuildAnd(e->builder, s->end, mask, "");
    LLVMValueRef count = LLVMBuildSub(e->builder, s->end, s->begin, "");
    return LLVMBuildAdd(e->builder, s->begin, LLVMBuildAnd(e->builder, count, mask, ""), "");
}

/* The elements that the main pass leaves, vector by vector, the last one masked; of a reduction at once, if that takes
 * no longer. */
static void emit_tail_pass(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef start, LLVMValueRef end)
{
    const weft_range *range = &n->ranges[i];
    bool whole = divisor_of(e, n, range) % range->width == 0;
    bool short_range = is_at_most(e, range->extent, range->width);
    bool reduces = n->stage != NULL && n->stage->accumulator_count != 0, scans = reduces && e->reduction.scans;
    pass p = {start, end, 1, .masked = !whole && range->width > 1};
    LLVMValueRef left = LLVMBuildSub(e->builder, end, start, "");
    if (scans && !short_range && LLVMIsAConstantInt(left) == NULL) {
        /* All vectors at once, since a tree is over all of them. */
        p.masked = p.any_length = short_range = true;
        p.parts = range->unroll;
    } else if (LLVMIsAConstantInt(left) != NULL) {
        int64_t count = LLVMConstIntGetSExtValue(left);
        if (scans) p.parts = (uint32_t)((count + range->width - 1) / range->width);
        else if (reduces && weft_emitter_has(e, WEFT_ISA_V4)) p.parts = next_parts(e, range, count);
        short_range |= count <= (int64_t)range->width * p.parts;
    } else if (reduces && !short_range && p.masked && weft_mask_may_be_empty(e, n->stage, range)) {
        p.any_length = short_range = true;
        p.parts = range->unroll;
    } else if (p.masked && is_around_loops(e, n, range)) {
        p.any_length = true;
        p.parts = 2;
    }
    p.once = short_range || range->unroll == 1;
    p.in_memory = reduces && !p.once;
    bool some = is_whole_row(e, range->extent, start, end) && is_at_least(e, range->extent, 1);
    weft_guard_open(e, some ? LLVMConstInt(e->i1, 1, false) : is_less(e, start, end), false);
    emit_pass(e, n, i, &p);
    weft_guard_close(e);
}

/* A range of two rounds or less: no loop, every lane is a constant. */
static bool emit_short(weft_emitter *e, const weft_nest *n, uint32_t i)
{
    const weft_range *range = &n->ranges[i];
    int64_t extent, start = 0, width = range->width;
    bool reduces = n->stage != NULL && n->stage->accumulator_count != 0;
    if (reduces || !weft_expr_is_constant(e->exprs, range->extent, &extent)) return false;
    if (extent > 2 * width * range->unroll) return false;
    while (start < extent) {
        uint32_t parts = next_parts(e, range, extent - start);
        pass p = {weft_int(e, start), weft_int(e, extent), .parts = parts, .once = true};
        p.masked = width * parts > extent - start && width > 1;
        emit_pass(e, n, i, &p);
        start += width * p.parts;
    }
    return true;
}

/* Whether half of a round may be left, whose vectors two at a time would take as long as several rounds. */
static bool halves(weft_emitter *e, const weft_nest *n, const weft_range *range)
{
    enum { LEAST = 16 };
    int64_t extent;
    return range->unroll >= LEAST && is_around_loops(e, n, range) &&
           !weft_expr_is_constant(e->exprs, range->extent, &extent);
}

/* Half of a round, if so much is left from `start` on; returns where it ends. */
static LLVMValueRef emit_half(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef start, const weft_span *s)
{
    const weft_range *range = &n->ranges[i];
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef limit = end_of_rounds(e, n, s, (int64_t)range->width * range->unroll / 2);
    weft_guard_open(e, is_less(e, start, limit), false);
    emit_pass(e, n, i, &(pass){start, limit, range->unroll / 2, .once = true});
    weft_guard_close(e);
    return limit;
}

static void emit_lanes(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s)
{
    const weft_range *range = &n->ranges[i];
    int64_t round = (int64_t)range->width * range->unroll;
    const weft_stage *stage = n->stage != NULL ? n->stage : e->kernel->stages;
    bool is_alone = i + 1 == n->count && (n->stage != NULL || (e->kernel->stage_count == 1 && stage->range_count == 0));
    if (is_alone && weft_copy_emit(e, stage, range, s->begin, s->end)) return;
    bool needs_main = !is_at_most(e, range->extent, round - 1) && !is_at_most(e, range->extent, range->width);
    LLVMValueRef limit = s->begin;
    if (needs_main) {
        weft_scope_move(e, weft_scope_top(e));
        limit = end_of_rounds(e, n, s, round);
        bool once = LLVMIsAConstantInt(limit) != NULL && LLVMConstIntGetSExtValue(limit) == round;
        weft_guard_open(e, is_less(e, s->begin, limit), false);
        emit_main_pass(e, n, i, &(pass){s->begin, limit, range->unroll, .once = once});
        weft_guard_close(e);
    }
    bool needs_tail = !needs_main || divisor_of(e, n, range) % round != 0;
    if (needs_tail && halves(e, n, range)) {
        limit = emit_half(e, n, i, limit, s);
        needs_tail = divisor_of(e, n, range) % (round / 2) != 0;
    }
    if (needs_tail) emit_tail_pass(e, n, i, limit, s->end);
}

static bool runs_along_lanes(const weft_emitter *e, const weft_range *range)
{
    return range->bind == WEFT_BIND_LANE && !e->gpu;
}

/* ---- blocks ---- */

int64_t weft_block_size(const weft_range *range, int64_t most)
{
    int64_t size = 0, next = (int64_t)range->virtual_lanes * WEFT_ORDER_BLOCK;
    if (range->blocks > WEFT_BLOCKS_NESTED) return range->blocks < most ? range->blocks : 0;
    while (range->blocks != WEFT_BLOCKS_NONE && next < most) {
        size = next;
        if (__builtin_mul_overflow(size, WEFT_ORDER_BLOCK, &next)) next = INT64_MAX;
    }
    return size;
}

/* Restarts the accumulators from init, or lets them go on where not `afresh`; returns their values before. */
static const LLVMValueRef *open_part(weft_emitter *e, LLVMValueRef afresh)
{
    const LLVMValueRef *before = weft_reduce_copy(e);
    weft_reduce_restart(e);
    if (afresh != NULL) weft_reduce_choose(e, afresh, before);
    return before;
}

static void close_part(weft_emitter *e, LLVMValueRef joins, const LLVMValueRef *before)
{
    const LLVMValueRef *after = weft_reduce_copy(e);
    weft_reduce_join(e, before);
    if (joins != NULL) weft_reduce_choose(e, joins, after);
}

static bool is_init_neutral(const weft_emitter *e, const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->accumulator_count; i++)
        if (!weft_accumulator_init_is_neutral(&e->kernel->accumulators[stage->accumulator_first + i])) return false;
    return true;
}

/* Block by block, each a span of smaller blocks. What is there before the first one is init, or it goes on with that.
 */
static void emit_blocks(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s)
{
    const weft_range *range = &n->ranges[i];
    int64_t size = weft_block_size(range, s->most);
    if (size == 0) {
        if (runs_along_lanes(e, range)) emit_lanes(e, n, i, s);
        else weft_serial_emit(e, n, i, s);
        return;
    }
    weft_span block = {.begin = weft_count_open(e, WEFT_EXPR_NONE, s->begin), .most = size, .afresh = s->afresh};
    const LLVMValueRef *before = open_part(e, s->afresh);
    weft_scope_move(e, weft_scope_top(e));
    block.end = LLVMBuildAdd(e->builder, block.begin, weft_int(e, size), "");
    if (weft_expr_divisor(e->exprs, range->extent) % size != 0) {
        LLVMValueRef cut = LLVMBuildICmp(e->builder, LLVMIntSLT, s->end, block.end, "");
        block.end = LLVMBuildSelect(e->builder, cut, s->end, block.end, "");
    }
    if (e->reduction.scans) e->reduction.before = before;
    emit_blocks(e, n, i, &block);
    e->reduction.before = NULL;
    LLVMValueRef joins = is_init_neutral(e, n->stage) ? s->afresh : is_less(e, s->begin, block.begin);
    close_part(e, joins, before);
    weft_count_close(e, s->end, weft_int(e, size));
}

/* Elements of the smallest blocks, or all. */
static int64_t smallest_block(const weft_range *range, int64_t most)
{
    int64_t size = most, next;
    while ((next = weft_block_size(range, size)) != 0) size = next;
    return size;
}

/* Whether lanes along the range may be loaded one by one, which takes an instruction or more for each. */
static bool loads_singly(const weft_emitter *e, const weft_stage *stage, const weft_range *range)
{
    weft_expr coefficient, rest;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        if (inst->op != WEFT_SCALAR_load) continue;
        if (inst->arg_count != 0 || !weft_expr_affine(e->exprs, inst->index, range->variable, &coefficient, &rest))
            return true;
    }
    return false;
}

/* A range of unknown length, which may be no more than a block: then loops over blocks take longer than what they do
 * where that is little. */
static void emit_all(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s)
{
    enum { LITTLE = 16 };
    const weft_range *range = &n->ranges[i];
    int64_t block = smallest_block(range, s->most);
    bool is_long = block == s->most || is_at_least(e, range->extent, block + 1);
    if (is_long || n->stage->inst_count > LITTLE || loads_singly(e, n->stage, range)) {
        emit_blocks(e, n, i, s);
        return;
    }
    LLVMValueRef is_longer = is_less(e, weft_int(e, block), s->end);
    weft_guard_open(e, LLVMBuildNot(e->builder, is_longer, ""), false);
    emit_blocks(e, n, i, &(weft_span){s->begin, s->end, block, s->afresh});
    weft_guard_close(e);
    weft_guard_open(e, is_longer, false);
    emit_blocks(e, n, i, s);
    weft_guard_close(e);
}

/* A range inside another reduced one: a short one, of one block at most, goes on with the accumulators as they are. */
static void emit_run(weft_emitter *e, const weft_nest *n, uint32_t i, weft_span *s)
{
    int64_t most = (int64_t)n->ranges[i].virtual_lanes * WEFT_ORDER_SHORT;
    if (!is_at_least(e, n->ranges[i].extent, most + 1)) s->afresh = is_less(e, weft_int(e, most), s->end);
    const LLVMValueRef *before = open_part(e, s->afresh);
    emit_blocks(e, n, i, s);
    close_part(e, s->afresh, before);
}

static void emit_range(weft_emitter *e, const weft_nest *n, uint32_t i)
{
    const weft_range *range = &n->ranges[i];
    if (goes_along_iterations(e, n)) {
        emit_lanes(e, n, i, &(weft_span){.begin = e->first_row, .end = e->end_row});
        return;
    }
    if (runs_along_lanes(e, range) && emit_short(e, n, i)) return;
    int64_t least;
    weft_span whole = {.begin = weft_int(e, 0), .end = weft_index_emit(e, range->extent, 0)};
    weft_expr_range(e->exprs, range->extent, &least, &whole.most);
    bool guarded = open_own_guard(e, n, i, whole.end);
    bool inside =
        range->blocks && i > 0 && !is_at_most(e, range->extent, (int64_t)range->virtual_lanes * WEFT_ORDER_SHORT);
    if (inside) emit_run(e, n, i, &whole);
    else emit_all(e, n, i, &whole);
    if (guarded) weft_guard_close(e);
}

/* ---- transpositions ---- */

/* Blocks of `rows` rows and a vector of lanes: the last ones overlap those before, where they are not whole.
 * `is_short`: of a vector that a mask may leave part of. */
static void emit_whole_blocks(weft_emitter *e, const weft_nest *n, uint32_t i, uint32_t rows, bool is_short)
{
    const weft_range *row = &n->ranges[i], *lane = row + 1;
    bool whole = weft_expr_divisor(e->exprs, row->extent) % rows == 0;
    LLVMValueRef zero = weft_int(e, 0), row_end = weft_index_emit(e, row->extent, 0);
    pass p = {.start = zero, .limit = weft_index_emit(e, lane->extent, 0), .parts = 1, .rows = rows};
    p.masked = p.once = is_short;
    weft_scope_move(e, weft_scope_top(e));
    if (!is_short && weft_expr_divisor(e->exprs, lane->extent) % lane->width != 0)
        p.latest = LLVMBuildSub(e->builder, p.limit, weft_int(e, lane->width), "");
    if (whole) weft_count_open(e, row->variable, zero);
    else open_latest(e, row->variable, zero, LLVMBuildSub(e->builder, row_end, weft_int(e, rows), ""));
    emit_pass(e, n, i + 1, &p);
    if (!whole) weft_once_close(e);
    weft_count_close(e, row_end, weft_int(e, rows));
}

/* Whether no row, whose length is a scalar, is longer than a vector, part of which a mask may leave. Not the last tiles
 * of longer ones. */
static bool are_short(weft_emitter *e, const weft_nest *n, const weft_range *lane)
{
    return is_at_most(e, lane->extent, lane->width) && !is_at_least(e, lane->extent, lane->width) &&
           weft_index_level(e, lane->extent) == 0 && weft_transposed_takes_masks(e, n->stage);
}

/* Blocks where there is one at least, or a good part of one under a mask; element by element where rows or lanes are
 * fewer. */
static void emit_row_blocks(weft_emitter *e, const weft_nest *n, uint32_t i, uint32_t rows)
{
    enum { GOOD_PART = 4 };
    const weft_range *row = &n->ranges[i], *lane = row + 1;
    bool is_short = are_short(e, n, lane);
    int64_t least = is_short ? lane->width / GOOD_PART : lane->width;
    LLVMValueRef row_end = weft_index_emit(e, row->extent, 0), lane_end = weft_index_emit(e, lane->extent, 0);
    LLVMValueRef few_rows = is_less(e, row_end, weft_int(e, rows));
    LLVMValueRef few_lanes = is_less(e, lane_end, weft_int(e, least));
    LLVMValueRef few = LLVMBuildOr(e->builder, few_rows, few_lanes, "");
    weft_guard_open(e, LLVMBuildNot(e->builder, few, ""), false);
    emit_whole_blocks(e, n, i, rows, is_short);
    weft_guard_close(e);
    if (is_at_least(e, row->extent, rows) && is_at_least(e, lane->extent, least)) return;
    weft_guard_open(e, few, false);
    weft_count_open(e, row->variable, weft_int(e, 0));
    weft_nest_count(e, n, i + 1, weft_int(e, 0), lane_end, 1);
    weft_count_close(e, row_end, weft_int(e, 1));
    weft_guard_close(e);
}

/* ---- nests ---- */

void weft_nest_emit(weft_emitter *e, const weft_nest *n, uint32_t i)
{
    if (e->error != NULL) return;
    uint32_t rows = n->stage != NULL && i + 2 == n->count ? weft_transposed_rows(e, n->stage) : 0;
    if (rows != 0) {
        emit_row_blocks(e, n, i, rows);
    } else if (i < n->count) {
        emit_range(e, n, i);
    } else if (n->stage != NULL) {
        emit_point(e, n->stage);
    } else {
        emit_stages(e);
    }
}

static void emit_nest(weft_emitter *e, const weft_nest *n)
{
    open_points_guard(e, n);
    weft_nest_emit(e, n, 0);
    weft_guard_close(e);
}

/* Virtual lanes that no vector holds: one after the other. */
static void emit_virtual_lanes(weft_emitter *e, weft_nest *n, uint32_t lanes)
{
    weft_reduce_rows(e, lanes);
    e->carried_count = 0;
    LLVMValueRef lane = n->virtual_lane = weft_count_open(e, WEFT_EXPR_NONE, weft_int(e, 0));
    weft_reduce_restart(e);
    emit_nest(e, n);
    weft_reduce_keep(e, lane);
    weft_count_close(e, weft_int(e, lanes), weft_int(e, 1));
    weft_reduce_fold(e, lanes);
}

static void emit_reduction(weft_emitter *e, weft_nest *n)
{
    const weft_range *last = n->count == 0 ? NULL : &n->ranges[n->count - 1];
    bool along = last != NULL && runs_along_lanes(e, last);
    bool outer = e->lane.variable != WEFT_EXPR_NONE;
    uint32_t width = along ? last->width : outer ? e->lane.width : 1;
    uint32_t parts = along ? last->unroll : outer ? e->lane.parts : 1;
    weft_reduce_start(e, n->stage, width, parts, along);
    if (last != NULL && last->virtual_lanes > 1 && !along && !e->reduction.scans) {
        emit_virtual_lanes(e, n, last->virtual_lanes);
    } else {
        if (along && parts > 1 && !e->reduction.scans) weft_reduce_rows(e, 1);
        emit_nest(e, n);
    }
    weft_reduce_finish(e);
}

static void emit_stages(weft_emitter *e)
{
    e->stages_level = weft_scope_top(e);
    for (uint32_t s = 0; s < e->kernel->stage_count && e->error == NULL; s++) {
        const weft_stage *stage = &e->kernel->stages[s];
        e->stage = stage;
        weft_nest n = {stage->ranges, stage->range_count, stage, NULL};
        if (stage->accumulator_count != 0) emit_reduction(e, &n);
        else if (stage->range_count == 0) emit_point(e, stage);
        else emit_nest(e, &n);
    }
}

static bool is_threaded(const weft_range *range)
{
    return range->bind == WEFT_BIND_THREAD || range->bind == WEFT_BIND_GRID;
}

uint32_t weft_threaded_count(const weft_emitter *e)
{
    uint32_t count = 0;
    while (count < e->kernel->range_count && is_threaded(&e->kernel->ranges[count])) count++;
    return count;
}

void weft_ranges_emit(weft_emitter *e)
{
    uint32_t threaded = weft_threaded_count(e);
    const weft_kernel *kernel = e->kernel;
    weft_nest n = {kernel->range_count > 0 ? kernel->ranges + threaded : NULL, kernel->range_count - threaded, NULL,
                   NULL};
    emit_nest(e, &n);
}
