/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_KERNEL_H
#define WEFT_RUNTIME_ENGINE_GEMM_KERNEL_H
/* The innermost loops of products, for each ISA level and kind of number: micro-kernels of BLIS and our own
 * (gemm_kernel.c), or our own alone, in what programs compiled ahead of time link (gemm_kernel_own.c). */
#include "runtime/engine/gemm_lines.h"
#include "runtime/engine/gemm_rows.h"
#include "runtime/engine/gemm_runs.h"
#include "runtime/engine/gemm_tile.h"
#include "runtime/engine/gemm_transpose.h"

/* Bytes after packed panels that a kernel may read. */
#define WEFT_GEMM_READ_AHEAD 1024
/* Most numbers of a tile, and its alignment. */
#define WEFT_GEMM_TILE 512
#define WEFT_GEMM_ALIGNMENT 64

typedef struct weft_gemm_kernel weft_gemm_kernel;

/*
 * tile = left * right, or tile += left * right. `left` holds `rows` numbers for each term, `right` holds `columns`,
 * both aligned, with WEFT_GEMM_READ_AHEAD bytes after them. `stride` is the distance between columns (by_columns) or
 * rows of the tile, in numbers. Each number is c + (0 + x0 * y0 + x1 * y1 + ...), fused.
 */
typedef void weft_gemm_panels_function(const weft_gemm_kernel *kernel, int64_t terms, const void *left,
                                       const void *right, bool add, void *tile, int64_t stride);

/* A tile is rows x columns real numbers, f32 or f64. */
struct weft_gemm_kernel {
    int64_t rows, columns;
    bool by_columns;   /* the numbers of a column of the tile are adjacent in memory, otherwise those of a row */
    int64_t vectors;   /* registers that these are */
    bool masked;       /* `tile` takes any number of them, otherwise whole registers */
    bool ahead;        /* and asks for them ahead of time */
    bool sources;      /* and packs them on the way, of real numbers */
    bool packs;        /* both operands are packed, however many rows and columns there are */
    bool packs_across; /* the operand across the vectors is */
    int64_t terms;     /* as many are added up in registers before they are added to C */
    int64_t step;      /* panels have a multiple of so many; 0: any number */
    int64_t size;      /* bytes of a packed number, where it is not as large as those of its dtype; 0: it is */
    int64_t far;       /* uses from which an operand beyond L2, in distant lines, is packed */
    int64_t run;       /* if that copies so many bytes of a line at once */
    int64_t blocks;    /* of terms of the right operand take so many times L2, where C is large; 0: it is one block */
    int64_t parts;     /* of L2, one of which the left operand takes where both are long; 0: two */
    int64_t few; /* rows or columns up to which the other operand may be read in place, by `rows_in_place`; 0: never */
    weft_gemm_panels_function *panels; /* of packed operands; NULL where `tile_is_faster` */
    void (*function)(void);            /* of BLIS, which `panels` calls */
    weft_gemm_tile_function *tile;     /* the same for operands that lie anywhere; NULL: they are always packed */
    bool is_complex;                   /* `tile` is of complex numbers, of which it has half as many in a row */
    int64_t alone; /* terms up to which a block of 16-bit floats needs no memory for all its sums; 0: it always does */
    bool tile_is_faster;                    /* for packed operands too */
    double speed;                           /* products in the time that weft_machine_product_ns has for one; 0: one */
    weft_gemm_rows_function *rows_in_place; /* of a few rows or columns */
    weft_gemm_lines_function
        *lines_in_place;            /* of these beside a matrix whose terms are adjacent; NULL: there is none */
    weft_gemm_transpose *transpose; /* packs lines of numbers that are adjacent; of complex ones, those of c64 */
    weft_gemm_runs_function *runs;  /* packs lines that come in runs; NULL: they are copied by 16 bytes */
    const weft_gemm_kernel *large;  /* for two packed operands; NULL: this one */
    const weft_gemm_kernel *tall; /* for a few more rows than this one has beside a matrix beyond L2; NULL: this one */
    const weft_gemm_kernel *packed; /* with `panels` alone, for calls that ask for it; NULL: this one */
};

/* The numbers of a tile that are adjacent in memory. */
static inline int64_t weft_gemm_vector(const weft_gemm_kernel *kernel)
{
    return kernel->by_columns ? kernel->rows : kernel->columns;
}

/* Those of one register, of a kernel that has them. */
static inline int64_t weft_gemm_lanes(const weft_gemm_kernel *kernel)
{
    return weft_gemm_vector(kernel) / kernel->vectors;
}

extern const weft_gemm_kernel weft_gemm_kernel_portable_f32, weft_gemm_kernel_portable_f64;
extern const weft_gemm_kernel weft_gemm_kernel_v3_f32, weft_gemm_kernel_v3_f64;
extern const weft_gemm_kernel weft_gemm_kernel_v4_f32, weft_gemm_kernel_v4_f64;
extern const weft_gemm_kernel weft_gemm_kernel_v4_c64, weft_gemm_kernel_v4_c128;
#endif
