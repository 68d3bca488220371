/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <string.h>

/*
 * Accumulators live in values that loops carry, one vector for each slot and part. Where a loop would have to choose
 * among them by number they move to rows of memory: in the masked tail of a reduction along lanes, and for virtual
 * lanes that are not on vectors, which run one after the other, each over its own elements.
 */

enum {
    LONG_COLUMN = 32, /* elements; less, as windows have, is not worth the code */
    WAITING_PARTS = 4 /* vectors of columns that wait for each other */
};

/* What a row of memory holds. */
static LLVMTypeRef row_type(const weft_emitter *e, weft_dtype dtype)
{
    return weft_vector_type(weft_memory_type(e, dtype), e->reduction.width);
}

const weft_accumulator *weft_reduce_accumulator(const weft_emitter *e, uint32_t i)
{
    return &e->kernel->accumulators[e->reduction.stage->accumulator_first + i];
}

typedef void (*slot_visit)(weft_emitter *e, uint32_t slot, weft_dtype dtype, uint64_t init);

static void for_each_slot(weft_emitter *e, slot_visit visit)
{
    uint32_t slot = 0;
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        for (uint32_t c = 0; c < accumulator->width; c++)
            visit(e, slot++, accumulator->dtypes[c], accumulator->init[c]);
    }
}

LLVMValueRef *weft_reduce_carried(weft_emitter *e, uint32_t slot, uint32_t part)
{
    return &e->carried[slot * e->reduction.parts + part];
}

/* ---- start ---- */

static void start_slot(weft_emitter *e, uint32_t slot, weft_dtype dtype, uint64_t init)
{
    LLVMValueRef value = weft_splat(e, weft_constant_emit(e, dtype, init), e->reduction.width);
    for (uint32_t part = 0; part < e->reduction.parts; part++) *weft_reduce_carried(e, slot, part) = value;
    e->carried_count += e->reduction.parts;
}

void weft_reduce_start(weft_emitter *e, const weft_stage *stage, uint32_t width, uint32_t parts, bool along_lanes)
{
    LLVMValueRef *memory = e->reduction.memory, *running = e->reduction.running;
    e->reduction = (weft_reduce_state){.stage = stage,
                                       .width = width,
                                       .parts = parts,
                                       .along_lanes = along_lanes,
                                       .memory = memory,
                                       .running = running};
    e->reduction.scans = weft_stage_scans(e->kernel, stage);
    if (e->reduction.scans && !along_lanes) e->reduction.levels = weft_scan_levels(stage);
    weft_reduce_restart(e);
}

void weft_reduce_restart(weft_emitter *e)
{
    e->carried_count = 0;
    for_each_slot(e, start_slot);
    size_t slots = e->carried_count;
    for (uint32_t level = 0; level < e->reduction.levels; level++, e->carried_count += slots)
        memcpy(&e->carried[e->carried_count], e->carried, slots * sizeof *e->carried);
}

/* ---- rows of memory ---- */

static LLVMValueRef row_address(weft_emitter *e, uint32_t slot, weft_dtype dtype, LLVMValueRef row)
{
    return LLVMBuildGEP2(e->builder, row_type(e, dtype), e->reduction.memory[slot], &row, 1, "");
}

static LLVMValueRef load_row(weft_emitter *e, uint32_t slot, weft_dtype dtype, LLVMValueRef row)
{
    LLVMValueRef loaded = LLVMBuildLoad2(e->builder, row_type(e, dtype), row_address(e, slot, dtype, row), "");
    return weft_from_memory(e, dtype, loaded);
}

static void store_row(weft_emitter *e, uint32_t slot, weft_dtype dtype, LLVMValueRef row, LLVMValueRef value)
{
    LLVMBuildStore(e->builder, weft_to_memory(e, dtype, value), row_address(e, slot, dtype, row));
}

static void create_rows(weft_emitter *e, uint32_t slot, weft_dtype dtype, uint64_t init)
{
    (void)init;
    e->reduction.memory[slot] = weft_local_create(e, row_type(e, dtype), e->reduction.rows);
}

