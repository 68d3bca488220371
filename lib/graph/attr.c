/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/graph/attr.h"
#include <inttypes.h>
#include <string.h>

/* ---- checking ---- */

static const char *list_fault(size_t count, const void *items)
{
    return count > 0 && items == NULL ? "is NULL, but its count is not 0" : NULL;
}

static const char *string_fault(const weft_attr *attr)
{
    if (attr->data == NULL) return "is NULL";
    return attr->size > 0 && memchr(attr->data, 0, attr->size) != NULL ? "has a NUL inside" : NULL;
}

static const char *extents_fault(const weft_graph *graph, weft_shape shape)
{
    if (list_fault(shape.rank, shape.extents) != NULL) return "is NULL, but its rank is not 0";
    for (size_t i = 0; i < shape.rank; i++) {
        weft_extent extent = shape.extents[i];
        if (!weft_extent_is_valid(extent)) return "has an extent that is invalid, or more than an int64 counts";
        if (extent.graph != NULL && extent.graph->exprs != graph->exprs) return "has an extent of another graph";
    }
    return NULL;
}

static bool all_belong(weft_tensors tensors, const weft_graph *graph)
{
    for (size_t i = 0; i < tensors.count; i++) {
        if (tensors.items[i].graph != graph || !weft_tensor_is_valid(tensors.items[i])) return false;
    }
    return true;
}

static bool parameters_are_inputs(const weft_region *region)
{
    for (size_t i = 0; i < region->parameters.count; i++) {
        uint32_t node = region->parameters.items[i].node;
        if (weft_op_id_of(weft_graph_node(region->graph, node)->op) != WEFT_OP_input) return false;
        for (size_t j = 0; j < i; j++) {
            if (region->parameters.items[j].node == node) return false;
        }
    }
    return true;
}

static const char *region_fault(const weft_graph *graph, const weft_region *region)
{
    if (region->graph == NULL || region->graph->parent != graph) return "is not a region of this graph";
    if (list_fault(region->parameters.count, region->parameters.items) != NULL ||
        list_fault(region->results.count, region->results.items) != NULL ||
        !all_belong(region->parameters, region->graph) || !all_belong(region->results, region->graph)) {
        return "has a parameter or result that is not a tensor of its graph";
    }
    return parameters_are_inputs(region) ? NULL : "has a parameter that is not an input of its graph, or occurs twice";
}

static const char *attr_fault(const weft_graph *graph, weft_attr_kind kind, const weft_attr *attr)
{
    switch (kind) {
    case WEFT_ATTR_INT:
    case WEFT_ATTR_FLOAT:
    case WEFT_ATTR_BOOL: return NULL;
    case WEFT_ATTR_DTYPE: return attr->integer < 0 || attr->integer >= WEFT_DTYPE_COUNT ? "is not a weft_dtype" : NULL;
    case WEFT_ATTR_STRING: return string_fault(attr);
    case WEFT_ATTR_DATA: return attr->size > 0 && attr->data == NULL ? "is NULL, but has elements" : NULL;
    case WEFT_ATTR_INTS: return list_fault(attr->ints.count, attr->ints.items);
    case WEFT_ATTR_EXTENT: return attr->extents.rank != 1 ? "is not one extent" : extents_fault(graph, attr->extents);
    case WEFT_ATTR_EXTENTS: return extents_fault(graph, attr->extents);
    case WEFT_ATTR_REGION: return region_fault(graph, &attr->region);
    }
    return "is of an unknown kind";
}

weft_status *weft_attrs_check(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs)
{
    if (op->attr_count > 0 && attrs == NULL) {
        return weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, op->name, "%s: attributes are NULL",
                                  op->name);
    }
    for (size_t i = 0; i < op->attr_count; i++) {
        const char *fault = attr_fault(graph, op->attrs[i].kind, &attrs[i]);
        if (fault == NULL) continue;
        return weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, op->name, "%s: %s %s", op->name,
                                  op->attrs[i].name, fault);
    }
    return NULL;
}

weft_status *weft_attrs_check_bools(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs)
{
    int64_t dtype = WEFT_U8;
    for (size_t i = 0; attrs != NULL && i < op->attr_count; i++) {
        if (op->attrs[i].kind == WEFT_ATTR_DTYPE) dtype = attrs[i].integer;
        if (op->attrs[i].kind != WEFT_ATTR_DATA || dtype != WEFT_BOOL || attrs[i].data == NULL) continue;
        const unsigned char *bytes = attrs[i].data;
        size_t bad = 0;
        while (bad < attrs[i].size && bytes[bad] <= 1) bad++;
        if (bad < attrs[i].size)
            return weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, op->name,
                                      "%s: byte %zu of bool %s is %u, neither 0 nor 1", op->name, bad,
                                      op->attrs[i].name, (unsigned)bytes[bad]);
    }
    return NULL;
}

/* ---- encoding ---- */

static void encode_size(weft_bytes *key, size_t size)
{
    weft_bytes_append(key, &size, sizeof size);
}

static void encode_block(weft_bytes *key, const void *data, size_t size)
{
    encode_size(key, size);
    weft_bytes_append(key, data, size);
}

