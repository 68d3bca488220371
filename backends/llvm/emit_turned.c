/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes across long rows. Each lane goes along a row of its own as the serial range inside of the lanes goes on: one by
 * one its elements would be gathered. Here a block of points of that range, as many as a vector has lanes, is read at
 * once, a vector of each row, transposed in registers, and left in the stack frame, from where the points load whole
 * vectors. What points compute, and in which order, stays.
 */
#include "backends/llvm/emit.h"

enum {
    MOST_BYTES = 8 << 10, /* of all blocks */
    LEAST_VECTOR = 16     /* bytes */
};

/* Whether lanes of the load lie apart, and each goes along memory with the range. */
static bool is_turned(weft_emitter *e, const weft_range *range, const weft_inst *inst)
{
    const weft_kernel_buffer *buffer = &e->kernel->buffers[inst->buffer];
    weft_expr step, rest;
    uint32_t width = e->lane.width, bytes = width * (uint32_t)weft_dtype_size(inst->dtype);
    if (inst->op != WEFT_SCALAR_load || inst->arg_count != 0 || inst->predicate_count != 0) return false;
    if (buffer->written || buffer->local != 0 || !weft_index_varies(e, inst->index)) return false;
    if (weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX) return false;
    if (bytes < LEAST_VECTOR || bytes > e->processor->vector_bytes) return false;
    if (!weft_expr_affine(e->exprs, inst->index, range->variable, &step, &rest)) return false;
    weft_lane_stride stride = weft_index_lane_stride(e, inst->index);
    bool is_apart = stride.kind == WEFT_LANE_STRIDE_SYMBOLIC ||
                    (stride.kind == WEFT_LANE_STRIDE_CONSTANT && (stride.step >= width || -stride.step >= width));
    return is_apart && step == weft_expr_constant(e->exprs, 1);
}

/* Whether part of a vector of rows may be loaded by a mask. */
static bool takes_mask(const weft_emitter *e, const weft_inst *inst)
{
    enum { WORD = 4 };
    return weft_emitter_has(e, weft_dtype_size(inst->dtype) < WORD ? WEFT_ISA_V4 : WEFT_ISA_V3);
}

uint32_t weft_turned_points(weft_emitter *e, const weft_stage *stage, const weft_range *range, bool *out_masked)
{
    int64_t least, most, room = MOST_BYTES;
    uint32_t points = 0;
    weft_expr_range(e->exprs, range->extent, &least, &most);
    *out_masked = true;
    if (e->gpu || e->detours || e->lane.variable == WEFT_EXPR_NONE || e->lane.rows != 0 || e->lane.paired) return 0;
    if (e->lane.width == 1 || e->lane.width > WEFT_MOST_TURNED || most < e->lane.width) return 0;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        e->turned[i].is_open = is_turned(e, range, inst);
        if (!e->turned[i].is_open) continue;
        room -= (int64_t)weft_dtype_size(inst->dtype) * e->lane.width * e->lane.width * e->lane.parts;
        e->turned[i].is_open = room >= 0;
        *out_masked &= takes_mask(e, inst);
        if (room >= 0) points = e->lane.width;
    }
    return points;
}

/* A row, up to where the range ends: `mask`, or NULL for all of a vector. */
static LLVMValueRef load_row(weft_emitter *e, weft_dtype dtype, LLVMTypeRef type, LLVMValueRef from, LLVMValueRef mask)
{
    uint32_t alignment = weft_dtype_info_of(dtype)->alignment;
    LLVMValueRef args[4] = {from, LLVMConstInt(e->i32, alignment, false), mask, LLVMConstNull(type)};
    if (mask != NULL) return weft_intrinsic_call(e, "llvm.masked.load", 2, (LLVMTypeRef[]){type, e->pointer}, 4, args);
    LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, from, "");
    LLVMSetAlignment(loaded, alignment);
    return loaded;
}

