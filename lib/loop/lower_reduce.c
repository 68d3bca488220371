/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/lower_internal.h"
#include <string.h>

void weft_lowerer_split(lowerer *low, stage_plan *plan)
{
    weft_extents *x = low->extents;
    const weft_reduction *reduction = &plan->reduction;
    weft_shape shape = weft_value_type(low->graph, weft_graph_node(low->graph, plan->node)->inputs[0])->shape;
    weft_expr one = weft_expr_constant(x, 1);
    for (uint32_t g = 0; g < reduction->group_count; g++) {
        uint32_t first = reduction->group_first[g];
        uint32_t last = g + 1 < reduction->group_count ? reduction->group_first[g + 1] : reduction->axis_count;
        weft_expr position = plan->positions[g];
        for (uint32_t i = last; i-- > first;) {
            weft_expr extent = weft_space_extent(&low->space, shape.extents[reduction->axes[i]]);
            bool positive = weft_expr_always_nonnegative(x, weft_expr_sub(x, extent, one));
            weft_expr divisor = positive ? extent : weft_expr_max(x, extent, one);
            plan->reduced[i] = i == first ? position : weft_expr_mod(x, position, divisor);
            if (i > first) position = weft_expr_div(x, position, divisor);
        }
    }
}

stage_plan *weft_lowerer_plan(lowerer *low, const weft_point *point)
{
    stage_plan *plan = weft_arena_allocate(&low->arena, sizeof *plan);
    if (plan == NULL) return NULL;
    *plan = (stage_plan){.node = point->value.node, .point = {.value = point->value, .index = point->index}};
    weft_reduction_fill(low->graph, plan->node, &plan->reduction);
    const weft_reduction *reduction = &plan->reduction;
    plan->reduced = weft_arena_allocate(&low->arena, (reduction->axis_count + 1) * sizeof(weft_expr));
    if (plan->reduced == NULL) return NULL;
    weft_extents *x = low->extents;
    weft_shape shape = weft_value_type(low->graph, weft_graph_node(low->graph, plan->node)->inputs[0])->shape;
    for (uint32_t g = 0; g < reduction->group_count; g++) {
        uint32_t first = reduction->group_first[g];
        uint32_t last = g + 1 < reduction->group_count ? reduction->group_first[g + 1] : reduction->axis_count;
        plan->extents[g] = weft_expr_constant(x, 1);
        for (uint32_t i = first; i < last; i++) {
            weft_expr extent = weft_space_extent(&low->space, shape.extents[reduction->axes[i]]);
            plan->extents[g] = weft_expr_mul(x, plan->extents[g], extent);
        }
        plan->variables[g] = plan->positions[g] = weft_lowerer_variable(low, plan->extents[g]);
    }
    weft_lowerer_split(low, plan);
    return plan;
}

uint32_t weft_reduction_components(const weft_graph *graph, uint32_t id, weft_dtype *out_dtypes)
{
    const weft_node *node = weft_graph_node(graph, id);
    out_dtypes[0] = weft_value_type(graph, node->inputs[0])->dtype;
    out_dtypes[1] = WEFT_I64;
    return weft_op_id_of(node->op) == WEFT_OP_argmax ? 2 : 1;
}

weft_expr weft_reduction_chunks(weft_space *space, uint32_t id, const weft_reduction *reduction)
{
    weft_extents *x = space->extents;
    weft_shape shape = weft_value_type(space->graph, weft_graph_node(space->graph, id)->inputs[0])->shape;
    weft_expr count = weft_expr_constant(x, 1);
    for (uint32_t i = 0; i < reduction->axis_count; i++) {
        count = weft_expr_mul(x, count, weft_space_extent(space, shape.extents[reduction->axes[i]]));
    }
    weft_expr rounded = weft_expr_add(x, count, weft_expr_constant(x, reduction->chunk - 1));
    return weft_expr_div(x, rounded, weft_expr_constant(x, reduction->chunk));
}

/* The least (most negative) or greatest value of a dtype as bits: what max or min starts from. */
static uint64_t extreme(weft_dtype dtype, bool least)
{
    switch (dtype) {
    case WEFT_F32: return least ? UINT64_C(0xff800000) : UINT64_C(0x7f800000);
    case WEFT_F64: return least ? UINT64_C(0xfff0000000000000) : UINT64_C(0x7ff0000000000000);
    case WEFT_I64: return least ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
    case WEFT_I32: return least ? (uint32_t)INT32_MIN : (uint32_t)INT32_MAX;
    case WEFT_U32: return least ? 0 : UINT32_MAX;
    case WEFT_U8: return least ? 0 : UINT8_MAX;
    default: return least ? 0 : 1; /* bool */
    }
}

