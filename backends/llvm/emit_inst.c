/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include "lib/loop/inst.h"
#include <string.h>

/* ---- where an instruction belongs ---- */

static bool is_effect(const weft_inst *inst)
{
    bool divides = inst->op == WEFT_SCALAR_div && weft_dtype_info_of(inst->dtype)->kind != WEFT_KIND_FLOAT;
    return inst->op == WEFT_SCALAR_load || weft_scalar_is_check(inst->op) || divides;
}

static void include(weft_emitter *e, weft_emitted *value, weft_expr expr)
{
    if (expr == WEFT_EXPR_NONE) return;
    uint32_t level = weft_index_level(e, expr);
    if (level > value->level) value->level = level;
    value->varying |= weft_index_varies(e, expr);
}

/* Memory that the kernel itself writes may hold a different value at every point; a local buffer has been filled by an
 * earlier stage. */
static uint32_t load_level(const weft_emitter *e, const weft_inst *inst, uint32_t level)
{
    const weft_kernel_buffer *buffer = &e->kernel->buffers[inst->buffer];
    if (buffer->written) return weft_scope_top(e);
    return buffer->local != 0 && level < e->stages_level ? e->stages_level : level;
}

weft_emitted weft_inst_place(weft_emitter *e, const weft_inst *inst)
{
    weft_emitted value = {.level = weft_predicates_level(e, inst->predicate_count, inst->predicates),
                          .varying = weft_predicates_vary(e, inst->predicate_count, inst->predicates)};
    include(e, &value, inst->index);
    include(e, &value, inst->position);
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        const weft_emitted *arg = &e->values[inst->args[i]];
        if (arg->level > value.level) value.level = arg->level;
        value.varying |= arg->varying;
    }
    if (is_effect(inst)) value.level = weft_effect_level(e, value.level);
    if (inst->op == WEFT_SCALAR_running) value.level = weft_scope_top(e);
    if (inst->op == WEFT_SCALAR_load) value.level = load_level(e, inst, value.level);
    value.serial = e->scopes[value.level].serial;
    return value;
}

/* ---- leaves ---- */

static void emit_index(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    if (!value->varying) {
        value->parts[0] = weft_index_emit(e, inst->index, 0);
        return;
    }
    for (uint32_t part = 0; part < e->lane.parts; part++) value->parts[part] = weft_index_lanes(e, inst->index, part);
}

/* A bool: whether predicates hold. */
static void emit_predicates(weft_emitter *e, uint32_t count, const weft_expr *predicates, weft_emitted *value)
{
    weft_condition condition;
    weft_condition_emit(e, value->level, count, predicates, &condition);
    weft_scope_move(e, value->level);
    LLVMValueRef scalar = condition.scalar == NULL ? LLVMConstInt(e->i1, 1, false) : condition.scalar;
    value->parts[0] = scalar;
    if (!value->varying) return;
    LLVMValueRef everywhere = weft_splat(e, scalar, e->lane.width);
    for (uint32_t part = 0; part < e->lane.parts; part++)
        value->parts[part] = LLVMBuildAnd(e->builder, everywhere, condition.masks[part], "");
}

/* What is at least zero where a comparison of positions holds, which takes no vectors of 64-bit integers if it changes
 * by one from lane to lane; NONE: it is another instruction. */
static weft_expr margin_of(weft_emitter *e, const weft_inst *inst, const weft_emitted *value)
{
    weft_expr margin = WEFT_EXPR_NONE;
    if (!value->varying || e->gpu || !weft_emitter_has(e, WEFT_ISA_V4)) return margin;
    if (weft_scalar_result_of(inst->op) == WEFT_RESULT_BOOL && inst->arg_count == 2)
        margin = weft_inst_margin(e->kernel, inst);
    if (margin == WEFT_EXPR_NONE || !weft_predicates_vary(e, 1, &margin)) return WEFT_EXPR_NONE;
    weft_lane_stride stride = weft_index_lane_stride(e, margin);
    bool is_unit = stride.kind == WEFT_LANE_STRIDE_CONSTANT && (stride.step == 1 || stride.step == -1);
    return is_unit ? margin : WEFT_EXPR_NONE;
}

