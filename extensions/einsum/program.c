/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_LOCATIONS
#include "program.h"
#include "lower.h"
#include "orders.h"
#include "passes.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cached_plan {
    einsum_shared shared;
    const weft_allocator *allocator;
    size_t size, pair_count, sliced_count;
    einsum_pair pairs[]; /* then the sliced labels */
} cached_plan;

typedef struct cached_program {
    einsum_shared shared;
    const weft_allocator *allocator;
    weft_program *program;
    size_t input_count;
    size_t inputs[]; /* by input of `program`: the operand it is */
} cached_program;

/* ---- keys ---- */

enum { KEY_ROOM = 512 }; /* on the stack; larger keys are allocated */

static void *put(void *at, const void *data, size_t size)
{
    if (size > 0) memcpy(at, data, size);
    return (char *)at + size;
}

static void *put_text(void *at, const char *text)
{
    return put(at, text, strlen(text) + 1);
}

static void *put_ints(void *at, weft_ints ints)
{
    return put(put(at, &ints.count, sizeof ints.count), ints.items, ints.count * sizeof *ints.items);
}

/* The end of a key, which orders do without: a derivative has the order of its contraction. */
static size_t passes_size(const einsum_call *call)
{
    return sizeof call->passes.count + call->passes.count * sizeof *call->passes.items;
}

static size_t key_size(const einsum_call *call)
{
    size_t size = strlen(call->text) + strlen(call->order) + strlen(call->planner) + 3;
    size += sizeof call->dtype + sizeof call->products + sizeof call->room + sizeof call->copies + 2 * sizeof(size_t) +
            (call->path.count + call->sliced.count) * sizeof(int64_t);
    for (size_t i = 0; i < call->operand_count; i++) size += sizeof(size_t) + call->shapes[i].count * sizeof(int64_t);
    return size + passes_size(call);
}

static void fill_key(const einsum_call *call, void *at)
{
    at = put(put(at, &call->dtype, sizeof call->dtype), &call->products, sizeof call->products);
    at = put(put(at, &call->room, sizeof call->room), &call->copies, sizeof call->copies);
    at = put_ints(put_ints(at, call->path), call->sliced);
    for (size_t i = 0; i < call->operand_count; i++) at = put_ints(at, call->shapes[i]);
    at = put_text(at, call->text);
    at = put_text(at, call->order);
    at = put_text(at, call->planner);
    put_ints(at, call->passes);
}

/* ---- plans ---- */

static uint32_t *sliced_of(cached_plan *plan)
{
    return (uint32_t *)(plan->pairs + plan->pair_count);
}

static void plan_destroy(einsum_shared *shared)
{
    cached_plan *plan = (cached_plan *)shared;
    plan->allocator->resize(plan->allocator->self, plan, plan->size, 0, _Alignof(cached_plan));
}

static void keep_plan(einsum_cache *cache, einsum_key key, const einsum_expression *x)
{
    const weft_allocator *allocator = cache->allocator;
    size_t pair_count = x->network.operand_count - 1;
    size_t size = sizeof(cached_plan) + pair_count * sizeof *x->pairs + x->sliced.count * sizeof *x->sliced.items;
    cached_plan *plan = allocator->resize(allocator->self, NULL, 0, size, _Alignof(cached_plan));
    if (plan == NULL) return;
    *plan = (cached_plan){.shared = {.destroy = plan_destroy},
                          .allocator = allocator,
                          .size = size,
                          .pair_count = pair_count,
                          .sliced_count = x->sliced.count};
    atomic_init(&plan->shared.references, 1);
    put(plan->pairs, x->pairs, pair_count * sizeof *x->pairs);
    put(sliced_of(plan), x->sliced.items, x->sliced.count * sizeof *x->sliced.items);
    einsum_cache_insert(cache, key, &plan->shared, size);
    einsum_shared_release(&plan->shared);
}

