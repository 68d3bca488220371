/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for rows early. A kernel of several stages reads a row again and again, as softmax does for its maximum and
 * for its powers; only the first stage waits for memory, and computes little meanwhile. What a processor fetches ahead
 * by itself it finds page by page: of rows that are hardly longer than a page it sees too little. So the stage that
 * computes most asks for the row after its own, or a later one where rows are short. Much longer rows would not stay in
 * L1 until they are read again, and ask for themselves.
 */
#include "backends/llvm/emit.h"

enum { LEAST_ROW = 256, MOST_ROW = 8192, LEAST_AHEAD = 1024, LINE = 64 }; /* bytes */

/* How a stage goes along rows of a buffer: elements from row to row, 0 where it does not, and bytes of a row. */
typedef struct row_walk {
    int64_t step, bytes;
} row_walk;

static row_walk walk_of(const weft_emitter *e, const weft_stage *stage, const weft_inst *load)
{
    const weft_kernel *kernel = e->kernel;
    weft_expr row = kernel->ranges[kernel->range_count - 1].variable, step, rest;
    row_walk walk = {0, 0};
    int64_t extent;
    if (load->op != WEFT_SCALAR_load || load->arg_count != 0 || load->predicate_count != 0) return walk;
    if (stage->range_count != 1 || !weft_expr_is_constant(e->exprs, stage->ranges[0].extent, &extent)) return walk;
    if (extent > MOST_ROW) return walk;
    if (!weft_expr_affine(e->exprs, load->index, row, &step, &rest)) return walk;
    if (!weft_expr_is_constant(e->exprs, step, &walk.step)) walk.step = 0;
    walk.bytes = extent * (int64_t)weft_dtype_size(load->dtype);
    return walk;
}

/* Whether the stage reads the buffer in such rows. */
static bool reads(const weft_emitter *e, const weft_stage *stage, uint32_t buffer, row_walk along)
{
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &e->kernel->insts[i];
        if (inst->op != WEFT_SCALAR_load || inst->buffer != buffer) continue;
        row_walk walk = walk_of(e, stage, inst);
        if (walk.step == along.step && walk.bytes == along.bytes) return true;
    }
    return false;
}

/* Whether no other stage that reads the rows again computes more. */
static bool computes_most(const weft_emitter *e, uint32_t buffer, row_walk along)
{
    const weft_stage *first = NULL, *most = NULL;
    for (uint32_t s = 0; s < e->kernel->stage_count; s++) {
        const weft_stage *stage = &e->kernel->stages[s];
        if (!reads(e, stage, buffer, along)) continue;
        if (first == NULL) first = stage;
        else if (most == NULL || stage->inst_count > most->inst_count) most = stage;
    }
    return most == e->stage;
}

/* Elements from what a contiguous load of the stage reads to what is to be asked for; 0: nothing is. */
static int64_t distance_of(const weft_emitter *e, const weft_inst *load)
{
    const weft_stage *stage = e->stage;
    if (!weft_emitter_has(e, WEFT_ISA_V4) || e->kernel->range_count == 0 || stage == NULL) return 0;
    if (e->kernel->stage_count == 1 || e->kernel->buffers[load->buffer].local != 0) return 0;
    row_walk walk = walk_of(e, stage, load);
    if (walk.step == 0 || walk.bytes < LEAST_ROW || walk.bytes > MOST_ROW) return 0;
    if (stage->ranges[0].variable != e->lane.variable) return 0;
    if (!computes_most(e, load->buffer, walk)) return 0;
    uint64_t rows = (uint64_t)((LEAST_AHEAD + walk.bytes - 1) / walk.bytes);
    return (int64_t)((uint64_t)walk.step * rows); /* wraps, as pointers do */
}

void weft_prefetch_emit(weft_emitter *e, const weft_inst *load, LLVMTypeRef type, LLVMValueRef pointer, uint32_t part)
{
    int64_t distance = distance_of(e, load), bytes = e->lane.width * (int64_t)weft_dtype_size(load->dtype);
    if (distance == 0 || part * bytes % LINE != 0) return;
    LLVMValueRef there = weft_int(e, distance);
    LLVMValueRef args[4] = {LLVMBuildGEP2(e->builder, type, pointer, &there, 1, ""), LLVMConstInt(e->i32, 0, false),
                            LLVMConstInt(e->i32, 3, false), LLVMConstInt(e->i32, 1, false)};
    weft_intrinsic_call(e, "llvm.prefetch", 1, &e->pointer, 4, args);
}
