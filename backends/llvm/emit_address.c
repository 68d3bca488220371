/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit_access.h"

/* ---- where loads and stores that do not happen go ---- */

static LLVMValueRef zeros(weft_emitter *e)
{
    if (e->zeros != NULL) return e->zeros;
    e->zeros = weft_local_create(e, e->i8, PLACE_BYTES);
    LLVMTypeRef type = LLVMVectorType(e->i64, 4);
    for (int64_t i = 0; i < PLACE_BYTES; i += 32) {
        LLVMValueRef offset = weft_int(e, i);
        LLVMValueRef address = LLVMBuildGEP2(e->builder, e->i8, e->zeros, &offset, 1, "");
        LLVMSetAlignment(LLVMBuildStore(e->builder, LLVMConstNull(type), address), 32);
    }
    return e->zeros;
}

static LLVMValueRef scrap(weft_emitter *e)
{
    if (e->scrap == NULL) e->scrap = weft_local_create(e, e->i8, PLACE_BYTES);
    return e->scrap;
}

/* ---- accesses ---- */

LLVMValueRef weft_buffer_pointer(weft_emitter *e, uint32_t buffer)
{
    if (e->buffers[buffer] == NULL) {
        weft_scope_move(e, 0);
        LLVMValueRef index = weft_int(e, buffer);
        LLVMValueRef address = LLVMBuildGEP2(e->builder, e->pointer, e->buffer_array, &index, 1, "");
        e->buffers[buffer] = LLVMBuildLoad2(e->builder, e->pointer, address, "");
    }
    return e->buffers[buffer];
}

/* From a first lane to a later one, in elements; wraps, as pointers do, where no such element is accessed. */
static int64_t steps_to(const weft_access *access, uint64_t lane)
{
    return (int64_t)(lane * (uint64_t)access->step.step);
}

LLVMValueRef weft_access_part_pointer(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part)
{
    LLVMValueRef base = weft_buffer_pointer(e, buffer);
    LLVMValueRef pointer = access->first;
    bool constant = access->step.exact && access->step.kind == WEFT_LANE_STRIDE_CONSTANT;
    if (!constant) pointer = weft_index_pointer(e, access->type, base, access->index, part);
    else if (pointer == NULL) pointer = access->first = weft_index_pointer(e, access->type, base, access->index, 0);
    weft_scope_move(e, access->level);
    if (!constant || part == 0) return pointer;
    return offset_pointer(e, access->type, pointer, weft_int(e, steps_to(access, (uint64_t)part * e->lane.width)));
}

/* The terms of an index that differ from lane to lane. */
static weft_expr varying_terms(weft_emitter *e, weft_expr index)
{
    if (weft_expr_kind_of(e->exprs, index) != WEFT_EXPR_SUM) return index;
    weft_expr total = weft_expr_constant(e->exprs, 0);
    for (size_t i = 0; i < weft_expr_arity(e->exprs, index); i++) {
        weft_expr operand = weft_expr_operand(e->exprs, index, i);
        if (!weft_index_varies(e, operand)) continue;
        weft_expr factor = weft_expr_constant(e->exprs, weft_expr_coefficient_of(e->exprs, index, i));
        total = weft_expr_add(e->exprs, total, weft_expr_mul(e->exprs, operand, factor));
    }
    return total;
}

/* How many elements lanes without a stride are from the pointer that they share, which goes to *out_base. */
static LLVMValueRef varying_offsets(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part,
                                    LLVMValueRef *out_base)
{
    weft_expr moving = varying_terms(e, access->index), still = weft_expr_sub(e->exprs, access->index, moving);
    if (access->first == NULL)
        access->first = weft_index_pointer(e, access->type, weft_buffer_pointer(e, buffer), still, 0);
    *out_base = access->first;
    LLVMValueRef offsets = weft_index_lanes(e, moving, part);
    weft_scope_move(e, access->level);
    return offsets;
}

