/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_portable.h"
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/level.h"

/* In place of gemm_kernel.c, without BLIS: the same sums, by kernels that read operands wherever they lie. */

#define KERNEL(size, rows, columns, by_columns, run, few, tile)                                                        \
    {                                                                                                                  \
        size, rows, columns, by_columns, WEFT_GEMM_TERMS, 12, run, few, NULL, tile, true                               \
    }
#define PORTABLE(size)                                                                                                 \
    {                                                                                                                  \
        size, WEFT_GEMM_PORTABLE_ROWS, WEFT_GEMM_PORTABLE_COLUMNS, false, WEFT_GEMM_TERMS, 0, 0, 0, NULL, NULL, false  \
    }

static const weft_gemm_kernel f32[] =
    WEFT_BY_LEVEL(PORTABLE(4), KERNEL(4, 6, 16, false, 2048, 8, weft_gemm_tile_v3_f32),
                  KERNEL(4, 32, 12, true, 0, WEFT_GEMM_FEW_ROWS, weft_gemm_tile_v4_f32));
static const weft_gemm_kernel f64[] =
    WEFT_BY_LEVEL(PORTABLE(8), KERNEL(8, 6, 8, false, 2048, 8, weft_gemm_tile_v3_f64),
                  KERNEL(8, 16, 14, true, 0, WEFT_GEMM_FEW_ROWS, weft_gemm_tile_v4_f64));

const weft_gemm_kernel *weft_gemm_kernel_find(weft_isa level, size_t size, bool packed)
{
    (void)packed;
    return &(size == sizeof(float) ? f32 : f64)[level];
}

/* Of the portable kernel: the others have tiles of their own. */
void weft_gemm_tile(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right, bool add,
                    void *tile, int64_t stride)
{
    if (kernel->size == sizeof(float)) weft_gemm_portable_f32(terms, left, right, add, tile, stride);
    else weft_gemm_portable_f64(terms, left, right, add, tile, stride);
}