static void emit_result(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    *value = e->results[(size_t)inst->buffer * WEFT_MAX_COMPONENTS + inst->number];
    if (weft_value_is_open(e, value->level, value->serial) && value->serial != 0) return;
    weft_emitter_fail(e, weft_status_create(e->allocator, WEFT_INTERNAL, "llvm",
                                            "the result of accumulator a%u is used where it is not available",
                                            inst->buffer));
    value->varying = false;
    value->level = 0;
    value->parts[0] = LLVMConstNull(weft_register_type(e, inst->dtype));
}

/* ---- data checks ---- */

/* Whether what is reported comes before what the slot has: at a lower position, or there by an earlier site. */
static LLVMValueRef comes_before(weft_emitter *e, LLVMBuilderRef builder, const LLVMValueRef *params)
{
    LLVMValueRef slot = params[0], position = params[1], two = weft_int(e, 2);
    /* Threads of a GPU share the slot. */
    if (e->gpu) {
        LLVMValueRef least =
            LLVMBuildAtomicRMW(builder, LLVMAtomicRMWBinOpMin, slot, position, LLVMAtomicOrderingMonotonic, false);
        return LLVMBuildICmp(builder, LLVMIntSLT, position, least, "");
    }
    LLVMValueRef least = LLVMBuildLoad2(builder, e->i64, slot, "");
    LLVMValueRef site = LLVMBuildLoad2(builder, e->i64, LLVMBuildGEP2(builder, e->i64, slot, &two, 1, ""), "");
    LLVMValueRef same = LLVMBuildICmp(builder, LLVMIntEQ, position, least, "");
    LLVMValueRef earlier = LLVMBuildAnd(builder, same, LLVMBuildICmp(builder, LLVMIntSLT, params[3], site, ""), "");
    return LLVMBuildOr(builder, LLVMBuildICmp(builder, LLVMIntSLT, position, least, ""), earlier, "");
}

/* void report(slot, position, value, site): keeps the lowest position, and of several there the first site. */
static LLVMValueRef create_report(weft_emitter *e, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMAddFunction(e->module, "weft_local_report", type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    weft_function_decorate(e, function);
    for (const char *const *name = (const char *const[]){"noinline", "cold", NULL}; *name != NULL; name++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(*name, strlen(*name));
        LLVMAttributeRef attribute = LLVMCreateEnumAttribute(e->context, kind, 0);
        LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
    }
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(e->context);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->context, function, "");
    LLVMBasicBlockRef lower = LLVMAppendBasicBlockInContext(e->context, function, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "");
    LLVMPositionBuilderAtEnd(builder, entry);
    LLVMValueRef params[4];
    LLVMGetParams(function, params);
    LLVMBuildCondBr(builder, comes_before(e, builder, params), lower, done);
    LLVMPositionBuilderAtEnd(builder, lower);
    for (unsigned i = e->gpu ? 1 : 0; i < 3; i++) {
        LLVMValueRef index = weft_int(e, i);
        LLVMBuildStore(builder, params[i + 1], LLVMBuildGEP2(builder, e->i64, params[0], &index, 1, ""));
    }
    LLVMBuildBr(builder, done);
    LLVMPositionBuilderAtEnd(builder, done);
    LLVMBuildRetVoid(builder);
    LLVMDisposeBuilder(builder);
    return function;
}

static void call_report(weft_emitter *e, LLVMValueRef position, LLVMValueRef value, uint32_t site)
{
    LLVMTypeRef types[4] = {e->pointer, e->i64, e->i64, e->i64};
    LLVMTypeRef type = LLVMFunctionType(e->nothing, types, 4, false);
    if (e->report == NULL) e->report = create_report(e, type);
    LLVMValueRef args[4] = {e->error_slot, position, value, weft_int(e, site)};
    LLVMBuildCall2(e->builder, type, e->report, args, 4, "");
}

