/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that multiply and sum. */
#include <string.h>
#include <weft/einsum.h>
#include "test/onnx/op.h"

weft_status *onnx_einsum(onnx_node *node)
{
    const Onnx__AttributeProto *equation = onnx_attribute(node, "equation");
    char text[256] = {0};
    if (equation->s.len >= sizeof text) return onnx_unsupported(node, "the equation is too long for the importer");
    memcpy(text, equation->s.data, equation->s.len);
    node->outputs[0] = weft_einsum(text, (weft_tensors){node->input_count, node->inputs}, NULL);
    return NULL;
}

weft_status *onnx_gemm(onnx_node *node)
{
    weft_tensor a = node->inputs[0], b = node->inputs[1];
    if (onnx_int(node, "transA", 0) != 0) a = weft_transpose(a, 0, 1);
    if (onnx_int(node, "transB", 0) != 0) b = weft_transpose(b, 0, 1);
    weft_tensor y = weft_matmul(a, b);
    y = weft_mul(y, onnx_number(y, onnx_float(node, "alpha", 1)));
    if (onnx_has(node, 2)) y = weft_add(y, weft_mul(node->inputs[2], onnx_number(y, onnx_float(node, "beta", 1))));
    node->outputs[0] = y;
    return NULL;
}

/* An integer operand as i32 without its zero point, which is one number, or one for each row. */
static weft_tensor centered(const onnx_node *node, size_t input, size_t zero)
{
    weft_tensor x = weft_cast(node->inputs[input], WEFT_I32);
    if (!onnx_has(node, zero)) return x;
    return weft_sub(x, weft_cast(node->inputs[zero], WEFT_I32));
}

weft_status *onnx_matmul_integer(onnx_node *node)
{
    node->outputs[0] = weft_matmul(centered(node, 0, 2), centered(node, 1, 3));
    return NULL;
}

/* ---- quantization: round(x / scale) + zero, as u8 ---- */

/* `values` is one number, or one for each element along `axis` of `like`. */
static weft_tensor along(weft_tensor values, weft_tensor like, int64_t axis)
{
    int64_t shape[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(like);
    if (weft_tensor_rank(values) == 0) return values;
    for (size_t i = 0; i < rank; i++) shape[i] = 1;
    weft_extent_is_static(weft_tensor_extent(values, 0), &shape[axis < 0 ? axis + (int64_t)rank : axis]);
    return onnx_reshape(values, shape, rank);
}

static weft_tensor quantize(weft_tensor x, weft_tensor scale, weft_tensor zero)
{
    weft_tensor shifted = weft_add(weft_round(weft_div(x, scale)), weft_cast(zero, weft_tensor_dtype(x)));
    return weft_cast(shifted, weft_tensor_dtype(zero));
}

static weft_tensor zero_point(const onnx_node *node, size_t input)
{
    return onnx_has(node, input) ? node->inputs[input] : weft_scalar(node->import->graph, WEFT_U8, 0);
}

weft_status *onnx_quantize(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    int64_t axis = onnx_int(node, "axis", 1);
    node->outputs[0] = quantize(x, along(node->inputs[1], x, axis), along(zero_point(node, 2), x, axis));
    return NULL;
}

/* (x - zero) * scale */
static weft_tensor dequantize(weft_tensor x, weft_tensor scale, weft_tensor zero)
{
    weft_dtype dtype = weft_tensor_dtype(scale);
    return weft_mul(weft_sub(weft_cast(x, dtype), weft_cast(zero, dtype)), scale);
}

weft_status *onnx_dequantize(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    int64_t axis = onnx_int(node, "axis", 1);
    node->outputs[0] = dequantize(x, along(node->inputs[1], x, axis), along(zero_point(node, 2), x, axis));
    return NULL;
}

/* The range of x with 0 in it, in 255 steps. */
weft_status *onnx_dynamic_quantize(onnx_node *node)
{
    int64_t axes[WEFT_MAX_RANK];
    weft_tensor x = node->inputs[0], none = onnx_number(x, 0), most = onnx_number(x, 255);
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    weft_tensor high = weft_max(weft_reduce_max(x, (weft_ints){rank, axes}, false), none);
    weft_tensor low = weft_min(weft_reduce_min(x, (weft_ints){rank, axes}, false), none);
    weft_tensor scale = weft_div(weft_sub(high, low), most);
    weft_tensor zero = weft_cast(weft_round(weft_div(weft_neg(low), scale)), WEFT_U8);
    node->outputs[0] = quantize(x, scale, zero);
    node->outputs[1] = scale;
    node->outputs[2] = zero;
    return NULL;
}

weft_status *onnx_quantized_matmul(onnx_node *node)
{
    weft_tensor a = dequantize(node->inputs[0], node->inputs[1], node->inputs[2]);
    weft_tensor b = dequantize(node->inputs[3], node->inputs[4], node->inputs[5]);
    node->outputs[0] = quantize(weft_matmul(a, b), node->inputs[6], node->inputs[7]);
    return NULL;
}
