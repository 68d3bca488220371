/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_KEY_MAP_H
#define WEFT_RUNTIME_ENGINE_KEY_MAP_H
/*
 * Keys in the order of elements. Those of integers give their elements back, those of bools 0 or 1. Those of floats do,
 * except for two: all NaNs share one key, the greatest, and -0 has that of +0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How elements of a dtype, in one direction, are mapped to keys. */
typedef struct weft_key_map {
    size_t size;       /* bytes of an element */
    uint64_t mask;     /* of its bits */
    uint64_t sign;     /* its sign bit; 0: unsigned */
    uint64_t infinity; /* of a float, what is greater (except for the sign) is NaN; 0: an integer */
    uint64_t flip;     /* turns the direction round */
    bool truth;        /* of a bool, any byte but 0 is 1 */
} weft_key_map;

/* For elements of up to 4 and of up to 8 bytes: the key of the element with these bits, its inverse, and
 * all ones if that gives other bits, else 0. The magnitude of a float, without its sign, is an integer in its order. */
#define WEFT_KEY_FUNCTIONS(width)                                                                                      \
    static inline __attribute__((always_inline))                                                                       \
    uint##width##_t weft_key_of##width(const weft_key_map *map, uint##width##_t bits)                                  \
    {                                                                                                                  \
        const uint##width##_t sign = (uint##width##_t)map->sign, flip = (uint##width##_t)map->flip;                    \
        const uint##width##_t magnitude = bits & ~sign, infinity = (uint##width##_t)map->infinity;                     \
        if (map->truth) bits = bits != 0;                                                                              \
        if (infinity == 0) return bits ^ sign ^ flip;                                                                  \
        bits = ((bits & sign) != 0 ? sign - magnitude : sign + magnitude) ^ flip;                                      \
        return (int##width##_t)magnitude > (int##width##_t)infinity ? (uint##width##_t)map->mask : bits;               \
    }                                                                                                                  \
    static inline __attribute__((always_inline))                                                                       \
    uint##width##_t weft_key_bits##width(const weft_key_map *map, uint##width##_t key)                                 \
    {                                                                                                                  \
        const uint##width##_t sign = (uint##width##_t)map->sign;                                                       \
        key ^= (uint##width##_t)map->flip;                                                                             \
        if (map->infinity == 0) return key ^ sign;                                                                     \
        return (key & sign) != 0 ? key ^ sign : (sign - key) | sign;                                                   \
    }                                                                                                                  \
    static inline __attribute__((always_inline))                                                                       \
    uint##width##_t weft_key_loses##width(const weft_key_map *map, uint##width##_t bits)                               \
    {                                                                                                                  \
        const uint##width##_t sign = (uint##width##_t)map->sign, infinity = (uint##width##_t)map->infinity;            \
        const uint##width##_t is_nan =                                                                                 \
            (int##width##_t)(bits & ~sign) > (int##width##_t)infinity ? UINT##width##_MAX : 0;                         \
        const uint##width##_t is_zero = bits == sign ? UINT##width##_MAX : 0;                                          \
        return infinity == 0 ? 0 : is_nan | is_zero;                                                                   \
    }

WEFT_KEY_FUNCTIONS(32)
WEFT_KEY_FUNCTIONS(64)
#undef WEFT_KEY_FUNCTIONS

/* Keys of vectors are signed. */
#define WEFT_KEY_SIGN_32 (UINT32_C(1) << 31)
#define WEFT_KEY_SIGN_64 (UINT64_C(1) << 63)
#endif
