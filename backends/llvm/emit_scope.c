/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

void weft_emitter_fail(weft_emitter *e, weft_status *status)
{
    if (e->error == NULL) e->error = status;
    else weft_status_destroy(status);
}

bool weft_value_is_open(const weft_emitter *e, uint32_t level, uint32_t serial)
{
    return level < e->depth && e->scopes[level].serial == serial;
}

void weft_scope_move(weft_emitter *e, uint32_t level)
{
    const weft_scope *scope = &e->scopes[level];
    if (scope->terminator != NULL) LLVMPositionBuilderBefore(e->builder, scope->terminator);
    else LLVMPositionBuilderAtEnd(e->builder, scope->block);
}

static LLVMBasicBlockRef new_block(weft_emitter *e)
{
    return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

/* Scopes nest no deeper than weft_kernel_emit made room for. */
static weft_scope *push(weft_emitter *e, LLVMBasicBlockRef block)
{
    weft_scope *scope = &e->scopes[e->depth];
    LLVMValueRef *phis = scope->phis, *initial = scope->initial;
    uint32_t effects = e->depth == 0 ? 0 : e->scopes[e->depth - 1].effects;
    *scope = (weft_scope){.serial = ++e->serial, .effects = effects, .block = block, .phis = phis, .initial = initial};
    e->depth++;
    return scope;
}

void weft_scope_start(weft_emitter *e)
{
    push(e, new_block(e));
    weft_scope_move(e, 0);
}

/* The scope around continues in `block`. */
static void pop(weft_emitter *e, LLVMBasicBlockRef block)
{
    e->depth--;
    weft_scope *outer = &e->scopes[weft_scope_top(e)];
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
    weft_scope *outer = &e->scopes[weft_scope_top(e)];
    LLVMBasicBlockRef inner = new_block(e), after = always ? NULL : new_block(e);
    weft_scope_move(e, weft_scope_top(e));
    outer->terminator = always ? LLVMBuildBr(e->builder, inner) : LLVMBuildCondBr(e->builder, condition, inner, after);
    weft_scope *scope = push(e, inner);
    scope->after = after;
    scope->phi_count = e->carried_count;
    if (e->carried_count != 0) memcpy(scope->initial, e->carried, e->carried_count * sizeof *e->carried);
    if (decides && !always) scope->effects = weft_scope_top(e);
    weft_scope_move(e, weft_scope_top(e));
}

/* What was carried past the guard and what comes out of it meet again. */
static void merge_carried(weft_emitter *e, const weft_scope *guard, LLVMBasicBlockRef skipped)
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
    const weft_scope *guard = &e->scopes[weft_scope_top(e)];
    LLVMBasicBlockRef skipped = e->scopes[weft_scope_top(e) - 1].block;
    if (guard->after == NULL) {
        pop(e, guard->block);
        return;
    }
    weft_scope_move(e, weft_scope_top(e));
    LLVMBuildBr(e->builder, guard->after);
    pop(e, guard->after);
    merge_carried(e, guard, skipped);
}

void weft_loop_open(weft_emitter *e, size_t count, const LLVMValueRef *initial, LLVMValueRef *out_phis)
{
    LLVMBasicBlockRef header = new_block(e);
    weft_scope_move(e, weft_scope_top(e));
    e->scopes[weft_scope_top(e)].terminator = LLVMBuildBr(e->builder, header);
    for (uint32_t i = 0; i < e->depth && !e->detours; i++) e->scopes[i].holds_loops = true;
    weft_scope *scope = push(e, header);
    scope->header = header;
    scope->phi_count = count;
    weft_scope_move(e, weft_scope_top(e));
    for (size_t i = 0; i < count; i++) {
        scope->initial[i] = initial[i];
        scope->phis[i] = out_phis[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(initial[i]), "");
    }
}

/* Asks for the loop that `branch` repeats to begin at a multiple of so many bytes. The metadata of a loop has itself as
 * its first operand. */
static void align_loop(weft_emitter *e, LLVMValueRef branch, unsigned bytes)
{
    static const char name[] = "llvm.loop.align", kind[] = "llvm.loop";
    LLVMMetadataRef align[2] = {LLVMMDStringInContext2(e->context, name, sizeof name - 1),
                                LLVMValueAsMetadata(LLVMConstInt(e->i32, bytes, false))};
    LLVMMetadataRef self = LLVMTemporaryMDNode(e->context, NULL, 0);
    LLVMMetadataRef operands[2] = {self, LLVMMDNodeInContext2(e->context, align, 2)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(e->context, operands, 2);
    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->context, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(e->context, loop));
}

/* A short loop that lies across two lines of the instruction cache takes up to 1.6 of the time (Zen 3). */
void weft_loop_close(weft_emitter *e, LLVMValueRef again, const LLVMValueRef *next)
{
    enum { BYTES = 32 };
    weft_scope *loop = &e->scopes[weft_scope_top(e)];
    LLVMBasicBlockRef exit = new_block(e), entry = e->scopes[weft_scope_top(e) - 1].block;
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef branch = LLVMBuildCondBr(e->builder, again, loop->header, exit);
    if (!loop->holds_loops && !e->detours && !e->gpu) align_loop(e, branch, BYTES);
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
    e->variables[e->variable_count++] = (weft_variable){variable, weft_scope_top(e), value};
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
    weft_count_close_unless(e, limit, step, NULL);
}

