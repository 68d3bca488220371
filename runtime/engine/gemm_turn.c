/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_turn.h"
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { LINE = 64 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts_of(const weft_gemm_turn_axis *axis)
{
    return (axis->extent + axis->part - 1) / axis->part;
}

/* ---- what is turned ---- */

static int64_t stride_of(const weft_gemm_turn_axis *axis, bool of_b)
{
    return llabs(of_b ? axis->b : axis->a);
}

/* Whether an axis is one of the rows or columns that an operand has, and the other one has not. */
static bool is_of(const weft_gemm_turn_axis *axis, bool of_b)
{
    return stride_of(axis, of_b) != 0 && stride_of(axis, !of_b) == 0;
}

static void add_axis(weft_gemm_turn *turn, weft_gemm_turn_axis axis)
{
    size_t i = turn->rank++;
    for (; i > 0 && llabs(turn->axes[i - 1].c) < llabs(axis.c); i--) turn->axes[i] = turn->axes[i - 1];
    turn->axes[i] = axis;
}

static void find_axes(weft_gemm_turn *turn)
{
    const weft_gemm_call *call = turn->call;
    size_t rank = call->batch_rank;
    add_axis(turn, (weft_gemm_turn_axis){.place = rank, .extent = call->m, .a = call->a_row, .c = call->c_row});
    add_axis(turn,
             (weft_gemm_turn_axis){.place = rank + 1, .extent = call->n, .b = call->b_column, .c = call->c_column});
    for (size_t i = 0; i < rank; i++)
        if (call->c_batch[i] != 0)
            add_axis(turn, (weft_gemm_turn_axis){.place = i,
                                                 .extent = call->batch[i],
                                                 .a = call->a_batch[i],
                                                 .b = call->b_batch[i],
                                                 .c = call->c_batch[i]});
}

/* Whether C lies across an operand, along axes that are long enough for squares of registers. */
static bool lies_across(weft_gemm_turn *turn, bool of_b)
{
    enum { SHORT = 8 };
    bool has_own = false, has_last = false;
    if ((of_b ? turn->call->b_row : turn->call->a_column) == 1) return false;
    for (size_t i = 0; i < turn->rank; i++) {
        const weft_gemm_turn_axis *axis = &turn->axes[i];
        if (!is_of(axis, of_b) || axis->extent < SHORT) continue;
        int64_t stride = of_b ? axis->b : axis->a;
        if (axis->c == 1 && stride == 1) return false;
        if (axis->c == 1) turn->last = i, has_last = true;
        else if (stride == 1) turn->own = i, has_own = true;
    }
    return has_own && has_last;
}

/* ---- parts ---- */

/* As much of an axis as the buffer holds beside the others, in parts of about the same length. */
static void extend(weft_gemm_turn *turn, weft_gemm_turn_axis *axis, int64_t most)
{
    int64_t others = 1;
    for (size_t i = 0; i < turn->rank; i++) others *= &turn->axes[i] == axis ? 1 : turn->axes[i].part;
    axis->part = others >= most ? 1 : least(most / others, axis->extent);
    int64_t parts = parts_of(axis);
    axis->part = (axis->extent + parts - 1) / parts;
}

/* The stride of an axis in its operand; the one that is adjacent there comes before others that may be too, in windows.
 */
static int64_t place_of(const weft_gemm_turn *turn, size_t axis, bool of_b)
{
    return axis == turn->own ? 0 : stride_of(&turn->axes[axis], of_b);
}

/* The axes of C that only the operand has, but the last one, and those that only the other one has, in the order of
 * each; how many the first are, and all. */
static void find_order(const weft_gemm_turn *turn, bool of_b, size_t *out_order, size_t *out_counts)
{
    size_t count = 0;
    for (size_t other = 0; other < 2; other++) {
        size_t first = count;
        bool side = of_b != (other == 1);
        for (size_t i = 0; i < turn->rank; i++) {
            if (!is_of(&turn->axes[i], side) || i == turn->last) continue;
            size_t at = count++;
            int64_t stride = place_of(turn, i, side);
            for (; at > first && place_of(turn, out_order[at - 1], side) > stride; at--)
                out_order[at] = out_order[at - 1];
            out_order[at] = i;
        }
        out_counts[other] = count;
    }
}

/* Axes of an order, until one of them is cut. */
static void extend_all(weft_gemm_turn *turn, const size_t *order, size_t count, int64_t most)
{
    for (size_t i = 0; i < count; i++) {
        weft_gemm_turn_axis *axis = &turn->axes[order[i]];
        extend(turn, axis, most);
        if (axis->part < axis->extent) return;
    }
}

static int64_t whole_lines(int64_t elements, int64_t size)
{
    return (elements * size + LINE - 1) / LINE * LINE / size;
}

/* Parts have a line of the cache of the last axis of C, and all of the other operand with a run of this one, or as much
 * as fits; then that run is made longer. In the buffer they lie as in the operands. */
static void find_parts(weft_gemm_turn *turn, bool of_b, int64_t size, int64_t most)
{
    enum { RUN = 64 };
    weft_gemm_turn_axis *own = &turn->axes[turn->own], *last = &turn->axes[turn->last];
    size_t order[WEFT_GEMM_TURN_AXES], counts[2];
    find_order(turn, of_b, order, counts);
    last->part = least(last->extent, LINE / size);
    own->part = least(own->extent, RUN);
    extend_all(turn, order + counts[0], counts[1] - counts[0], most);
    extend_all(turn, order, counts[0], most);
    int64_t stride = 1;
    for (size_t i = 0; i < counts[1]; i++) {
        if (i == counts[0]) stride = whole_lines(stride, size);
        turn->axes[order[i]].buffer = stride;
        stride *= turn->axes[order[i]].part;
    }
    last->buffer = whole_lines(stride, size);
    turn->bytes = (size_t)(last->buffer * last->part * size);
}

static size_t find_next(const weft_gemm_turn *turn)
{
    size_t next = 0;
    for (; next < turn->rank; next++)
        if (next != turn->last && turn->axes[next].c == turn->axes[turn->last].extent) break;
    return next;
}

/* Whether an operand is more than so many bytes. */
static bool is_larger(const weft_gemm_turn *turn, bool of_b, double bytes)
{
    const weft_gemm_call *call = turn->call;
    double elements = (double)call->k;
    for (size_t i = 0; i < turn->rank; i++)
        if (stride_of(&turn->axes[i], of_b) != 0) elements *= (double)turn->axes[i].extent;
    for (size_t i = 0; i < call->batch_rank; i++)
        if (call->c_batch[i] == 0) elements *= (double)call->batch[i];
    return elements * (double)weft_dtype_size(call->dtype) > bytes;
}

void weft_gemm_turn_find(weft_gemm_turn *turn, const weft_gemm_call *call, size_t cache_bytes)
{
    int64_t size = (int64_t)weft_dtype_size(call->dtype);
    turn->rank = 0;
    turn->call = call;
    if (call->batch_rank == 0 || call->panels != WEFT_PANELS_NONE) return;
    if (call->dtype != WEFT_F32 && call->dtype != WEFT_F64) return;
    find_axes(turn);
    bool of_b = !lies_across(turn, false);
    if (of_b && !lies_across(turn, true)) {
        turn->rank = 0;
        return;
    }
    double elements = 1;
    for (size_t i = 0; i < turn->rank; i++) {
        turn->axes[i].part = 1;
        elements *= (double)turn->axes[i].extent;
    }
    find_parts(turn, of_b, size, (int64_t)cache_bytes / 2 / size);
    turn->next = find_next(turn);
    turn->far = is_larger(turn, of_b, (double)cache_bytes);
    turn->past = elements * (double)size > WEFT_GEMM_TURN_PAST * (double)cache_bytes;
    turn->lead = 0;
    turn->parts = 1;
    for (size_t i = 0; i < turn->rank; i++) turn->parts *= parts_of(&turn->axes[i]);
}

void weft_gemm_turn_align(weft_gemm_turn *turn, const void *c)
{
    const int64_t size = (int64_t)weft_dtype_size(turn->call->dtype);
    const weft_gemm_turn_axis *last = &turn->axes[turn->last];
    bool has_lines = turn->past && last->part * size == LINE && last->extent % last->part == 0 &&
                     last->place < turn->call->batch_rank;
    for (size_t i = 0; i < turn->rank; i++) has_lines &= i == turn->last || turn->axes[i].c * size % LINE == 0;
    int64_t before = (int64_t)(((uintptr_t)c + (uintptr_t)(turn->call->c_offset * size)) % LINE);
    turn->lead = has_lines && before % size == 0 ? (LINE - before) % LINE / size : 0;
}

/* ---- one part ---- */

int64_t weft_gemm_turn_sizes(const weft_gemm_turn *turn)
{
    int64_t sizes = 1;
    for (size_t i = 0; i < turn->rank; i++) sizes <<= turn->axes[i].extent % turn->axes[i].part != 0;
    return sizes;
}

int64_t weft_gemm_turn_size(const weft_gemm_turn *turn, int64_t index)
{
    int64_t part = 0;
    for (size_t i = 0; i < turn->rank; i++) {
        const weft_gemm_turn_axis *axis = &turn->axes[i];
        bool has_rest = axis->extent % axis->part != 0;
        part = part * parts_of(axis) + (has_rest && index % 2 != 0 ? parts_of(axis) - 1 : 0);
        index >>= has_rest;
    }
    return part;
}

void weft_gemm_turn_start(const weft_gemm_turn *turn, int64_t index, weft_gemm_turn_part *out_part)
{
    for (size_t i = turn->rank; i-- > 0;) {
        const weft_gemm_turn_axis *axis = &turn->axes[i];
        int64_t begin = index % parts_of(axis) * axis->part;
        index /= parts_of(axis);
        out_part->begin[i] = begin;
        out_part->extents[i] = least(axis->part, axis->extent - begin);
    }
    const weft_gemm_turn_axis *last = &turn->axes[turn->last];
    int64_t *begin = &out_part->begin[turn->last];
    *begin += turn->lead;
    out_part->tail = least(out_part->extents[turn->last], last->extent - *begin);
}

void weft_gemm_turn_cut(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, int64_t first, int64_t count,
                        weft_gemm_turn_piece *out_piece)
{
    const weft_gemm_call *whole = turn->call;
    const size_t rank = whole->batch_rank;
    weft_gemm_call *call = &out_piece->call;
    *call = *whole;
    call->c_offset = first * turn->axes[turn->last].buffer;
    call->batch = out_piece->batch;
    call->c_batch = out_piece->strides;
    memcpy(out_piece->batch, whole->batch, rank * sizeof *whole->batch);
    memcpy(out_piece->strides, whole->c_batch, rank * sizeof *whole->c_batch);
    for (size_t i = 0; i < turn->rank; i++) {
        const weft_gemm_turn_axis *axis = &turn->axes[i];
        int64_t begin = part->begin[i], extent = part->extents[i];
        if (i == turn->last) {
            begin += first - (first >= part->tail ? axis->extent : 0);
            extent = count;
        }
        call->a_offset += begin * axis->a;
        call->b_offset += begin * axis->b;
        if (axis->place == rank) call->m = extent, call->c_row = axis->buffer;
        else if (axis->place == rank + 1) call->n = extent, call->c_column = axis->buffer;
        else out_piece->batch[axis->place] = extent, out_piece->strides[axis->place] = axis->buffer;
    }
}

/* Lines of the cache, `stride` bytes from one to the next. */
static void store_past(const char *from, int64_t lines, char *to, int64_t stride)
{
    for (int64_t i = 0; i < lines; i++, from += LINE, to += stride) {
#if defined(__SSE2__)
        for (size_t at = 0; at < LINE; at += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(to + at), _mm_load_si128((const __m128i *)(from + at)));
#else
        memcpy(to, from, LINE);
#endif
    }
}

/* The place in a part whose lines are turned: along all axes but the last one and its operand's. */
struct turning {
    const weft_gemm_turn *turn;
    const weft_gemm_turn_part *part;
    weft_gemm_transpose *transpose; /* NULL: pieces of lines of C are asked for */
    const char *from;               /* in the buffer; its lines, */
    ptrdiff_t offsets[LINE / sizeof(float)], following[LINE / sizeof(float)]; /* and beyond `tail` those next in C */
    char *to;
    int64_t at[WEFT_GEMM_TURN_AXES];
};

/* `count` numbers, from `first` on, of lines in the buffer become columns of C, which begin at `to`. */
static void turn_lines(const struct turning *t, const ptrdiff_t *offsets, int64_t lines, int64_t first, int64_t count,
                       char *to)
{
    enum { RUN = 64 };
    _Alignas(LINE) char buffer[RUN * LINE];
    const int64_t size = (int64_t)weft_dtype_size(t->turn->call->dtype), stride = t->turn->axes[t->turn->own].c;
    const char *from = t->from + first * size;
    to += first * stride * size;
    if (count == 0) return;
    bool is_whole = lines * size == LINE && (uintptr_t)to % LINE == 0 && stride * size % LINE == 0;
    if (t->transpose == NULL) {
        for (int64_t i = 0; i < count && !is_whole; i++) __builtin_prefetch(to + i * stride * size, 1);
        return;
    }
    if (!t->turn->past || !is_whole) {
        t->transpose(from, offsets, lines, count, to, stride);
        return;
    }
    for (int64_t i = 0, run; i < count; i += run) {
        run = least(RUN, count - i);
        t->transpose(from + i * size, offsets, lines, run, buffer, LINE / size);
        store_past(buffer, run, to + i * stride * size, stride * size);
    }
}

/* All lines at a place. Lines of C beyond `tail` are joined with those before, except at the ends of a part. */
static void turn_place(const struct turning *t)
{
    const weft_gemm_turn *turn = t->turn;
    const int64_t *extents = t->part->extents, own = extents[turn->own], lines = extents[turn->last],
                  tail = t->part->tail, next = turn->next == turn->rank ? 0 : t->at[turn->next],
                  nexts = turn->next == turn->rank ? 1 : extents[turn->next];
    if (tail == lines) {
        turn_lines(t, t->offsets, lines, 0, own, t->to);
        return;
    }
    bool is_own = turn->next == turn->own;
    int64_t joined = is_own ? own - 1 : next + 1 < nexts ? own : 0, heads = is_own ? 1 : next == 0 ? own : 0;
    turn_lines(t, t->following, lines, 0, joined, t->to);
    turn_lines(t, t->offsets, tail, joined, own - joined, t->to);
    turn_lines(t, t->offsets + tail, lines - tail, 0, heads,
               t->to - t->part->begin[turn->last] * (int64_t)weft_dtype_size(turn->call->dtype));
}

static void turn_places(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, weft_gemm_transpose *transpose,
                        const char *buffer, char *c)
{
    const int64_t size = (int64_t)weft_dtype_size(turn->call->dtype),
                  step = turn->next == turn->rank ? 0 : turn->axes[turn->next].buffer;
    struct turning t = {
        .turn = turn, .part = part, .transpose = transpose, .from = buffer, .to = c + turn->call->c_offset * size};
    for (int64_t i = 0; i < part->extents[turn->last]; i++) {
        t.offsets[i] = i * turn->axes[turn->last].buffer * size;
        t.following[i] = t.offsets[i] + (i < part->tail ? 0 : step * size);
    }
    for (size_t i = 0; i < turn->rank; i++) t.to += part->begin[i] * turn->axes[i].c * size;
    for (size_t next = turn->rank; next > 0;) {
        turn_place(&t);
        /* The next place, from the shortest stride in C on. */
        for (next = turn->rank; next > 0; next--) {
            const weft_gemm_turn_axis *axis = &turn->axes[next - 1];
            int64_t *at = &t.at[next - 1];
            if (next - 1 == turn->own || next - 1 == turn->last) continue;
            t.from += axis->buffer * size;
            t.to += axis->c * size;
            if (++*at < part->extents[next - 1]) break;
            t.from -= *at * axis->buffer * size;
            t.to -= *at * axis->c * size;
            *at = 0;
        }
    }
}

void weft_gemm_turn_fetch(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, const char *buffer, char *c)
{
    if (part->tail < part->extents[turn->last]) turn_places(turn, part, NULL, buffer, c);
}

void weft_gemm_turn_finish(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, weft_gemm_transpose *transpose,
                           const char *buffer, char *c)
{
    turn_places(turn, part, transpose, buffer, c);
#if defined(__SSE2__)
    if (turn->past) _mm_sfence();
#endif
}
