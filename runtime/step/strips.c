/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "runtime/base/cancel.h"
#include "runtime/base/clock.h"
#include "runtime/step/chain.h"
#include "runtime/step/step.h"
#include "runtime/step/zeros.h"

/* Steps run on the rows of a strip as they run on all: with pointers to where the first row of intermediates would lie
 * if all were there. */

/* What a thread keeps from strip to strip. */
typedef struct strip_memory {
    char *start;
    const char *finite; /* a matrix of product `finite_for`, which has no infinity or NaN from this row on, in so many
                         * columns */
    size_t finite_for;
    int64_t finite_from, finite_columns;
} strip_memory;

typedef struct strips_run {
    weft_frame *frame;
    const weft_bound_step *steps;
    const weft_strips *strips;
    size_t number; /* of the first step */
    const volatile bool *cancelled;
    atomic_llong next; /* strip */
    atomic_llong *times;
    pthread_mutex_t mutex;
    weft_status *status; /* the first */
    atomic_bool failed;
} strips_run;

/* Rows [begin, end): indices [first, first + count) of the axis that is cut. */
typedef struct strip {
    int64_t begin, end, first, count;
} strip;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static strip strip_of(const weft_strips *s, int64_t number)
{
    int64_t outer = number / s->parts, part = number % s->parts, units = (s->extent + s->unit - 1) / s->unit;
    int64_t each = units / s->parts, more = units % s->parts;
    strip t = {.first = (part * each + least(part, more)) * s->unit};
    t.count = least((each + (part < more)) * s->unit, s->extent - t.first);
    t.begin = (outer * s->extent + t.first) * s->inner;
    t.end = t.begin + t.count * s->inner;
    return t;
}

/* Product `call` with `count` indices of m or n, from `first` on. */
static void narrow(weft_gemm_call *call, bool by_columns, int64_t first, int64_t count)
{
    if (by_columns) {
        call->b_offset += first * call->b_column;
        call->c_offset += first * call->c_column;
        call->n = count;
    } else {
        call->a_offset += first * call->a_row;
        call->c_offset += first * call->c_row;
        call->m = count;
    }
}

/* Of `count` elements of a row those before the first that no row of the strip has, if row i has none from i + `from`
 * on. */
static int64_t seen(const strip *t, int64_t from, int64_t count)
{
    int64_t last = t->first + t->count - 1;
    if (from >= count - last) return count;
    return last + from > 0 ? last + from : 0;
}

/* The next rows of a strip that are multiplied in one call, after *block: a few tiles of them where what is seen of a
 * row moves with it, so that little more than that is multiplied. Of long rows there are more, as each call reads all
 * of the other operand that they see. */
static bool next_block(const weft_strips *s, const weft_strip_step *step, const strip *t, strip *block)
{
    enum { FEWEST = 28, PARTS = 32 };
    bool moves = step->hidden != INT64_MAX || step->zero != INT64_MAX;
    int64_t done = block->count == 0 ? 0 : block->end - t->begin, left = t->count - done;
    if (!moves) {
        *block = *t;
        return done == 0;
    }
    int64_t rows = s->extent / PARTS > FEWEST ? s->extent / PARTS : FEWEST, count = least(left, rows);
    *block = (strip){t->begin + done, t->begin + done + count, t->first + done, count};
    return count > 0;
}

/* The product of a step in a strip, and `batch`, its extents. */
typedef struct strip_product {
    weft_gemm_call call;
    int64_t batch[WEFT_MAX_RANK + 1];
    int64_t terms; /* the others add nothing if A is zero there and B finite */
} strip_product;

/* From the innermost axis of rows outwards: those inside of the one that is cut stay whole, others have one index. */
static void find_product(const weft_bound_step *bound_step, const weft_strip_step *step, const strip *t,
                         strip_product *p)
{
    weft_gemm_call call = bound_step->gemm;
    int64_t side = step->by_columns ? call.n : call.m;
    int64_t index = step->innermost == call.batch_rank ? t->begin / side : t->begin;
    if (step->cut == call.batch_rank) narrow(&call, step->by_columns, t->begin % side, t->count);
    for (size_t i = call.batch_rank; i-- > 0;) {
        p->batch[i] = call.batch[i];
        if (call.c_batch[i] == 0 || i > step->innermost) continue;
        int64_t at = index % call.batch[i];
        index /= call.batch[i];
        if (step->cut < i) continue;
        call.a_offset += at * call.a_batch[i];
        call.b_offset += at * call.b_batch[i];
        call.c_offset += at * call.c_batch[i];
        p->batch[i] = step->cut == i ? t->count : 1;
    }
    call.batch = p->batch;
    if (step->panels != 0) call.panels = WEFT_PANELS_B;
    if (step->hidden != INT64_MAX) call.n = seen(t, step->hidden, call.n);
    bool reads_terms = step->zero != INT64_MAX && call.panels == WEFT_PANELS_NONE; /* panels have all of them */
    p->terms = reads_terms ? seen(t, step->zero, call.k) : call.k;
    p->call = call;
}