/* Pointers to each lane of a part, by chains of adds where there is a stride. */
static void lane_pointers(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part,
                          LLVMValueRef *out_pointers)
{
    uint32_t width = e->lane.width;
    if (access->step.kind == WEFT_LANE_STRIDE_ANY) {
        LLVMValueRef base, offsets = varying_offsets(e, access, buffer, part, &base);
        for (uint32_t i = 0; i < width; i++)
            out_pointers[i] = offset_pointer(e, access->type, base, weft_element(e, offsets, width, i));
        return;
    }
    bool constant = access->step.kind == WEFT_LANE_STRIDE_CONSTANT;
    LLVMValueRef stride = constant ? NULL : weft_index_emit(e, access->step.stride, 0);
    out_pointers[0] = weft_access_part_pointer(e, access, buffer, part);
    /* Hides the chain from LLVM's loop strength reduction, which takes longer for it than everything else does. */
    if (width > 1) out_pointers[0] = LLVMBuildFreeze(e->builder, out_pointers[0], "");
    for (uint32_t i = 1; i < width; i++)
        out_pointers[i] = constant ? offset_pointer(e, access->type, out_pointers[0], weft_int(e, steps_to(access, i)))
                                   : offset_pointer(e, access->type, out_pointers[i - 1], stride);
}

/* Bits that hold offsets which instruction `number` gives. What was checked is below an extent; with AVX-512 it is one
 * instruction to put it in as few bits. */
static uint32_t offset_bits_of(const weft_emitter *e, weft_inst_id number)
{
    const weft_inst *inst = &e->kernel->insts[number];
    int64_t least, most;
    uint32_t bits = 8;
    if (!weft_emitter_has(e, WEFT_ISA_V4) || (inst->op != WEFT_SCALAR_check && inst->op != WEFT_SCALAR_within))
        return 64;
    weft_expr_range(e->exprs, inst->index, &least, &most);
    while (bits < 64 && most > INT64_C(1) << bits) bits *= 2;
    return bits;
}

/* To where the value is made, if that is in another block than what uses it. */
static void position_after(weft_emitter *e, LLVMValueRef value)
{
    if (LLVMIsAInstruction(value) == NULL) return;
    LLVMBasicBlockRef block = LLVMGetInstructionParent(value);
    if (block == LLVMGetInsertBlock(e->builder)) return;
    LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(block));
}

/* Offsets of lanes go through memory, which takes a store of each vector and a load of each word of several lanes:
 * taking a vector register apart takes up to three instructions for each. All are stored before the first one is
 * loaded, each in the block where it was checked: LLVM compares all loads of a block with all stores before them. */
static void store_offsets(weft_emitter *e, weft_access *access)
{
    uint32_t width = e->lane.width, bits = access->offset_bits;
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, bits), vector = weft_vector_type(type, width);
    access->offsets = weft_local_create(e, e->i64, ((uint64_t)width * e->lane.parts * bits + 63) / 64);
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        LLVMValueRef lanes = access->offset->parts[part];
        weft_scope_move(e, access->level);
        position_after(e, lanes);
        LLVMValueRef to = offset_pointer(e, type, access->offsets, weft_int(e, (int64_t)part * width));
        lanes = LLVMBuildTruncOrBitCast(e->builder, lanes, vector, "");
        LLVMSetAlignment(LLVMBuildStore(e->builder, lanes, to), bits / 8);
    }
}

LLVMValueRef weft_access_load_offset(weft_emitter *e, const weft_access *access, LLVMValueRef offsets, uint32_t lane)
{
    uint32_t bits = access->offset_bits, bit = lane * bits;
    LLVMValueRef from = offset_pointer(e, e->i64, offsets, weft_int(e, bit / 64));
    LLVMValueRef word = LLVMBuildLoad2(e->builder, e->i64, from, "");
    if (bits == 64) return word;
    word = LLVMBuildLShr(e->builder, word, weft_int(e, bit % 64), "");
    return LLVMBuildAnd(e->builder, word, weft_int(e, (INT64_C(1) << bits) - 1), "");
}

LLVMValueRef weft_access_offsets(weft_emitter *e, weft_access *access, uint32_t part)
{
    if (access->offsets == NULL) store_offsets(e, access);
    weft_scope_move(e, access->level);
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, access->offset_bits);
    return offset_pointer(e, type, access->offsets, weft_int(e, (int64_t)part * e->lane.width));
}

void weft_access_add_offset(weft_emitter *e, weft_access *access, uint32_t part, uint32_t count, LLVMValueRef *pointers)
{
    if (access->offset == NULL) return;
    bool apart = access->offset->varying && e->lane.width > 1;
    if (apart && access->offsets == NULL) store_offsets(e, access);
    weft_scope_move(e, access->level);
    for (uint32_t i = 0; i < count; i++) {
        LLVMValueRef value = apart ? weft_access_load_offset(e, access, access->offsets, part * e->lane.width + i)
                                   : access->offset->parts[access->offset->varying ? part : 0];
        pointers[i] = offset_pointer(e, access->type, pointers[i], value);
    }
}

