/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transpositions in registers. A stage that reads memory along its lanes and stores along the range around them would
 * store lane by lane. Here it takes blocks of a few rows: a vector of each row is loaded, the block is transposed by
 * shuffles, and each lane is a run of rows that is stored at once. The last block overlaps the one before where rows or
 * lanes are not whole blocks: it stores again what is there. Of rows that are known to be no longer than a vector a
 * mask leaves what there is.
 */
#include "backends/llvm/emit.h"
#include <string.h>

enum {
    SEGMENT_BYTES = 16, /* shuffles inside of these are the fastest ones */
    FEW_ROWS = 8,       /* rows of a block, where these are a segment or more: all fit in sixteen registers */
    MOST_ROWS = WEFT_MOST_TURNED,
    LINE = 64 /* bytes */
};

/* ---- which stages ---- */

/* Elements of a segment of a vector of `width`. */
static uint32_t segment_of(weft_dtype dtype, uint32_t width)
{
    return smaller((uint32_t)(SEGMENT_BYTES / weft_dtype_size(dtype)), width);
}

/* How the expression grows along `range`, inside of blocks of `count`. Where these overlap it has to grow everywhere in
 * the same way. */
static weft_lane_stride stride_along(weft_emitter *e, const weft_range *range, uint32_t count, weft_expr expr)
{
    weft_lane_state outer = e->lane;
    e->lane = (weft_lane_state){.variable = range->variable, .width = count, .parts = 1};
    weft_lane_stride stride = weft_index_lane_stride(e, expr);
    e->lane = outer;
    if (!stride.exact && weft_expr_divisor(e->exprs, range->extent) % count != 0) stride.kind = WEFT_LANE_STRIDE_ANY;
    return stride;
}

static bool is_stored(const weft_stage *stage, uint32_t buffer)
{
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (stage->stores[i].buffer == buffer) return true;
    return false;
}

/* A load whose address and conditions are known for all rows of a block from those of the first one. */
static bool is_row(weft_emitter *e, const weft_stage *stage, const weft_inst *inst, uint32_t rows)
{
    const weft_range *row = &stage->ranges[stage->range_count - 2], *lane = row + 1;
    if (inst->op != WEFT_SCALAR_load || inst->arg_count != 0 || is_stored(stage, inst->buffer)) return false;
    if (!weft_expr_uses(e->exprs, inst->index, lane->variable)) return false;
    if (stride_along(e, row, rows, inst->index).kind == WEFT_LANE_STRIDE_ANY) return false;
    for (uint32_t i = 0; i < inst->predicate_count; i++)
        if (stride_along(e, row, rows, inst->predicates[i]).kind == WEFT_LANE_STRIDE_ANY) return false;
    return true;
}

/* A store of what the stage loads, along the rows. */
static bool is_column(weft_emitter *e, const weft_stage *stage, const weft_store *store, uint32_t rows)
{
    const weft_range *row = &stage->ranges[stage->range_count - 2], *lane = row + 1;
    if (store->is_indirect || store->predicate_count != 0 || store->value < stage->inst_first) return false;
    weft_lane_stride along = stride_along(e, row, rows, store->index);
    weft_lane_stride across = stride_along(e, lane, lane->width, store->index);
    bool is_run = along.kind == WEFT_LANE_STRIDE_CONSTANT && along.step == 1;
    if (across.kind != WEFT_LANE_STRIDE_CONSTANT) return is_run && across.kind == WEFT_LANE_STRIDE_SYMBOLIC;
    return is_run && across.step != 1 && across.step != 0;
}

static bool may_reach(const weft_emitter *e, weft_expr extent, uint32_t count)
{
    int64_t least, most;
    weft_expr_range(e->exprs, extent, &least, &most);
    return most >= (int64_t)count;
}

/* Whether columns of arrays are stored in whole lines, of vectors of four bytes an element: of two halves the second
 * one may come when others of its set have taken the place of the line. */
static bool fills_lines(const weft_emitter *e, const weft_stage *stage, uint32_t width)
{
    enum { MANY = 4 * MOST_ROWS };
    int64_t least, most;
    weft_expr_range(e->exprs, stage->ranges[stage->range_count - 2].extent, &least, &most);
    bool fills = weft_emitter_has(e, WEFT_ISA_V4) && width == MOST_ROWS && (least >= MOST_ROWS || most >= MANY);
    for (uint32_t i = 0; i < stage->store_count; i++) {
        const weft_kernel_buffer *buffer = &e->kernel->buffers[stage->stores[i].buffer];
        fills &= buffer->local == 0 && weft_dtype_size(buffer->dtype) * MOST_ROWS == LINE;
    }
    return fills;
}

