/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/dtype.h>
#include <string.h>

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
