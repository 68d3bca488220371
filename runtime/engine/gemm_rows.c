/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_rows.h"
#include "runtime/base/isa.h"

weft_gemm_rows_function *weft_gemm_rows_find(void)
{
    static weft_gemm_rows_function *const levels[] = {[WEFT_ISA_BASE] = NULL,
                                                      [WEFT_ISA_V2] = NULL,
                                                      [WEFT_ISA_V3] = weft_gemm_rows_v3,
                                                      [WEFT_ISA_V4] = weft_gemm_rows_v4};
    return levels[weft_isa_level()];
}
