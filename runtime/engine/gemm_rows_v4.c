/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a few rows with AVX-512. */
#define WEFT_GEMM_ROWS weft_gemm_rows_v4
#include "runtime/engine/gemm_rows_level.h"
