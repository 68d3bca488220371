/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of branches, and of loops in forward mode. */
#include "lib/grad/region.h"
#include <weft/region.h>
#include <string.h>
#include "lib/grad/sweep.h"
#include "lib/trace/trace.h"

void *weft_gradient_allocate(weft_arena *arena, size_t count, size_t size)
{
    void *items = weft_arena_allocate(arena, (count + 1) * size);
    return items == NULL ? NULL : memset(items, 0, (count + 1) * size);
}

bool weft_gradient_well(weft_graph *graph, weft_status *status)
{
    weft_graph_fail(graph, status);
    return weft_graph_error(weft_graph_root(graph)) == NULL;
}

weft_status *weft_gradient_inline(const weft_region *region, weft_arena *arena, weft_tensors arguments,
                                  weft_tensor *out_results)
{
    weft_graph *graph = weft_graph_current(weft_graph_root(region->graph));
    bool *needed = weft_gradient_allocate(arena, arguments.count, sizeof *needed);
    weft_tensor *entered = weft_arena_copy(arena, arguments.items, arguments.count * sizeof *entered);
    if (needed == NULL || entered == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_graph_inline_needs(region, needed));
    for (size_t i = 0; i < arguments.count; i++)
        if (needed[i] && !weft_trace_enter(graph, "grad", 1, &entered[i])) return NULL;
    return weft_graph_inline(region, graph, (weft_tensors){arguments.count, entered}, out_results);
}

/* ---- loops ---- */

weft_gradient_loop weft_gradient_loop_of(const weft_gradient_context *context, weft_arena *arena)
{
    size_t carried = context->outputs.count;
    weft_gradient_loop loop = {context, arena, {0}, NULL, carried, context->inputs.count - carried};
    if (weft_op_id_of(context->op) == WEFT_OP_fold) loop.trips = context->attrs[0].extents.extents[0];
    loop.body = &context->attrs[weft_op_id_of(context->op) == WEFT_OP_fold ? 1 : 2].region;
    return loop;
}

weft_status *weft_gradient_loop_active(const weft_gradient_loop *loop, const bool *active, bool *out_carried)
{
    size_t skipped = loop->body->parameters.count - loop->carried - loop->captured; /* an index */
    bool *from = weft_gradient_allocate(loop->arena, loop->body->parameters.count, sizeof *from);
    bool *reached = weft_gradient_allocate(loop->arena, loop->carried, sizeof *reached);
    if (from == NULL || reached == NULL) return weft_status_out_of_memory();
    memcpy(from + skipped, active, (loop->carried + loop->captured) * sizeof *from);
    for (bool grows = true; grows;) {
        WEFT_TRY(weft_sweep_reach(loop->body, from, reached));
        grows = false;
        for (size_t k = 0; k < loop->carried; k++) {
            grows = grows || (reached[k] && !from[skipped + k]);
            from[skipped + k] = from[skipped + k] || reached[k];
        }
    }
    memcpy(out_carried, from + skipped, loop->carried * sizeof *out_carried);
    return NULL;
}

/* ---- loops in forward mode: they carry the tangents along ---- */

typedef struct push_loop {
    weft_gradient_loop loop;
    const weft_region *condition; /* of a while */
    bool *active;                 /* by carried value */
    weft_tensor *initial;         /* carried values, then the tangents of the active ones */
    size_t count;
} push_loop;

/* Parameters of the body: `index` if there is one, carried values, captured ones. */
static weft_tensors arguments_of(const push_loop *p, const weft_tensor *index, const weft_tensor *carried)
{
    const weft_gradient_loop *loop = &p->loop;
    size_t skipped = index == NULL ? 0 : 1;
    weft_tensor *made = weft_gradient_allocate(loop->arena, skipped + loop->carried + loop->captured, sizeof *made);
    if (made == NULL) return (weft_tensors){0, NULL};
    if (index != NULL) made[0] = *index;
    memcpy(made + skipped, carried, loop->carried * sizeof *made);
    memcpy(made + skipped + loop->carried, loop->context->inputs.items + loop->carried, loop->captured * sizeof *made);
    return (weft_tensors){skipped + loop->carried + loop->captured, made};
}

