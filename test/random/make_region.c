/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches: their bodies are calls of any kind on what is carried and anything around. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

typedef struct body {
    generator *g;
    size_t count;
    weft_tensor limit; /* of a loop: the most iterations */
    weft_tensor like[3];
} body;

static bool has_shape(weft_tensor x, weft_shape shape)
{
    weft_shape found = weft_tensor_shape(x);
    bool fits = found.rank == shape.rank;
    for (size_t i = 0; i < shape.rank && fits; i++) fits = weft_extent_equal(found.extents[i], shape.extents[i]);
    return fits;
}

static void keep_body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index;
    out_next[0] = carried[0];
}

/* What is in `x`'s place after calls on it and on what is around. */
static weft_tensor change(generator *g, weft_tensor x)
{
    char problem[64];
    size_t before = g->count;
    weft_dtype dtype = weft_tensor_dtype(x);
    weft_shape shape = weft_tensor_shape(x);
    if (draw_chance(g, 8) || g->count + 8 > DRAW_TENSORS) return x;
    if (draw_chance(g, 12)) return weft_fold(weft_extent_of(2), WEFT_TENSORS(x), keep_body, NULL, NULL);
    draw_keep(g, x);
    draw_grow(g, 1 + draw_below(g, 3), problem, sizeof problem);
    weft_tensor made = g->tensors[g->count - 1];
    g->count = before;
    if (has_shape(made, shape)) return weft_tensor_dtype(made) == dtype ? made : weft_cast(made, dtype);
    /* A scalar of it at least. */
    drawn_ints axes = draw_order(g, weft_tensor_rank(made));
    weft_dtype_set kind = 1u << weft_tensor_dtype(made);
    weft_tensor scalar =
        kind & DRAW_ORDERED ? weft_reduce_max(made, INTS(axes), false) : weft_reduce_sum(made, INTS(axes), false);
    scalar = weft_cast(scalar, dtype);
    weft_tensor mixed = dtype == WEFT_BOOL ? weft_xor(x, scalar) : weft_add(x, scalar);
    return weft_tensor_is_valid(mixed) && weft_tensor_rank(mixed) == shape.rank ? mixed : x;
}

static void change_all(body *b, const weft_tensor *carried, weft_tensor *out_next)
{
    size_t before = b->g->count;
    for (size_t k = 0; k < b->count; k++) draw_keep(b->g, carried[k]);
    for (size_t k = 0; k < b->count; k++) out_next[k] = change(b->g, carried[draw_chance(b->g, 6) ? 0 : k]);
    for (size_t k = 0; k < b->count; k++)
        if (!weft_tensor_is_valid(out_next[k]) && !draw_mistake(b->g)) out_next[k] = carried[k];
    b->g->count = before;
}

static void fold_body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    body *b = context;
    size_t before = b->g->count;
    draw_keep(b->g, index);
    change_all(b, carried, out_next);
    b->g->count = before;
}

static size_t carried_by(generator *g, weft_tensor x, weft_tensor *out_carried)
{
    size_t count = 1 + draw_below(g, 3);
    out_carried[0] = x;
    for (size_t i = 1; i < count; i++) out_carried[i] = draw_tensor(g);
    return count;
}

static void keep_results(generator *g, size_t count, const weft_tensor *results)
{
    for (size_t i = 1; i < count; i++) draw_keep(g, results[i]);
}

typedef enum loop_kind { LOOP_PLAIN, LOOP_SEGMENTS, LOOP_SNAPSHOTS } loop_kind;

static weft_tensor trace_loop(generator *g, loop_kind kind, weft_extent trips, body *b, weft_tensors initial,
                              weft_tensor *out)
{
    int64_t size = (int64_t)draw_below(g, 4);
    if (kind == LOOP_SEGMENTS) return weft_fold_in_segments(trips, weft_extent_of(size), initial, fold_body, b, out);
    if (kind == LOOP_SNAPSHOTS) return weft_fold_with_snapshots(trips, 1 + size, initial, fold_body, b, out);
    return weft_fold(trips, initial, fold_body, b, out);
}

