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

LLVMValueRef weft_lookup_emit(weft_emitter *e, const weft_inst *inst, LLVMValueRef rows)
{
    const weft_table *table = weft_table_of(inst->buffer);
    char name[256];
    size_t length;
    snprintf(name, sizeof name, "%s_%s", LLVMGetValueName2(e->function, &length), table->name);
    LLVMTypeRef type = LLVMArrayType2(e->f64, (uint64_t)table->rows * table->columns);
    LLVMValueRef global = LLVMGetNamedGlobal(e->module, name);
    if (global == NULL) global = create_table(e, table, name, type);
    LLVMTypeRef shaped = LLVMTypeOf(rows), row_type = LLVMArrayType2(e->f64, table->columns);
    uint32_t width = LLVMGetTypeKind(shaped) == LLVMVectorTypeKind ? LLVMGetVectorSize(shaped) : 1;
    rows = LLVMBuildAnd(e->builder, rows, weft_int_like(shaped, table->rows - 1), "");
    LLVMValueRef result = LLVMGetPoison(weft_vector_type(e->f64, width));
    for (uint32_t lane = 0; lane < width; lane++) {
        LLVMValueRef row = LLVMBuildZExt(e->builder, weft_element(e, rows, width, lane), e->i64, "");
        LLVMValueRef indices[2] = {row, weft_int(e, inst->number)};
        LLVMValueRef place = LLVMBuildInBoundsGEP2(e->builder, row_type, global, indices, 2, "");
        LLVMValueRef element = LLVMBuildLoad2(e->builder, e->f64, place, "");
        if (width == 1) return element;
        result = LLVMBuildInsertElement(e->builder, result, element, LLVMConstInt(e->i32, lane, false), "");
    }
    return result;
}
