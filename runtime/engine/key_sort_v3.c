/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of keys with AVX2. It compresses by tables. */
#include <immintrin.h>
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/engine/key_sort.h"
#include "runtime/engine/key_sort_lanes.h"

/* Lanes of 8 bytes, each as two of 4. */
#define PAIR(m, i) [2 * PLACE(m, i, 4)] = 2 * (i), [2 * PLACE(m, i, 4) + 1] = 2 * (i) + 1
#define PAIRS(m)                                                                                                       \
    {                                                                                                                  \
        PAIR(m, 0), PAIR(m, 1), PAIR(m, 2), PAIR(m, 3)                                                                 \
    }
#define PAIRS4(m) PAIRS(m), PAIRS(m + 1), PAIRS(m + 2), PAIRS(m + 3)
static const uint32_t sets64[16][8] __attribute__((aligned(32))) = {PAIRS4(0), PAIRS4(4), PAIRS4(8), PAIRS4(12)};

static inline __m256i compress32(__m256i v, uint32_t set)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lane_orders[set])));
}

static inline __m256i iota32(void)
{
    return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
}

/* `words` of 4 bytes at the front of a register. */
static inline __m256i lanes_before(int64_t words)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)words), iota32());
}

/* Lane i has what lane i ^ `distance` had, of 1, 2, 3, 4 or 7 lanes of 4 bytes. */
static inline __m256i swap32(__m256i v, uint32_t distance)
{
    switch (distance) {
    case 1: return _mm256_shuffle_epi32(v, 0xb1);
    case 2: return _mm256_shuffle_epi32(v, 0x4e);
    case 3: return _mm256_shuffle_epi32(v, 0x1b);
    case 4: return _mm256_permute2x128_si256(v, v, 1);
    default: return _mm256_shuffle_epi32(_mm256_permute2x128_si256(v, v, 1), 0x1b);
    }
}

/* Of 1, 2 or 3 lanes of 8 bytes. */
static inline __m256i swap64(__m256i v, uint32_t distance)
{
    return distance < 3 ? swap32(v, 2 * distance) : _mm256_permute4x64_epi64(v, 0x1b);
}

/* Of `high` in lanes of 4 bytes i with i & `distance`. */
static inline __m256i choose(__m256i low, __m256i high, uint32_t distance)
{
    if (distance == 1) return _mm256_blend_epi32(low, high, 0xaa);
    return distance == 2 ? _mm256_blend_epi32(low, high, 0xcc) : _mm256_blend_epi32(low, high, 0xf0);
}

/* Halves of 16 bytes. */
static inline __m256i halves_low(__m256i a, __m256i b)
{
    return _mm256_permute2x128_si256(a, b, 0x20);
}

static inline __m256i halves_high(__m256i a, __m256i b)
{
    return _mm256_permute2x128_si256(a, b, 0x31);
}

/* HALVE: lanes i of both registers beside each other, and lanes i ^ distance, so that one exchange serves both. */
static inline void halve32(__m256i *a, __m256i *b, uint32_t distance)
{
    __m256i low, high, p, q;
    if (distance == 1) {
        __m256 c = _mm256_castsi256_ps(*a), d = _mm256_castsi256_ps(*b);
        p = _mm256_castps_si256(_mm256_shuffle_ps(c, d, 0x88));
        q = _mm256_castps_si256(_mm256_shuffle_ps(c, d, 0xdd));
    } else {
        p = distance == 2 ? _mm256_unpacklo_epi64(*a, *b) : halves_low(*a, *b);
        q = distance == 2 ? _mm256_unpackhi_epi64(*a, *b) : halves_high(*a, *b);
    }
    low = _mm256_min_epi32(p, q);
    high = _mm256_max_epi32(p, q);
    switch (distance) {
    case 1: *a = _mm256_unpacklo_epi32(low, high), *b = _mm256_unpackhi_epi32(low, high); break;
    case 2: *a = _mm256_unpacklo_epi64(low, high), *b = _mm256_unpackhi_epi64(low, high); break;
    default: *a = halves_low(low, high), *b = halves_high(low, high);
    }
}

