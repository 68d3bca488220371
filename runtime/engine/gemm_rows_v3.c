/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a few rows with AVX2. */
#define WEFT_GEMM_ROWS weft_gemm_rows_v3
#include "runtime/engine/gemm_rows_level.h"
