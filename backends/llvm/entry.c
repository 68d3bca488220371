/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"

/* ---- the thread range ---- */

/* The variables of the threaded ranges at iteration `t`, row-major. */
static void decode(weft_emitter *e, uint32_t count, LLVMValueRef t, LLVMValueRef *out_values)
{
    for (uint32_t i = count; i-- > 1;) {
        LLVMValueRef extent = weft_index_emit(e, e->kernel->ranges[i].extent, 0);
        weft_scope_move(e, weft_scope_top(e));
        LLVMValueRef quotient = LLVMBuildUDiv(e->builder, t, extent, "");
        out_values[i] = LLVMBuildSub(e->builder, t, LLVMBuildMul(e->builder, quotient, extent, ""), "");
        t = quotient;
    }
    out_values[0] = t;
}

static void bind_values(weft_emitter *e, uint32_t count, const LLVMValueRef *values)
{
    for (uint32_t i = 0; i < count; i++)
        e->variables[e->variable_count++] =
            (weft_variable){e->kernel->ranges[i].variable, weft_scope_top(e), values[i]};
}

/* The next point of the first `count` threaded ranges: the innermost goes up, what reaches its extent carries. */
static void advance(weft_emitter *e, uint32_t count, LLVMValueRef *values)
{
    LLVMValueRef carry = weft_int(e, 1);
    for (uint32_t i = count; i-- > 0;) {
        LLVMValueRef next = LLVMBuildAdd(e->builder, values[i], carry, "");
        values[i] = next;
        if (i == 0) return;
        LLVMValueRef extent = weft_index_emit(e, e->kernel->ranges[i].extent, 0);
        weft_scope_move(e, weft_scope_top(e));
        LLVMValueRef wraps = LLVMBuildICmp(e->builder, LLVMIntEQ, next, extent, "");
        values[i] = LLVMBuildSelect(e->builder, wraps, weft_int(e, 0), next, "");
        carry = LLVMBuildZExt(e->builder, wraps, e->i64, "");
    }
}

static LLVMValueRef least(weft_emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, ""), a, b, "");
}

/*
 * for (t = begin; t < end;) a row: the last threaded range from where it stands to its end or to `end`. The ranges
 * around it move once a row. Carried: t, the outer variables, the start of the row.
 */
static void emit_rows(weft_emitter *e, uint32_t count, LLVMValueRef begin, LLVMValueRef end)
{
    LLVMValueRef carried[WEFT_MAX_THREADED + 2], next[WEFT_MAX_THREADED + 2];
    uint32_t last = count - 1;
    weft_expr extent_expr = e->kernel->ranges[last].extent;
    carried[0] = begin;
    decode(e, count, begin, carried + 1);
    LLVMValueRef extent = weft_index_emit(e, extent_expr, 0);
    weft_loop_open(e, count + 1, carried, carried);
    bind_values(e, last, carried + 1);
    LLVMValueRef t = carried[0], start = carried[count];
    LLVMValueRef in_row = LLVMBuildSub(e->builder, extent, start, "");
    LLVMValueRef length = least(e, in_row, LLVMBuildSub(e->builder, end, t, ""));
    LLVMValueRef limit = LLVMBuildAdd(e->builder, start, length, "");
    weft_count_open(e, e->kernel->ranges[last].variable, start);
    weft_ranges_emit(e);
    weft_count_close(e, limit, weft_int(e, 1));
    for (uint32_t i = 0; i < last; i++) next[1 + i] = carried[1 + i];
    advance(e, last, next + 1);
    next[0] = LLVMBuildAdd(e->builder, t, length, "");
    next[count] = weft_int(e, 0);
    weft_loop_close(e, LLVMBuildICmp(e->builder, LLVMIntSLT, next[0], end, ""), next);
}

