/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_EMIT_NEST_H
#define WEFT_BACKENDS_LLVM_EMIT_NEST_H
/* What files about ranges share; only these include it. */
#include "backends/llvm/emit.h"

/* Ranges to run through, and what to do at each point: one stage, or (NULL) all of them. */
typedef struct weft_nest {
    const weft_range *ranges;
    uint32_t count;
    const weft_stage *stage;
    LLVMValueRef virtual_lane; /* the last range runs over elements virtual_lane + i * lanes; NULL: over all */
} weft_nest;

/* Elements [begin, end) of a range, at most `most`. */
typedef struct weft_span {
    LLVMValueRef begin, end;
    int64_t most;
    LLVMValueRef afresh; /* whether they start from init; NULL: yes */
} weft_span;

static inline bool is_at_least(weft_emitter *e, weft_expr expr, int64_t value)
{
    weft_expr least = weft_expr_constant(e->exprs, value);
    return weft_expr_always_nonnegative(e->exprs, weft_expr_sub(e->exprs, expr, least));
}

static inline LLVMValueRef is_less(weft_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    weft_scope_move(e, weft_scope_top(e));
    return LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, "");
}

/* ---- emit_range.c ---- */
/* The ranges from number i on, and what is done at each point. */
void weft_nest_emit(weft_emitter *e, const weft_nest *n, uint32_t i);

/* ---- emit_serial.c ---- */
/* Range i, from `start` on in steps, and what is inside of it. */
void weft_nest_count(weft_emitter *e, const weft_nest *n, uint32_t i, LLVMValueRef start, LLVMValueRef end,
                     int64_t step);
/* Range i without lanes, and what is inside of it. */
void weft_serial_emit(weft_emitter *e, const weft_nest *n, uint32_t i, const weft_span *s);
#endif
