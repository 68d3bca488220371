/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches around what is seldom needed: the second operands of `rarely`s. Code for all vectors of a round, most of it
 * twice as long as these in f64, would take longer to compile than all the rest; so it is a loop over pieces that
 * registers hold, whose operands and results lie in the stack frame.
 */
#include "backends/llvm/emit.h"
#include <string.h>
#include "lib/loop/inst.h"

/* `rarely`s in a row with one condition share a branch. */
typedef struct rare_group {
    weft_inst_id first;
    uint32_t count, level;
    bool varying;
} rare_group;

/* Those whose operands come before the first one; all go where the last of them can. */
static rare_group group_from(weft_emitter *e, weft_inst_id first)
{
    const weft_inst *insts = e->kernel->insts;
    rare_group group = {.first = first};
    for (weft_inst_id id = first; id < e->kernel->inst_count; id++) {
        const weft_inst *inst = &insts[id];
        bool joins = inst->op == WEFT_SCALAR_rarely && inst->args[0] == insts[first].args[0] && e->common[id] != 0;
        if (!joins || inst->args[1] >= first || inst->args[2] >= first) break;
        weft_emitted place = weft_inst_place(e, inst);
        if (place.level > group.level) group.level = place.level;
        group.varying |= place.varying;
        group.count++;
    }
    return group;
}

static void emit_tree(weft_emitter *e, weft_inst_id id)
{
    const weft_inst *inst = &e->kernel->insts[id];
    if (e->common[id] != 0 || e->values[id].serial != 0) return;
    for (uint32_t i = 0; i < inst->arg_count; i++) emit_tree(e, inst->args[i]);
    weft_inst_emit_now(e, id);
}

/* Whether the condition holds in any lane that is valid. */
static LLVMValueRef any_valid(weft_emitter *e, const rare_group *group, weft_inst_id condition)
{
    uint32_t parts = group->varying ? e->lane.parts : 1;
    LLVMValueRef any = NULL;
    for (uint32_t part = 0; part < parts; part++) {
        LLVMValueRef holds = weft_value_part(e, &e->values[condition], part, group->varying);
        LLVMValueRef mask = group->varying ? weft_lane_mask(e, part) : NULL;
        weft_scope_move(e, group->level);
        if (mask != NULL) holds = LLVMBuildAnd(e->builder, holds, mask, "");
        any = any == NULL ? holds : LLVMBuildOr(e->builder, any, holds, "");
    }
    return weft_any_lane(e, any);
}

/* What the branch gave where it was run, and the third operand where it was not. */
static void join_rarely(weft_emitter *e, const rare_group *group, const weft_detour *detour, weft_inst_id id)
{
    weft_emitted *value = &e->values[id], *usual = &e->values[e->kernel->insts[id].args[2]];
    LLVMValueRef joined[WEFT_MAX_PARTS];
    uint32_t parts = group->varying ? e->lane.parts : 1;
    for (uint32_t part = 0; part < parts; part++) joined[part] = weft_value_part(e, usual, part, group->varying);
    weft_scope_move(e, group->level);
    weft_detour_merge(e, detour, parts, value->parts, joined);
    memcpy(value->parts, joined, parts * sizeof *joined);
}

/* ---- a loop over pieces ---- */

enum { MOST_INPUTS = 8 };

/* An operand from before the branch, or a result; all parts, one after the other. */
typedef struct rare_place {
    weft_inst_id id;
    weft_emitted outside; /* the value with all parts */
    LLVMValueRef memory;
} rare_place;

/* What the branch leads to. */
typedef struct rare_tree {
    uint32_t count, bytes; /* instructions; the longest element */
    bool fits;             /* it can be computed piece by piece */
    uint32_t input_count;
    rare_place inputs[MOST_INPUTS]; /* those that vary */
} rare_tree;

static void add_input(weft_emitter *e, weft_inst_id id, rare_tree *tree)
{
    if (!e->values[id].varying) return;
    if (tree->input_count == MOST_INPUTS) tree->fits = false;
    else tree->inputs[tree->input_count++].id = id;
}

