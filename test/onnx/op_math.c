/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that compute: elementwise ones that are no single op here, reductions. */
#include "test/onnx/op.h"

/* ---- elementwise ---- */

weft_status *onnx_reciprocal(onnx_node *node)
{
    node->outputs[0] = weft_div(onnx_number(node->inputs[0], 1), node->inputs[0]);
    return NULL;
}

weft_status *onnx_clip(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    if (onnx_has_attribute(node, "min")) x = weft_max(x, onnx_number(x, onnx_float(node, "min", 0)));
    if (onnx_has_attribute(node, "max")) x = weft_min(x, onnx_number(x, onnx_float(node, "max", 0)));
    if (onnx_has(node, 1)) x = weft_max(x, node->inputs[1]);
    if (onnx_has(node, 2)) x = weft_min(x, node->inputs[2]);
    node->outputs[0] = x;
    return NULL;
}

weft_status *onnx_mean(onnx_node *node)
{
    weft_tensor sum = node->inputs[0];
    for (size_t i = 1; i < node->input_count; i++) sum = weft_add(sum, node->inputs[i]);
    node->outputs[0] = weft_div(sum, onnx_number(sum, (double)node->input_count));
    return NULL;
}

/* ---- reductions ---- */

typedef weft_tensor (*reduction)(weft_tensor x, weft_ints axes, bool keep);

/* The operand, the axes and whether they stay. */
typedef struct reduced {
    weft_tensor x;
    onnx_list axes;
    bool keep;
} reduced;

static weft_status *read_reduced(const onnx_node *node, reduced *out)
{
    bool given;
    *out = (reduced){.x = node->inputs[0], .keep = onnx_int(node, "keepdims", 1) != 0};
    WEFT_TRY(onnx_ints_or_operand(node, "axes", 1, &out->axes, &given));
    if (out->axes.count > 0 || onnx_int(node, "noop_with_empty_axes", 0) != 0) return NULL;
    out->axes.count = weft_tensor_rank(out->x);
    for (size_t i = 0; i < out->axes.count; i++) out->axes.items[i] = (int64_t)i;
    return NULL;
}

static weft_tensor reduce_with(const reduced *r, weft_tensor x, reduction function)
{
    return function(x, (weft_ints){r->axes.count, r->axes.items}, r->keep);
}

static weft_status *reduce(onnx_node *node, reduction function)
{
    reduced r;
    WEFT_TRY(read_reduced(node, &r));
    node->outputs[0] = reduce_with(&r, r.x, function);
    return NULL;
}

weft_status *onnx_reduce_sum(onnx_node *node)
{
    return reduce(node, weft_reduce_sum);
}

weft_status *onnx_reduce_prod(onnx_node *node)
{
    return reduce(node, weft_reduce_prod);
}

weft_status *onnx_reduce_max(onnx_node *node)
{
    return reduce(node, weft_reduce_max);
}

weft_status *onnx_reduce_min(onnx_node *node)
{
    return reduce(node, weft_reduce_min);
}

weft_status *onnx_reduce_mean(onnx_node *node)
{
    return reduce(node, weft_mean);
}

weft_status *onnx_reduce_l1(onnx_node *node)
{
    reduced r;
    WEFT_TRY(read_reduced(node, &r));
    node->outputs[0] = reduce_with(&r, weft_abs(r.x), weft_reduce_sum);
    return NULL;
}

weft_status *onnx_reduce_sum_square(onnx_node *node)
{
    reduced r;
    WEFT_TRY(read_reduced(node, &r));
    node->outputs[0] = reduce_with(&r, weft_mul(r.x, r.x), weft_reduce_sum);
    return NULL;
}

weft_status *onnx_reduce_l2(onnx_node *node)
{
    WEFT_TRY(onnx_reduce_sum_square(node));
    node->outputs[0] = weft_sqrt(node->outputs[0]);
    return NULL;
}

weft_status *onnx_reduce_log_sum(onnx_node *node)
{
    WEFT_TRY(onnx_reduce_sum(node));
    node->outputs[0] = weft_log(node->outputs[0]);
    return NULL;
}

weft_status *onnx_reduce_log_sum_exp(onnx_node *node)
{
    reduced r;
    WEFT_TRY(read_reduced(node, &r));
    node->outputs[0] = weft_log(reduce_with(&r, weft_exp(r.x), weft_reduce_sum));
    return NULL;
}
