/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_LINES_H
#define WEFT_RUNTIME_ENGINE_GEMM_LINES_H
/* Products of a few rows and a matrix whose terms are adjacent in memory: the matrix is read in place, once, and
 * transposed by squares of registers, which are multiplied at once. Sums are those of tiles to the bit. */
#include <weft/base.h>

/* Rows at most, lines of the matrix at least; terms of the rows that are packed at once, whole blocks; bytes of a line
 * of a cache. */
enum { WEFT_GEMM_LINES_ROWS = 12, WEFT_GEMM_LEAST_LINES = 16, WEFT_GEMM_LINES_TERMS = 2048, WEFT_GEMM_LINE = 64 };

/* C[i, j] = the sum over terms of rows[i, t] * lines[j, t]; strides in elements. */
typedef struct weft_gemm_lines {
    const char *rows, *lines;
    char *c;
    int64_t row_count, line_count, terms; /* 1 to WEFT_GEMM_LINES_ROWS; > 0; > 0 */
    int64_t block;                        /* terms that are added up before they are added to C */
    int64_t row_stride, row_term_stride, line_stride, c_row, c_line;
} weft_gemm_lines;

/* `packed` has room for WEFT_GEMM_LINES_ROWS numbers for each term, WEFT_GEMM_LINES_TERMS at most. */
typedef void weft_gemm_lines_function(const weft_gemm_lines *product, void *packed);
extern weft_gemm_lines_function weft_gemm_lines_v4_f32, weft_gemm_lines_v4_f64;
#endif
