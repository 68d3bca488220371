/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of elements that lie side by side, LANES of them at a time: a line of elements becomes a register of keys,
 * the registers are sorted, and become lines again, so nothing is transposed. For key_sort_v4.c, after what it maps
 * and sorts keys with.
 */

/* Lines of `lanes` elements with the loop `each` over `i`; those beside the last column are keys of 0. */
#define TAKE_LINES(c, element, lanes, each)                                                                            \
    for (int64_t r = 0; r < (c)->length; r++) {                                                                        \
        const element *line = (const element *)((c)->in + r * (c)->in_step);                                           \
        if ((c)->count == (lanes)) {                                                                                   \
            for (int64_t i = 0; i < (lanes); i++) each;                                                                \
        } else {                                                                                                       \
            for (int64_t i = 0; i < (c)->count; i++) each;                                                             \
        }                                                                                                              \
    }

#define PUT_LINES(c, element, lanes, each)                                                                             \
    for (int64_t r = 0; r < (c)->wanted; r++) {                                                                        \
        element *line = (element *)((c)->out + r * (c)->out_step);                                                     \
        if ((c)->count == (lanes)) {                                                                                   \
            for (int64_t i = 0; i < (lanes); i++) each;                                                                \
        } else {                                                                                                       \
            for (int64_t i = 0; i < (c)->count; i++) each;                                                             \
        }                                                                                                              \
    }

/* (name, type of an element, bits of a key, lanes) */
#define ACROSS(name, element, width, lanes)                                                                            \
    static inline __attribute__((always_inline)) bool take_columns##name(weft_key_map map, const weft_key_columns *c,  \
                                                                         uint##width##_t *keys)                        \
    {                                                                                                                  \
        uint##width##_t lost = 0;                                                                                      \
        TAKE_LINES(c, element, lanes,                                                                                  \
                   (keys[r * (lanes) + i] = weft_key_of##width(&map, line[i]) ^ WEFT_KEY_SIGN_##width,                 \
                    lost |= weft_key_loses##width(&map, line[i])))                                                     \
        return lost != 0;                                                                                              \
    }                                                                                                                  \
    static bool across##name(const weft_key_map *map, const weft_key_columns *c)                                       \
    {                                                                                                                  \
        weft_key_map floats = *map, integers;                                                                          \
        uint##width##_t *keys = c->keys;                                                                               \
        floats.truth = false;                                                                                          \
        integers = floats;                                                                                             \
        integers.infinity = 0;                                                                                         \
        if (c->count < (lanes)) memset(keys, 0, (size_t)c->length *(lanes) * sizeof *keys);                            \
        bool lost = map->infinity == 0 ? take_columns##name(integers, c, keys) : take_columns##name(floats, c, keys);  \
        sort_tall##width((int##width##_t *)keys, c->length);                                                           \
        PUT_LINES(c, element, lanes,                                                                                   \
                  line[i] = (element)weft_key_bits##width(&floats, keys[r * (lanes) + i] ^ WEFT_KEY_SIGN_##width))     \
        return lost;                                                                                                   \
    }

/* The same for positions: keys of 64 bits with the number of the line in their lower half. */
#define ACROSS_POSITIONS(name, element)                                                                                \
    static inline __attribute__((always_inline)) void take_placed_columns##name(                                       \
        weft_key_map map, const weft_key_columns *c, uint64_t *keys)                                                   \
    {                                                                                                                  \
        TAKE_LINES(c, element, 8,                                                                                      \
                   keys[r * 8 + i] = ((uint64_t)weft_key_of32(&map, line[i]) << 32 | (uint64_t)r) ^ WEFT_KEY_SIGN_64)  \
    }                                                                                                                  \
    static bool across_positions##name(const weft_key_map *map, const weft_key_columns *c)                             \
    {                                                                                                                  \
        weft_key_map integers = *map;                                                                                  \
        uint64_t *keys = c->keys;                                                                                      \
        integers.infinity = 0;                                                                                         \
        if (c->count < 8) memset(keys, 0, (size_t)c->length * 8 * sizeof *keys);                                       \
        if (map->infinity == 0) take_placed_columns##name(integers, c, keys);                                          \
        else take_placed_columns##name(*map, c, keys);                                                                 \
        sort_tall64((int64_t *)keys, c->length);                                                                       \
        PUT_LINES(c, int64_t, 8, line[i] = (int64_t)(keys[r * 8 + i] & UINT32_MAX))                                    \
        return false;                                                                                                  \
    }

ACROSS(8, uint8_t, 32, 16)
ACROSS(16, uint16_t, 32, 16)
ACROSS(32, uint32_t, 32, 16)
ACROSS(64, uint64_t, 64, 8)
ACROSS_POSITIONS(8, uint8_t)
ACROSS_POSITIONS(16, uint16_t)
ACROSS_POSITIONS(32, uint32_t)
#undef TAKE_LINES
#undef PUT_LINES
#undef ACROSS
#undef ACROSS_POSITIONS
