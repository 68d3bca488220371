/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <string.h>

void weft_emitter_fail(weft_emitter *e, weft_status *status)
{
    if (e->error == NULL) e->error = status;
    else weft_status_destroy(status);
}

bool weft_value_is_open(const weft_emitter *e, uint32_t level, uint32_t serial)
{
    return level < e->depth && e->places[level].serial == serial;
}

void weft_place_move(weft_emitter *e, uint32_t level)
{
    const weft_place *place = &e->places[level];
    if (place->terminator != NULL) LLVMPositionBuilderBefore(e->builder, place->terminator);
    else LLVMPositionBuilderAtEnd(e->builder, place->block);
}

static LLVMBasicBlockRef new_block(weft_emitter *e)
{
    return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

/* Places nest no deeper than weft_kernel_emit made room for. */
static weft_place *push(weft_emitter *e, LLVMBasicBlockRef block)
{
    weft_place *place = &e->places[e->depth];
    LLVMValueRef *phis = place->phis, *initial = place->initial;
    uint32_t effects = e->depth == 0 ? 0 : e->places[e->depth - 1].effects;
    *place = (weft_place){.serial = ++e->serial, .effects = effects, .block = block, .phis = phis, .initial = initial};
    e->depth++;
    return place;
}

void weft_place_start(weft_emitter *e)
{
    push(e, new_block(e));
    weft_place_move(e, 0);
}

/* The place around continues in `block`. */
static void pop(weft_emitter *e, LLVMBasicBlockRef block)
{
    e->depth--;
    weft_place *outer = &e->places[weft_place_top(e)];
    outer->block = block;
    outer->terminator = NULL;
    while (e->variable_count > 0 && e->variables[e->variable_count - 1].level == e->depth) e->variable_count--;
    LLVMPositionBuilderAtEnd(e->builder, block);
}

static bool is_true(LLVMValueRef condition)
{
    return LLVMIsAConstantInt(condition) != NULL && LLVMConstIntGetZExtValue(condition) != 0;
}

void weft_guard_open(weft_emitter *e, LLVMValueRef condition, bool decides)
{
    bool always = is_true(condition);
    weft_place *outer = &e->places[weft_place_top(e)];
    LLVMBasicBlockRef inner = new_block(e), after = always ? NULL : new_block(e);
    weft_place_move(e, weft_place_top(e));
    outer->terminator = always ? LLVMBuildBr(e->builder, inner) : LLVMBuildCondBr(e->builder, condition, inner, after);
    weft_place *place = push(e, inner);
    place->after = after;
    place->phi_count = e->carried_count;
    if (e->carried_count != 0) memcpy(place->initial, e->carried, e->carried_count * sizeof *e->carried);
    if (decides && !always) place->effects = weft_place_top(e);
    weft_place_move(e, weft_place_top(e));
}

/* What was carried past the guard and what comes out of it meet again. */
static void merge_carried(weft_emitter *e, const weft_place *guard, LLVMBasicBlockRef skipped)
{
    for (size_t i = 0; i < guard->phi_count; i++) {
        if (guard->initial[i] == e->carried[i]) continue;
        LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(e->carried[i]), "");
        LLVMValueRef values[2] = {guard->initial[i], e->carried[i]};
        LLVMBasicBlockRef blocks[2] = {skipped, guard->block};
        LLVMAddIncoming(phi, values, blocks, 2);
        e->carried[i] = phi;
    }
}

void weft_guard_close(weft_emitter *e)
{
    const weft_place *guard = &e->places[weft_place_top(e)];
    LLVMBasicBlockRef skipped = e->places[weft_place_top(e) - 1].block;
    if (guard->after == NULL) {
        pop(e, guard->block);
        return;
    }
    weft_place_move(e, weft_place_top(e));
    LLVMBuildBr(e->builder, guard->after);
    pop(e, guard->after);
    merge_carried(e, guard, skipped);
}

