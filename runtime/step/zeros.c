/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/zeros.h"
#include <string.h>

/* Rows of numbers: those of one lie `step` apart. */
typedef struct numbers {
    const char *data;
    int64_t rows, count, pitch, step;
} numbers;

/* The loop along memory is the inner one. */
static numbers numbers_at(const weft_gemm_call *call, const void *data, int64_t offset, int64_t rows, int64_t count,
                          int64_t pitch, int64_t step)
{
    const char *first = (const char *)((uintptr_t)data + (uintptr_t)(offset * (int64_t)weft_dtype_size(call->dtype)));
    if (pitch == 1) return (numbers){first, count, rows, step, pitch};
    return (numbers){first, rows, count, pitch, step};
}

/* Whether `TEST` holds for the bits of a number. */
#define DEFINE_ANY(name, bits_type, TEST)                                                                              \
    static bool name(const numbers *n)                                                                                 \
    {                                                                                                                  \
        const bits_type *data = (const bits_type *)n->data;                                                            \
        for (int64_t row = 0; row < n->rows; row++, data += n->pitch) {                                                \
            bits_type found = 0;                                                                                       \
            if (n->step == 1)                                                                                          \
                for (int64_t i = 0; i < n->count; i++) found |= (bits_type)TEST(data[i]);                              \
            else                                                                                                       \
                for (int64_t i = 0; i < n->count; i++) found |= (bits_type)TEST(data[i * n->step]);                    \
            if (found != 0) return true;                                                                               \
        }                                                                                                              \
        return false;                                                                                                  \
    }

typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;

#define IS_ENDLESS_F16(bits) (((bits)&0x7c00U) == 0x7c00U)
#define IS_ENDLESS_BF16(bits) (((bits)&0x7f80U) == 0x7f80U)
#define IS_ENDLESS32(bits) (((bits)&UINT32_C(0x7f800000)) == UINT32_C(0x7f800000))
#define IS_ENDLESS64(bits) (((bits)&UINT64_C(0x7ff0000000000000)) == UINT64_C(0x7ff0000000000000))
#define IS_MINUS_ZERO16(bits) ((bits) == 0x8000U)
#define IS_MINUS_ZERO32(bits) ((bits) == UINT32_C(1) << 31)
#define IS_MINUS_ZERO64(bits) ((bits) == UINT64_C(1) << 63)

DEFINE_ANY(any_endless_f16, bits16, IS_ENDLESS_F16)
DEFINE_ANY(any_endless_bf16, bits16, IS_ENDLESS_BF16)
DEFINE_ANY(any_endless32, bits32, IS_ENDLESS32)
DEFINE_ANY(any_endless64, bits64, IS_ENDLESS64)
DEFINE_ANY(any_minus_zero16, bits16, IS_MINUS_ZERO16)
DEFINE_ANY(any_minus_zero32, bits32, IS_MINUS_ZERO32)
DEFINE_ANY(any_minus_zero64, bits64, IS_MINUS_ZERO64)

static bool any_endless(weft_dtype dtype, const numbers *n)
{
    switch (dtype) {
    case WEFT_F16: return any_endless_f16(n);
    case WEFT_BF16: return any_endless_bf16(n);
    case WEFT_F32: return any_endless32(n);
    default: return any_endless64(n);
    }
}

static bool any_minus_zero(weft_dtype dtype, const numbers *n)
{
    switch (dtype) {
    case WEFT_F16:
    case WEFT_BF16: return any_minus_zero16(n);
    case WEFT_F32: return any_minus_zero32(n);
    default: return any_minus_zero64(n);
    }
}

static bool is_one_product(const weft_gemm_call *call)
{
    for (size_t i = 0; i < call->batch_rank; i++)
        if (call->batch[i] != 1) return false;
    return weft_dtype_info_of(call->dtype)->kind == WEFT_KIND_FLOAT;
}

bool weft_zeros_end_rows(const weft_gemm_call *call, const void *a)
{
    const int64_t size = (int64_t)weft_dtype_size(call->dtype), last = call->a_offset + (call->k - 1) * call->a_column;
    const uintptr_t first = (uintptr_t)a + (uintptr_t)(last * size);
    uint64_t bits = 0;
    if (!is_one_product(call)) return false;
    for (int64_t row = 0; row < call->m && bits == 0; row++)
        memcpy(&bits, (const void *)(first + (uintptr_t)(row * call->a_row * size)), (size_t)size);
    return bits == 0;
}

bool weft_zeros_meet_numbers(const weft_gemm_call *call, int64_t first, const void *b)
{
    const int64_t offset = call->b_offset + first * call->b_row;
    numbers right = numbers_at(call, b, offset, call->k - first, call->n, call->b_row, call->b_column);
    return !any_endless(call->dtype, &right);
}

bool weft_zeros_are_negative(const weft_gemm_call *call, const void *c)
{
    numbers all = numbers_at(call, c, call->c_offset, call->m, call->n, call->c_row, call->c_column);
    return any_minus_zero(call->dtype, &all);
}