static weft_status *run_part(const strips_run *run, size_t number, const weft_gemm_call *call, void *const *buffers)
{
    const weft_bound_variant *bound = run->frame->bound;
    return bound->variant->methods[WEFT_STEP_GEMM]->multiply(bound, &run->steps[number], call, buffers);
}

static const char *matrix_of(const weft_gemm_call *call, const void *b)
{
    return (const char *)((uintptr_t)b + (uintptr_t)(call->b_offset * (int64_t)weft_dtype_size(call->dtype)));
}

/* Whether terms of the product of step `number` from `terms` on add nothing. Strips of the same matrix look at it once,
 * except for what the ones before had no need to look at. */
static bool add_nothing(strip_memory *memory, size_t number, const strip_product *p, void *const *buffers)
{
    const char *matrix = matrix_of(&p->call, buffers[1]);
    if (p->terms == p->call.k || !weft_zeros_end_rows(&p->call, buffers[0])) return false;
    bool is_same = memory->finite == matrix && memory->finite_for == number;
    if (is_same && memory->finite_from <= p->terms && memory->finite_columns >= p->call.n) return true;
    if (!weft_zeros_meet_numbers(&p->call, p->terms, buffers[1])) return false;
    memory->finite = matrix;
    memory->finite_for = number;
    memory->finite_from = p->terms;
    memory->finite_columns = p->call.n;
    return true;
}

/* What is packed in panels. */
static const char **packed_in(char *panels)
{
    return (const char **)(panels - WEFT_STRIP_ALIGNMENT);
}

/* The panels of the product's B, which are made if those of another matrix are there. */
static void *pack(const strips_run *run, size_t number, const weft_gemm_call *call, const void *b, char *memory)
{
    char *panels = memory + run->strips->steps[number].panels;
    const char **packed = packed_in(panels), *matrix = matrix_of(call, b);
    if (*packed != matrix) {
        run->frame->bound->variant->methods[WEFT_STEP_PACK]->fill(&run->steps[number], call, b, panels);
        *packed = matrix;
    }
    return panels;
}

static weft_status *multiply_rows(const strips_run *run, size_t number, const strip *t, strip_memory *memory,
                                  void *const *buffers)
{
    strip_product p;
    find_product(&run->steps[number], &run->strips->steps[number], t, &p);
    if (p.call.n == 0) return NULL;
    void *operands[] = {buffers[0], buffers[1], buffers[2]};
    if (run->strips->steps[number].panels != 0) operands[1] = pack(run, number, &p.call, buffers[1], memory->start);
    if (add_nothing(memory, number, &p, operands)) {
        weft_gemm_call part = p.call;
        part.k = p.terms;
        WEFT_TRY(run_part(run, number, &part, operands));
        if (!weft_zeros_are_negative(&p.call, operands[2])) return NULL;
    }
    return run_part(run, number, &p.call, operands);
}

static weft_status *multiply(const strips_run *run, size_t number, const strip *t, strip_memory *memory,
                             void *const *buffers)
{
    strip block = {.count = 0};
    while (next_block(run->strips, &run->strips->steps[number], t, &block))
        WEFT_TRY(multiply_rows(run, number, &block, memory, buffers));
    return NULL;
}

/* ---- the blocks that products take ---- */

static size_t part_bytes(const weft_bound_variant *bound, const weft_bound_step *bound_step, const weft_gemm_call *call,
                         size_t most)
{
    size_t bytes = bound->variant->methods[WEFT_STEP_GEMM]->block_bytes(bound, bound_step, call);
    return bytes > most ? bytes : most;
}

/* Of the product of one step, of all strips of an axis: few of them differ in size. */
static size_t product_bytes(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                            const weft_strips *strips, const weft_strip_step *step)
{
    size_t most = 0;
    int64_t count = -1, columns = -1, terms = -1;
    for (int64_t number = 0; number < strips->parts; number++) {
        strip t = strip_of(strips, number), block = {.count = 0};
        while (next_block(strips, step, &t, &block)) {
            strip_product p;
            find_product(bound_step, step, &block, &p);
            if (block.count == count && p.call.n == columns && p.terms == terms) continue;
            count = block.count;
            columns = p.call.n;
            terms = p.terms;
            weft_gemm_call part = p.call;
            part.k = p.terms;
            most = part_bytes(bound, bound_step, &p.call, most);
            if (p.terms < p.call.k) most = part_bytes(bound, bound_step, &part, most);
        }
    }
    return most;
}

