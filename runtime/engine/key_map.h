/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_KEY_MAP_H
#define WEFT_RUNTIME_ENGINE_KEY_MAP_H
/*
 * Keys in the order of elements. Those of integers give their elements back, those of bools 0 or 1. Those of floats do,
 * except for two: all NaNs share one key, and both zeros.
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

/* For elements of up to 4 and of up to 8 bytes: the key of the element with these bits, its inverse except for keys
 * that are shared, and whether a key is shared. */
#define WEFT_KEY_FUNCTIONS(type, suffix)                                                                               \
    static inline __attribute__((always_inline)) type weft_key_of##suffix(const weft_key_map *map, type bits)          \
    {                                                                                                                  \
        const type mask = (type)map->mask, sign = (type)map->sign, flip = (type)map->flip;                             \
        const type magnitude = bits & ~sign, infinity = (type)map->infinity;                                           \
        if (map->truth) bits = bits != 0;                                                                              \
        if (infinity == 0) return bits ^ sign ^ flip;                                                                  \
        bits = magnitude == 0 ? 0 : bits;                                                                              \
        bits = ((bits & sign) != 0 ? bits ^ mask : bits ^ sign) ^ flip;                                                \
        return magnitude > infinity ? mask : bits;                                                                     \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) type weft_key_bits##suffix(const weft_key_map *map, type key)         \
    {                                                                                                                  \
        const type mask = (type)map->mask, sign = (type)map->sign;                                                     \
        key ^= (type)map->flip;                                                                                        \
        return key ^ (map->infinity == 0 || (key & sign) != 0 ? sign : mask);                                          \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) bool weft_key_is_shared##suffix(const weft_key_map *map, type key)    \
    {                                                                                                                  \
        return map->infinity != 0 && (key == (type)map->mask || key == (type)(map->sign ^ map->flip));                 \
    }

WEFT_KEY_FUNCTIONS(uint32_t, 32)
WEFT_KEY_FUNCTIONS(uint64_t, 64)
#undef WEFT_KEY_FUNCTIONS

/* Keys of vectors are signed. */
#define WEFT_KEY_SIGN_32 (UINT32_C(1) << 31)
#define WEFT_KEY_SIGN_64 (UINT64_C(1) << 63)
#endif