void weft_reduce_rows(weft_emitter *e, uint32_t rows)
{
    e->reduction.rows = rows * e->reduction.parts;
    for_each_slot(e, create_rows);
    weft_scope_move(e, weft_scope_top(e));
}

/* The row of a part within the group of rows `group`. */
static LLVMValueRef part_row(weft_emitter *e, LLVMValueRef group, uint32_t part)
{
    LLVMValueRef first = LLVMBuildMul(e->builder, group, weft_int(e, e->reduction.parts), "");
    return LLVMBuildAdd(e->builder, first, weft_int(e, part), "");
}

static void keep_slot(weft_emitter *e, uint32_t slot, weft_dtype dtype, uint64_t init)
{
    (void)init;
    for (uint32_t part = 0; part < e->reduction.parts; part++)
        store_row(e, slot, dtype, part_row(e, e->reduction.row, part), *weft_reduce_carried(e, slot, part));
}

static void fetch_slot(weft_emitter *e, uint32_t slot, weft_dtype dtype, uint64_t init)
{
    (void)init;
    for (uint32_t part = 0; part < e->reduction.parts; part++)
        *weft_reduce_carried(e, slot, part) = load_row(e, slot, dtype, part_row(e, e->reduction.row, part));
    e->carried_count += e->reduction.parts;
}

void weft_reduce_keep(weft_emitter *e, LLVMValueRef group)
{
    weft_scope_move(e, weft_scope_top(e));
    e->reduction.row = group;
    for_each_slot(e, keep_slot);
    e->reduction.row = NULL;
    e->carried_count = 0;
}

void weft_reduce_fetch(weft_emitter *e, LLVMValueRef group)
{
    weft_scope_move(e, weft_scope_top(e));
    e->reduction.row = group;
    e->carried_count = 0;
    for_each_slot(e, fetch_slot);
    e->reduction.row = NULL;
}

/* ---- combining ---- */

/* What an accumulator is combined with: that of other elements, or the next one, which may be known to be no NaN; of an
 * extremum the accumulator is known to be none. */
typedef enum taken { OTHERS, NEXT, NEXT_NUMBER } taken;

bool weft_reduce_is_extremum(const weft_accumulator *accumulator)
{
    const weft_combiner *step = weft_accumulator_step(accumulator);
    const weft_inst *last = &step->insts[step->count - 1];
    bool compares = last->op == WEFT_SCALAR_max || last->op == WEFT_SCALAR_min;
    return step->count == 3 && compares && weft_dtype_info_of(last->dtype)->kind == WEFT_KIND_FLOAT;
}

/* Whether an instruction of the step asks if the element is NaN. */
static bool asks_for_nan(const weft_accumulator *accumulator, const weft_inst *inst)
{
    const weft_inst *insts = weft_accumulator_step(accumulator)->insts;
    if (inst->op != WEFT_SCALAR_ne || inst->args[0] != inst->args[1]) return false;
    const weft_inst *of = &insts[inst->args[0]];
    return of->op == WEFT_SCALAR_param && of->number >= accumulator->width;
}

/* Applies the step to the values of the next element, or the combine block to the accumulator of other elements, in
 * `right`. `out` may be `left`. */
static void combine(weft_emitter *e, const weft_accumulator *accumulator, uint32_t width, const LLVMValueRef *left,
                    const LLVMValueRef *right, taken what, LLVMValueRef *out)
{
    LLVMValueRef results[WEFT_MAX_COMPONENTS];
    bool next = what != OTHERS;
    const weft_combiner *combiner = next ? weft_accumulator_step(accumulator) : &accumulator->combine;
    for (uint32_t i = 0; i < combiner->count; i++) {
        const weft_inst *inst = &combiner->insts[i];
        if (inst->op == WEFT_SCALAR_param) {
            bool is_left = inst->number < accumulator->width;
            e->block[i] = is_left ? left[inst->number] : right[inst->number - accumulator->width];
        } else if (inst->op == WEFT_SCALAR_const) {
            e->block[i] = weft_splat(e, weft_constant_emit(e, inst->dtype, inst->bits), width);
        } else if ((next && inst->op == WEFT_SCALAR_earlier) ||
                   (what == NEXT_NUMBER && asks_for_nan(accumulator, inst))) {
            e->block[i] = weft_splat(e, weft_constant_emit(e, WEFT_BOOL, false), width);
        } else if (what == NEXT_NUMBER && weft_reduce_is_extremum(accumulator)) {
            e->block[i] = weft_extremum_of_numbers(e, inst->op == WEFT_SCALAR_max, e->block[inst->args[0]],
                                                   e->block[inst->args[1]]);
        } else if (inst->arg_count == 0) {
            e->block[i] = weft_scalar_emit(e, inst, inst->dtype, NULL);
        } else {
            LLVMValueRef args[3];
            for (uint32_t k = 0; k < inst->arg_count; k++) args[k] = e->block[inst->args[k]];
            e->block[i] = weft_scalar_emit(e, inst, combiner->insts[inst->args[inst->arg_count - 1]].dtype, args);
        }
    }
    for (uint32_t c = 0; c < accumulator->width; c++) results[c] = e->block[combiner->outcomes[c]];
    memcpy(out, results, accumulator->width * sizeof *out);
}

