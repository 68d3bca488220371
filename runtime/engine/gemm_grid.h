/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_GRID_H
#define WEFT_RUNTIME_ENGINE_GEMM_GRID_H
/* How a product is computed: by which kernel, which way round, and in how many blocks. */
#include <stdatomic.h>
#include "runtime/base/float_bits.h"
#include "runtime/engine/gemm_block.h"
#include "runtime/engine/gemm_matrices.h"

/* The side that is so short that the other operand is read in place (gemm_rows.h, gemm_lines.h). */
typedef enum weft_gemm_few { WEFT_FEW_NONE, WEFT_FEW_ROWS, WEFT_FEW_COLUMNS } weft_gemm_few;

typedef struct weft_gemm_grid {
    const weft_gemm_call *call;
    const weft_gemm_matrices *matrices;
    const weft_machine *machine;
    const weft_gemm_kernel *kernel;
    const weft_gemm_numbers *numbers;
    const weft_float16 *float16;
    int64_t threads; /* that share one product */
    bool transposed; /* C' = B' * A' is computed */
    bool symmetric;  /* B is A transposed: elements beyond the diagonal are copied */
    weft_gemm_few few;
    bool in_lines;         /* whose terms are adjacent, then */
    int64_t units[2];      /* blocks begin at multiples of these rows and columns */
    int64_t rows, columns; /* blocks along M and N */
    size_t bytes;          /* to pack the operands of a block */
    bool far;              /* products of the batch come from beyond L2, as others beside it do */
    bool repeats;          /* several products along the first axis of the batch are computed in one go */
    weft_gemm_kept *kept;  /* where tiles are kept in place of being computed; NULL: they are computed */
    const char *a, *b;
    char *c;
    weft_block_store *store;
    atomic_bool failed; /* for want of memory */
} weft_gemm_grid;

/* Bytes of a real number that kernels add up. */
static inline size_t weft_gemm_real_size(weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (weft_dtype_is_float16(dtype)) return sizeof(float);
    return info->kind == WEFT_KIND_COMPLEX ? info->size / 2 : info->size;
}

static inline bool weft_gemm_is_complex(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_COMPLEX;
}

/* The product of a call that is not empty, not cut yet. So many threads share one of its batch. */
void weft_gemm_grid_init(weft_gemm_grid *grid, const weft_gemm_engine *engine, const weft_machine *machine,
                         const weft_gemm_call *call, const weft_gemm_matrices *matrices, int64_t threads);
/* Whether B is A transposed, in the same memory, so that C is symmetric to the bit: both factors of a product may
 * change places. Not where copying half of C takes as long as computing it. */
bool weft_gemm_grid_is_symmetric(const weft_gemm_grid *grid);
/* Cuts each product into about `parts` blocks, or more if the sums of a block need much memory. */
void weft_gemm_grid_cut(weft_gemm_grid *grid, int64_t parts);
#endif
