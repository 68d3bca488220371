/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With F the contraction and G_k its gradient for operand k, both are linear in each operand, G but for conjugates. So
 * the derivative of F along tangents is a sum of F with one operand replaced by its tangent; that of G is one of G with
 * one operand replaced. And as <c, G_k(x, g)> = <F(x with c for x_k), g>, so are the gradients of G: of F for g, of G
 * for the operands. All of them have the order of F.
 */
#define WEFT_NO_LOCATIONS
#include "gradient.h"
#include <inttypes.h>
#include <stdarg.h>
#include <weft/gradient.h>
#include <weft/weft.h>

/* ---- tracing ---- */

static bool is_same(weft_tensor a, weft_tensor b)
{
    return a.node == b.node && a.output == b.output;
}

static weft_tensor add(weft_tensor a, weft_tensor b)
{
    return a.graph == NULL ? b : weft_add(a, b);
}

/* What a rule traces with. */
typedef struct tracing {
    const weft_gradient_context *context;
    einsum_arena arena;
    size_t operand_count;
    weft_tensor *operands; /* those of the node, then room for the cotangent */
    int64_t *wrt;          /* room for the numbers of all operands */
} tracing;

static weft_status *begin(tracing *t, const weft_gradient_context *context, size_t operand_count)
{
    *t = (tracing){.context = context, .operand_count = operand_count};
    einsum_arena_init(&t->arena, weft_graph_allocator(context->graph));
    t->operands = einsum_arena_allocate(&t->arena, operand_count + 1, sizeof *t->operands);
    t->wrt = einsum_arena_allocate(&t->arena, operand_count, sizeof *t->wrt);
    if (t->operands == NULL || t->wrt == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operand_count; i++) t->operands[i] = context->inputs.items[i];
    return NULL;
}

/* The contraction with `tensor` for operand k. */
static weft_tensor contract_with(const tracing *t, size_t k, weft_tensor tensor)
{
    weft_tensor kept = t->operands[k];
    t->operands[k] = tensor;
    weft_tensor result =
        weft_trace(t->context->graph, EINSUM_OP_NAME, (weft_tensors){t->operand_count, t->operands}, t->context->attrs);
    t->operands[k] = kept;
    return result;
}

/* Adds the gradients for the first `count` numbers in `wrt` to out_sums, by operand. */
static void add_gradients(const tracing *t, weft_tensor cotangent, size_t count, weft_tensor *out_sums)
{
    weft_attr attrs[EINSUM_GRADIENT_ATTR_COUNT];
    if (count == 0) return;
    for (size_t i = 0; i < EINSUM_ATTR_COUNT; i++) attrs[i] = t->context->attrs[i];
    attrs[EINSUM_ATTR_WRT] = (weft_attr){.ints = {count, t->wrt}};
    t->operands[t->operand_count] = cotangent;
    weft_tensor made =
        weft_trace(t->context->graph, EINSUM_GRADIENT_NAME, (weft_tensors){t->operand_count + 1, t->operands}, attrs);
    for (size_t i = 0; i < count && weft_tensor_is_valid(made); i++) {
        made.output = (uint32_t)i;
        out_sums[t->wrt[i]] = add(out_sums[t->wrt[i]], made);
    }
}

/* ---- the contraction, lowered ---- */

/* Different operands, of those that are marked, by the number of the first. */
static size_t list_distinct(const tracing *t, const bool *marked, const weft_tensor *given)
{
    size_t count = 0;
    for (size_t i = 0; i < t->operand_count; i++) {
        bool is_new = marked != NULL ? marked[i] : given[i].graph != NULL;
        for (size_t k = 0; k < count && is_new; k++) is_new = !is_same(t->operands[i], t->operands[t->wrt[k]]);
        if (is_new) t->wrt[count++] = (int64_t)i;
    }
    return count;
}

/* Those operands, or what belongs to them. */
static weft_tensor *pick(tracing *t, size_t count, const weft_tensor *from)
{
    weft_tensor *items = einsum_arena_allocate(&t->arena, count, sizeof *items);
    for (size_t i = 0; i < count && items != NULL; i++) items[i] = from[t->wrt[i]];
    return items;
}