static weft_status *take_plan(cached_plan *plan, einsum_expression *x)
{
    x->pairs = einsum_arena_allocate(&x->arena, plan->pair_count, sizeof *x->pairs);
    x->sliced = (einsum_labels){plan->sliced_count,
                                einsum_arena_allocate(&x->arena, plan->sliced_count, sizeof *x->sliced.items)};
    if (x->pairs == NULL || x->sliced.items == NULL) return weft_status_out_of_memory();
    put(x->pairs, plan->pairs, plan->pair_count * sizeof *x->pairs);
    put(x->sliced.items, sliced_of(plan), plan->sliced_count * sizeof *x->sliced.items);
    return NULL;
}

/* Fills the order of `x`; that of a planner is looked up first, where it matters. */
static weft_status *find_order(einsum_state *state, const einsum_call *call, einsum_key key, einsum_expression *x,
                               const einsum_policy *policy)
{
    einsum_cache *cache = &state->caches[WEFT_EINSUM_PLANS];
    if (!einsum_policy_needs_extents(policy, x->network.operand_count) || einsum_expression_is_empty(x))
        return einsum_expression_order(x, policy, call->dtype);
    cached_plan *plan = (cached_plan *)einsum_cache_find(cache, key);
    if (plan != NULL) {
        weft_status *status = take_plan(plan, x);
        einsum_shared_release(&plan->shared);
        return status;
    }
    WEFT_TRY(einsum_orders_find(state, call, x, policy));
    keep_plan(cache, key, x);
    return NULL;
}

/* ---- compiling ---- */

/* What compiling one program needs. */
typedef struct compilation {
    einsum_state *state;
    const einsum_call *call;
    einsum_key key; /* of the order */
    weft_graph *graph;
    einsum_expression x;
} compilation;

/* Inputs are called so, those of passes too, with their number after it. */
static const char input_name[] = "operand";

/* Traces inputs of the extents at hand; out_shapes are those of the operands. */
static weft_status *trace_inputs(compilation *c, weft_tensor *out_inputs, weft_shape *out_shapes)
{
    for (size_t i = 0; i < c->call->input_count; i++) {
        char name[32];
        weft_ints shape = c->call->shapes[i];
        weft_extent *extents = einsum_arena_allocate(&c->x.arena, shape.count, sizeof *extents);
        if (extents == NULL) return weft_status_out_of_memory();
        for (size_t axis = 0; axis < shape.count; axis++) extents[axis] = weft_extent_of(shape.items[axis]);
        snprintf(name, sizeof name, "%s%zu", input_name, i);
        if (i < c->call->operand_count) out_shapes[i] = (weft_shape){shape.count, extents};
        out_inputs[i] = weft_input(c->graph, name, c->call->dtype, (weft_shape){shape.count, extents});
        WEFT_TRY(weft_status_clone(c->state->allocator, weft_graph_error(c->graph)));
    }
    return NULL;
}

