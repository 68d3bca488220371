/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_MATRICES_H
#define WEFT_RUNTIME_ENGINE_GEMM_MATRICES_H
/* Which axes of a product are its rows, columns and terms. */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_axes.h"

/* Rows or columns: of each product of a call, and with all axes of its batch that could be joined. */
typedef struct weft_gemm_line_count {
    int64_t each, most;
} weft_gemm_line_count;

/* The matrices of a call, and the axes that are left to its batch. */
typedef struct weft_gemm_matrices {
    weft_gemm_axes a_rows, a_terms, b_columns, b_terms, c_rows, c_columns;
    weft_gemm_line_count rows, columns;
    bool ahead;    /* kernels ask for operands that they read in place */
    int64_t batch; /* products */
    size_t batch_rank;
    int64_t extents[WEFT_MAX_RANK], a_strides[WEFT_MAX_RANK], b_strides[WEFT_MAX_RANK], c_strides[WEFT_MAX_RANK];
} weft_gemm_matrices;

/* Of a call that is not empty. `ahead`: kernels that read operands in place ask for them. */
void weft_gemm_matrices_find(weft_gemm_matrices *m, const weft_gemm_call *call, bool ahead);
#endif
