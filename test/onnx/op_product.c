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
