/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_MIRROR_H
#define WEFT_RUNTIME_ENGINE_GEMM_MIRROR_H
/* The other half of a symmetric product. */
#include <stdint.h>
#include "runtime/engine/gemm_transpose.h"

/* Rows and columns of a square of C that is copied at once. */
enum { WEFT_GEMM_SQUARE = 32 };

/* A symmetric C of `count` rows, strides in bytes from one of the left operand, or of the right one, to the next. */
typedef struct weft_gemm_mirror {
    char *c;
    int64_t count, left, right, size;
    weft_gemm_transpose *transpose;
} weft_gemm_mirror;

/* Elements beyond the diagonal of rows [first, last), at most a square's, become those across it. `first` is a multiple
 * of WEFT_GEMM_SQUARE. */
void weft_gemm_mirror_rows(const weft_gemm_mirror *m, int64_t first, int64_t last);
#endif
