/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolic node at the run: the contraction is planned and compiled for the extents it meets, and the inner program
 * is kept. A program is keyed by expression, order, extents and dtype; an order found by the planner by all of these
 * but the dtype.
 */
#define WEFT_NO_PLACES
#include "lower.h"
#include "op.h"
#include "state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cached_program {
    einsum_shared shared;
    const weft_allocator *allocator;
    weft_program *program;
} cached_program;

typedef struct cached_plan {
    einsum_shared shared;
    const weft_allocator *allocator;
    size_t count;
    einsum_pair pairs[];
} cached_plan;

/* ---- keys ---- */

static void *put(void *at, const void *data, size_t size)
{
    if (size > 0) memcpy(at, data, size);
    return (char *)at + size;
}

static size_t key_size(const weft_kernel_context *context)
{
    const weft_attr *attrs = context->attrs;
    size_t size =
        attrs[EINSUM_ATTR_EQUATION].size + attrs[EINSUM_ATTR_ORDER].size + 3 * sizeof(size_t) + sizeof(weft_dtype);
    size += attrs[EINSUM_ATTR_PATH].ints.count * sizeof(int64_t);
    for (size_t i = 0; i < context->input_count; i++)
        size += sizeof(size_t) + context->inputs[i].rank * sizeof(int64_t);
    return size;
}

/* The dtype comes last: what is before it keys the plan. */
static void fill_key(const weft_kernel_context *context, void *at)
{
    const weft_attr *attrs = context->attrs;
    weft_ints path = attrs[EINSUM_ATTR_PATH].ints;
    at = put(at, &attrs[EINSUM_ATTR_EQUATION].size, sizeof(size_t));
    at = put(at, attrs[EINSUM_ATTR_EQUATION].data, attrs[EINSUM_ATTR_EQUATION].size);
    at = put(at, &attrs[EINSUM_ATTR_ORDER].size, sizeof(size_t));
    at = put(at, attrs[EINSUM_ATTR_ORDER].data, attrs[EINSUM_ATTR_ORDER].size);
    at = put(at, &path.count, sizeof path.count);
    at = put(at, path.items, path.count * sizeof *path.items);
    for (size_t i = 0; i < context->input_count; i++) {
        const weft_view *view = &context->inputs[i];
        at = put(at, &view->rank, sizeof view->rank);
        at = put(at, view->shape, view->rank * sizeof *view->shape);
    }
    put(at, &context->inputs[0].dtype, sizeof(weft_dtype));
}

/* ---- plans ---- */

static void plan_destroy(einsum_shared *shared)
{
    cached_plan *plan = (cached_plan *)shared;
    plan->allocator->resize(plan->allocator->self, plan, sizeof *plan + plan->count * sizeof *plan->pairs, 0,
                            _Alignof(cached_plan));
}

static void keep_plan(einsum_cache *cache, einsum_key key, size_t count, const einsum_pair *pairs)
{
    const weft_allocator *allocator = cache->allocator;
    size_t size = sizeof(cached_plan) + count * sizeof *pairs;
    cached_plan *plan = allocator->resize(allocator->self, NULL, 0, size, _Alignof(cached_plan));
    if (plan == NULL) return;
    plan->shared.destroy = plan_destroy;
    atomic_init(&plan->shared.references, 1);
    plan->allocator = allocator;
    plan->count = count;
    memcpy(plan->pairs, pairs, count * sizeof *pairs);
    einsum_cache_insert(cache, key, &plan->shared, size);
    einsum_shared_release(&plan->shared);
}

/* Fills the order of `x`; that of a planner is looked up first. */
static weft_status *find_order(einsum_state *state, einsum_key key, einsum_expression *x, einsum_policy policy)
{
    size_t count = x->network.operand_count;
    einsum_cache *cache = &state->caches[WEFT_EINSUM_PLANS];
    if (!einsum_policy_needs_extents(policy, count)) return einsum_expression_order(x, policy);
    cached_plan *plan = (cached_plan *)einsum_cache_find(cache, key);
    if (plan == NULL) {
        WEFT_TRY(einsum_expression_order(x, policy));
        keep_plan(cache, key, count - 1, x->pairs);
        return NULL;
    }
    x->pairs = einsum_arena_allocate(&x->arena, plan->count, sizeof *x->pairs);
    if (x->pairs != NULL) memcpy(x->pairs, plan->pairs, plan->count * sizeof *x->pairs);
    einsum_shared_release(&plan->shared);
    return x->pairs == NULL ? weft_status_out_of_memory() : NULL;
}

/* ---- programs ---- */

static void program_destroy(einsum_shared *shared)
{
    cached_program *cached = (cached_program *)shared;
    weft_program_release(cached->program);
    cached->allocator->resize(cached->allocator->self, cached, sizeof *cached, 0, _Alignof(cached_program));
}

/* Traces inputs of the extents at hand: input i is called "x" and i. */
static weft_status *trace_inputs(const weft_kernel_context *context, weft_graph *graph, einsum_arena *arena,
                                 weft_tensor *out_inputs, weft_shape *out_shapes)
{
    for (size_t i = 0; i < context->input_count; i++) {
        const weft_view *view = &context->inputs[i];
        char name[32];
        weft_extent *extents = einsum_arena_allocate(arena, view->rank, sizeof *extents);
        if (extents == NULL) return weft_status_out_of_memory();
        for (size_t axis = 0; axis < view->rank; axis++) extents[axis] = weft_extent_of(view->shape[axis]);
        snprintf(name, sizeof name, "x%zu", i);
        out_shapes[i] = (weft_shape){view->rank, extents};
        out_inputs[i] = weft_input(graph, name, view->dtype, out_shapes[i]);
        if (!weft_tensor_is_valid(out_inputs[i])) return weft_status_clone(context->allocator, weft_graph_error(graph));
    }
    return NULL;
}

