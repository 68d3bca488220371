/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/dtype.h>
#include <string.h>
#include "runtime/base/float_bits.h"

static const weft_dtype_info infos[WEFT_DTYPE_COUNT] = {
#define WEFT_DTYPE(enumerator, name, bytes, alignment, kind, dlpack, npy)                                              \
    {name, bytes, alignment, WEFT_KIND_##kind, dlpack, npy},
#include <weft/dtype.def>
#undef WEFT_DTYPE
};

const weft_dtype_info *weft_dtype_info_of(weft_dtype dtype)
{
    return (unsigned)dtype < WEFT_DTYPE_COUNT ? &infos[dtype] : NULL;
}

bool weft_dtype_find(const char *name, weft_dtype *out_dtype)
{
    for (unsigned i = 0; i < WEFT_DTYPE_COUNT && name != NULL; i++) {
        if (strcmp(infos[i].name, name) != 0) continue;
        *out_dtype = (weft_dtype)i;
        return true;
    }
    return false;
}

const char *weft_dtype_name(weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    return info == NULL ? "?" : info->name;
}

weft_dtype weft_dtype_component(weft_dtype dtype)
{
    if (dtype == WEFT_C64) return WEFT_F32;
    return dtype == WEFT_C128 ? WEFT_F64 : dtype;
}

size_t weft_dtype_size(weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    return info == NULL ? 0 : info->size;
}

/* ---- elements ---- */

static double load_float(weft_dtype dtype, const void *element, size_t index)
{
    uint64_t bits = 0;
    size_t size = weft_dtype_size(dtype);
    memcpy(&bits, (const char *)element + index * size, size);
    return weft_float_decode(dtype, bits);
}

void weft_dtype_load(weft_dtype dtype, const void *element, double *out_real, double *out_imaginary)
{
    *out_real = *out_imaginary = 0;
    switch (dtype) {
    case WEFT_BOOL: *out_real = *(const uint8_t *)element != 0; break;
    case WEFT_U8: *out_real = *(const uint8_t *)element; break;
    case WEFT_I32: *out_real = *(const int32_t *)element; break;
    case WEFT_U32: *out_real = *(const uint32_t *)element; break;
    case WEFT_I64: *out_real = (double)*(const int64_t *)element; break;
    case WEFT_C64:
    case WEFT_C128: *out_imaginary = load_float(weft_dtype_component(dtype), element, 1); /* fall through */
    case WEFT_BF16:
    case WEFT_F16:
    case WEFT_F32:
    case WEFT_F64: *out_real = load_float(weft_dtype_component(dtype), element, 0); break;
    case WEFT_DTYPE_COUNT: break;
    }
}
