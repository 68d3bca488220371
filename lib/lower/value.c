/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include "lib/graph/indexing.h"
#include "lib/lower/lowerer.h"

/* Elementwise ops of the graph and scalar operations go by the same names. */
static const weft_scalar_op scalar_of[WEFT_OP_COUNT] = {
#define WEFT_ELEMENTWISE(name, inputs, attributes, dtypes) [WEFT_OP_##name] = WEFT_SCALAR_##name,
#include "lib/graph/elementwise.def"
};

weft_scalar_op weft_lowerer_scalar(weft_op_id op)
{
    return scalar_of[op];
}

/* The constant with the bytes of an element; NULL: zeros. */
static weft_inst_id element_constant(lowerer *low, weft_dtype dtype, const char *data)
{
    uint64_t bits[2] = {0, 0};
    weft_dtype part = weft_dtype_component(dtype);
    size_t size = weft_dtype_size(part), parts = weft_dtype_size(dtype) / size;
    for (size_t i = 0; i < parts && data != NULL; i++) memcpy(&bits[i], data + i * size, size);
    weft_inst_id re = weft_lowerer_constant(low, part, bits[0]);
    return parts == 1 ? re : weft_lowerer_complex(low, dtype, re, weft_lowerer_constant(low, part, bits[1]));
}

static weft_inst_id operand(lowerer *low, const weft_point *point, size_t i, const weft_expr *reduced)
{
    weft_point read;
    if (!weft_space_operand(&low->space, point, i, reduced, &read)) low->failed = true;
    return low->failed ? 0 : weft_lowerer_value(low, &read);
}

static weft_inst_id inside(lowerer *low, const weft_point *point)
{
    weft_inst inst = {.op = WEFT_SCALAR_inside,
                      .dtype = WEFT_BOOL,
                      .predicate_count = point->predicate_count,
                      .predicates = point->predicates};
    return weft_kernel_builder_inst(low->builder, &inst);
}

/* Operand `i` where it has an element, `otherwise` where not. */
static weft_inst_id guarded_operand(lowerer *low, const weft_point *point, size_t i, weft_inst_id otherwise)
{
    weft_point read;
    if (!weft_space_operand(&low->space, point, i, NULL, &read)) low->failed = true;
    if (low->failed) return 0;
    weft_inst_id value = weft_lowerer_value(low, &read);
    if (read.predicate_count == point->predicate_count) return value;
    weft_dtype dtype = weft_value_type(low->graph, point->value)->dtype;
    weft_inst inst = {
        .op = WEFT_SCALAR_select, .dtype = dtype, .arg_count = 3, .args = {inside(low, &read), value, otherwise}};
    return weft_kernel_builder_inst(low->builder, &inst);
}

static weft_inst_id concat(lowerer *low, const weft_point *point)
{
    const weft_node *node = weft_graph_node(low->graph, point->value.node);
    weft_inst_id value = operand(low, point, node->input_count - 1, NULL);
    for (uint32_t i = node->input_count - 1; i-- > 0;) value = guarded_operand(low, point, i, value);
    return value;
}

static bool divides(weft_scalar_op op, weft_dtype dtype)
{
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    bool quotient = op == WEFT_SCALAR_div || op == WEFT_SCALAR_remainder || op == WEFT_SCALAR_fmod;
    return quotient && (kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED);
}

/* The remainder of floor division of integers; fmod subtracts the divisor again if its sign differs from that of a. */
static weft_inst_id rest_of_division(lowerer *low, const weft_inst *inst, weft_inst_id quotient)
{
    weft_inst_id a = inst->args[0], b = inst->args[1];
    weft_inst_id taken = weft_lowerer_binary(low, WEFT_SCALAR_mul, inst->dtype, quotient, b);
    weft_inst_id rest = weft_lowerer_binary(low, WEFT_SCALAR_sub, inst->dtype, a, taken);
    bool is_signed = weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_SIGNED;
    if (inst->op == WEFT_SCALAR_remainder || !is_signed) return rest;
    weft_inst_id zero = weft_lowerer_constant(low, inst->dtype, 0);
    weft_inst_id signs = weft_lowerer_binary(low, WEFT_SCALAR_xor, inst->dtype, a, b);
    weft_inst_id differ = weft_lowerer_binary(low, WEFT_SCALAR_lt, WEFT_BOOL, signs, zero);
    weft_inst_id inexact = weft_lowerer_binary(low, WEFT_SCALAR_ne, WEFT_BOOL, rest, zero);
    weft_inst_id other = weft_lowerer_binary(low, WEFT_SCALAR_sub, inst->dtype, rest, b);
    weft_inst choice = {.op = WEFT_SCALAR_select, .dtype = inst->dtype, .arg_count = 3};
    choice.args[0] = weft_lowerer_binary(low, WEFT_SCALAR_and, WEFT_BOOL, differ, inexact);
    choice.args[1] = other;
    choice.args[2] = rest;
    return weft_kernel_builder_inst(low->builder, &choice);
}

