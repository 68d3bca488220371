/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_VECTOR_H
#define WEFT_RUNTIME_ENGINE_VECTOR_H
/* Shared by the kernels of products, whatever the width of their vectors. */
#include <string.h>

/* Elements of operands may lie anywhere. */
typedef float any_float __attribute__((aligned(1), may_alias));
typedef double any_double __attribute__((aligned(1), may_alias));

/* Before a loop whose arrays are registers. */
#define UNROLL _Pragma("GCC unroll 16")

/* A few bytes; where they are no multiple of a register its last copy overlaps the one before. */
static inline __attribute__((always_inline)) void weft_copy_few(char *to, const char *from, size_t bytes)
{
    enum { REGISTER = 16 };
    if (bytes >= REGISTER) {
        for (size_t i = 0; i + REGISTER <= bytes; i += REGISTER) memcpy(to + i, from + i, REGISTER);
        if (bytes % REGISTER != 0) memcpy(to + bytes - REGISTER, from + bytes - REGISTER, REGISTER);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else if (bytes >= 2) {
        memcpy(to, from, 2);
        memcpy(to + bytes - 2, from + bytes - 2, 2);
    } else if (bytes == 1) {
        *to = *from;
    }
}
#endif
