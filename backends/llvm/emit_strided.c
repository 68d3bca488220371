/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"

/*
 * Elements of one or two bytes at a stride, as a column of short rows has them: with AVX-512 all bytes from the first
 * lane's element to the last one's are loaded, and words picked from two vectors at a time; of a word that has a byte
 * the other one is shifted out.
 */

enum { LINE = 64, MOST_BYTES = 1024, WORD = 2 };

/* Bytes from the first element to the end of the last one. */
static int64_t span_of(const weft_emitter *e, weft_dtype dtype, int64_t step)
{
    return ((int64_t)(e->lane.width - 1) * step + 1) * (int64_t)weft_dtype_size(dtype);
}

bool weft_strided_fits(const weft_emitter *e, weft_dtype dtype, int64_t step)
{
    bool masks = e->lane.mask != NULL && (e->lane.parts > 1 || e->lane.left == NULL);
    if (e->gpu || !weft_emitter_has(e, WEFT_ISA_V4) || e->lane.width == 1 || masks) return false;
    if (weft_dtype_size(dtype) > WORD || step <= 1 || step >= MOST_BYTES) return false;
    int64_t span = span_of(e, dtype, step);
    return span >= 2 * WORD && span <= MOST_BYTES; /* one word is no vector */
}

/* The vectors of a load: of `length` bytes each, the last one of which ends with the last element. */
typedef struct strip {
    LLVMValueRef vectors[MOST_BYTES / LINE];
    int64_t begins[MOST_BYTES / LINE];
    int64_t length;
    uint32_t count;
} strip;

/* The bytes of a vector that begin below `valid`, an i64. */
static LLVMValueRef bytes_below(weft_emitter *e, LLVMValueRef valid, const strip *s, uint32_t v)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, (uint32_t)s->length);
    LLVMValueRef zero = weft_int(e, 0), length = weft_int(e, s->length);
    LLVMValueRef left = LLVMBuildSub(e->builder, valid, weft_int(e, s->begins[v]), "");
    left = LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, left, zero, ""), zero, left, "");
    LLVMValueRef all = LLVMBuildICmp(e->builder, LLVMIntSGE, left, length, "");
    LLVMValueRef shift = LLVMBuildIntCast2(e->builder, left, bits, false, "");
    LLVMValueRef rest = LLVMBuildShl(e->builder, LLVMConstAllOnes(bits), shift, "");
    LLVMValueRef mask =
        LLVMBuildSelect(e->builder, all, LLVMConstAllOnes(bits), LLVMBuildNot(e->builder, rest, ""), "");
    return LLVMBuildBitCast(e->builder, mask, weft_vector_type(e->i1, (uint32_t)s->length), "");
}

/* The bytes of a vector that are valid, as words. */
static LLVMValueRef load_masked(weft_emitter *e, LLVMTypeRef type, LLVMValueRef from, LLVMValueRef mask)
{
    LLVMTypeRef bytes = weft_vector_type(e->i8, LLVMGetVectorSize(type) * WORD);
    LLVMValueRef args[4] = {from, LLVMConstInt(e->i32, 1, false), mask, LLVMConstNull(bytes)};
    LLVMTypeRef types[2] = {bytes, e->pointer};
    return LLVMBuildBitCast(e->builder, weft_intrinsic_call(e, "llvm.masked.load", 2, types, 4, args), type, "");
}

/* `valid`: bytes, an i64; NULL: all. */
static void load_strip(weft_emitter *e, LLVMValueRef pointer, int64_t span, LLVMValueRef valid, strip *s)
{
    s->length = LINE;
    while (s->length > span) s->length /= 2;
    s->count = (uint32_t)((span + s->length - 1) / s->length);
    LLVMTypeRef type = weft_vector_type(LLVMInt16TypeInContext(e->context), (uint32_t)s->length / WORD);
    for (uint32_t v = 0; v < s->count; v++) {
        s->begins[v] = v + 1 < s->count ? v * s->length : span - s->length;
        LLVMValueRef offset = weft_int(e, s->begins[v]);
        LLVMValueRef from = LLVMBuildGEP2(e->builder, e->i8, pointer, &offset, 1, "");
        s->vectors[v] = valid == NULL ? LLVMBuildLoad2(e->builder, type, from, "")
                                      : load_masked(e, type, from, bytes_below(e, valid, s, v));
        if (valid == NULL) LLVMSetAlignment(s->vectors[v], 1);
    }
}

/* The words of lanes that lie in vectors `v` and v + 1, at `bytes` from each other, put into `value`; NULL: there are
 * no others yet. */
static LLVMValueRef pick_words(weft_emitter *e, const strip *s, uint32_t v, int64_t bytes, LLVMValueRef value)
{
    LLVMValueRef from[WEFT_MAX_WIDTH], merged[WEFT_MAX_WIDTH], none = LLVMGetPoison(e->i32);
    const int64_t words = s->length / WORD;
    for (uint32_t i = 0; i < e->lane.width; i++) {
        int64_t at = i * bytes, vector = at / s->length;
        bool here = vector == v || vector == v + 1;
        int64_t word = (at - s->begins[vector]) / WORD + (vector == v ? 0 : words);
        from[i] = here ? LLVMConstInt(e->i32, (uint64_t)word, false) : none;
        merged[i] = LLVMConstInt(e->i32, here ? e->lane.width + i : i, false);
    }
    LLVMValueRef other = v + 1 < s->count ? s->vectors[v + 1] : LLVMGetPoison(LLVMTypeOf(s->vectors[v]));
    LLVMValueRef picked =
        LLVMBuildShuffleVector(e->builder, s->vectors[v], other, LLVMConstVector(from, e->lane.width), "");
    if (value == NULL) return picked;
    return LLVMBuildShuffleVector(e->builder, value, picked, LLVMConstVector(merged, e->lane.width), "");
}

/* The bytes that lanes have, of the words that these are in. */
static LLVMValueRef bytes_of(weft_emitter *e, const strip *s, int64_t bytes, LLVMValueRef words)
{
    LLVMValueRef shifts[WEFT_MAX_WIDTH];
    for (uint32_t i = 0; i < e->lane.width; i++) {
        int64_t at = i * bytes, within = at - s->begins[at / s->length];
        shifts[i] = LLVMConstInt(LLVMInt16TypeInContext(e->context), (uint64_t)(within % WORD * 8), false);
    }
    LLVMValueRef shifted = LLVMBuildLShr(e->builder, words, LLVMConstVector(shifts, e->lane.width), "");
    return LLVMBuildTrunc(e->builder, shifted, weft_vector_type(e->i8, e->lane.width), "");
}

LLVMValueRef weft_strided_load(weft_emitter *e, weft_dtype dtype, LLVMValueRef pointer, int64_t step)
{
    strip s;
    const int64_t size = (int64_t)weft_dtype_size(dtype);
    LLVMValueRef value = NULL, valid = NULL;
    if (e->lane.mask != NULL) {
        LLVMValueRef last = LLVMBuildSub(e->builder, e->lane.left, weft_int(e, 1), "");
        valid = LLVMBuildMul(e->builder, last, weft_int(e, step * size), "");
        valid = LLVMBuildAdd(e->builder, valid, weft_int(e, size), "");
    }
    load_strip(e, pointer, span_of(e, dtype, step), valid, &s);
    for (uint32_t v = 0; v < s.count; v += 2) value = pick_words(e, &s, v, step * size, value);
    if (size < WORD) value = bytes_of(e, &s, step * size, value);
    return LLVMBuildBitCast(e->builder, value, weft_vector_type(weft_memory_type(e, dtype), e->lane.width), "");
}
