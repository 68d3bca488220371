/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PACK_H
#define WEFT_RUNTIME_ENGINE_GEMM_PACK_H
/* Operands of products, copied into the panels that kernels read. */
#include <weft/base.h>

/*
 * One operand: the rows of the left one, or the columns of the right one. A complex product is a real one with twice
 * the terms: one operand gives re and im of an element as two terms; of the other, `doubled`, each element becomes two
 * numbers, re and im in the first of these terms, -im and re in the second.
 */
typedef struct weft_gemm_side {
    const char *data;      /* first element */
    int64_t count;         /* rows or columns */
    int64_t stride;        /* elements from one of them to the next */
    int64_t term_stride;   /* elements from one term to the next */
    bool complex, doubled; /* doubled: complex too */
    size_t size;           /* bytes of a real number, 4 or 8 */
} weft_gemm_side;

/*
 * Packs `terms` terms of `count` rows or columns into panels of `width` numbers for each (real) term, `pitch` bytes
 * from one to the next; zeros where the last one has fewer. `data` is the first element; side->count is not looked at.
 */
void weft_gemm_pack(const weft_gemm_side *side, const char *data, int64_t count, int64_t terms, int64_t width,
                    char *panels, int64_t pitch);
#endif