/* Tangents of the results: those of carried values are at hand, others are given around the loop. */
static weft_status *push_body(const push_loop *p, const weft_tensor *carried, weft_tensor *next)
{
    const weft_gradient_loop *loop = &p->loop;
    const weft_gradient_context *c = loop->context;
    size_t count = 0, at = loop->carried;
    weft_tensor *wrt = weft_gradient_allocate(loop->arena, loop->carried + loop->captured, sizeof *wrt);
    weft_tensor *tangents = weft_gradient_allocate(loop->arena, loop->carried + loop->captured, sizeof *tangents);
    weft_tensor *made = weft_gradient_allocate(loop->arena, loop->carried, sizeof *made);
    if (wrt == NULL || tangents == NULL || made == NULL) return weft_status_out_of_memory();
    for (size_t k = 0; k < loop->carried; k++) {
        if (!p->active[k]) continue;
        wrt[count] = carried[k];
        tangents[count++] = carried[at++];
    }
    for (size_t j = loop->carried; j < c->inputs.count; j++) {
        if (!weft_gradient_given(c, j)) continue;
        wrt[count] = c->inputs.items[j];
        tangents[count++] = c->given.items[j];
        if (!weft_trace_enter(weft_graph_current(c->graph), "grad", 1, &wrt[count - 1])) return NULL;
    }
    WEFT_TRY(weft_gradient_push((weft_tensors){loop->carried, next}, (weft_tensors){count, wrt},
                                (weft_tensors){count, tangents}, made));
    at = loop->carried;
    for (size_t k = 0; k < loop->carried; k++)
        if (p->active[k]) next[at++] = made[k].graph == NULL ? weft_gradient_zeros(next[k]) : made[k];
    return NULL;
}

static void trace_push(const push_loop *p, const weft_tensor *index, const weft_tensor *carried, weft_tensor *next)
{
    weft_tensors arguments = arguments_of(p, index, carried);
    weft_graph *graph = p->loop.context->graph;
    weft_status *status = arguments.items == NULL ? weft_status_out_of_memory()
                                                  : weft_gradient_inline(p->loop.body, p->loop.arena, arguments, next);
    if (weft_gradient_well(graph, status)) weft_graph_fail(graph, push_body(p, carried, next));
}

static void push_fold_body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    trace_push(context, &index, carried, out_next);
}

static void push_while_body(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    trace_push(context, NULL, carried, out_next);
}

static weft_tensor push_condition(void *context, const weft_tensor *carried)
{
    const push_loop *p = context;
    weft_tensor again = WEFT_NO_TENSOR;
    weft_tensors arguments = arguments_of(p, NULL, carried);
    weft_graph *graph = p->loop.context->graph;
    weft_graph_fail(graph, arguments.items == NULL
                               ? weft_status_out_of_memory()
                               : weft_gradient_inline(p->condition, p->loop.arena, arguments, &again));
    return again;
}

static weft_status *begin_push(push_loop *p, const weft_gradient_context *c, weft_arena *arena)
{
    p->loop = weft_gradient_loop_of(c, arena);
    p->count = p->loop.carried;
    bool *given = weft_gradient_allocate(arena, c->inputs.count, sizeof *given);
    p->active = weft_gradient_allocate(arena, p->loop.carried, sizeof *p->active);
    p->initial = weft_gradient_allocate(arena, 2 * p->loop.carried, sizeof *p->initial);
    if (given == NULL || p->active == NULL || p->initial == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < c->inputs.count; i++) given[i] = weft_gradient_given(c, i);
    WEFT_TRY(weft_gradient_loop_active(&p->loop, given, p->active));
    memcpy(p->initial, c->inputs.items, p->loop.carried * sizeof *p->initial);
    for (size_t k = 0; k < p->loop.carried; k++) {
        if (!p->active[k]) continue;
        p->initial[p->count++] = given[k] ? c->given.items[k] : weft_gradient_zeros(c->inputs.items[k]);
    }
    return NULL;
}

