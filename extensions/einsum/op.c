/* SPDX-License-Identifier: Apache-2.0 */
#include "op.h"
#include "gradient.h"
#include "lower.h"

weft_status *einsum_op_read(einsum_expression *expression, const weft_attr *attrs, size_t operand_count,
                            const weft_shape *shapes, weft_graph *graph, einsum_policy *out_policy)
{
    WEFT_TRY(einsum_policy_parse(&expression->arena, attrs[EINSUM_ATTR_ORDER].data, attrs[EINSUM_ATTR_PATH].ints,
                                 attrs[EINSUM_ATTR_SLICED].ints, attrs[EINSUM_ATTR_PLANNER].data, out_policy));
    WEFT_TRY(einsum_expression_parse(expression, attrs[EINSUM_ATTR_EQUATION].data, false));
    WEFT_TRY(einsum_expression_bind(expression, operand_count, shapes, graph));
    return einsum_expression_reduce(expression);
}

/* ---- the type rule ---- */

static weft_status *check_dtypes(const weft_infer_context *context)
{
    for (size_t i = 1; i < context->input_count; i++) {
        if (context->inputs[i].dtype == context->inputs[0].dtype) continue;
        return weft_status_create(weft_graph_allocator(context->graph), WEFT_DTYPE_MISMATCH, EINSUM_OP_NAME,
                                  "einsum: operand %zu has dtype %s but operand 0 has %s; cast explicitly", i,
                                  weft_dtype_name(context->inputs[i].dtype), weft_dtype_name(context->inputs[0].dtype));
    }
    return NULL;
}

static weft_status *fill_type(const weft_infer_context *context, const einsum_expression *x, weft_type *out_type)
{
    einsum_labels output = x->network.output;
    weft_extent *extents = context->allocate(context, (output.count + 1) * sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < output.count; i++) extents[i] = x->extents[output.items[i]];
    *out_type = (weft_type){context->inputs[0].dtype, {output.count, extents}};
    return NULL;
}

/* An order that depends on no extents is worked out here, so that a wrong path is an error of the node. */
static weft_status *infer_with(const weft_infer_context *context, size_t operand_count, einsum_expression *x,
                               weft_type *out_type)
{
    einsum_policy policy;
    weft_shape *shapes = einsum_arena_allocate(&x->arena, operand_count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < operand_count; i++) shapes[i] = context->inputs[i].shape;
    WEFT_TRY(einsum_op_read(x, context->attrs, operand_count, shapes, context->graph, &policy));
    if (policy.kind != EINSUM_POLICY_AUTO) WEFT_TRY(einsum_expression_order(x, &policy, context->inputs[0].dtype));
    return fill_type(context, x, out_type);
}

weft_status *einsum_op_infer(const weft_infer_context *context, size_t operand_count, weft_type *out_type)
{
    WEFT_TRY(check_dtypes(context));
    einsum_expression x;
    einsum_expression_init(&x, weft_graph_allocator(context->graph));
    weft_status *status = infer_with(context, operand_count, &x, out_type);
    einsum_expression_finish(&x);
    return status;
}

static weft_status *infer(const weft_infer_context *context, weft_type *out_types)
{
    return einsum_op_infer(context, context->input_count, out_types);
}

/* ---- lowering ---- */

static weft_status *lower_with(einsum_expression *x, const weft_attr *attrs, weft_tensors inputs,
                               weft_tensor *out_tensor)
{
    einsum_policy policy;
    weft_shape *shapes = einsum_arena_allocate(&x->arena, inputs.count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < inputs.count; i++) shapes[i] = weft_tensor_shape(inputs.items[i]);
    WEFT_TRY(einsum_op_read(x, attrs, inputs.count, shapes, NULL, &policy));
    if (einsum_policy_has_limit(&policy)) return NULL;
    if (einsum_policy_needs_extents(&policy, inputs.count) && !einsum_expression_is_static(x)) return NULL;
    WEFT_TRY(einsum_expression_order(x, &policy, weft_tensor_dtype(inputs.items[0])));
    return einsum_lower(x, inputs.items, out_tensor);
}

/* ---- lowering for extents that are expected ---- */

/* Extents of operands that agree, whatever is expected: where a label has a number it is that, else what is expected
 * where it first appears; extents of one stay. */
static weft_status *fill_expected(einsum_expression *x, const weft_shape *expected, weft_shape *out_shapes)
{
    const einsum_network *network = &x->network;
    weft_extent *known = einsum_arena_allocate(&x->arena, network->label_count, sizeof *known);
    if (known == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < network->label_count; i++)
        if (weft_extent_is_static(x->extents[i], NULL)) known[i] = x->extents[i];
    for (size_t i = 0; i < network->operand_count; i++) {
        weft_shape shape = x->shapes[i];
        weft_extent *extents = einsum_arena_allocate(&x->arena, shape.rank, sizeof *extents);
        if (extents == NULL) return weft_status_out_of_memory();
        for (size_t axis = 0; axis < shape.rank; axis++) {
            weft_extent *label = &known[network->operands[i].items[axis]];
            bool is_one = einsum_extent_is_one(shape.extents[axis]);
            if (!is_one && label->value == 0) *label = expected[i].extents[axis];
            extents[axis] = is_one ? weft_extent_of(1) : *label;
        }
        out_shapes[i] = (weft_shape){shape.rank, extents};
    }
    return NULL;
}

