/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_portable.h"
#include <math.h>

enum { ROWS = WEFT_GEMM_PORTABLE_ROWS, COLUMNS = WEFT_GEMM_PORTABLE_COLUMNS };

void weft_gemm_portable_f32(int64_t terms, const float *left, const float *right, bool add, float *tile, int64_t stride)
{
    float sums[ROWS][COLUMNS] = {{0}};
    for (int64_t p = 0; p < terms; p++, left += ROWS, right += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) tile[i * stride + j] = add ? tile[i * stride + j] + sums[i][j] : sums[i][j];
}

void weft_gemm_portable_f64(int64_t terms, const double *left, const double *right, bool add, double *tile,
                            int64_t stride)
{
    double sums[ROWS][COLUMNS] = {{0}};
    for (int64_t p = 0; p < terms; p++, left += ROWS, right += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) sums[i][j] = fma(left[i], right[j], sums[i][j]);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) tile[i * stride + j] = add ? tile[i * stride + j] + sums[i][j] : sums[i][j];
}
