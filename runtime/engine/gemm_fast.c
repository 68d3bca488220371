/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/tiles.h"
#include "runtime/engine/gemm.h"

const weft_gemm_engine *weft_gemm_engine_find_here(weft_isa level, weft_dtype dtype, bool is_fast)
{
#if defined(__x86_64__)
    if (is_fast && dtype == WEFT_BF16 && weft_tiles_acquire()) return &weft_gemm_amx_engine_bf16;
    if (is_fast && dtype == WEFT_BF16 && weft_pairs_are_fast()) return &weft_gemm_dot_engine_bf16;
    if (dtype == WEFT_U8 && weft_has_byte_products()) return &weft_gemm_dot_engine_u8;
#else
    (void)is_fast;
#endif
    return weft_gemm_engine_find(level, dtype);
}
