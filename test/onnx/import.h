/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_ONNX_IMPORT_H
#define WEFT_TEST_ONNX_IMPORT_H
/*
 * ONNX models traced as graphs. A model is imported for given inputs: where an op of weft wants a number that ONNX
 * hands over as a tensor (a shape, the bounds of a slice), the tensor is computed on the reference runtime while
 * importing.
 */
#include "test/onnx/tensor.h"

enum { ONNX_MAX_TENSORS = 32 };

typedef struct onnx_scope onnx_scope; /* values by name */

typedef struct onnx_import {
    weft_graph *graph;
    weft_executor *executor;
    int64_t opset;
    size_t input_count;
    const char *const *input_names; /* of the model, each with an array */
    weft_array *const *inputs;
    onnx_scope *scope;
} onnx_import;

/* A node while it is traced. Operands that are left out are invalid tensors. */
typedef struct onnx_node {
    onnx_import *import;
    const Onnx__NodeProto *proto;
    size_t input_count, output_count;
    weft_tensor inputs[ONNX_MAX_TENSORS];
    weft_tensor outputs[ONNX_MAX_TENSORS]; /* filled in by the op */
} onnx_node;

/* Traces one op. UNSUPPORTED says what weft has no counterpart for. */
typedef weft_status *(*onnx_op)(onnx_node *node);
/* The op of that name, or NULL. */
onnx_op onnx_op_find(const char *name);

/* ---- for ops ---- */
bool onnx_has(const onnx_node *node, size_t input);
bool onnx_has_attribute(const onnx_node *node, const char *name);
const Onnx__AttributeProto *onnx_attribute(const onnx_node *node, const char *name);
int64_t onnx_int(const onnx_node *node, const char *name, int64_t otherwise);
double onnx_float(const onnx_node *node, const char *name, double otherwise);
/* Whether the string is `text`; `otherwise` if there is no such attribute. */
bool onnx_string_is(const onnx_node *node, const char *name, const char *text, bool otherwise);
/* The list, or one with no items and items NULL when there is no such attribute. */
weft_ints onnx_ints(const onnx_node *node, const char *name);
weft_status *onnx_unsupported(const onnx_node *node, const char *why) WEFT_MUST_USE;

/* The value of a tensor now, on the reference runtime. */
weft_status *onnx_evaluate(const onnx_node *node, weft_tensor tensor, weft_array **out_array) WEFT_MUST_USE;
/* A list of integers in a fixed place. */
typedef struct onnx_list {
    size_t count;
    int64_t items[64];
} onnx_list;
/* The integers in operand `input`, evaluated. */
weft_status *onnx_operand_ints(const onnx_node *node, size_t input, onnx_list *out_list) WEFT_MUST_USE;
weft_status *onnx_operand_float(const onnx_node *node, size_t input, double *out_value) WEFT_MUST_USE;
/* Attribute `name`, or operand `input` where newer versions have it there, or nothing (count 0, *out_given false). */
weft_status *onnx_ints_or_operand(const onnx_node *node, const char *name, size_t input, onnx_list *out_list,
                                  bool *out_given) WEFT_MUST_USE;
/* Extents of a tensor; all of them are static. */
onnx_list onnx_shape(weft_tensor tensor);
weft_shape onnx_extents(const onnx_list *list, weft_extent *storage);
weft_tensor onnx_reshape(weft_tensor x, const int64_t *shape, size_t rank);
weft_tensor onnx_number(weft_tensor like, double value);

/* Traces a graph inside of the model, which sees what is around it; fills the node's outputs. */
weft_status *onnx_subgraph_trace(onnx_node *node, const Onnx__GraphProto *graph) WEFT_MUST_USE;

/* ---- models ---- */
/* Traces `model` for the inputs that `import` names; fills `out_tensors`, one for each output of the model. */
weft_status *onnx_model_trace(onnx_import *import, const Onnx__ModelProto *model,
                              weft_tensor *out_tensors) WEFT_MUST_USE;
#endif
