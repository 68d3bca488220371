/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers to elements. */
#include "backends/llvm/emit.h"

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
    return offset == 0 ? pointer : advance(e, type, pointer, weft_int(e, offset));
}
