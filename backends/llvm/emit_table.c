/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <stdio.h>
#include <string.h>

enum { LANES = 8, COLUMNS = 4 }; /* of 64 bits, in a register of AVX-512; those that are read at once */

static LLVMValueRef element_of(weft_emitter *e, const weft_table *table, size_t index)
{
    return LLVMConstReal(weft_register_type(e, table->dtype), table->data[index]);
}

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
    for (size_t i = 0; i < count; i++) elements[i] = element_of(e, table, i);
    LLVMValueRef global = LLVMAddGlobalInAddressSpace(e->module, type, name, e->gpu ? 1 : 0);
    LLVMSetInitializer(global, LLVMConstArray2(weft_register_type(e, table->dtype), elements, count));
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
    LLVMTypeRef type = LLVMArrayType2(weft_register_type(e, table->dtype), (uint64_t)table->rows * table->columns);
    return global != NULL ? global : create_table(e, table, name, type);
}

static LLVMValueRef load_rows(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef *indices,
                              uint32_t width)
{
    LLVMTypeRef type = LLVMGetElementType(row_type);
    LLVMValueRef rows = indices[0], result = LLVMGetPoison(weft_vector_type(type, width));
    for (uint32_t lane = 0; lane < width; lane++) {
        indices[0] = weft_element(e, rows, width, lane);
        LLVMValueRef place = LLVMBuildInBoundsGEP2(e->builder, row_type, global, indices, 2, "");
        LLVMValueRef element = LLVMBuildLoad2(e->builder, type, place, "");
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
    LLVMTypeRef type = LLVMGetElementType(row_type);
    uint32_t size = type == e->f64 ? sizeof(double) : sizeof(float);
    return weft_gather_emit(e, weft_vector_type(type, width), size, pointers, all);
}

/* ---- several columns at once ---- */

/* Four columns of the row of a lane, and where registers have eight lanes that of the fourth one after it beside it. */
static LLVMValueRef load_columns(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef rows,
                                 uint32_t column, uint32_t lane)
{
    static const uint32_t all[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(rows)), count = lanes / COLUMNS;
    LLVMValueRef halves[2];
    for (uint32_t i = 0; i < count; i++) {
        LLVMValueRef indices[2] = {weft_element(e, rows, lanes, lane + COLUMNS * i), weft_int(e, column)};
        LLVMValueRef place = LLVMBuildInBoundsGEP2(e->builder, row_type, global, indices, 2, "");
        halves[i] = LLVMBuildLoad2(e->builder, weft_vector_type(e->f64, COLUMNS), place, "");
        LLVMSetAlignment(halves[i], sizeof(double));
    }
    return count == 1 ? halves[0] : weft_lanes_shuffle(e, halves[0], halves[1], LANES, all);
}

/*
 * One of four columns, which are transposed from the rows of eight lanes, or four: the code of the other three is the
 * same, and there once. It takes less than four gathers, or than loads one by one.
 */
static LLVMValueRef transpose_rows(weft_emitter *e, LLVMTypeRef row_type, LLVMValueRef global, LLVMValueRef rows,
                                   uint32_t first, uint32_t chosen)
{
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(rows)), interleaved[LANES], joined[LANES];
    LLVMValueRef sides[2];
    for (uint32_t i = 0; i < lanes; i++) {
        interleaved[i] = i / 2 * 2 + chosen % 2 + i % 2 * lanes;
        joined[i] = i / 4 * 4 + chosen / 2 * 2 + i % 2 + i / 2 % 2 * lanes;
    }
    for (uint32_t i = 0; i < 2; i++) {
        LLVMValueRef pairs[2];
        for (uint32_t k = 0; k < 2; k++) pairs[k] = load_columns(e, row_type, global, rows, first, 2 * i + k);
        sides[i] = weft_lanes_shuffle(e, pairs[0], pairs[1], lanes, interleaved);
    }
    return weft_lanes_shuffle(e, sides[0], sides[1], lanes, joined);
}