/* An operand that is there several times counts as one: the first has the whole. */
static weft_status *pull_lowered(tracing *t, weft_tensor result, weft_tensor *out_values)
{
    size_t count = list_distinct(t, t->context->needs, NULL);
    weft_tensor *wrt = pick(t, count, t->operands), *made = einsum_arena_allocate(&t->arena, count, sizeof *made);
    if (wrt == NULL || made == NULL) return weft_status_out_of_memory();
    weft_vjp(WEFT_TENSORS(result), t->context->given, (weft_tensors){count, wrt}, made);
    for (size_t i = 0; i < count; i++) out_values[t->wrt[i]] = made[i];
    return NULL;
}

static weft_status *push_lowered(tracing *t, weft_tensor result, weft_tensor *out_values)
{
    size_t count = list_distinct(t, NULL, t->context->given.items);
    weft_tensor *wrt = pick(t, count, t->operands), *tangents = pick(t, count, t->context->given.items);
    if (wrt == NULL || tangents == NULL) return weft_status_out_of_memory();
    weft_jvp(WEFT_TENSORS(result), (weft_tensors){count, wrt}, (weft_tensors){count, tangents}, out_values);
    return NULL;
}

/* Not valid where the node stays. */
static weft_status *lower_contraction(const tracing *t, weft_tensor *out_result)
{
    const weft_gradient_context *c = t->context;
    return einsum_op.lower(c->graph, &einsum_op, c->attrs, c->inputs, out_result);
}

/* ---- rules of the contraction ---- */

static weft_status *pull(tracing *t, weft_tensor *out_values)
{
    weft_tensor result;
    size_t count = 0;
    WEFT_TRY(lower_contraction(t, &result));
    if (weft_graph_error(t->context->graph) != NULL) return NULL;
    if (weft_tensor_is_valid(result)) return pull_lowered(t, result, out_values);
    for (size_t i = 0; i < t->operand_count; i++)
        if (t->context->needs[i]) t->wrt[count++] = (int64_t)i;
    add_gradients(t, t->context->given.items[0], count, out_values);
    return NULL;
}

