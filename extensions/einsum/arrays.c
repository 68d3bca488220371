/* SPDX-License-Identifier: Apache-2.0 */
/* Contracting arrays at once. */
#include "program.h"
#include "request.h"
#include <string.h>

enum { FEW = 8 }; /* operands that need no memory of their own */

/* ---- what is asked for ---- */

static weft_status *refuse(const char *fault)
{
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_einsum_arrays", "einsum: %s", fault);
}

static weft_status *check_arguments(const char *text, size_t count, weft_array *const *operands,
                                    weft_array *const *result)
{
    if (text == NULL) return refuse("the expression is NULL");
    if (count == 0) return refuse("no operands are given; an expression needs at least one");
    if (operands == NULL) return refuse("the operands are NULL");
    if (result == NULL) return refuse("the pointer for the result is NULL");
    for (size_t i = 0; i < count; i++) {
        if (operands[i] != NULL) continue;
        return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_einsum_arrays", "einsum: operand %zu is NULL", i);
    }
    return NULL;
}

static weft_status *check_dtypes(size_t count, weft_array *const *operands)
{
    weft_dtype first = weft_array_dtype(operands[0]);
    for (size_t i = 1; i < count; i++) {
        if (weft_array_dtype(operands[i]) == first) continue;
        return weft_status_create(NULL, WEFT_DTYPE_MISMATCH, "weft_einsum_arrays",
                                  "einsum: operand %zu has dtype %s but operand 0 has %s; cast explicitly", i,
                                  weft_dtype_name(weft_array_dtype(operands[i])), weft_dtype_name(first));
    }
    return NULL;
}

static weft_status *read_request(const einsum_call *call, einsum_expression *x, const weft_shape *shapes,
                                 einsum_policy *out_policy)
{
    einsum_request request;
    WEFT_TRY(einsum_request_fill(x, call->text, call->operand_count, shapes, call->source, &request));
    *out_policy = request.policy;
    return einsum_expression_reduce(x);
}

/* What tells a tree from others: its path, and the extents that it was planned for. */
static weft_status *list_tree(einsum_arena *arena, const weft_einsum_plan *tree, weft_ints *out_list)
{
    size_t operands = tree->expression.network.operand_count, count = tree->path.count;
    for (size_t i = 0; i < operands; i++) count += tree->expression.shapes[i].rank;
    int64_t *items = einsum_arena_allocate(arena, count, sizeof *items), *at = items;
    if (items == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < tree->path.count; i++) *at++ = tree->path.items[i];
    for (size_t i = 0; i < operands; i++)
        for (size_t axis = 0; axis < tree->expression.shapes[i].rank; axis++)
            weft_extent_is_static(tree->expression.shapes[i].extents[axis], at++);
    *out_list = (weft_ints){count, items};
    return NULL;
}

/* The options as far as they tell calls apart; nothing is parsed for that. */
static weft_status *fill_options(einsum_arena *arena, const weft_einsum_options *known, einsum_call *call)
{
    static const char *const names[] = {
        [WEFT_EINSUM_AUTO] = "auto", [WEFT_EINSUM_LEFT] = "left",     [WEFT_EINSUM_PATH] = "path",
        [WEFT_EINSUM_SSA] = "ssa",   [WEFT_EINSUM_NESTED] = "nested", [WEFT_EINSUM_TREE] = "tree"};
    call->order = names[known->order];
    call->path = known->path;
    call->sliced = known->sliced;
    WEFT_TRY(einsum_request_print_planner(arena, known, &call->planner));
    if (known->order == WEFT_EINSUM_NESTED && known->nested != NULL) call->planner = known->nested;
    if (known->order != WEFT_EINSUM_TREE) return NULL;
    call->planner = known->tree->equation;
    call->sliced = known->tree->sliced;
    return list_tree(arena, known->tree, &call->path);
}

/* ---- the call ---- */

typedef struct contraction {
    einsum_arena arena;
    weft_executor *executor;
    einsum_call call;
    weft_array *const *operands;
    weft_ints few_shapes[FEW];
    weft_array *few_inputs[FEW];
} contraction;

/* Memory for an item of each operand: `few` when that has room. */
static void *room_for(contraction *c, void *few, size_t size)
{
    return c->call.operand_count <= FEW ? few : einsum_arena_allocate(&c->arena, c->call.operand_count, size);
}

static weft_status *contract(contraction *c, einsum_state *state, const weft_einsum_options *options,
                             weft_array **result)
{
    weft_einsum_options known;
    weft_report own;
    weft_run run = {.output_count = 1, .outputs = result};
    weft_ints *shapes = room_for(c, c->few_shapes, sizeof *shapes);
    weft_array **inputs = room_for(c, c->few_inputs, sizeof *inputs);
    if (shapes == NULL || inputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < c->call.operand_count; i++)
        shapes[i] = (weft_ints){weft_array_rank(c->operands[i]), weft_array_shape(c->operands[i])};
    WEFT_TRY(einsum_request_check(&c->arena, options, &known));
    WEFT_TRY(fill_options(&c->arena, &known, &c->call));
    c->call.shapes = shapes;
    c->call.source = &known;
    c->call.limit = known.memory_limit;
    c->call.cancelled = run.cancelled = known.cancelled;
    run.report = known.report != NULL ? known.report : known.memory_limit > 0 ? &own : NULL;
    if (known.report != NULL) *known.report = (weft_report){.steps = 0};
    return einsum_program_run(state, &c->call, c->executor, c->operands, inputs, &run);
}

weft_status *weft_einsum_arrays(weft_executor *executor, const char *text, size_t operand_count,
                                weft_array *const *operands, const weft_einsum_options *options, weft_array **result)
{
    contraction c;
    einsum_state *state;
    WEFT_TRY(einsum_state_find("weft_einsum_arrays", executor, &state));
    WEFT_TRY(check_arguments(text, operand_count, operands, result));
    WEFT_TRY(check_dtypes(operand_count, operands));
    c.executor = executor;
    c.operands = operands;
    c.call = (einsum_call){.text = text,
                           .dtype = weft_array_dtype(operands[0]),
                           .operand_count = operand_count,
                           .input_count = operand_count,
                           .read = read_request};
    einsum_arena_init(&c.arena, state->allocator);
    weft_status *status = contract(&c, state, options, result);
    einsum_arena_finish(&c.arena);
    return einsum_status_at(NULL, "weft_einsum_arrays", status);
}
