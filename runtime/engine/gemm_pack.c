/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_pack.h"
#include <string.h>
#include "runtime/engine/gemm_transpose.h"
#include "runtime/engine/vector.h"

/* Functions here are inlined with constant sizes, so that copies become instructions. */
#define INLINE static inline __attribute__((always_inline))

/* What is packed into one panel, or several that are whole; strides in bytes. */
struct weft_gemm_panel {
    const char *data;
    int64_t count, terms, width, panels;
    ptrdiff_t stride, term_stride, pitch;
    char *out;
    weft_gemm_transpose *transpose;
};

/* Lines that are adjacent, fewer of which are copied one term at a time. */
enum { LEAST_LINES = 8 };

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
            memcpy(to + (size_t)(t * l->width) * size, from + (size_t)t * size, size);
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
        char *to = l->out + (size_t)(t * l->width + line) * sizeof(float);
        for (int r = 0; r < LINES; r++) memcpy(&x[r], from + l->offsets[line + r], sizeof x[r]);
        const four pairs[] = {__builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
                              __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7)};
        for (int r = 0; r < STEP; r++)
            memcpy(to + (size_t)(r * l->width) * sizeof(float), (const char *)&pairs[r / 2] + r % 2 * 8, 8);
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
                memcpy(l->out + (size_t)((t + r) * l->width + i) * sizeof(float), &column[r], sizeof column[r]);
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
                memcpy(l->out + (size_t)((t + r) * l->width + i) * sizeof(double), &column[r], sizeof column[r]);
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

/* Terms adjacent in memory, of `size` bytes. */
static void transpose(const weft_gemm_panel *p, size_t size)
{
    ptrdiff_t offsets[WEFT_GEMM_MOST_LINES];
    for (int64_t i = 0; i < p->count; i += WEFT_GEMM_MOST_LINES) {
        int64_t lines = p->count - i < WEFT_GEMM_MOST_LINES ? p->count - i : WEFT_GEMM_MOST_LINES;
        for (int64_t k = 0; k < lines; k++) offsets[k] = (i + k) * p->stride;
        p->transpose(p->data, offsets, lines, p->terms, p->out + (size_t)i * size, p->width);
    }
}

/* Rows of panels that are adjacent in memory, a few terms of all panels at a time. */
static void widen_runs(const weft_gemm_panel *p, const weft_float16 *float16)
{
    enum { STEP = 8, SIZE = 2 };
    for (int64_t t = 0; t < p->terms; t += STEP)
        for (int64_t k = 0; k < p->panels; k++)
            float16->widen_rows(p->data + t * p->term_stride + k * p->width * SIZE, p->term_stride,
                                (float *)(p->out + k * p->pitch) + t * p->width, p->width,
                                p->terms - t < STEP ? p->terms - t : STEP, p->count);
}

