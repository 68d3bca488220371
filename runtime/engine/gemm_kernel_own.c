/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_portable.h"

/* In place of gemm_kernel.c, without BLIS: the same sums, by kernels that read operands wherever they lie. */

#define PORTABLE(number)                                                                                               \
    {                                                                                                                  \
        .rows = WEFT_GEMM_PORTABLE_ROWS, .columns = WEFT_GEMM_PORTABLE_COLUMNS, .terms = WEFT_GEMM_TERMS,              \
        .panels = weft_gemm_portable_##number, .transpose = weft_gemm_transpose_any_##number                           \
    }
#define V3(number, columns_)                                                                                           \
    {                                                                                                                  \
        .rows = 6, .columns = columns_, .vectors = 2, .terms = WEFT_GEMM_TERMS, .far = 12, .run = 2048,                \
        .few = WEFT_GEMM_FEW_ROWS, .tile = weft_gemm_tile_v3_##number, .tile_is_faster = true,                         \
        .rows_in_place = weft_gemm_rows_v3_##number, .transpose = weft_gemm_transpose_v3_##number                      \
    }
#define V4(number, rows_, columns_, vectors_)                                                                          \
    .rows = rows_, .columns = columns_, .vectors = vectors_, .by_columns = true, .masked = true, .sources = true,      \
    .terms = WEFT_GEMM_TERMS, .far = 12, .few = 3, .tile = weft_gemm_tile_v4_##number, .tile_is_faster = true,         \
    .rows_in_place = weft_gemm_rows_v4_##number, .transpose = weft_gemm_transpose_v4_##number,                         \
    .runs = weft_gemm_runs_v4
#define COMPLEX_V4(number, rows_, columns_)                                                                            \
    {                                                                                                                  \
        .rows = rows_, .columns = columns_, .vectors = 2, .by_columns = true, .masked = true, .ahead = true,           \
        .terms = WEFT_GEMM_TERMS, .parts = 4, .blocks = 4, .far = 12, .is_complex = true,                              \
        .tile = weft_gemm_complex_tile_v4_##number, .tile_is_faster = true, .transpose = weft_gemm_transpose_v4_f64,   \
        .runs = weft_gemm_runs_v4                                                                                      \
    }

const weft_gemm_kernel weft_gemm_kernel_portable_f32 = PORTABLE(f32);
const weft_gemm_kernel weft_gemm_kernel_portable_f64 = PORTABLE(f64);
#if defined(__x86_64__)
const weft_gemm_kernel weft_gemm_kernel_v3_f32 = V3(f32, 16), weft_gemm_kernel_v3_f64 = V3(f64, 8);
static const weft_gemm_kernel large_f32 = {V4(f32, 32, 14, 2), .parts = 4, .blocks = 4, .packs = true},
                              large_f64 = {V4(f64, 16, 14, 2), .parts = 4, .blocks = 4, .packs = true};
static const weft_gemm_kernel tall_f32 = {V4(f32, 32, 14, 2), .ahead = true, .packs_across = true},
                              tall_f64 = {V4(f64, 16, 14, 2), .ahead = true, .packs_across = true};
#define IN_PLACE_V4(number, rows_)                                                                                     \
    V4(number, rows_, 9, 3), .ahead = true, .large = &large_##number, .tall = &tall_##number
const weft_gemm_kernel weft_gemm_kernel_v4_f32 = {IN_PLACE_V4(f32, 48), .lines_in_place = weft_gemm_lines_v4_f32};
const weft_gemm_kernel weft_gemm_kernel_v4_f64 = {IN_PLACE_V4(f64, 24), .lines_in_place = weft_gemm_lines_v4_f64};
const weft_gemm_kernel weft_gemm_kernel_v4_c64 = COMPLEX_V4(f32, 32, 14),
                       weft_gemm_kernel_v4_c128 = COMPLEX_V4(f64, 16, 12);
#endif