/* The lanes of a part that take part; NULL: all. */
static LLVMValueRef part_mask(weft_emitter *e, const weft_access *access, uint32_t part)
{
    return weft_condition_both(e, weft_lane_mask(e, part), access->condition.masks[part]);
}

uint32_t weft_access_known_lanes(const weft_emitter *e, const weft_access *access)
{
    uint32_t count = 0;
    if (e->lane.mask == NULL || access->condition.varying || access->step.step < 0) return 0;
    for (uint32_t i = 0; i < e->lane.width; i++) {
        LLVMValueRef lane = LLVMIsConstant(e->lane.mask) ? LLVMGetAggregateElement(e->lane.mask, i) : NULL;
        if (lane == NULL || LLVMIsAConstantInt(lane) == NULL) return 0;
        if (LLVMConstIntGetZExtValue(lane) == 1) count = i + 1;
    }
    return count;
}

/* Masked vector instructions exist for elements of four and eight bytes, and with AVX-512 for shorter ones. Before that
 * a function loads these where the mask is that of a condition. */
static bool is_contiguous(const weft_emitter *e, const weft_access *access)
{
    if (access->step.kind != WEFT_LANE_STRIDE_CONSTANT || offset_varies(access)) return false;
    if (access->step.step == 1 && weft_access_known_lanes(e, access) != 0) return true;
    bool masked = e->lane.mask != NULL || access->condition.varying;
    bool any_size = weft_emitter_has(e, WEFT_ISA_V4) || (!access->is_store && access->condition.varying);
    bool maskable = e->lane.width > 1 && (any_size || weft_dtype_size(access->dtype) >= 4);
    return (access->step.step == 1 || access->step.step == -1) && (maskable || !masked);
}

static LLVMValueRef reverse(weft_emitter *e, LLVMValueRef vector)
{
    return vector == NULL || e->lane.width == 1 ? vector : weft_reverse(e, vector, e->lane.width);
}

/* The mask of a contiguous access in the order of addresses, one lane for each number of an element. */
static LLVMValueRef address_mask(weft_emitter *e, const weft_access *access, LLVMValueRef mask)
{
    if (access->step.step < 0) mask = reverse(e, mask);
    bool is_complex = weft_dtype_info_of(access->dtype)->kind == WEFT_KIND_COMPLEX;
    return mask != NULL && is_complex ? weft_repeat_lanes(e, mask, 2) : mask;
}

/* The pointer to the lowest address of a contiguous part. */
static LLVMValueRef vector_pointer(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part)
{
    LLVMValueRef pointer = weft_access_part_pointer(e, access, buffer, part);
    weft_access_add_offset(e, access, part, 1, &pointer);
    if (access->step.step < 0)
        pointer = offset_pointer(e, access->type, pointer, weft_int(e, 1 - (int64_t)e->lane.width));
    return choose(e, access->condition.scalar, pointer, access->instead);
}

/* Pointers to each lane, those that take no part replaced. */
static void element_pointers(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part,
                             LLVMValueRef *out_pointers)
{
    lane_pointers(e, access, buffer, part, out_pointers);
    weft_access_add_offset(e, access, part, e->lane.width, out_pointers);
    LLVMValueRef mask = part_mask(e, access, part);
    for (uint32_t i = 0; i < e->lane.width; i++) {
        LLVMValueRef lane = mask == NULL ? NULL : weft_element(e, mask, e->lane.width, i);
        if (lane != NULL && LLVMIsAConstantInt(lane) != NULL && LLVMConstIntGetZExtValue(lane) == 1) lane = NULL;
        out_pointers[i] =
            choose(e, weft_condition_both(e, access->condition.scalar, lane), out_pointers[i], access->instead);
    }
}

/* The length of the next piece of `left` lanes: a power of two. */
static uint32_t piece_of(uint32_t left)
{
    while ((left & (left - 1)) != 0) left &= left - 1;
    return left;
}

/* ---- loads ---- */