INLINE void pack_real(const weft_gemm_panel *p, size_t size)
{
    bool adjacent = p->stride == (ptrdiff_t)size;
    if (p->count == p->width && adjacent) copy_whole(p, (size_t)p->width * size);
    else if (adjacent && p->count > 1) copy_part(p, size);
    else if (p->term_stride != (ptrdiff_t)size) gather(p, size, 0, 0);
    else if (size == sizeof(uint16_t)) transpose_16(p);
    else if (size > sizeof(double) || size == sizeof(uint8_t)) gather(p, size, 0, 0);
    else transpose(p, size);
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
    transpose(&real, size);
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

/* ---- all ---- */

/* Whether re and im of an element are two numbers. */
static bool is_parted(const weft_gemm_side *side)
{
    return side->complex && side->form != WEFT_GEMM_WHOLE;
}

/* Bytes of a number as it is copied. */
static size_t copied_size(const weft_gemm_side *side)
{
    return is_parted(side) ? side->size : (size_t)weft_gemm_side_element(side);
}

/* Numbers of so many bytes. */
static void clear_if_part(const weft_gemm_panel *p, const weft_gemm_side *side, size_t size)
{
    bool whole = p->count * (side->form == WEFT_GEMM_DOUBLED ? 2 : 1) == p->width;
    if (!whole) memset(p->out, 0, (size_t)(p->width * p->terms * (is_parted(side) ? 2 : 1)) * size);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows or columns of a panel in one run, for all terms, run by run. */
static void pack_terms(const weft_gemm_panel *lines, const weft_gemm_side *side, int64_t term)
{
    int64_t element = weft_gemm_side_element(side), row = lines->width * element;
    weft_gemm_walk terms;
    weft_gemm_panel part = *lines;
    weft_gemm_walk_start(&terms, side->terms, term);
    for (int64_t t = 0; t < lines->terms; t += part.terms, weft_gemm_walk_next(&terms)) {
        part.terms = least(terms.length, lines->terms - t);
        part.data = lines->data + terms.offset * element;
        part.out = lines->out + t * row;
        side->pack(&part, side->form);
    }
}

/* A run of rows for terms at `offsets`. */
INLINE void copy_at(char *to, size_t pitch, const char *from, const ptrdiff_t *offsets, int64_t terms, size_t bytes)
{
    for (int64_t t = 0; t < terms; t++, to += pitch) weft_copy_few(to, from + offsets[t], bytes);
}

/* The same of every second number, of f32: not even the one after the last is read. */
INLINE void copy_even_at(char *to, size_t pitch, const char *from, const ptrdiff_t *offsets, int64_t terms, int64_t run)
{
    enum { SIZE = sizeof(float), STEP = 4 };
    for (int64_t t = 0; t < terms; t++, to += pitch) {
        const char *at = from + offsets[t];
        int64_t i = 0;
        for (; i + STEP < run; i += STEP) {
            four low, high;
            memcpy(&low, at + 2 * i * SIZE, sizeof low);
            memcpy(&high, at + 2 * i * SIZE + sizeof low, sizeof high);
            const four even = __builtin_shufflevector(low, high, 0, 2, 4, 6);
            memcpy(to + i * SIZE, &even, sizeof even);
        }
        for (; i < run; i++) memcpy(to + i * SIZE, at + 2 * i * SIZE, SIZE);
    }
}

/* The offsets in bytes of the next terms or lines, at most `most`; how many. */
static int64_t find_offsets(weft_gemm_walk *walk, int64_t *done, int64_t most, ptrdiff_t element,
                            ptrdiff_t *out_offsets)
{
    int64_t count = 0;
    while (count < most) {
        ptrdiff_t step = walk->axes->stride * element, offset = walk->offset * element + *done * step;
        int64_t run = least(walk->length - *done, most - count);
        for (int64_t i = 0; i < run; i++, offset += step) out_offsets[count++] = offset;
        *done += run;
        if (*done < walk->length) continue;
        weft_gemm_walk_next(walk);
        *done = 0;
    }
    return count;
}

void weft_gemm_pack_offsets(const weft_gemm_side *side, int64_t term, int64_t terms, ptrdiff_t *out_offsets)
{
    int64_t done = 0;
    weft_gemm_walk walk;
    weft_gemm_walk_start(&walk, side->terms, term);
    for (int64_t t = 0; t < terms;)
        t += find_offsets(&walk, &done, terms - t, (ptrdiff_t)copied_size(side), out_offsets + t);
}

/* So many rows or columns from `first` on, of terms at `offsets`. */
static void copy_lines_at(const weft_gemm_side *side, int64_t first, int64_t lines, const ptrdiff_t *offsets,
                          int64_t terms, char *out, size_t pitch)
{
    const size_t size = copied_size(side);
    weft_gemm_walk walk;
    weft_gemm_walk_start(&walk, side->lines, first);
    for (int64_t i = 0, run; i < lines; i += run, weft_gemm_walk_next(&walk)) {
        run = least(walk.length, lines - i);
        char *to = out + (size_t)i * size;
        const char *from = side->data + walk.offset * (int64_t)size;
        if (side->lines->stride != 1) {
            copy_even_at(to, pitch, from, offsets, terms, run);
            continue;
        }
        switch ((size_t)run * size) {
        case 32: copy_at(to, pitch, from, offsets, terms, 32); break;
        case 64: copy_at(to, pitch, from, offsets, terms, 64); break;
        case 128: copy_at(to, pitch, from, offsets, terms, 128); break;
        default: copy_at(to, pitch, from, offsets, terms, (size_t)run * size);
        }
    }
}

/* The same by registers. */
static void copy_runs_at(const weft_gemm_side *side, int64_t first, int64_t lines, const ptrdiff_t *offsets,
                         int64_t terms, char *out, size_t pitch)
{
    const int64_t size = (int64_t)copied_size(side);
    weft_gemm_one_run runs[WEFT_GEMM_MOST_LINES];
    int64_t count = 0;
    weft_gemm_walk walk;
    weft_gemm_walk_start(&walk, side->lines, first);
    for (int64_t i = 0; i < lines; i += runs[count++].count, weft_gemm_walk_next(&walk))
        runs[count] = (weft_gemm_one_run){walk.offset * size, least(walk.length, lines - i)};
    side->runs(&(weft_gemm_runs){.from = side->data,
                                 .offsets = offsets,
                                 .terms = terms,
                                 .runs = runs,
                                 .count = count,
                                 .stride = side->lines->stride,
                                 .size = (size_t)size,
                                 .out = out,
                                 .pitch = (int64_t)pitch});
}

/* `count` rows or columns that are adjacent in each run, of real numbers: terms are found once for all panels, since
 * those of a convolution come in runs of three. */
static void pack_adjacent(const weft_gemm_panel *panel, const weft_gemm_side *side, int64_t first, int64_t count,
                          int64_t term)
{
    enum { CHUNK = 256 };
    const size_t pitch = (size_t)panel->width * copied_size(side);
    ptrdiff_t offsets[CHUNK];
    int64_t done = 0, found;
    weft_gemm_walk terms;
    weft_gemm_walk_start(&terms, side->terms, term);
    for (int64_t t = 0; t < panel->terms; t += found) {
        char *out = panel->out + (size_t)t * pitch;
        found = find_offsets(&terms, &done, least(CHUNK, panel->terms - t), (ptrdiff_t)copied_size(side), offsets);
        for (int64_t i = 0; i < count; i += panel->width, out += panel->pitch)
            (side->runs != NULL ? copy_runs_at : copy_lines_at)(side, first + i, least(panel->width, count - i),
                                                                offsets, found, out, pitch);
    }
}

/* Whether every second number is a line, as windows with a stride of 2 have them: vectors leave out the others. */
static bool is_even(const weft_gemm_side *side)
{
    return side->lines->stride == 2 && copied_size(side) == sizeof(float);
}

/* Whether lines are so short that the terms, which are adjacent, are transposed: shorter than runs of terms where lines
 * are copied under masks. */
static bool is_transposed(const weft_gemm_side *side)
{
    const weft_gemm_axes *lines = side->lines, *terms = side->terms;
    size_t size = copied_size(side);
    if (is_parted(side) || (size != sizeof(float) && size != sizeof(double))) return false;
    if (terms->stride != 1 || lines->rank == 0) return false;
    if (lines->stride != 1 && !is_even(side)) return true;
    return lines->each < (side->runs != NULL ? least(terms->each, LEAST_LINES) : LEAST_LINES);
}

/* A panel of real numbers whose terms are adjacent in runs. */
static void pack_transposed(const weft_gemm_panel *panel, const weft_gemm_side *side, int64_t first, int64_t term)
{
    const ptrdiff_t element = weft_gemm_side_element(side);
    ptrdiff_t offsets[WEFT_GEMM_MOST_LINES];
    for (int64_t i = 0, found; i < panel->count; i += found) {
        weft_gemm_walk lines, terms;
        int64_t done = 0;
        weft_gemm_walk_start(&lines, side->lines, first + i);
        found = find_offsets(&lines, &done, least(WEFT_GEMM_MOST_LINES, panel->count - i), element, offsets);
        weft_gemm_walk_start(&terms, side->terms, term);
        for (int64_t t = 0, run; t < panel->terms; t += run, weft_gemm_walk_next(&terms)) {
            run = least(terms.length, panel->terms - t);
            panel->transpose(side->data + terms.offset * element, offsets, found, run,
                             panel->out + (t * panel->width + i) * element, panel->width);
        }
    }
}

static void pack_joined(const weft_gemm_panel *panel, const weft_gemm_side *side, int64_t first, int64_t term)
{
    int64_t element = weft_gemm_side_element(side);
    weft_gemm_panel part = *panel;
    weft_gemm_walk lines;
    weft_gemm_walk_start(&lines, side->lines, first);
    for (int64_t i = 0; i < panel->count; i += part.count, weft_gemm_walk_next(&lines)) {
        part.count = least(lines.length, panel->count - i);
        part.data = side->data + lines.offset * element;
        part.out = panel->out + i * (side->form == WEFT_GEMM_DOUBLED ? 2 : 1) * (int64_t)copied_size(side);
        pack_terms(&part, side, term);
    }
}

/* Whether 16-bit floats are widened on their way into panels: those that are adjacent. */
static bool is_widened_at_once(const weft_gemm_side *side)
{
    if (side->float16 == NULL || side->float16->widen_rows == NULL || weft_gemm_side_is_joined(side)) return false;
    return side->lines->stride == 1 || side->terms->stride == 1;
}

static void widen_at_once(const weft_gemm_panel *p, const weft_gemm_side *side)
{
    if (side->lines->stride == 1) widen_runs(p, side->float16);
    else transpose(p, sizeof(float));
}

void weft_gemm_pack(const weft_gemm_side *side, int64_t first, int64_t count, int64_t term, int64_t terms,
                    int64_t width, char *panels, int64_t pitch)
{
    int64_t each = side->form == WEFT_GEMM_DOUBLED ? width / 2 : width, element = weft_gemm_side_element(side);
    bool joined = weft_gemm_side_is_joined(side);
    /* Other 16-bit floats are copied into the last half of their panel, and widened there. */
    bool at_once = is_widened_at_once(side);
    int64_t half = side->float16 != NULL && !at_once ? width * terms * element : 0;
    bool transposed = joined && is_transposed(side);
    bool adjacent = joined && !transposed && (side->lines->stride == 1 || is_even(side)) && !is_parted(side);
    for (int64_t i = 0, together; i < count; i += together * each) {
        together = is_parted(side) || side->lines->stride != 1 || joined ? 1 : (count - i) / each;
        if (adjacent) together = i == 0 ? count / each : 1;
        if (together < 1) together = 1;
        char *panel = panels + i / each * pitch;
        weft_gemm_panel p = {.data = weft_gemm_side_at(side, first + i, term),
                             .count = least(each, count - i),
                             .terms = terms,
                             .width = width,
                             .panels = together,
                             .stride = side->lines->stride * element,
                             .term_stride = side->terms->stride * element,
                             .pitch = pitch,
                             .out = panel + half,
                             .transpose = at_once ? side->float16->transpose : side->transpose};
        clear_if_part(&p, side, at_once ? sizeof(float) : copied_size(side));
        if (at_once) widen_at_once(&p, side);
        else if (adjacent) pack_adjacent(&p, side, first + i, least(count - i, together * each), term);
        else if (transposed) pack_transposed(&p, side, first + i, term);
        else if (joined) pack_joined(&p, side, first + i, term);
        else side->pack(&p, side->form);
        for (int64_t k = 0; k < together && half > 0; k++, panel += pitch)
            side->float16->widen(panel + half, (float *)panel, width * terms);
    }
}