static weft_status *trace(const weft_kernel_context *context, einsum_key plan_key, weft_graph *graph,
                          einsum_expression *x, weft_tensor *out_result)
{
    einsum_policy policy;
    weft_tensor *inputs = einsum_arena_allocate(&x->arena, context->input_count, sizeof *inputs);
    weft_shape *shapes = einsum_arena_allocate(&x->arena, context->input_count, sizeof *shapes);
    if (inputs == NULL || shapes == NULL) return weft_status_out_of_memory();
    WEFT_TRY(trace_inputs(context, graph, &x->arena, inputs, shapes));
    WEFT_TRY(einsum_op_read(x, context->attrs, context->input_count, shapes, NULL, &policy));
    WEFT_TRY(find_order(context->extension_state, plan_key, x, policy));
    return einsum_lower(x, inputs, out_result);
}

static weft_status *compile_in(const weft_kernel_context *context, einsum_key plan_key, weft_graph *graph,
                               weft_program **out_program)
{
    weft_tensor result = {0};
    einsum_expression x;
    einsum_expression_init(&x, context->allocator);
    weft_status *status = trace(context, plan_key, graph, &x, &result);
    einsum_expression_finish(&x);
    WEFT_TRY(status);
    return weft_compile(graph, (weft_tensors){1, &result}, NULL, out_program);
}

static weft_status *compile(const weft_kernel_context *context, einsum_key plan_key, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = context->allocator}, &graph));
    weft_status *status = compile_in(context, plan_key, graph, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *create_program(const weft_kernel_context *context, einsum_key key, cached_program **out_cached)
{
    const weft_allocator *allocator = context->allocator;
    weft_program *program;
    WEFT_TRY(compile(context, (einsum_key){key.data, key.size - sizeof(weft_dtype)}, &program));
    cached_program *cached = allocator->resize(allocator->self, NULL, 0, sizeof *cached, _Alignof(cached_program));
    if (cached == NULL) {
        weft_program_release(program);
        return weft_status_out_of_memory();
    }
    *cached = (cached_program){.shared = {.destroy = program_destroy}, .allocator = allocator, .program = program};
    atomic_init(&cached->shared.references, 1);
    *out_cached = cached;
    return NULL;
}

static weft_status *find_program(const weft_kernel_context *context, einsum_key key, cached_program **out_cached)
{
    einsum_state *state = context->extension_state;
    einsum_cache *cache = &state->caches[WEFT_EINSUM_PROGRAMS];
    *out_cached = (cached_program *)einsum_cache_find(cache, key);
    if (*out_cached != NULL) return NULL;
    WEFT_TRY(create_program(context, key, out_cached));
    einsum_cache_insert(cache, key, &(*out_cached)->shared,
                        key.size + strlen(weft_program_text((*out_cached)->program)));
    return NULL;
}

/* ---- the run ---- */

static weft_status *wrap(const weft_kernel_context *context, const weft_view *view, weft_array **out_array)
{
    return weft_array_wrap(context->allocator, view->dtype, view->rank, view->shape, view->strides, view->data, NULL,
                           NULL, out_array);
}

/* The program has those inputs that matter, in an order of its own. */
static weft_status *wrap_all(const weft_kernel_context *context, const weft_program *program, weft_array **arrays)
{
    WEFT_TRY(wrap(context, &context->outputs[0], &arrays[0]));
    for (size_t i = 0; i < weft_program_input_count(program); i++) {
        size_t number = strtoul(weft_program_input_name(program, i) + 1, NULL, 10);
        WEFT_TRY(wrap(context, &context->inputs[number], &arrays[1 + i]));
    }
    return NULL;
}

static weft_status *run_over(const weft_kernel_context *context, weft_program *program, weft_array **arrays)
{
    WEFT_TRY(wrap_all(context, program, arrays));
    weft_run run = {.runtime = context->runtime,
                    .input_count = weft_program_input_count(program),
                    .inputs = arrays + 1,
                    .output_count = 1,
                    .outputs = arrays,
                    .cancelled = context->cancelled};
    return weft_executor_run(context->executor, program, &run);
}

static weft_status *run_program(const weft_kernel_context *context, weft_program *program)
{
    einsum_arena arena;
    einsum_arena_init(&arena, context->allocator);
    size_t count = 1 + context->input_count;
    weft_array **arrays = einsum_arena_allocate(&arena, count, sizeof(weft_array *));
    weft_status *status = arrays == NULL ? weft_status_out_of_memory() : run_over(context, program, arrays);
    for (size_t i = 0; arrays != NULL && i < count; i++) weft_array_release(arrays[i]);
    einsum_arena_finish(&arena);
    return status;
}

static weft_status *run_keyed(const weft_kernel_context *context, einsum_key key)
{
    cached_program *cached;
    WEFT_TRY(find_program(context, key, &cached));
    weft_status *status = run_program(context, cached->program);
    einsum_shared_release(&cached->shared);
    return status;
}

weft_status *einsum_op_run(const weft_kernel_context *context)
{
    size_t size = key_size(context);
    void *key = context->allocator->resize(context->allocator->self, NULL, 0, size, _Alignof(int64_t));
    if (key == NULL) return weft_status_out_of_memory();
    fill_key(context, key);
    weft_status *status = run_keyed(context, (einsum_key){key, size});
    context->allocator->resize(context->allocator->self, key, size, 0, _Alignof(int64_t));
    return status;
}