static weft_status *trace_contraction(compilation *c, weft_tensor *inputs, weft_tensor *out_result)
{
    bool seen = false;
    einsum_policy policy;
    size_t count = c->call->operand_count;
    weft_shape *shapes = einsum_arena_allocate(&c->x.arena, count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    WEFT_TRY(trace_inputs(c, inputs, shapes));
    WEFT_TRY(c->call->read(c->call, &c->x, shapes, &policy));
    policy.planner.limit = c->call->room;
    policy.planner.cancel = (einsum_cancel){c->call->cancelled, &seen};
    policy.planner.watch = NULL;
    c->x.problem.copied = c->call->copies;
    c->x.in_one_loop = einsum_passes_go_back(c->call->passes);
    c->x.most_elements = (double)c->call->room / (double)weft_dtype_size(c->call->dtype);
    WEFT_TRY(find_order(c->state, c->call, c->key, &c->x, &policy));
    WEFT_TRY(einsum_planner_check(c->state->allocator, &policy.planner));
    return einsum_lower(&c->x, inputs, out_result);
}

static weft_status *trace(compilation *c, weft_tensors *out_results)
{
    weft_tensor result = {0};
    size_t count = c->call->input_count;
    weft_tensor *inputs = einsum_arena_allocate(&c->x.arena, count, sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(trace_contraction(c, inputs, &result));
    return einsum_passes_trace(&c->x.arena, c->call->passes, (weft_tensors){count, inputs}, result, out_results);
}

/* The output is called so; of several each has its number after it. */
static weft_status *name_results(einsum_arena *arena, size_t count, const char ***out_names)
{
    enum { ROOM = 32 };
    char *text = einsum_arena_allocate(arena, count, ROOM);
    *out_names = einsum_arena_allocate(arena, count, sizeof **out_names);
    if (text == NULL || *out_names == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++, text += ROOM) {
        if (count == 1) snprintf(text, ROOM, "result");
        else snprintf(text, ROOM, "result%zu", i);
        (*out_names)[i] = text;
    }
    return NULL;
}

static weft_status *compile_traced(compilation *c, weft_program **out_program)
{
    const char **names;
    weft_tensors results;
    const weft_policy policy = {.size = sizeof policy, .products = c->call->products};
    WEFT_TRY(trace(c, &results));
    WEFT_TRY(name_results(&c->x.arena, results.count, &names));
    return weft_compile_named(c->graph, results, names, &policy, out_program);
}

static EINSUM_PLAIN_FUNCTION(weft_status *, compile, (compilation * c, weft_program **out_program), (c, out_program))
{
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = c->state->allocator}, &c->graph));
    einsum_expression_init(&c->x, c->state->allocator);
    weft_status *status = compile_traced(c, out_program);
    einsum_expression_finish(&c->x);
    weft_graph_destroy(c->graph);
    return status;
}

/* ---- programs ---- */

static size_t program_size(size_t input_count)
{
    return sizeof(cached_program) + input_count * sizeof(size_t);
}

static void program_destroy(einsum_shared *shared)
{
    cached_program *cached = (cached_program *)shared;
    weft_program_release(cached->program);
    cached->allocator->resize(cached->allocator->self, cached, program_size(cached->input_count), 0,
                              _Alignof(cached_program));
}

/* Takes `program`, which has those inputs that matter, in an order of its own. */
static weft_status *program_wrap(const weft_allocator *allocator, weft_program *program, cached_program **out_cached)
{
    size_t count = weft_program_input_count(program);
    cached_program *cached = allocator->resize(allocator->self, NULL, 0, program_size(count), _Alignof(cached_program));
    if (cached == NULL) {
        weft_program_release(program);
        return weft_status_out_of_memory();
    }
    *cached = (cached_program){
        .shared = {.destroy = program_destroy}, .allocator = allocator, .program = program, .input_count = count};
    atomic_init(&cached->shared.references, 1);
    for (size_t i = 0; i < count; i++)
        cached->inputs[i] = strtoul(weft_program_input_name(program, i) + strlen(input_name), NULL, 10);
    *out_cached = cached;
    return NULL;
}

static weft_status *find_keyed(einsum_state *state, const einsum_call *call, einsum_key key,
                               cached_program **out_program)
{
    weft_program *program;
    einsum_cache *cache = &state->caches[WEFT_EINSUM_PROGRAMS];
    *out_program = (cached_program *)einsum_cache_find(cache, key);
    if (*out_program != NULL) return NULL;
    const einsum_key order = {key.data, key.size - passes_size(call)};
    WEFT_TRY(compile(&(compilation){.state = state, .call = call, .key = order}, &program));
    WEFT_TRY(program_wrap(state->allocator, program, out_program));
    einsum_cache_insert(cache, key, &(*out_program)->shared, key.size + weft_program_bytes(program));
    return NULL;
}

