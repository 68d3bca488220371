/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/tiles.h"
#include "runtime/engine/gemm.h"

const weft_gemm_engine *weft_gemm_engine_find_fast(weft_isa level, weft_dtype dtype)
{
#if defined(__x86_64__)
    if (dtype == WEFT_BF16 && weft_tiles_acquire()) return &weft_gemm_amx_engine_bf16;
    if (dtype == WEFT_BF16 && weft_pairs_are_fast()) return &weft_gemm_dot_engine_bf16;
#endif
    return weft_gemm_engine_find(level, dtype);
}
