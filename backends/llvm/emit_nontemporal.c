/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores past the caches. An ordinary store reads the line that it changes, and puts it in the place of another one. Of
 * results that nothing reads soon, in kernels whose arrays are together as much as the last cache holds, that is in
 * vain: they would not be found there again.
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

/* Whether what is read begins elsewhere. */
static LLVMValueRef is_apart(weft_emitter *e, uint32_t buffer)
{
    LLVMValueRef apart = LLVMConstInt(e->i1, 1, false), to = weft_buffer_pointer(e, buffer);
    for (uint32_t b = 0; b < weft_kernel_argument_count(e->kernel); b++) {
        if (e->kernel->buffers[b].written) continue;
        LLVMValueRef from = weft_buffer_pointer(e, b);
        weft_scope_move(e, 0);
        apart = LLVMBuildAnd(e->builder, apart, LLVMBuildICmp(e->builder, LLVMIntNE, from, to, ""), "");
    }
    weft_scope_move(e, weft_scope_top(e));
    return apart;
}

bool weft_nontemporal_emit(weft_emitter *e, uint32_t buffer, uint32_t width, int64_t step, uint32_t count,
                           const LLVMValueRef *pointers, const LLVMValueRef *values)
{
    weft_dtype dtype = e->kernel->buffers[buffer].dtype;
    uint32_t size = (uint32_t)weft_dtype_size(dtype), alignment = smaller(width * size, e->processor->vector_bytes);
    if (alignment < LEAST_BYTES || step * size % alignment != 0) return false;
    LLVMValueRef apart = is_apart(e, buffer), address = LLVMBuildPtrToInt(e->builder, pointers[0], e->i64, "");
    LLVMValueRef over = LLVMBuildAnd(e->builder, address, weft_int(e, alignment - 1), "");
    LLVMValueRef is_aligned = LLVMBuildICmp(e->builder, LLVMIntEQ, over, weft_int(e, 0), "");
    LLVMValueRef passes = LLVMBuildAnd(e->builder, is_aligned, apart, "");
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
