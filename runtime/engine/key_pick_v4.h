/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements have keys below a bound, with AVX-512: a vector of keys is compared at a time, and the places of those
 * below, mostly none, are compressed. */
#define SET32(x) _mm512_set1_epi32((int32_t)(x))
#define SET64(x) _mm512_set1_epi64((int64_t)(x))

/* Unsigned keys of elements with these bits, other than bools. */
#define VECTOR_KEY(width)                                                                                              \
    static inline __attribute__((always_inline)) __m512i vector_key##width(weft_key_map map, __m512i bits)             \
    {                                                                                                                  \
        const __m512i sign = SET##width(map.sign), flip = SET##width(map.flip), infinity = SET##width(map.infinity);   \
        __m512i key = _mm512_xor_si512(bits, sign);                                                                    \
        if (map.infinity == 0) return _mm512_xor_si512(key, flip);                                                     \
        __m512i magnitude = _mm512_andnot_si512(sign, bits);                                                           \
        key = _mm512_mask_sub_epi##width(_mm512_add_epi##width(sign, magnitude),                                       \
                                         _mm512_test_epi##width##_mask(bits, sign), sign, magnitude);                  \
        return _mm512_mask_xor_epi##width(SET##width(map.mask), _mm512_cmple_epi##width##_mask(magnitude, infinity),   \
                                          key, flip);                                                                  \
    }

VECTOR_KEY(32)
VECTOR_KEY(64)
#undef VECTOR_KEY

/* (bits of an element, bits of a key, lanes, masked load of that many) */
#define PICKS(name, width, lanes, load)                                                                                \
    static inline __attribute__((always_inline))                                                                       \
    int64_t pick_some##name(weft_key_map map, const uint##name##_t *elements, int64_t count, uint64_t bound,           \
                            int32_t *places, int64_t room, int64_t *out_seen)                                          \
    {                                                                                                                  \
        const __m512i least = SET##width(bound);                                                                       \
        const __m512i order = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);                  \
        int64_t picked = 0, first = 0;                                                                                 \
        for (; first < count && picked + lanes <= room; first += lanes) {                                              \
            __mmask16 valid = (__mmask16)((1u << (count - first < lanes ? count - first : lanes)) - 1);                \
            __m512i key = vector_key##width(map, load(valid, elements + first));                                       \
            __mmask16 below = _mm512_cmplt_epu##width##_mask(key, least) & valid;                                      \
            if (below == 0) continue;                                                                                  \
            __m512i at = _mm512_add_epi32(order, _mm512_set1_epi32((int32_t)first));                                   \
            _mm512_storeu_si512(places + picked, _mm512_maskz_compress_epi32(below, at));                              \
            picked += __builtin_popcount(below);                                                                       \
        }                                                                                                              \
        *out_seen = first < count ? first : count;                                                                     \
        return picked;                                                                                                 \
    }                                                                                                                  \
    static int64_t pick##name(const weft_key_map *map, const void *elements, int64_t count, uint64_t bound,            \
                              int32_t *places, int64_t room, int64_t *out_seen)                                        \
    {                                                                                                                  \
        weft_key_map integers = *map;                                                                                  \
        integers.infinity = 0;                                                                                         \
        return map->infinity == 0 ? pick_some##name(integers, elements, count, bound, places, room, out_seen)          \
                                  : pick_some##name(*map, elements, count, bound, places, room, out_seen);             \
    }

#define LOAD_8(valid, at) _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(valid, at))
#define LOAD_16(valid, at) _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(valid, at))
#define LOAD_64(valid, at) _mm512_maskz_loadu_epi64((__mmask8)(valid), at)
PICKS(8, 32, 16, LOAD_8)
PICKS(16, 32, 16, LOAD_16)
PICKS(32, 32, 16, _mm512_maskz_loadu_epi32)
PICKS(64, 64, 8, LOAD_64)
#undef SET32
#undef SET64
#undef LOAD_8
#undef LOAD_16
#undef LOAD_64
#undef PICKS
