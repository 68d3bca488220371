/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops in reverse mode. A loop of as many iterations goes through them from the last to the first, and carries the
 * cotangents: those of carried values, and sums for what the body has from around it, which go on from those of the
 * uses after the loop. So it is the same for the sums whether a loop is one, or in segments. Each iteration computes
 * the body again from the values that were carried into it; these are stored by a second loop, which is the first one
 * again with a buffer for each of them. Only what the derivative reads is stored. Products are stored too, rather than
 * computed again, where that takes longer and the memory is moderate.
 */
#include <weft/region.h>
#include <weft/shape.h>
#include <string.h>
#include "lib/composite/composite.h"
#include "lib/grad/region.h"
#include "lib/grad/sweep.h"

/* ---- which values take part ---- */

/* Whether results that are used depend on parameter `i` of the body. */
static weft_status *reaches(const weft_gradient_back *p, size_t parameter, bool *out_reaches)
{
    const weft_gradient_loop *loop = &p->loop;
    bool *from = weft_gradient_allocate(loop->arena, loop->body->parameters.count, sizeof *from);
    bool *reached = weft_gradient_allocate(loop->arena, loop->carried, sizeof *reached);
    if (from == NULL || reached == NULL) return weft_status_out_of_memory();
    from[parameter] = true;
    WEFT_TRY(weft_sweep_reach(loop->body, from, reached));
    *out_reaches = false;
    for (size_t k = 0; k < loop->carried; k++) *out_reaches = *out_reaches || (reached[k] && p->used[k]);
    return NULL;
}

/* The first captured value that is the same tensor: the body has one for both. */
static size_t first_captured(const weft_gradient_loop *loop, size_t j)
{
    const weft_tensor *captured = loop->context->inputs.items + loop->carried;
    size_t first = 0;
    while (captured[first].node != captured[j].node || captured[first].output != captured[j].output) first++;
    return first;
}

static weft_status *find_summed(weft_gradient_back *p)
{
    const weft_gradient_loop *loop = &p->loop;
    for (size_t j = 0; j < loop->captured; j++) {
        bool reached = false;
        if (loop->context->needs[loop->carried + j]) WEFT_TRY(reaches(p, 1 + loop->carried + j, &reached));
        if (reached) p->summed[first_captured(loop, j)] = true;
    }
    return NULL;
}

static weft_status *find_used(weft_gradient_back *p)
{
    const weft_gradient_loop *loop = &p->loop;
    for (size_t k = 0; k < loop->carried; k++) p->used[k] = p->active[k] && weft_gradient_given(loop->context, k);
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t k = 0; k < loop->carried; k++) {
            bool reached = false;
            if (p->active[k] && !p->used[k]) WEFT_TRY(reaches(p, 1 + k, &reached));
            p->used[k] = p->used[k] || reached;
            grows = grows || reached;
        }
    }
    return find_summed(p);
}

/* ---- the loop back ---- */

static weft_shape with_count(weft_tensor like, weft_extent count, weft_extent *extents)
{
    weft_shape shape = weft_tensor_shape(like);
    extents[0] = count;
    for (size_t i = 0; i < shape.rank; i++) extents[1 + i] = shape.extents[i];
    return (weft_shape){1 + shape.rank, extents};
}

weft_tensor weft_gradient_load(weft_tensor rows, weft_tensor number, weft_shape shape)
{
    return weft_reshape(weft_dynamic_slice(rows, WEFT_TENSORS(number), WEFT_INTS(0), WEFT_SHAPE(1)), shape);
}

weft_tensor weft_gradient_keep(weft_tensor rows, weft_tensor number, weft_tensor value)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_tensor row = weft_reshape(value, with_count(value, weft_extent_of(1), extents));
    return weft_dynamic_update_slice(rows, row, WEFT_TENSORS(number), WEFT_INTS(0));
}

/* What is stored in buffer `k`. */
static weft_tensor like_of(const weft_gradient_back *p, size_t k)
{
    return k < p->loop.carried ? p->loop.context->inputs.items[k] : p->body.results.items[k];
}