/* The first `count` lanes, a power of two at a time. */
static LLVMValueRef load_pieces(weft_emitter *e, weft_access *access, LLVMValueRef pointer, uint32_t count)
{
    LLVMValueRef value = LLVMConstNull(weft_vector_type(access->type, e->lane.width));
    for (uint32_t first = 0, piece; first < count; first += piece) {
        piece = piece_of(count - first);
        LLVMTypeRef type = weft_vector_type(access->type, piece);
        LLVMValueRef from = offset_pointer(e, access->type, pointer, weft_int(e, first));
        LLVMValueRef lanes = aligned(LLVMBuildLoad2(e->builder, type, from, ""), access->dtype);
        value = weft_lanes_insert(e, value, lanes, e->lane.width, first, piece);
    }
    return value;
}

/*
 * As the processor's vectors: LLVM 19 takes longer ones apart itself, and may lose a condition that all lanes share
 * where the other lanes of the mask are known.
 */
LLVMValueRef weft_access_load_masked(weft_emitter *e, const weft_access *access, LLVMValueRef pointer,
                                     LLVMValueRef mask)
{
    uint32_t width = e->lane.width, native = e->processor->vector_bytes / (uint32_t)weft_dtype_size(access->dtype);
    if (native < 2) native = width;
    LLVMValueRef value = LLVMConstNull(weft_vector_type(access->type, width));
    for (uint32_t first = 0, count; first < width; first += count) {
        count = width - first < native ? width - first : native;
        LLVMTypeRef type = weft_vector_type(access->type, count);
        LLVMValueRef lanes = count == width ? mask : weft_lanes_slice(e, mask, width, first, count);
        LLVMValueRef args[4] = {offset_pointer(e, access->type, pointer, weft_int(e, first)),
                                LLVMConstInt(e->i32, weft_dtype_info_of(access->dtype)->alignment, false), lanes,
                                LLVMConstNull(type)};
        LLVMValueRef part = weft_intrinsic_call(e, "llvm.masked.load", 2, (LLVMTypeRef[]){type, e->pointer}, 4, args);
        if (count == width) return part;
        value = weft_lanes_insert(e, value, part, width, first, count);
    }
    return value;
}

LLVMValueRef weft_access_load_lanes(weft_emitter *e, weft_access *access, LLVMValueRef pointer, uint32_t count)
{
    uint32_t size = (uint32_t)weft_dtype_size(access->dtype);
    bool is_one = weft_emitter_has(e, WEFT_ISA_V4) && size >= 4 && e->lane.width * size <= e->processor->vector_bytes;
    bool is_complex = weft_dtype_info_of(access->dtype)->kind == WEFT_KIND_COMPLEX;
    if (!is_one || is_complex || piece_of(count) == count) return load_pieces(e, access, pointer, count);
    return weft_access_load_masked(e, access, pointer, weft_mask_below(e, weft_int(e, count)));
}

static LLVMValueRef load_contiguous(weft_emitter *e, weft_access *access, const weft_inst *load, uint32_t part)
{
    LLVMValueRef pointer = vector_pointer(e, access, load->buffer, part);
    LLVMTypeRef type = weft_vector_type(access->type, e->lane.width);
    LLVMValueRef mask = address_mask(e, access, part_mask(e, access, part)), value;
    uint32_t known = part + 1 == e->lane.parts ? weft_access_known_lanes(e, access) : 0;
    if (known != 0) return weft_access_load_lanes(e, access, pointer, known);
    if (mask == NULL) {
        value = aligned(LLVMBuildLoad2(e->builder, type, pointer, ""), access->dtype);
        if (access->step.step > 0) weft_prefetch_load(e, load, access->type, pointer, part, access->level);
    } else if (weft_dtype_size(access->dtype) < 4 && !weft_emitter_has(e, WEFT_ISA_V4)) {
        value = weft_masked_load(e, access->dtype, type, pointer, mask);
    } else {
        value = weft_access_load_masked(e, access, pointer, mask);
        if (access->step.step > 0) weft_prefetch_load(e, load, access->type, pointer, part, access->level);
    }
    return access->step.step < 0 ? reverse(e, value) : value;
}

