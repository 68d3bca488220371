/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_pack.h"
#include <string.h>

/* Functions here are inlined with constant sizes, so that copies become instructions. */
#define INLINE static inline __attribute__((always_inline))

/* What is packed into one panel; strides in bytes. */
struct panel {
    const char *data;
    int64_t count, terms, width;
    ptrdiff_t stride, term_stride;
    char *out;
};

/* ---- real numbers ---- */

/* Any strides: rows [first, count) of terms [begin, terms). */
INLINE void gather(const struct panel *p, size_t size, int64_t first, int64_t begin)
{
    for (int64_t t = begin; t < p->terms; t++)
        for (int64_t i = first; i < p->count; i++)
            memcpy(p->out + (size_t)(t * p->width + i) * size, p->data + i * p->stride + t * p->term_stride, size);
}

/* Whole rows of a panel, adjacent in memory. */
INLINE void copy_runs(const struct panel *p, size_t bytes)
{
    for (int64_t t = 0; t < p->terms; t++) memcpy(p->out + (size_t)t * bytes, p->data + t * p->term_stride, bytes);
}

/* Whether the rows of the panel have a width that copies are made for. */
static bool copy_whole(const struct panel *p, size_t bytes)
{
    switch (bytes) {
    case 16: copy_runs(p, 16); return true;
    case 24: copy_runs(p, 24); return true;
    case 32: copy_runs(p, 32); return true;
    case 48: copy_runs(p, 48); return true;
    case 64: copy_runs(p, 64); return true;
    case 112: copy_runs(p, 112); return true;
    case 128: copy_runs(p, 128); return true;
    default: return false;
    }
}

