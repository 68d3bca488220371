/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of keys with AVX-512. */
#include <immintrin.h>
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/engine/key_sort.h"
#include "runtime/engine/key_sort_lanes.h"

/* The exclusive or of three. Of two keys and the lesser one it is the greater one; on Intel's processors one port alone
 * has minima and maxima of whole registers, two have this. */
#define ODD 0x96

#define VECTOR __m512i
#define SPLAT _mm512_set1_epi32
#define KEY int32_t
#define KEY_MAX INT32_MAX
#define NAME(x) x##32
#define MASK __mmask16
#define LANES 16
#define BLOCKS 8
#define LOAD _mm512_loadu_si512
#define STORE _mm512_storeu_si512
#define FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_SOME(p, n) _mm512_mask_loadu_epi32(SPLAT(KEY_MAX), FIRST(n), p)
#define STORE_SOME(p, v, n) _mm512_mask_storeu_epi32(p, FIRST(n), v)
#define IOTA _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SWAP(v, d) _mm512_permutexvar_epi32(_mm512_xor_si512(IOTA, SPLAT((int)(d))), v)
#define UPPER(d) ((d) == 1 ? 0xaaaa : (d) == 2 ? 0xcccc : (d) == 4 ? 0xf0f0 : 0xff00)
#define MIN _mm512_min_epi32
#define GREATER(a, b, min) _mm512_ternarylogic_epi32(a, b, min, ODD)
#define CHOOSE(v, w, d) _mm512_mask_blend_epi32(UPPER(d), v, w)
#define HALVE halve32
#define FINISH finish32
#define BELOW _mm512_cmplt_epi32_mask
#define EQUAL _mm512_cmpeq_epi32_mask
#define ZIP_LOW(a, b)                                                                                                  \
    _mm512_permutex2var_epi32(a, _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0), b)
#define ZIP_HIGH(a, b)                                                                                                 \
    _mm512_permutex2var_epi32(a, _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8), b)
#define TURN_LOW(a, b, first) ZIP_LOW(a, b)
#define TURN_HIGH(a, b, first) ZIP_HIGH(a, b)
#define COMPRESS(v, m) _mm512_maskz_compress_epi32(m, v)
#define STORE_OTHERS(p, v, m)                                                                                          \
    _mm512_mask_storeu_epi32((p)-LANES + COUNT(m), (__mmask16)(0xffff >> COUNT(m)), COMPRESS(v, (__mmask16) ~(m)))
#define COUNT(m) __builtin_popcount(m)
#define WHOLE_ROWS 1
#define PREFETCH(p) _mm_prefetch(p, _MM_HINT_T0)

static inline __m512i halve_one32(__m512i v, uint32_t d)
{
    __m512i swapped = SWAP(v, d);
    return _mm512_mask_ternarylogic_epi32(MIN(v, swapped), UPPER(d), v, swapped, ODD);
}

static inline void halve32(__m512i *a, __m512i *b, uint32_t d)
{
    *a = halve_one32(*a, d);
    *b = halve_one32(*b, d);
}

/* The lesser of both to a, the greater to b. */
static inline __attribute__((always_inline)) void exchange_pair32(__m512i *a, __m512i *b, __m512i p, __m512i q)
{
    *a = MIN(p, q);
    *b = GREATER(p, q, *a);
}

/* FINISH: at each distance what is exchanged is brought from both registers into one each, and left there; where each
 * lane is at last follows from that. */
