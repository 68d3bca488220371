/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers to elements. LLVM's loop strength reduction tries ways to combine the addresses of an innermost loop, in
 * time that explodes with their number, and finds nothing better for those of many. Pointers that are frozen are values
 * of their own to it, for which the loop has an addition each. So those of many accesses are, and those of loops so
 * long that additions do not matter.
 */
#include "backends/llvm/emit.h"

/* Whether the scope is inside of the innermost loop that is open. */
static bool is_innermost(const weft_emitter *e, uint32_t level)
{
    uint32_t loop = weft_scope_top(e);
    while (loop > 0 && e->scopes[loop].header == NULL) loop--;
    return loop > 0 && level >= loop;
}

/* Whether loop strength reduction is kept from the pointer: in long bodies, measured with AVX-512 only. */
static bool is_hidden(const weft_emitter *e, uint32_t level)
{
    enum { MANY = 16, LONG = 24 }; /* accesses; instructions without constants */
    const weft_stage *stage = e->stage;
    if (!weft_emitter_has(e, WEFT_ISA_V4) || !is_innermost(e, level)) return false;
    uint32_t accesses = stage->store_count, length = 0;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        accesses += e->kernel->insts[i].op == WEFT_SCALAR_load;
        length += e->kernel->insts[i].op != WEFT_SCALAR_const;
    }
    if (e->lane.variable != WEFT_EXPR_NONE) accesses *= e->lane.parts;
    return accesses >= MANY || length >= LONG;
}

static LLVMValueRef advance(weft_emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef count)
{
    return LLVMBuildGEP2(e->builder, type, pointer, &count, 1, "");
}

LLVMValueRef weft_index_pointer(weft_emitter *e, LLVMTypeRef type, LLVMValueRef base, weft_expr expr, uint32_t part)
{
    uint32_t last = weft_index_level(e, expr);
    int64_t offset = 0;
    LLVMValueRef pointer = base;
    if (weft_expr_kind_of(e->exprs, expr) == WEFT_EXPR_SUM) {
        offset = weft_expr_offset(e->exprs, expr);
        for (uint32_t level = 0; level <= last; level++) {
            LLVMValueRef terms = weft_index_terms(e, expr, level, part);
            weft_scope_move(e, level);
            if (terms != NULL) pointer = advance(e, type, pointer, terms);
        }
    } else if (!weft_expr_is_constant(e->exprs, expr, &offset)) {
        LLVMValueRef index = weft_index_emit(e, expr, part);
        weft_scope_move(e, last);
        pointer = advance(e, type, pointer, index);
    }
    weft_scope_move(e, last);
    if (is_hidden(e, last)) pointer = LLVMBuildFreeze(e->builder, pointer, "");
    return offset == 0 ? pointer : advance(e, type, pointer, weft_int(e, offset));
}