void weft_reduce_combine(weft_emitter *e, const weft_accumulator *accumulator, bool numbers, const LLVMValueRef *left,
                         const LLVMValueRef *right, LLVMValueRef *out)
{
    combine(e, accumulator, e->reduction.width, left, right, numbers ? NEXT_NUMBER : OTHERS, out);
}

/* The accumulator of one part takes in the current point, in registers or in its row. */
static void combine_part(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot, uint32_t part)
{
    const weft_reduce_state *reduction = &e->reduction;
    LLVMValueRef left[WEFT_MAX_COMPONENTS], right[WEFT_MAX_COMPONENTS], out[WEFT_MAX_COMPONENTS];
    LLVMValueRef mask = reduction->along_lanes ? weft_lane_mask(e, part) : NULL;
    for (uint32_t v = 0; v < accumulator->value_count; v++)
        right[v] = weft_value_part(e, &e->values[accumulator->values[v]], part, reduction->width > 1);
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t c = 0; c < accumulator->width; c++)
        left[c] = reduction->row != NULL ? load_row(e, slot + c, accumulator->dtypes[c], reduction->row)
                                         : *weft_reduce_carried(e, slot + c, part);
    combine(e, accumulator, reduction->width, left, right, NEXT, out);
    for (uint32_t c = 0; c < accumulator->width; c++) {
        if (mask != NULL) out[c] = LLVMBuildSelect(e->builder, mask, out[c], left[c], "");
        if (reduction->row != NULL) store_row(e, slot + c, accumulator->dtypes[c], reduction->row, out[c]);
        else *weft_reduce_carried(e, slot + c, part) = out[c];
    }
}

/* Whether the accumulator is an extremum along rows of several rounds, or of long columns, and its few vectors wait for
 * each other: it takes longest to ask for each of them if the accumulator is NaN. */
static bool waits_for_nan(const weft_emitter *e, const weft_accumulator *accumulator)
{
    const weft_reduce_state *reduction = &e->reduction;
    const weft_stage *stage = reduction->stage;
    int64_t least, most, few = 2 * (int64_t)reduction->width * reduction->parts;
    if (!weft_reduce_is_extremum(accumulator) || stage->range_count == 0) return false;
    if (!reduction->along_lanes && reduction->parts > WAITING_PARTS) return false;
    weft_expr_range(e->exprs, stage->ranges[stage->range_count - 1].extent, &least, &most);
    return most >= (reduction->along_lanes ? few : LONG_COLUMN);
}

/* Whether the step asks if elements are NaN, no mask leaves one out, and their accumulators are in registers. */
static bool asks_of_round(const weft_emitter *e, const weft_accumulator *accumulator)
{
    const weft_combiner *step = weft_accumulator_step(accumulator);
    bool asks = false;
    if (e->gpu || e->lane.variable == WEFT_EXPR_NONE || e->reduction.row != NULL) return false;
    if (e->reduction.along_lanes && e->lane.mask != NULL) return false;
    if (!weft_emitter_has(e, WEFT_ISA_V4) || e->reduction.width == 1) return false;
    for (uint32_t i = 0; i < step->count; i++) asks |= asks_for_nan(accumulator, &step->insts[i]);
    asks |= waits_for_nan(e, accumulator);
    return asks && accumulator->value_count == accumulator->width;
}

