/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/executor.h>
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_instructions.h"

typedef struct instructions {
    const char *name;
    weft_dtype dtype;
    bool is_fast;      /* for WEFT_PRODUCTS_FAST alone */
    bool (*has)(void); /* whether the process has them; NULL: this is the end of the list */
    const weft_gemm_engine *engine;
} instructions;

/* The best first. */
static const instructions list[] = {
#if defined(__x86_64__)
    {"AMX", WEFT_BF16, true, weft_tiles_acquire, &weft_gemm_amx_engine_bf16},
    {"AVX512_BF16", WEFT_BF16, true, weft_pairs_are_fast, &weft_gemm_dot_engine_bf16},
    {"AVX512_VNNI", WEFT_U8, false, weft_has_byte_products, &weft_gemm_dot_engine_u8},
#endif
    {NULL, WEFT_BOOL, false, NULL, NULL},
};

static const instructions *find(weft_dtype dtype, bool is_fast)
{
    const instructions *at = list;
    while (at->has != NULL && (at->dtype != dtype || (at->is_fast && !is_fast) || !at->has())) at++;
    return at;
}

const weft_gemm_engine *weft_gemm_engine_find_here(weft_isa level, weft_dtype dtype, bool is_fast)
{
    const weft_gemm_engine *engine = find(dtype, is_fast)->engine;
    return engine != NULL ? engine : weft_gemm_engine_find(level, dtype);
}

const char *weft_gemm_instructions(weft_dtype dtype)
{
    return find(dtype, true)->name;
}
