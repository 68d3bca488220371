/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_ROWS_H
#define WEFT_RUNTIME_ENGINE_GEMM_ROWS_H
/* Products of a few rows and a matrix whose columns are adjacent in memory: the matrix is read in place, once. Sums are
 * those of tiles to the bit. */
#include <weft/base.h>

/* Rows at most; sums that stay in L1 meanwhile. */
enum { WEFT_GEMM_FEW_ROWS = 8, WEFT_GEMM_ROWS_SUMS = 4096 };

/* C[i, j] = the sum over terms of rows[i, t] * matrix[t, j]; strides in elements. Of complex numbers re(rows) * matrix
 * is added up before im(rows) * i * matrix. */
typedef struct weft_gemm_rows {
    const char *rows, *matrix;
    char *c;
    int64_t row_count, column_count, terms; /* 1 to WEFT_GEMM_FEW_ROWS; > 0; > 0 */
    int64_t block;                          /* terms that are added up before they are added to C */
    int64_t row_stride, row_term_stride, matrix_term_stride, c_row, c_column;
    bool is_complex;
    bool far; /* of real numbers: lines of the matrix are asked for, since they come from memory */
} weft_gemm_rows;

/* One for each ISA level with fused multiplications. `sums` has room for WEFT_GEMM_ROWS_SUMS real numbers, aligned to
 * 64 bytes. */
typedef void weft_gemm_rows_function(const weft_gemm_rows *product, void *sums);
extern weft_gemm_rows_function weft_gemm_rows_v3_f32, weft_gemm_rows_v3_f64;
extern weft_gemm_rows_function weft_gemm_rows_v4_f32, weft_gemm_rows_v4_f64;
#endif
