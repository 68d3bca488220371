/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/chain.h"
#include "runtime/base/memory.h"
#include "runtime/step/chain_rows.h"
#include "runtime/step/step.h"

enum {
    NEAR = 8,     /* L2 sizes, about what a core has of L3: a strip is no larger, */
    FEWEST = 64,  /* or no more than so many rows */
    LONG = 128,   /* rows of a matrix of which it pays to leave out what is hidden */
    BALANCED = 4, /* strips of each thread, from which on it matters little who has one more */
};

/* ---- strips ---- */

static int64_t units_of(const weft_strips *strips)
{
    return (strips->extent + strips->unit - 1) / strips->unit;
}

static void set_parts(const weft_chain_view *v, weft_strips *strips, int64_t parts)
{
    strips->parts = parts;
    strips->all = v->rows / (strips->extent * strips->inner) * parts;
}

/* Whether a kernel has no use for parts of rows. */
static bool hides(const weft_chain_view *v)
{
    for (size_t s = 0; s < v->count; s++) {
        const weft_step *step = &v->steps[s];
        for (size_t i = 0; i < step->buffer_count && step->kind == WEFT_STEP_KERNEL; i++)
            if (weft_chain_is_intermediate(v, step->buffers[i]) && step->hidden[i].known) return true;
    }
    return false;
}

/* Cuts the outermost axis whose indices have no more rows than `most`, or than iterations have, or the innermost one;
 * false where iterations do not begin there. Only the last unit of all may be shorter. Long matrices of which parts are
 * hidden are cut one by one, as products leave out what is hidden in all rows of one call. */
static bool cut_rows(const weft_chain_view *v, int64_t most, weft_strips *strips)
{
    int64_t inner = v->rows;
    bool masked = hides(v);
    size_t axis = 0;
    for (;; axis++) {
        inner /= v->axes.extents[axis];
        bool is_apart = masked && inner >= LONG && inner % v->grain == 0;
        if (((inner <= most || inner <= v->grain) && !is_apart) || axis + 1 == v->axes.count) break;
    }
    int64_t extent = v->axes.extents[axis], unit = v->grain > inner ? v->grain / inner : 1;
    int64_t each = most / (inner * unit) > 1 ? most / (inner * unit) : 1;
    bool is_outermost = extent * inner == v->rows;
    if ((extent % unit != 0 && !is_outermost) || inner * unit % v->grain != 0) return false;
    *strips = (weft_strips){.extent = extent, .inner = inner, .unit = unit};
    set_parts(v, strips, (units_of(strips) + each - 1) / each);
    return true;
}

/* Finds the axis that is cut in each product: it has as many indices and as many rows inside. */
static bool find_cuts(weft_chain_view *v, const weft_strips *strips)
{
    for (size_t s = 0; s < v->count; s++) {
        if (v->steps[s].kind != WEFT_STEP_GEMM) continue;
        weft_row_axes axes = weft_chain_axes(&v->bound_steps[s].gemm, v->found[s].by_columns);
        int64_t inner = 1;
        while (weft_chain_innermost(&axes) != v->found[s].innermost) axes.count--;
        size_t i = axes.count;
        for (; i > 0 && (inner != strips->inner || axes.extents[i - 1] != strips->extent); i--)
            inner *= axes.extents[i - 1];
        if (i == 0) return false;
        v->found[s].cut = axes.batch[i - 1];
    }
    return true;
}

/* Bytes that the product of one of `parts` reads of the operand that has no rows: of batch axes along which it moves,
 * no more indices than the strip has. */
static double other_bytes(const weft_chain_view *v, size_t s, int64_t parts)
{
    const weft_gemm_call *call = &v->bound_steps[s].gemm;
    const weft_strip_step *step = &v->found[s];
    const int64_t *strides = step->by_columns ? call->a_batch : call->b_batch;
    double count = (double)call->k * (double)(step->by_columns ? call->m : call->n);
    for (size_t i = 0; i < call->batch_rank; i++) {
        bool has_rows = call->c_batch[i] != 0;
        double extent = (double)call->batch[i];
        if (has_rows && i <= step->cut) extent = i < step->cut ? 1 : extent / (double)parts;
        if (strides[i] != 0) count *= extent;
    }
    return count * (double)weft_dtype_size(call->dtype);
}

/* Bytes of these operands that all strips together read more than once. */
static double reread_bytes(const weft_chain_view *v, const weft_strips *strips)
{
    double bytes = 0, outer = (double)(strips->all / strips->parts);
    for (size_t s = 0; s < v->count; s++)
        if (v->steps[s].kind == WEFT_STEP_GEMM)
            bytes += (double)strips->all * other_bytes(v, s, strips->parts) - outer * other_bytes(v, s, 1);
    return bytes;
}