static uint32_t rows_of(const weft_emitter *e, const weft_stage *stage, uint32_t width)
{
    uint32_t rows = fills_lines(e, stage, width) ? MOST_ROWS : smaller(width, FEW_ROWS);
    for (uint32_t i = 0; i < stage->store_count; i++) {
        uint32_t segment = segment_of(e->kernel->buffers[stage->stores[i].buffer].dtype, width);
        if (segment > rows) rows = segment;
    }
    return rows;
}

uint32_t weft_transposed_rows(weft_emitter *e, const weft_stage *stage)
{
    if (e->gpu || stage->range_count < 2 || stage->accumulator_count != 0 || stage->store_count == 0) return 0;
    const weft_range *row = &stage->ranges[stage->range_count - 2], *lane = row + 1;
    if (row->bind != WEFT_BIND_SERIAL || lane->bind != WEFT_BIND_LANE || lane->width == 1) return 0;
    uint32_t rows = rows_of(e, stage, lane->width);
    if (weft_expr_uses(e->exprs, lane->extent, row->variable)) return 0;
    if (!may_reach(e, row->extent, rows) || !may_reach(e, lane->extent, lane->width)) return 0;
    for (uint32_t i = 0; i < stage->inst_count; i++)
        if (!is_row(e, stage, &e->kernel->insts[stage->inst_first + i], rows)) return 0;
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (!is_column(e, stage, &stage->stores[i], rows)) return 0;
    return rows;
}

bool weft_transposed_takes_masks(const weft_emitter *e, const weft_stage *stage)
{
    enum { WORD = 4 };
    bool takes = true;
    for (uint32_t i = 0; i < stage->inst_count; i++)
        takes &=
            weft_emitter_has(e, WEFT_ISA_V4) || weft_dtype_size(e->kernel->insts[stage->inst_first + i].dtype) >= WORD;
    return takes;
}

/* ---- loads ---- */

/* The expression `count` rows further on. */
static weft_expr shift(weft_emitter *e, const weft_range *row, uint32_t rows, weft_expr expr, uint32_t count)
{
    weft_lane_stride stride = stride_along(e, row, rows, expr);
    weft_expr by = stride.kind == WEFT_LANE_STRIDE_CONSTANT ? weft_expr_constant(e->exprs, stride.step) : stride.stride;
    return weft_expr_add(e->exprs, expr, weft_expr_mul(e->exprs, by, weft_expr_constant(e->exprs, count)));
}

static void load_row(weft_emitter *e, const weft_range *row, const weft_inst *inst, uint32_t number,
                     weft_emitted *out_value)
{
    uint32_t rows = e->lane.rows, level = weft_scope_top(e);
    weft_inst load = *inst;
    load.index = shift(e, row, rows, inst->index, number);
    weft_expr *predicates = weft_arena_allocate(&e->arena, (inst->predicate_count + 1) * sizeof *predicates);
    if (predicates == NULL) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return;
    }
    for (uint32_t i = 0; i < inst->predicate_count; i++)
        predicates[i] = shift(e, row, rows, inst->predicates[i], number);
    load.predicates = predicates;
    *out_value = (weft_emitted){.level = level, .serial = e->scopes[level].serial, .varying = true};
    weft_load_emit(e, &load, level, out_value);
}

/* The pointer to a block, hidden from LLVM's loop strength reduction, which takes longer for all rows and columns of it
 * than everything else does. */
static LLVMValueRef block_pointer(weft_emitter *e, LLVMTypeRef type, uint32_t buffer, weft_expr index)
{
    LLVMValueRef pointer = weft_index_pointer(e, type, weft_buffer_pointer(e, buffer), index, 0);
    weft_scope_move(e, weft_scope_top(e));
    return LLVMBuildFreeze(e->builder, pointer, "");
}

static LLVMValueRef advance(weft_emitter *e, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef count)
{
    return LLVMBuildGEP2(e->builder, type, pointer, &count, 1, "");
}

/* Whether the rows are vectors in memory. */
static bool is_plain(weft_emitter *e, const weft_range *lane, const weft_inst *inst)
{
    weft_lane_stride step = stride_along(e, lane, lane->width, inst->index);
    return inst->predicate_count == 0 && step.kind == WEFT_LANE_STRIDE_CONSTANT && step.step == 1;
}