static void emit_iterations(weft_emitter *e, LLVMValueRef begin, LLVMValueRef end)
{
    uint32_t count = weft_threaded_count(e);
    e->first_row = begin;
    e->end_row = end;
    if (count == 0) {
        weft_ranges_emit(e);
    } else if (count == 1) {
        weft_count_open(e, e->kernel->ranges[0].variable, begin);
        weft_ranges_emit(e);
        weft_count_close(e, end, weft_int(e, 1));
    } else {
        emit_rows(e, count, begin, end);
    }
}

/* ---- CPU: weft_kernel_function ---- */

static LLVMValueRef load_field(weft_emitter *e, LLVMValueRef frame, unsigned field)
{
    LLVMValueRef index = weft_int(e, field);
    LLVMValueRef address = LLVMBuildGEP2(e->builder, e->pointer, frame, &index, 1, "");
    return LLVMBuildLoad2(e->builder, e->pointer, address, "");
}

static void make_local_buffers(weft_emitter *e)
{
    for (uint32_t i = weft_kernel_argument_count(e->kernel); i < e->kernel->buffer_count; i++) {
        const weft_kernel_buffer *buffer = &e->kernel->buffers[i];
        uint64_t bytes = (uint64_t)buffer->local * weft_dtype_size(buffer->dtype);
        e->buffers[i] = LLVMBuildAlloca(e->builder, LLVMArrayType2(e->i8, bytes), "");
        LLVMSetAlignment(e->buffers[i], 64);
    }
}

/* Whether the scalars are those that the special function is for. */
static LLVMValueRef are_special(weft_emitter *e)
{
    const weft_special_kernel *special = e->special;
    LLVMValueRef all = NULL, least = weft_int(e, special->least), most = weft_int(e, special->most);
    for (size_t i = 0; i < special->count; i++) {
        LLVMValueRef index = weft_int(e, (int64_t)special->scalars[i]);
        LLVMValueRef address = LLVMBuildGEP2(e->builder, e->i64, e->scalar_array, &index, 1, "");
        LLVMValueRef scalar = LLVMBuildLoad2(e->builder, e->i64, address, "");
        all = weft_condition_both(e, all, LLVMBuildICmp(e->builder, LLVMIntSGE, scalar, least, ""));
        all = weft_condition_both(e, all, LLVMBuildICmp(e->builder, LLVMIntSLE, scalar, most, ""));
    }
    return all;
}

/* Leaves the iterations to the special function, if that is for these scalars; whether it is not. */
static LLVMValueRef emit_special(weft_emitter *e)
{
    LLVMValueRef is_special = are_special(e), arguments[3];
    weft_guard_open(e, is_special, false);
    LLVMGetParams(e->function, arguments);
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(e->special_function), e->special_function, arguments, 3, "");
    weft_guard_close(e);
    return LLVMBuildNot(e->builder, is_special, "");
}

/*
 * Whether vectors of a round may be more than registers hold. LLVM stores them where the stack happens to lie: most
 * across two lines, and in one process of some across two pages, where atan takes 1.6 times as long (Zen 5). Kernels
 * that compute that much and have no loops inside miss no register for an address; others do (a product of three long
 * ranges takes 1.3 times as long without).
 */
static bool may_spill_vectors(const weft_emitter *e)
{
    enum { STACK_BYTES = 16, LEAST = 128 }; /* what callers align the stack to; instructions of a round */
    const weft_kernel *kernel = e->kernel;
    uint32_t vectors = kernel->range_count != 0 ? kernel->ranges[kernel->range_count - 1].unroll : 1;
    if (kernel->stage_count != 1 || kernel->stages[0].range_count != 0) return false;
    return e->processor->vector_bytes > STACK_BYTES && kernel->inst_count * vectors >= LEAST;
}

