/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for rows at positions that are data, some positions ahead, where L2 does not hold their table. A processor
 * starts loads only as far ahead as it has room for instructions, which a few rows fill, and stores that miss wait for
 * each other. Single elements are asked for where much of their table comes from memory.
 */
#include "backends/llvm/emit.h"
#include "backends/llvm/emit_dtype.h"
#include "lib/loop/inst.h"

enum { LINE = 64, MOST_LINES = 16 };                                      /* of a row: bytes, how many */
enum { AHEAD = 4096, LEAST_ROWS = 8, MOST_ROWS = 32, SINGLE_AHEAD = 64 }; /* bytes and rows ahead */
enum { LARGE = 1 << 20 };                                                 /* bytes of a table */

/* ---- what is asked for ---- */

/* A row of a buffer, accessed at the position that was checked. */
typedef struct row_access {
    uint32_t buffer;
    weft_expr index;     /* without the position */
    weft_inst_id offset; /* the position times the elements from row to row */
    bool writes;
    int64_t step, bytes, rows; /* what is asked for: elements from row to row, bytes of one, rows ahead */
} row_access;

/* What is checked, as it is loaded; NULL: it is computed. */
static const weft_inst *loaded_position(const weft_emitter *e, const weft_inst *check)
{
    const weft_inst *inst = &e->kernel->insts[check->args[0]];
    if (inst->op == WEFT_SCALAR_cast) inst = &e->kernel->insts[inst->args[0]];
    return inst->op == WEFT_SCALAR_load && inst->arg_count == 0 && inst->predicate_count == 0 ? inst : NULL;
}

static const weft_range *range_at(const weft_emitter *e, uint32_t i)
{
    uint32_t outer = e->kernel->range_count;
    return i < outer ? &e->kernel->ranges[i] : &e->stage->ranges[i - outer];
}

/* Whether the points of the stage walk through the elements at an index one by one, or read one again: then all that
 * lies between two of them are elements too. */
static bool walks_through(const weft_emitter *e, weft_expr index)
{
    int64_t run = 1, distance, least, most;
    for (uint32_t i = e->kernel->range_count + e->stage->range_count; i-- > 0;) {
        const weft_range *range = range_at(e, i);
        weft_expr step, rest;
        if (!weft_expr_uses(e->exprs, index, range->variable)) continue;
        if (!weft_expr_affine(e->exprs, index, range->variable, &step, &rest)) return false;
        if (!weft_expr_is_constant(e->exprs, step, &distance) || distance != run) return false;
        weft_expr_range(e->exprs, range->extent, &least, &most);
        bool is_known = least == most || weft_extent_is_cut(e, range->extent);
        /* Nothing has the step 0 that it takes to follow. */
        if (!is_known || __builtin_mul_overflow(run, most, &run)) run = 0;
    }
    return true;
}

/* Elements from row to row; 0: not known. Without lanes rows may be single elements. */
static int64_t row_step(const weft_emitter *e, weft_inst_id check, weft_inst_id offset)
{
    const weft_inst *inst = &e->kernel->insts[offset];
    int64_t step;
    if (offset == check) return e->lane.variable == WEFT_EXPR_NONE;
    if (inst->op != WEFT_SCALAR_mul || inst->args[0] != check) return 0;
    const weft_inst *factor = &e->kernel->insts[inst->args[1]];
    bool is_known = factor->op == WEFT_SCALAR_index && weft_expr_is_constant(e->exprs, factor->index, &step);
    return is_known && step > 0 ? step : 0;
}

/* Elements of a row that are accessed before the next check: those of a round of lanes, or all. */
static int64_t row_extent(const weft_emitter *e, uint32_t level)
{
    int64_t least, most = 0;
    if (e->lane.variable == WEFT_EXPR_NONE) return 1;
    if (level >= e->lane.level) return (int64_t)e->lane.width * e->lane.parts;
    for (uint32_t i = 0; i < e->kernel->range_count + e->stage->range_count; i++)
        if (range_at(e, i)->variable == e->lane.variable)
            weft_expr_range(e->exprs, range_at(e, i)->extent, &least, &most);
    return most;
}

/* Whether lanes, if there are any, go along the row, whose first element is then at *index. */
static bool lies_along_lanes(weft_emitter *e, uint32_t level, weft_expr *index)
{
    weft_expr step, rest, zero = weft_expr_constant(e->exprs, 0);
    if (e->lane.variable == WEFT_EXPR_NONE) return true;
    if (!weft_expr_affine(e->exprs, *index, e->lane.variable, &step, &rest)) return false;
    if (level < e->lane.level) *index = weft_expr_substitute(e->exprs, *index, 1, &e->lane.variable, &zero);
    return step == weft_expr_constant(e->exprs, 1);
}