static void load_plain(weft_emitter *e, const weft_range *row, const weft_inst *inst, LLVMValueRef *out_vectors)
{
    LLVMTypeRef element = weft_memory_type(e, inst->dtype), type = weft_vector_type(element, e->lane.width);
    weft_lane_stride stride = stride_along(e, row, e->lane.rows, inst->index);
    bool constant = stride.kind == WEFT_LANE_STRIDE_CONSTANT;
    LLVMValueRef by = constant ? NULL : weft_index_emit(e, stride.stride, 0);
    LLVMValueRef first = block_pointer(e, element, inst->buffer, inst->index), from = first;
    for (uint32_t i = 0; i < e->lane.rows; i++) {
        if (constant) from = advance(e, element, first, weft_int(e, (int64_t)i * stride.step));
        else if (i > 0) from = advance(e, element, from, by);
        LLVMValueRef loaded = LLVMBuildLoad2(e->builder, type, from, "");
        LLVMSetAlignment(loaded, weft_dtype_info_of(inst->dtype)->alignment);
        out_vectors[i] = weft_to_memory(e, inst->dtype, weft_from_memory(e, inst->dtype, loaded));
    }
}

/* As memory is to have them. */
static void load_rows(weft_emitter *e, const weft_range *row, const weft_inst *inst, LLVMValueRef *out_vectors)
{
    weft_emitted value;
    if (e->lane.mask == NULL && is_plain(e, row + 1, inst)) {
        load_plain(e, row, inst, out_vectors);
        return;
    }
    for (uint32_t i = 0; i < e->lane.rows && e->error == NULL; i++) {
        load_row(e, row, inst, i, &value);
        if (e->error != NULL) return;
        weft_scope_move(e, weft_scope_top(e));
        out_vectors[i] = weft_to_memory(e, inst->dtype, value.parts[0]);
    }
}

/* ---- shuffles ---- */

/* A block of `rows` vectors; an element is `unit` lanes of LLVM's vectors. */
typedef struct block {
    weft_emitter *e;
    uint32_t rows, width, unit, segment;
    LLVMValueRef vectors[MOST_ROWS];
} block;

/* Groups of elements of `x` and `y` in turn, from the lower or the upper half of each piece of `piece` elements. */
static LLVMValueRef interleave(const block *b, LLVMValueRef x, LLVMValueRef y, uint32_t upper, uint32_t piece,
                               uint32_t group)
{
    LLVMValueRef numbers[2 * WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < b->width; i++) {
        uint32_t within = i % piece, turn = within / group;
        uint32_t from = i - within + upper * piece / 2 + turn / 2 * group + within % group + turn % 2 * b->width;
        for (uint32_t k = 0; k < b->unit; k++)
            numbers[i * b->unit + k] = LLVMConstInt(b->e->i32, from * b->unit + k, false);
    }
    return LLVMBuildShuffleVector(b->e->builder, x, y, LLVMConstVector(numbers, b->width * b->unit), "");
}

/* One step: of the number of a vector, the digit of weight `apart` becomes the highest digit of the place in a piece;
 * that moves up by one, above `group`, and out at the top, to where the digit was. */
static void exchange(block *b, uint32_t apart, uint32_t piece, uint32_t group)
{
    for (uint32_t i = 0; i < b->rows; i++) {
        if ((i & apart) != 0) continue;
        LLVMValueRef x = b->vectors[i], y = b->vectors[i + apart];
        b->vectors[i] = interleave(b, x, y, 0, piece, group);
        b->vectors[i + apart] = interleave(b, x, y, 1, piece, group);
    }
}

/* First the rows of every segment are transposed by themselves, then segments of one column, which are whole runs of
 * rows, come to lie one after the other. */
static void transpose(block *b)
{
    for (uint32_t apart = 1; apart < b->rows; apart *= 2)
        exchange(b, apart, apart < b->segment ? b->segment : b->width, apart);
}

/* Digits of two in the other order, the highest of `count` values last. */
static uint32_t reversed(uint32_t number, uint32_t count)
{
    uint32_t result = 0;
    for (; count > 1; count /= 2, number /= 2) result = 2 * result + number % 2;
    return result;
}

/* The run of rows of a lane, of a block that is transposed. */
static LLVMValueRef column(const block *b, uint32_t lane)
{
    uint32_t segment = lane / b->segment, runs = b->width / b->rows;
    uint32_t vector =
        reversed(lane % b->segment, b->segment) + reversed(segment / runs, b->rows / b->segment) * b->segment;
    LLVMValueRef numbers[2 * WEFT_MAX_WIDTH], whole = b->vectors[vector], none = LLVMGetPoison(LLVMTypeOf(whole));
    uint32_t first = segment % runs * b->rows * b->unit, count = b->rows * b->unit;
    if (runs == 1) return whole;
    for (uint32_t i = 0; i < count; i++) numbers[i] = LLVMConstInt(b->e->i32, first + i, false);
    return LLVMBuildShuffleVector(b->e->builder, whole, none, LLVMConstVector(numbers, count), "");
}

/* Hides what a vector is made of from later shuffles: LLVM would look for better ones, for longer than all else takes.
 * Of a `freeze` nothing is left when instructions have been selected. */