/* A blob of the graph is identified by its address. */
static void encode_data(weft_bytes *key, const weft_attr *attr)
{
    if (attr->size < WEFT_BLOB_LEAST) {
        encode_block(key, attr->data, attr->size);
        return;
    }
    encode_size(key, attr->size);
    weft_bytes_append(key, &attr->data, sizeof attr->data);
}

static void encode_shape(weft_graph *graph, weft_shape shape, weft_bytes *key)
{
    encode_size(key, shape.rank);
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr expr = weft_extent_expr(graph, shape.extents[i]);
        weft_bytes_append(key, &expr, sizeof expr);
    }
}

static void encode_values(weft_bytes *key, weft_tensors tensors, const uint32_t *numbers)
{
    encode_size(key, tensors.count);
    for (size_t i = 0; i < tensors.count; i++) {
        weft_value value = {numbers[tensors.items[i].node], tensors.items[i].output};
        weft_bytes_append(key, &value, sizeof value);
    }
}

static void encode_parameters(const weft_region *region, weft_bytes *key)
{
    encode_size(key, region->parameters.count);
    for (size_t i = 0; i < region->parameters.count; i++) {
        weft_dtype dtype = weft_tensor_dtype(region->parameters.items[i]);
        weft_bytes_append(key, &dtype, sizeof dtype);
        encode_shape(region->graph, weft_tensor_shape(region->parameters.items[i]), key);
    }
}

/* Encodes a node of a region over the numbers that its operands have in the encoding. */
static weft_status *encode_inner(weft_graph *graph, uint32_t number, const uint32_t *numbers, weft_bytes *key)
{
    const weft_node *node = weft_graph_node(graph, number);
    weft_value *inputs = weft_allocate(graph->allocator, node->input_count * sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < node->input_count; i++) {
        inputs[i] = (weft_value){numbers[node->inputs[i].node], node->inputs[i].output};
    }
    weft_status *status = weft_node_encode(graph, node->op, node->input_count, inputs, node->attrs, key);
    weft_free(graph->allocator, inputs, node->input_count * sizeof *inputs);
    return status;
}

/* Parameters take the numbers 0, 1, ..., the other live nodes follow in order. */
static weft_status *encode_live(const weft_region *region, uint8_t *live, uint32_t *numbers, weft_bytes *key)
{
    uint32_t next = 0;
    size_t count = 0;
    for (size_t i = 0; i < region->parameters.count; i++) {
        uint32_t node = region->parameters.items[i].node;
        numbers[node] = next++;
        live[node] = 0;
    }
    for (size_t n = 0; n < region->graph->node_count; n++) count += live[n];
    encode_size(key, count);
    for (uint32_t n = 0; n < region->graph->node_count; n++) {
        if (!live[n]) continue;
        const weft_node *node = weft_graph_node(region->graph, n);
        if (weft_op_id_of(node->op) == WEFT_OP_input) {
            return weft_status_create(region->graph->allocator, WEFT_INVALID_ARGUMENT, NULL,
                                      "a region needs input %s, which is none of its parameters", node->name);
        }
        WEFT_TRY(encode_inner(region->graph, n, numbers, key));
        numbers[n] = next++;
    }
    encode_values(key, region->results, numbers);
    return NULL;
}

static weft_status *encode_region(const weft_region *region, weft_bytes *key)
{
    encode_parameters(region, key);
    const weft_allocator *allocator = region->graph->allocator;
    size_t count = region->graph->node_count, results_size = region->results.count * sizeof(weft_value);
    uint8_t *live = weft_allocate(allocator, count);
    uint32_t *numbers = weft_allocate(allocator, count * sizeof *numbers);
    weft_value *results = weft_allocate(allocator, results_size);
    weft_status *status = weft_status_out_of_memory();
    if (live != NULL && numbers != NULL && results != NULL) {
        for (size_t i = 0; i < region->results.count; i++)
            results[i] = (weft_value){region->results.items[i].node, region->results.items[i].output};
        weft_graph_mark(region->graph, region->results.count, results, live);
        status = encode_live(region, live, numbers, key);
    }
    weft_free(allocator, results, results_size);
    weft_free(allocator, numbers, count * sizeof *numbers);
    weft_free(allocator, live, count);
    return status;
}

static weft_status *encode_attr(weft_graph *graph, weft_attr_kind kind, const weft_attr *attr, weft_bytes *key)
{
    switch (kind) {
    case WEFT_ATTR_INT:
    case WEFT_ATTR_DTYPE: weft_bytes_append(key, &attr->integer, sizeof attr->integer); break;
    case WEFT_ATTR_BOOL: encode_size(key, attr->integer != 0); break;
    case WEFT_ATTR_FLOAT: weft_bytes_append(key, &attr->real, sizeof attr->real); break;
    case WEFT_ATTR_STRING: encode_block(key, attr->data, attr->size); break;
    case WEFT_ATTR_DATA: encode_data(key, attr); break;
    case WEFT_ATTR_INTS: encode_block(key, attr->ints.items, attr->ints.count * sizeof *attr->ints.items); break;
    case WEFT_ATTR_EXTENT:
    case WEFT_ATTR_EXTENTS: encode_shape(graph, attr->extents, key); break;
    case WEFT_ATTR_REGION: return encode_region(&attr->region, key);
    }
    return NULL;
}

