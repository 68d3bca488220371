/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/zeros.h"

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

typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;

#define ITSELF(bits) (bits)
#define IS_ENDLESS32(bits) (((bits)&UINT32_C(0x7f800000)) == UINT32_C(0x7f800000))
#define IS_ENDLESS64(bits) (((bits)&UINT64_C(0x7ff0000000000000)) == UINT64_C(0x7ff0000000000000))
#define IS_MINUS_ZERO32(bits) ((bits) == UINT32_C(1) << 31)
#define IS_MINUS_ZERO64(bits) ((bits) == UINT64_C(1) << 63)

DEFINE_ANY(any_not_zero32, bits32, ITSELF)
DEFINE_ANY(any_not_zero64, bits64, ITSELF)
DEFINE_ANY(any_endless32, bits32, IS_ENDLESS32)
DEFINE_ANY(any_endless64, bits64, IS_ENDLESS64)
DEFINE_ANY(any_minus_zero32, bits32, IS_MINUS_ZERO32)
DEFINE_ANY(any_minus_zero64, bits64, IS_MINUS_ZERO64)

static bool is_one_product(const weft_gemm_call *call)
{
    for (size_t i = 0; i < call->batch_rank; i++)
        if (call->batch[i] != 1) return false;
    return call->dtype == WEFT_F32 || call->dtype == WEFT_F64;
}

bool weft_zeros_add_nothing(const weft_gemm_call *call, int64_t first, const void *a, const void *b)
{
    if (!is_one_product(call)) return false;
    bool single = call->dtype == WEFT_F32;
    const int64_t terms = call->k - first;
    numbers left =
        numbers_at(call, a, call->a_offset + first * call->a_column, call->m, terms, call->a_row, call->a_column);
    if (single ? any_not_zero32(&left) : any_not_zero64(&left)) return false;
    numbers right =
        numbers_at(call, b, call->b_offset + first * call->b_row, terms, call->n, call->b_row, call->b_column);
    return !(single ? any_endless32(&right) : any_endless64(&right));
}

bool weft_zeros_are_negative(const weft_gemm_call *call, const void *c)
{
    numbers all = numbers_at(call, c, call->c_offset, call->m, call->n, call->c_row, call->c_column);
    return call->dtype == WEFT_F32 ? any_minus_zero32(&all) : any_minus_zero64(&all);
}
