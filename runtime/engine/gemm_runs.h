/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_RUNS_H
#define WEFT_RUNTIME_ENGINE_GEMM_RUNS_H
/* Lines that come in runs, as those of windows do, packed into a panel. */
#include <weft/base.h>

/* So many numbers, the first one `place` bytes after a term. */
typedef struct weft_gemm_one_run {
    ptrdiff_t place;
    int64_t count;
} weft_gemm_one_run;

/* out[t * pitch] = the numbers of all runs one after the other, `size` bytes each, `stride` numbers apart in a run, of
 * the term `offsets[t]` bytes after `from`; the same for all of `terms`. Touches these alone, not even what is between
 * the last number of a run and the next one. */
typedef struct weft_gemm_runs {
    const char *from;
    const ptrdiff_t *offsets;
    int64_t terms;
    const weft_gemm_one_run *runs;
    int64_t count;  /* of runs */
    int64_t stride; /* 1, or 2 of f32 */
    size_t size;    /* 2, 4, 8 or 16 */
    char *out;
    int64_t pitch; /* in bytes */
} weft_gemm_runs;

typedef void weft_gemm_runs_function(const weft_gemm_runs *runs);
extern weft_gemm_runs_function weft_gemm_runs_v4;
#endif