static weft_inst_id division(lowerer *low, const weft_point *point, const weft_inst *inst)
{
    static const char *const sentences[WEFT_SCALAR_COUNT] = {
        [WEFT_SCALAR_div] = "div: division by %" PRId64 " at position %" PRId64,
        [WEFT_SCALAR_remainder] = "remainder: division by %" PRId64 " at position %" PRId64,
        [WEFT_SCALAR_fmod] = "fmod: division by %" PRId64 " at position %" PRId64,
    };
    weft_inst quotient = *inst;
    quotient.op = WEFT_SCALAR_div;
    quotient.number = weft_lowerer_site(low, weft_graph_node(low->graph, point->value.node), sentences[inst->op],
                                        weft_expr_constant(low->exprs, 0));
    quotient.position = weft_space_position(&low->space, point);
    quotient.predicate_count = point->predicate_count;
    quotient.predicates = point->predicates;
    weft_inst_id value = weft_kernel_builder_inst(low->builder, &quotient);
    return inst->op == WEFT_SCALAR_div ? value : rest_of_division(low, inst, value);
}

static weft_inst_id elementwise(lowerer *low, const weft_point *point)
{
    const weft_node *node = weft_graph_node(low->graph, point->value.node);
    weft_inst inst = {
        .op = scalar_of[weft_op_id_of(node->op)], .dtype = node->types[0].dtype, .arg_count = node->input_count};
    for (uint32_t i = 0; i < node->input_count; i++) inst.args[i] = operand(low, point, i, NULL);
    return divides(inst.op, inst.dtype) ? division(low, point, &inst) : weft_kernel_builder_inst(low->builder, &inst);
}

/* The value of an index, which data may decide. */
static weft_inst_id position_of(lowerer *low, weft_expr index)
{
    weft_inst_id offset = 0;
    bool is_indirect = weft_lowerer_displace(low, &index, &offset);
    if (is_indirect && index == weft_expr_constant(low->exprs, 0)) return offset;
    weft_inst_id value = weft_lowerer_index(low, index);
    return is_indirect ? weft_lowerer_binary(low, WEFT_SCALAR_add, WEFT_I64, value, offset) : value;
}

bool weft_lowerer_index_read(lowerer *low, indexed_read *p)
{
    if (!weft_indexed_begin(low, p)) return false;
    uint32_t first = weft_indexing_first(weft_op_id_of(p->node->op));
    for (uint32_t i = first; i < p->node->input_count && !low->failed; i++) {
        weft_point read;
        if (!weft_indexed_operand(low, p, i, &read)) return false;
        weft_indexed_add(low, p, i, &read, weft_lowerer_value(low, &read));
    }
    return !low->failed;
}

/* The element of a gather or dynamic slice. */
static weft_inst_id indexed_value(lowerer *low, const weft_point *point)
{
    indexed_read p = {.node = weft_graph_node(low->graph, point->value.node), .point = point};
    return weft_lowerer_index_read(low, &p) ? weft_lowerer_value(low, &p.read) : 0;
}

weft_inst_id weft_lowerer_compute(lowerer *low, const weft_point *point)
{
    const weft_node *node = weft_graph_node(low->graph, point->value.node);
    weft_dtype dtype = node->types[point->value.output].dtype;
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_constant: return element_constant(low, dtype, node->attrs[2].data);
    case WEFT_OP_iota:
        return weft_lowerer_cast(low, position_of(low, point->index[node->attrs[2].integer]), WEFT_I64, dtype);
    case WEFT_OP_extent:
        return weft_lowerer_index(low, weft_space_extent(&low->space, node->attrs[0].extents.extents[0]));
    case WEFT_OP_concat: return concat(low, point);
    case WEFT_OP_gather:
    case WEFT_OP_dynamic_slice: return indexed_value(low, point);
    case WEFT_OP_pad: return guarded_operand(low, point, 0, operand(low, point, 1, NULL));
    case WEFT_OP_shear:
    case WEFT_OP_embed_diagonal: return guarded_operand(low, point, 0, element_constant(low, dtype, NULL));
    default: break;
    }
    return node->op->op_class == WEFT_CLASS_MOVEMENT ? operand(low, point, 0, NULL) : elementwise(low, point);
}

weft_inst_id weft_lowerer_value(lowerer *low, const weft_point *point)
{
    size_t key_size = 0;
    const uint32_t *key = weft_lowerer_key(low, point, &key_size);
    if (low->failed) return 0;
    uintptr_t known = (uintptr_t)weft_map_find(&low->values, key, key_size);
    if (known != 0) return (weft_inst_id)(known - 1);
    weft_role role = low->fusion->roles[point->value.node];
    weft_inst_id value;
    if (weft_role_has_memory((uint8_t)role) && !weft_lowerer_stores(low, point->value.node)) {
        value = weft_lowerer_load(low, low->lowering->first_memory[point->value.node] + point->value.output, point);
    } else if (role == WEFT_ROLE_STAGE) {
        value = weft_lowerer_outcome(low, weft_lowerer_find_stage(low, point->value.node));
    } else {
        value = weft_lowerer_compute(low, point);
    }
    if (!weft_map_insert(&low->values, key, key_size, (void *)(uintptr_t)(value + 1))) low->failed = true;
    return value;
}
