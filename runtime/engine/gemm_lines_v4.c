/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a few rows and lines with AVX-512. */
#include <string.h>
#include "runtime/engine/gemm_lines.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

/* The first terms of a line, half a register at most, with zeros after them; no other memory is read. */
INLINE __m256 load_half_float(const any_float *line, int64_t terms)
{
    const float *first = (const float *)line;
    return terms == 8 ? _mm256_loadu_ps(first) : _mm256_maskz_loadu_ps((__mmask8)((1U << terms) - 1), first);
}

INLINE __m256d load_half_double(const any_double *line, int64_t terms)
{
    const double *first = (const double *)line;
    return terms == 4 ? _mm256_loadu_pd(first) : _mm256_maskz_loadu_pd((__mmask8)((1U << terms) - 1), first);
}

/* Half a register of each of two lines. Loads put them there, which takes fewer shuffles than transposing all. */
INLINE __m512 load_two_float(const any_float *line, int64_t apart, int64_t terms)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(load_half_float(line, terms)),
                              load_half_float(line + apart, terms), 1);
}

INLINE __m512d load_two_double(const any_double *line, int64_t apart, int64_t terms)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(load_half_double(line, terms)),
                              load_half_double(line + apart, terms), 1);
}

/* Eight terms of sixteen lines. Four registers have, in turn, lines 0 to 3 and 4 to 7, at terms t and t + 4. */
INLINE void square_float(const any_float *lines, int64_t stride, int64_t terms, __m512 *v)
{
    __m512 low[4], high[4];
    UNROLL for (int i = 0; i < 4; i++)
    {
        low[i] = load_two_float(lines + i * stride, 4 * stride, terms);
        high[i] = load_two_float(lines + (8 + i) * stride, 4 * stride, terms);
    }
    transpose_four(low);
    transpose_four(high);
    UNROLL for (int i = 0; i < 4; i++)
    {
        v[i] = _mm512_shuffle_f32x4(low[i], high[i], 0x88);
        v[4 + i] = _mm512_shuffle_f32x4(low[i], high[i], 0xdd);
    }
}

/* Four terms of eight lines: pairs of them, at terms 0 and 2 or 1 and 3. */
INLINE void square_double(const any_double *lines, int64_t stride, int64_t terms, __m512d *v)
{
    __m512d even[2], odd[2];
    UNROLL for (int i = 0; i < 2; i++)
    {
        __m512d first = load_two_double(lines + 4 * i * stride, 2 * stride, terms);
        __m512d second = load_two_double(lines + (4 * i + 1) * stride, 2 * stride, terms);
        even[i] = _mm512_unpacklo_pd(first, second);
        odd[i] = _mm512_unpackhi_pd(first, second);
    }
    v[0] = _mm512_shuffle_f64x2(even[0], even[1], 0x88);
    v[1] = _mm512_shuffle_f64x2(odd[0], odd[1], 0x88);
    v[2] = _mm512_shuffle_f64x2(even[0], even[1], 0xdd);
    v[3] = _mm512_shuffle_f64x2(odd[0], odd[1], 0xdd);
}

/* Block `b` of 128 bits. */
INLINE __m128 block_of(__m512 v, int b)
{
    switch (b) {
    case 0: return _mm512_castps512_ps128(v);
    case 1: return _mm512_extractf32x4_ps(v, 1);
    case 2: return _mm512_extractf32x4_ps(v, 2);
    default: return _mm512_extractf32x4_ps(v, 3);
    }
}

/* Stores its first n numbers. What extracts a block under a mask faults on numbers that are not written: the
 * compiler must not make that of the two instructions. */
INLINE void store_block_float(float *p, int64_t n, __m512 v, int b)
{
    __m128 block = block_of(v, b);
    if (n == 4) {
        _mm_storeu_ps(p, block);
        return;
    }
    __asm__("" : "+v"(block));
    _mm_mask_storeu_ps(p, (__mmask8)((1U << n) - 1), block);
}

INLINE void store_block_double(double *p, int64_t n, __m512d v, int b)
{
    __m128d block = _mm_castps_pd(block_of(_mm512_castpd_ps(v), b));
    if (n == 2) _mm_storeu_pd(p, block);
    else memcpy(p, &block, sizeof *p);
}

/* Of two registers in each 128 bits. */
INLINE void transpose_two(__m512d *v)
{
    __m512d low = _mm512_unpacklo_pd(v[0], v[1]);
    v[1] = _mm512_unpackhi_pd(v[0], v[1]);
    v[0] = low;
}

#define REAL float
#define ELEMENT any_float
#define NAME(x) x##_float
#define FUNCTION weft_gemm_lines_v4_f32
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define STORE_FIRST(p, n, v) _mm512_mask_storeu_ps(p, (__mmask16)((1U << (n)) - 1), v)
#define SQUARE square_float
#define TRANSPOSE_BLOCKS transpose_four
#define STORE_BLOCK store_block_float
#define SPLAT _mm512_set1_ps
#define ADD _mm512_add_ps
#define FMA_VECTOR _mm512_fmadd_ps
#include "runtime/engine/gemm_lines_vector.h"

#define REAL double
#define ELEMENT any_double
#define NAME(x) x##_double
#define FUNCTION weft_gemm_lines_v4_f64
#define VECTOR __m512d
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define STORE_FIRST(p, n, v) _mm512_mask_storeu_pd(p, (__mmask8)((1U << (n)) - 1), v)
#define SQUARE square_double
#define TRANSPOSE_BLOCKS transpose_two
#define STORE_BLOCK store_block_double
#define SPLAT _mm512_set1_pd
#define ADD _mm512_add_pd
#define FMA_VECTOR _mm512_fmadd_pd
#include "runtime/engine/gemm_lines_vector.h"
