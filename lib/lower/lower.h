/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_LOWER_H
#define WEFT_LIB_LOWER_LOWER_H
/* Lowering: a root of the fusion plan, with everything that is fused into it, becomes one unscheduled kernel. */
#include "lib/loop/loop.h"
#include "lib/lower/numerics.h"
#include "lib/lower/fusion.h"
#include "lib/lower/space.h"

#define WEFT_MEMORY_NONE UINT32_MAX

/* What all kernels of one program share. */
typedef struct weft_lowering {
    const weft_allocator *allocator;
    weft_arena *arena; /* outlives the kernels: sentences, tables */
    weft_fusion *fusion;
    const weft_memory *memories;
    const uint32_t
        *first_memory; /* of each node with memory: its output 0; partial results of a long reduction follow */
    weft_fixed fixed;
    bool without_folders; /* sentences name files alone */
} weft_lowering;

typedef enum weft_lower_part {
    WEFT_LOWER_WHOLE,
    WEFT_LOWER_PARTIAL, /* of a long reduction: partial results, one for each chunk */
    WEFT_LOWER_FINAL,   /* ... and their combination */
    WEFT_LOWER_TOTALS,  /* of a scan that is cut: those of all chunks but the last */
    WEFT_LOWER_PREFIX,  /* ... what there is before each chunk but the first; then all of it */
    WEFT_LOWER_BASE,    /* of a scatter or dynamic update slice: operand 0, into the memory of the result */
    WEFT_LOWER_UPDATE   /* ... and what is stored over that */
} weft_lower_part;

typedef struct weft_lowered {
    weft_kernel *kernel;
    uint32_t *memories; /* of each buffer of the kernel */
    const char **sites; /* sentence of each data check, as in weft_step */
    uint32_t site_count;
    weft_expr *site_extents; /* the extent in each sentence, an expression of the kernel */
    bool checks_values;      /* an update: some checks are of what is written, not of where */
} weft_lowered;

/*
 * Lowers `root` into the memory `target`: its own, or another for a copy. If a reduction cannot be a stage here it is
 * materialized in the fusion plan (fusion->changed is then true), and the result is empty: fill the fusion plan again
 * and start over.
 */
weft_status *weft_lower_root(weft_lowering *lowering, uint32_t root, weft_lower_part part, uint32_t target,
                             weft_lowered *out_lowered) WEFT_MUST_USE;
/* Copies memory `source` to memory `target` of equal shape. */
weft_status *weft_lower_copy(weft_lowering *lowering, uint32_t source, uint32_t target,
                             weft_lowered *out_lowered) WEFT_MUST_USE;

/* Components of the accumulator of reduction `node` and their dtypes; returns the number. */
uint32_t weft_reduction_components(const weft_graph *graph, uint32_t node, weft_dtype *out_dtypes);
/*
 * Elements of the chunks that a scan is cut into, so that threads compute it; 0: it is one chunk. No bit depends on it:
 * chunks are blocks of the scan's order. By the sizes that the fusion plan knows: its kernel takes stages by it.
 */
int64_t weft_scan_chunk(const weft_fusion *fusion, const weft_node *scan);
/* Number of chunks of a scan that is cut into those of `size`, for all rows, except the last of each. */
weft_expr weft_scan_totals(weft_space *space, const weft_node *scan, int64_t size);
/* Number of chunks of a long reduction, over the extents of `space`. */
weft_expr weft_reduction_chunks(weft_space *space, uint32_t node, const weft_reduction *reduction);
#endif
