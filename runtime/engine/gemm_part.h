/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PART_H
#define WEFT_RUNTIME_ENGINE_GEMM_PART_H
/* What of an operand is packed, or read in place, at once. */
#include "runtime/engine/gemm_block.h"

static inline int64_t weft_gemm_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t weft_gemm_round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Rows or columns [first, first + count) of a matrix, and the terms from `term` on. */
typedef struct weft_gemm_part {
    const weft_gemm_side *side;
    bool wide, packs, masked, kept;
    bool pending;  /* its whole panels are packed by the tiles that read them first */
    int64_t width; /* of a panel, in numbers */
    int64_t bytes; /* of a packed panel */
    int64_t first, count, term;
    int64_t blocks; /* of terms that are packed at once */
    char *memory;
} weft_gemm_part;

static inline int64_t weft_gemm_parts(const weft_gemm_block *block)
{
    return block->left.complex ? 2 : 1;
}

/* Rows or columns of C that a panel has. */
static inline int64_t weft_gemm_panel_lines(const weft_gemm_side *side, int64_t width)
{
    return side->form == WEFT_GEMM_DOUBLED ? width / 2 : width;
}

/* Terms of a block, in elements. */
static inline int64_t weft_gemm_block_terms(const weft_gemm_block *block)
{
    return weft_gemm_least(block->terms, block->kernel->terms / weft_gemm_parts(block));
}

/* Whether so many numbers along the vectors are one register more than a tile has: two and two are computed faster
 * than three and one, whose sums wait for the ones before. */
static inline bool weft_gemm_is_one_more(const weft_gemm_kernel *kernel, int64_t count)
{
    int64_t lanes = weft_gemm_lanes(kernel), most = weft_gemm_vector(kernel);
    return kernel->vectors > 2 && count > most && count <= most + lanes;
}

/* Whether an operand of so many terms is copied before it is read: `wide` is the one along the kernel's vectors,
 * `other` what it is multiplied with, `cache_bytes` those of the second level. */
bool weft_gemm_packs(const weft_gemm_kernel *kernel, const weft_gemm_side *side, const weft_gemm_side *other,
                     int64_t terms, bool wide, int64_t cache_bytes);

/* Whether so many bytes come from memory: the last cache has about so many times L2 for a core. */
static inline bool weft_gemm_is_in_memory(const weft_gemm_block *block, int64_t bytes)
{
    enum { LAST_CACHE = 20 };
    return bytes > LAST_CACHE * block->cache_bytes;
}

/* Whether all of an operand fits with as much of the other one into L2. */
bool weft_gemm_is_short(const weft_gemm_block *block, bool left);
/* Whether an operand is no longer than a tile. */
bool weft_gemm_is_one_tile(const weft_gemm_block *block, bool left);

/* As much of an operand as is packed, or read, at once. */
weft_gemm_part weft_gemm_part_plan(const weft_gemm_block *block, bool left, char *memory);
/* The bytes to pack a block of its terms. If it is read in place, those of a panel that does not fill a kernel's
 * vectors. */
int64_t weft_gemm_part_block_bytes(const weft_gemm_part *part);
/* The bytes to pack all that is packed at once. */
int64_t weft_gemm_part_bytes(const weft_gemm_part *part);
#endif
