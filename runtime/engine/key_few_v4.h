/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first few elements, in order, of columns that lie side by side. Each lane has a list of the least keys so far and
 * of their lines. A line is compared with the last keys of the lists, and where one is less it is moved up to its
 * place; of equal elements the first ones stay. Columns are gone through a line at a time, as many as lists are kept
 * for.
 */
enum { FEW_LANES = 8 };

/* Takes a key in the lists of `count` keys, and its line. Where there are fewer than `wanted`, they become longer. */
static inline void insert_few(int64_t *keys, int64_t *places, int64_t count, int64_t wanted, __m512i key, __m512i place)
{
    __mmask8 less = 0; /* and all after a place that was taken move on, equal ones too */
    for (int64_t j = 0; j < count; j++) {
        __m512i held = _mm512_loadu_si512(keys + j * FEW_LANES), at = _mm512_loadu_si512(places + j * FEW_LANES);
        less |= _mm512_cmplt_epi64_mask(key, held);
        _mm512_storeu_si512(keys + j * FEW_LANES, _mm512_mask_mov_epi64(held, less, key));
        _mm512_storeu_si512(places + j * FEW_LANES, _mm512_mask_mov_epi64(at, less, place));
        key = _mm512_mask_mov_epi64(key, less, held);
        place = _mm512_mask_mov_epi64(place, less, at);
    }
    if (count == wanted) return;
    _mm512_storeu_si512(keys + count * FEW_LANES, key);
    _mm512_storeu_si512(places + count * FEW_LANES, place);
}

/* (bits of an element, its type, masked load of that many as 64 bits) */
#define FEW(bits, element, load)                                                                                       \
    static inline __attribute__((always_inline)) void few_of##bits(weft_key_map map, const weft_key_columns *c)        \
    {                                                                                                                  \
        const int64_t words = c->wanted * FEW_LANES;                                                                   \
        for (int64_t r = c->first; r < c->length; r++) {                                                               \
            const element *line = (const element *)(c->in + r * c->in_step);                                           \
            const int64_t held = r < c->wanted ? r : c->wanted;                                                        \
            int64_t *keys = c->keys;                                                                                   \
            for (int64_t i = 0; i < c->count; i += FEW_LANES, keys += 2 * words) {                                     \
                int64_t rest = c->count - i < FEW_LANES ? c->count - i : FEW_LANES;                                    \
                __m512i key = vector_key64(map, load((__mmask8)(0xff >> (FEW_LANES - rest)), line + i));               \
                __m512i last = _mm512_loadu_si512(keys + words - FEW_LANES);                                           \
                key = _mm512_xor_si512(key, _mm512_set1_epi64((long long)WEFT_KEY_SIGN_64));                           \
                if (held < c->wanted || _mm512_cmplt_epi64_mask(key, last) != 0)                                       \
                    insert_few(keys, keys + words, held, c->wanted, key, _mm512_set1_epi64(r));                        \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void few##bits(const weft_key_map *map, const weft_key_columns *c)                                          \
    {                                                                                                                  \
        weft_key_map integers = *map;                                                                                  \
        integers.infinity = 0;                                                                                         \
        if (map->infinity == 0) few_of##bits(integers, c);                                                             \
        else few_of##bits(*map, c);                                                                                    \
    }

#define LOAD_8(valid, at) _mm512_cvtepu8_epi64(_mm_maskz_loadu_epi8(valid, at))
#define LOAD_16(valid, at) _mm512_cvtepu16_epi64(_mm_maskz_loadu_epi16(valid, at))
#define LOAD_32(valid, at) _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(valid, at))
FEW(8, uint8_t, LOAD_8)
FEW(16, uint16_t, LOAD_16)
FEW(32, uint32_t, LOAD_32)
FEW(64, uint64_t, _mm512_maskz_loadu_epi64)
#undef LOAD_8
#undef LOAD_16
#undef LOAD_32
#undef FEW