/* A combine block under construction. */
typedef struct block {
    weft_inst insts[24];
    uint32_t count;
} block;

static weft_inst_id append(block *b, weft_scalar_op op, weft_dtype dtype, uint32_t count, weft_inst_id x,
                           weft_inst_id y, weft_inst_id z)
{
    b->insts[b->count] = (weft_inst){.op = op, .dtype = dtype, .arg_count = count, .args = {x, y, z}};
    return b->count++;
}

static weft_inst_id param(block *b, weft_dtype dtype, uint32_t number)
{
    weft_inst_id id = append(b, WEFT_SCALAR_param, dtype, 0, 0, 0, 0);
    b->insts[id].number = number;
    return id;
}

/* The right one is better: greater, or the first of equals, where NaN is greatest. */
static void combine_argmax(block *b, weft_dtype dtype, weft_accumulator *accumulator)
{
    weft_inst_id a = param(b, dtype, 0), ai = param(b, WEFT_I64, 1), c = param(b, dtype, 2), ci = param(b, WEFT_I64, 3);
    weft_inst_id greater = append(b, WEFT_SCALAR_gt, WEFT_BOOL, 2, c, a, 0);
    weft_inst_id equal = append(b, WEFT_SCALAR_eq, WEFT_BOOL, 2, c, a, 0);
    if (weft_dtype_info_of(dtype)->kind == WEFT_KIND_FLOAT) {
        weft_inst_id a_nan = append(b, WEFT_SCALAR_ne, WEFT_BOOL, 2, a, a, 0);
        weft_inst_id c_nan = append(b, WEFT_SCALAR_ne, WEFT_BOOL, 2, c, c, 0);
        weft_inst_id both = append(b, WEFT_SCALAR_and, WEFT_BOOL, 2, a_nan, c_nan, 0);
        weft_inst_id a_number = append(b, WEFT_SCALAR_not, WEFT_BOOL, 1, a_nan, 0, 0);
        weft_inst_id only_c = append(b, WEFT_SCALAR_and, WEFT_BOOL, 2, c_nan, a_number, 0);
        greater = append(b, WEFT_SCALAR_or, WEFT_BOOL, 2, greater, only_c, 0);
        equal = append(b, WEFT_SCALAR_or, WEFT_BOOL, 2, equal, both, 0);
    }
    weft_inst_id earlier = append(b, WEFT_SCALAR_lt, WEFT_BOOL, 2, ci, ai, 0);
    weft_inst_id first = append(b, WEFT_SCALAR_and, WEFT_BOOL, 2, equal, earlier, 0);
    weft_inst_id better = append(b, WEFT_SCALAR_or, WEFT_BOOL, 2, greater, first, 0);
    accumulator->outcomes[0] = append(b, WEFT_SCALAR_select, dtype, 3, better, c, a);
    accumulator->outcomes[1] = append(b, WEFT_SCALAR_select, WEFT_I64, 3, better, ci, ai);
}

static void accumulate_values(lowerer *low, stage_plan *plan, const weft_inst_id *values)
{
    weft_op_id op = weft_op_id_of(weft_graph_node(low->graph, plan->node)->op);
    weft_accumulator accumulator = {0};
    accumulator.width = weft_reduction_components(low->graph, plan->node, accumulator.dtypes);
    memcpy(accumulator.values, values, accumulator.width * sizeof *values);
    weft_dtype dtype = accumulator.dtypes[0];
    block b = {.count = 0};
    bool is_extreme = op == WEFT_OP_reduce_max || op == WEFT_OP_reduce_min || op == WEFT_OP_argmax;
    if (is_extreme) accumulator.init[0] = extreme(dtype, op != WEFT_OP_reduce_min);
    if (op == WEFT_OP_argmax) {
        accumulator.init[1] = (uint64_t)INT64_MAX;
        combine_argmax(&b, dtype, &accumulator);
    } else {
        weft_scalar_op combine = op == WEFT_OP_reduce_max   ? WEFT_SCALAR_max
                                 : op == WEFT_OP_reduce_min ? WEFT_SCALAR_min
                                                            : WEFT_SCALAR_add;
        weft_inst_id left = param(&b, dtype, 0), right = param(&b, dtype, 1);
        accumulator.outcomes[0] = append(&b, combine, dtype, 2, left, right, 0);
    }
    accumulator.combine = b.insts;
    accumulator.combine_count = b.count;
    plan->accumulator = weft_kernel_builder_accumulator(low->builder, &accumulator);
}

