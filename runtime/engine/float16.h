/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_FLOAT16_H
#define WEFT_RUNTIME_ENGINE_FLOAT16_H
/* 16-bit floats, f16 and bf16, from and to f32, many at a time; the same bits on each ISA level, except
 * for NaNs. */
#include <weft/dtype.h>
#include "runtime/engine/gemm_transpose.h"

typedef struct weft_float16 {
    /* `count` numbers, at any address. `from` may be the last half of `to`. */
    void (*widen)(const char *from, float *to, int64_t count);
    /* To nearest even. */
    void (*round)(const float *from, char *to, int64_t count);
    /* `widen` for rows of `count` numbers: bytes from one to the next of `from`, numbers of `to`. NULL: short
     * rows are faster copied first. */
    void (*widen_rows)(const char *from, ptrdiff_t stride, float *to, int64_t pitch, int64_t rows, int64_t count);
    weft_gemm_transpose *transpose; /* packs lines of these as f32, where there is `widen_rows` */
} weft_float16;

extern const weft_float16 weft_f16_base, weft_f16_v3, weft_f16_v4, weft_bf16_base, weft_bf16_v3, weft_bf16_v4;
#endif
