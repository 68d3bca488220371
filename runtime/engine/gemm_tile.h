/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_TILE_H
#define WEFT_RUNTIME_ENGINE_GEMM_TILE_H
/*
 * Tiles of products whose operands lie anywhere, packed or in place: the sums are those of kernels for packed operands
 * to the bit, of as many rows as there are.
 */
#include <weft/base.h>

/* Registers of the wide operand that are its columns, at most. */
#define WEFT_GEMM_MOST_VECTORS 3

/*
 * The wide operand as it lies, for a tile that packs it into a panel on its way. Numbers of a term are adjacent, except
 * that each register may have a seam: the first `before` of them are at `place`, others from `beyond` on, which is
 * where the first one would be. Both are bytes from the term, which is `offsets[t]` bytes from `from`.
 */
typedef struct weft_gemm_source {
    const char *from;
    const ptrdiff_t *offsets; /* of all terms */
    void *panel;              /* that is `wide` of the tile */
    struct {
        ptrdiff_t place, beyond;
        int64_t before;
    } registers[WEFT_GEMM_MOST_VECTORS];
} weft_gemm_source;

/* Whether a tile of so many rows of registers can pack the wide operand. */
static inline bool weft_gemm_takes_source(int64_t rows, int64_t vectors)
{
    return vectors == 3 ? rows >= 7 && rows <= 9 : vectors == 2 && rows >= 8 && rows <= 14;
}

/* c[i, j] = the sum over terms of narrow[i, t] * wide[t, j], or that is added to c. Strides in numbers; those along j
 * are 1. */
typedef struct weft_gemm_tile_call {
    const void *wide, *narrow;
    void *c;
    int64_t rows, columns; /* 1 to those of the kernel; with AVX2 columns are one register or two */
    int64_t terms;         /* of one block */
    int64_t wide_term, narrow_term, narrow_stride, c_stride;
    int64_t count; /* of tiles like this; from one to the next: */
    int64_t wide_step, narrow_step, c_step, fetch_step;
    int64_t fetch; /* from the wide operand's numbers of a term to what is asked for beside them, into L2; 0: nothing */
    bool add;
    const weft_gemm_source *source; /* NULL: the wide operand is at `wide`. Otherwise it is put there on the way: whole
                                     * registers, of rows that weft_gemm_takes_source has; `count` is 1 */
    bool near;                      /* the wide operand is in L2, and need not be asked for */
    bool far;                       /* all of a term is asked for at `fetch`, and nothing of the terms ahead */
    bool wide_first;                /* of complex numbers: the wide operand is the first factor */
} weft_gemm_tile_call;

/* Of complex numbers, `terms` are theirs; columns, steps and strides are in real numbers. With a factor x + i * y
 * before one of u + i * v real parts are c + (0 + x * u - y * v + ...), imaginary ones c + (0 + x * v + y * u + ...),
 * fused. */
typedef void weft_gemm_tile_function(const weft_gemm_tile_call *tile);
extern weft_gemm_tile_function weft_gemm_tile_v3_f32, weft_gemm_tile_v3_f64;
extern weft_gemm_tile_function weft_gemm_tile_v4_f32, weft_gemm_tile_v4_f64;
extern weft_gemm_tile_function weft_gemm_complex_tile_v4_f32, weft_gemm_complex_tile_v4_f64;
#endif