/* Of a lane that is masked off the row of the last one that is not. */
static LLVMValueRef row_offset(weft_emitter *e, LLVMValueRef last, LLVMValueRef step, uint32_t lane)
{
    LLVMValueRef row = weft_int(e, lane), either[2] = {last, row};
    if (last != NULL) row = weft_intrinsic_call(e, "llvm.smin", 1, &e->i64, 2, either);
    return LLVMBuildMul(e->builder, row, step, "");
}

/* The last lane of a part that is valid, which may be one of those before; NULL: all are. */
static LLVMValueRef last_lane(weft_emitter *e, uint32_t part)
{
    int64_t later = (int64_t)e->lane.width * (e->lane.parts - 1 - part);
    if (weft_lane_mask(e, part) == NULL) return NULL;
    return LLVMBuildAdd(e->builder, e->lane.left, weft_int(e, later - 1), "");
}

static void read_part(weft_emitter *e, const weft_inst *inst, LLVMValueRef memory, LLVMValueRef mask, uint32_t part)
{
    LLVMTypeRef element = weft_memory_type(e, inst->dtype), type = weft_vector_type(element, e->lane.width);
    LLVMValueRef vectors[WEFT_MAX_WIDTH], base = weft_buffer_pointer(e, inst->buffer);
    LLVMValueRef first = weft_index_pointer(e, element, base, inst->index, part);
    weft_lane_stride stride = weft_index_lane_stride(e, inst->index);
    bool is_known = stride.kind == WEFT_LANE_STRIDE_CONSTANT;
    LLVMValueRef step = is_known ? weft_int(e, stride.step) : weft_index_emit(e, stride.stride, part);
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef last = last_lane(e, part);
    /* Hides the rows from LLVM's loop strength reduction. */
    first = LLVMBuildFreeze(e->builder, first, "");
    for (uint32_t lane = 0; lane < e->lane.width; lane++) {
        LLVMValueRef offset = row_offset(e, last, step, lane);
        LLVMValueRef from = LLVMBuildGEP2(e->builder, element, first, &offset, 1, "");
        vectors[lane] = load_row(e, inst->dtype, type, from, mask);
    }
    weft_rows_transpose(e, inst->dtype, e->lane.width, vectors);
    for (uint32_t point = 0; point < e->lane.width; point++) {
        LLVMValueRef place = weft_int(e, (int64_t)point * e->lane.parts + part);
        LLVMBuildStore(e->builder, vectors[point], LLVMBuildGEP2(e->builder, type, memory, &place, 1, ""));
    }
}

void weft_turned_read(weft_emitter *e, const weft_stage *stage, LLVMValueRef left)
{
    weft_scope_move(e, weft_scope_top(e));
    LLVMValueRef mask = left == NULL ? NULL : weft_mask_below(e, left);
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        weft_turned_load *load = &e->turned[i];
        if (!load->is_open) continue;
        if (load->memory == NULL || load->parts < e->lane.parts) {
            LLVMTypeRef type = weft_vector_type(weft_memory_type(e, inst->dtype), e->lane.width);
            load->memory = weft_local_create(e, type, (uint64_t)e->lane.width * e->lane.parts);
            load->parts = e->lane.parts;
        }
        for (uint32_t part = 0; part < e->lane.parts; part++) read_part(e, inst, load->memory, mask, part);
    }
}

bool weft_turned_emit(weft_emitter *e, const weft_inst *inst, uint32_t level, weft_emitted *value)
{
    if (e->turned_row == NULL || !e->turned[inst - e->kernel->insts].is_open) return false;
    LLVMTypeRef type = weft_vector_type(weft_memory_type(e, inst->dtype), e->lane.width);
    weft_scope_move(e, level);
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        LLVMValueRef place = LLVMBuildMul(e->builder, e->turned_row, weft_int(e, e->lane.parts), "");
        place = LLVMBuildAdd(e->builder, place, weft_int(e, part), "");
        LLVMValueRef from = LLVMBuildGEP2(e->builder, type, e->turned[inst - e->kernel->insts].memory, &place, 1, "");
        value->parts[part] = weft_from_memory(e, inst->dtype, LLVMBuildLoad2(e->builder, type, from, ""));
    }
    return true;
}