/* A carried value at a row of its buffer; without one, where nothing reads it, a value of its type that is no other. */
static weft_tensor carried_at(const weft_gradient_back *p, size_t k, weft_tensor row)
{
    weft_tensor like = p->loop.context->inputs.items[k];
    if (p->buffers[k].graph == NULL) return weft_trace_barrier(WEFT_TENSORS(weft_gradient_zeros(like)), false);
    return weft_gradient_load(p->buffers[k], row, weft_tensor_shape(like));
}

/* Parameters of the body at iteration `index`, from row `row` of the buffers. */
static weft_tensor *arguments_at(const weft_gradient_back *p, weft_tensor index, weft_tensor row)
{
    const weft_gradient_loop *loop = &p->loop;
    const weft_tensor *inputs = loop->context->inputs.items;
    bool *needed = weft_gradient_allocate(loop->arena, loop->body->parameters.count, sizeof *needed);
    weft_tensor *made = weft_gradient_allocate(loop->arena, loop->body->parameters.count, sizeof *made);
    if (needed == NULL || made == NULL) return NULL;
    weft_status *status = weft_graph_inline_needs(loop->body, needed);
    if (!weft_gradient_well(loop->context->graph, status)) return NULL;
    made[0] = index;
    for (size_t k = 0; k < loop->carried; k++)
        if (needed[1 + k] || p->used[k]) made[1 + k] = carried_at(p, k, row);
    memcpy(made + 1 + loop->carried, inputs + loop->carried, loop->captured * sizeof *made);
    return made;
}

/* Puts what is stored of products, at row `row`, in their place: `values` are made again. */
static weft_status *load_products(const weft_gradient_back *p, weft_tensors products, weft_tensor row, size_t count,
                                  weft_tensor *values)
{
    weft_graph *graph = weft_graph_current(p->loop.context->graph);
    weft_tensor *loaded = weft_gradient_allocate(p->loop.arena, products.count, sizeof *loaded);
    if (loaded == NULL) return weft_status_out_of_memory();
    if (!weft_trace_enter(graph, "grad", count, values)) return NULL;
    for (size_t i = 0; i < products.count; i++) {
        const weft_tensor like = products.items[i];
        loaded[i] = weft_gradient_load(p->buffers[p->loop.carried + i], row, weft_tensor_shape(like));
    }
    if (weft_graph_error(weft_graph_root(graph)) != NULL) return NULL;
    return weft_graph_repeat(graph, 0, products, (weft_tensors){products.count, loaded}, (weft_tensors){count, values},
                             values);
}

/* The cotangents before the iteration from those after it: `next` from `carried`. */
static weft_status *pull_body(const weft_gradient_back *p, weft_tensor *arguments, weft_tensor row,
                              const weft_tensor *carried, weft_tensor *next)
{
    const weft_gradient_loop *loop = &p->loop;
    size_t parameters = loop->body->parameters.count, count = 0, used = 0;
    size_t products = p->body.results.count - loop->carried;
    weft_tensor *results = weft_gradient_allocate(loop->arena, p->body.results.count, sizeof *results);
    weft_tensor *given = weft_gradient_allocate(loop->arena, loop->carried, sizeof *given);
    weft_tensor *wrt = weft_gradient_allocate(loop->arena, parameters, sizeof *wrt);
    weft_tensor *sums = weft_gradient_allocate(loop->arena, parameters, sizeof *sums);
    if (results == NULL || given == NULL || wrt == NULL || sums == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_gradient_inline(&p->body, loop->arena, (weft_tensors){parameters, arguments}, results));
    for (size_t k = 0; k < loop->carried; k++) {
        if (!p->used[k]) continue;
        given[k] = carried[used++];
        wrt[count++] = arguments[1 + k];
    }
    for (size_t j = 0, at = used; j < loop->captured; j++) {
        if (!p->summed[j]) continue;
        wrt[count] = arguments[1 + loop->carried + j];
        sums[count++] = carried[at++];
    }
    if (!weft_trace_enter(weft_graph_current(loop->context->graph), "grad", count, wrt)) return NULL;
    WEFT_TRY(weft_gradient_pull((weft_tensors){loop->carried, results}, (weft_tensors){loop->carried, given},
                                (weft_tensors){count, wrt}, sums, next));
    for (size_t i = 0; i < count; i++)
        if (next[i].graph == NULL) next[i] = weft_gradient_zeros(wrt[i]);
    if (products == 0) return NULL;
    return load_products(p, (weft_tensors){products, results + loop->carried}, row, count, next);
}

