/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_portable.h"
#include "runtime/engine/fma.h"

enum { ROWS = WEFT_GEMM_PORTABLE_ROWS, COLUMNS = WEFT_GEMM_PORTABLE_COLUMNS };

void weft_gemm_portable_f32(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right,
                            bool add, void *tile, int64_t stride)
{
    const float *row = left, *column = right;
    float *out = tile, sums[ROWS][COLUMNS] = {{0}};
    (void)kernel;
    for (int64_t p = 0; p < terms; p++, row += ROWS, column += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) sums[i][j] = WEFT_FMA_F32(row[i], column[j], sums[i][j]);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) out[i * stride + j] = add ? out[i * stride + j] + sums[i][j] : sums[i][j];
}

void weft_gemm_portable_f64(const weft_gemm_kernel *kernel, int64_t terms, const void *left, const void *right,
                            bool add, void *tile, int64_t stride)
{
    const double *row = left, *column = right;
    double *out = tile, sums[ROWS][COLUMNS] = {{0}};
    (void)kernel;
    for (int64_t p = 0; p < terms; p++, row += ROWS, column += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) sums[i][j] = WEFT_FMA_F64(row[i], column[j], sums[i][j]);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) out[i * stride + j] = add ? out[i * stride + j] + sums[i][j] : sums[i][j];
}
