/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_DTYPE_H
#define WEFT_DTYPE_H
/*
 * Element types. One table, dtype.def, defines them all:
 *
 * - bool: one byte. 0 is false; every op reads any other value as true: 2 equals 1 and sorts like 1. Computed bools are
 *   0 or 1. Operations that only move elements (weft_gather, weft_sort, weft_array_copy) may keep the byte or write 1.
 * - u8, u32: unsigned integers of that many bits.
 * - i32, i64: signed integers of that many bits, in two's complement.
 * - f16, f32, f64: IEEE 754 binary16, binary32, binary64.
 * - bf16: the upper half of an f32: 1 bit of sign, 8 of exponent, 7 of fraction.
 * - c64, c128: the real and then the imaginary part, each an f32 or an f64.
 *
 * All are stored in the processor's native representation; weft_dtype_info has sizes and alignments.
 */
#include <weft/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_dtype {
#define WEFT_DTYPE(enumerator, name, bytes, alignment, kind, dlpack, npy) WEFT_##enumerator,
#include <weft/dtype.def>
#undef WEFT_DTYPE
    WEFT_DTYPE_COUNT
} weft_dtype;

typedef enum weft_dtype_kind {
    WEFT_KIND_BOOL,
    WEFT_KIND_UNSIGNED,
    WEFT_KIND_SIGNED,
    WEFT_KIND_FLOAT,
    WEFT_KIND_COMPLEX
} weft_dtype_kind;

/* A set of dtypes: bit `1u << dtype`. */
typedef uint32_t weft_dtype_set;

typedef struct weft_dtype_info {
    const char *name; /* "f32" */
    size_t size;      /* bytes of one element */
    size_t alignment; /* bytes */
    weft_dtype_kind kind;
    uint8_t dlpack_code; /* DLDataTypeCode; bits are 8 * size */
    const char *npy;     /* "f4", to be preceded by a byte-order mark */
} weft_dtype_info;

/* The row of `dtype`; NULL when it is not a dtype. */
const weft_dtype_info *weft_dtype_info_of(weft_dtype dtype);

/* Finds a dtype by name ("f32"); false when there is none. */
bool weft_dtype_find(const char *name, weft_dtype *out_dtype);

/* "f32", or "?" when it is not a dtype. */
const char *weft_dtype_name(weft_dtype dtype);

/* The dtype of the two parts of a complex number (c64: f32); any other dtype is its own. */
weft_dtype weft_dtype_component(weft_dtype dtype);

/* One element as numbers, exactly except for large i64; `*out_imaginary` is 0 unless the dtype is complex. */
void weft_dtype_load(weft_dtype dtype, const void *element, double *out_real, double *out_imaginary);

/* Bytes of one element; 0 when it is not a dtype. */
size_t weft_dtype_size(weft_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
