/* SPDX-License-Identifier: Apache-2.0 */
/* Products: of matrices, of tensors, by einsum. */
#include <stdio.h>
#include <string.h>
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

/* Axes of equal extent pair up, to be batch axes or contracted. */
typedef struct pairing {
    drawn_ints batch_a, batch_b, contract_a, contract_b;
} pairing;

static void add_pair(drawn_ints *a, drawn_ints *b, size_t i, size_t j)
{
    a->items[a->count++] = (int64_t)i;
    b->items[b->count++] = (int64_t)j;
}

static pairing pair_axes(generator *g, weft_tensor a, weft_tensor b)
{
    pairing pairs = {.batch_a = {0}};
    bool taken[2 * DRAW_AXES] = {false};
    for (size_t i = 0; i < weft_tensor_rank(a); i++)
        for (size_t j = 0; j < weft_tensor_rank(b); j++) {
            size_t kind = draw_below(g, 4);
            bool fits = weft_extent_equal(draw_extent_of(a, i), draw_extent_of(b, j)) || draw_mistake(g);
            if (taken[j] || kind == 3 || !fits) continue;
            taken[j] = true;
            if (kind == 0) add_pair(&pairs.batch_a, &pairs.batch_b, i, j);
            else add_pair(&pairs.contract_a, &pairs.contract_b, i, j);
            break;
        }
    return pairs;
}

/* Another factor that has some of x's extents. */
static weft_tensor factor(generator *g, weft_tensor x)
{
    drawn_shape shape = {.rank = 0};
    weft_tensor y = draw_tensor(g);
    if (draw_chance(g, 2)) return weft_tensor_dtype(y) == weft_tensor_dtype(x) ? y : weft_cast(y, weft_tensor_dtype(x));
    for (size_t i = 0; i < weft_tensor_rank(x) && shape.rank + 1 < DRAW_AXES; i++)
        if (draw_chance(g, 2)) shape.extents[shape.rank++] = draw_extent_of(x, i);
    if (draw_chance(g, 2)) shape.extents[shape.rank++] = draw_extent(g);
    return draw_like(g, weft_tensor_dtype(x), SHAPE(shape), false);
}

MAKE(dot)
{
    UNUSED;
    weft_tensor y = factor(g, x);
    pairing p = pair_axes(g, x, y);
    return weft_dot(x, y, (weft_dot_axes){INTS(p.batch_a), INTS(p.batch_b), INTS(p.contract_a), INTS(p.contract_b)});
}

MAKE(tensordot)
{
    weft_tensor (*function)(weft_tensor, weft_tensor, weft_ints, weft_ints) =
        (weft_tensor(*)(weft_tensor, weft_tensor, weft_ints, weft_ints))call->function;
    weft_tensor y = factor(g, x);
    pairing p = pair_axes(g, x, y);
    return function(x, y, INTS(p.contract_a), INTS(p.contract_b));
}

MAKE(outer)
{
    weft_tensor y = draw_like(g, weft_tensor_dtype(x), WEFT_SHAPE(draw_extent(g)), false);
    if (draw_chance(g, 3)) y = factor(g, x);
    return ((weft_tensor(*)(weft_tensor, weft_tensor))call->function)(x, y);
}

MAKE(matmul)
{
    UNUSED;
    drawn_shape shape = draw_shape_of(x);
    weft_dtype dtype = weft_tensor_dtype(x);
    if (shape.rank == 0) return WEFT_NO_TENSOR;
    weft_extent k = shape.extents[shape.rank - 1];
    if (draw_chance(g, 3)) return weft_matmul(x, draw_like(g, dtype, WEFT_SHAPE(k), false));
    if (draw_chance(g, 2) || shape.rank < 3)
        return weft_matmul(x, draw_like(g, dtype, WEFT_SHAPE(k, draw_extent(g)), false));
    shape.extents[shape.rank - 2] = k;
    shape.extents[shape.rank - 1] = draw_extent(g);
    if (draw_chance(g, 3)) shape.extents[0] = weft_extent_of(1);
    return weft_matmul(x, draw_like(g, dtype, SHAPE(shape), false));
}

/* ---- einsum ---- */

enum { MOST_OPERANDS = 4, MOST_LABELS = 10 };

typedef struct expression {
    size_t count;
    weft_tensor operands[MOST_OPERANDS];
    drawn_ints labels[MOST_OPERANDS], output;
    weft_extent extents[MOST_LABELS];
    size_t label_count;
} expression;

/* A label for an axis of that extent: one that is there, or a new one. */
static int64_t label_of(generator *g, expression *e, weft_extent extent)
{
    for (size_t i = 0; i < e->label_count; i++)
        if (weft_extent_equal(e->extents[i], extent) && !draw_chance(g, 3)) return (int64_t)i;
    if (e->label_count == MOST_LABELS) return -1;
    e->extents[e->label_count] = extent;
    return (int64_t)e->label_count++;
}