typedef LLVMValueRef components[WEFT_MAX_COMPONENTS];

/* Whether there is a NaN among the elements of a round; of an extremum, which takes in one as it comes, among the
 * accumulators. Two vectors are asked at once. */
static LLVMValueRef any_nan(weft_emitter *e, bool extremum, components *accumulators, components *elements,
                            uint32_t parts)
{
    components *asked = extremum ? accumulators : elements;
    LLVMValueRef any = NULL;
    for (uint32_t part = 0; part < parts; part += 2) {
        LLVMValueRef one = asked[part][0], other = asked[part + 1 < parts ? part + 1 : part][0];
        LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, one, other, "");
        any = any == NULL ? is_nan : LLVMBuildOr(e->builder, any, is_nan, "");
    }
    return weft_any_lane(e, any);
}

/* `count` accumulators from number `first` on take in elements of which few are NaN, in all parts: a branch where one
 * is, so that there is one comparison for others. More than one are extrema, with one component each. */
static void combine_round(weft_emitter *e, uint32_t first, uint32_t count, uint32_t slot, uint32_t parts)
{
    components left[WEFT_MAX_PARTS], right[WEFT_MAX_PARTS], numbers[WEFT_MAX_PARTS], all[WEFT_MAX_PARTS];
    const weft_accumulator *accumulators[WEFT_MAX_PARTS] = {weft_reduce_accumulator(e, first)};
    uint32_t level = weft_scope_top(e), width = e->reduction.width;
    weft_detour detour;
    for (uint32_t i = 0; i < count * parts; i++) {
        accumulators[i] = weft_reduce_accumulator(e, first + i / parts);
        for (uint32_t c = 0; c < accumulators[i]->width; c++) {
            left[i][c] = *weft_reduce_carried(e, slot + i / parts + c, i % parts);
            right[i][c] = weft_value_part(e, &e->values[accumulators[i]->values[c]], i % parts, true);
        }
    }
    weft_scope_move(e, level);
    LLVMValueRef any = any_nan(e, weft_reduce_is_extremum(accumulators[0]), left, right, count * parts);
    for (uint32_t i = 0; i < count * parts; i++)
        combine(e, accumulators[i], width, left[i], right[i], NEXT_NUMBER, numbers[i]);
    weft_detour_open(e, level, any, &detour);
    for (uint32_t i = 0; i < count * parts; i++) combine(e, accumulators[i], width, left[i], right[i], NEXT, all[i]);
    weft_detour_close(e, level, &detour);
    for (uint32_t i = 0; i < count * parts; i++) {
        weft_detour_merge(e, &detour, accumulators[i]->width, all[i], numbers[i]);
        for (uint32_t c = 0; c < accumulators[i]->width; c++)
            *weft_reduce_carried(e, slot + i / parts + c, i % parts) = numbers[i][c];
    }
}

/* How many accumulators from number `first` on, of one dtype, are asked at once: extrema of columns. */
static uint32_t count_asked(const weft_emitter *e, uint32_t first, uint32_t parts)
{
    const weft_accumulator *accumulator = weft_reduce_accumulator(e, first);
    uint32_t count = 1, all = e->reduction.stage->accumulator_count;
    if (e->reduction.along_lanes || !weft_reduce_is_extremum(accumulator)) return 1;
    for (; first + count < all && (count + 1) * parts <= WEFT_MAX_PARTS; count++) {
        const weft_accumulator *next = weft_reduce_accumulator(e, first + count);
        bool joins =
            weft_reduce_is_extremum(next) && next->dtypes[0] == accumulator->dtypes[0] && asks_of_round(e, next);
        if (!joins) break;
    }
    return count;
}

