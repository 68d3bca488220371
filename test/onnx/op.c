/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "test/onnx/op.h"

static weft_tensor identity(weft_tensor x)
{
    return x;
}

typedef struct row {
    const char *name;
    onnx_op op;
    weft_tensor (*unary)(weft_tensor x);
    weft_tensor (*binary)(weft_tensor a, weft_tensor b);
} row;

static weft_status *run_unary(onnx_node *node);
static weft_status *run_binary(onnx_node *node);

#define UNARY(name, function) {#name, run_unary, function, NULL},
#define BINARY(name, function) {#name, run_binary, NULL, function},
#define VARIADIC BINARY
#define OP(name, function) {#name, onnx_##function, NULL, NULL},
static const row rows[] = {
#include "test/onnx/op.def"
};

static const row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

onnx_op onnx_op_find(const char *name)
{
    const row *found = row_of(name);
    return found == NULL ? NULL : found->op;
}

static weft_status *run_unary(onnx_node *node)
{
    node->outputs[0] = row_of(node->proto->op_type)->unary(node->inputs[0]);
    return NULL;
}

static weft_status *run_binary(onnx_node *node)
{
    const row *found = row_of(node->proto->op_type);
    node->outputs[0] = node->inputs[0];
    for (size_t i = 1; i < node->input_count; i++) node->outputs[0] = found->binary(node->outputs[0], node->inputs[i]);
    return NULL;
}
