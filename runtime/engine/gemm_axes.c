/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_axes.h"

void weft_gemm_axes_add(weft_gemm_axes *axes, int64_t extent, int64_t stride)
{
    if (extent == 1) return;
    int64_t *inner = axes->rank == 0 ? &axes->each : &axes->extents[axes->rank - 1];
    int64_t *inner_stride = axes->rank == 0 ? &axes->stride : &axes->strides[axes->rank - 1];
    axes->count *= extent;
    if (*inner == 1) *inner_stride = stride, *inner = extent;
    else if (stride == *inner * *inner_stride) *inner *= extent;
    else axes->extents[axes->rank] = extent, axes->strides[axes->rank++] = stride;
}

int64_t weft_gemm_axes_offset(const weft_gemm_axes *axes, int64_t number)
{
    if (axes->rank == 0) return number * axes->stride;
    int64_t offset = number % axes->each * axes->stride;
    number /= axes->each;
    for (size_t i = 0; i < axes->rank; number /= axes->extents[i++])
        offset += number % axes->extents[i] * axes->strides[i];
    return offset;
}

void weft_gemm_walk_start(weft_gemm_walk *walk, const weft_gemm_axes *axes, int64_t number)
{
    walk->axes = axes;
    walk->offset = weft_gemm_axes_offset(axes, number);
    walk->length = axes->each - number % axes->each;
    number /= axes->each;
    for (size_t i = 0; i < axes->rank; number /= axes->extents[i++]) walk->places[i] = number % axes->extents[i];
}

void weft_gemm_walk_next(weft_gemm_walk *walk)
{
    const weft_gemm_axes *axes = walk->axes;
    walk->offset -= (axes->each - walk->length) * axes->stride;
    walk->length = axes->each;
    for (size_t i = 0; i < axes->rank; i++) {
        walk->offset += axes->strides[i];
        if (++walk->places[i] < axes->extents[i]) return;
        walk->offset -= axes->extents[i] * axes->strides[i];
        walk->places[i] = 0;
    }
}