static weft_tensor make_loop(generator *g, weft_tensor x, loop_kind kind)
{
    body b = {.g = g};
    weft_tensor carried[3], results[3] = {WEFT_NO_TENSOR, WEFT_NO_TENSOR, WEFT_NO_TENSOR};
    if (g->depth >= 2) return WEFT_NO_TENSOR;
    b.count = carried_by(g, x, carried);
    weft_extent trips = weft_extent_of((int64_t)draw_below(g, 5));
    if (draw_chance(g, 3)) trips = weft_extent_min(g->extents[0], weft_extent_of(3));
    if (draw_mistake(g)) trips = weft_extent_of(-1);
    g->depth++;
    weft_tensors initial = {b.count, carried};
    weft_tensor *out = draw_chance(g, 4) ? NULL : results;
    weft_tensor made = trace_loop(g, kind, trips, &b, initial, out);
    g->depth--;
    if (weft_tensor_is_valid(made)) keep_results(g, b.count, results);
    return made;
}

MAKE(fold)
{
    UNUSED;
    return make_loop(g, x, LOOP_PLAIN);
}

MAKE(fold_in_segments)
{
    UNUSED;
    return make_loop(g, x, LOOP_SEGMENTS);
}

MAKE(fold_with_snapshots)
{
    UNUSED;
    return make_loop(g, x, LOOP_SNAPSHOTS);
}

/* carried[0] counts up to the limit. */
static weft_tensor goes_on(void *context, const weft_tensor *carried)
{
    const body *b = context;
    return weft_lt(carried[0], b->limit);
}

static void while_body(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    body *b = context;
    change_all(b, carried, out_next);
    out_next[0] = weft_add(carried[0], weft_scalar(carried[0].graph, WEFT_I64, 1));
}

static weft_tensor make_search(generator *g, weft_tensor x, bool bounded)
{
    body b = {.g = g};
    weft_tensor carried[4] = {weft_scalar(g->graph, WEFT_I64, 0)}, results[4];
    if (g->depth >= 2) return WEFT_NO_TENSOR;
    b.count = 1 + carried_by(g, x, carried + 1);
    if (b.count > 3) b.count = 3;
    b.limit = weft_scalar(g->graph, WEFT_I64, (double)draw_below(g, 5));
    if (draw_chance(g, 2)) {
        weft_tensor from = draw_fit(g, draw_tensor(g), DRAW_BIT(I64));
        drawn_ints axes = draw_order(g, weft_tensor_rank(from));
        b.limit = weft_remainder(weft_reduce_max(from, INTS(axes), false), weft_scalar(g->graph, WEFT_I64, 4));
    }
    g->depth++;
    weft_tensors initial = {b.count, carried};
    weft_tensor made =
        bounded ? weft_while_at_most(weft_extent_of(draw_mistake(g) ? 1 : 4), initial, goes_on, while_body, &b, results)
                : weft_while(initial, goes_on, while_body, &b, results);
    g->depth--;
    if (weft_tensor_is_valid(made)) keep_results(g, b.count, results);
    return made;
}

MAKE(while)
{
    UNUSED;
    return make_search(g, x, false);
}

MAKE(while_at_most)
{
    UNUSED;
    return make_search(g, x, true);
}

static void branch(void *context, weft_tensor *out_results)
{
    body *b = context;
    change_all(b, b->like, out_results);
    for (size_t k = 1; k < b->count; k++)
        if (draw_chance(b->g, 4) && weft_tensor_dtype(b->like[k]) == weft_tensor_dtype(b->like[0]) &&
            has_shape(b->like[k], weft_tensor_shape(b->like[0])))
            out_results[k] = out_results[0];
}

MAKE(cond)
{
    UNUSED;
    body b = {.g = g};
    weft_tensor results[3];
    if (g->depth >= 2) return WEFT_NO_TENSOR;
    b.count = carried_by(g, x, b.like);
    if (draw_chance(g, 3)) b.like[1] = x;
    weft_tensor from = draw_fit(g, draw_tensor(g), DRAW_ORDERED);
    drawn_ints axes = draw_order(g, weft_tensor_rank(from));
    from = weft_reduce_max(from, INTS(axes), false);
    weft_tensor p = weft_tensor_dtype(from) == WEFT_BOOL ? from : weft_gt(from, draw_filled(from, 1));
    g->depth++;
    weft_tensor made = weft_cond(draw_mistake(g) ? x : p, b.count, branch, branch, &b, results);
    g->depth--;
    if (weft_tensor_is_valid(made)) keep_results(g, b.count, results);
    return made;
}
