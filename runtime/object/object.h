/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_OBJECT_OBJECT_H
#define WEFT_RUNTIME_OBJECT_OBJECT_H
/*
 * A program compiled ahead of time, as an object contains it: the tables of program and variants, constant, with code
 * in place. lib/object writes them.
 */
#include <weft/rt.h>
#include "runtime/base/isa.h"
#include "runtime/program/variant.h"

/* Changes with every table that an object contains. */
#define WEFT_RT_ABI 4

/* Objects are also written on another architecture than theirs: what layouts follow from is the same on all of them. */
_Static_assert(sizeof(void *) == 8 && _Alignof(void *) == 8 && sizeof(size_t) == 8 && sizeof(int) == 4 &&
                   _Alignof(int64_t) == 8 && _Alignof(double) == 8 && _Alignof(max_align_t) == 16 &&
                   sizeof(weft_isa) == 4 && sizeof(bool) == 1 && sizeof(atomic_size_t) == 8 && sizeof(atomic_bool) == 1,
               "layouts differ from those of x86-64 and aarch64 under Linux");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the order of bytes differs");

/* Code for one class of processors and calls. */
typedef struct weft_rt_variant {
    weft_isa level;         /* that it needs */
    bool strided;           /* all arrays have strides; otherwise they are row-major */
    const int64_t *extents; /* of each symbol, the only ones that it is for; NULL: any */
    const weft_variant *variant;
} weft_rt_variant;

struct weft_rt_object {
    weft_rt_manifest manifest;
    const weft_program *program;
    size_t variant_count;
    const weft_rt_variant *variants; /* the first that fits a call is the best */
};

/*
 * What a call is, in memory: the value of each symbol, int64_t; the address of the weights, if they are in a file; the
 * data of each input and output, pointers; the layout of each, pointers to weft_rt_layout or NULL. Constants of
 * variants are then places in that file.
 *
 * The file has a header of WEFT_RT_WEIGHTS_HEADER bytes: WEFT_RT_WEIGHTS_MAGIC, u64 size of the file, u64 digest (XXH3)
 * of all that follows the header, and zeros.
 */
#define WEFT_RT_WEIGHTS_MAGIC "weft wts"
#define WEFT_RT_WEIGHTS_HEADER 64
#define WEFT_RT_WEIGHTS_DIGEST_AT 16
#endif