/* How many rows ahead of one of so many bytes to ask; 0: none. */
static int64_t rows_ahead(const weft_emitter *e, int64_t bytes, double table)
{
    double last = (double)e->processor->last_cache;
    if (e->lane.variable == WEFT_EXPR_NONE) return last != 0 && table >= last / 2 ? SINGLE_AHEAD : 0;
    if (table < LARGE || bytes < LINE) return 0;
    int64_t rows = AHEAD / bytes;
    return rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
}

/* Whether it is worth while; completes the row. */
static bool is_worth_asking(weft_emitter *e, weft_inst_id check, row_access *row)
{
    int64_t least, most, size = (int64_t)weft_dtype_size(e->kernel->buffers[row->buffer].dtype);
    uint32_t level = e->values[check].level;
    weft_expr_range(e->exprs, e->kernel->insts[check].index, &least, &most);
    row->step = row_step(e, check, row->offset);
    row->bytes = row_extent(e, level) * size;
    row->rows = rows_ahead(e, row->bytes, (double)most * (double)row->step * (double)size);
    return row->rows != 0 && lies_along_lanes(e, level, &row->index) && weft_index_level(e, row->index) <= level;
}

/* ---- asking ---- */

/* The position that is checked `rows` points later, or the last one. */
static LLVMValueRef position_ahead(weft_emitter *e, const weft_inst *position, uint32_t level, int64_t rows)
{
    LLVMTypeRef type = weft_memory_type(e, position->dtype);
    LLVMValueRef base = weft_buffer_pointer(e, position->buffer), now = weft_index_emit(e, position->index, 0);
    LLVMValueRef last = weft_index_emit(e, weft_index_at(e, e->stage, position->index, true), 0);
    weft_scope_move(e, level);
    LLVMValueRef later = LLVMBuildAdd(e->builder, now, weft_int(e, rows), "");
    LLVMValueRef is_there = LLVMBuildICmp(e->builder, LLVMIntSLT, later, last, "");
    LLVMValueRef index = LLVMBuildSelect(e->builder, is_there, later, last, "");
    LLVMValueRef found = LLVMBuildLoad2(e->builder, type, LLVMBuildGEP2(e->builder, type, base, &index, 1, ""), "");
    LLVMSetAlignment(found, weft_dtype_info_of(position->dtype)->alignment);
    return LLVMBuildIntCast2(e->builder, found, e->i64, is_signed(position->dtype), "");
}

static void ask_for_lines(weft_emitter *e, LLVMValueRef row, int64_t bytes, bool writes)
{
    for (int64_t i = 0; i < bytes && i < MOST_LINES * LINE; i += LINE) {
        LLVMValueRef distance = weft_int(e, i);
        LLVMValueRef args[4] = {LLVMBuildGEP2(e->builder, e->i8, row, &distance, 1, ""),
                                LLVMConstInt(e->i32, writes, false), LLVMConstInt(e->i32, 3, false),
                                LLVMConstInt(e->i32, 1, false)};
        weft_intrinsic_call(e, "llvm.prefetch", 1, &e->pointer, 4, args);
    }
}

static void ask_for_row(weft_emitter *e, weft_inst_id check, row_access row)
{
    if (!is_worth_asking(e, check, &row)) return;
    const weft_inst *position = loaded_position(e, &e->kernel->insts[check]);
    LLVMTypeRef type = weft_memory_type(e, e->kernel->buffers[row.buffer].dtype);
    LLVMValueRef first = weft_index_pointer(e, type, weft_buffer_pointer(e, row.buffer), row.index, 0);
    LLVMValueRef found = position_ahead(e, position, e->values[check].level, row.rows);
    LLVMValueRef offset = LLVMBuildMul(e->builder, found, weft_int(e, row.step), "");
    ask_for_lines(e, LLVMBuildGEP2(e->builder, type, first, &offset, 1, ""), row.bytes, row.writes);
}

/* Whether a store of the stage goes to the buffer. */
static bool is_stored(const weft_stage *stage, uint32_t buffer)
{
    bool stored = false;
    for (uint32_t i = 0; i < stage->store_count; i++) stored |= stage->stores[i].buffer == buffer;
    return stored;
}

void weft_prefetch_rows(weft_emitter *e, weft_inst_id check)
{
    const weft_stage *stage = e->stage;
    const weft_inst *position = stage == NULL ? NULL : loaded_position(e, &e->kernel->insts[check]);
    if (!weft_emitter_has(e, WEFT_ISA_V4) || position == NULL) return;
    const weft_kernel_buffer *buffer = &e->kernel->buffers[position->buffer];
    if (buffer->written || buffer->local != 0 || !walks_through(e, position->index)) return;
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_store *store = &stage->stores[i];
        if (store->is_indirect)
            ask_for_row(e, check, (row_access){store->buffer, store->index, store->offset, .writes = true});
    }
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *load = &e->kernel->insts[i];
        if (load->op != WEFT_SCALAR_load || load->arg_count == 0 || is_stored(stage, load->buffer)) continue;
        ask_for_row(e, check, (row_access){load->buffer, load->index, load->args[0], .writes = false});
    }
}