weft_status *weft_gradient_go_back(const weft_gradient_back *p, weft_tensor index, weft_tensor row,
                                   const weft_tensor *carried, weft_tensor *next)
{
    weft_tensor *arguments = arguments_at(p, index, row);
    if (weft_graph_error(weft_graph_root(p->loop.context->graph)) != NULL) return NULL;
    return arguments == NULL ? weft_status_out_of_memory() : pull_body(p, arguments, row, carried, next);
}

weft_tensor weft_gradient_count_down(const weft_gradient_back *p, weft_tensor index)
{
    weft_extent last = weft_extent_plus(p->loop.trips, -1);
    return weft_sub(weft_extent_tensor(p->loop.context->graph, last), index);
}

static void trace_back(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_gradient_back *p = context;
    weft_tensor number = weft_gradient_count_down(p, index);
    weft_graph_fail(p->loop.context->graph, weft_gradient_go_back(p, number, number, carried, out_next));
}

/* ---- the loop that stores ---- */

typedef struct store_fold {
    const weft_gradient_back *pull;
    const bool *stored; /* by carried value, then by product */
} store_fold;

static weft_status *store_body(const store_fold *s, weft_tensor index, const weft_tensor *carried, weft_tensor *next)
{
    const weft_gradient_loop *loop = &s->pull->loop;
    size_t parameters = loop->body->parameters.count, at = loop->carried, count = s->pull->body.results.count;
    weft_tensor *arguments = weft_gradient_allocate(loop->arena, parameters, sizeof *arguments);
    weft_tensor *results = weft_gradient_allocate(loop->arena, count, sizeof *results);
    if (arguments == NULL || results == NULL) return weft_status_out_of_memory();
    arguments[0] = index;
    memcpy(arguments + 1, carried, loop->carried * sizeof *arguments);
    memcpy(arguments + 1 + loop->carried, loop->context->inputs.items + loop->carried,
           loop->captured * sizeof *arguments);
    WEFT_TRY(weft_gradient_inline(&s->pull->body, loop->arena, (weft_tensors){parameters, arguments}, results));
    memcpy(next, results, loop->carried * sizeof *next);
    for (size_t k = 0; k < count; k++) {
        if (!s->stored[k]) continue;
        next[at] = weft_gradient_keep(carried[at], index, k < loop->carried ? carried[k] : results[k]);
        at++;
    }
    return NULL;
}

static void trace_store(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const store_fold *s = context;
    weft_graph_fail(s->pull->loop.context->graph, store_body(s, index, carried, out_next));
}

/* Fills `out_buffers` for the values that are stored. */
static weft_status *store(const weft_gradient_back *p, const bool *stored, weft_tensor *out_buffers)
{
    const weft_gradient_loop *loop = &p->loop;
    store_fold s = {p, stored};
    size_t count = loop->carried, most = p->body.results.count;
    weft_tensor *initial = weft_gradient_allocate(loop->arena, count + most, sizeof *initial);
    weft_tensor *results = weft_gradient_allocate(loop->arena, count + most, sizeof *results);
    if (initial == NULL || results == NULL) return weft_status_out_of_memory();
    memcpy(initial, loop->context->inputs.items, loop->carried * sizeof *initial);
    for (size_t k = 0; k < most; k++) {
        weft_extent extents[WEFT_MAX_RANK + 1];
        if (!stored[k]) continue;
        weft_tensor like = like_of(p, k);
        initial[count++] =
            weft_zeros(loop->context->graph, weft_tensor_dtype(like), with_count(like, loop->trips, extents));
    }
    if (count == loop->carried) return NULL;
    weft_fold(loop->trips, (weft_tensors){count, initial}, trace_store, &s, results);
    for (size_t k = 0, at = loop->carried; k < most; k++)
        if (stored[k]) out_buffers[k] = results[at++];
    return NULL;
}

/* ---- the whole ---- */

