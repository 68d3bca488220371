/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_kernel.h"
#include <blis.h>
#include <weft/executor.h>
#include "runtime/base/isa.h"
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_portable.h"

/*
 * BLIS's kernels are called directly, for whole tiles on panels that we pack: the code around them in BLIS writes
 * between the elements of C and reads beyond operands on some processors, gives other bits for other layouts, and ends
 * the process when it gets no memory.
 */

/* ---- one tile ---- */

static void run_f32(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right, bool add,
                    void *tile, int64_t stride)
{
    auxinfo_t info = {0};
    float one = 1, beta = add;
    bli_auxinfo_set_next_ab((void *)left, (void *)right, &info);
    inc_t row = kernel->by_columns ? 1 : stride, column = kernel->by_columns ? stride : 1;
    ((sgemm_ukr_ft)kernel->function)(kernel->rows, kernel->columns, terms, &one, (float *)left, (float *)right, &beta,
                                     tile, row, column, &info, NULL);
}

static void run_f64(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right, bool add,
                    void *tile, int64_t stride)
{
    auxinfo_t info = {0};
    double one = 1, beta = add;
    bli_auxinfo_set_next_ab((void *)left, (void *)right, &info);
    inc_t row = kernel->by_columns ? 1 : stride, column = kernel->by_columns ? stride : 1;
    ((dgemm_ukr_ft)kernel->function)(kernel->rows, kernel->columns, terms, &one, (double *)left, (double *)right, &beta,
                                     tile, row, column, &info, NULL);
}

/* ---- kernels ---- */

#define PORTABLE(number)                                                                                               \
    {                                                                                                                  \
        .rows = WEFT_GEMM_PORTABLE_ROWS, .columns = WEFT_GEMM_PORTABLE_COLUMNS, .terms = WEFT_GEMM_TERMS,              \
        .panels = weft_gemm_portable_##number, .transpose = weft_gemm_transpose_any_##number                           \
    }
/* What all kernels of a level have; by BLIS's function. */
#define BLIS(number, rows_, columns_, by_columns_, function_)                                                          \
    .rows = rows_, .columns = columns_, .vectors = 2, .by_columns = by_columns_, .terms = WEFT_GEMM_TERMS,             \
    .panels = run_##number, .function = (void (*)(void))function_
#define BESIDE(level, number)                                                                                          \
    .tile = weft_gemm_tile_##level##_##number, .rows_in_place = weft_gemm_rows_##level##_##number,                     \
    .transpose = weft_gemm_transpose_##level##_##number
#define V3_F32 BLIS(f32, 6, 16, false, bli_sgemm_haswell_asm_6x16)
#define V3_F64 BLIS(f64, 6, 8, false, bli_dgemm_haswell_asm_6x8)
#define V4_F32 BLIS(f32, 32, 12, true, bli_sgemm_skx_asm_32x12_l2)
#define V4_F64 BLIS(f64, 16, 14, true, bli_dgemm_skx_asm_16x14)
#define ANY(number) .transpose = weft_gemm_transpose_any_##number
static const weft_gemm_kernel packed[] = {
    {V3_F32, ANY(f32)}, {V3_F64, ANY(f64)}, {V4_F32, ANY(f32)}, {V4_F64, ANY(f64)}};

/* `far`, `run`, `few`, `ahead` and `tile_is_faster` are measured on Zen 3 for AVX2, on Sapphire Rapids for AVX-512. */
#define MEASURED_V3 .far = 12, .run = 2048, .few = WEFT_GEMM_FEW_ROWS, .tile_is_faster = true
#define MEASURED_V4 .far = 12, .few = 3, .masked = true, .runs = weft_gemm_runs_v4

/* What operands that are both packed are multiplied with. */
#define HIGH_V4(number, rows_)                                                                                         \
    .rows = rows_, .columns = 14, .vectors = 2, .by_columns = true, .terms = WEFT_GEMM_TERMS, .sources = true,         \
    .tile_is_faster = true, BESIDE(v4, number), MEASURED_V4
#define LARGE_V4(number, rows_)                                                                                        \
    {                                                                                                                  \
        HIGH_V4(number, rows_), .parts = 4, .packs = true, .blocks = 4                                                 \
    }
static const weft_gemm_kernel large[] = {LARGE_V4(f32, 32), LARGE_V4(f64, 16)};

/* The same for a matrix that is read in place beside more rows than others have. */
#define TALL_V4(number, rows_)                                                                                         \
    {                                                                                                                  \
        HIGH_V4(number, rows_), .ahead = true, .packs_across = true                                                    \
    }
static const weft_gemm_kernel tall[] = {TALL_V4(f32, 32), TALL_V4(f64, 16)};

/* Our own alone, beside those of number `index`. */
#define IN_PLACE_V4(number, rows_, index)                                                                              \
    .rows = rows_, .columns = 9, .vectors = 3, .by_columns = true, .terms = WEFT_GEMM_TERMS, .tile_is_faster = true,   \
    .ahead = true, .sources = true, BESIDE(v4, number), MEASURED_V4, .large = &large[index], .tall = &tall[index],     \
    .packed = &packed[2 + index]

/* Of c128 12 rows: a panel of more leaves L1 no room for the other one. */
#define COMPLEX_V4(number, rows_, columns_, index)                                                                     \
    {                                                                                                                  \
        .rows = rows_, .columns = columns_, .vectors = 2, .by_columns = true, .terms = WEFT_GEMM_TERMS, .parts = 4,    \
        .blocks = 4, .tile_is_faster = true, .ahead = true, .is_complex = true,                                        \
        .tile = weft_gemm_complex_tile_v4_##number, .transpose = weft_gemm_transpose_v4_f64,                           \
        .runs = weft_gemm_runs_v4, .far = 12, .masked = true, .packed = &packed[index]                                 \
    }

const weft_gemm_kernel weft_gemm_kernel_portable_f32 = PORTABLE(f32);
const weft_gemm_kernel weft_gemm_kernel_portable_f64 = PORTABLE(f64);
const weft_gemm_kernel weft_gemm_kernel_v3_f32 = {V3_F32, BESIDE(v3, f32), MEASURED_V3, .packed = &packed[0]};
const weft_gemm_kernel weft_gemm_kernel_v3_f64 = {V3_F64, BESIDE(v3, f64), MEASURED_V3, .packed = &packed[1]};
const weft_gemm_kernel weft_gemm_kernel_v4_f32 = {IN_PLACE_V4(f32, 48, 0), .lines_in_place = weft_gemm_lines_v4_f32};
const weft_gemm_kernel weft_gemm_kernel_v4_f64 = {IN_PLACE_V4(f64, 24, 1), .lines_in_place = weft_gemm_lines_v4_f64};
const weft_gemm_kernel weft_gemm_kernel_v4_c64 = COMPLEX_V4(f32, 32, 14, 2);
const weft_gemm_kernel weft_gemm_kernel_v4_c128 = COMPLEX_V4(f64, 16, 12, 3);

const char *weft_gemm_configuration(void)
{
    static const char *const names[] = {"portable", "portable", "haswell", "skx"};
    return names[weft_isa_level()];
}
