/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_RUNS_H
#define WEFT_RUNTIME_ENGINE_GEMM_RUNS_H
/* Lines that come in runs, as those of windows do, packed into a panel. */
#include <weft/base.h>

/* out[t * pitch] = `count` numbers of `size` bytes, `stride` numbers apart, from `offsets[t]` bytes after `from` on;
 * the same for all of `terms`. Touches these alone, not even what is between the last number and the next one. */
typedef struct weft_gemm_runs {
    const char *from;
    const ptrdiff_t *offsets;
    int64_t terms, count, stride; /* 1, or 2 of f32 */
    size_t size;                  /* 2, 4, 8 or 16 */
    char *out;
    int64_t pitch; /* in bytes */
} weft_gemm_runs;

typedef void weft_gemm_runs_function(const weft_gemm_runs *runs);
extern weft_gemm_runs_function weft_gemm_runs_v4;
#endif
