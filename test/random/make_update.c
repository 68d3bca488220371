/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of which loops and branches update parts, from themselves and from each other. */
#include "test/random/make.h"

enum { MOST_TABLES = 3, MOST_NEAR = MOST_TABLES + 2 };

/* Tables of one type: what is carried, and what is around. */
typedef struct tables {
    generator *g;
    size_t count, near_count;
    weft_tensor near[MOST_NEAR]; /* the first `count` are carried */
    weft_tensor iteration;       /* a number from 0 on */
    size_t depth, axis;
    int64_t trips;
} tables;

static weft_tensor any_of(const tables *t)
{
    return t->near[draw_below(t->g, t->near_count)];
}

/* A start of `size` elements along the axis: 0, or what iterations and data make. */
static weft_tensor start_in(const tables *t, weft_tensor x, weft_extent size)
{
    weft_tensor zero = weft_scalar(x.graph, WEFT_I64, 0), from = t->iteration;
    if (draw_chance(t->g, 3)) return zero;
    if (draw_chance(t->g, 3)) from = weft_add(from, weft_scalar(x.graph, WEFT_I64, (double)draw_below(t->g, 3)));
    if (draw_chance(t->g, 4) && 1u << weft_tensor_dtype(x) & DRAW_INTEGER) {
        drawn_ints axes = draw_order(t->g, weft_tensor_rank(x));
        from = weft_cast(weft_reduce_max(any_of(t), INTS(axes), false), WEFT_I64);
    }
    weft_extent starts = weft_extent_sub(draw_extent_of(x, t->axis), weft_extent_sub(size, weft_extent_of(1)));
    return weft_remainder(from, weft_extent_tensor(x.graph, starts));
}

/* What has the type of the tables, made of one or two of them. */
static weft_tensor made_of_tables(const tables *t)
{
    weft_tensor x = any_of(t), y = any_of(t);
    weft_dtype_set dtype = 1u << weft_tensor_dtype(x);
    switch (draw_below(t->g, 7)) {
    case 0: return dtype & DRAW_BOOL ? weft_not(x) : weft_neg(x);
    case 1: return weft_flip(x, WEFT_INTS((int64_t)t->axis));
    case 2: return dtype & DRAW_BOOL ? weft_xor(x, y) : weft_add(x, y);
    case 3: return weft_roll(x, WEFT_INTS(1), WEFT_INTS((int64_t)t->axis));
    case 4: return dtype & DRAW_BOOL ? x : weft_cumsum(x, (int64_t)t->axis, false, false);
    default: return x;
    }
}

/* `size` elements along the axis. */
static weft_tensor part_of(const tables *t, weft_tensor x, weft_extent size)
{
    if (!weft_tensor_is_valid(x)) return x;
    weft_tensor start = start_in(t, x, size);
    if (weft_extent_equal(size, draw_extent_of(x, t->axis))) return x;
    if (draw_chance(t->g, 3)) {
        weft_tensor places = weft_add(weft_iota(x.graph, WEFT_I64, (weft_shape){1, &size}, 0), start);
        return weft_gather(x, places, (int64_t)t->axis);
    }
    if (draw_chance(t->g, 2)) return weft_narrow(x, (int64_t)t->axis, weft_extent_of(0), size);
    return weft_dynamic_slice(x, WEFT_TENSORS(start), WEFT_INTS((int64_t)t->axis), (weft_shape){1, &size});
}

static weft_tensor update(const tables *t, weft_tensor base)
{
    static const weft_scatter_mode modes[] = {WEFT_SCATTER_SET, WEFT_SCATTER_SET, WEFT_SCATTER_ADD, WEFT_SCATTER_MUL};
    if (!weft_tensor_is_valid(base)) return base;
    weft_extent size = draw_extent_of(base, t->axis);
    int64_t least = draw_least(size);
    if (least > 0 && !draw_chance(t->g, 2)) size = weft_extent_of(1 + (int64_t)draw_below(t->g, (size_t)least));
    weft_tensor value = part_of(t, made_of_tables(t), size), start = start_in(t, base, size);
    if (draw_chance(t->g, 2))
        return weft_dynamic_update_slice(base, value, WEFT_TENSORS(start), WEFT_INTS((int64_t)t->axis));
    weft_tensor places = weft_add(weft_iota(base.graph, WEFT_I64, (weft_shape){1, &size}, 0), start);
    if (draw_chance(t->g, 4)) places = weft_broadcast(start, (weft_shape){1, &size}); /* all in one place */
    bool any_mode = !(1u << weft_tensor_dtype(base) & DRAW_BOOL);
    return weft_scatter(base, WEFT_TENSORS(places), WEFT_INTS((int64_t)t->axis), value,
                        any_mode ? modes[draw_below(t->g, 4)] : WEFT_SCATTER_SET);
}