static bool draw_expression(generator *g, weft_tensor x, expression *e)
{
    e->count = 1 + draw_below(g, MOST_OPERANDS);
    for (size_t i = 0; i < e->count; i++) {
        e->operands[i] = i == 0 ? x : factor(g, x);
        e->labels[i].count = weft_tensor_rank(e->operands[i]);
        if (e->labels[i].count > DRAW_AXES || !weft_tensor_is_valid(e->operands[i])) return false;
        for (size_t axis = 0; axis < e->labels[i].count; axis++) {
            int64_t label = label_of(g, e, draw_extent_of(e->operands[i], axis));
            if (label < 0) return false;
            e->labels[i].items[axis] = label;
        }
    }
    drawn_ints order = draw_order(g, e->label_count < DRAW_AXES ? e->label_count : DRAW_AXES);
    for (size_t i = 0; i < order.count && e->output.count < g->most_axes; i++)
        if (draw_chance(g, 2)) e->output.items[e->output.count++] = order.items[i];
    if (e->output.count > 0 && draw_mistake(g)) e->output.items[0] = 11;
    double points = 1;
    for (size_t i = 0; i < e->label_count; i++) points *= (double)draw_most(e->extents[i]);
    return points < 20 * g->budget;
}

static void write_labels(char *text, size_t size, const drawn_ints *labels)
{
    char *end = text + strlen(text);
    for (size_t i = 0; i < labels->count && end + 2 < text + size; i++) *end++ = (char)('a' + labels->items[i]);
    *end = '\0';
}

static weft_einsum_options draw_options(generator *g, const expression *e, int64_t *out_path)
{
    static const weft_einsum_order orders[] = {WEFT_EINSUM_AUTO, WEFT_EINSUM_AUTO, WEFT_EINSUM_LEFT, WEFT_EINSUM_PATH,
                                               WEFT_EINSUM_SSA};
    weft_einsum_options options = {.order = orders[draw_below(g, 5)], .moves = 1 + draw_below(g, 1000), .threads = 1};
    options.minimize = (weft_einsum_minimize)draw_below(g, 5);
    if (options.order == WEFT_EINSUM_PATH || options.order == WEFT_EINSUM_SSA) {
        size_t steps = e->count > 0 ? e->count - 1 : 0;
        for (size_t i = 0; i < steps; i++) {
            size_t left = e->count - i;
            out_path[2 * i] = options.order == WEFT_EINSUM_SSA ? (int64_t)(2 * i) : 0;
            out_path[2 * i + 1] =
                options.order == WEFT_EINSUM_SSA ? (int64_t)(2 * i + 1) : 1 + (int64_t)draw_below(g, left - 1);
        }
        options.path = (weft_ints){2 * steps, out_path};
    }
    if (draw_chance(g, 12)) options.memory_limit = 1 + draw_below(g, 100000);
    return options;
}

MAKE(einsum)
{
    UNUSED;
    expression e = {.count = 0};
    char text[128] = "";
    int64_t path[2 * MOST_OPERANDS];
    if (!draw_expression(g, x, &e)) return WEFT_NO_TENSOR;
    bool dots = draw_chance(g, 6);
    for (size_t i = 0; i < e.count; i++) {
        if (dots && e.labels[i].count > 0) {
            strcat(text, "...");
            e.labels[i].items[0] = e.labels[i].items[e.labels[i].count - 1];
            e.labels[i].count--;
        }
        write_labels(text, sizeof text - 8, &e.labels[i]);
        if (i + 1 < e.count) strcat(text, ",");
    }
    if (!draw_chance(g, 5)) {
        strcat(text, dots ? "->..." : "->");
        write_labels(text, sizeof text, &e.output);
    }
    if (draw_mistake(g)) text[draw_below(g, strlen(text) + 1)] = '-';
    weft_einsum_options options = draw_options(g, &e, path);
    return weft_einsum(text, (weft_tensors){e.count, e.operands}, draw_chance(g, 2) ? NULL : &options);
}

MAKE(einsum_labels)
{
    UNUSED;
    expression e = {.count = 0};
    weft_ints labels[MOST_OPERANDS];
    int64_t path[2 * MOST_OPERANDS];
    if (!draw_expression(g, x, &e)) return WEFT_NO_TENSOR;
    for (size_t i = 0; i < e.count; i++) labels[i] = INTS(e.labels[i]);
    weft_einsum_options options = draw_options(g, &e, path);
    return weft_einsum_labels((weft_tensors){e.count, e.operands}, labels, INTS(e.output),
                              draw_chance(g, 2) ? NULL : &options);
}