void weft_reduce_point(weft_emitter *e)
{
    uint32_t slot = 0, parts = e->lane.variable == WEFT_EXPR_NONE ? 1 : e->lane.parts;
    bool in_tree = e->reduction.scans && (e->reduction.along_lanes || e->reduction.levels != 0);
    for (uint32_t a = 0, count; a < e->reduction.stage->accumulator_count; a += count) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        bool rounds = !in_tree && asks_of_round(e, accumulator);
        count = rounds ? count_asked(e, a, parts) : 1;
        if (in_tree) weft_scan_point(e, accumulator, slot);
        if (rounds) combine_round(e, a, count, slot, parts);
        for (uint32_t part = 0; part < parts && !rounds && !in_tree; part++) combine_part(e, accumulator, slot, part);
        slot += count * accumulator->width;
    }
    if (e->reduction.scans) weft_scan_look(e, in_tree);
}

/* ---- blocks ---- */

const LLVMValueRef *weft_reduce_copy(weft_emitter *e)
{
    size_t size = (e->carried_count + 1) * sizeof *e->carried;
    LLVMValueRef *copy = weft_arena_copy(&e->arena, e->carried, size);
    if (copy != NULL) return copy;
    weft_emitter_fail(e, weft_status_out_of_memory());
    return e->carried;
}

void weft_reduce_join(weft_emitter *e, const LLVMValueRef *copy)
{
    uint32_t slot = 0, parts = e->reduction.parts;
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        for (uint32_t part = 0; part < parts; part++) {
            LLVMValueRef left[WEFT_MAX_COMPONENTS], right[WEFT_MAX_COMPONENTS];
            for (uint32_t c = 0; c < accumulator->width; c++) {
                left[c] = copy[(slot + c) * parts + part];
                right[c] = *weft_reduce_carried(e, slot + c, part);
            }
            combine(e, accumulator, e->reduction.width, left, right, OTHERS, left);
            for (uint32_t c = 0; c < accumulator->width; c++) *weft_reduce_carried(e, slot + c, part) = left[c];
        }
        slot += accumulator->width;
    }
}

void weft_reduce_choose(weft_emitter *e, LLVMValueRef condition, const LLVMValueRef *copy)
{
    weft_scope_move(e, weft_scope_top(e));
    for (size_t i = 0; i < e->carried_count; i++)
        e->carried[i] = LLVMBuildSelect(e->builder, condition, e->carried[i], copy[i], "");
}

/* ---- what accumulators are while they grow ---- */

void weft_reduce_running(weft_emitter *e, uint32_t accumulator, uint32_t component, weft_emitted *value)
{
    uint32_t slot = component;
    for (uint32_t a = e->reduction.stage->accumulator_first; a < accumulator; a++)
        slot += e->kernel->accumulators[a].width;
    value->varying = e->lane.variable != WEFT_EXPR_NONE;
    for (uint32_t part = 0; part < (value->varying ? e->lane.parts : 1); part++)
        value->parts[part] = e->reduction.running[slot * e->reduction.parts + part];
}

/* ---- from lanes to one ---- */

static LLVMValueRef half(weft_emitter *e, LLVMValueRef vector, uint32_t width, bool upper)
{
    if (width == 1) return weft_element(e, vector, 2, upper);
    LLVMValueRef order = weft_lane_steps(e->i32, width, 1);
    if (upper) order = LLVMBuildAdd(e->builder, order, weft_int_like(LLVMTypeOf(order), width), "");
    return LLVMBuildShuffleVector(e->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)), order, "");
}

/* Part i takes in part i + count / 2, for all components. */
static void halve_parts(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot, uint32_t count, taken what)
{
    for (uint32_t part = 0; part < count / 2; part++) {
        LLVMValueRef left[WEFT_MAX_COMPONENTS], right[WEFT_MAX_COMPONENTS], out[WEFT_MAX_COMPONENTS];
        for (uint32_t c = 0; c < accumulator->width; c++) {
            left[c] = *weft_reduce_carried(e, slot + c, part);
            right[c] = *weft_reduce_carried(e, slot + c, part + count / 2);
        }
        combine(e, accumulator, e->reduction.width, left, right, what, out);
        for (uint32_t c = 0; c < accumulator->width; c++) *weft_reduce_carried(e, slot + c, part) = out[c];
    }
}