void weft_entry_emit_cpu(weft_emitter *e, const char *symbol)
{
    LLVMTypeRef types[3] = {e->pointer, e->i64, e->i64};
    e->function = LLVMAddFunction(e->module, symbol, LLVMFunctionType(e->nothing, types, 3, false));
    weft_function_decorate(e, e->function);
    if (may_spill_vectors(e)) weft_function_align_stack(e, e->function);
    LLVMValueRef frame = LLVMGetParam(e->function, 0), begin = LLVMGetParam(e->function, 1),
                 end = LLVMGetParam(e->function, 2);
    weft_scope_start(e);
    e->buffer_array = load_field(e, frame, 0);
    e->scalar_array = load_field(e, frame, 1);
    e->error_slot = load_field(e, frame, 2);
    make_local_buffers(e);
    LLVMValueRef runs = LLVMBuildICmp(e->builder, LLVMIntSLT, begin, end, "");
    if (e->special != NULL) runs = LLVMBuildAnd(e->builder, runs, emit_special(e), "");
    weft_guard_open(e, runs, true);
    emit_iterations(e, begin, end);
    weft_guard_close(e);
    weft_nontemporal_close(e);
    LLVMBuildRetVoid(e->builder);
}

/* ---- GPU ---- */

static LLVMValueRef special_register(weft_emitter *e, const char *name)
{
    LLVMValueRef value = weft_intrinsic_call(e, name, 0, NULL, 0, NULL);
    return LLVMBuildZExt(e->builder, value, e->i64, "");
}

/* The parameters one by one: README.md. */
static void create_entry(weft_emitter *e, const char *symbol)
{
    uint32_t buffers = weft_kernel_argument_count(e->kernel), scalars = (uint32_t)weft_kernel_scalar_count(e->kernel);
    uint32_t count = buffers + scalars + 3;
    LLVMTypeRef *types = weft_arena_allocate(&e->arena, count * sizeof(LLVMTypeRef));
    if (types == NULL) return;
    for (uint32_t i = 0; i < count; i++) types[i] = i < buffers || i == buffers + scalars ? e->pointer : e->i64;
    e->function = LLVMAddFunction(e->module, symbol, LLVMFunctionType(e->nothing, types, count, false));
    LLVMSetFunctionCallConv(e->function, LLVMPTXKernelCallConv);
    weft_function_decorate(e, e->function);
    for (uint32_t i = 0; i < buffers; i++) e->buffers[i] = LLVMGetParam(e->function, i);
    for (uint32_t i = 0; i < scalars; i++) e->scalars[i] = LLVMGetParam(e->function, buffers + i);
    e->error_slot = LLVMGetParam(e->function, buffers + scalars);
}

void weft_entry_emit_gpu(weft_emitter *e, const char *symbol)
{
    create_entry(e, symbol);
    if (e->function == NULL) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return;
    }
    uint32_t parameters = LLVMCountParams(e->function), count = weft_threaded_count(e);
    LLVMValueRef begin = LLVMGetParam(e->function, parameters - 2), end = LLVMGetParam(e->function, parameters - 1);
    weft_scope_start(e);
    LLVMValueRef block = special_register(e, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    LLVMValueRef size = special_register(e, "llvm.nvvm.read.ptx.sreg.ntid.x");
    LLVMValueRef thread = special_register(e, "llvm.nvvm.read.ptx.sreg.tid.x");
    LLVMValueRef blocks = special_register(e, "llvm.nvvm.read.ptx.sreg.nctaid.x");
    LLVMValueRef first = LLVMBuildAdd(e->builder, LLVMBuildMul(e->builder, block, size, ""), thread, "");
    LLVMValueRef step = LLVMBuildMul(e->builder, blocks, size, "");
    first = LLVMBuildAdd(e->builder, begin, first, "");
    weft_guard_open(e, LLVMBuildICmp(e->builder, LLVMIntSLT, first, end, ""), true);
    LLVMValueRef t = weft_count_open(e, WEFT_EXPR_NONE, first), values[WEFT_MAX_THREADED];
    if (count != 0) decode(e, count, t, values);
    bind_values(e, count, values);
    weft_ranges_emit(e);
    weft_count_close(e, end, step);
    weft_guard_close(e);
    LLVMBuildRetVoid(e->builder);
}