void weft_count_close_unless(weft_emitter *e, LLVMValueRef limit, LLVMValueRef step, LLVMValueRef done)
{
    const weft_scope *loop = &e->scopes[weft_scope_top(e)];
    weft_scope_move(e, weft_scope_top(e));
    e->scratch[0] = LLVMBuildAdd(e->builder, loop->phis[0], step, "");
    if (e->carried_count != 0) memcpy(e->scratch + 1, e->carried, e->carried_count * sizeof *e->carried);
    LLVMValueRef again = LLVMBuildICmp(e->builder, LLVMIntSLT, e->scratch[0], limit, "");
    if (done != NULL) again = LLVMBuildAnd(e->builder, again, LLVMBuildNot(e->builder, done, ""), "");
    weft_loop_close(e, again, e->scratch);
}

void weft_once_open(weft_emitter *e, weft_expr variable, LLVMValueRef value)
{
    LLVMBasicBlockRef block = new_block(e);
    weft_scope_move(e, weft_scope_top(e));
    e->scopes[weft_scope_top(e)].terminator = LLVMBuildBr(e->builder, block);
    push(e, block);
    bind(e, variable, value);
    weft_scope_move(e, weft_scope_top(e));
}

void weft_once_close(weft_emitter *e)
{
    pop(e, e->scopes[weft_scope_top(e)].block);
}

/* Code that is seldom run is then laid out after the rest, and registers are given to the rest first. */
static void mark_rare(weft_emitter *e, LLVMValueRef branch)
{
    enum { TIMES = 1000 };
    static const char name[] = "branch_weights", kind[] = "prof";
    LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(e->context, name, sizeof name - 1),
                                  LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, false)),
                                  LLVMValueAsMetadata(LLVMConstInt(e->i32, TIMES, false))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, weights, 3);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->context, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(e->context, node));
}

void weft_branch_open(weft_emitter *e, uint32_t level, LLVMValueRef condition)
{
    weft_scope *scope = &e->scopes[level];
    LLVMBasicBlockRef rare = new_block(e), rest = new_block(e);
    if (scope->terminator != NULL) LLVMInstructionRemoveFromParent(scope->terminator);
    LLVMPositionBuilderAtEnd(e->builder, scope->block);
    mark_rare(e, LLVMBuildCondBr(e->builder, condition, rare, rest));
    scope->block = rest;
    LLVMPositionBuilderAtEnd(e->builder, rest);
    if (scope->terminator != NULL) LLVMInsertIntoBuilder(e->builder, scope->terminator);
    LLVMPositionBuilderAtEnd(e->builder, rare);
}

void weft_branch_close(weft_emitter *e, uint32_t level)
{
    LLVMBuildBr(e->builder, e->scopes[level].block);
    weft_scope_move(e, level);
}

void weft_detour_open(weft_emitter *e, uint32_t level, LLVMValueRef condition, weft_detour *out_detour)
{
    weft_scope *scope = &e->scopes[level];
    *out_detour = (weft_detour){.start = scope->block, .terminator = scope->terminator};
    weft_branch_open(e, level, condition);
    out_detour->rest = scope->block;
    scope->block = LLVMGetInsertBlock(e->builder);
    scope->terminator = NULL;
}

void weft_detour_close(weft_emitter *e, uint32_t level, weft_detour *detour)
{
    weft_scope *scope = &e->scopes[level];
    weft_scope_move(e, level);
    LLVMBuildBr(e->builder, detour->rest);
    detour->end = scope->block;
    scope->block = detour->rest;
    scope->terminator = detour->terminator;
    weft_scope_move(e, level);
}

void weft_detour_merge(weft_emitter *e, const weft_detour *detour, uint32_t count, const LLVMValueRef *others,
                       LLVMValueRef *values)
{
    for (uint32_t i = 0; i < count; i++) {
        LLVMValueRef either[2] = {values[i], others[i]};
        LLVMBasicBlockRef blocks[2] = {detour->start, detour->end};
        values[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(either[0]), "");
        LLVMAddIncoming(values[i], either, blocks, 2);
    }
}

LLVMValueRef weft_local_create(weft_emitter *e, LLVMTypeRef type, uint64_t count)
{
    weft_scope_move(e, 0);
    LLVMValueRef local = LLVMBuildArrayAlloca(e->builder, type, weft_int(e, (int64_t)count), "");
    LLVMSetAlignment(local, 64);
    return local;
}

/* ---- values ---- */

LLVMValueRef weft_value_part(weft_emitter *e, weft_emitted *value, uint32_t part, bool vector)
{
    if (value->varying) return value->parts[part];
    if (!vector || e->lane.width == 1) return value->parts[0];
    if (value->splat_width == e->lane.width) return value->splat;
    weft_scope_move(e, value->level);
    LLVMValueRef splat = weft_splat(e, value->parts[0], e->lane.width);
    if (e->detours) return splat;
    value->splat_width = e->lane.width;
    return value->splat = splat;
}

uint32_t weft_effect_level(const weft_emitter *e, uint32_t level)
{
    uint32_t effects = e->scopes[weft_scope_top(e)].effects;
    return level > effects ? level : effects;
}