static size_t block_bytes(const weft_bound_variant *bound, size_t number)
{
    const weft_bound_step *steps = &bound->steps[number];
    size_t most = 0;
    for (size_t i = 0; i < steps->strips->count; i++) {
        if (steps[i].step->kind != WEFT_STEP_GEMM) continue;
        size_t bytes = product_bytes(bound, &steps[i], steps->strips, &steps->strips->steps[i]);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* ---- running ---- */

static weft_status *run_step(const strips_run *run, size_t number, const strip *t, strip_memory *memory,
                             void *const *buffers)
{
    const weft_bound_step *bound_step = &run->steps[number];
    const weft_strip_step *step = &run->strips->steps[number];
    if (bound_step->step->kind == WEFT_STEP_GEMM) return multiply(run, number, t, memory, buffers);
    weft_error_slot error = {.position = INT64_MAX}; /* steps of a chain check no data */
    const weft_kernel_frame frame = {buffers, bound_step->scalars, &error};
    weft_kernel_function function = weft_kernel_code_function(bound_step->code);
    if (step->rows > 0) function(&frame, t->begin / step->rows, (t->end + step->rows - 1) / step->rows);
    else function(&frame, t->begin * step->iterations, t->end * step->iterations);
    return NULL;
}

static void point(const strips_run *run, char *memory, const strip *t)
{
    const weft_strips *s = run->strips;
    void **pointers = (void **)memory;
    for (size_t i = 0; i < s->count; pointers += run->steps[i++].step->buffer_count) {
        const weft_step *step = run->steps[i].step;
        for (size_t b = 0; b < step->buffer_count; b++)
            for (size_t k = 0; k < s->intermediate_count; k++)
                if (s->intermediates[k] == step->buffers[b])
                    pointers[b] = (void *)((uintptr_t)(memory + s->offsets[k]) - (uintptr_t)(t->begin * s->pitches[k]));
    }
}

static weft_status *run_strip(const strips_run *run, strip_memory *memory, int64_t number)
{
    strip t = strip_of(run->strips, number);
    void *const *pointers = (void *const *)memory->start;
    point(run, memory->start, &t);
    for (size_t i = 0; i < run->strips->count; pointers += run->steps[i++].step->buffer_count) {
        int64_t begin = run->times == NULL ? 0 : weft_clock_now();
        if (weft_frame_is_cancelled(run->frame, run->cancelled))
            return weft_bound_cancelled(run->frame->bound, "in", run->number + i);
        WEFT_TRY(run_step(run, i, &t, memory, pointers));
        if (run->times != NULL) atomic_fetch_add(&run->times[i], weft_clock_now() - begin);
    }
    return NULL;
}

static void fail(strips_run *run, weft_status *status)
{
    pthread_mutex_lock(&run->mutex);
    if (run->status == NULL) run->status = status;
    else weft_status_destroy(status);
    pthread_mutex_unlock(&run->mutex);
    atomic_store(&run->failed, true);
}

/* Has the first strips of a thread pack operands. */
static void forget_packed(const weft_strips *strips, char *memory)
{
    for (size_t i = 0; i < strips->count; i++)
        if (strips->steps[i].panels != 0) *packed_in(memory + strips->steps[i].panels) = NULL;
}

/* Takes strips until there are none left. */
static void run_thread(void *context, int64_t begin, int64_t end)
{
    strips_run *run = context;
    size_t pointers = 0;
    for (size_t i = 0; i < run->strips->count; i++) pointers += run->steps[i].step->buffer_count;
    for (int64_t thread = begin; thread < end; thread++) {
        strip_memory memory = {.start =
                                   (char *)weft_frame_scratch(run->frame, run->steps) + thread * run->strips->bytes};
        memcpy(memory.start, run->frame->pointers + run->steps->first_pointer, pointers * sizeof(void *));
        forget_packed(run->strips, memory.start);
        for (;;) {
            int64_t number = atomic_fetch_add(&run->next, 1);
            if (number >= run->strips->all || atomic_load(&run->failed)) break;
            weft_status *status = run_strip(run, &memory, number);
            if (status != NULL) fail(run, status);
        }
    }
}

static weft_status *run_strips(weft_frame *frame, size_t number, const volatile bool *cancelled, atomic_llong *times)
{
    const weft_bound_variant *bound = frame->bound;
    strips_run run = {.frame = frame,
                      .steps = &bound->steps[number],
                      .strips = bound->steps[number].strips,
                      .number = number,
                      .cancelled = cancelled,
                      .times = times,
                      .mutex = PTHREAD_MUTEX_INITIALIZER};
    weft_pool_run(bound->pool, run.strips->threads, 1, run_thread, &run);
    pthread_mutex_destroy(&run.mutex);
    return run.status;
}

const weft_chain_methods weft_step_chains = {weft_chain_bind, weft_chain_tighten, block_bytes, run_strips};