/* The same for as many lanes as there are. */
static LLVMValueRef transpose_lanes(weft_emitter *e, const weft_table *table, LLVMTypeRef row_type, LLVMValueRef rows,
                                    uint32_t column, uint32_t width)
{
    uint32_t first = column / COLUMNS * COLUMNS;
    if (first + COLUMNS > table->columns) first = table->columns - COLUMNS;
    LLVMValueRef global = find_table(e, table), result = LLVMGetPoison(weft_vector_type(e->f64, width));
    uint32_t lanes = weft_emitter_has(e, WEFT_ISA_V4) && width % LANES == 0 ? LANES : COLUMNS;
    for (uint32_t lane = 0; lane < width; lane += lanes) {
        LLVMValueRef some = weft_lanes_slice(e, rows, width, lane, lanes);
        LLVMValueRef piece = transpose_rows(e, row_type, global, some, first, column - first);
        result = weft_lanes_insert(e, result, piece, width, lane, lanes);
    }
    return result;
}

/* A row is taken apart once, which has to pay: two or three columns take as long as gathers. */
static bool transposes(const weft_emitter *e, const weft_table *table, uint32_t width)
{
    return weft_emitter_has(e, WEFT_ISA_V3) && width % COLUMNS == 0 && table->columns >= 2 * COLUMNS &&
           table->dtype == WEFT_F64;
}

/* ---- tables in registers ---- */

/* Whether a column is a register, or two, of which an instruction takes lanes. */
static bool permutes(const weft_emitter *e, const weft_table *table, uint32_t width)
{
    weft_isa level = table->dtype == WEFT_F32 || table->rows == LANES ? WEFT_ISA_V3 : WEFT_ISA_V4;
    return table->rows >= LANES && table->rows <= WEFT_TABLE_REGISTER_ROWS && width > 1 && weft_emitter_has(e, level);
}

/* `count` rows of a column, after the last one the first again. */
static LLVMValueRef column_of(weft_emitter *e, const weft_table *table, uint32_t column, uint32_t first, uint32_t count)
{
    LLVMValueRef elements[WEFT_TABLE_REGISTER_ROWS];
    for (uint32_t i = 0; i < count; i++)
        elements[i] = element_of(e, table, (size_t)((first + i) % table->rows) * table->columns + column);
    return LLVMConstVector(elements, count);
}

/* The lower or the upper half of each row of a column of doubles. */
static LLVMValueRef halves_of(weft_emitter *e, const weft_table *table, uint32_t column, bool upper)
{
    LLVMValueRef elements[LANES];
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t bits;
        memcpy(&bits, &table->data[(size_t)i * table->columns + column], sizeof bits);
        elements[i] = LLVMConstInt(e->i32, upper ? bits >> 32 : bits & UINT32_MAX, false);
    }
    return LLVMConstVector(elements, LANES);
}

/* Four of eight doubles, which are two registers of AVX2: a register of halves at a time. */
static LLVMValueRef permute_doubles(weft_emitter *e, const weft_table *table, uint32_t column, LLVMValueRef rows)
{
    static const uint32_t both[LANES] = {0, 0, 2, 2, 4, 4, 6, 6}, joined[LANES] = {0, 9, 2, 11, 4, 13, 6, 15};
    LLVMValueRef lanes = LLVMBuildBitCast(e->builder, rows, weft_vector_type(e->i32, LANES), ""), halves[2];
    lanes = weft_lanes_shuffle(e, lanes, lanes, LANES, both);
    for (uint32_t i = 0; i < 2; i++)
        halves[i] = weft_intrinsic_call(e, "llvm.x86.avx2.permd", 0, NULL, 2,
                                        (LLVMValueRef[]){halves_of(e, table, column, i == 1), lanes});
    LLVMValueRef result = weft_lanes_shuffle(e, halves[0], halves[1], LANES, joined);
    return LLVMBuildBitCast(e->builder, result, weft_vector_type(e->f64, LANES / 2), "");
}

/* Of as many lanes as fit a register; the lowest bits of rows count. Where it takes two registers of floats, the next
 * bit chooses, as a sign: LLVM would compare it. */
