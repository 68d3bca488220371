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

/* Keys with positions in their lower half. */
#define PLACED_KEYS(name, element)                                                                                     \
    static inline __attribute__((always_inline)) void take_some_pairs##name(weft_key_map map, const element *elements, \
                                                                            int64_t count, uint64_t *keys)             \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++)                                                                            \
            keys[i] = ((uint64_t)weft_key_of32(&map, elements[i]) << 32 | (uint64_t)i) ^ WEFT_KEY_SIGN_64;             \
    }                                                                                                                  \
    static bool take_pairs##name(const weft_key_map *map, const void *elements, int64_t count, void *keys)             \
    {                                                                                                                  \
        weft_key_map integers = *map;                                                                                  \
        integers.infinity = 0;                                                                                         \
        if (map->infinity == 0) take_some_pairs##name(integers, elements, count, keys);                                \
        else take_some_pairs##name(*map, elements, count, keys);                                                       \
        return false;                                                                                                  \
    }

PLACED_KEYS(8, uint8_t)
PLACED_KEYS(16, uint16_t)
PLACED_KEYS(32, uint32_t)
#undef PLACED_KEYS

static inline __attribute__((always_inline)) void take_range(weft_key_map map, const uint64_t *elements, int64_t count,
                                                             uint64_t *keys, int64_t *range)
{
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (int64_t i = 0; i < count; i++) {
        uint64_t key = weft_key_of64(&map, elements[i]);
        int64_t ordered = (int64_t)(key ^ WEFT_KEY_SIGN_64);
        keys[i] = key;
        least = ordered < least ? ordered : least;
        greatest = ordered > greatest ? ordered : greatest;
    }
    range[0] = least;
    range[1] = greatest;
}

static int pack64(const weft_key_map *map, const void *elements, int64_t count, uint64_t *keys, uint64_t *packed)
{
    weft_key_map integers = *map;
    int64_t range[2];
    integers.infinity = 0;
    if (map->infinity == 0) take_range(integers, elements, count, keys, range);
    else take_range(*map, elements, count, keys, range);
    const uint64_t least = (uint64_t)range[0] ^ WEFT_KEY_SIGN_64, most = (uint64_t)range[1] - (uint64_t)range[0];
    const int place = weft_key_place_bits(count);
    int lost = 0;
    while (lost < place && most >> lost > UINT64_MAX >> place) lost++;
    for (int64_t i = 0; i < count; i++)
        packed[i] = ((keys[i] - least) >> lost << place | (uint64_t)i) ^ WEFT_KEY_SIGN_64;
    return lost;
}

static void put_positions(const weft_key_map *map, const void *keys, int64_t count, void *positions)
{
    const uint64_t *from = keys;
    int64_t *to = positions;
    (void)map;
    for (int64_t i = 0; i < count; i++) to[i] = (int64_t)(from[i] & UINT32_MAX);
}