static weft_status *push_loop_in(const weft_gradient_context *c, weft_arena *arena, weft_tensor *out_values)
{
    push_loop p = {.condition = NULL};
    WEFT_TRY(begin_push(&p, c, arena));
    weft_tensor *results = weft_gradient_allocate(arena, p.count, sizeof *results);
    if (results == NULL) return weft_status_out_of_memory();
    weft_tensors initial = {p.count, p.initial};
    if (weft_op_id_of(c->op) == WEFT_OP_fold) {
        weft_fold(p.loop.trips, initial, push_fold_body, &p, results);
    } else {
        p.condition = &c->attrs[1].region;
        weft_while(initial, push_condition, push_while_body, &p, results);
    }
    for (size_t k = 0, at = p.loop.carried; k < p.loop.carried; k++)
        if (p.active[k]) out_values[k] = results[at++];
    return NULL;
}

weft_status *weft_gradient_push_loop(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_arena arena;
    weft_arena_init(&arena, c->graph->allocator);
    weft_status *status = push_loop_in(c, &arena, out_values);
    weft_arena_finish(&arena);
    return status;
}

/* ---- branches: the derivative of the one that is taken, which computes it again ---- */

typedef struct branch_pair {
    const weft_gradient_context *context;
    weft_arena *arena;
    bool reverse;
    /* What has a derivative: inputs that are needed, or outputs; and their numbers. */
    size_t count;
    weft_tensor *like;
    size_t *places;
} branch_pair;

/* The operands that a derivative goes by, as the branch knows them; *out_tangents in forward mode. */
static weft_status *enter_operands(const branch_pair *b, weft_tensors *out_wrt, weft_tensors *out_tangents)
{
    const weft_gradient_context *c = b->context;
    weft_tensor *wrt = weft_gradient_allocate(b->arena, c->inputs.count, sizeof *wrt);
    weft_tensor *tangents = weft_gradient_allocate(b->arena, c->inputs.count, sizeof *tangents);
    if (wrt == NULL || tangents == NULL) return weft_status_out_of_memory();
    size_t count = 0;
    for (size_t i = 1; i < c->inputs.count; i++) {
        if (!(b->reverse ? c->needs[i] : weft_gradient_given(c, i))) continue;
        wrt[count] = c->inputs.items[i];
        if (!b->reverse) tangents[count] = c->given.items[i];
        if (!weft_trace_enter(weft_graph_current(c->graph), "grad", 1, &wrt[count++])) break;
    }
    *out_wrt = (weft_tensors){count, wrt};
    *out_tangents = (weft_tensors){count, tangents};
    return NULL;
}

static weft_status *pull_branch(const branch_pair *b, weft_tensor *values, weft_tensors wrt, weft_tensor *made)
{
    const weft_gradient_context *c = b->context;
    WEFT_TRY(weft_gradient_pull((weft_tensors){c->outputs.count, values}, c->given, wrt, NULL, made));
    weft_gradient_drop_repeated(wrt, made);
    return NULL;
}

static weft_status *push_branch(const branch_pair *b, weft_tensor *values, weft_tensors wrt, weft_tensors tangents,
                                weft_tensor *made)
{
    for (size_t i = 0; i < b->count; i++) values[i] = values[b->places[i]];
    return weft_gradient_push((weft_tensors){b->count, values}, wrt, tangents, made);
}

