/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <stdio.h>

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

static LLVMValueRef look_up(weft_emitter *e, const weft_table *table, uint32_t column, LLVMValueRef rows,
                            uint32_t width)
{
    LLVMTypeRef row_type = LLVMArrayType2(e->f64, table->columns), wide = weft_vector_type(e->i64, width);
    LLVMValueRef global = find_table(e, table);
    LLVMValueRef indices[2] = {LLVMBuildZExt(e->builder, rows, wide, ""), weft_int(e, column)};
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
