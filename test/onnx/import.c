/* SPDX-License-Identifier: Apache-2.0 */
#include "test/onnx/import.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes ---- */

bool onnx_has(const onnx_node *node, size_t input)
{
    return input < node->input_count && weft_tensor_is_valid(node->inputs[input]);
}

const Onnx__AttributeProto *onnx_attribute(const onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++)
        if (strcmp(node->proto->attribute[i]->name, name) == 0) return node->proto->attribute[i];
    return NULL;
}

bool onnx_has_attribute(const onnx_node *node, const char *name)
{
    return onnx_attribute(node, name) != NULL;
}

int64_t onnx_int(const onnx_node *node, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
    return attribute == NULL ? otherwise : attribute->i;
}

double onnx_float(const onnx_node *node, const char *name, double otherwise)
{
    const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
    return attribute == NULL ? otherwise : (double)attribute->f;
}

bool onnx_string_is(const onnx_node *node, const char *name, const char *text, bool otherwise)
{
    const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
    if (attribute == NULL) return otherwise;
    return attribute->s.len == strlen(text) && memcmp(attribute->s.data, text, attribute->s.len) == 0;
}

weft_ints onnx_ints(const onnx_node *node, const char *name)
{
    const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
    return attribute == NULL ? (weft_ints){0, NULL} : (weft_ints){attribute->n_ints, attribute->ints};
}

weft_status *onnx_unsupported(const onnx_node *node, const char *why)
{
    return weft_status_create(NULL, WEFT_UNSUPPORTED, "onnx", "%s: %s", node->proto->op_type, why);
}

/* ---- values that have to be known ---- */

weft_status *onnx_evaluate(const onnx_node *node, weft_tensor tensor, weft_array **out_array)
{
    const onnx_import *import = node->import;
    weft_program *program;
    WEFT_TRY(weft_compile(import->graph, WEFT_TENSORS(tensor), NULL, &program));
    weft_array *inputs[ONNX_MAX_TENSORS];
    size_t count = weft_program_input_count(program);
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < import->input_count; n++)
            if (strcmp(weft_program_input_name(program, i), import->input_names[n]) == 0) inputs[i] = import->inputs[n];
    *out_array = NULL;
    weft_run run = {.runtime = "ref", .input_count = count, .inputs = inputs, .output_count = 1, .outputs = out_array};
    weft_status *status = weft_executor_run(import->executor, program, &run);
    weft_program_release(program);
    return status;
}

weft_status *onnx_operand_ints(const onnx_node *node, size_t input, onnx_list *out_list)
{
    weft_array *array;
    WEFT_TRY(onnx_evaluate(node, weft_cast(node->inputs[input], WEFT_I64), &array));
    int64_t count = weft_array_count(array);
    bool fits = count <= (int64_t)(sizeof out_list->items / sizeof *out_list->items);
    out_list->count = fits ? (size_t)count : 0;
    memcpy(out_list->items, weft_array_data(array), out_list->count * sizeof *out_list->items);
    weft_array_release(array);
    return fits ? NULL : onnx_unsupported(node, "the list of integers is longer than any shape");
}

weft_status *onnx_operand_float(const onnx_node *node, size_t input, double *out_value)
{
    weft_array *array;
    WEFT_TRY(onnx_evaluate(node, weft_cast(node->inputs[input], WEFT_F64), &array));
    memcpy(out_value, weft_array_data(array), sizeof *out_value);
    weft_array_release(array);
    return NULL;
}

weft_status *onnx_ints_or_operand(const onnx_node *node, const char *name, size_t input, onnx_list *out_list,
                                  bool *out_given)
{
    weft_ints ints = onnx_ints(node, name);
    out_list->count = ints.count;
    *out_given = onnx_has_attribute(node, name) || onnx_has(node, input);
    if (onnx_has_attribute(node, name) && ints.count > 0)
        memcpy(out_list->items, ints.items, ints.count * sizeof *ints.items);
    else if (onnx_has(node, input)) return onnx_operand_ints(node, input, out_list);
    return NULL;
}

/* ---- shapes ---- */

onnx_list onnx_shape(weft_tensor tensor)
{
    onnx_list list = {.count = weft_tensor_rank(tensor)};
    for (size_t i = 0; i < list.count; i++)
        weft_extent_is_static(weft_tensor_extent(tensor, (int64_t)i), &list.items[i]);
    return list;
}

weft_shape onnx_extents(const onnx_list *list, weft_extent *storage)
{
    for (size_t i = 0; i < list->count; i++) storage[i] = weft_extent_of(list->items[i]);
    return (weft_shape){list->count, storage};
}