/* The number of the first lane set in a mask. */
static LLVMValueRef first_lane(weft_emitter *e, LLVMValueRef bits, uint32_t width)
{
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, width);
    LLVMValueRef args[2] = {bits, LLVMConstInt(e->i1, 1, false)};
    return LLVMBuildIntCast2(e->builder, weft_intrinsic_call(e, "llvm.cttz", 1, &type, 2, args), e->i64, false, "");
}

/* Of the lanes that are set, the one with the lowest position: the first, unless positions fall along the lanes. */
static LLVMValueRef lowest_lane(weft_emitter *e, const weft_inst *inst, LLVMValueRef bad, LLVMValueRef position,
                                uint32_t width)
{
    weft_lane_stride stride = weft_index_lane_stride(e, inst->position);
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, width), lanes = LLVMTypeOf(position);
    if (stride.kind != WEFT_LANE_STRIDE_CONSTANT || stride.step < 0) {
        LLVMValueRef most = weft_splat(e, LLVMConstInt(e->i64, INT64_MAX, false), width);
        LLVMValueRef wanted = LLVMBuildSelect(e->builder, bad, position, most, "");
        LLVMValueRef least = weft_intrinsic_call(e, "llvm.vector.reduce.smin", 1, &lanes, 1, &wanted);
        bad = LLVMBuildICmp(e->builder, LLVMIntEQ, wanted, weft_splat(e, least, width), "");
    }
    return first_lane(e, LLVMBuildBitCast(e->builder, bad, bits, ""), width);
}

static LLVMValueRef zero_where(weft_emitter *e, LLVMValueRef bad, LLVMValueRef value)
{
    return LLVMBuildSelect(e->builder, bad, LLVMConstNull(LLVMTypeOf(value)), value, "");
}

/* Reports `bad` of one part: for lanes the one with the lowest position. Where it is given, a value is zero in their
 * place, in the branch that reports them alone. */
static void report_part(weft_emitter *e, const weft_inst *inst, const weft_emitted *scope, uint32_t part,
                        LLVMValueRef bad, LLVMValueRef offending, LLVMValueRef *value)
{
    weft_detour detour;
    LLVMValueRef replaced = NULL;
    uint32_t width = scope->varying ? e->lane.width : 1;
    LLVMValueRef position =
        width == 1 ? weft_index_emit(e, inst->position, part) : weft_index_lanes(e, inst->position, part);
    weft_scope_move(e, scope->level);
    weft_detour_open(e, scope->level, weft_any_lane(e, bad), &detour);
    if (value != NULL) replaced = zero_where(e, bad, *value);
    if (width > 1) {
        LLVMValueRef lane = lowest_lane(e, inst, bad, position, width);
        position = LLVMBuildExtractElement(e->builder, position, lane, "");
        offending = LLVMBuildExtractElement(e->builder, offending, lane, "");
    }
    call_report(e, position, LLVMBuildIntCast2(e->builder, offending, e->i64, true, ""), inst->number);
    weft_detour_close(e, scope->level, &detour);
    if (value != NULL) weft_detour_merge(e, &detour, 1, &replaced, value);
}

static bool is_never(LLVMValueRef condition)
{
    return LLVMIsConstant(condition) && LLVMIsNull(condition);
}

/* Reports `bad`, one for each part, where the instruction's predicates hold and the lane is valid. Values, if there are
 * any, are zero where it is bad. */
