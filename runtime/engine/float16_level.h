/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16-bit floats for one ISA level. Included once for each, with LEVEL(x), the name of something of the level.
 * Vectors are those of the compiler, which has them at each level.
 */
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif
#include "runtime/engine/float16.h"

enum { LANES = 8 };
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef float floats __attribute__((vector_size(4 * LANES)));

/* Conversions of LANES numbers. */
#define CONVERSION static inline __attribute__((always_inline)) void

CONVERSION widen_bf16(const char *from, char *to)
{
    halves x;
    memcpy(&x, from, sizeof x);
    words bits = __builtin_convertvector(x, words) << 16;
    memcpy(to, &bits, sizeof bits);
}

CONVERSION round_bf16(const char *from, char *to)
{
    words bits;
    memcpy(&bits, from, sizeof bits);
    words nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, is_nan = (words)((bits & 0x7fffffff) > 0x7f800000);
    halves result = __builtin_convertvector((is_nan & (bits >> 16 | 0x40)) | (~is_nan & nearest), halves);
    memcpy(to, &result, sizeof result);
}

#if defined(__F16C__)
CONVERSION widen_f16(const char *from, char *to)
{
    __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)from));
    memcpy(to, &wide, sizeof wide);
}

CONVERSION round_f16(const char *from, char *to)
{
    __m256 wide;
    memcpy(&wide, from, sizeof wide);
    _mm_storeu_si128((__m128i_u *)to, _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
/* Exponents are 112 apart. A denormal is an integer times 2^-24. */
CONVERSION widen_f16(const char *from, char *to)
{
    halves x;
    memcpy(&x, from, sizeof x);
    words number = __builtin_convertvector(x, words), size = number & 0x7fff;
    words denormal = (words)(__builtin_convertvector((integers)size, floats) * 0x1p-24F);
    words is_denormal = (words)(size < 0x0400), is_special = (words)(size >= 0x7c00);
    words other = (size << 13) + ((112U << 23) + (is_special & (112U << 23)));
    words bits = (number & 0x8000) << 16 | (is_denormal & denormal) | (~is_denormal & other);
    memcpy(to, &bits, sizeof bits);
}

/* From 0x477ff000 on, the middle between the greatest number and 2^16, it is an infinity. Added to 1/2, whose last
 * place is 2^-24, a number below 2^-14 is rounded to a denormal. */
CONVERSION round_f16(const char *from, char *to)
{
    words bits;
    memcpy(&bits, from, sizeof bits);
    words size = bits & 0x7fffffff, is_nan = (words)(size > 0x7f800000);
    words is_denormal = (words)(size < 0x38800000), is_large = (words)(size >= 0x477ff000);
    words denormal = (words)((floats)size + 0.5F) - 0x3f000000;
    words normal = (size - (112U << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    words special = 0x7c00 | (is_nan & (0x200 | (size >> 13 & 0x3ff)));
    words code = (is_denormal & denormal) | (is_large & special) | (~(is_denormal | is_large) & normal);
    halves result = __builtin_convertvector((bits >> 16 & 0x8000) | code, halves);
    memcpy(to, &result, sizeof result);
}
#endif

/* Numbers of `from_size` bytes become such of `to_size`. Inlined with a constant function. */
CONVERSION convert_all(const char *from, size_t from_size, char *to, size_t to_size, int64_t count,
                       void (*convert)(const char *, char *))
{
    for (; count >= LANES; count -= LANES, from += LANES * from_size, to += LANES * to_size) convert(from, to);
    if (count == 0) return;
    char rest[LANES * sizeof(float)] = {0}, converted[LANES * sizeof(float)];
    memcpy(rest, from, (size_t)count * from_size);
    convert(rest, converted);
    memcpy(to, converted, (size_t)count * to_size);
}

static void widen_all_f16(const char *from, float *to, int64_t count)
{
    convert_all(from, sizeof(uint16_t), (char *)to, sizeof(float), count, widen_f16);
}

static void round_all_f16(const float *from, char *to, int64_t count)
{
    convert_all((const char *)from, sizeof(float), to, sizeof(uint16_t), count, round_f16);
}

static void widen_all_bf16(const char *from, float *to, int64_t count)
{
    convert_all(from, sizeof(uint16_t), (char *)to, sizeof(float), count, widen_bf16);
}

static void round_all_bf16(const float *from, char *to, int64_t count)
{
    convert_all((const char *)from, sizeof(float), to, sizeof(uint16_t), count, round_bf16);
}

const weft_float16 LEVEL(weft_f16) = {.widen = widen_all_f16, .round = round_all_f16};
const weft_float16 LEVEL(weft_bf16) = {.widen = widen_all_bf16, .round = round_all_bf16};
