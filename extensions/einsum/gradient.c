/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_LOCATIONS
#include "gradient.h"
#include <inttypes.h>
#include <stdarg.h>
#include <weft/gradient.h>
#include <weft/weft.h>

static bool is_same(weft_tensor a, weft_tensor b)
{
    return a.node == b.node && a.output == b.output;
}

/* What a rule traces with. */
typedef struct tracing {
    const weft_gradient_context *context;
    einsum_arena arena;
} tracing;

static void begin(tracing *t, const weft_gradient_context *context)
{
    *t = (tracing){.context = context};
    einsum_arena_init(&t->arena, weft_graph_allocator(context->graph));
}

/* ---- the contraction, lowered ---- */

/* The numbers of operands that are needed, all if that is NULL; of one that is there several times the first. */
static weft_status *list_distinct(tracing *t, const bool *needed, weft_ints *out_numbers)
{
    weft_tensors operands = t->context->inputs;
    size_t count = 0;
    int64_t *numbers = einsum_arena_allocate(&t->arena, operands.count, sizeof *numbers);
    if (numbers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operands.count; i++) {
        bool is_new = needed == NULL || needed[i];
        for (size_t k = 0; k < count && is_new; k++) is_new = !is_same(operands.items[i], operands.items[numbers[k]]);
        if (is_new) numbers[count++] = (int64_t)i;
    }
    *out_numbers = (weft_ints){count, numbers};
    return NULL;
}

/* The operands with these numbers, or what belongs to them. */
static weft_tensor *pick(tracing *t, weft_ints numbers, const weft_tensor *from)
{
    weft_tensor *items = einsum_arena_allocate(&t->arena, numbers.count, sizeof *items);
    for (size_t i = 0; i < numbers.count && items != NULL; i++) items[i] = from[numbers.items[i]];
    return items;
}

/* An operand that is there several times counts as one: the first has the whole. */
static weft_status *pull_lowered(tracing *t, weft_tensor result, weft_tensor *out_values)
{
    weft_ints numbers;
    WEFT_TRY(list_distinct(t, t->context->needs, &numbers));
    weft_tensor *wrt = pick(t, numbers, t->context->inputs.items);
    weft_tensor *made = einsum_arena_allocate(&t->arena, numbers.count, sizeof *made);
    if (wrt == NULL || made == NULL) return weft_status_out_of_memory();
    weft_vjp(WEFT_TENSORS(result), t->context->given, (weft_tensors){numbers.count, wrt}, made);
    for (size_t i = 0; i < numbers.count; i++) out_values[numbers.items[i]] = made[i];
    return NULL;
}

/* With respect to operands without a tangent, too: one may be computed from another that has one. */
static weft_status *push_lowered(tracing *t, weft_tensor result, weft_tensor *out_values)
{
    weft_ints numbers;
    WEFT_TRY(list_distinct(t, NULL, &numbers));
    weft_tensor *wrt = pick(t, numbers, t->context->inputs.items);
    weft_tensor *tangents = pick(t, numbers, t->context->given.items);
    if (wrt == NULL || tangents == NULL) return weft_status_out_of_memory();
    weft_jvp(WEFT_TENSORS(result), (weft_tensors){numbers.count, wrt}, (weft_tensors){numbers.count, tangents},
             out_values);
    return NULL;
}

/* ---- nodes that stay ---- */

static weft_ints passes_of(const weft_gradient_context *c)
{
    return c->op == &einsum_derivative_op ? c->attrs[EINSUM_ATTR_PASSES].ints : (weft_ints){0, NULL};
}

/* The numbers of those that are there. */
static weft_status *list_given(tracing *t, weft_tensors tensors, weft_ints *out_numbers)
{
    size_t count = 0;
    int64_t *numbers = einsum_arena_allocate(&t->arena, tensors.count, sizeof *numbers);
    if (numbers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < tensors.count; i++)
        if (tensors.items[i].graph != NULL) numbers[count++] = (int64_t)i;
    *out_numbers = (weft_ints){count, numbers};
    return NULL;
}

static weft_status *list_needed(tracing *t, weft_ints *out_numbers)
{
    size_t count = 0, inputs = t->context->inputs.count;
    int64_t *numbers = einsum_arena_allocate(&t->arena, inputs, sizeof *numbers);
    if (numbers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < inputs; i++)
        if (t->context->needs[i]) numbers[count++] = (int64_t)i;
    *out_numbers = (weft_ints){count, numbers};
    return NULL;
}

