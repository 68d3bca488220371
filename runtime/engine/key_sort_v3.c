/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of keys with AVX2. It compresses by a table: for each set of eight lanes of 4 bytes, their numbers, then
 * those of the others. */
#include <immintrin.h>
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/engine/key_sort.h"

/* Lane i, moved to its place among those of set m, or after all of these among the others. */
#define BEFORE(m, i) __builtin_popcount((m) & ((1 << (i)) - 1))
#define PLACE(m, i) ((m) >> (i)&1 ? BEFORE(m, i) : __builtin_popcount((m)&255) + BEFORE(~(m), i))
#define LANE(m, i) ((uint64_t)(i) << 8 * PLACE(m, i))
#define SET(m) LANE(m, 0) | LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) | LANE(m, 7)
#define SETS4(m) SET(m), SET(m + 1), SET(m + 2), SET(m + 3)
#define SETS16(m) SETS4(m), SETS4(m + 4), SETS4(m + 8), SETS4(m + 12)
#define SETS64(m) SETS16(m), SETS16(m + 16), SETS16(m + 32), SETS16(m + 48)
static const uint64_t sets[256] = {SETS64(0), SETS64(64), SETS64(128), SETS64(192)};

static inline __m256i compress(__m256i v, uint32_t set)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)sets[set])));
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

/* `unit` words of 4 bytes are a lane. */
static inline __m256i swap(__m256i v, uint32_t distance, uint32_t unit)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_xor_si256(iota32(), _mm256_set1_epi32((int)(distance * unit))));
}

static inline __m256i choose(__m256i low, __m256i high, uint32_t distance, uint32_t unit)
{
    __m256i bit = _mm256_set1_epi32((int)(distance * unit));
    return _mm256_blendv_epi8(low, high, _mm256_cmpeq_epi32(_mm256_and_si256(iota32(), bit), bit));
}

#define VECTOR __m256i
#define SPLAT _mm256_set1_epi32
#define KEY int32_t
#define KEY_MAX INT32_MAX
#define NAME(x) x##32
#define MASK uint32_t
#define LANES 8
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD_SOME(p, n) _mm256_blendv_epi8(SPLAT(KEY_MAX), _mm256_maskload_epi32(p, lanes_before(n)), lanes_before(n))
#define STORE_SOME(p, v, n) _mm256_maskstore_epi32(p, lanes_before(n), v)
#define SWAP(v, d) swap(v, d, 1)
#define MIN _mm256_min_epi32
#define MAX _mm256_max_epi32
#define EXCHANGE(v, p, d) choose(MIN(v, p), MAX(v, p), d, 1)
#define BELOW(a, b) (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a)))
#define ZIP_LOW(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), 0x20)
#define ZIP_HIGH(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), 0x31)
#define COMPRESS compress
#define STORE_OTHERS(p, v, m) STORE((p)-LANES, compress(v, m))
#define COUNT __builtin_popcount
#include "runtime/engine/key_sort_vector.h"

static inline __m256i min64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

static inline __m256i max64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

#define VECTOR __m256i
#define SPLAT _mm256_set1_epi64x
#define KEY int64_t
#define KEY_MAX INT64_MAX
#define NAME(x) x##64
#define MASK uint32_t /* two bits a lane */
#define LANES 4
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD_SOME(p, n)                                                                                                \
    _mm256_blendv_epi8(SPLAT(KEY_MAX), _mm256_maskload_epi64((const long long *)(p), lanes_before(2 * (n))),           \
                       lanes_before(2 * (n)))
#define STORE_SOME(p, v, n) _mm256_maskstore_epi64((long long *)(p), lanes_before(2 * (n)), v)
#define SWAP(v, d) swap(v, d, 2)
#define MIN min64
#define MAX max64
#define EXCHANGE(v, p, d) choose(MIN(v, p), MAX(v, p), d, 2)
#define BELOW(a, b) (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi64(b, a)))
#define ZIP_LOW(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), 0x20)
#define ZIP_HIGH(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), 0x31)
#define COMPRESS compress
#define STORE_OTHERS(p, v, m) STORE((p)-LANES, compress(v, m))
#define COUNT(m) (__builtin_popcount(m) / 2)
#include "runtime/engine/key_sort_vector.h"

#include "runtime/engine/key_map_vector.h"

const weft_key_sort weft_key_sort_v3 = {sort32, sort64, sort_rows32, sort_rows64, take16,
                                        take32, take64, put16,       put32,       put64,
                                        skip16, skip32, skip64,      take_pairs,  put_positions};