/* As varying_offsets, for any step, with the computed offset. */
static LLVMValueRef lane_offsets(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part,
                                 LLVMValueRef *out_base)
{
    LLVMValueRef offsets, numbers[WEFT_MAX_WIDTH];
    if (access->step.kind == WEFT_LANE_STRIDE_ANY) {
        offsets = varying_offsets(e, access, buffer, part, out_base);
    } else {
        bool constant = access->step.kind == WEFT_LANE_STRIDE_CONSTANT;
        LLVMValueRef stride = constant ? NULL : weft_index_emit(e, access->step.stride, 0);
        *out_base = weft_access_part_pointer(e, access, buffer, part);
        for (uint32_t i = 0; i < e->lane.width; i++)
            numbers[i] = weft_int(e, constant ? steps_to(access, i) : (int64_t)i);
        offsets = LLVMConstVector(numbers, e->lane.width);
        if (!constant) offsets = LLVMBuildMul(e->builder, offsets, weft_splat(e, stride, e->lane.width), "");
    }
    if (access->offset == NULL) return offsets;
    LLVMValueRef value = access->offset->parts[access->offset->varying ? part : 0];
    if (access->offset->varying) return LLVMBuildAdd(e->builder, offsets, value, "");
    *out_base = offset_pointer(e, access->type, *out_base, value);
    return offsets;
}

LLVMValueRef weft_gather_emit(weft_emitter *e, LLVMTypeRef type, uint32_t alignment, LLVMValueRef pointers,
                              LLVMValueRef mask)
{
    LLVMTypeRef types[2] = {type, LLVMTypeOf(pointers)};
    LLVMValueRef args[4] = {pointers, LLVMConstInt(e->i32, alignment, false), mask, LLVMConstNull(type)};
    return weft_intrinsic_call(e, "llvm.masked.gather", 2, types, 4, args);
}

static LLVMValueRef load_gathered(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part)
{
    LLVMValueRef base, offsets = lane_offsets(e, access, buffer, part, &base), mask = part_mask(e, access, part);
    LLVMTypeRef type = weft_vector_type(access->type, e->lane.width), masks = weft_vector_type(e->i1, e->lane.width);
    if (mask == NULL) mask = LLVMConstAllOnes(masks);
    if (access->condition.scalar != NULL)
        mask = LLVMBuildSelect(e->builder, access->condition.scalar, mask, LLVMConstNull(masks), "");
    LLVMValueRef pointers = offset_pointer(e, access->type, base, offsets);
    return weft_gather_emit(e, type, weft_dtype_info_of(access->dtype)->alignment, pointers, mask);
}

/* Sixteen elements of four bytes take half of the time that single loads take, eight of eight bytes the same. */
static bool is_gathered(const weft_emitter *e, const weft_access *access)
{
    return e->lane.width > 1 && !e->gpu && e->processor->gathers && weft_dtype_size(access->dtype) == 4;
}

static LLVMValueRef load_elements(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part)
{
    LLVMValueRef pointers[WEFT_MAX_WIDTH];
    element_pointers(e, access, buffer, part, pointers);
    LLVMValueRef vector = LLVMGetPoison(weft_vector_type(access->type, e->lane.width));
    for (uint32_t i = 0; i < e->lane.width; i++) {
        LLVMValueRef element = aligned(LLVMBuildLoad2(e->builder, access->type, pointers[i], ""), access->dtype);
        if (e->lane.width == 1) return element;
        vector = weft_element_insert(e, vector, element, i);
    }
    return vector;
}

/* Whether lanes without a step are loaded as two runs, each of elements side by side, or of one element. */
static bool is_wrapped(weft_emitter *e, const weft_access *access, weft_lane_wrap *wrap)
{
    if (access->step.kind != WEFT_LANE_STRIDE_ANY || e->gpu || e->lane.width == 1 || e->lane.mask != NULL) return false;
    if (access->offset != NULL || access->condition.varying || access->condition.scalar != NULL) return false;
    if (weft_dtype_info_of(access->dtype)->kind == WEFT_KIND_COMPLEX) return false;
    if (!weft_index_lane_wrap(e, access->index, wrap)) return false;
    weft_isa least = weft_dtype_size(access->dtype) >= 4 ? WEFT_ISA_V3 : WEFT_ISA_V4;
    return wrap->step == 0 || (wrap->step == 1 && weft_emitter_has(e, least));
}

