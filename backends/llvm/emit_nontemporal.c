/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores past the caches. An ordinary store reads the line that it changes, and puts it in the place of another one. Of
 * results that nothing reads soon, in kernels whose arrays are together as much as the last cache holds, that is in
 * vain: they would not be found there again. Where extents are symbols the kernel asks how much that is.
 *
 * Such stores of vectors have to be aligned, which arrays that callers give may not be, and a result may lie where an
 * operand does, whose lines are near; so a round has both kinds. Other processors see them in any order: a kernel that
 * has some ends with a fence.
 */
#include "backends/llvm/emit.h"

enum { LEAST_BYTES = 16 }; /* of a vector */

bool weft_nontemporal_fits(const weft_emitter *e, const weft_store *store)
{
    double bytes = 0;
    if (e->processor->last_cache == 0 || !e->kernel->buffers[store->buffer].unread) return false;
    if (store->is_indirect || store->predicate_count != 0) return false;
    for (uint32_t b = 0; b < weft_kernel_argument_count(e->kernel); b++) bytes += weft_kernel_span(e->kernel, b);
    return bytes >= (double)e->processor->last_cache;
}

static void emit_stores(weft_emitter *e, uint32_t alignment, bool nontemporal, uint32_t count,
                        const LLVMValueRef *pointers, const LLVMValueRef *values)
{
    static const char kind[] = "nontemporal";
    LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, false));
    LLVMValueRef node = LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &one, 1));
    for (uint32_t i = 0; i < count; i++) {
        LLVMValueRef store = LLVMBuildStore(e->builder, values[i], pointers[i]);
        LLVMSetAlignment(store, alignment);
        if (nontemporal) LLVMSetMetadata(store, LLVMGetMDKindIDInContext(e->context, kind, sizeof kind - 1), node);
    }
}

/* Elements of a buffer up to the greatest index of a stage, as far as its first access and its ends tell. */
static weft_expr span_in(weft_emitter *e, const weft_stage *stage, uint32_t buffer)
{
    weft_expr index = WEFT_EXPR_NONE;
    for (uint32_t i = stage->store_count; i-- > 0;)
        if (stage->stores[i].buffer == buffer) index = stage->stores[i].index;
    for (uint32_t i = stage->inst_count; i-- > 0;) {
        const weft_inst *inst = &e->kernel->insts[stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_load && inst->buffer == buffer) index = inst->index;
    }
    if (index == WEFT_EXPR_NONE) return weft_expr_constant(e->exprs, 0);
    weft_expr most =
        weft_expr_max(e->exprs, weft_index_at(e, stage, index, false), weft_index_at(e, stage, index, true));
    return weft_expr_add(e->exprs, most, weft_expr_constant(e->exprs, 1));
}

/* Whether arrays of unknown extents are together as much as the last cache holds. */
static LLVMValueRef are_large(weft_emitter *e)
{
    const weft_kernel *kernel = e->kernel;
    weft_expr_context *x = e->exprs;
    weft_expr bytes = weft_expr_constant(x, 0);
    if (weft_kernel_has_known_places(kernel)) return LLVMConstInt(e->i1, 1, false);
    for (uint32_t b = 0; b < weft_kernel_argument_count(kernel); b++) {
        weft_expr most = weft_expr_constant(x, 0);
        for (uint32_t s = 0; s < kernel->stage_count; s++)
            most = weft_expr_max(x, most, span_in(e, &kernel->stages[s], b));
        int64_t size = (int64_t)weft_dtype_size(kernel->buffers[b].dtype);
        bytes = weft_expr_add(x, bytes, weft_expr_mul(x, most, weft_expr_constant(x, size)));
    }
    if (bytes == WEFT_EXPR_NONE) { /* more than can be counted: whatever they are */
        weft_emitter_fail(e, weft_expr_context_take_out_of_memory(x));
        return LLVMConstInt(e->i1, 0, false);
    }
    LLVMValueRef sum = weft_index_emit(e, bytes, 0), least = weft_int(e, (int64_t)e->processor->last_cache);
    weft_scope_move(e, 0);
    return LLVMBuildICmp(e->builder, LLVMIntSGE, sum, least, "");
}

/* Whether stores may go past the caches, and what is read begins elsewhere. */
static LLVMValueRef may_pass(weft_emitter *e, uint32_t buffer)
{
    LLVMValueRef may = are_large(e), to = weft_buffer_pointer(e, buffer);
    for (uint32_t b = 0; b < weft_kernel_argument_count(e->kernel); b++) {
        if (e->kernel->buffers[b].written) continue;
        LLVMValueRef from = weft_buffer_pointer(e, b);
        weft_scope_move(e, 0);
        may = LLVMBuildAnd(e->builder, may, LLVMBuildICmp(e->builder, LLVMIntNE, from, to, ""), "");
    }
    weft_scope_move(e, weft_scope_top(e));
    return may;
}

bool weft_nontemporal_emit(weft_emitter *e, uint32_t buffer, uint32_t width, int64_t step, uint32_t count,
                           const LLVMValueRef *pointers, const LLVMValueRef *values)
{
    weft_dtype dtype = e->kernel->buffers[buffer].dtype;
    uint32_t size = (uint32_t)weft_dtype_size(dtype), alignment = smaller(width * size, e->processor->vector_bytes);
    if (alignment < LEAST_BYTES || step * size % alignment != 0) return false;
    LLVMValueRef may = may_pass(e, buffer), address = LLVMBuildPtrToInt(e->builder, pointers[0], e->i64, "");
    LLVMValueRef over = LLVMBuildAnd(e->builder, address, weft_int(e, alignment - 1), "");
    LLVMValueRef is_aligned = LLVMBuildICmp(e->builder, LLVMIntEQ, over, weft_int(e, 0), "");
    LLVMValueRef passes = LLVMBuildAnd(e->builder, is_aligned, may, "");
    LLVMValueRef fails = LLVMBuildNot(e->builder, passes, "");
    weft_guard_open(e, passes, false);
    emit_stores(e, alignment, true, count, pointers, values);
    weft_guard_close(e);
    weft_guard_open(e, fails, false);
    emit_stores(e, weft_dtype_info_of(dtype)->alignment, false, count, pointers, values);
    weft_guard_close(e);
    e->is_fenced = true;
    return true;
}

void weft_nontemporal_close(weft_emitter *e)
{
    if (e->is_fenced) weft_intrinsic_call(e, "llvm.x86.sse.sfence", 0, NULL, 0, NULL);
}
