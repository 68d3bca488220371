/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that compute: elementwise ones that are no single op here, reductions. */
#include <math.h>
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

/* Whole or broken exponents of another dtype: both compute in the wider kind, the base's dtype comes out. */
weft_status *onnx_pow(onnx_node *node)
{
    weft_tensor a = node->inputs[0], b = node->inputs[1];
    weft_dtype dtype = weft_tensor_dtype(a);
    bool is_float = weft_dtype_info_of(dtype)->kind == WEFT_KIND_FLOAT;
    weft_dtype common =
        weft_dtype_info_of(weft_tensor_dtype(b))->kind == WEFT_KIND_FLOAT && !is_float ? WEFT_F64 : dtype;
    node->outputs[0] = weft_cast(weft_pow(weft_cast(a, common), weft_cast(b, common)), dtype);
    return NULL;
}

weft_status *onnx_mod(onnx_node *node)
{
    bool truncates = onnx_int(node, "fmod", 0) != 0;
    node->outputs[0] = (truncates ? weft_fmod : weft_remainder)(node->inputs[0], node->inputs[1]);
    return NULL;
}

weft_status *onnx_bit_shift(onnx_node *node)
{
    bool left = onnx_string_is(node, "direction", "LEFT", false);
    node->outputs[0] = (left ? weft_shift_left : weft_shift_right)(node->inputs[0], node->inputs[1]);
    return NULL;
}

weft_status *onnx_is_infinite(onnx_node *node)
{
    weft_tensor x = node->inputs[0], none = weft_full_like(weft_is_nan(x), 0);
    weft_tensor above = weft_eq(x, onnx_number(x, INFINITY)), below = weft_eq(x, onnx_number(x, -INFINITY));
    if (onnx_int(node, "detect_positive", 1) == 0) above = none;
    if (onnx_int(node, "detect_negative", 1) == 0) below = none;
    node->outputs[0] = weft_or(above, below);
    return NULL;
}

weft_status *onnx_cumulative_sum(onnx_node *node)
{
    onnx_list axis;
    WEFT_TRY(onnx_operand_ints(node, 1, &axis));
    bool reverse = onnx_int(node, "reverse", 0) != 0, exclusive = onnx_int(node, "exclusive", 0) != 0;
    node->outputs[0] = weft_cumsum(node->inputs[0], axis.items[0], reverse, exclusive);
    return NULL;
}

/* ---- windows of signals: sums of cosines ---- */

static weft_status *cosine_window(onnx_node *node, double first, double second, double third)
{
    onnx_list size;
    weft_graph *graph = node->import->graph;
    weft_dtype dtype;
    WEFT_TRY(onnx_operand_ints(node, 0, &size));
    WEFT_TRY(onnx_dtype((int32_t)onnx_int(node, "output_datatype", 1), &dtype));
    int64_t count = size.items[0], span = onnx_int(node, "periodic", 1) != 0 ? count : count - 1;
    weft_tensor turn =
        weft_arange(graph, WEFT_F64, 0, 2 * 3.14159265358979323846 / (double)span, weft_extent_of(count));
    weft_tensor sum = weft_sub(onnx_number(turn, first), weft_mul(onnx_number(turn, second), weft_cos(turn)));
    weft_tensor twice = weft_cos(weft_add(turn, turn));
    node->outputs[0] = weft_cast(weft_add(sum, weft_mul(onnx_number(turn, third), twice)), dtype);
    return NULL;
}

weft_status *onnx_hann_window(onnx_node *node)
{
    return cosine_window(node, 0.5, 0.5, 0);
}

weft_status *onnx_hamming_window(onnx_node *node)
{
    return cosine_window(node, 25.0 / 46, 21.0 / 46, 0);
}

weft_status *onnx_blackman_window(onnx_node *node)
{
    return cosine_window(node, 0.42, 0.5, 0.08);
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
