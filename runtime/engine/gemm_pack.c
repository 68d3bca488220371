/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_pack.h"
#include <string.h>
#include "runtime/engine/gemm_pack_panel.h"
#include "runtime/engine/vector.h"

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

/* A run of rows for terms at `offsets`. Inlined with a constant size. */
static inline __attribute__((always_inline)) void copy_at(char *to, size_t pitch, const char *from,
                                                          const ptrdiff_t *offsets, int64_t terms, size_t bytes)
{
    for (int64_t t = 0; t < terms; t++, to += pitch) weft_copy_few(to, from + offsets[t], bytes);
}

/* The same of every second number, of f32: not even the one after the last is read. */
static void copy_even_at(char *to, size_t pitch, const char *from, const ptrdiff_t *offsets, int64_t terms, int64_t run)
{
    enum { SIZE = sizeof(float), STEP = 4 };
    typedef uint32_t four __attribute__((vector_size(16)));
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
    enum { LEAST_LINES = 8 }; /* adjacent ones, fewer of which would be copied one term at a time */
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

static void widen_at_once(const weft_gemm_panel *p, const weft_gemm_side *side)
{
    if (side->lines->stride == 1) widen_runs(p, side->float16);
    else weft_gemm_panel_transpose(p, sizeof(float));
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