static void halve_vector(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot, uint32_t width,
                         taken what)
{
    LLVMValueRef left[WEFT_MAX_COMPONENTS], right[WEFT_MAX_COMPONENTS], out[WEFT_MAX_COMPONENTS];
    for (uint32_t c = 0; c < accumulator->width; c++) {
        left[c] = half(e, *weft_reduce_carried(e, slot + c, 0), width / 2, false);
        right[c] = half(e, *weft_reduce_carried(e, slot + c, 0), width / 2, true);
    }
    combine(e, accumulator, width / 2, left, right, what, out);
    for (uint32_t c = 0; c < accumulator->width; c++) *weft_reduce_carried(e, slot + c, 0) = out[c];
}

/* Whether bools are combined by nothing but `and` or `or`, which *out_op then is: one comparison serves all lanes. */
static bool is_truth(const weft_accumulator *accumulator, weft_scalar_op *out_op)
{
    const weft_combiner *block = &accumulator->combine;
    *out_op = block->insts[block->count - 1].op;
    bool is_plain = accumulator->width == 1 && accumulator->dtypes[0] == WEFT_BOOL && block->count == 3;
    return is_plain && (*out_op == WEFT_SCALAR_and || *out_op == WEFT_SCALAR_or);
}

bool weft_reduce_decides(const weft_emitter *e)
{
    bool decides = e->reduction.along_lanes;
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        weft_scalar_op op;
        decides &= is_truth(accumulator, &op) && accumulator->step.count == 0;
    }
    return decides;
}

bool weft_reduce_is_undecided(weft_emitter *e)
{
    LLVMValueRef init = weft_constant_emit(e, WEFT_BOOL, weft_reduce_accumulator(e, 0)->init[0]);
    bool undecided = e->reduction.stage->accumulator_count == 1;
    for (uint32_t part = 0; part < e->reduction.parts && undecided; part++)
        undecided = *weft_reduce_carried(e, 0, part) == weft_splat(e, init, e->reduction.width);
    return undecided;
}

LLVMValueRef weft_reduce_decided(weft_emitter *e)
{
    LLVMValueRef decided = NULL;
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        weft_scalar_op op = weft_reduce_accumulator(e, a)->combine.insts[2].op;
        LLVMValueRef all = *weft_reduce_carried(e, a, 0);
        for (uint32_t part = 1; part < e->reduction.parts; part++)
            all = (op == WEFT_SCALAR_or ? LLVMBuildOr : LLVMBuildAnd)(e->builder, all, *weft_reduce_carried(e, a, part),
                                                                      "");
        LLVMValueRef known =
            op == WEFT_SCALAR_or ? weft_any_lane(e, all) : LLVMBuildNot(e->builder, weft_all_lanes(e, all), "");
        decided = decided == NULL ? known : LLVMBuildAnd(e->builder, decided, known, "");
    }
    return decided;
}

static void halve(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot, taken what)
{
    for (uint32_t count = e->reduction.parts; count > 1; count /= 2) halve_parts(e, accumulator, slot, count, what);
    for (uint32_t width = e->reduction.width; width > 1; width /= 2) halve_vector(e, accumulator, slot, width, what);
}

/* An extremum, of whose lanes few are NaN: a branch where one is, so that a half takes in the other by one instruction
 * where none is. */
static void halve_numbers(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot)
{
    uint32_t level = weft_scope_top(e), parts = e->reduction.parts;
    LLVMValueRef *first = weft_reduce_carried(e, slot, 0), lanes[WEFT_MAX_PARTS], number, any = NULL;
    weft_detour detour;
    memcpy(lanes, first, parts * sizeof *lanes);
    for (uint32_t part = 0; part < parts; part += 2) {
        LLVMValueRef other = lanes[part + 1 < parts ? part + 1 : part];
        LLVMValueRef is_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, lanes[part], other, "");
        any = any == NULL ? is_nan : LLVMBuildOr(e->builder, any, is_nan, "");
    }
    halve(e, accumulator, slot, NEXT_NUMBER);
    number = *first;
    memcpy(first, lanes, parts * sizeof *lanes);
    weft_detour_open(e, level, weft_any_lane(e, any), &detour);
    halve(e, accumulator, slot, OTHERS);
    weft_detour_close(e, level, &detour);
    weft_detour_merge(e, &detour, 1, first, &number);
    *first = number;
}

