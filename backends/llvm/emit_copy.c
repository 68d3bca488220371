/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long runs of elements that are only copied are left to the C library's memcpy: what it takes for them on processors
 * that move whole blocks (rep movsb) does not read the lines that it fills, as vector stores do. Not where stores go
 * past the caches, which is faster still.
 */
#include "backends/llvm/emit.h"

enum { LEAST_RUN = 1 << 14 }; /* bytes: of shorter ones the call takes as much as it saves */

/* Whether a range has so many bytes, though the last one of an outer range may have fewer. */
static bool is_long(const weft_emitter *e, const weft_range *range, size_t size)
{
    int64_t least, most;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    return (weft_extent_is_cut(e, range->extent) ? most : least) >= LEAST_RUN / (int64_t)size;
}

/* Whether an index goes from element to element along a range. */
static bool is_run(const weft_emitter *e, weft_expr index, const weft_range *range)
{
    weft_expr step, rest;
    return weft_expr_affine(e->exprs, index, range->variable, &step, &rest) && step == weft_expr_constant(e->exprs, 1);
}

/* The store of a stage that loads an element and stores it as it is; NULL: it does something else. Bools may be any
 * byte in memory, and are one or zero when they are stored. */
static const weft_store *find_copy(const weft_emitter *e, const weft_stage *stage)
{
    const weft_inst *load = &e->kernel->insts[stage->inst_first];
    const weft_store *store = stage->stores;
    if (stage->inst_count != 1 || stage->store_count != 1 || stage->accumulator_count != 0) return NULL;
    if (load->op != WEFT_SCALAR_load || load->arg_count != 0 || load->predicate_count != 0) return NULL;
    if (store->is_indirect || store->predicate_count != 0 || store->value != stage->inst_first) return NULL;
    if (load->dtype == WEFT_BOOL || load->dtype != e->kernel->buffers[store->buffer].dtype) return NULL;
    return store;
}

bool weft_copy_emit(weft_emitter *e, const weft_stage *stage, const weft_range *range, LLVMValueRef begin,
                    LLVMValueRef end)
{
    const weft_store *store = find_copy(e, stage);
    if (store == NULL || weft_nontemporal_fits(e, store)) return false;
    const weft_inst *load = &e->kernel->insts[stage->inst_first];
    uint32_t alignment = weft_dtype_info_of(load->dtype)->alignment;
    size_t size = weft_dtype_size(load->dtype);
    if (!is_long(e, range, size) || !is_run(e, load->index, range) || !is_run(e, store->index, range)) return false;
    LLVMTypeRef type = weft_memory_type(e, load->dtype);
    weft_once_open(e, range->variable, begin);
    LLVMValueRef from = weft_index_pointer(e, type, weft_buffer_pointer(e, load->buffer), load->index, 0);
    LLVMValueRef to = weft_index_pointer(e, type, weft_buffer_pointer(e, store->buffer), store->index, 0);
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef count = LLVMBuildSub(e->builder, end, begin, "");
    LLVMValueRef bytes = LLVMBuildMul(e->builder, count, weft_int(e, (int64_t)size), "");
    LLVMBuildMemCpy(e->builder, to, alignment, from, alignment, bytes);
    weft_once_close(e);
    return true;
}