/* The node with one pass more: its inputs, then what is given. */
static weft_status *trace_pass(tracing *t, const einsum_pass *pass, weft_tensor *out_result)
{
    const weft_gradient_context *c = t->context;
    weft_attr attrs[EINSUM_DERIVATIVE_ATTR_COUNT];
    size_t count = c->inputs.count + pass->given.count;
    weft_ints passes = einsum_passes_add(&t->arena, passes_of(c), pass);
    weft_tensor *inputs = einsum_arena_allocate(&t->arena, count, sizeof *inputs);
    if (passes.items == NULL || inputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < c->inputs.count; i++) inputs[i] = c->inputs.items[i];
    for (size_t i = 0; i < pass->given.count; i++) inputs[c->inputs.count + i] = c->given.items[pass->given.items[i]];
    for (size_t i = 0; i < EINSUM_ATTR_COUNT; i++) attrs[i] = c->attrs[i];
    attrs[EINSUM_ATTR_PASSES] = (weft_attr){.ints = passes};
    *out_result = weft_trace(c->graph, EINSUM_DERIVATIVE_NAME, (weft_tensors){count, inputs}, attrs);
    return NULL;
}

static weft_status *pull_node(tracing *t, weft_tensor *out_values)
{
    weft_tensor made;
    einsum_pass pass = {.is_reverse = true};
    WEFT_TRY(list_given(t, t->context->given, &pass.given));
    WEFT_TRY(list_needed(t, &pass.wanted));
    WEFT_TRY(trace_pass(t, &pass, &made));
    for (size_t i = 0; i < pass.wanted.count && weft_tensor_is_valid(made); i++) {
        made.output = (uint32_t)i;
        out_values[pass.wanted.items[i]] = made;
    }
    return NULL;
}

static weft_status *push_node(tracing *t, weft_tensor *out_values)
{
    weft_tensor made;
    einsum_pass pass = {.is_reverse = false};
    WEFT_TRY(list_given(t, t->context->given, &pass.given));
    WEFT_TRY(trace_pass(t, &pass, &made));
    for (size_t i = 0; i < t->context->outputs.count && weft_tensor_is_valid(made); i++) {
        made.output = (uint32_t)i;
        out_values[i] = made;
    }
    return NULL;
}

/* ---- rules ---- */

static weft_status *differentiate(tracing *t, bool is_reverse, weft_tensor *out_values)
{
    weft_tensor result;
    const weft_gradient_context *c = t->context;
    WEFT_TRY(einsum_op_lower(c->graph, c->attrs, c->inputs, NULL, is_reverse, &result));
    if (weft_graph_error(c->graph) != NULL) return NULL;
    if (weft_tensor_is_valid(result))
        return is_reverse ? pull_lowered(t, result, out_values) : push_lowered(t, result, out_values);
    return is_reverse ? pull_node(t, out_values) : push_node(t, out_values);
}