static inline __attribute__((always_inline)) bool finish32(__m512i *a, __m512i *b, uint32_t span)
{
    __m512i back = _mm512_set_epi32(30, 14, 28, 12, 26, 10, 24, 8, 22, 6, 20, 4, 18, 2, 16, 0), after = SPLAT(1);
    if (span == 8) back = _mm512_set_epi32(23, 7, 21, 5, 22, 6, 20, 4, 19, 3, 17, 1, 18, 2, 16, 0), after = SPLAT(8);
    if (span == 16) back = _mm512_set_epi32(27, 11, 25, 9, 26, 10, 24, 8, 19, 3, 17, 1, 18, 2, 16, 0), after = SPLAT(4);
    if (span < 4) return false;
    __m512i low = *a, high = *b;
    if (span == 16)
        exchange_pair32(&low, &high, _mm512_shuffle_i64x2(low, high, 0x44), _mm512_shuffle_i64x2(low, high, 0xee));
    if (span >= 8)
        exchange_pair32(&low, &high, _mm512_shuffle_i64x2(low, high, 0x88), _mm512_shuffle_i64x2(low, high, 0xdd));
    exchange_pair32(&low, &high, _mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
    __m512 even = _mm512_castsi512_ps(low), odd = _mm512_castsi512_ps(high);
    exchange_pair32(&low, &high, _mm512_castps_si512(_mm512_shuffle_ps(even, odd, 0x88)),
                    _mm512_castps_si512(_mm512_shuffle_ps(even, odd, 0xdd)));
    *a = _mm512_permutex2var_epi32(low, back, high);
    *b = _mm512_permutex2var_epi32(low, _mm512_or_si512(back, after), high);
    return true;
}

#include "runtime/engine/key_sort_vector.h"
#undef FIRST
#undef IOTA
#undef UPPER

#define VECTOR __m512i
#define SPLAT _mm512_set1_epi64
#define KEY int64_t
#define KEY_MAX INT64_MAX
#define NAME(x) x##64
#define MASK __mmask8
#define LANES 8
#define BLOCKS 8
#define LOAD _mm512_loadu_si512
#define STORE _mm512_storeu_si512
#define FIRST(n) ((__mmask8)((1u << (n)) - 1))
#define LOAD_SOME(p, n) _mm512_mask_loadu_epi64(SPLAT(KEY_MAX), FIRST(n), p)
#define STORE_SOME(p, v, n) _mm512_mask_storeu_epi64(p, FIRST(n), v)
#define IOTA _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
#define SWAP(v, d) _mm512_permutexvar_epi64(_mm512_xor_si512(IOTA, SPLAT((long long)(d))), v)
#define UPPER(d) ((d) == 1 ? 0xaa : (d) == 2 ? 0xcc : 0xf0)
#define MIN _mm512_min_epi64
#define GREATER(a, b, min) _mm512_ternarylogic_epi64(a, b, min, ODD)
#define CHOOSE(v, w, d) _mm512_mask_blend_epi64(UPPER(d), v, w)
#define HALVE halve64
#define FINISH finish64
#define BELOW _mm512_cmplt_epi64_mask
#define EQUAL _mm512_cmpeq_epi64_mask
#define ZIP_LOW(a, b) _mm512_permutex2var_epi64(a, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), b)
#define ZIP_HIGH(a, b) _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), b)
#define TURN_LOW(a, b, first) ZIP_LOW(a, b)
#define TURN_HIGH(a, b, first) ZIP_HIGH(a, b)
#define COMPRESS compress64
#define STORE_OTHERS(p, v, m) STORE((p)-LANES, compress64(v, m))
#define COUNT(m) __builtin_popcount(m)
#define WHOLE_ROWS 1
#define PREFETCH(p) _mm_prefetch(p, _MM_HINT_T0)

/* The others after those of m: one permutation serves both where the instruction would take two. */
static inline __m512i compress64(__m512i v, __mmask8 m)
{
    return _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(_mm_cvtsi64_si128((long long)lane_orders[m])), v);
}

static inline __m512i halve_one64(__m512i v, uint32_t d)
{
    __m512i swapped = SWAP(v, d);
    return _mm512_mask_ternarylogic_epi64(MIN(v, swapped), UPPER(d), v, swapped, ODD);
}

static inline void halve64(__m512i *a, __m512i *b, uint32_t d)
{
    *a = halve_one64(*a, d);
    *b = halve_one64(*b, d);
}

static inline __attribute__((always_inline)) void exchange_pair64(__m512i *a, __m512i *b, __m512i p, __m512i q)
{
    *a = MIN(p, q);
    *b = GREATER(p, q, *a);
}

static inline __attribute__((always_inline)) bool finish64(__m512i *a, __m512i *b, uint32_t span)
{
    __m512i back = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), after = SPLAT(4);
    if (span == 8) back = _mm512_set_epi64(13, 5, 12, 4, 9, 1, 8, 0), after = SPLAT(2);
    if (span < 4) return false;
    __m512i low = *a, high = *b;
    if (span == 8)
        exchange_pair64(&low, &high, _mm512_shuffle_i64x2(low, high, 0x44), _mm512_shuffle_i64x2(low, high, 0xee));
    exchange_pair64(&low, &high, _mm512_shuffle_i64x2(low, high, 0x88), _mm512_shuffle_i64x2(low, high, 0xdd));
    exchange_pair64(&low, &high, _mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
    *a = _mm512_permutex2var_epi64(low, back, high);
    *b = _mm512_permutex2var_epi64(low, _mm512_or_si512(back, after), high);
    return true;
}

#include "runtime/engine/key_sort_vector.h"

#include "runtime/engine/key_map_vector.h"
#include "runtime/engine/key_across_v4.h"
#include "runtime/engine/key_pick_v4.h"
#include "runtime/engine/key_few_v4.h"

#define TOGETHER WEFT_KEY_COLUMNS
#define TABLE(x) weft_key_sort_v4_##x
#define LONG(x) x
#define PICK(x) x
#define ACROSS(x) x
#include "runtime/engine/key_sort_tables.h"