/* Where no lane is left for it, the second run is loaded where the first one is. */
static LLVMValueRef load_wrapped(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part,
                                 const weft_lane_wrap *wrap)
{
    LLVMValueRef base = weft_buffer_pointer(e, buffer), width = weft_int(e, e->lane.width);
    LLVMValueRef from = weft_index_pointer(e, access->type, base, access->index, part);
    LLVMValueRef then = weft_index_pointer(e, access->type, base, wrap->after, part);
    LLVMValueRef left = weft_index_emit(e, wrap->left, part);
    weft_scope_move(e, access->level);
    LLVMValueRef wraps = LLVMBuildICmp(e->builder, LLVMIntSLT, left, width, "");
    left = LLVMBuildSelect(e->builder, wraps, left, width, "");
    if (wrap->step == 1) then = offset_pointer(e, access->type, then, LLVMBuildNeg(e->builder, left, ""));
    then = LLVMBuildSelect(e->builder, wraps, then, from, "");
    LLVMValueRef first = weft_mask_below(e, left), runs[2];
    if (wrap->step == 1) {
        runs[0] = weft_access_load_masked(e, access, from, first);
        runs[1] = weft_access_load_masked(e, access, then, LLVMBuildNot(e->builder, first, ""));
    } else {
        for (int i = 0; i < 2; i++) {
            LLVMValueRef element = LLVMBuildLoad2(e->builder, access->type, i == 0 ? from : then, "");
            runs[i] = weft_splat(e, aligned(element, access->dtype), e->lane.width);
        }
    }
    return LLVMBuildSelect(e->builder, first, runs[0], runs[1], "");
}

/* Whether the lanes of a part are picked from all bytes between them. */
static bool is_strided(const weft_emitter *e, const weft_access *access)
{
    return access->step.kind == WEFT_LANE_STRIDE_CONSTANT && access->condition.scalar == NULL &&
           !access->condition.varying && !offset_varies(access) &&
           weft_strided_fits(e, access->dtype, access->step.step);
}

static LLVMValueRef load_strided(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part)
{
    LLVMValueRef pointer = weft_access_part_pointer(e, access, buffer, part);
    weft_access_add_offset(e, access, part, 1, &pointer);
    return weft_strided_load(e, access->dtype, pointer, access->step.step);
}

static LLVMValueRef load_uniform(weft_emitter *e, weft_access *access, uint32_t buffer)
{
    LLVMValueRef pointer = weft_index_pointer(e, access->type, weft_buffer_pointer(e, buffer), access->index, 0);
    weft_scope_move(e, access->level);
    weft_access_add_offset(e, access, 0, 1, &pointer);
    pointer = choose(e, access->condition.scalar, pointer, access->instead);
    return aligned(LLVMBuildLoad2(e->builder, access->type, pointer, ""), access->dtype);
}

static void access_start(weft_emitter *e, weft_access *access, uint32_t level, uint32_t count,
                         const weft_expr *predicates, bool is_store)
{
    access->level = level;
    access->is_store = is_store;
    access->step = weft_index_lane_stride(e, access->index);
    weft_condition_emit(e, level, count, predicates, &access->condition);
    bool elementwise = !is_contiguous(e, access) && (e->lane.mask != NULL || access->condition.varying);
    if (access->condition.scalar != NULL || elementwise) access->instead = is_store ? scrap(e) : zeros(e);
    weft_scope_move(e, level);
}

static void load_pairs(weft_emitter *e, weft_access *access, const weft_inst *load, LLVMValueRef *out_parts)
{
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        LLVMValueRef pointer = vector_pointer(e, access, load->buffer, part);
        if (part % 2 == 0) weft_pairs_split(e, pointer, &out_parts[part]);
        weft_prefetch_load(e, load, access->type, pointer, part, access->level);
    }
}