typedef uint32_t four __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* Terms adjacent in memory, four times four numbers at once. */
static void transpose_f32(const struct panel *p)
{
    enum { STEP = 4 };
    int64_t rows = p->count / STEP * STEP, terms = p->terms / STEP * STEP;
    for (int64_t i = 0; i < rows; i += STEP)
        for (int64_t t = 0; t < terms; t += STEP) {
            four x[STEP];
            const char *from = p->data + i * p->stride + t * (int64_t)sizeof(float);
            for (int r = 0; r < STEP; r++) memcpy(&x[r], from + r * p->stride, sizeof x[r]);
            four low = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
            four low2 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
            four high = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
            four high2 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
            const four column[STEP] = {
                __builtin_shufflevector(low, low2, 0, 1, 4, 5), __builtin_shufflevector(low, low2, 2, 3, 6, 7),
                __builtin_shufflevector(high, high2, 0, 1, 4, 5), __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
            for (int r = 0; r < STEP; r++)
                memcpy(p->out + (size_t)((t + r) * p->width + i) * sizeof(float), &column[r], sizeof column[r]);
        }
    gather(p, sizeof(float), rows, 0);
    struct panel left = *p;
    left.count = rows;
    gather(&left, sizeof(float), 0, terms);
}

static void transpose_f64(const struct panel *p)
{
    enum { STEP = 2 };
    int64_t rows = p->count / STEP * STEP, terms = p->terms / STEP * STEP;
    for (int64_t i = 0; i < rows; i += STEP)
        for (int64_t t = 0; t < terms; t += STEP) {
            two x[STEP];
            const char *from = p->data + i * p->stride + t * (int64_t)sizeof(double);
            for (int r = 0; r < STEP; r++) memcpy(&x[r], from + r * p->stride, sizeof x[r]);
            const two column[STEP] = {__builtin_shufflevector(x[0], x[1], 0, 2),
                                      __builtin_shufflevector(x[0], x[1], 1, 3)};
            for (int r = 0; r < STEP; r++)
                memcpy(p->out + (size_t)((t + r) * p->width + i) * sizeof(double), &column[r], sizeof column[r]);
        }
    gather(p, sizeof(double), rows, 0);
    struct panel left = *p;
    left.count = rows;
    gather(&left, sizeof(double), 0, terms);
}

static void pack_real(const struct panel *p, size_t size)
{
    bool whole = p->count == p->width && p->stride == (ptrdiff_t)size;
    if (whole && copy_whole(p, (size_t)p->width * size)) return;
    bool along = p->term_stride == (ptrdiff_t)size;
    if (size == sizeof(float)) {
        if (along) transpose_f32(p);
        else gather(p, sizeof(float), 0, 0);
    } else {
        if (along) transpose_f64(p);
        else gather(p, sizeof(double), 0, 0);
    }
}

/* ---- complex numbers ---- */

/* Numbers of `size` bytes of element i at term t: re and im as two terms. */
INLINE void take_parts(const struct panel *p, size_t size, int64_t t, int64_t i)
{
    const char *from = p->data + i * p->stride + t * p->term_stride;
    char *to = p->out + (size_t)(2 * t * p->width + i) * size;
    memcpy(to, from, size);
    memcpy(to + (size_t)p->width * size, from + size, size);
}

static inline void double_c64(const struct panel *p, int64_t t, int64_t i)
{
    float number[2];
    char *to = p->out + (size_t)(2 * t * p->width + 2 * i) * sizeof(float);
    memcpy(number, p->data + i * p->stride + t * p->term_stride, sizeof number);
    const float times_i[2] = {-number[1], number[0]};
    memcpy(to, number, sizeof number);
    memcpy(to + (size_t)p->width * sizeof(float), times_i, sizeof times_i);
}

static inline void double_c128(const struct panel *p, int64_t t, int64_t i)
{
    double number[2];
    char *to = p->out + (size_t)(2 * t * p->width + 2 * i) * sizeof(double);
    memcpy(number, p->data + i * p->stride + t * p->term_stride, sizeof number);
    const double times_i[2] = {-number[1], number[0]};
    memcpy(to, number, sizeof number);
    memcpy(to + (size_t)p->width * sizeof(double), times_i, sizeof times_i);
}

INLINE void pack_element(const struct panel *p, size_t size, bool doubled, int64_t t, int64_t i)
{
    if (!doubled) take_parts(p, size, t, i);
    else if (size == sizeof(float)) double_c64(p, t, i);
    else double_c128(p, t, i);
}

/* A few terms of a row at a time: rows may be so far apart that a cache keeps only some of them. */
INLINE void pack_elements(const struct panel *p, size_t size, bool doubled)
{
    enum { STEP = 8 };
    for (int64_t begin = 0; begin < p->terms; begin += STEP) {
        int64_t end = begin + STEP < p->terms ? begin + STEP : p->terms;
        if (p->stride < p->term_stride)
            for (int64_t t = begin; t < end; t++)
                for (int64_t i = 0; i < p->count; i++) pack_element(p, size, doubled, t, i);
        else
            for (int64_t i = 0; i < p->count; i++)
                for (int64_t t = begin; t < end; t++) pack_element(p, size, doubled, t, i);
    }
}

static void pack_complex(const struct panel *p, size_t size, bool doubled)
{
    if (size == sizeof(float)) {
        if (doubled) pack_elements(p, sizeof(float), true);
        else pack_elements(p, sizeof(float), false);
    } else {
        if (doubled) pack_elements(p, sizeof(double), true);
        else pack_elements(p, sizeof(double), false);
    }
}

/* ---- all ---- */

void weft_gemm_pack(const weft_gemm_side *side, const char *data, int64_t count, int64_t terms, int64_t width,
                    char *panel)
{
    int64_t parts = side->complex ? 2 : 1, element = parts * (int64_t)side->size;
    struct panel p = {.data = data,
                      .count = count,
                      .terms = terms,
                      .width = width,
                      .stride = side->stride * element,
                      .term_stride = side->term_stride * element,
                      .out = panel};
    if (count * (side->doubled ? 2 : 1) < width) memset(panel, 0, (size_t)(width * terms * parts) * side->size);
    if (side->complex) pack_complex(&p, side->size, side->doubled);
    else pack_real(&p, side->size);
}
