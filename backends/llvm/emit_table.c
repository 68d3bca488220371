/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <stdio.h>

enum { LANES = 8, COLUMNS = 4 }; /* of 64 bits, in a register of AVX-512; those that are read at once */

/* Private constants of the module, each there once it is used; their names begin with that of the kernel, because PTX
 * of several kernels may be put together. On a GPU they lie in global memory: lanes read different rows, which constant
 * memory serves one after the other. */
static LLVMValueRef create_table(weft_emitter *e, const weft_table *table, const char *name, LLVMTypeRef type)
{
    size_t count = (size_t)table->rows * table->columns;
    LLVMValueRef *elements = weft_arena_allocate(&e->arena, count * sizeof(LLVMValueRef));
    if (elements == NULL) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return LLVMGetPoison(e->pointer);
    }
    for (size_t i = 0; i < count; i++) elements[i] = LLVMConstReal(e->f64, table->data[i]);
    LLVMValueRef global = LLVMAddGlobalInAddressSpace(e->module, type, name, e->gpu ? 1 : 0);
    LLVMSetInitializer(global, LLVMConstArray2(e->f64, elements, count));
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(global, true);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 64);
    return global;
}

static LLVMValueRef find_table(weft_emitter *e, const weft_table *table)
{
    char name[256];
    size_t length;
    snprintf(name, sizeof name, "%s_%s", LLVMGetValueName2(e->function, &length), table->name);
    LLVMValueRef global = LLVMGetNamedGlobal(e->module, name);
    LLVMTypeRef type = LLVMArrayType2(e->f64, (uint64_t)table->rows * table->columns);
    return global != NULL ? global : create_table(e, table, name, type);
}

static LLVMValueRef load_rows(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef *indices,
                              uint32_t width)
{
    LLVMValueRef rows = indices[0], result = LLVMGetPoison(weft_vector_type(e->f64, width));
    for (uint32_t lane = 0; lane < width; lane++) {
        indices[0] = weft_element(e, rows, width, lane);
        LLVMValueRef place = LLVMBuildInBoundsGEP2(e->builder, row_type, global, indices, 2, "");
        LLVMValueRef element = LLVMBuildLoad2(e->builder, e->f64, place, "");
        if (width == 1) return element;
        result = LLVMBuildInsertElement(e->builder, result, element, LLVMConstInt(e->i32, lane, false), "");
    }
    return result;
}

static LLVMValueRef gather_rows(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef *indices,
                                uint32_t width)
{
    LLVMValueRef pointers = LLVMBuildInBoundsGEP2(e->builder, row_type, global, indices, 2, "");
    LLVMValueRef all = LLVMConstAllOnes(weft_vector_type(e->i1, width));
    return weft_gather_emit(e, weft_vector_type(e->f64, width), sizeof(double), pointers, all);
}

/* ---- several columns at once ---- */