void weft_load_emit(weft_emitter *e, const weft_inst *inst, uint32_t level, weft_emitted *value)
{
    if (weft_turned_emit(e, inst, level, value)) return;
    weft_access access = {.dtype = inst->dtype,
                          .type = weft_memory_type(e, inst->dtype),
                          .index = inst->index,
                          .offset = inst->arg_count != 0 ? &e->values[inst->args[0]] : NULL,
                          .offset_bits = inst->arg_count != 0 ? offset_bits_of(e, inst->args[0]) : 0};
    access_start(e, &access, level, inst->predicate_count, inst->predicates, false);
    if (value->varying && e->lane.paired) {
        load_pairs(e, &access, inst, value->parts);
        return;
    }
    weft_nearby near;
    weft_lane_wrap wrap;
    bool picks = value->varying && !is_contiguous(e, &access) && weft_near_find(e, &access, &near);
    bool wraps = value->varying && !picks && is_wrapped(e, &access, &wrap);
    bool in_rows = value->varying && !picks && !wraps && !is_contiguous(e, &access);
    bool in_function = inst->arg_count != 0 && weft_lanes_are_called(e, &access, inst->args[0]);
    for (uint32_t part = 0; part < (value->varying ? e->lane.parts : 1); part++) {
        LLVMValueRef loaded = in_rows ? weft_rows_load(e, inst, level, part) : NULL;
        if (loaded == NULL)
            loaded = !value->varying             ? load_uniform(e, &access, inst->buffer)
                     : is_contiguous(e, &access) ? load_contiguous(e, &access, inst, part)
                     : picks                     ? weft_near_load(e, &access, inst->buffer, part, &near)
                     : wraps                     ? load_wrapped(e, &access, inst->buffer, part, &wrap)
                     : is_strided(e, &access)    ? load_strided(e, &access, inst->buffer, part)
                     : is_gathered(e, &access)   ? load_gathered(e, &access, inst->buffer, part)
                     : in_function               ? weft_lanes_call(e, &access, inst->buffer, part)
                                                 : load_elements(e, &access, inst->buffer, part);
        value->parts[part] = weft_from_memory(e, inst->dtype, loaded);
    }
}

/* ---- stores ---- */

static void store_lanes(weft_emitter *e, weft_access *access, LLVMValueRef pointer, LLVMValueRef value, uint32_t count)
{
    for (uint32_t first = 0, piece; first < count; first += piece) {
        piece = piece_of(count - first);
        LLVMValueRef to = offset_pointer(e, access->type, pointer, weft_int(e, first));
        LLVMValueRef lanes = weft_lanes_slice(e, value, e->lane.width, first, piece);
        aligned(LLVMBuildStore(e->builder, lanes, to), access->dtype);
    }
}

void weft_masked_store_emit(weft_emitter *e, weft_dtype dtype, LLVMValueRef pointer, LLVMValueRef value,
                            LLVMValueRef mask)
{
    LLVMValueRef alignment = LLVMConstInt(e->i32, weft_dtype_info_of(dtype)->alignment, false);
    LLVMValueRef args[4] = {value, pointer, alignment, mask};
    weft_intrinsic_call(e, "llvm.masked.store", 2, (LLVMTypeRef[]){LLVMTypeOf(value), e->pointer}, 4, args);
}

static void store_contiguous(weft_emitter *e, weft_access *access, const weft_store *store, uint32_t part,
                             LLVMValueRef value)
{
    LLVMValueRef pointer = vector_pointer(e, access, store->buffer, part), mask = part_mask(e, access, part);
    mask = address_mask(e, access, mask);
    uint32_t known = part + 1 == e->lane.parts ? weft_access_known_lanes(e, access) : 0;
    if (known != 0) {
        store_lanes(e, access, pointer, value, known);
        return;
    }
    if (access->step.step < 0) value = reverse(e, value);
    if (mask == NULL) {
        aligned(LLVMBuildStore(e->builder, value, pointer), access->dtype);
        if (access->step.step > 0) weft_prefetch_store(e, store, access->type, pointer, part);
        return;
    }
    weft_masked_store_emit(e, access->dtype, pointer, value, mask);
}

static void store_elements(weft_emitter *e, weft_access *access, uint32_t buffer, uint32_t part, LLVMValueRef value)
{
    LLVMValueRef pointers[WEFT_MAX_WIDTH];
    element_pointers(e, access, buffer, part, pointers);
    for (uint32_t i = 0; i < e->lane.width; i++) {
        LLVMValueRef element = weft_element(e, value, e->lane.width, i);
        aligned(LLVMBuildStore(e->builder, element, pointers[i]), access->dtype);
    }
}

static void store_uniform(weft_emitter *e, weft_access *access, uint32_t buffer, LLVMValueRef value)
{
    LLVMValueRef pointer = weft_index_pointer(e, access->type, weft_buffer_pointer(e, buffer), access->index, 0);
    weft_scope_move(e, access->level);
    weft_access_add_offset(e, access, 0, 1, &pointer);
    pointer = choose(e, access->condition.scalar, pointer, access->instead);
    aligned(LLVMBuildStore(e->builder, value, pointer), access->dtype);
}