/* Two strips of each thread at least, and the same number of each as far as that can be. */
static void balance(const weft_chain_view *v, int64_t threads, weft_strips *strips)
{
    while (strips->parts < units_of(strips) &&
           (strips->all < 2 * threads || (strips->all < BALANCED * threads && strips->all % threads != 0)))
        set_parts(v, strips, strips->parts + 1);
    strips->threads = threads < strips->all ? threads : strips->all;
}

static int64_t strip_bytes(const weft_strips *strips, int64_t parts, int64_t row_bytes)
{
    return (units_of(strips) + parts - 1) / parts * strips->unit * strips->inner * row_bytes;
}

/*
 * Strips pay where intermediates, and what several kernels read, do not stay in L2 anyway: each of their bytes is
 * written and read there instead of beyond it. They are as long as half of L2 has room for, or longer, up to `room`,
 * where products would read, and pack, too much of their other operand again. Intermediates that no cache holds are
 * worth more of that, since strips need so much less memory: 4 MB instead of 540 for attention of length 8192. Fewer
 * strips than threads would leave some idle.
 */
static bool cut(weft_chain_view *v, int64_t bytes, int64_t room, int64_t threads, weft_strips *strips)
{
    enum { FAR = 8 }; /* rooms */
    int64_t cache = (int64_t)weft_pool_machine(v->bound->pool)->cache_bytes[1], row_bytes = bytes / v->rows;
    double most = bytes / FAR > room ? 2 * (double)bytes : (double)bytes / 2;
    if (bytes <= cache / 2 || !cut_rows(v, cache / 2 / row_bytes, strips) || !find_cuts(v, strips)) return false;
    while (strips->parts > 1 && reread_bytes(v, strips) > (double)bytes / 2 &&
           strip_bytes(strips, (strips->parts + 1) / 2, row_bytes) <= room)
        set_parts(v, strips, (strips->parts + 1) / 2);
    balance(v, threads, strips);
    return strips->all > 1 && strips->all >= threads && reread_bytes(v, strips) <= most &&
           strip_bytes(strips, strips->parts, row_bytes) <= room;
}

/* ---- what is hidden ---- */

/* What kernel `s` does not use of the rows of an intermediate, or, if it is `written`, is the same in each of its rows
 * that it writes; INT64_MAX: nothing. */
static int64_t hidden_in(const weft_chain_view *v, const weft_strips *strips, size_t s, uint32_t buffer, bool written)
{
    const weft_step *step = &v->steps[s];
    const int64_t *values = v->bound->values;
    int64_t most = INT64_MIN;
    if (step->kind != WEFT_STEP_KERNEL || v->found[s].rows != 1) return INT64_MAX;
    size_t first = written ? 0 : step->written, end = written ? step->written : step->buffer_count;
    for (size_t i = first; i < end; i++) {
        if (step->buffers[i] != buffer) continue;
        const weft_hidden *hidden = &step->hidden[i];
        if (!hidden->known || values[hidden->extent] != strips->extent) return INT64_MAX;
        if (values[hidden->from] > most) most = values[hidden->from];
    }
    return most;
}

/* Of what product `s` writes, as far as those steps read it that come before another one writes there. */
static int64_t hidden_from(const weft_chain_view *v, const weft_strips *strips, size_t s)
{
    uint32_t buffer = v->steps[s].buffers[2];
    int64_t most = INT64_MIN;
    for (size_t reader = s + 1; reader < v->count; reader++) {
        if (!weft_chain_step_uses(&v->steps[reader], buffer)) continue;
        int64_t own = hidden_in(v, strips, reader, buffer, false);
        if (own > most) most = own;
        if (v->steps[reader].kind == WEFT_STEP_KERNEL && weft_step_writes(&v->steps[reader], buffer)) break;
    }
    return weft_chain_is_intermediate(v, buffer) && most != INT64_MIN ? most : INT64_MAX;
}

/* Of the rows that product `s` reads: what is the same in each of them is often zero. */
static int64_t zero_from(const weft_chain_view *v, const weft_strips *strips, size_t s)
{
    uint32_t buffer = v->steps[s].buffers[0];
    size_t writer = s;
    while (writer > 0 && !weft_step_writes(&v->steps[writer - 1], buffer)) writer--;
    return writer > 0 && weft_chain_is_intermediate(v, buffer) ? hidden_in(v, strips, writer - 1, buffer, true)
                                                               : INT64_MAX;
}

