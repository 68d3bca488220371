/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/executor.h>
#include "runtime/base/isa.h"
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_portable.h"
#include "runtime/engine/gemm_rows.h"

/* In place of gemm_kernel.c, without BLIS: the same sums, by kernels that read operands wherever they lie. */

typedef struct kernel_set {
    weft_gemm_kernel f32, f64;
} kernel_set;

#define KERNEL(size, rows, columns, by_columns, run, few, tile)                                                        \
    {                                                                                                                  \
        size, rows, columns, by_columns, WEFT_GEMM_TERMS, 12, run, few, NULL, tile, true                               \
    }
#define PORTABLE(size)                                                                                                 \
    {                                                                                                                  \
        size, WEFT_GEMM_PORTABLE_ROWS, WEFT_GEMM_PORTABLE_COLUMNS, false, WEFT_GEMM_TERMS, 0, 0, 0, NULL, NULL, false  \
    }

static const kernel_set sets[] = {
    [WEFT_ISA_BASE] = {PORTABLE(4), PORTABLE(8)},
    [WEFT_ISA_V2] = {PORTABLE(4), PORTABLE(8)},
    [WEFT_ISA_V3] = {KERNEL(4, 6, 16, false, 2048, 8, weft_gemm_tile_v3_f32),
                     KERNEL(8, 6, 8, false, 2048, 8, weft_gemm_tile_v3_f64)},
    [WEFT_ISA_V4] = {KERNEL(4, 32, 12, true, 0, WEFT_GEMM_FEW_ROWS, weft_gemm_tile_v4_f32),
                     KERNEL(8, 16, 14, true, 0, WEFT_GEMM_FEW_ROWS, weft_gemm_tile_v4_f64)},
};

const weft_gemm_kernel *weft_gemm_kernel_find(weft_isa level, size_t size, bool packed)
{
    const kernel_set *set = &sets[level];
    (void)packed;
    return size == sizeof(float) ? &set->f32 : &set->f64;
}

/* Of the portable kernel: the others have tiles of their own. */
void weft_gemm_tile(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right, bool add,
                    void *tile, int64_t stride)
{
    if (kernel->size == sizeof(float)) weft_gemm_portable_f32(terms, left, right, add, tile, stride);
    else weft_gemm_portable_f64(terms, left, right, add, tile, stride);
}