/* The operands of a commutative op are encoded in one order. */
static void encode_inputs(const weft_op_def *op, size_t count, const weft_value *inputs, weft_bytes *key)
{
    weft_value pair[2];
    if ((op->traits & WEFT_TRAIT_COMMUTATIVE) != 0 && count == 2) {
        bool is_ordered = inputs[0].node < inputs[1].node ||
                          (inputs[0].node == inputs[1].node && inputs[0].output <= inputs[1].output);
        pair[0] = inputs[!is_ordered];
        pair[1] = inputs[is_ordered];
        inputs = pair;
    }
    encode_block(key, inputs, count * sizeof *inputs);
}

weft_status *weft_node_encode(weft_graph *graph, const weft_op_def *op, size_t input_count, const weft_value *inputs,
                              const weft_attr *attrs, weft_bytes *out_key)
{
    encode_block(out_key, op->name, strlen(op->name));
    weft_bytes_append(out_key, &op->version, sizeof op->version);
    encode_inputs(op, input_count, inputs, out_key);
    for (size_t i = 0; i < op->attr_count; i++) {
        WEFT_TRY(encode_attr(graph, op->attrs[i].kind, &attrs[i], out_key));
    }
    return weft_bytes_status(out_key);
}

/* ---- copying ---- */

static bool copy_extents(weft_graph *graph, weft_shape *shape)
{
    weft_extent *extents = weft_arena_allocate(&graph->arena, shape->rank * sizeof *extents);
    if (extents == NULL) return false;
    for (size_t i = 0; i < shape->rank; i++) {
        extents[i] = weft_extent_from(graph, weft_extent_expr(graph, shape->extents[i]));
    }
    shape->extents = extents;
    return true;
}

static bool copy_tensors(weft_graph *graph, weft_tensors *tensors)
{
    tensors->items = weft_arena_copy(&graph->arena, tensors->items, tensors->count * sizeof *tensors->items);
    return tensors->items != NULL;
}

/* Replaces what `attr` borrows with copies. */
static bool copy_attr(weft_graph *graph, weft_attr_kind kind, weft_attr *attr)
{
    switch (kind) {
    case WEFT_ATTR_INT:
    case WEFT_ATTR_FLOAT:
    case WEFT_ATTR_DTYPE: return true;
    case WEFT_ATTR_BOOL: attr->integer = attr->integer != 0; return true;
    case WEFT_ATTR_STRING: return (attr->data = weft_arena_string(&graph->arena, attr->data, attr->size)) != NULL;
    case WEFT_ATTR_DATA:
        if (attr->size >= WEFT_BLOB_LEAST) return true;
        attr->data = weft_arena_copy(&graph->arena, attr->data, attr->size);
        return attr->data != NULL;
    case WEFT_ATTR_INTS:
        attr->ints.items =
            weft_arena_copy(&graph->arena, attr->ints.items, attr->ints.count * sizeof *attr->ints.items);
        return attr->ints.items != NULL;
    case WEFT_ATTR_EXTENT:
    case WEFT_ATTR_EXTENTS: return copy_extents(graph, &attr->extents);
    case WEFT_ATTR_REGION:
        return copy_tensors(graph, &attr->region.parameters) && copy_tensors(graph, &attr->region.results);
    }
    return false;
}

/* Puts the graph's blob into `*attrs`, which is a copy in the graph's arena from then on. */
static weft_status *intern_data(weft_graph *graph, const weft_op_def *op, size_t number, const weft_attr **attrs)
{
    const weft_attr *attr = &(*attrs)[number];
    const void *data;
    WEFT_TRY(weft_blobs_add(&weft_graph_root(graph)->blobs, attr->data, attr->size, &data));
    if (data == attr->data) return NULL;
    weft_attr *copies = weft_arena_copy(&graph->arena, *attrs, op->attr_count * sizeof *copies);
    if (copies == NULL) return weft_status_out_of_memory();
    copies[number].data = data;
    *attrs = copies;
    return NULL;
}

weft_status *weft_attrs_intern_data(weft_graph *graph, const weft_op_def *op, const weft_attr **attrs)
{
    for (size_t i = 0; i < op->attr_count; i++)
        if (op->attrs[i].kind == WEFT_ATTR_DATA && (*attrs)[i].size >= WEFT_BLOB_LEAST)
            WEFT_TRY(intern_data(graph, op, i, attrs));
    return NULL;
}

const weft_attr *weft_attrs_copy(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs)
{
    weft_attr *copies = weft_arena_copy(&graph->arena, attrs, op->attr_count * sizeof *attrs);
    for (size_t i = 0; copies != NULL && i < op->attr_count; i++) {
        if (!copy_attr(graph, op->attrs[i].kind, &copies[i])) return NULL;
    }
    return copies;
}