static void survey(weft_emitter *e, weft_inst_id id, rare_tree *tree)
{
    const weft_inst *inst = &e->kernel->insts[id];
    if (e->surveyed[id] == e->branches) return;
    e->surveyed[id] = e->branches;
    const weft_dtype_info *info = weft_dtype_info_of(inst->dtype);
    if (info->kind == WEFT_KIND_COMPLEX || inst->op == WEFT_SCALAR_result) tree->fits = false;
    if (info->size > tree->bytes) tree->bytes = (uint32_t)info->size;
    if (e->common[id] != 0) add_input(e, id, tree);
    else if (inst->op != WEFT_SCALAR_const) tree->count++;
    for (uint32_t i = 0; e->common[id] == 0 && i < inst->arg_count; i++) survey(e, inst->args[i], tree);
}

/* Lanes of a piece; 0: the branch is straight-line code. */
static uint32_t piece_width(const weft_emitter *e, const rare_group *group, const rare_tree *tree)
{
    enum { WORTH = 32, LONG_VECTOR = 64 }; /* instructions less; the vectors for which it was measured */
    if (!group->varying || !tree->fits || e->gpu || e->processor->vector_bytes < LONG_VECTOR) return 0;
    if (group->level != weft_scope_top(e)) return 0;
    uint32_t width = e->lane.width;
    while (width > 1 && width * tree->bytes > e->processor->vector_bytes) width /= 2;
    uint32_t pieces = e->lane.width / width * e->lane.parts;
    return tree->count * (pieces - 1) >= WORTH ? width : 0;
}

/* Element `index` of the place, as a vector of `width`. */
static LLVMValueRef piece_pointer(weft_emitter *e, const rare_place *place, LLVMValueRef index)
{
    LLVMTypeRef type = weft_memory_type(e, e->kernel->insts[place->id].dtype);
    return LLVMBuildGEP2(e->builder, type, place->memory, &index, 1, "");
}

static LLVMValueRef load_piece(weft_emitter *e, const rare_place *place, LLVMValueRef index, uint32_t width)
{
    weft_dtype dtype = e->kernel->insts[place->id].dtype;
    LLVMTypeRef type = weft_vector_type(weft_memory_type(e, dtype), width);
    return weft_from_memory(e, dtype, LLVMBuildLoad2(e->builder, type, piece_pointer(e, place, index), ""));
}

static void store_piece(weft_emitter *e, const rare_place *place, LLVMValueRef index, LLVMValueRef value)
{
    weft_dtype dtype = e->kernel->insts[place->id].dtype;
    LLVMBuildStore(e->builder, weft_to_memory(e, dtype, value), piece_pointer(e, place, index));
}

static void create_memory(weft_emitter *e, const rare_group *group, rare_place *place)
{
    LLVMTypeRef type = weft_memory_type(e, e->kernel->insts[place->id].dtype);
    place->memory = weft_local_create(e, type, (uint64_t)e->lane.width * e->lane.parts);
    weft_scope_move(e, group->level);
}

static void store_inputs(weft_emitter *e, const rare_group *group, rare_tree *tree)
{
    for (uint32_t i = 0; i < tree->input_count; i++) {
        rare_place *input = &tree->inputs[i];
        input->outside = e->values[input->id];
        create_memory(e, group, input);
        for (uint32_t part = 0; part < e->lane.parts; part++)
            store_piece(e, input, weft_int(e, (int64_t)part * e->lane.width), input->outside.parts[part]);
    }
}

/* Opens the loop: the lanes are those of one piece, which inputs are loaded for. Returns its first element. */
static LLVMValueRef open_pieces(weft_emitter *e, rare_tree *tree, uint32_t width)
{
    LLVMValueRef zero = weft_int(e, 0), index;
    weft_loop_open(e, 1, &zero, &index);
    e->lane.width = width;
    e->lane.parts = 1;
    e->lane.mask = NULL;
    uint32_t top = weft_scope_top(e);
    for (uint32_t i = 0; i < tree->input_count; i++) {
        rare_place *input = &tree->inputs[i];
        e->values[input->id] = (weft_emitted){.level = top, .serial = e->scopes[top].serial, .varying = true};
        e->values[input->id].parts[0] = load_piece(e, input, index, width);
    }
    return index;
}

static void close_pieces(weft_emitter *e, rare_tree *tree, LLVMValueRef index, const weft_lane_state *lanes)
{
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef next = LLVMBuildAdd(e->builder, index, weft_int(e, e->lane.width), "");
    LLVMValueRef limit = weft_int(e, (int64_t)lanes->width * lanes->parts);
    weft_loop_close(e, LLVMBuildICmp(e->builder, LLVMIntSLT, next, limit, ""), &next);
    e->lane = *lanes;
    for (uint32_t i = 0; i < tree->input_count; i++) e->values[tree->inputs[i].id] = tree->inputs[i].outside;
}

