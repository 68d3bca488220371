/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_AXES_H
#define WEFT_RUNTIME_ENGINE_GEMM_AXES_H
/*
 * The rows, columns or terms of a matrix as they lie: a number from 0 on runs over one axis, or row-major over several,
 * so that no operand has to be copied to make them one.
 */
#include <weft/runtime.h>

typedef struct weft_gemm_axes {
    int64_t count;  /* numbers, of all axes */
    int64_t each;   /* extent of the last axis; `count` where there is no other one */
    int64_t stride; /* elements from one number to the next along the last axis */
    size_t rank;    /* of the other axes */
    int64_t extents[WEFT_MAX_RANK], strides[WEFT_MAX_RANK];
} weft_gemm_axes;

/* Adds an axis around all others. Where a step of it is as long as the last axis that becomes longer. Nothing is left
 * of an axis of one element. */
void weft_gemm_axes_add(weft_gemm_axes *axes, int64_t extent, int64_t stride);

/* Elements from number 0 to `number`. */
int64_t weft_gemm_axes_offset(const weft_gemm_axes *axes, int64_t number);

/* Numbers from `number` on, at most `most`, that lie `stride` apart. */
static inline int64_t weft_gemm_axes_run(const weft_gemm_axes *axes, int64_t number, int64_t most)
{
    if (axes->rank == 0) return most;
    int64_t left = axes->each - number % axes->each;
    return left < most ? left : most;
}

/* Numbers from one on, run by run. */
typedef struct weft_gemm_walk {
    const weft_gemm_axes *axes;
    int64_t offset;                /* elements from number 0 to the first of the run */
    int64_t length;                /* of the run */
    int64_t places[WEFT_MAX_RANK]; /* along the axes but the last */
} weft_gemm_walk;

void weft_gemm_walk_start(weft_gemm_walk *walk, const weft_gemm_axes *axes, int64_t number);
void weft_gemm_walk_next(weft_gemm_walk *walk);
#endif