/* The order of `x` is that of the same expression over the shapes that are expected. */
static weft_status *order_for(einsum_expression *x, einsum_expression *planned, const weft_attr *attrs,
                              const weft_shape *shapes, weft_dtype dtype)
{
    einsum_policy policy;
    size_t count = x->network.operand_count;
    WEFT_TRY(einsum_op_read(planned, attrs, count, shapes, NULL, &policy));
    WEFT_TRY(einsum_expression_order(planned, &policy, dtype));
    x->pairs = planned->pairs;
    return NULL;
}

/* Whether it can be lowered for extents that are not known. */
static weft_status *check_expected(const einsum_expression *x, const einsum_policy *policy)
{
    bool limited = einsum_policy_has_limit(policy);
    if (!limited && policy->sliced.count == 0) return NULL;
    return weft_status_create(
        x->arena.allocator, WEFT_UNSUPPORTED, "weft_einsum",
        "einsum: %s at run time, for the extents that it meets, which cannot be done ahead of time",
        limited ? "a memory limit is kept" : "labels with symbolic extents are sliced");
}

static weft_status *lower_expected(einsum_expression *x, einsum_expression *planned, const weft_attr *attrs,
                                   weft_tensors inputs, const weft_shape *expected, weft_tensor *out_tensor)
{
    einsum_policy policy;
    weft_shape *shapes = einsum_arena_allocate(&x->arena, 2 * inputs.count, sizeof *shapes);
    if (shapes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < inputs.count; i++) shapes[i] = weft_tensor_shape(inputs.items[i]);
    WEFT_TRY(einsum_op_read(x, attrs, inputs.count, shapes, NULL, &policy));
    WEFT_TRY(check_expected(x, &policy));
    WEFT_TRY(fill_expected(x, expected, shapes + inputs.count));
    WEFT_TRY(order_for(x, planned, attrs, shapes + inputs.count, weft_tensor_dtype(inputs.items[0])));
    return einsum_lower(x, inputs.items, out_tensor);
}

weft_status *einsum_op_lower(weft_graph *graph, const weft_attr *attrs, weft_tensors inputs, const weft_shape *expected,
                             bool in_one_loop, weft_tensor *out_result)
{
    *out_result = (weft_tensor){0};
    einsum_expression x, planned;
    einsum_expression_init(&x, weft_graph_allocator(graph));
    einsum_expression_init(&planned, weft_graph_allocator(graph));
    x.in_one_loop = in_one_loop;
    weft_status *status = expected == NULL ? lower_with(&x, attrs, inputs, out_result)
                                           : lower_expected(&x, &planned, attrs, inputs, expected, out_result);
    einsum_expression_finish(&planned);
    einsum_expression_finish(&x);
    return status;
}

static weft_status *lower(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                          weft_tensor *out_tensors)
{
    (void)op;
    return einsum_op_lower(graph, attrs, inputs, NULL, false, out_tensors);
}

static weft_status *lower_for(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                              const weft_shape *expected, weft_tensor *out_tensors)
{
    (void)op;
    return einsum_op_lower(graph, attrs, inputs, expected, false, out_tensors);
}

/* ---- the op ---- */

static const weft_attr_def attributes[EINSUM_ATTR_COUNT] = {
    [EINSUM_ATTR_EQUATION] = {"equation", WEFT_ATTR_STRING}, [EINSUM_ATTR_ORDER] = {"order", WEFT_ATTR_STRING},
    [EINSUM_ATTR_PATH] = {"path", WEFT_ATTR_INTS},           [EINSUM_ATTR_SLICED] = {"sliced", WEFT_ATTR_INTS},
    [EINSUM_ATTR_PLANNER] = {"planner", WEFT_ATTR_STRING},
};

const weft_op_def einsum_op = {
    .size = sizeof(weft_op_def),
    .name = EINSUM_OP_NAME,
    .version = 1,
    .input_count = -1,
    .output_count = 1,
    .op_class = WEFT_CLASS_OPAQUE,
    .dtypes = (1u << WEFT_DTYPE_COUNT) - 1,
    .attr_count = EINSUM_ATTR_COUNT,
    .attrs = attributes,
    .infer = infer,
    .lower = lower,
    .kernel = einsum_op_run,
    .lower_for = lower_for,
    .vjp = einsum_gradient_pull,
    .jvp = einsum_gradient_push,
};
