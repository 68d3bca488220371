/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PANELS_H
#define WEFT_RUNTIME_ENGINE_GEMM_PANELS_H
/*
 * An operand of several products, packed once: a matrix of real numbers as the panels that the kernels of one level
 * read along their vectors. All panels of the first block of terms, then all of the next.
 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_kernel.h"

typedef struct weft_gemm_panels {
    int64_t width;        /* numbers of a panel for each term */
    int64_t terms, block; /* all of them, and those of a block; the last one may have fewer */
    int64_t step;         /* each block is filled up to a multiple of so many */
    int64_t count;        /* panels of each block */
    int64_t size;         /* bytes of a number */
} weft_gemm_panels;

/* How `lines` rows of A or columns of B, of so many terms, are packed; `size` bytes of a number. */
weft_gemm_panels weft_gemm_panels_of(const weft_gemm_kernel *kernel, size_t size, int64_t lines, int64_t terms);

/* Bytes from one panel of the block that begins with a term to the next. */
static inline int64_t weft_gemm_panels_pitch(const weft_gemm_panels *panels, int64_t term)
{
    int64_t left = panels->terms - term, terms = left < panels->block ? left : panels->block;
    int64_t bytes = panels->width * ((terms + panels->step - 1) / panels->step * panels->step) * panels->size;
    return (bytes + WEFT_GEMM_ALIGNMENT - 1) / WEFT_GEMM_ALIGNMENT * WEFT_GEMM_ALIGNMENT;
}

/* Bytes from the first panel to that of a line, a multiple of `width`, in the block that begins with a term. */
static inline int64_t weft_gemm_panels_at(const weft_gemm_panels *panels, int64_t line, int64_t term)
{
    return term / panels->block * panels->count * weft_gemm_panels_pitch(panels, 0) +
           line / panels->width * weft_gemm_panels_pitch(panels, term);
}

/*
 * The operand that is better packed for an engine, given which of them never change: only its panels are read
 * then. `call` has no panels. WEFT_PANELS_NONE: none, because a product of so few rows or columns reads the other
 * operand in place, or the kernel's vectors lie better along the other one.
 */
weft_panels weft_gemm_panels_choose(const weft_gemm_engine *engine, const weft_machine *machine,
                                    const weft_gemm_call *call, bool a_is_constant, bool b_is_constant);
/* Bytes of the panels of an operand of `call`. */
size_t weft_gemm_panels_bytes(const weft_gemm_engine *engine, const weft_gemm_call *call, weft_panels operand);
/* Packs it with the functions of an engine that this processor can run, `packer`, which packs numbers as `engine` does:
 * `data` as weft_gemm_run takes it, `panels` aligned to WEFT_GEMM_ALIGNMENT. Bytes between panels, which nothing
 * depends on, stay as they are. */
void weft_gemm_panels_fill(const weft_gemm_engine *engine, const weft_gemm_engine *packer, weft_pool *pool,
                           const weft_gemm_call *call, weft_panels operand, const void *data, void *panels);
#endif