static LLVMValueRef hide(weft_emitter *e, LLVMValueRef vector, uint32_t bytes)
{
    LLVMTypeRef type = LLVMTypeOf(vector), element = LLVMGetElementType(type), numbers = type;
    if (element != e->f32 && element != e->f64) numbers = LLVMVectorType(e->f32, bytes / sizeof(float));
    vector = LLVMBuildBitCast(e->builder, vector, numbers, "");
    vector = weft_intrinsic_call(e, "llvm.arithmetic.fence", 1, &numbers, 1, &vector);
    return LLVMBuildBitCast(e->builder, vector, type, "");
}

void weft_rows_transpose(weft_emitter *e, weft_dtype dtype, uint32_t count, LLVMValueRef *vectors)
{
    uint32_t segment = segment_of(dtype, e->lane.width), bytes = e->lane.width * (uint32_t)weft_dtype_size(dtype);
    block b = {.e = e, .rows = count, .width = e->lane.width, .unit = 1, .segment = segment};
    memcpy(b.vectors, vectors, count * sizeof *vectors);
    for (uint32_t apart = 1; apart < count; apart *= 2) {
        exchange(&b, apart, apart < segment ? segment : b.width, apart);
        for (uint32_t i = 0; i < count; i++) b.vectors[i] = hide(e, b.vectors[i], bytes);
    }
    for (uint32_t i = 0; i < count; i++) vectors[i] = count == b.width ? column(&b, i) : b.vectors[reversed(i, count)];
}

/* ---- stores ---- */

/* Where a mask leaves part of the lanes, those after the last one are stored to its column before it is. */
static void store_masked(const block *b, LLVMTypeRef type, uint32_t alignment, LLVMValueRef first, LLVMValueRef by)
{
    weft_emitter *e = b->e;
    LLVMValueRef last = LLVMBuildSub(e->builder, e->lane.left, weft_int(e, 1), "");
    for (uint32_t i = b->width; i-- > 0;) {
        LLVMValueRef lane[2] = {last, weft_int(e, i)};
        LLVMValueRef number = weft_intrinsic_call(e, "llvm.umin", 1, &e->i64, 2, lane);
        LLVMValueRef to = advance(e, type, first, LLVMBuildMul(e->builder, number, by, ""));
        LLVMSetAlignment(LLVMBuildStore(e->builder, column(b, i), to), alignment);
    }
}

static void store_columns(const block *b, const weft_stage *stage, const weft_store *store)
{
    weft_emitter *e = b->e;
    const weft_range *lane = &stage->ranges[stage->range_count - 1];
    weft_dtype dtype = e->kernel->buffers[store->buffer].dtype;
    LLVMTypeRef type = weft_memory_type(e, dtype);
    weft_lane_stride stride = stride_along(e, lane, lane->width, store->index);
    bool constant = stride.kind == WEFT_LANE_STRIDE_CONSTANT;
    LLVMValueRef by = constant ? weft_int(e, stride.step) : weft_index_emit(e, stride.stride, 0);
    LLVMValueRef first = block_pointer(e, type, store->buffer, store->index), to = first;
    if (e->lane.mask != NULL) {
        store_masked(b, type, weft_dtype_info_of(dtype)->alignment, first, by);
        return;
    }
    LLVMValueRef pointers[WEFT_MAX_WIDTH], columns[WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < b->width; i++) {
        if (constant) to = advance(e, type, first, weft_int(e, (int64_t)i * stride.step));
        else if (i > 0) to = advance(e, type, to, by);
        pointers[i] = to;
        columns[i] = column(b, i);
    }
    bool are_lines = constant && b->rows * weft_dtype_size(dtype) >= LINE && weft_nontemporal_fits(e, store);
    if (are_lines && weft_nontemporal_emit(e, store->buffer, b->rows, stride.step, b->width, pointers, columns)) return;
    for (uint32_t i = 0; i < b->width; i++)
        LLVMSetAlignment(LLVMBuildStore(e->builder, columns[i], pointers[i]), weft_dtype_info_of(dtype)->alignment);
}

void weft_transposed_emit(weft_emitter *e, const weft_stage *stage)
{
    const weft_range *row = &stage->ranges[stage->range_count - 2];
    for (uint32_t s = 0; s < stage->store_count; s++) {
        const weft_store *store = &stage->stores[s];
        const weft_inst *inst = &e->kernel->insts[store->value];
        block b = {.e = e, .rows = e->lane.rows, .width = e->lane.width};
        b.unit = weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX ? 2 : 1;
        b.segment = segment_of(inst->dtype, b.width);
        load_rows(e, row, inst, b.vectors);
        if (e->error != NULL) return;
        transpose(&b);
        store_columns(&b, stage, store);
    }
}
