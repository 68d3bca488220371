/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_pack_panel.h"
#include <string.h>
#include "runtime/engine/vector.h"

/* Functions here are inlined with constant sizes, so that copies become instructions. */
#define INLINE static inline __attribute__((always_inline))

/* Lines whose terms are adjacent, each somewhere. */
struct lines {
    const char *data;
    const ptrdiff_t *offsets; /* of each, in bytes */
    int64_t count, terms, width;
    char *out;
};

/* ---- real numbers ---- */

/* Any strides: rows [first, count) of terms [begin, terms). */
INLINE void gather(const weft_gemm_panel *p, size_t size, int64_t first, int64_t begin)
{
    const int64_t count = p->count - first, terms = p->terms;
    const ptrdiff_t stride = p->stride;
    for (int64_t t = begin; t < terms; t++) {
        const char *from = p->data + first * stride + t * p->term_stride;
        char *to = p->out + (size_t)(t * p->width + first) * size;
        for (int64_t i = 0; i < count; i++) memcpy(to + (size_t)i * size, from + i * stride, size);
    }
}

/* Whole rows of panels, adjacent in memory: a few terms of all panels at a time, so that what is read lies in long
 * runs, and what is written in whole cache lines. The next terms are asked for meanwhile. */
INLINE void copy_runs(const weft_gemm_panel *p, size_t bytes)
{
    enum { STEP = 8, LINE = 64 };
    for (int64_t begin = 0; begin < p->terms; begin += STEP) {
        int64_t end = begin + STEP < p->terms ? begin + STEP : p->terms;
        for (int64_t k = 0; k < p->panels; k++)
            for (int64_t t = begin; t < end; t++) {
                const char *from = p->data + t * p->term_stride + (size_t)k * bytes;
                for (size_t i = 0; i < bytes; i += LINE) __builtin_prefetch(from + STEP * p->term_stride + i);
                weft_copy_few(p->out + k * p->pitch + (size_t)t * bytes, from, bytes);
            }
    }
}

/* Copies of the widths that kernels have are instructions. */
static void copy_whole(const weft_gemm_panel *p, size_t bytes)
{
    switch (bytes) {
    case 8: copy_runs(p, 8); break;
    case 12: copy_runs(p, 12); break;
    case 16: copy_runs(p, 16); break;
    case 24: copy_runs(p, 24); break;
    case 32: copy_runs(p, 32); break;
    case 36: copy_runs(p, 36); break;
    case 48: copy_runs(p, 48); break;
    case 56: copy_runs(p, 56); break;
    case 64: copy_runs(p, 64); break;
    case 72: copy_runs(p, 72); break;
    case 112: copy_runs(p, 112); break;
    case 128: copy_runs(p, 128); break;
    case 192: copy_runs(p, 192); break;
    default: copy_runs(p, bytes);
    }
}

/* Rows that are adjacent, fewer than a panel has. */
static void copy_part(const weft_gemm_panel *p, size_t size)
{
    for (int64_t t = 0; t < p->terms; t++)
        weft_copy_few(p->out + (size_t)(t * p->width) * size, p->data + t * p->term_stride, (size_t)p->count * size);
}

