/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_EMIT_DTYPE_H
#define WEFT_BACKENDS_LLVM_EMIT_DTYPE_H
/* What emitters ask of dtypes; only they include this. */
#include "backends/llvm/emit.h"

static inline weft_dtype_kind kind_of(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind;
}

static inline bool is_float(weft_dtype dtype)
{
    return kind_of(dtype) == WEFT_KIND_FLOAT;
}

/* 16-bit floats are integers in LLVM IR: their bits. */
static inline bool is_short(weft_dtype dtype)
{
    return weft_dtype_is_float16(dtype);
}

static inline bool is_signed(weft_dtype dtype)
{
    return kind_of(dtype) == WEFT_KIND_SIGNED;
}
#endif