static void reduce_lanes(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot)
{
    weft_scalar_op op;
    LLVMValueRef *value = weft_reduce_carried(e, slot, 0);
    bool asks = weft_emitter_has(e, WEFT_ISA_V4) && e->reduction.width > 1 && accumulator->step.count == 0 &&
                weft_reduce_is_extremum(accumulator);
    if (asks) {
        halve_numbers(e, accumulator, slot);
    } else if (e->reduction.width > 1 && is_truth(accumulator, &op)) {
        for (uint32_t count = e->reduction.parts; count > 1; count /= 2)
            halve_parts(e, accumulator, slot, count, OTHERS);
        *value = (op == WEFT_SCALAR_or ? weft_any_lane : weft_all_lanes)(e, *value);
    } else {
        halve(e, accumulator, slot, OTHERS);
    }
}

/* Of a scan all lanes carry the same. */
static void one_of_lanes(weft_emitter *e, const weft_accumulator *accumulator, uint32_t slot)
{
    for (uint32_t c = 0; c < accumulator->width && e->reduction.width > 1; c++) {
        LLVMValueRef *value = weft_reduce_carried(e, slot + c, 0);
        *value = weft_element(e, *value, e->reduction.width, 0);
    }
}

void weft_reduce_fold(weft_emitter *e, uint32_t lanes)
{
    uint32_t slot = 0;
    LLVMValueRef count = weft_count_open(e, WEFT_EXPR_NONE, weft_int(e, 1));
    /* Lane t goes into t without its highest bit, for t = lanes - 1 down to 1: the tree by halves, level by level. */
    LLVMValueRef lane = LLVMBuildSub(e->builder, weft_int(e, lanes), count, "");
    LLVMValueRef args[2] = {lane, LLVMConstInt(e->i1, 1, false)};
    LLVMValueRef leading = weft_intrinsic_call(e, "llvm.ctlz", 1, &e->i64, 2, args);
    LLVMValueRef highest = LLVMBuildLShr(e->builder, weft_int(e, INT64_MIN), leading, "");
    LLVMValueRef target = LLVMBuildXor(e->builder, lane, highest, "");
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        for (uint32_t part = 0; part < e->reduction.parts; part++) {
            LLVMValueRef left[WEFT_MAX_COMPONENTS], right[WEFT_MAX_COMPONENTS];
            for (uint32_t c = 0; c < accumulator->width; c++) {
                left[c] = load_row(e, slot + c, accumulator->dtypes[c], part_row(e, target, part));
                right[c] = load_row(e, slot + c, accumulator->dtypes[c], part_row(e, lane, part));
            }
            combine(e, accumulator, e->reduction.width, left, right, OTHERS, left);
            for (uint32_t c = 0; c < accumulator->width; c++)
                store_row(e, slot + c, accumulator->dtypes[c], part_row(e, target, part), left[c]);
        }
        slot += accumulator->width;
    }
    weft_count_close(e, weft_int(e, lanes), weft_int(e, 1));
    weft_reduce_fetch(e, weft_int(e, 0));
}

void weft_reduce_finish(weft_emitter *e)
{
    uint32_t slot = 0;
    weft_scope_move(e, weft_scope_top(e));
    for (uint32_t a = 0; a < e->reduction.stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = weft_reduce_accumulator(e, a);
        uint32_t number = e->reduction.stage->accumulator_first + a;
        if (e->reduction.along_lanes && e->reduction.scans) one_of_lanes(e, accumulator, slot);
        else if (e->reduction.along_lanes) reduce_lanes(e, accumulator, slot);
        for (uint32_t c = 0; c < accumulator->width; c++) {
            weft_emitted *result = &e->results[(size_t)number * WEFT_MAX_COMPONENTS + c];
            *result = (weft_emitted){.level = weft_scope_top(e), .serial = e->scopes[weft_scope_top(e)].serial};
            result->varying = e->lane.variable != WEFT_EXPR_NONE;
            for (uint32_t part = 0; part < (result->varying ? e->lane.parts : 1); part++)
                result->parts[part] = *weft_reduce_carried(e, slot + c, part);
        }
        slot += accumulator->width;
    }
    e->carried_count = 0;
}