/* Whether a run stores anything, where nothing else decides whether this store does; NULL where something else does. */
static LLVMValueRef decision_of_run(weft_emitter *e, const weft_store *store)
{
    weft_condition condition;
    uint32_t count = store->predicate_count;
    if (weft_predicates_vary(e, count, store->predicates) || weft_predicates_level(e, count, store->predicates) != 0)
        return NULL;
    weft_condition_emit(e, 0, count, store->predicates, &condition);
    return condition.scalar;
}

/* All vectors of a round past the caches, where that is to be and can be. */
static bool store_past_caches(weft_emitter *e, weft_access *access, const weft_store *store, weft_emitted *value)
{
    LLVMValueRef pointers[WEFT_MAX_PARTS], values[WEFT_MAX_PARTS];
    bool is_run = access->step.kind == WEFT_LANE_STRIDE_CONSTANT && access->step.step == 1 && access->step.exact;
    if (!is_run || e->lane.mask != NULL || !weft_nontemporal_fits(e, store)) return false;
    for (uint32_t part = 0; part < e->lane.parts; part++) {
        if (weft_lane_mask(e, part) != NULL) return false;
        LLVMValueRef register_value = weft_value_part(e, value, part, true);
        pointers[part] = vector_pointer(e, access, store->buffer, part);
        weft_scope_move(e, access->level);
        values[part] = weft_to_memory(e, access->dtype, register_value);
    }
    return weft_nontemporal_emit(e, store->buffer, e->lane.width, e->lane.width, e->lane.parts, pointers, values);
}

static void store_pairs(weft_emitter *e, weft_access *access, const weft_store *store, weft_emitted *value)
{
    LLVMValueRef pointers[WEFT_MAX_PARTS], pairs[WEFT_MAX_PARTS];
    uint32_t count = e->lane.parts / 2, width = 2 * e->lane.width;
    for (uint32_t i = 0; i < count; i++) {
        LLVMValueRef evens = weft_value_part(e, value, 2 * i, true), odds = weft_value_part(e, value, 2 * i + 1, true);
        pointers[i] = vector_pointer(e, access, store->buffer, 2 * i);
        weft_scope_move(e, access->level);
        pairs[i] = weft_pairs_join(e, evens, odds);
    }
    if (weft_nontemporal_fits(e, store) &&
        weft_nontemporal_emit(e, store->buffer, width, width, count, pointers, pairs))
        return;
    for (uint32_t i = 0; i < count; i++) {
        aligned(LLVMBuildStore(e->builder, pairs[i], pointers[i]), access->dtype);
        weft_prefetch_store(e, store, access->type, pointers[i], 2 * i);
    }
}

static void emit_store(weft_emitter *e, const weft_store *store, uint32_t predicate_count)
{
    weft_dtype dtype = e->kernel->buffers[store->buffer].dtype;
    weft_emitted *value = &e->values[store->value];
    uint32_t level = weft_scope_top(e);
    weft_access access = {.dtype = dtype,
                          .type = weft_memory_type(e, dtype),
                          .index = store->index,
                          .offset = store->is_indirect ? &e->values[store->offset] : NULL,
                          .offset_bits = store->is_indirect ? offset_bits_of(e, store->offset) : 0};
    bool varying = value->varying || weft_index_varies(e, store->index) || offset_varies(&access) ||
                   weft_predicates_vary(e, predicate_count, store->predicates);
    access_start(e, &access, level, predicate_count, store->predicates, true);
    if (e->lane.paired) {
        store_pairs(e, &access, store, value);
        return;
    }
    if (varying && store_past_caches(e, &access, store, value)) return;
    for (uint32_t part = 0; part < (varying ? e->lane.parts : 1); part++) {
        LLVMValueRef register_value = weft_value_part(e, value, part, varying);
        weft_scope_move(e, level);
        LLVMValueRef stored = weft_to_memory(e, dtype, register_value);
        if (!varying) store_uniform(e, &access, store->buffer, stored);
        else if (is_contiguous(e, &access)) store_contiguous(e, &access, store, part, stored);
        else store_elements(e, &access, store->buffer, part, stored);
    }
}

/* What is the same in all of a run is a branch, in place of a pointer to choose for each element. */
void weft_store_emit(weft_emitter *e, const weft_store *store)
{
    LLVMValueRef decision = decision_of_run(e, store);
    if (decision != NULL) weft_guard_open(e, decision, false);
    emit_store(e, store, decision == NULL ? store->predicate_count : 0);
    if (decision != NULL) weft_guard_close(e);
}
