/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/level.h"

weft_gemm_rows_function *weft_gemm_rows_find(void)
{
    static weft_gemm_rows_function *const levels[] = WEFT_BY_LEVEL(NULL, weft_gemm_rows_v3, weft_gemm_rows_v4);
    return levels[weft_isa_level()];
}