/* Of each product whose rows are those of the axis that is cut, one for each of its indices. */
static void find_hidden(weft_chain_view *v, const weft_strips *strips)
{
    for (size_t s = 0; s < v->count; s++) {
        if (v->steps[s].kind != WEFT_STEP_GEMM) continue;
        const weft_gemm_call *call = &v->bound_steps[s].gemm;
        bool fits = strips->inner == 1 && !v->found[s].by_columns && v->found[s].cut == call->batch_rank;
        bool adjacent = call->c_column == 1 && call->a_column == 1; /* element i of a row is column, or term, i */
        v->found[s].hidden = fits && adjacent ? hidden_from(v, strips, s) : INT64_MAX;
        v->found[s].zero = fits && adjacent ? zero_from(v, strips, s) : INT64_MAX;
    }
}

/* ---- memory ---- */

/* The bytes of a strip: the pointers of all steps, then the intermediates, at *out_offsets, which may be NULL. */
static int64_t find_offsets(const weft_chain_view *v, const weft_strips *strips, int64_t *out_offsets)
{
    int64_t most = (units_of(strips) + strips->parts - 1) / strips->parts * strips->unit * strips->inner, bytes = 0;
    for (size_t s = 0; s < v->count; s++) bytes += (int64_t)(v->steps[s].buffer_count * sizeof(void *));
    for (size_t i = 0; i < v->intermediate_count; i++) {
        bytes = weft_strip_aligned(bytes);
        if (out_offsets != NULL) out_offsets[i] = bytes;
        bytes += most * (weft_chain_bytes(v, v->intermediates[i]) / v->rows);
    }
    return weft_strip_aligned(bytes);
}

/* Copies what `strips` refers to, and itself. */
static weft_status *keep(weft_bound_variant *bound, const weft_chain_view *v, weft_strips *strips,
                         weft_strips **out_strips)
{
    strips->count = v->count;
    strips->steps = weft_arena_copy(&bound->arena, v->found, v->count * sizeof *v->found);
    strips->intermediate_count = v->intermediate_count;
    strips->intermediates =
        weft_arena_copy(&bound->arena, v->intermediates, v->intermediate_count * sizeof *v->intermediates);
    strips->offsets = weft_bound_take(bound, v->intermediate_count, sizeof *strips->offsets);
    strips->pitches = weft_bound_take(bound, v->intermediate_count, sizeof *strips->pitches);
    *out_strips = weft_arena_allocate(&bound->arena, sizeof **out_strips);
    if (strips->steps == NULL || strips->intermediates == NULL || strips->offsets == NULL || strips->pitches == NULL ||
        *out_strips == NULL)
        return weft_status_out_of_memory();
    for (size_t i = 0; i < v->intermediate_count; i++)
        strips->pitches[i] = weft_chain_bytes(v, v->intermediates[i]) / v->rows;
    strips->bytes = find_offsets(v, strips, strips->offsets);
    **out_strips = *strips;
    return NULL;
}

/* Of all intermediates; 0: more than can be. */
static int64_t intermediate_bytes(const weft_chain_view *v)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < v->intermediate_count; i++)
        if (__builtin_add_overflow(bytes, weft_chain_bytes(v, v->intermediates[i]), &bytes)) return 0;
    return bytes;
}

/* Whether kernel `s` reads as many elements of buffer `i` for each row, which has a whole number of groups. */
static bool reads_in_rows(const weft_chain_view *v, size_t s, size_t i)
{
    const weft_strip_step *found = &v->found[s];
    int64_t pitch = v->bound->values[v->steps[s].pitches[i]], group = v->bound->values[v->steps[s].groups[i]];
    int64_t all = weft_chain_elements(v, v->steps[s].buffers[i]), row = all / v->rows;
    if (pitch <= 0 || group <= 0 || all % v->rows != 0) return false; /* a group of none: the kernel does not run */
    return found->rows > 0 ? pitch == row * found->rows : pitch * (found->iterations / group) == row;
}

/* How many kernels from step `begin` on, before step `end`, read the buffer in rows. */
static int64_t count_row_readers(const weft_chain_view *v, uint32_t buffer, size_t begin, size_t end)
{
    int64_t readers = 0;
    for (size_t s = begin; s < end; s++) {
        const weft_step *step = &v->steps[s];
        size_t i = step->kind == WEFT_STEP_KERNEL ? step->written : step->buffer_count;
        while (i < step->buffer_count && step->buffers[i] != buffer) i++;
        readers += i < step->buffer_count && reads_in_rows(v, s, i);
    }
    return readers;
}

/* Of what several kernels read in rows apart from intermediates; 0 also where it cannot be counted. *out_again: what
 * they read after the first one. */
