/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops in reverse mode that store few iterations: binomial checkpoints, after Griewank and Walther, "Algorithm 799:
 * Revolve", ACM Transactions on Mathematical Software 26, 2000.
 *
 * A stack has what is carried into some iterations. The one to go back through next is computed from that on top, and
 * others on the way are put on the stack. Where l iterations are left from the top on, and s may be stored with it, the
 * next one is min(b(s, r - 1), l - b(s - 1, r - 1)) after it. Here b(s, r) = (s + r)! / (s! r!) is how many iterations
 * s stored ones serve if none is computed more than r times, and r the least with b(s, r) >= l. No other choice
 * computes fewer. The stack has room for one more: the iteration to go back through, which is always put on top.
 */
#include <weft/elementwise.h>
#include <weft/region.h>
#include <weft/shape.h>
#include <string.h>
#include "lib/composite/composite.h"
#include "lib/grad/region.h"

/* What loops carry: the values that the stack has, one after the other, as stacks; then `numbers`, the stack of their
 * iterations, and `top`, its last place. */
typedef struct snapshots {
    weft_gradient_back *back;
    weft_region body;     /* of the loop forth, with the stored values as results */
    size_t *stored;       /* numbers of these among all that are carried */
    weft_tensor index;    /* of the iteration that is gone back through */
    weft_tensor room;     /* how many may be stored, that on top included; of the jump that is traced */
    weft_tensor distance; /* from the top to `index`, and it */
    weft_tensor target;   /* where the jump leads */
} snapshots;

static weft_tensor plus(weft_tensor x, double term)
{
    return weft_add(x, weft_scalar_like(x, term));
}

static size_t stored_count(const snapshots *s)
{
    return s->body.results.count;
}

static weft_tensor load_number(const snapshots *s, const weft_tensor *state)
{
    size_t count = stored_count(s);
    return weft_gradient_load(state[count], state[count + 1], (weft_shape){0, NULL});
}

/* ---- how far to go ---- */

/* r and b(s, r), for the next r. */
static void next_repetition(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    const snapshots *s = context;
    out_next[0] = plus(carried[0], 1);
    out_next[1] = weft_div(weft_mul(carried[1], weft_add(s->room, out_next[0])), out_next[0]);
}

static weft_tensor is_too_few(void *context, const weft_tensor *carried)
{
    const snapshots *s = context;
    return weft_lt(carried[1], s->distance);
}

static weft_tensor jump(snapshots *s)
{
    weft_tensor one = weft_scalar_like(s->room, 1), found[2];
    weft_while(WEFT_TENSORS(weft_scalar_like(one, 0), one), is_too_few, next_repetition, s, found);
    weft_tensor both = weft_add(s->room, found[0]);
    weft_tensor first = weft_div(weft_mul(found[1], found[0]), both);
    weft_tensor fewer = weft_div(weft_mul(first, s->room), plus(both, -1));
    return weft_min(first, weft_sub(s->distance, fewer));
}

/* ---- to the iteration ---- */

static weft_tensor is_before(void *context, const weft_tensor *carried)
{
    const snapshots *s = context;
    return weft_lt(carried[0], s->target);
}

/* The number of an iteration and what is stored of it, for the next one. */
static weft_status *advance_in(const snapshots *s, const weft_tensor *carried, weft_tensor *next)
{
    const weft_gradient_loop *loop = &s->back->loop;
    weft_tensor *arguments = weft_gradient_allocate(loop->arena, s->body.parameters.count, sizeof *arguments);
    if (arguments == NULL) return weft_status_out_of_memory();
    arguments[0] = carried[0];
    for (size_t i = 0; i < stored_count(s); i++) arguments[1 + s->stored[i]] = carried[1 + i];
    memcpy(arguments + 1 + loop->carried, loop->context->inputs.items + loop->carried,
           loop->captured * sizeof *arguments);
    next[0] = plus(carried[0], 1);
    return weft_gradient_inline(&s->body, loop->arena, (weft_tensors){s->body.parameters.count, arguments}, next + 1);
}