static void reduced_range(lowerer *low, weft_expr variable, weft_expr extent, uint32_t lanes)
{
    weft_kernel_builder_range(
        low->builder,
        (weft_range){.variable = variable, .extent = extent, .reduce = true, .lanes = lanes, .width = 1, .unroll = 1});
}

static weft_inst_id operand_value(lowerer *low, const stage_plan *plan, size_t operand)
{
    weft_point read;
    if (!weft_space_operand(&low->space, &plan->point, operand, plan->reduced, &read)) low->failed = true;
    return low->failed ? 0 : weft_lowerer_value(low, &read);
}

void weft_lowerer_accumulate(lowerer *low, stage_plan *plan)
{
    const weft_node *node = weft_graph_node(low->graph, plan->node);
    const weft_reduction *reduction = &plan->reduction;
    for (uint32_t g = 0; g < reduction->group_count; g++) {
        uint32_t lanes = g + 1 == reduction->group_count ? reduction->lanes : 1;
        reduced_range(low, plan->variables[g], plan->extents[g], lanes);
    }
    weft_inst_id values[WEFT_MAX_COMPONENTS] = {operand_value(low, plan, 0)};
    weft_op_id op = weft_op_id_of(node->op);
    if (op == WEFT_OP_dot) {
        weft_inst product = {.op = WEFT_SCALAR_mul, .dtype = node->types[0].dtype, .arg_count = 2};
        product.args[0] = values[0];
        product.args[1] = operand_value(low, plan, 1);
        values[0] = weft_kernel_builder_inst(low->builder, &product);
    } else if (op == WEFT_OP_argmax) {
        weft_inst index = {.op = WEFT_SCALAR_index, .dtype = WEFT_I64, .index = plan->reduced[0]};
        values[1] = weft_kernel_builder_inst(low->builder, &index);
    }
    accumulate_values(low, plan, values);
}

void weft_lowerer_accumulate_partial(lowerer *low, stage_plan *plan, uint32_t first_memory)
{
    weft_extents *x = low->extents;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint32_t width = weft_reduction_components(low->graph, plan->node, dtypes);
    weft_expr chunks = weft_reduction_chunks(&low->space, plan->node, &plan->reduction);
    weft_expr variable = weft_lowerer_variable(low, chunks);
    reduced_range(low, variable, chunks, plan->reduction.lanes);
    weft_expr index = weft_expr_mul(x, weft_space_position(&low->space, &plan->point), chunks);
    weft_inst_id values[WEFT_MAX_COMPONENTS] = {0};
    for (uint32_t i = 0; i < width; i++) {
        weft_inst load = {.op = WEFT_SCALAR_load,
                          .dtype = dtypes[i],
                          .buffer = weft_lowerer_buffer(low, first_memory + i, false),
                          .index = weft_expr_add(x, index, variable)};
        values[i] = weft_kernel_builder_inst(low->builder, &load);
    }
    accumulate_values(low, plan, values);
}

weft_inst_id weft_lowerer_component(lowerer *low, const stage_plan *plan, uint32_t component)
{
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    weft_reduction_components(low->graph, plan->node, dtypes);
    weft_inst inst = {
        .op = WEFT_SCALAR_result, .dtype = dtypes[component], .buffer = plan->accumulator, .number = component};
    return weft_kernel_builder_inst(low->builder, &inst);
}

weft_inst_id weft_lowerer_outcome(lowerer *low, const stage_plan *plan)
{
    bool is_argmax = weft_op_id_of(weft_graph_node(low->graph, plan->node)->op) == WEFT_OP_argmax;
    if (!is_argmax) return weft_lowerer_component(low, plan, 0);
    /* Nothing was seen: the argmax of nothing is 0. */
    weft_inst_id index = weft_lowerer_component(low, plan, 1);
    weft_inst_id none = weft_lowerer_constant(low, WEFT_I64, (uint64_t)INT64_MAX);
    weft_inst_id zero = weft_lowerer_constant(low, WEFT_I64, 0);
    weft_inst empty = {.op = WEFT_SCALAR_eq, .dtype = WEFT_BOOL, .arg_count = 2, .args = {index, none}};
    weft_inst pick = {.op = WEFT_SCALAR_select, .dtype = WEFT_I64, .arg_count = 3, .args = {0, zero, index}};
    pick.args[0] = weft_kernel_builder_inst(low->builder, &empty);
    return weft_kernel_builder_inst(low->builder, &pick);
}
