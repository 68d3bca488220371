/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_MATH_POINTS_H
#define WEFT_TEST_MATH_POINTS_H
/* Where functions are tried: the same points in every run. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/dtype.h>

typedef struct weft_points {
    weft_dtype dtype;
    int arity;
    uint64_t count, next;
    uint64_t stride;   /* of unary functions in f32: from bit pattern to bit pattern */
    uint64_t state;    /* of the random numbers */
    uint64_t specials; /* how many points come first: special values, numbers around them, pairs of them */
} weft_points;

/* `exhaustive`: all values of formats of up to 32 bits for unary functions, 10^8 points of others. */
void weft_points_init(weft_points *points, weft_dtype dtype, int arity, bool exhaustive);
/* Fills the operands of the next block, elements of the dtype; what is left at the end repeats a point. False
 * when all points have been given. */
bool weft_points_fill(weft_points *points, size_t count, void *a, void *b);
#endif