/* With few iterations stored at a time only what is carried is. */
static weft_status *find_products(weft_gradient_back *p)
{
    const weft_gradient_loop *loop = &p->loop;
    weft_tensor *results =
        weft_gradient_allocate(loop->arena, loop->carried + loop->body->graph->node_count, sizeof *results);
    size_t count = 0;
    if (results == NULL) return weft_status_out_of_memory();
    memcpy(results, loop->body->results.items, loop->carried * sizeof *results);
    if (p->snapshots == 0) WEFT_TRY(weft_gradient_choose_products(loop, &count, results + loop->carried));
    p->body = *loop->body;
    p->body.results = (weft_tensors){loop->carried + count, results};
    return NULL;
}

static weft_status *begin(weft_gradient_back *p, const weft_gradient_context *c, weft_arena *arena)
{
    p->loop = weft_gradient_loop_of(c, arena);
    WEFT_TRY(find_products(p));
    size_t most = p->body.results.count + p->loop.captured;
    p->active = weft_gradient_allocate(arena, most, sizeof *p->active);
    p->used = weft_gradient_allocate(arena, most, sizeof *p->used);
    p->summed = weft_gradient_allocate(arena, most, sizeof *p->summed);
    p->buffers = weft_gradient_allocate(arena, most, sizeof *p->buffers);
    p->initial = weft_gradient_allocate(arena, most, sizeof *p->initial);
    if (p->active == NULL || p->used == NULL || p->summed == NULL || p->buffers == NULL || p->initial == NULL)
        return weft_status_out_of_memory();
    WEFT_TRY(weft_gradient_loop_active(&p->loop, c->needs, p->active));
    return find_used(p);
}

/* What the uses after the loop add to the cotangent of an operand. */
static weft_tensor sum_before(const weft_gradient_back *p, size_t i)
{
    return p->sums[i].graph == NULL ? weft_gradient_zeros(p->loop.context->inputs.items[i]) : p->sums[i];
}

static void fill_initial(weft_gradient_back *p)
{
    const weft_gradient_context *c = p->loop.context;
    for (size_t k = 0; k < p->loop.carried; k++) {
        if (!p->used[k]) continue;
        p->initial[p->count++] =
            weft_gradient_given(c, k) ? c->given.items[k] : weft_gradient_zeros(c->inputs.items[k]);
    }
    for (size_t j = 0; j < p->loop.captured; j++)
        if (p->summed[j]) p->initial[p->count++] = sum_before(p, p->loop.carried + j);
}

/* Stands for buffer `k` until it is known whether it is needed. */
static weft_tensor placeholder(const weft_gradient_back *p, size_t k)
{
    weft_extent extents[WEFT_MAX_RANK + 1];
    weft_tensor like = like_of(p, k);
    weft_shape shape = with_count(like, p->loop.trips, extents);
    weft_tensor zeros = weft_zeros(p->loop.context->graph, weft_tensor_dtype(like), shape);
    return weft_trace_barrier(WEFT_TENSORS(zeros), false);
}

/* Which buffer the operand stands for; their number for none. */
static size_t placed(const weft_gradient_back *p, weft_tensor operand)
{
    size_t k = 0;
    while (k < p->body.results.count && p->buffers[k].node != operand.node) k++;
    return k;
}

/* The operands and parameters of the loop back that its results need, in place of all; which buffers are stored. */
static weft_status *drop_unread(const weft_gradient_back *p, weft_tensors *inputs, weft_region *body, bool *out_stored)
{
    weft_arena *arena = p->loop.arena;
    bool *needed = weft_gradient_allocate(arena, body->parameters.count, sizeof *needed);
    weft_tensor *operands = weft_gradient_allocate(arena, inputs->count, sizeof *operands);
    weft_tensor *parameters = weft_gradient_allocate(arena, body->parameters.count, sizeof *parameters);
    if (needed == NULL || operands == NULL || parameters == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_graph_inline_needs(body, needed));
    size_t count = 0;
    parameters[0] = body->parameters.items[0];
    for (size_t i = 0; i < inputs->count; i++) {
        size_t k = i < p->count ? p->body.results.count : placed(p, inputs->items[i]);
        if (i >= p->count && !needed[1 + i]) continue;
        if (k < p->body.results.count) out_stored[k] = true;
        operands[count++] = inputs->items[i];
        parameters[count] = body->parameters.items[1 + i];
    }
    *inputs = (weft_tensors){count, operands};
    body->parameters = (weft_tensors){1 + count, parameters};
    return NULL;
}

