/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/key_sort.h"
#include "runtime/engine/level.h"
#include "runtime/engine/sort.h"

#define LEVEL(level)                                                                                                   \
    {                                                                                                                  \
        {&weft_key_sort_##level##_8, &weft_key_sort_##level##_16, &weft_key_sort_##level##_32,                         \
         &weft_key_sort_##level##_64},                                                                                 \
        {                                                                                                              \
            &weft_key_sort_##level##_positions8, &weft_key_sort_##level##_positions16,                                 \
                &weft_key_sort_##level##_positions32, &weft_key_sort_##level##_positions64                             \
        }                                                                                                              \
    }

#define NONE                                                                                                           \
    {                                                                                                                  \
        {                                                                                                              \
            NULL                                                                                                       \
        }                                                                                                              \
    }

const weft_key_sort *weft_key_sort_find(weft_dtype dtype, bool positions)
{
    enum { SIZES = 4 };
    static const weft_key_sort *const levels[][2][SIZES] = WEFT_BY_LEVEL(NONE, LEVEL(v3), LEVEL(v4));
    size_t size = weft_dtype_size(dtype), place = 0;
    while (place + 1 < SIZES && size > (size_t)1 << place) place++;
    return levels[weft_isa_level()][positions][place];
}
