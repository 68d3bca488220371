/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PACK_H
#define WEFT_RUNTIME_ENGINE_GEMM_PACK_H
/* Operands of products, copied into the panels that kernels read. */
#include "runtime/engine/float16.h"
#include "runtime/engine/gemm_axes.h"
#include "runtime/engine/gemm_runs.h"
#include "runtime/engine/gemm_transpose.h"

/* One panel or a part of one, or several whole ones of numbers that are adjacent (gemm_pack_panel.h). */
typedef struct weft_gemm_panel weft_gemm_panel;
/* How complex elements are packed: re and im as two terms; each as two numbers, re and im in the first of these terms,
 * -im and re in the second; or as they are, as numbers of twice the size. */
typedef enum weft_gemm_form { WEFT_GEMM_PARTS, WEFT_GEMM_DOUBLED, WEFT_GEMM_WHOLE } weft_gemm_form;
/* Packs elements of one dtype. `form` is that of the side. */
typedef void weft_gemm_packing(const weft_gemm_panel *panel, weft_gemm_form form);
extern weft_gemm_packing weft_gemm_pack_8, weft_gemm_pack_16, weft_gemm_pack_f32, weft_gemm_pack_f64,
    weft_gemm_pack_c64, weft_gemm_pack_c128;

/*
 * One operand: rows of the left one, or columns of the right one. Where kernels take real numbers alone a complex
 * product is a real one with twice the terms: one operand comes in parts, the other one doubled. 16-bit floats are
 * widened to f32, or packed as they are, as numbers of 2 bytes.
 */
typedef struct weft_gemm_side {
    const char *data;               /* row or column 0 at term 0 of the matrix */
    const char *panels;             /* not NULL: it is packed already (gemm_panels.h), */
    int64_t panel_lines;            /* so many rows or columns of it */
    const weft_gemm_axes *lines;    /* how its rows or columns lie; strides in elements */
    const weft_gemm_axes *terms;    /* the same for terms */
    int64_t first, count;           /* rows or columns that are taken */
    bool complex;                   /* if so, */
    weft_gemm_form form;            /* that of its elements */
    size_t size;                    /* bytes of a real number that is packed, 1, 2, 4 or 8 */
    const weft_float16 *float16;    /* NULL: numbers are packed as they are */
    weft_gemm_packing *pack;        /* of its dtype */
    weft_gemm_transpose *transpose; /* of the kernel, */
    weft_gemm_runs_function *runs;  /* which may be NULL */
} weft_gemm_side;

/* Bytes of an element as it lies. */
static inline int64_t weft_gemm_side_element(const weft_gemm_side *side)
{
    return side->float16 != NULL ? 2 : (side->complex ? 2 : 1) * (int64_t)side->size;
}

/* Whether its rows or columns, or its terms, run over several axes. Then it is packed. */
static inline bool weft_gemm_side_is_joined(const weft_gemm_side *side)
{
    return side->lines->rank + side->terms->rank > 0;
}

/* Row or column `line` of the matrix at `term`. */
static inline const char *weft_gemm_side_at(const weft_gemm_side *side, int64_t line, int64_t term)
{
    int64_t offset = weft_gemm_axes_offset(side->lines, line) + weft_gemm_axes_offset(side->terms, term);
    return side->data + offset * weft_gemm_side_element(side);
}

/* How many bytes each of so many terms from `term` on is from `data`. */
void weft_gemm_pack_offsets(const weft_gemm_side *side, int64_t term, int64_t terms, ptrdiff_t *out_offsets);

/*
 * Packs `terms` terms from `term` on of `count` rows or columns from `first` on into panels of `width` numbers for each
 * (real) term, or of `width` whole elements, `pitch` bytes from one to the next; zeros where the last one has fewer.
 */
void weft_gemm_pack(const weft_gemm_side *side, int64_t first, int64_t count, int64_t term, int64_t terms,
                    int64_t width, char *panels, int64_t pitch);
#endif