weft_status *einsum_gradient_pull(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    weft_status *status = begin(&t, context, context->inputs.count);
    if (status == NULL) status = pull(&t, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

static weft_status *push(tracing *t, weft_tensor *out_values)
{
    weft_tensor result;
    WEFT_TRY(lower_contraction(t, &result));
    if (weft_graph_error(t->context->graph) != NULL) return NULL;
    if (weft_tensor_is_valid(result)) return push_lowered(t, result, out_values);
    const weft_tensor *tangents = t->context->given.items;
    for (size_t i = 0; i < t->operand_count; i++)
        if (tangents[i].graph != NULL) out_values[0] = add(out_values[0], contract_with(t, i, tangents[i]));
    return NULL;
}

weft_status *einsum_gradient_push(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    weft_status *status = begin(&t, context, context->inputs.count);
    if (status == NULL) status = push(&t, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

/* ---- rules of the gradient ---- */

/* Adds what output `output` of the node contributes. */
static void pull_output(const tracing *t, size_t output, weft_tensor *out_values)
{
    const weft_gradient_context *c = t->context;
    size_t k = (size_t)c->attrs[EINSUM_ATTR_WRT].ints.items[output], count = 0;
    weft_tensor given = c->given.items[output], kept = t->operands[k];
    weft_tensor *sum = &out_values[t->operand_count];
    if (c->needs[t->operand_count]) *sum = add(*sum, contract_with(t, k, given));
    for (size_t i = 0; i < t->operand_count; i++)
        if (i != k && c->needs[i]) t->wrt[count++] = (int64_t)i;
    t->operands[k] = given;
    add_gradients(t, c->inputs.items[t->operand_count], count, out_values);
    t->operands[k] = kept;
}

static weft_status *pull_again(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    weft_status *status = begin(&t, context, context->inputs.count - 1);
    for (size_t i = 0; i < context->given.count && status == NULL; i++)
        if (context->given.items[i].graph != NULL) pull_output(&t, i, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

/* Adds to `sums`, by operand, what the tangent of input `input` contributes. */
static void push_input(const tracing *t, size_t input, weft_tensor *sums)
{
    const weft_gradient_context *c = t->context;
    weft_ints wrt = c->attrs[EINSUM_ATTR_WRT].ints;
    weft_tensor given = c->given.items[input], kept = t->operands[input];
    bool is_cotangent = input == t->operand_count;
    size_t count = 0;
    for (size_t i = 0; i < wrt.count; i++)
        if (wrt.items[i] != (int64_t)input) t->wrt[count++] = wrt.items[i];
    t->operands[input] = given;
    add_gradients(t, is_cotangent ? given : c->inputs.items[t->operand_count], count, sums);
    t->operands[input] = kept;
}

static weft_status *push_all(tracing *t, weft_tensor *out_values)
{
    weft_ints wrt = t->context->attrs[EINSUM_ATTR_WRT].ints;
    weft_tensor *sums = einsum_arena_allocate(&t->arena, t->operand_count, sizeof *sums);
    if (sums == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < t->context->given.count; i++)
        if (t->context->given.items[i].graph != NULL) push_input(t, i, sums);
    for (size_t i = 0; i < wrt.count; i++) out_values[i] = sums[wrt.items[i]];
    return NULL;
}

static weft_status *push_again(const weft_gradient_context *context, weft_tensor *out_values)
{
    tracing t;
    weft_status *status = begin(&t, context, context->inputs.count - 1);
    if (status == NULL) status = push_all(&t, out_values);
    einsum_arena_finish(&t.arena);
    return status;
}

/* ---- the type rule of the gradient ---- */

static size_t count_outputs(const weft_op_def *op, const weft_attr *attrs, size_t input_count)
{
    (void)op;
    (void)input_count;
    return attrs[EINSUM_ATTR_WRT].ints.count;
}

static weft_status *refuse(const weft_infer_context *context, weft_code code, const char *format, ...)
    WEFT_FORMAT(3, 4);

static weft_status *refuse(const weft_infer_context *context, weft_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status =
        weft_status_create_v(weft_graph_allocator(context->graph), code, EINSUM_GRADIENT_NAME, format, arguments);
    va_end(arguments);
    return status;
}

static weft_status *check_wrt(const weft_infer_context *context, size_t operand_count)
{
    weft_ints wrt = context->attrs[EINSUM_ATTR_WRT].ints;
    for (size_t i = 0; i < wrt.count; i++) {
        if (wrt.items[i] > (i == 0 ? -1 : wrt.items[i - 1]) && wrt.items[i] < (int64_t)operand_count) continue;
        return refuse(context, WEFT_INVALID_ARGUMENT,
                      EINSUM_GRADIENT_NAME ": wrt has %" PRId64 " at %zu, but must be rising numbers of %zu operand%s",
                      wrt.items[i], i, operand_count, einsum_plural(operand_count));
    }
    return NULL;
}

/* What symbols decide is checked at run time. */
static weft_status *check_cotangent(const weft_infer_context *context, weft_shape result)
{
    weft_shape shape = context->inputs[context->input_count - 1].shape;
    if (shape.rank != result.rank) {
        return refuse(context, WEFT_SHAPE_MISMATCH,
                      EINSUM_GRADIENT_NAME ": the cotangent has rank %zu but the result of the contraction %zu",
                      shape.rank, result.rank);
    }
    for (size_t axis = 0; axis < shape.rank; axis++) {
        char own[64], wanted[64];
        weft_extent_print(shape.extents[axis], own, sizeof own);
        weft_extent_print(result.extents[axis], wanted, sizeof wanted);
        if (!weft_require_equal(context->graph, shape.extents[axis], result.extents[axis],
                                EINSUM_GRADIENT_NAME ": axis %zu of the cotangent has extent %s but of the result of "
                                                     "the contraction %s",
                                axis, own, wanted))
            break;
    }
    return NULL;
}

static weft_status *infer(const weft_infer_context *context, weft_type *out_types)
{
    weft_type result;
    weft_ints wrt = context->attrs[EINSUM_ATTR_WRT].ints;
    if (context->input_count < 2) {
        return refuse(context, WEFT_INVALID_ARGUMENT,
                      EINSUM_GRADIENT_NAME ": there is 1 operand, but it takes those of the contraction and a "
                                           "cotangent");
    }
    WEFT_TRY(check_wrt(context, context->input_count - 1));
    WEFT_TRY(einsum_op_infer(context, context->input_count - 1, &result));
    WEFT_TRY(check_cotangent(context, result.shape));
    for (size_t i = 0; i < wrt.count; i++) out_types[i] = context->inputs[wrt.items[i]];
    return NULL;
}

/* ---- lowering the gradient ---- */

static bool is_among(size_t count, const weft_tensor *tensors, weft_tensor tensor)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(tensors[i], tensor)) return true;
    return false;
}

/* Inputs that are there several times are told apart: each has a gradient of its own. */
static void set_apart(size_t count, const weft_tensor *inputs, weft_tensor *out_operands)
{
    for (size_t i = 0; i < count; i++) {
        out_operands[i] = inputs[i];
        for (size_t k = 0; k < i; k++)
            if (is_same(inputs[i], inputs[k])) out_operands[i] = out_operands[k];
        while (weft_tensor_is_valid(out_operands[i]) && is_among(i, out_operands, out_operands[i]))
            out_operands[i] = weft_stop_gradient(out_operands[i]);
    }
}

static weft_status *lower_in(einsum_arena *arena, weft_graph *graph, const weft_attr *attrs, weft_tensors inputs,
                             const weft_shape *expected, weft_tensor *out_tensors)
{
    weft_tensor result;
    size_t count = inputs.count - 1;
    weft_ints wrt = attrs[EINSUM_ATTR_WRT].ints;
    weft_tensor *items = einsum_arena_allocate(arena, count, sizeof *items);
    weft_tensor *chosen = einsum_arena_allocate(arena, wrt.count, sizeof *chosen);
    if (items == NULL || chosen == NULL) return weft_status_out_of_memory();
    set_apart(count, inputs.items, items);
    const weft_tensors operands = {count, items};
    WEFT_TRY(expected == NULL ? einsum_op.lower(graph, &einsum_op, attrs, operands, &result)
                              : einsum_op.lower_for(graph, &einsum_op, attrs, operands, expected, &result));
    out_tensors[0] = result;
    if (!weft_tensor_is_valid(result)) return NULL;
    for (size_t i = 0; i < wrt.count; i++) chosen[i] = items[wrt.items[i]];
    weft_vjp(WEFT_TENSORS(result), WEFT_TENSORS(inputs.items[count]), (weft_tensors){wrt.count, chosen}, out_tensors);
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

static const weft_attr_def attributes[EINSUM_GRADIENT_ATTR_COUNT] = {
    [EINSUM_ATTR_EQUATION] = {"equation", WEFT_ATTR_STRING}, [EINSUM_ATTR_ORDER] = {"order", WEFT_ATTR_STRING},
    [EINSUM_ATTR_PATH] = {"path", WEFT_ATTR_INTS},           [EINSUM_ATTR_SLICED] = {"sliced", WEFT_ATTR_INTS},
    [EINSUM_ATTR_PLANNER] = {"planner", WEFT_ATTR_STRING},   [EINSUM_ATTR_WRT] = {"wrt", WEFT_ATTR_INTS},
};

const weft_op_def einsum_gradient_op = {
    .size = sizeof(weft_op_def),
    .name = EINSUM_GRADIENT_NAME,
    .version = 1,
    .input_count = -1,
    .op_class = WEFT_CLASS_OPAQUE,
    .dtypes = 1u << WEFT_F16 | 1u << WEFT_BF16 | 1u << WEFT_F32 | 1u << WEFT_F64 | 1u << WEFT_C64 | 1u << WEFT_C128,
    .attr_count = EINSUM_GRADIENT_ATTR_COUNT,
    .attrs = attributes,
    .infer = infer,
    .lower = lower,
    .kernel = einsum_gradient_run,
    .lower_for = lower_for,
    .vjp = pull_again,
    .jvp = push_again,
    .count_outputs = count_outputs,
};