/* Four columns of the rows of two lanes, side by side. */
static LLVMValueRef load_pair(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef rows,
                              uint32_t column, uint32_t lane)
{
    static const uint32_t all[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    LLVMValueRef halves[2];
    for (uint32_t i = 0; i < 2; i++) {
        LLVMValueRef indices[2] = {weft_element(e, rows, LANES, lane + LANES / 2 * i), weft_int(e, column)};
        LLVMValueRef place = LLVMBuildInBoundsGEP2(e->builder, row_type, global, indices, 2, "");
        halves[i] = LLVMBuildLoad2(e->builder, weft_vector_type(e->f64, COLUMNS), place, "");
        LLVMSetAlignment(halves[i], sizeof(double));
    }
    return weft_lanes_shuffle(e, halves[0], halves[1], LANES, all);
}

/*
 * One of four columns, which are transposed from the rows of eight lanes: the code of the other three is the same, and
 * there once. It takes less than four gathers.
 */
static LLVMValueRef transpose_rows(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef rows,
                                   uint32_t first, uint32_t chosen)
{
    static const uint32_t interleaved[2][LANES] = {{0, 8, 2, 10, 4, 12, 6, 14}, {1, 9, 3, 11, 5, 13, 7, 15}};
    static const uint32_t joined[2][LANES] = {{0, 1, 8, 9, 4, 5, 12, 13}, {2, 3, 10, 11, 6, 7, 14, 15}};
    LLVMValueRef sides[2];
    for (uint32_t i = 0; i < 2; i++) {
        LLVMValueRef pairs[2];
        for (uint32_t k = 0; k < 2; k++) pairs[k] = load_pair(e, row_type, global, rows, first, 2 * i + k);
        sides[i] = weft_lanes_shuffle(e, pairs[0], pairs[1], LANES, interleaved[chosen % 2]);
    }
    return weft_lanes_shuffle(e, sides[0], sides[1], LANES, joined[chosen / 2]);
}

/* The same for as many lanes as there are. */
static LLVMValueRef transpose_lanes(weft_emitter *e, const weft_table *table, LLVMTypeRef row_type, LLVMValueRef rows,
                                    uint32_t column, uint32_t width)
{
    uint32_t first = column / COLUMNS * COLUMNS;
    if (first + COLUMNS > table->columns) first = table->columns - COLUMNS;
    LLVMValueRef global = find_table(e, table), result = LLVMGetPoison(weft_vector_type(e->f64, width));
    for (uint32_t lane = 0; lane < width; lane += LANES) {
        LLVMValueRef some = weft_lanes_slice(e, rows, width, lane, LANES);
        LLVMValueRef piece = transpose_rows(e, row_type, global, some, first, column - first);
        result = weft_lanes_insert(e, result, piece, width, lane, LANES);
    }
    return result;
}

/* A row is taken apart once, which has to pay: two or three columns take as long as gathers. */
static bool transposes(const weft_emitter *e, const weft_table *table, uint32_t width)
{
    return weft_emitter_has(e, WEFT_ISA_V4) && width % LANES == 0 && table->columns >= 2 * COLUMNS;
}

static LLVMValueRef look_up(weft_emitter *e, const weft_table *table, uint32_t column, LLVMValueRef rows,
                            uint32_t width)
{
    LLVMTypeRef row_type = LLVMArrayType2(e->f64, table->columns), wide = weft_vector_type(e->i64, width);
    LLVMValueRef global = find_table(e, table);
    LLVMValueRef indices[2] = {LLVMBuildZExt(e->builder, rows, wide, ""), weft_int(e, column)};
    if (transposes(e, table, width)) return transpose_lanes(e, table, row_type, indices[0], column, width);
    bool gathers = width > 1 && e->processor->gathers;
    return (gathers ? gather_rows : load_rows)(e, row_type, global, indices, width);
}

/* Nothing is looked up where all lanes read the first row of a table that most elements read. */
LLVMValueRef weft_lookup_emit(weft_emitter *e, uint32_t level, const weft_inst *inst, LLVMValueRef rows)
{
    const weft_table *table = weft_table_of(inst->buffer);
    LLVMTypeRef shaped = LLVMTypeOf(rows);
    uint32_t width = LLVMGetTypeKind(shaped) == LLVMVectorTypeKind ? LLVMGetVectorSize(shaped) : 1;
    rows = LLVMBuildAnd(e->builder, rows, weft_int_like(shaped, table->rows - 1), "");
    if (width == 1 || !table->reads_first) return look_up(e, table, inst->number, rows, width);
    LLVMValueRef values[2] = {weft_splat(e, LLVMConstReal(e->f64, table->data[inst->number]), width)};
    LLVMBasicBlockRef blocks[2] = {LLVMGetInsertBlock(e->builder)};
    LLVMValueRef others = LLVMBuildICmp(e->builder, LLVMIntNE, rows, LLVMConstNull(shaped), "");
    weft_branch_open(e, level, weft_any_lane(e, others));
    values[1] = look_up(e, table, inst->number, rows, width);
    blocks[1] = LLVMGetInsertBlock(e->builder);
    weft_branch_close(e, level);
    LLVMValueRef result = LLVMBuildPhi(e->builder, LLVMTypeOf(values[0]), "");
    LLVMAddIncoming(result, values, blocks, 2);
    return result;
}