weft_tensor onnx_reshape(weft_tensor x, const int64_t *shape, size_t rank)
{
    weft_extent extents[WEFT_MAX_RANK];
    for (size_t i = 0; i < rank && i < WEFT_MAX_RANK; i++) extents[i] = weft_extent_of(shape[i]);
    return weft_reshape(x, (weft_shape){rank, extents});
}

weft_tensor onnx_number(weft_tensor like, double value)
{
    return weft_scalar(like.graph, weft_tensor_dtype(like), value);
}

/* ---- models ---- */

struct onnx_scope {
    onnx_scope *next;
    const char *name;
    weft_tensor tensor;
};

static weft_status *define(onnx_import *import, const char *name, weft_tensor tensor)
{
    onnx_scope *entry = malloc(sizeof *entry);
    if (entry == NULL) return weft_status_create(NULL, WEFT_OUT_OF_MEMORY, "onnx", "no memory");
    *entry = (onnx_scope){import->scope, name, tensor};
    import->scope = entry;
    return NULL;
}

static weft_tensor find(const onnx_import *import, const char *name)
{
    for (const onnx_scope *entry = import->scope; entry != NULL; entry = entry->next)
        if (strcmp(entry->name, name) == 0) return entry->tensor;
    return (weft_tensor){import->graph, UINT32_MAX, 0};
}

static void forget_all(onnx_import *import)
{
    while (import->scope != NULL) {
        onnx_scope *next = import->scope->next;
        free(import->scope);
        import->scope = next;
    }
}

static weft_status *define_inputs(onnx_import *import)
{
    for (size_t i = 0; i < import->input_count; i++) {
        const weft_array *array = import->inputs[i];
        weft_extent extents[WEFT_MAX_RANK];
        size_t rank = weft_array_rank(array);
        for (size_t axis = 0; axis < rank; axis++) extents[axis] = weft_extent_of(weft_array_shape(array)[axis]);
        weft_shape shape = {rank, extents};
        weft_tensor tensor = weft_input(import->graph, import->input_names[i], weft_array_dtype(array), shape);
        WEFT_TRY(define(import, import->input_names[i], tensor));
    }
    return NULL;
}

static weft_status *define_initializers(onnx_import *import, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        weft_array *array;
        WEFT_TRY(onnx_array(graph->initializer[i], &array));
        weft_ints shape = {weft_array_rank(array), weft_array_shape(array)};
        weft_tensor tensor = weft_constant(import->graph, weft_array_dtype(array), shape, weft_array_data(array));
        weft_array_release(array);
        WEFT_TRY(define(import, graph->initializer[i]->name, tensor));
    }
    return NULL;
}

static weft_status *graph_error(const onnx_import *import)
{
    const weft_status *error = weft_graph_error(import->graph);
    if (error == NULL) return NULL;
    return weft_status_create(NULL, weft_status_code(error), "onnx", "%s", weft_status_message(error));
}

static weft_status *trace_node(onnx_import *import, const Onnx__NodeProto *proto)
{
    onnx_node node = {.import = import, .proto = proto, .input_count = proto->n_input, .output_count = proto->n_output};
    onnx_op op = onnx_op_find(proto->op_type);
    if (op == NULL) return onnx_unsupported(&node, "there is no counterpart");
    if (node.input_count > ONNX_MAX_TENSORS || node.output_count > ONNX_MAX_TENSORS)
        return onnx_unsupported(&node, "it has more operands than the importer takes");
    for (size_t i = 0; i < node.input_count; i++) node.inputs[i] = find(import, proto->input[i]);
    WEFT_TRY(op(&node));
    WEFT_TRY(graph_error(import));
    for (size_t i = 0; i < node.output_count; i++)
        if (proto->output[i][0] != 0) WEFT_TRY(define(import, proto->output[i], node.outputs[i]));
    return NULL;
}

static weft_status *trace_graph(onnx_import *import, const Onnx__GraphProto *graph, weft_tensor *out_tensors)
{
    WEFT_TRY(define_initializers(import, graph));
    WEFT_TRY(graph_error(import));
    for (size_t i = 0; i < graph->n_node; i++) WEFT_TRY(trace_node(import, graph->node[i]));
    for (size_t i = 0; i < graph->n_output; i++) out_tensors[i] = find(import, graph->output[i]->name);
    return NULL;
}

weft_status *onnx_subgraph_trace(onnx_node *node, const Onnx__GraphProto *graph)
{
    return trace_graph(node->import, graph, node->outputs);
}

weft_status *onnx_model_trace(onnx_import *import, const Onnx__ModelProto *model, weft_tensor *out_tensors)
{
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = model->opset_import[i]->domain;
        if (domain == NULL || domain[0] == 0) import->opset = model->opset_import[i]->version;
    }
    weft_status *status = define_inputs(import);
    if (status == NULL) status = trace_graph(import, model->graph, out_tensors);
    forget_all(import);
    return status;
}