static void report_parts(weft_emitter *e, const weft_inst *inst, const weft_emitted *scope, LLVMValueRef *bad,
                         LLVMValueRef *offending, LLVMValueRef *values)
{
    weft_condition condition;
    weft_condition_emit(e, scope->level, inst->predicate_count, inst->predicates, &condition);
    for (uint32_t part = 0; part < (scope->varying ? e->lane.parts : 1); part++) {
        if (is_never(bad[part])) continue;
        weft_scope_move(e, scope->level);
        uint32_t width = scope->varying ? e->lane.width : 1;
        LLVMValueRef masks[3] = {scope->varying ? weft_lane_mask(e, part) : NULL, condition.masks[part],
                                 condition.scalar};
        bool reports_all = masks[0] == NULL && masks[1] == NULL && masks[2] == NULL;
        if (values != NULL && !reports_all) values[part] = zero_where(e, bad[part], values[part]);
        if (masks[2] != NULL) masks[2] = weft_splat(e, masks[2], width);
        for (int i = 0; i < 3; i++)
            if (masks[i] != NULL) bad[part] = LLVMBuildAnd(e->builder, bad[part], masks[i], "");
        report_part(e, inst, scope, part, bad[part], offending[part],
                    values != NULL && reports_all ? &values[part] : NULL);
    }
}

static void emit_check(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    if (weft_kernel_is_inside(e->kernel, e->intervals, inst->args[0], inst->index)) {
        for (uint32_t part = 0; part < (value->varying ? e->lane.parts : 1); part++)
            value->parts[part] = weft_value_part(e, &e->values[inst->args[0]], part, value->varying);
        return;
    }
    LLVMValueRef extent = weft_index_emit(e, inst->index, 0), bad[WEFT_MAX_PARTS], given[WEFT_MAX_PARTS];
    for (uint32_t part = 0; part < (value->varying ? e->lane.parts : 1); part++) {
        LLVMValueRef o = given[part] = weft_value_part(e, &e->values[inst->args[0]], part, value->varying);
        weft_scope_move(e, value->level);
        LLVMValueRef none = LLVMConstNull(LLVMTypeOf(o));
        LLVMValueRef limit = value->varying ? weft_splat(e, extent, e->lane.width) : extent;
        LLVMValueRef negative = LLVMBuildICmp(e->builder, LLVMIntSLT, o, none, "");
        LLVMValueRef wrapped = LLVMBuildAdd(e->builder, o, limit, "");
        value->parts[part] = inst->op == WEFT_SCALAR_within ? o : LLVMBuildSelect(e->builder, negative, wrapped, o, "");
        bad[part] = LLVMBuildICmp(e->builder, LLVMIntUGE, value->parts[part], limit, "");
    }
    report_parts(e, inst, value, bad, given, value->parts);
}

static void emit_division(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    LLVMValueRef bad[WEFT_MAX_PARTS], divisors[WEFT_MAX_PARTS];
    bool is_real = weft_division_is_real(e, inst, value);
    if (is_real) weft_division_emit(e, inst, value);
    for (uint32_t part = 0; part < (value->varying ? e->lane.parts : 1); part++) {
        LLVMValueRef a = weft_value_part(e, &e->values[inst->args[0]], part, value->varying);
        LLVMValueRef b = divisors[part] = weft_value_part(e, &e->values[inst->args[1]], part, value->varying);
        weft_scope_move(e, value->level);
        bad[part] = LLVMBuildICmp(e->builder, LLVMIntEQ, b, LLVMConstNull(LLVMTypeOf(b)), "");
        if (!is_real) value->parts[part] = weft_floor_divide(e, inst->dtype, a, b);
    }
    report_parts(e, inst, value, bad, divisors, NULL);
}

LLVMValueRef weft_operand_part(weft_emitter *e, const weft_inst *inst, uint32_t i, uint32_t part,
                               const weft_emitted *value)
{
    const weft_inst *source = &e->kernel->insts[inst->args[i]];
    bool is_constant = source->op == WEFT_SCALAR_const;
    bool is_vector = value->varying && e->lane.width > 1;
    bool is_stored = e->constants_stored && inst->op == WEFT_SCALAR_fma && is_constant && is_vector;
    bool is_narrow =
        is_constant && inst->op != WEFT_SCALAR_cast && weft_narrow_computes(e, inst) && source->dtype != WEFT_BOOL;
    if (!is_stored && !is_narrow) return weft_value_part(e, &e->values[inst->args[i]], part, value->varying);
    weft_scope_move(e, value->level);
    if (is_stored) return weft_constant_load(e, source, part);
    return weft_splat(e, weft_narrow_constant(e, source), value->varying ? e->lane.width : 1);
}

