/* SPDX-License-Identifier: Apache-2.0 */
/* Adjacent elements to keys and back, for the instructions of the file that includes this: plain loops, of which the
 * compiler makes vectors. Keys of floats have a loop of their own. */
#define KEY_LOOPS(name, element, width)                                                                                \
    static inline __attribute__((always_inline)) bool take_some##name(weft_key_map map, const element *elements,       \
                                                                      int64_t count, uint##width##_t *keys)            \
    {                                                                                                                  \
        uint##width##_t lost = 0;                                                                                      \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            keys[i] = weft_key_of##width(&map, elements[i]) ^ WEFT_KEY_SIGN_##width;                                   \
            lost |= weft_key_loses##width(&map, elements[i]);                                                          \
        }                                                                                                              \
        return lost != 0;                                                                                              \
    }                                                                                                                  \
    static bool take##name(const weft_key_map *map, const void *elements, int64_t count, void *keys)                   \
    {                                                                                                                  \
        weft_key_map floats = *map, integers;                                                                          \
        floats.truth = false;                                                                                          \
        integers = floats;                                                                                             \
        integers.infinity = 0;                                                                                         \
        return map->infinity == 0 ? take_some##name(integers, elements, count, keys)                                   \
                                  : take_some##name(floats, elements, count, keys);                                    \
    }                                                                                                                  \
    static inline __attribute__((always_inline))                                                                       \
    int64_t skip_some##name(weft_key_map map, const element *elements, int64_t count, int##width##_t bound)            \
    {                                                                                                                  \
        int64_t first = 0;                                                                                             \
        for (; first + WEFT_KEY_SKIPPED <= count; first += WEFT_KEY_SKIPPED) {                                         \
            int##width##_t below = 0;                                                                                  \
            for (int64_t i = 0; i < WEFT_KEY_SKIPPED; i++) {                                                           \
                uint##width##_t key = weft_key_of##width(&map, elements[first + i]) ^ WEFT_KEY_SIGN_##width;           \
                below |= (int##width##_t)key < bound ? -1 : 0;                                                         \
            }                                                                                                          \
            if (below != 0) break;                                                                                     \
        }                                                                                                              \
        return first;                                                                                                  \
    }                                                                                                                  \
    static int64_t skip##name(const weft_key_map *map, const void *elements, int64_t count, uint64_t bound)            \
    {                                                                                                                  \
        int##width##_t least = (int##width##_t)((uint##width##_t)bound ^ WEFT_KEY_SIGN_##width);                       \
        weft_key_map floats = *map, integers;                                                                          \
        floats.truth = false;                                                                                          \
        integers = floats;                                                                                             \
        integers.infinity = 0;                                                                                         \
        return map->infinity == 0 ? skip_some##name(integers, elements, count, least)                                  \
                                  : skip_some##name(floats, elements, count, least);                                   \
    }                                                                                                                  \
    static void put##name(const weft_key_map *map, const void *keys, int64_t count, void *elements)                    \
    {                                                                                                                  \
        const weft_key_map copy = *map;                                                                                \
        for (int64_t i = 0; i < count; i++)                                                                            \
            ((element *)elements)[i] =                                                                                 \
                (element)weft_key_bits##width(&copy, ((const uint##width##_t *)keys)[i] ^ WEFT_KEY_SIGN_##width);      \
    }

KEY_LOOPS(8, uint8_t, 32)
KEY_LOOPS(16, uint16_t, 32)
KEY_LOOPS(32, uint32_t, 32)
KEY_LOOPS(64, uint64_t, 64)
#undef KEY_LOOPS

static bool take_pairs(const weft_key_map *map, const void *elements, int64_t count, void *keys)
{
    const weft_key_map copy = *map;
    const uint32_t *from = elements;
    uint64_t *to = keys;
    for (int64_t i = 0; i < count; i++)
        to[i] = ((uint64_t)weft_key_of32(&copy, from[i]) << 32 | (uint64_t)i) ^ WEFT_KEY_SIGN_64;
    return false;
}

static void put_positions(const weft_key_map *map, const void *keys, int64_t count, void *positions)
{
    const uint64_t *from = keys;
    int64_t *to = positions;
    (void)map;
    for (int64_t i = 0; i < count; i++) to[i] = (int64_t)(from[i] & UINT32_MAX);
}