void weft_loop_open(weft_emitter *e, size_t count, const LLVMValueRef *initial, LLVMValueRef *out_phis)
{
    LLVMBasicBlockRef header = new_block(e);
    weft_place_move(e, weft_place_top(e));
    e->places[weft_place_top(e)].terminator = LLVMBuildBr(e->builder, header);
    weft_place *place = push(e, header);
    place->header = header;
    place->phi_count = count;
    weft_place_move(e, weft_place_top(e));
    for (size_t i = 0; i < count; i++) {
        place->initial[i] = initial[i];
        place->phis[i] = out_phis[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(initial[i]), "");
    }
}

void weft_loop_close(weft_emitter *e, LLVMValueRef again, const LLVMValueRef *next)
{
    weft_place *loop = &e->places[weft_place_top(e)];
    LLVMBasicBlockRef exit = new_block(e), entry = e->places[weft_place_top(e) - 1].block;
    weft_place_move(e, weft_place_top(e));
    LLVMBuildCondBr(e->builder, again, loop->header, exit);
    for (size_t i = 0; i < loop->phi_count; i++) {
        LLVMValueRef values[2] = {loop->initial[i], next[i]};
        LLVMBasicBlockRef blocks[2] = {entry, loop->block};
        LLVMAddIncoming(loop->phis[i], values, blocks, 2);
    }
    pop(e, exit);
}

static void bind(weft_emitter *e, weft_expr variable, LLVMValueRef value)
{
    if (variable == WEFT_EXPR_NONE) return;
    e->variables[e->variable_count++] = (weft_variable){variable, weft_place_top(e), value};
}

LLVMValueRef weft_count_open(weft_emitter *e, weft_expr variable, LLVMValueRef start)
{
    size_t count = e->carried_count;
    e->scratch[0] = start;
    if (count != 0) memcpy(e->scratch + 1, e->carried, count * sizeof *e->carried);
    weft_loop_open(e, count + 1, e->scratch, e->scratch);
    if (count != 0) memcpy(e->carried, e->scratch + 1, count * sizeof *e->carried);
    bind(e, variable, e->scratch[0]);
    return e->scratch[0];
}

void weft_count_close(weft_emitter *e, LLVMValueRef limit, LLVMValueRef step)
{
    const weft_place *loop = &e->places[weft_place_top(e)];
    weft_place_move(e, weft_place_top(e));
    e->scratch[0] = LLVMBuildAdd(e->builder, loop->phis[0], step, "");
    if (e->carried_count != 0) memcpy(e->scratch + 1, e->carried, e->carried_count * sizeof *e->carried);
    LLVMValueRef again = LLVMBuildICmp(e->builder, LLVMIntSLT, e->scratch[0], limit, "");
    weft_loop_close(e, again, e->scratch);
}

void weft_once_open(weft_emitter *e, weft_expr variable, LLVMValueRef value)
{
    LLVMBasicBlockRef block = new_block(e);
    weft_place_move(e, weft_place_top(e));
    e->places[weft_place_top(e)].terminator = LLVMBuildBr(e->builder, block);
    push(e, block);
    bind(e, variable, value);
    weft_place_move(e, weft_place_top(e));
}

void weft_once_close(weft_emitter *e)
{
    pop(e, e->places[weft_place_top(e)].block);
}

void weft_branch_open(weft_emitter *e, uint32_t level, LLVMValueRef condition)
{
    weft_place *place = &e->places[level];
    LLVMBasicBlockRef rare = new_block(e), rest = new_block(e);
    if (place->terminator != NULL) LLVMInstructionRemoveFromParent(place->terminator);
    LLVMPositionBuilderAtEnd(e->builder, place->block);
    LLVMBuildCondBr(e->builder, condition, rare, rest);
    place->block = rest;
    LLVMPositionBuilderAtEnd(e->builder, rest);
    if (place->terminator != NULL) LLVMInsertIntoBuilder(e->builder, place->terminator);
    LLVMPositionBuilderAtEnd(e->builder, rare);
}

void weft_branch_close(weft_emitter *e, uint32_t level)
{
    LLVMBuildBr(e->builder, e->places[level].block);
    weft_place_move(e, level);
}

LLVMValueRef weft_local_create(weft_emitter *e, LLVMTypeRef type, uint64_t count)
{
    weft_place_move(e, 0);
    LLVMValueRef local = LLVMBuildArrayAlloca(e->builder, type, weft_int(e, (int64_t)count), "");
    LLVMSetAlignment(local, 64);
    return local;
}