static void advance(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    const snapshots *s = context;
    weft_graph_fail(s->back->loop.context->graph, advance_in(s, carried, out_next));
}

static weft_tensor is_short(void *context, const weft_tensor *carried)
{
    const snapshots *s = context;
    return weft_lt(load_number(s, carried), s->index);
}

/* One more on the stack. */
static weft_status *climb_in(snapshots *s, const weft_tensor *state, weft_tensor *next)
{
    const weft_gradient_loop *loop = &s->back->loop;
    size_t count = stored_count(s);
    weft_tensor *values = weft_gradient_allocate(loop->arena, 1 + count, sizeof *values);
    if (values == NULL) return weft_status_out_of_memory();
    weft_tensor top = state[count + 1], place = plus(top, 1);
    values[0] = load_number(s, state);
    s->room = weft_sub(weft_scalar_like(top, (double)s->back->snapshots), top);
    s->distance = plus(weft_sub(s->index, values[0]), 1);
    s->target = weft_add(values[0], jump(s));
    for (size_t i = 0; i < count; i++) {
        weft_tensor like = loop->context->inputs.items[s->stored[i]];
        values[1 + i] = weft_gradient_load(state[i], top, weft_tensor_shape(like));
    }
    weft_while((weft_tensors){1 + count, values}, is_before, advance, s, values);
    for (size_t i = 0; i < count; i++) next[i] = weft_gradient_keep(state[i], place, values[1 + i]);
    next[count] = weft_gradient_keep(state[count], place, values[0]);
    next[count + 1] = place;
    return NULL;
}

static void climb(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    snapshots *s = context;
    weft_graph_fail(s->back->loop.context->graph, climb_in(s, carried, out_next));
}

/* ---- back through it ---- */

static weft_status *go_back_in(snapshots *s, weft_tensor index, const weft_tensor *carried, weft_tensor *next)
{
    weft_gradient_back *back = s->back;
    size_t count = stored_count(s), size = back->loop.carried * sizeof *back->buffers;
    const weft_tensor *state = carried + back->count;
    weft_tensor *reached = next + back->count, *buffers = weft_arena_copy(back->loop.arena, back->buffers, size);
    if (buffers == NULL) return weft_status_out_of_memory();
    s->index = weft_gradient_count_down(back, index);
    weft_while((weft_tensors){count + 2, state}, is_short, climb, s, reached);
    for (size_t i = 0; i < count; i++) back->buffers[s->stored[i]] = reached[i];
    weft_status *status = weft_gradient_go_back(back, s->index, reached[count + 1], carried, next);
    memcpy(back->buffers, buffers, size);
    reached[count + 1] = plus(reached[count + 1], -1);
    return status;
}

static void go_back(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    snapshots *s = context;
    weft_graph_fail(s->back->loop.context->graph, go_back_in(s, index, carried, out_next));
}

/* ---- the whole ---- */

/* The body with those results alone that are marked in `needed`, and those that are needed to compute these. */
static weft_status *reduce_body(snapshots *s, const bool *needed)
{
    const weft_gradient_loop *loop = &s->back->loop;
    weft_tensor *results = weft_gradient_allocate(loop->arena, loop->carried, sizeof *results);
    bool *read = weft_gradient_allocate(loop->arena, loop->body->parameters.count, sizeof *read);
    s->stored = weft_gradient_allocate(loop->arena, loop->carried, sizeof *s->stored);
    if (results == NULL || read == NULL || s->stored == NULL) return weft_status_out_of_memory();
    s->body = *loop->body;
    memcpy(read + 1, needed, loop->carried * sizeof *read);
    for (size_t count = 0, before = SIZE_MAX; count != before;) {
        before = count;
        count = 0;
        for (size_t k = 0; k < loop->carried; k++) {
            if (!read[1 + k]) continue;
            s->stored[count] = k;
            results[count++] = loop->body->results.items[k];
        }
        s->body.results = (weft_tensors){count, results};
        bool *more = weft_gradient_allocate(loop->arena, loop->body->parameters.count, sizeof *more);
        if (more == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_graph_inline_needs(&s->body, more));
        for (size_t k = 0; k < loop->carried; k++) read[1 + k] = read[1 + k] || more[1 + k];
    }
    return NULL;
}