#define VECTOR __m256i
#define SPLAT _mm256_set1_epi32
#define KEY int32_t
#define KEY_MAX INT32_MAX
#define NAME(x) x##32
#define MASK uint32_t
#define LANES 8
#define BLOCKS 4
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD_SOME(p, n) _mm256_blendv_epi8(SPLAT(KEY_MAX), _mm256_maskload_epi32(p, lanes_before(n)), lanes_before(n))
#define STORE_SOME(p, v, n) _mm256_maskstore_epi32(p, lanes_before(n), v)
#define SWAP swap32
#define MIN _mm256_min_epi32
#define GREATER(a, b, min) _mm256_max_epi32(a, b)
#define CHOOSE choose
#define HALVE halve32
#define FINISH(a, b, span) false
#define BELOW(a, b) (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a)))
#define ZIP_LOW(a, b) halves_low(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
#define ZIP_HIGH(a, b) halves_high(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
#define TURN_LOW(a, b, first) ((first) ? halves_low(a, b) : _mm256_unpacklo_epi32(a, b))
#define TURN_HIGH(a, b, first) ((first) ? halves_high(a, b) : _mm256_unpackhi_epi32(a, b))
#define COMPRESS compress32
#define STORE_OTHERS(p, v, m) STORE((p)-LANES, compress32(v, m))
#define COUNT __builtin_popcount
#define WHOLE_ROWS 0
#define PREFETCH(p) ((void)(p))
#include "runtime/engine/key_sort_vector.h"

static inline __m256i compress64(__m256i v, uint32_t set)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_loadu_si256((const __m256i *)sets64[set]));
}

/* Lanes of 8 bytes. The choice by bytes is one more instruction with gcc. */
static inline __m256i choose_greater(__m256i a, __m256i b, __m256i greater, __m256i other)
{
    __m256d is_greater = _mm256_castsi256_pd(_mm256_cmpgt_epi64(a, b));
    __m256d v = _mm256_castsi256_pd(greater), w = _mm256_castsi256_pd(other);
    return _mm256_castpd_si256(_mm256_blendv_pd(w, v, is_greater));
}

static inline __m256i min64(__m256i a, __m256i b)
{
    return choose_greater(a, b, b, a);
}

static inline __m256i max64(__m256i a, __m256i b)
{
    return choose_greater(a, b, a, b);
}

static inline void halve64(__m256i *a, __m256i *b, uint32_t distance)
{
    __m256i p = distance == 1 ? _mm256_unpacklo_epi64(*a, *b) : halves_low(*a, *b);
    __m256i q = distance == 1 ? _mm256_unpackhi_epi64(*a, *b) : halves_high(*a, *b);
    __m256i low = min64(p, q), high = max64(p, q);
    *a = distance == 1 ? _mm256_unpacklo_epi64(low, high) : halves_low(low, high);
    *b = distance == 1 ? _mm256_unpackhi_epi64(low, high) : halves_high(low, high);
}

#define VECTOR __m256i
#define SPLAT _mm256_set1_epi64x
#define KEY int64_t
#define KEY_MAX INT64_MAX
#define NAME(x) x##64
#define MASK uint32_t
#define LANES 4
#define BLOCKS 4
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD_SOME(p, n)                                                                                                \
    _mm256_blendv_epi8(SPLAT(KEY_MAX), _mm256_maskload_epi64((const long long *)(p), lanes_before(2 * (n))),           \
                       lanes_before(2 * (n)))
#define STORE_SOME(p, v, n) _mm256_maskstore_epi64((long long *)(p), lanes_before(2 * (n)), v)
#define SWAP swap64
#define MIN min64
#define GREATER(a, b, min) max64(a, b)
#define CHOOSE(v, w, d) choose(v, w, 2 * (d))
#define HALVE halve64
#define FINISH(a, b, span) false
#define BELOW(a, b) (uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(b, a)))
#define ZIP_LOW(a, b) halves_low(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
#define ZIP_HIGH(a, b) halves_high(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
#define TURN_LOW(a, b, first) ((first) ? halves_low(a, b) : _mm256_unpacklo_epi64(a, b))
#define TURN_HIGH(a, b, first) ((first) ? halves_high(a, b) : _mm256_unpackhi_epi64(a, b))
#define COMPRESS compress64
#define STORE_OTHERS(p, v, m) STORE((p)-LANES, compress64(v, m))
#define COUNT __builtin_popcount
#define WHOLE_ROWS 0
#define PREFETCH(p) ((void)(p))
#include "runtime/engine/key_sort_vector.h"

#include "runtime/engine/key_map_vector.h"

#define TOGETHER WEFT_KEY_SHORT
#define TABLE(x) weft_key_sort_v3_##x
#define LONG(x) NULL
#define PICK(x) NULL
#define ACROSS(x) NULL
#include "runtime/engine/key_sort_tables.h"