/* A part is loaded in the pieces that it was stored in: a longer load would wait for all stores before it. */
static LLVMValueRef load_part(weft_emitter *e, const rare_place *place, uint32_t part, uint32_t width)
{
    weft_dtype dtype = e->kernel->insts[place->id].dtype;
    LLVMValueRef result = LLVMGetPoison(weft_vector_type(weft_register_type(e, dtype), e->lane.width));
    if (width == e->lane.width) return load_piece(e, place, weft_int(e, (int64_t)part * width), width);
    for (uint32_t first = 0; first < e->lane.width; first += width) {
        LLVMValueRef piece = load_piece(e, place, weft_int(e, (int64_t)part * e->lane.width + first), width);
        result = weft_lanes_insert(e, result, piece, e->lane.width, first, width);
    }
    return result;
}

/* The second operands of the group, one by one. */
static void emit_pieces(weft_emitter *e, const rare_group *group, rare_tree *tree, uint32_t width)
{
    const weft_inst *insts = e->kernel->insts;
    weft_lane_state lanes = e->lane;
    store_inputs(e, group, tree);
    rare_place *results = weft_arena_allocate(&e->arena, group->count * sizeof *results);
    if (results == NULL) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        results[i].id = insts[group->first + i].args[1];
        create_memory(e, group, &results[i]);
    }
    LLVMValueRef index = open_pieces(e, tree, width);
    for (uint32_t i = 0; i < group->count; i++) {
        emit_tree(e, results[i].id);
        LLVMValueRef piece = weft_value_part(e, &e->values[results[i].id], 0, true);
        weft_scope_move(e, weft_scope_top(e));
        store_piece(e, &results[i], index, piece);
    }
    close_pieces(e, tree, index, &lanes);
    for (uint32_t i = 0; i < group->count; i++) {
        if (e->common[results[i].id] != 0) continue;
        weft_emitted *value = &e->values[results[i].id];
        *value = (weft_emitted){.level = group->level, .serial = e->scopes[group->level].serial, .varying = true};
        for (uint32_t part = 0; part < lanes.parts; part++) value->parts[part] = load_part(e, &results[i], part, width);
    }
}

/* ---- all of it ---- */

/* What the branch leads to, and the values with it. */
static void emit_branch(weft_emitter *e, const rare_group *group)
{
    const weft_inst *insts = e->kernel->insts;
    weft_emitted place = {.level = group->level, .serial = e->scopes[group->level].serial, .varying = group->varying};
    rare_tree tree = {.fits = true};
    e->branches++;
    for (uint32_t i = 0; i < group->count; i++) survey(e, insts[group->first + i].args[1], &tree);
    uint32_t width = piece_width(e, group, &tree);
    if (width != 0) emit_pieces(e, group, &tree, width);
    for (weft_inst_id id = group->first; id < group->first + group->count; id++) {
        emit_tree(e, insts[id].args[1]);
        e->values[id] = place;
        weft_arithmetic_emit(e, &insts[id], &e->values[id]);
    }
}

void weft_rarely_emit(weft_emitter *e, weft_inst_id first)
{
    const weft_inst *inst = &e->kernel->insts[first];
    if (&e->kernel->insts[inst->args[0]] == e->shown) {
        emit_tree(e, inst->args[1]);
        weft_arithmetic_emit(e, inst, &e->values[first]);
        return;
    }
    rare_group group = group_from(e, first);
    weft_detour detour;
    /* Vectors of what is one scalar belong in front of the branch. */
    for (weft_inst_id id = first; id < first + group.count; id++)
        weft_value_part(e, &e->values[e->kernel->insts[id].args[2]], 0, group.varying);
    weft_detour_open(e, group.level, any_valid(e, &group, e->kernel->insts[first].args[0]), &detour);
    e->detours = true;
    emit_branch(e, &group);
    e->detours = false;
    weft_detour_close(e, group.level, &detour);
    for (weft_inst_id id = first; id < first + group.count; id++) join_rarely(e, &group, &detour, id);
    /* What the branch has computed is not there after it, and belongs where it did before. */
    for (weft_inst_id id = 0; id < first; id++)
        if (e->common[id] == 0 && e->values[id].serial != 0) weft_inst_emit(e, id);
}
