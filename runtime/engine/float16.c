/* SPDX-License-Identifier: Apache-2.0 */
#define LEVEL(x) x##_base
#include "runtime/engine/float16_level.h"
#include "runtime/engine/level.h"

const weft_float16 *weft_float16_find(weft_dtype dtype)
{
    static const weft_float16 *const f16[] = WEFT_BY_LEVEL(&weft_f16_base, &weft_f16_v3, &weft_f16_v4);
    static const weft_float16 *const bf16[] = WEFT_BY_LEVEL(&weft_bf16_base, &weft_bf16_v3, &weft_bf16_v4);
    return dtype == WEFT_F16 ? f16[weft_isa_level()] : dtype == WEFT_BF16 ? bf16[weft_isa_level()] : NULL;
}