static weft_status *find_program(einsum_state *state, const einsum_call *call, cached_program **out_program)
{
    char room[KEY_ROOM];
    const weft_allocator *allocator = state->allocator;
    size_t size = key_size(call);
    void *key = size <= KEY_ROOM ? room : allocator->resize(allocator->self, NULL, 0, size, _Alignof(int64_t));
    if (key == NULL) return weft_status_out_of_memory();
    fill_key(call, key);
    weft_status *status = find_keyed(state, call, (einsum_key){key, size}, out_program);
    if (key != room) allocator->resize(allocator->self, key, size, 0, _Alignof(int64_t));
    return status;
}

/* ---- running ---- */

static weft_status *run_once(einsum_state *state, const einsum_call *call, weft_executor *executor,
                             weft_array *const *operands, weft_array **inputs, weft_run *run)
{
    cached_program *cached;
    WEFT_TRY(find_program(state, call, &cached));
    for (size_t i = 0; i < cached->input_count; i++) inputs[i] = operands[cached->inputs[i]];
    run->input_count = cached->input_count;
    run->inputs = inputs;
    weft_status *status = weft_executor_run(executor, cached->program, run);
    einsum_shared_release(&cached->shared);
    return status;
}

/* What the program may use. */
static uint64_t most_bytes(const einsum_call *call)
{
    uint64_t most = call->limit;
    for (size_t n = einsum_passes_count(call->passes); n > 0 && most <= UINT64_MAX / 2; n--) most *= 2;
    return most;
}

static weft_status *no_program(const einsum_state *state, const einsum_call *call, size_t least)
{
    if (call->passes.count > 0) {
        return einsum_planner_over_limit(state->allocator, call->limit,
                                         "the least that its derivative, which may take %zu times as much, was found "
                                         "to need is %zu",
                                         (size_t)(most_bytes(call) / call->limit), least);
    }
    return einsum_planner_over_limit(state->allocator, call->limit,
                                     "the least that intermediates were found to take is %zu; what is found depends "
                                     "on the limit, so that one of as much may be too small",
                                     least);
}

/* After a try that took `peak` bytes; 0: nothing was found. */
static EINSUM_PLAIN_FUNCTION(bool, lower_room, (einsum_room * room, uint64_t limit, size_t peak), (room, limit, peak))
{
    return einsum_room_lower(room, peak > 0 ? log2((double)peak) - log2((double)limit) : INFINITY);
}

/* The planner does not know what is copied, nor what lies between intermediates: where a program takes too much, it is
 * told so. Of few operands the best order is tried as it is first: its program may take less than the planner counts.
 */
static weft_status *run_within(einsum_state *state, einsum_call *call, weft_executor *executor,
                               weft_array *const *operands, weft_array **inputs, weft_run *run)
{
    enum { FEW = 8 };
    const uint64_t most = most_bytes(call);
    size_t least = SIZE_MAX, *peak = &run->report->peak_bytes;
    einsum_room room = einsum_room_start(call->limit);
    run->memory_limit = most;
    for (bool whole = call->operand_count <= FEW, again = true; again; whole = false) {
        bool first = room.tries == 0 && !room.copies;
        *run->report = (weft_report){.peak_bytes = 0};
        call->room = whole ? 0 : room.bytes;
        call->copies = room.copies;
        weft_status *status = run_once(state, call, executor, operands, inputs, run);
        if (weft_status_code(status) != WEFT_OVER_LIMIT || (first && *peak == 0)) return status;
        weft_status_destroy(status);
        if (*peak > 0 && *peak < least) least = *peak;
        again = whole || lower_room(&room, most, *peak);
    }
    *peak = least;
    return no_program(state, call, least);
}

weft_status *einsum_program_run(einsum_state *state, einsum_call *call, weft_executor *executor,
                                weft_array *const *operands, weft_array **inputs, weft_run *run)
{
    return call->limit == 0 ? run_once(state, call, executor, operands, inputs, run)
                            : run_within(state, call, executor, operands, inputs, run);
}
