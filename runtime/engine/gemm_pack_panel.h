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
void weft_gemm_panel_transpose(const weft_gemm_panel *panel, size_t size);
#endif