weft_status *einsum_gradient_pull(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    begin(&t, context);
    weft_status *status = differentiate(&t, true, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

weft_status *einsum_gradient_push(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    begin(&t, context);
    weft_status *status = differentiate(&t, false, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

static weft_status *pull_again(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    begin(&t, context);
    weft_status *status = pull_node(&t, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

static weft_status *push_again(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    begin(&t, context);
    weft_status *status = push_node(&t, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

/* ---- the type rule of derivatives ---- */

/* Where the list is wrong the type rule says so. */
static size_t count_outputs(const weft_op_def *op, const weft_attr *attrs, size_t input_count)
{
    (void)op;
    (void)input_count;
    size_t count = einsum_passes_result_count(attrs[EINSUM_ATTR_PASSES].ints);
    return count == 0 ? 1 : count;
}

static weft_status *refuse(const weft_infer_context *context, weft_code code, const char *format, ...)
    WEFT_FORMAT(3, 4);

static weft_status *refuse(const weft_infer_context *context, weft_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status =
        weft_status_create_v(weft_graph_allocator(context->graph), code, EINSUM_DERIVATIVE_NAME, format, arguments);
    va_end(arguments);
    return status;
}

/* What is known of a node while its type rule goes through the passes. */
typedef struct typing {
    const weft_infer_context *context;
    einsum_arena arena;
    size_t known; /* inputs so far */
    size_t pass_count, result_count;
    weft_type *results;
} typing;

/* Whether the numbers rise and are below `end`. */
static weft_status *check_numbers(const typing *t, weft_ints numbers, size_t end, const char *of)
{
    if (numbers.count == 0)
        return refuse(t->context, WEFT_INVALID_ARGUMENT, EINSUM_DERIVATIVE_NAME ": pass %zu names no %s", t->pass_count,
                      of);
    for (size_t i = 0; i < numbers.count; i++) {
        int64_t number = numbers.items[i];
        if (number >= 0 && (size_t)number < end && (i == 0 || number > numbers.items[i - 1])) continue;
        return refuse(t->context, WEFT_INVALID_ARGUMENT,
                      EINSUM_DERIVATIVE_NAME ": pass %zu has %" PRId64
                                             " at %zu of its %ss, but must have rising numbers "
                                             "below %zu",
                      t->pass_count, number, i, of, end);
    }
    return NULL;
}

/* Whether an input has the type of what it is the derivative of. */
static weft_status *check_input(const typing *t, size_t number, weft_shape wanted)
{
    weft_shape shape = t->context->inputs[number].shape;
    if (shape.rank != wanted.rank) {
        return refuse(t->context, WEFT_SHAPE_MISMATCH,
                      EINSUM_DERIVATIVE_NAME ": input %zu has rank %zu but what it is the derivative of %zu", number,
                      shape.rank, wanted.rank);
    }
    for (size_t axis = 0; axis < shape.rank; axis++) {
        char own[64], other[64];
        weft_extent_print(shape.extents[axis], own, sizeof own);
        weft_extent_print(wanted.extents[axis], other, sizeof other);
        if (!weft_require_equal(t->context->graph, shape.extents[axis], wanted.extents[axis],
                                EINSUM_DERIVATIVE_NAME ": axis %zu of input %zu has extent %s but of what it is the "
                                                       "derivative of %s",
                                axis, number, own, other))
            break;
    }
    return NULL;
}

static weft_status *pass_back(typing *t, const einsum_pass *pass)
{
    WEFT_TRY(check_numbers(t, pass->given, t->result_count, "result"));
    WEFT_TRY(check_numbers(t, pass->wanted, t->known, "input"));
    for (size_t i = 0; i < pass->given.count; i++)
        WEFT_TRY(check_input(t, t->known + i, t->results[pass->given.items[i]].shape));
    t->result_count = pass->wanted.count;
    t->results = einsum_arena_allocate(&t->arena, t->result_count, sizeof *t->results);
    if (t->results == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < t->result_count; i++) t->results[i] = t->context->inputs[pass->wanted.items[i]];
    return NULL;
}

static weft_status *pass_forward(typing *t, const einsum_pass *pass)
{
    WEFT_TRY(check_numbers(t, pass->given, t->known, "input"));
    for (size_t i = 0; i < pass->given.count; i++)
        WEFT_TRY(check_input(t, t->known + i, t->context->inputs[pass->given.items[i]].shape));
    return NULL;
}

/* Whether the list is made of passes. */
static weft_status *check_form(const typing *t, weft_ints passes)
{
    einsum_pass pass;
    for (size_t i = 0; passes.count > 0; i++) {
        if (einsum_pass_take(&passes, &pass)) continue;
        return refuse(t->context, WEFT_INVALID_ARGUMENT,
                      EINSUM_DERIVATIVE_NAME ": pass %zu must be 0 or 1, then lists of numbers, each after its length",
                      i);
    }
    return NULL;
}

static weft_status *go_through(typing *t, weft_ints passes)
{
    einsum_pass pass;
    for (; einsum_pass_take(&passes, &pass); t->pass_count++) {
        WEFT_TRY(pass.is_reverse ? pass_back(t, &pass) : pass_forward(t, &pass));
        t->known += pass.given.count;
    }
    return NULL;
}

static weft_status *infer_with(typing *t, weft_type *out_types)
{
    const weft_infer_context *context = t->context;
    weft_type result;
    weft_ints passes = context->attrs[EINSUM_ATTR_PASSES].ints;
    size_t brought = einsum_passes_input_count(passes);
    WEFT_TRY(check_form(t, passes));
    if (context->input_count <= brought) {
        return refuse(context, WEFT_INVALID_ARGUMENT,
                      EINSUM_DERIVATIVE_NAME ": %zu of %zu inputs are for its passes, which leaves no operand", brought,
                      context->input_count);
    }
    t->known = context->input_count - brought;
    WEFT_TRY(einsum_op_infer(context, t->known, &result));
    t->result_count = 1;
    t->results = &result;
    WEFT_TRY(go_through(t, passes));
    for (size_t i = 0; i < t->result_count; i++) out_types[i] = t->results[i];
    return NULL;
}

static weft_status *infer(const weft_infer_context *context, weft_type *out_types)
{
    typing t = {.context = context};
    einsum_arena_init(&t.arena, weft_graph_allocator(context->graph));
    weft_status *status = infer_with(&t, out_types);
    einsum_arena_finish(&t.arena);
    return status;
}

/* ---- lowering derivatives ---- */

static bool is_among(size_t count, const weft_tensor *tensors, weft_tensor tensor)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(tensors[i], tensor)) return true;
    return false;
}

/* Inputs are independent of each other, though one may be computed from another, or be the same. */
static void set_apart(size_t count, const weft_tensor *inputs, weft_tensor *out_inputs)
{
    for (size_t i = 0; i < count; i++) {
        out_inputs[i] = inputs[i];
        for (size_t k = 0; k < i; k++)
            if (is_same(inputs[i], inputs[k])) out_inputs[i] = out_inputs[k];
        do out_inputs[i] = weft_stop_gradient(out_inputs[i]);
        while (weft_tensor_is_valid(out_inputs[i]) && is_among(i, out_inputs, out_inputs[i]));
    }
}

static weft_status *lower_in(einsum_arena *arena, weft_graph *graph, const weft_attr *attrs, weft_tensors inputs,
                             const weft_shape *expected, weft_tensor *out_tensors)
{
    weft_tensor result;
    weft_tensors results;
    weft_ints passes = attrs[EINSUM_ATTR_PASSES].ints;
    weft_tensor *items = einsum_arena_allocate(arena, inputs.count, sizeof *items);
    if (items == NULL) return weft_status_out_of_memory();
    set_apart(inputs.count, inputs.items, items);
    const weft_tensors operands = {inputs.count - einsum_passes_input_count(passes), items};
    WEFT_TRY(einsum_op_lower(graph, attrs, operands, expected, einsum_passes_go_back(passes), &result));
    WEFT_TRY(einsum_passes_trace(arena, passes, (weft_tensors){inputs.count, items}, result, &results));
    for (size_t i = 0; i < results.count; i++) out_tensors[i] = results.items[i];
    return NULL;
}

static weft_status *lower_for(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                              const weft_shape *expected, weft_tensor *out_tensors)
{
    (void)op;
    einsum_arena arena;
    einsum_arena_init(&arena, weft_graph_allocator(graph));
    weft_status *status = lower_in(&arena, graph, attrs, inputs, expected, out_tensors);
    einsum_arena_finish(&arena);
    return status;
}

static weft_status *lower(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                          weft_tensor *out_tensors)
{
    return lower_for(graph, op, attrs, inputs, NULL, out_tensors);
}

/* ---- the op ---- */

static const weft_attr_def attributes[EINSUM_DERIVATIVE_ATTR_COUNT] = {
    [EINSUM_ATTR_EQUATION] = {"equation", WEFT_ATTR_STRING}, [EINSUM_ATTR_ORDER] = {"order", WEFT_ATTR_STRING},
    [EINSUM_ATTR_PATH] = {"path", WEFT_ATTR_INTS},           [EINSUM_ATTR_SLICED] = {"sliced", WEFT_ATTR_INTS},
    [EINSUM_ATTR_PLANNER] = {"planner", WEFT_ATTR_STRING},   [EINSUM_ATTR_PASSES] = {"passes", WEFT_ATTR_INTS},
};

const weft_op_def einsum_derivative_op = {
    .size = sizeof(weft_op_def),
    .name = EINSUM_DERIVATIVE_NAME,
    .version = 1,
    .input_count = -1,
    .op_class = WEFT_CLASS_OPAQUE,
    .dtypes = 1u << WEFT_F16 | 1u << WEFT_BF16 | 1u << WEFT_F32 | 1u << WEFT_F64 | 1u << WEFT_C64 | 1u << WEFT_C128,
    .attr_count = EINSUM_DERIVATIVE_ATTR_COUNT,
    .attrs = attributes,
    .infer = infer,
    .lower = lower,
    .kernel = einsum_derivative_run,
    .lower_for = lower_for,
    .vjp = pull_again,
    .jvp = push_again,
    .count_outputs = count_outputs,
};