typedef uint16_t eight __attribute__((vector_size(16)));
typedef uint32_t four __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* Eight rows of eight numbers become columns: neighbours of ever greater distance are exchanged. */
INLINE void transpose_square(eight *x)
{
    enum { SIDE = 8 };
    UNROLL for (int round = 0; round < 3; round++)
    {
        eight y[SIDE];
        UNROLL for (int r = 0; r < SIDE / 2; r++)
        {
            y[2 * r] = __builtin_shufflevector(x[r], x[r + SIDE / 2], 0, 8, 1, 9, 2, 10, 3, 11);
            y[2 * r + 1] = __builtin_shufflevector(x[r], x[r + SIDE / 2], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        memcpy(x, y, sizeof y);
    }
}

/* 16-bit floats with adjacent terms. Where there are fewer rows than eight the last one is read again. */
static void transpose_16(const weft_gemm_panel *p)
{
    enum { STEP = 8, SIZE = 2 };
    int64_t terms = p->terms / STEP * STEP;
    for (int64_t i = 0; i < p->count; i += STEP) {
        int64_t rows = p->count - i < STEP ? p->count - i : STEP;
        for (int64_t t = 0; t < terms; t += STEP) {
            eight x[STEP];
            const char *from = p->data + i * p->stride + t * SIZE;
            char *to = p->out + (size_t)(t * p->width + i) * SIZE;
            for (int r = 0; r < STEP; r++) memcpy(&x[r], from + (r < rows ? r : rows - 1) * p->stride, sizeof x[r]);
            transpose_square(x);
            for (int r = 0; r < STEP; r++, to += p->width * SIZE) {
                const char *column = (const char *)&x[r];
                if (rows == STEP) memcpy(to, column, STEP * SIZE);
                if (rows & 4) memcpy(to, column, 4 * SIZE);
                if (rows & 2) memcpy(to + (rows & 4) * SIZE, column + (rows & 4) * SIZE, 2 * SIZE);
                if (rows & 1) memcpy(to + (rows & 6) * SIZE, column + (rows & 6) * SIZE, SIZE);
            }
        }
    }
    gather(p, SIZE, 0, terms);
}

/* Lines [first, count) of terms [begin, terms). */
INLINE void gather_lines(const struct lines *l, size_t size, int64_t first, int64_t begin)
{
    for (int64_t i = first; i < l->count; i++) {
        const char *from = l->data + l->offsets[i];
        char *to = l->out + (size_t)i * size;
        for (int64_t t = begin; t < l->terms; t++)
            memcpy(to + t * l->width * (int64_t)size, from + (size_t)t * size, size);
    }
}

/* Two lines from `line` on, if there are so many. Returns the line after them. */
static int64_t transpose_pair_f32(const struct lines *l, int64_t line, int64_t terms)
{
    enum { LINES = 2, STEP = 4 };
    if (l->count - line < LINES) return line;
    for (int64_t t = 0; t < terms; t += STEP) {
        four x[LINES];
        const char *from = l->data + t * (int64_t)sizeof(float);
        char *to = l->out + (t * l->width + line) * (int64_t)sizeof(float);
        for (int r = 0; r < LINES; r++) memcpy(&x[r], from + l->offsets[line + r], sizeof x[r]);
        const four pairs[] = {__builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
                              __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7)};
        for (int r = 0; r < STEP; r++)
            memcpy(to + r * l->width * (int64_t)sizeof(float), (const char *)&pairs[r / 2] + r % 2 * 8, 8);
    }
    return line + LINES;
}

/* What squares leave of terms, of the first `lines` lines. */
INLINE void gather_rest(const struct lines *l, size_t size, int64_t lines, int64_t terms)
{
    struct lines left = *l;
    left.count = lines;
    gather_lines(&left, size, 0, terms);
}

/* Four times four numbers at once. */
static void transpose_f32(const struct lines *l)
{
    enum { STEP = 4 };
    int64_t lines = l->count / STEP * STEP, terms = l->terms / STEP * STEP;
    for (int64_t i = 0; i < lines; i += STEP)
        for (int64_t t = 0; t < terms; t += STEP) {
            four x[STEP];
            const char *from = l->data + t * (int64_t)sizeof(float);
            for (int r = 0; r < STEP; r++) memcpy(&x[r], from + l->offsets[i + r], sizeof x[r]);
            four low = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
            four low2 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
            four high = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
            four high2 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
            const four column[STEP] = {
                __builtin_shufflevector(low, low2, 0, 1, 4, 5), __builtin_shufflevector(low, low2, 2, 3, 6, 7),
                __builtin_shufflevector(high, high2, 0, 1, 4, 5), __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
            for (int r = 0; r < STEP; r++)
                memcpy(l->out + ((t + r) * l->width + i) * (int64_t)sizeof(float), &column[r], sizeof column[r]);
        }
    lines = transpose_pair_f32(l, lines, terms);
    gather_lines(l, sizeof(float), lines, 0);
    gather_rest(l, sizeof(float), lines, terms);
}

static void transpose_f64(const struct lines *l)
{
    enum { STEP = 2 };
    int64_t lines = l->count / STEP * STEP, terms = l->terms / STEP * STEP;
    for (int64_t i = 0; i < lines; i += STEP)
        for (int64_t t = 0; t < terms; t += STEP) {
            two x[STEP];
            const char *from = l->data + t * (int64_t)sizeof(double);
            for (int r = 0; r < STEP; r++) memcpy(&x[r], from + l->offsets[i + r], sizeof x[r]);
            const two column[STEP] = {__builtin_shufflevector(x[0], x[1], 0, 2),
                                      __builtin_shufflevector(x[0], x[1], 1, 3)};
            for (int r = 0; r < STEP; r++)
                memcpy(l->out + ((t + r) * l->width + i) * (int64_t)sizeof(double), &column[r], sizeof column[r]);
        }
    gather_lines(l, sizeof(double), lines, 0);
    gather_rest(l, sizeof(double), lines, terms);
}

void weft_gemm_transpose_any_f32(const char *from, const ptrdiff_t *offsets, int64_t lines, int64_t terms, char *out,
                                 int64_t width)
{
    transpose_f32(&(struct lines){from, offsets, lines, terms, width, out});
}

void weft_gemm_transpose_any_f64(const char *from, const ptrdiff_t *offsets, int64_t lines, int64_t terms, char *out,
                                 int64_t width)
{
    transpose_f64(&(struct lines){from, offsets, lines, terms, width, out});
}

void weft_gemm_panel_transpose(const weft_gemm_panel *p, size_t size)
{
    ptrdiff_t offsets[WEFT_GEMM_MOST_LINES];
    for (int64_t i = 0; i < p->count; i += WEFT_GEMM_MOST_LINES) {
        int64_t lines = p->count - i < WEFT_GEMM_MOST_LINES ? p->count - i : WEFT_GEMM_MOST_LINES;
        for (int64_t k = 0; k < lines; k++) offsets[k] = (i + k) * p->stride;
        p->transpose(p->data, offsets, lines, p->terms, p->out + (size_t)i * size, p->width);
    }
}

INLINE void pack_real(const weft_gemm_panel *p, size_t size)
{
    bool adjacent = p->stride == (ptrdiff_t)size;
    if (p->count == p->width && adjacent) copy_whole(p, (size_t)p->width * size);
    else if (adjacent && p->count > 1) copy_part(p, size);
    else if (p->term_stride != (ptrdiff_t)size) gather(p, size, 0, 0);
    else if (size == sizeof(uint16_t)) transpose_16(p);
    else if (size > sizeof(double) || size == sizeof(uint8_t)) gather(p, size, 0, 0);
    else weft_gemm_panel_transpose(p, size);
}

void weft_gemm_pack_8(const weft_gemm_panel *panel, weft_gemm_form form)
{
    (void)form;
    pack_real(panel, sizeof(uint8_t));
}

void weft_gemm_pack_16(const weft_gemm_panel *panel, weft_gemm_form form)
{
    (void)form;
    pack_real(panel, sizeof(uint16_t));
}

void weft_gemm_pack_f32(const weft_gemm_panel *panel, weft_gemm_form form)
{
    (void)form;
    pack_real(panel, sizeof(float));
}

void weft_gemm_pack_f64(const weft_gemm_panel *panel, weft_gemm_form form)
{
    (void)form;
    pack_real(panel, sizeof(double));
}

/* ---- complex numbers ---- */

/* Numbers of `size` bytes of element i at term t: re and im as two terms. */
INLINE void take_parts(const weft_gemm_panel *p, size_t size, int64_t t, int64_t i)
{
    const char *from = p->data + i * p->stride + t * p->term_stride;
    char *to = p->out + (size_t)(2 * t * p->width + i) * size;
    memcpy(to, from, size);
    memcpy(to + (size_t)p->width * size, from + size, size);
}

static inline void double_c64(const weft_gemm_panel *p, int64_t t, int64_t i)
{
    const uint64_t sign = 1U << 31;
    uint64_t number, times_i;
    char *to = p->out + (size_t)(2 * t * p->width + 2 * i) * sizeof(float);
    memcpy(&number, p->data + i * p->stride + t * p->term_stride, sizeof number);
    times_i = (number >> 32 | number << 32) ^ sign;
    memcpy(to, &number, sizeof number);
    memcpy(to + (size_t)p->width * sizeof(float), &times_i, sizeof times_i);
}

static inline void double_c128(const weft_gemm_panel *p, int64_t t, int64_t i)
{
    double number[2];
    char *to = p->out + (size_t)(2 * t * p->width + 2 * i) * sizeof(double);
    memcpy(number, p->data + i * p->stride + t * p->term_stride, sizeof number);
    const double times_i[2] = {-number[1], number[0]};
    memcpy(to, number, sizeof number);
    memcpy(to + (size_t)p->width * sizeof(double), times_i, sizeof times_i);
}

INLINE void pack_element(const weft_gemm_panel *p, size_t size, bool doubled, int64_t t, int64_t i)
{
    if (!doubled) take_parts(p, size, t, i);
    else if (size == sizeof(float)) double_c64(p, t, i);
    else double_c128(p, t, i);
}

/* A few terms of a row at a time: rows may be so far apart that a cache keeps only some of them. */
INLINE void pack_elements(const weft_gemm_panel *p, size_t size, bool doubled)
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

/* Elements that are adjacent, two at a time. */
static void double_run_c64(const weft_gemm_panel *p)
{
    const four sign = {1U << 31, 0, 1U << 31, 0};
    for (int64_t t = 0; t < p->terms; t++) {
        const char *from = p->data + t * p->term_stride;
        char *to = p->out + (size_t)(2 * t * p->width) * sizeof(float), *next = to + (size_t)p->width * sizeof(float);
        for (int64_t i = 0; i + 1 < p->count; i += 2) {
            four x;
            memcpy(&x, from + (size_t)i * 8, sizeof x);
            const four times_i = __builtin_shufflevector(x, x, 1, 0, 3, 2) ^ sign;
            memcpy(to + (size_t)i * 8, &x, sizeof x);
            memcpy(next + (size_t)i * 8, &times_i, sizeof times_i);
        }
        if (p->count % 2 != 0) double_c64(p, t, p->count - 1);
    }
}

/* The same, re and im as two terms. */
static void take_run_c64(const weft_gemm_panel *p)
{
    for (int64_t t = 0; t < p->terms; t++) {
        const char *from = p->data + t * p->term_stride;
        char *to = p->out + (size_t)(2 * t * p->width) * sizeof(float), *next = to + (size_t)p->width * sizeof(float);
        for (int64_t i = 0; i + 1 < p->count; i += 2) {
            four x;
            memcpy(&x, from + (size_t)i * 8, sizeof x);
            x = __builtin_shufflevector(x, x, 0, 2, 1, 3);
            memcpy(to + (size_t)i * sizeof(float), &x, 8);
            memcpy(next + (size_t)i * sizeof(float), (const char *)&x + 8, 8);
        }
        if (p->count % 2 != 0) take_parts(p, sizeof(float), t, p->count - 1);
    }
}

/* Numbers of terms that are adjacent are twice as many real terms, if their parts are to be two terms. */
static void take_lines(const weft_gemm_panel *p, size_t size)
{
    weft_gemm_panel real = *p;
    real.terms = 2 * p->terms;
    real.term_stride = (ptrdiff_t)size;
    weft_gemm_panel_transpose(&real, size);
}

INLINE void pack_complex(const weft_gemm_panel *p, size_t size, weft_gemm_form form)
{
    bool doubled = form == WEFT_GEMM_DOUBLED;
    if (form == WEFT_GEMM_WHOLE && size == sizeof(float)) weft_gemm_pack_f64(p, form);
    else if (form == WEFT_GEMM_WHOLE) pack_real(p, 2 * size);
    else if (!doubled && p->term_stride == 2 * (ptrdiff_t)size) take_lines(p, size);
    else if (doubled) pack_elements(p, size, true);
    else pack_elements(p, size, false);
}

void weft_gemm_pack_c64(const weft_gemm_panel *panel, weft_gemm_form form)
{
    enum { ELEMENT = 2 * sizeof(float) };
    bool doubled = form == WEFT_GEMM_DOUBLED, is_line = !doubled && panel->term_stride == ELEMENT;
    if (panel->stride == ELEMENT && !is_line && form != WEFT_GEMM_WHOLE)
        (doubled ? double_run_c64 : take_run_c64)(panel);
    else pack_complex(panel, sizeof(float), form);
}

void weft_gemm_pack_c128(const weft_gemm_panel *panel, weft_gemm_form form)
{
    pack_complex(panel, sizeof(double), form);
}
