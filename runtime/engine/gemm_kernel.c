/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_kernel.h"
#include <blis.h>
#include <weft/executor.h>
#include "runtime/base/isa.h"
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_portable.h"
#include "runtime/engine/gemm_rows.h"

/*
 * BLIS's kernels are called directly, for whole tiles on panels that we pack: the code around them in BLIS writes
 * between the elements of C and reads beyond operands on some processors, gives other bits for other layouts, and ends
 * the process when it gets no memory.
 */

/* ---- the table ---- */

typedef struct kernel_set {
    const char *name;                /* as BLIS calls the configuration */
    weft_gemm_kernel f32[2], f64[2]; /* the second ones for packed operands alone */
} kernel_set;

#define KERNEL(size, rows, columns, by_columns, far, run, few, function, tile, tile_is_faster)                         \
    {                                                                                                                  \
        {size, rows,          columns, by_columns, WEFT_GEMM_TERMS, far, run, few, (void (*)(void))function,           \
         tile, tile_is_faster},                                                                                        \
        {                                                                                                              \
            size, rows, columns, by_columns, WEFT_GEMM_TERMS, 0, 0, 0, (void (*)(void))function, NULL, false           \
        }                                                                                                              \
    }

#define PORTABLE_KERNEL(size)                                                                                          \
    KERNEL(size, WEFT_GEMM_PORTABLE_ROWS, WEFT_GEMM_PORTABLE_COLUMNS, false, 0, 0, 0, NULL, NULL, false)
#define PORTABLE                                                                                                       \
    {                                                                                                                  \
        "portable", PORTABLE_KERNEL(4), PORTABLE_KERNEL(8)                                                             \
    }

/* By level. `far`, `run`, `few` and `tile_is_faster` are measured on Zen 3 for AVX2, on Sapphire Rapids for AVX-512. */
static const kernel_set sets[] = {
    [WEFT_ISA_BASE] = PORTABLE,
    [WEFT_ISA_V2] = PORTABLE,
    [WEFT_ISA_ARMV8A] = PORTABLE, /* packed for only */
    [WEFT_ISA_V3] = {"haswell",
                     KERNEL(4, 6, 16, false, 12, 2048, 8, bli_sgemm_haswell_asm_6x16, weft_gemm_tile_v3_f32, true),
                     KERNEL(8, 6, 8, false, 12, 2048, 8, bli_dgemm_haswell_asm_6x8, weft_gemm_tile_v3_f64, true)},
    [WEFT_ISA_V4] = {"skx",
                     KERNEL(4, 32, 12, true, 12, 0, WEFT_GEMM_FEW_ROWS, bli_sgemm_skx_asm_32x12_l2,
                            weft_gemm_tile_v4_f32, false),
                     KERNEL(8, 16, 14, true, 12, 0, WEFT_GEMM_FEW_ROWS, bli_dgemm_skx_asm_16x14, weft_gemm_tile_v4_f64,
                            false)},
};

const weft_gemm_kernel *weft_gemm_kernel_find(weft_isa level, size_t size, bool packed)
{
    const kernel_set *set = &sets[level];
    return size == sizeof(float) ? &set->f32[packed] : &set->f64[packed];
}

const char *weft_gemm_configuration(void)
{
    return sets[weft_isa_level()].name;
}

/* ---- one tile ---- */

void weft_gemm_tile(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right, bool add,
                    void *tile, int64_t stride)
{
    if (kernel->function == NULL) {
        if (kernel->size == sizeof(float)) weft_gemm_portable_f32(terms, left, right, add, tile, stride);
        else weft_gemm_portable_f64(terms, left, right, add, tile, stride);
        return;
    }
    auxinfo_t info = {0};
    bli_auxinfo_set_next_ab((void *)left, (void *)right, &info);
    inc_t row = kernel->by_columns ? 1 : stride, column = kernel->by_columns ? stride : 1;
    if (kernel->size == sizeof(float)) {
        float one = 1, beta = add;
        ((sgemm_ukr_ft)kernel->function)(kernel->rows, kernel->columns, terms, &one, (float *)left, (float *)right,
                                         &beta, tile, row, column, &info, NULL);
    } else {
        double one = 1, beta = add;
        ((dgemm_ukr_ft)kernel->function)(kernel->rows, kernel->columns, terms, &one, (double *)left, (double *)right,
                                         &beta, tile, row, column, &info, NULL);
    }
}