static LLVMValueRef permute_piece(weft_emitter *e, const weft_table *table, uint32_t column, LLVMValueRef rows)
{
    enum { HALF = WEFT_TABLE_REGISTER_ROWS / 2, TOP = 28 };
    if (table->dtype == WEFT_F64 && !weft_emitter_has(e, WEFT_ISA_V4)) return permute_doubles(e, table, column, rows);
    LLVMValueRef lower = column_of(e, table, column, 0, HALF), upper = column_of(e, table, column, HALF, HALF);
    if (table->dtype == WEFT_F64 && table->rows == HALF)
        return weft_intrinsic_call(e, "llvm.x86.avx512.permvar.df.512", 0, NULL, 2, (LLVMValueRef[]){lower, rows});
    if (table->dtype == WEFT_F64)
        return weft_intrinsic_call(e, "llvm.x86.avx512.vpermi2var.pd.512", 0, NULL, 3,
                                   (LLVMValueRef[]){lower, rows, upper});
    LLVMValueRef both = column_of(e, table, column, 0, WEFT_TABLE_REGISTER_ROWS);
    if (weft_emitter_has(e, WEFT_ISA_V4))
        return weft_intrinsic_call(e, "llvm.x86.avx512.permvar.sf.512", 0, NULL, 2, (LLVMValueRef[]){both, rows});
    lower = weft_intrinsic_call(e, "llvm.x86.avx2.permps", 0, NULL, 2, (LLVMValueRef[]){lower, rows});
    if (table->rows == HALF) return lower;
    upper = weft_intrinsic_call(e, "llvm.x86.avx2.permps", 0, NULL, 2, (LLVMValueRef[]){upper, rows});
    LLVMValueRef sign = LLVMBuildShl(e->builder, rows, weft_int_like(LLVMTypeOf(rows), TOP), "");
    sign = LLVMBuildBitCast(e->builder, sign, LLVMTypeOf(lower), "");
    return weft_intrinsic_call(e, "llvm.x86.avx.blendv.ps.256", 0, NULL, 3, (LLVMValueRef[]){lower, upper, sign});
}

static LLVMValueRef permute_lanes(weft_emitter *e, const weft_table *table, uint32_t column, LLVMValueRef rows,
                                  uint32_t width)
{
    bool is_double = table->dtype == WEFT_F64;
    uint32_t lanes = (weft_emitter_has(e, WEFT_ISA_V4) ? 64 : 32) / (is_double ? sizeof(double) : sizeof(float));
    LLVMTypeRef integer = is_double ? e->i64 : e->i32;
    LLVMValueRef result = LLVMGetPoison(weft_vector_type(weft_register_type(e, table->dtype), width));
    rows = LLVMBuildIntCast2(e->builder, rows, weft_vector_type(integer, width), false, "");
    for (uint32_t first = 0; first < width; first += lanes) {
        uint32_t count = width - first < lanes ? width - first : lanes;
        LLVMValueRef some = weft_lanes_slice(e, rows, width, first, count);
        some = weft_lanes_insert(e, LLVMGetPoison(weft_vector_type(integer, lanes)), some, lanes, 0, count);
        LLVMValueRef piece = permute_piece(e, table, column, some);
        result = weft_lanes_insert(e, result, weft_lanes_slice(e, piece, lanes, 0, count), width, first, count);
    }
    return result;
}

static LLVMValueRef look_up(weft_emitter *e, const weft_table *table, uint32_t column, LLVMValueRef rows,
                            uint32_t width)
{
    LLVMTypeRef row_type = LLVMArrayType2(weft_register_type(e, table->dtype), table->columns);
    LLVMTypeRef wide = weft_vector_type(e->i64, width);
    LLVMValueRef global = find_table(e, table);
    LLVMValueRef indices[2] = {LLVMBuildZExt(e->builder, rows, wide, ""), weft_int(e, column)};
    if (transposes(e, table, width)) return transpose_lanes(e, table, row_type, indices[0], column, width);
    bool gathers = width > 1 && weft_emitter_has(e, WEFT_ISA_V4);
    return (gathers ? gather_rows : load_rows)(e, row_type, global, indices, width);
}

/* Nothing is looked up where all lanes read the first row of a table that most elements read. */
LLVMValueRef weft_lookup_emit(weft_emitter *e, uint32_t level, const weft_inst *inst, LLVMValueRef rows)
{
    const weft_table *table = weft_table_of(inst->buffer);
    LLVMTypeRef shaped = LLVMTypeOf(rows);
    uint32_t width = LLVMGetTypeKind(shaped) == LLVMVectorTypeKind ? LLVMGetVectorSize(shaped) : 1;
    if (permutes(e, table, width)) return permute_lanes(e, table, inst->number, rows, width);
    rows = LLVMBuildAnd(e->builder, rows, weft_int_like(shaped, table->rows - 1), "");
    if (width == 1 || !table->reads_first) return look_up(e, table, inst->number, rows, width);
    LLVMValueRef values[2] = {weft_splat(e, element_of(e, table, inst->number), width)};
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