/* Of the branch number `part`: what is missing is zero. */
static weft_status *differentiate_branch(const branch_pair *b, size_t part, weft_tensor *out_results)
{
    const weft_gradient_context *c = b->context;
    weft_tensors operands = {c->inputs.count - 1, c->inputs.items + 1}, wrt, tangents;
    weft_tensor *values = weft_gradient_allocate(b->arena, c->outputs.count, sizeof *values);
    weft_tensor *made = weft_gradient_allocate(b->arena, c->inputs.count + c->outputs.count, sizeof *made);
    if (values == NULL || made == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_gradient_inline(&c->attrs[part].region, b->arena, operands, values));
    WEFT_TRY(enter_operands(b, &wrt, &tangents));
    if (weft_graph_error(weft_graph_root(c->graph)) != NULL) return NULL;
    WEFT_TRY(b->reverse ? pull_branch(b, values, wrt, made) : push_branch(b, values, wrt, tangents, made));
    for (size_t i = 0; i < b->count; i++)
        out_results[i] = made[i].graph == NULL ? weft_gradient_zeros(b->like[i]) : made[i];
    return NULL;
}

static void then_branch(void *context, weft_tensor *out_results)
{
    const branch_pair *b = context;
    weft_graph_fail(b->context->graph, differentiate_branch(b, 0, out_results));
}

static void else_branch(void *context, weft_tensor *out_results)
{
    const branch_pair *b = context;
    weft_graph_fail(b->context->graph, differentiate_branch(b, 1, out_results));
}

static weft_status *begin_branches(branch_pair *b, size_t most)
{
    b->like = weft_gradient_allocate(b->arena, most, sizeof *b->like);
    b->places = weft_gradient_allocate(b->arena, most, sizeof *b->places);
    if (b->like == NULL || b->places == NULL) return weft_status_out_of_memory();
    weft_tensors all = b->reverse ? b->context->inputs : b->context->outputs;
    for (size_t i = 0; i < all.count; i++) {
        bool takes = b->reverse ? b->context->needs[i] : weft_gradient_has(weft_tensor_dtype(all.items[i]));
        if (takes) b->places[b->count] = i;
        if (takes) b->like[b->count++] = all.items[i];
    }
    return NULL;
}

static weft_status *cond_in(branch_pair *b, weft_tensor *out_values)
{
    size_t most = b->context->inputs.count + b->context->outputs.count;
    weft_tensor *results = weft_gradient_allocate(b->arena, most, sizeof *results);
    if (results == NULL) return weft_status_out_of_memory();
    WEFT_TRY(begin_branches(b, most));
    weft_cond(b->context->inputs.items[0], b->count, then_branch, else_branch, b, results);
    for (size_t i = 0; i < b->count; i++) out_values[b->places[i]] = results[i];
    return NULL;
}

static weft_status *differentiate_cond(const weft_gradient_context *c, bool reverse, weft_tensor *out_values)
{
    weft_arena arena;
    weft_arena_init(&arena, c->graph->allocator);
    branch_pair b = {.context = c, .arena = &arena, .reverse = reverse};
    weft_status *status = cond_in(&b, out_values);
    weft_arena_finish(&arena);
    return status;
}

static weft_status *vjp_cond(const weft_gradient_context *c, weft_tensor *out_values)
{
    return differentiate_cond(c, true, out_values);
}

static weft_status *jvp_cond(const weft_gradient_context *c, weft_tensor *out_values)
{
    return differentiate_cond(c, false, out_values);
}

static const weft_gradient_row rows[] = {
    {WEFT_OP_fold, weft_gradient_pull_fold, weft_gradient_push_loop, NULL},
    {WEFT_OP_while, NULL, weft_gradient_push_loop,
     "the number of its iterations is not known; use weft_fold, a bound (weft_while_at_most), or weft_stop_gradient on "
     "what it is given, and weft_fold_in_segments or weft_hvp for more than one derivative of "
     "weft_fold_with_snapshots"},
    {WEFT_OP_cond, vjp_cond, jvp_cond, NULL},
};

const weft_gradient_family weft_gradient_region = {sizeof rows / sizeof *rows, rows};
