/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_PACK_PANEL_H
#define WEFT_RUNTIME_ENGINE_GEMM_PACK_PANEL_H
/* Elements of one dtype, at one stride each way, copied into panels: a weft_gemm_packing for each size of numbers. */
#include "runtime/engine/gemm_pack.h"

/* What is packed into one panel, or several that are whole; strides in bytes. */
struct weft_gemm_panel {
    const char *data;
    int64_t count, terms, width, panels;
    ptrdiff_t stride, term_stride, pitch;
    char *out;
    weft_gemm_transpose *transpose;
};

/* Packs numbers of `size` bytes, 4 or 8, whose terms are adjacent. */
static inline void weft_gemm_panel_transpose(const weft_gemm_panel *p, size_t size)
{
    ptrdiff_t offsets[WEFT_GEMM_MOST_LINES];
    for (int64_t i = 0; i < p->count; i += WEFT_GEMM_MOST_LINES) {
        int64_t lines = p->count - i < WEFT_GEMM_MOST_LINES ? p->count - i : WEFT_GEMM_MOST_LINES;
        for (int64_t k = 0; k < lines; k++) offsets[k] = (i + k) * p->stride;
        p->transpose(p->data, offsets, lines, p->terms, p->out + (size_t)i * size, p->width);
    }
}
#endif