/* A stack with `first` in its first place. No more is stored than there are iterations. */
static weft_tensor stack_of(const snapshots *s, weft_tensor first)
{
    weft_shape shape = weft_tensor_shape(first);
    weft_extent most = weft_extent_min(s->back->loop.trips, weft_extent_of(s->back->snapshots));
    weft_extent extents[WEFT_MAX_RANK] = {weft_extent_plus(most, 1)};
    for (size_t i = 0; i < shape.rank; i++) extents[1 + i] = shape.extents[i];
    weft_tensor empty = weft_zeros(first.graph, weft_tensor_dtype(first), (weft_shape){1 + shape.rank, extents});
    return weft_gradient_keep(empty, weft_scalar(first.graph, WEFT_I64, 0), first);
}

weft_status *weft_gradient_by_snapshots(weft_gradient_back *back, const bool *needed, weft_tensor *out_back)
{
    const weft_gradient_loop *loop = &back->loop;
    snapshots s = {.back = back};
    WEFT_TRY(reduce_body(&s, needed));
    size_t stored = stored_count(&s), count = back->count;
    weft_tensor *initial = weft_gradient_allocate(loop->arena, count + stored + 2, sizeof *initial);
    if (initial == NULL) return weft_status_out_of_memory();
    memcpy(initial, back->initial, count * sizeof *initial);
    for (size_t i = 0; i < stored; i++) initial[count++] = stack_of(&s, loop->context->inputs.items[s.stored[i]]);
    weft_tensor none = weft_scalar(loop->context->graph, WEFT_I64, 0);
    initial[count++] = stack_of(&s, none);
    initial[count++] = none;
    for (size_t k = 0; k < loop->carried; k++) back->buffers[k] = WEFT_NO_TENSOR;
    *out_back = weft_fold(loop->trips, (weft_tensors){count, initial}, go_back, &s, NULL);
    if (weft_tensor_is_valid(*out_back)) weft_composite_fold_as(WEFT_COMPOSED_snapshots_back, NULL, *out_back);
    return NULL;
}

/* ---- rules ---- */

/* The loop itself, in place of the function. */
static weft_gradient_context loop_of(const weft_gradient_context *c)
{
    const weft_node *node = weft_graph_node(c->outputs.items[0].graph, c->outputs.items[0].node);
    weft_gradient_context loop = *c;
    loop.op = node->op;
    loop.attrs = node->attrs;
    return loop;
}

static weft_status *pull(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_gradient_context loop = loop_of(c);
    return weft_gradient_pull_fold_by(&loop, c->attrs[0].integer, out_values);
}

/* The loop with the tangents stores as few. */
static weft_status *push(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_gradient_context loop = loop_of(c);
    WEFT_TRY(weft_gradient_push_loop(&loop, out_values));
    for (size_t k = 0; k < c->outputs.count; k++)
        if (weft_tensor_is_valid(out_values[k]))
            weft_composite_fold_as(WEFT_COMPOSED_fold_with_snapshots, c->attrs, out_values[k]);
    return NULL;
}

static weft_status *pull_back(const weft_gradient_context *c, weft_tensor *out_values)
{
    (void)out_values;
    return weft_gradient_refuse(c, "fold_with_snapshots",
                                "what it computes in reverse mode has no derivative in reverse mode itself; use "
                                "weft_fold_in_segments, or forward mode over reverse mode, as weft_hvp does");
}

static const weft_gradient_row rows[] = {
    {WEFT_COMPOSED_fold_with_snapshots, pull, push, NULL},
    {WEFT_COMPOSED_snapshots_back, pull_back, NULL, NULL},
};

const weft_gradient_family weft_gradient_snapshots = {sizeof rows / sizeof *rows, rows};