static int64_t shared_bytes(const weft_chain_view *v, int64_t *out_again)
{
    int64_t bytes = 0;
    *out_again = 0;
    for (size_t s = 0; s < v->count; s++) {
        for (size_t i = v->steps[s].written; i < v->steps[s].buffer_count; i++) {
            uint32_t buffer = v->steps[s].buffers[i];
            if (weft_chain_is_intermediate(v, buffer) || count_row_readers(v, buffer, 0, s) > 0) continue;
            int64_t again = count_row_readers(v, buffer, s, v->count) - 1;
            int64_t size = weft_chain_bytes(v, buffer), more;
            if (again <= 0) continue;
            if (__builtin_mul_overflow(again, size, &more) || __builtin_add_overflow(*out_again, more, out_again))
                return *out_again = 0;
            bytes += size;
        }
    }
    return bytes;
}

/* Whether strips pay; not where they need as much memory as an intermediate. *out_saved: memory, and what is not read
 * from beyond L2 again. */
static bool decide(weft_chain_view *v, int64_t threads, weft_strips *out_strips, int64_t *out_saved)
{
    int64_t largest = 0, again, all, kept = intermediate_bytes(v), shared = shared_bytes(v, &again);
    if (__builtin_add_overflow(kept, again, &all)) return false;
    int64_t bytes = kept + shared;
    for (size_t i = 0; i < v->intermediate_count; i++)
        if (weft_chain_bytes(v, v->intermediates[i]) > largest) largest = weft_chain_bytes(v, v->intermediates[i]);
    int64_t room = NEAR * (int64_t)weft_pool_machine(v->bound->pool)->cache_bytes[1];
    if (bytes / v->rows * FEWEST > room) room = bytes / v->rows * FEWEST;
    if (!cut(v, bytes, room, threads, out_strips)) return false;
    out_strips->bytes = find_offsets(v, out_strips, NULL);
    out_strips->most_bytes = largest / out_strips->threads;
    *out_saved = all - out_strips->bytes * out_strips->threads;
    return out_strips->bytes <= out_strips->most_bytes;
}

/* ---- chains ---- */

static bool may_have_strips(const weft_bound_variant *bound, size_t number)
{
    const weft_chain *chain = &bound->variant->steps[number].chain;
    for (size_t i = 0; i < chain->intermediate_count; i++)
        if (bound->values[bound->variant->buffers[chain->intermediates[i]].bytes] <= 0) return false;
    for (size_t s = number; s <= number + chain->steps; s++)
        if (bound->steps[s].step->kind == WEFT_STEP_GEMM && bound->steps[s].gemm.batch_rank > WEFT_MAX_RANK)
            return false;
    return !bound->is_apart;
}

/* Finds strips for that many threads, of those steps of which they save most: steps at either end may be cut
 * differently. *out_first is the first of these steps; *out_strips NULL: there are none. */
static weft_status *find_strips(weft_bound_variant *bound, size_t number, int64_t threads, size_t *out_first,
                                weft_strips **out_strips)
{
    size_t all = bound->variant->steps[number].chain.steps + 1;
    weft_chain_view best = {.count = 0};
    weft_strips strips, best_strips;
    int64_t most = 0;
    for (size_t count = all; count > 1; count--) {
        for (size_t begin = 0; begin + count <= all; begin++) {
            weft_chain_view v = weft_chain_view_of(bound, number, begin, begin + count);
            int64_t saved;
            if (!weft_chain_find_rows(&v) || !decide(&v, threads, &strips, &saved) || saved <= most) continue;
            most = saved;
            best = v;
            best_strips = strips;
            *out_first = number + begin;
        }
    }
    if (best.count == 0) return NULL;
    find_hidden(&best, &best_strips);
    return keep(bound, &best, &best_strips, out_strips);
}

static void use(weft_bound_step *step, weft_strips *strips)
{
    step->strips = strips;
    step->scratch_bytes = strips == NULL ? 0 : strips->threads * strips->bytes;
}

weft_status *weft_chain_bind(weft_bound_variant *bound, size_t number)
{
    int64_t threads = (int64_t)weft_pool_size(bound->pool);
    const weft_step_methods *packing = bound->variant->methods[WEFT_STEP_PACK];
    weft_strips *strips = NULL, *least = NULL;
    size_t first = number, first_of_least = number;
    if (!may_have_strips(bound, number)) return NULL;
    WEFT_TRY(find_strips(bound, number, 1, &first_of_least, &least));
    if (least != NULL) bound->steps[first_of_least].least_strips = least;
    if (threads == 1) {
        strips = least;
        first = first_of_least;
    } else {
        WEFT_TRY(find_strips(bound, number, threads, &first, &strips));
    }
    if (strips != NULL && packing != NULL) WEFT_TRY(packing->share(bound, first, &strips));
    use(&bound->steps[first], strips);
    return NULL;
}

bool weft_chain_tighten(weft_bound_step *bound_step)
{
    if (bound_step->strips == bound_step->least_strips) return false;
    use(bound_step, bound_step->least_strips);
    return true;
}