void weft_arithmetic_emit(weft_emitter *e, const weft_inst *inst, weft_emitted *value)
{
    weft_dtype from = e->kernel->insts[inst->args[inst->arg_count - 1]].dtype;
    bool is_narrow = weft_narrow_computes(e, inst);
    bool rounds = e->bf16 != NULL && inst->op == WEFT_SCALAR_cast && inst->dtype == WEFT_BF16 && from == WEFT_F32;
    for (uint32_t part = 0; part < (value->varying ? e->lane.parts : 1); part++) {
        LLVMValueRef args[3];
        for (uint32_t i = 0; i < inst->arg_count; i++) args[i] = weft_operand_part(e, inst, i, part, value);
        weft_scope_move(e, value->level);
        if (inst->op == WEFT_SCALAR_lookup) value->parts[part] = weft_lookup_emit(e, value->level, inst, args[0]);
        else if (is_narrow) value->parts[part] = weft_narrow_emit(e, inst, args);
        else if (rounds) value->parts[part] = weft_bf16_round(e, args[0], e->bf16[inst->args[0]]);
        else value->parts[part] = weft_scalar_emit(e, inst, from, args);
    }
}

/* ---- all instructions ---- */

void weft_inst_emit_now(weft_emitter *e, weft_inst_id id)
{
    const weft_inst *inst = &e->kernel->insts[id];
    weft_emitted *value = &e->values[id];
    if (value->serial != 0 && weft_value_is_open(e, value->level, value->serial)) return;
    weft_expr margin;
    *value = weft_inst_place(e, inst);
    if (weft_mask_emit(e, inst, value)) return;
    weft_scope_move(e, value->level);
    switch (inst->op) {
    case WEFT_SCALAR_const: value->parts[0] = weft_constant_emit(e, inst->dtype, inst->bits); break;
    case WEFT_SCALAR_index: emit_index(e, inst, value); break;
    case WEFT_SCALAR_inside: emit_predicates(e, inst->predicate_count, inst->predicates, value); break;
    case WEFT_SCALAR_load: weft_load_emit(e, inst, value->level, value); break;
    case WEFT_SCALAR_result: emit_result(e, inst, value); break;
    case WEFT_SCALAR_running: weft_reduce_running(e, inst->buffer, inst->number, value); break;
    case WEFT_SCALAR_check:
    case WEFT_SCALAR_within:
        emit_check(e, inst, value);
        if (!value->varying) weft_prefetch_rows(e, id);
        break;
    default:
        margin = margin_of(e, inst, value);
        if (margin != WEFT_EXPR_NONE) emit_predicates(e, 1, &margin, value);
        else if (is_effect(inst) && !weft_narrow_computes(e, inst)) emit_division(e, inst, value);
        else if (inst->op == WEFT_SCALAR_rarely && !e->detours) weft_rarely_emit(e, id);
        else if (weft_quotients_share(e, inst, value)) weft_quotients_emit(e, inst, value);
        else if (weft_roots_multiply(e, inst, value)) weft_roots_emit(e, inst, value);
        else weft_arithmetic_emit(e, inst, value);
    }
}

void weft_inst_emit(weft_emitter *e, weft_inst_id id)
{
    if (e->common[id] != 0) {
        weft_inst_emit_now(e, id);
        return;
    }
    e->values[id] = weft_inst_place(e, &e->kernel->insts[id]);
    e->values[id].serial = 0; /* not emitted yet */
}