static bool any(size_t count, const bool *marks)
{
    return count > 0 && memchr(marks, true, count * sizeof *marks) != NULL;
}

/* The loop back again, over buffers that are stored in place of what stands for them. */
static weft_status *fill_buffers(weft_gradient_back *p, weft_tensor *back)
{
    const weft_gradient_loop *loop = &p->loop;
    weft_node node = *weft_graph_node(back->graph, back->node);
    weft_attr attrs[3] = {node.attrs[0], node.attrs[1], node.attrs[2]};
    size_t buffer_count = p->body.results.count;
    bool *stored = weft_gradient_allocate(loop->arena, buffer_count, sizeof *stored);
    weft_tensor *buffers = weft_gradient_allocate(loop->arena, buffer_count, sizeof *buffers);
    weft_tensor *inputs = weft_gradient_allocate(loop->arena, node.input_count, sizeof *inputs);
    if (stored == NULL || buffers == NULL || inputs == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node.input_count; i++)
        inputs[i] = (weft_tensor){back->graph, node.inputs[i].node, node.inputs[i].output};
    weft_tensors operands = {node.input_count, inputs};
    WEFT_TRY(drop_unread(p, &operands, &attrs[1].region, stored));
    if (p->snapshots > 0 && any(loop->carried, stored)) return weft_gradient_by_snapshots(p, stored, back);
    WEFT_TRY(store(p, stored, buffers));
    memcpy(inputs, operands.items, operands.count * sizeof *inputs);
    for (size_t i = p->count; i < operands.count; i++) {
        size_t k = placed(p, inputs[i]);
        if (k < buffer_count) inputs[i] = buffers[k];
    }
    *back = weft_graph_trace(back->graph, node.op, (weft_tensors){operands.count, inputs}, attrs);
    return NULL;
}

static weft_status *pull_in(weft_gradient_back *p, weft_tensor *out_values)
{
    const weft_gradient_context *c = p->loop.context;
    size_t at = 0;
    for (size_t k = 0; k < p->loop.carried; k++)
        if (weft_tensor_rank(c->inputs.items[k]) == WEFT_MAX_RANK)
            return weft_gradient_refuse(c, "fold", "carried value %zu has rank %d, and its values have no tensor", k,
                                        WEFT_MAX_RANK);
    for (size_t k = 0; k < p->body.results.count; k++) p->buffers[k] = placeholder(p, k);
    fill_initial(p);
    if (p->count == 0) return NULL;
    weft_tensor back = weft_fold(p->loop.trips, (weft_tensors){p->count, p->initial}, trace_back, p, NULL);
    if (weft_tensor_is_valid(back)) WEFT_TRY(fill_buffers(p, &back));
    if (!weft_tensor_is_valid(back)) return NULL;
    for (size_t k = 0; k < p->loop.carried; k++)
        if (p->used[k]) out_values[k] = (weft_tensor){back.graph, back.node, (uint32_t)at++};
    for (size_t j = 0; j < p->loop.captured; j++)
        if (p->summed[j]) out_values[p->loop.carried + j] = (weft_tensor){back.graph, back.node, (uint32_t)at++};
    return NULL;
}

weft_status *weft_gradient_pull_fold(const weft_gradient_context *context, weft_tensor *out_values)
{
    return weft_gradient_pull_fold_by(context, 0, out_values);
}

weft_status *weft_gradient_pull_fold_by(const weft_gradient_context *context, int64_t snapshots,
                                        weft_tensor *out_values)
{
    weft_arena arena;
    const weft_gradient_sums *sums = context->host;
    weft_gradient_back p = {.snapshots = snapshots, .sums = sums->values};
    weft_arena_init(&arena, context->graph->allocator);
    weft_status *status = begin(&p, context, &arena);
    if (status == NULL) status = pull_in(&p, out_values);
    for (size_t j = 0; j < p.loop.captured && status == NULL; j++)
        sums->continued[p.loop.carried + j] = out_values[p.loop.carried + j].graph != NULL;
    weft_arena_finish(&arena);
    return status;
}