static void repeat(const tables *t, weft_tensor *out_results);

/* One iteration: of each table some updates, of itself or of another. */
static void change_tables(const tables *around, weft_tensor iteration, const weft_tensor *carried,
                          weft_tensor *out_next)
{
    tables t = *around;
    generator *g = t.g;
    t.depth++;
    t.iteration = iteration;
    for (size_t k = 0; k < t.count; k++) t.near[k] = carried[k];
    if (t.depth < 3 && draw_chance(g, 5)) repeat(&t, t.near);
    for (size_t k = 0; k < t.count; k++) {
        weft_tensor base = draw_chance(g, 2) ? any_of(&t) : t.near[k];
        if (draw_chance(g, 8)) base = made_of_tables(&t);
        out_next[k] = base;
        for (size_t i = draw_chance(g, 8) ? 0 : draw_chance(g, 3) ? 2 : 1; i > 0; i--)
            out_next[k] = update(&t, out_next[k]);
        if (draw_chance(g, 3)) t.near[k] = out_next[k];
    }
    if (t.depth < 3 && draw_chance(g, 5)) {
        for (size_t k = 0; k < t.count; k++) t.near[k] = out_next[k];
        repeat(&t, out_next);
    }
    if (t.count > 1 && draw_chance(g, 8)) {
        weft_tensor first = out_next[0];
        out_next[0] = out_next[1];
        out_next[1] = first;
    }
}

static void fold_tables(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    change_tables(context, index, carried, out_next);
}

static weft_tensor below_trips(void *context, const weft_tensor *carried)
{
    const tables *t = context;
    return weft_lt(carried[0], weft_scalar(carried[0].graph, WEFT_I64, (double)t->trips));
}

static void while_tables(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    change_tables(context, carried[0], carried + 1, out_next + 1);
    out_next[0] = weft_add(carried[0], weft_scalar(carried[0].graph, WEFT_I64, 1));
}

static void branch_tables(void *context, weft_tensor *out_results)
{
    const tables *t = context;
    if (!draw_chance(t->g, 3)) change_tables(t, t->iteration, t->near, out_results);
    else
        for (size_t k = 0; k < t->count; k++) out_results[k] = t->near[k];
}

/* A loop that carries the tables, or a branch. */
static void repeat(const tables *around, weft_tensor *out_results)
{
    tables t = *around;
    weft_tensor with_count[MOST_TABLES + 1], results[MOST_TABLES + 1];
    t.trips = (int64_t)draw_below(t.g, 4);
    weft_graph *graph = t.near[0].graph;
    switch (draw_below(t.g, 3)) {
    case 0: weft_fold(weft_extent_of(t.trips), (weft_tensors){t.count, t.near}, fold_tables, &t, out_results); break;
    case 1:
        with_count[0] = weft_scalar(graph, WEFT_I64, 0);
        for (size_t k = 0; k < t.count; k++) with_count[k + 1] = t.near[k];
        weft_while((weft_tensors){t.count + 1, with_count}, below_trips, while_tables, &t, results);
        for (size_t k = 0; k < t.count; k++) out_results[k] = results[k + 1];
        break;
    default:
        weft_cond(weft_gt(t.iteration, weft_scalar(graph, WEFT_I64, (double)draw_below(t.g, 2))), t.count,
                  branch_tables, branch_tables, &t, out_results);
    }
}

MAKE(updated_tables)
{
    (void)call;
    tables t = {.g = g,
                .count = draw_chance(g, 2) ? 1 : 1 + draw_below(g, MOST_TABLES),
                .iteration = weft_scalar(g->graph, WEFT_I64, 0)};
    weft_tensor results[MOST_TABLES];
    if (weft_tensor_rank(x) == 0 || g->depth >= 2) return WEFT_NO_TENSOR;
    t.axis = draw_below(g, weft_tensor_rank(x));
    if (draw_least(draw_extent_of(x, t.axis)) == 0) return WEFT_NO_TENSOR;
    t.near_count = t.count + draw_below(g, 3);
    for (size_t k = 0; k < t.near_count; k++) {
        t.near[k] = k == 0 ? x : draw_like(g, weft_tensor_dtype(x), weft_tensor_shape(x), false);
        if (draw_chance(g, 5)) t.near[k] = weft_full(g->graph, weft_tensor_dtype(x), 3, weft_tensor_shape(x));
        /* A mistake may have drawn another shape. */
        if (!weft_tensor_is_valid(t.near[k]) || weft_tensor_rank(t.near[k]) != weft_tensor_rank(x))
            return WEFT_NO_TENSOR;
    }
    if (draw_chance(g, 4)) change_tables(&t, t.iteration, t.near, results);
    else repeat(&t, results);
    for (size_t k = 1; k < t.count; k++) draw_keep(g, results[k]);
    return results[0];
}
