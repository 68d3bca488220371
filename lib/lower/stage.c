/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/lowerer.h"
#include <string.h>

void weft_lowerer_split(lowerer *low, stage_plan *plan)
{
    weft_expr_context *x = low->exprs;
    const weft_reduction *reduction = &plan->reduction;
    weft_shape shape = weft_value_type(low->graph, weft_graph_node(low->graph, plan->node)->inputs[0])->shape;
    for (uint32_t g = 0; g < reduction->group_count; g++) {
        uint32_t first = reduction->group_first[g];
        uint32_t last = g + 1 < reduction->group_count ? reduction->group_first[g + 1] : reduction->axis_count;
        weft_expr position = plan->positions[g];
        for (uint32_t i = last; i-- > first;) {
            weft_expr divisor = weft_space_divisor(&low->space, shape.extents[reduction->axes[i]]);
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
    weft_expr_context *x = low->exprs;
    weft_shape shape = weft_value_type(low->graph, weft_graph_node(low->graph, plan->node)->inputs[0])->shape;
    for (uint32_t g = 0; g < reduction->group_count; g++) {
        uint32_t first = reduction->group_first[g];
        uint32_t last = g + 1 < reduction->group_count ? reduction->group_first[g + 1] : reduction->axis_count;
        plan->extents[g] = weft_space_count(&low->space, shape, reduction->axes + first, last - first);
        plan->variables[g] = plan->positions[g] = weft_lowerer_variable(low, plan->extents[g]);
        /* An axis of one element is not an inner axis (inner.h): it may be computed in earlier stages. */
        int64_t count;
        if (weft_expr_is_constant(x, plan->extents[g], &count) && count == 1)
            plan->positions[g] = weft_expr_constant(x, 0);
    }
    weft_lowerer_split(low, plan);
    return plan;
}

stage_plan *weft_lowerer_plan_beside(lowerer *low, stage_plan *plan, const weft_point *point)
{
    stage_plan *beside = weft_lowerer_plan(low, point);
    if (beside == NULL) return NULL;
    memcpy(beside->variables, plan->variables, sizeof plan->variables);
    memcpy(beside->extents, plan->extents, sizeof plan->extents);
    memcpy(beside->positions, plan->positions, sizeof plan->positions);
    weft_lowerer_split(low, beside);
    beside->beside = plan->beside;
    plan->beside = beside;
    return beside;
}

/* Elements up to which the range of a group, with that many lanes, has no blocks. */
static int64_t unbroken(const weft_reduction *reduction, uint32_t group, int64_t lanes)
{
    if (reduction->blocks > WEFT_BLOCKS_NESTED) return reduction->blocks;
    return (group > 0 ? WEFT_ORDER_SHORT : WEFT_ORDER_BLOCK) * lanes;
}

/* A range of group `group`. One that is known to be too short for blocks has none, and one that is known to leave half
 * of the lanes empty has half as many: these take nothing in, and equal kernels have equal texts. */
static void reduced_range(lowerer *low, const weft_reduction *reduction, uint32_t group, weft_expr variable,
                          weft_expr extent)
{
    uint32_t lanes = group + 1 >= reduction->group_count ? reduction->lanes : 1;
    weft_range range = {.variable = variable, .extent = extent, .reduce = true, .width = 1, .unroll = 1};
    int64_t least, most;
    weft_expr_range(low->exprs, extent, &least, &most);
    if (most > unbroken(reduction, group, lanes)) range.blocks = reduction->blocks;
    while (lanes > 1 && most <= lanes / 2) lanes /= 2;
    range.virtual_lanes = lanes;
    range.scans = reduction->scans && lanes > 1;
    weft_kernel_builder_range(low->builder, range);
}

/* An element of an operand, as the accumulator takes it. */
static weft_inst_id operand_value(lowerer *low, const stage_plan *plan, size_t operand)
{
    weft_point read;
    if (!weft_space_operand(&low->space, &plan->point, operand, plan->reduced, &read)) low->failed = true;
    if (low->failed) return 0;
    weft_dtype dtype = weft_value_type(low->graph, read.value)->dtype;
    return weft_lowerer_cast(low, weft_lowerer_value(low, &read), dtype, weft_accumulator_dtype(dtype));
}

/* values[0] of `dtype`, in place, as its parts if it is complex; how many there are. */
static uint32_t split_value(lowerer *low, weft_dtype dtype, weft_inst_id *values)
{
    if (weft_dtype_component(dtype) == dtype) return 1;
    values[1] = weft_lowerer_part(low, WEFT_SCALAR_imag, dtype, values[0]);
    values[0] = weft_lowerer_part(low, WEFT_SCALAR_real, dtype, values[0]);
    return 2;
}

/* Products that round are taken in as their factors. */
static void accumulate_product(lowerer *low, stage_plan *plan)
{
    weft_inst_id values[WEFT_MAX_COMPONENTS];
    weft_dtype dtype = weft_accumulator_dtype(weft_graph_node(low->graph, plan->node)->types[0].dtype);
    uint32_t count = 0;
    for (size_t operand = 0; operand < 2; operand++) {
        values[count] = operand_value(low, plan, operand);
        count += split_value(low, dtype, &values[count]);
    }
    weft_lowerer_accumulate_values(low, plan, count, values);
}

static void take_in(lowerer *low, stage_plan *plan)
{
    const weft_node *node = weft_graph_node(low->graph, plan->node);
    const weft_reduction *reduction = &plan->reduction;
    weft_op_id op = weft_op_id_of(node->op);
    if (op == WEFT_OP_dot && reduction->blocks != WEFT_BLOCKS_NONE) {
        accumulate_product(low, plan);
        return;
    }
    weft_inst_id values[WEFT_MAX_COMPONENTS] = {operand_value(low, plan, 0)};
    uint32_t count = 1;
    if (op == WEFT_OP_dot) {
        weft_dtype dtype = node->types[0].dtype;
        weft_scalar_op multiply = dtype == WEFT_BOOL ? WEFT_SCALAR_and : WEFT_SCALAR_mul;
        weft_inst product = {.op = multiply, .dtype = dtype, .arg_count = 2};
        product.args[0] = values[0];
        product.args[1] = operand_value(low, plan, 1);
        values[0] = weft_kernel_builder_inst(low->builder, &product);
    } else if (op == WEFT_OP_argmax || op == WEFT_OP_argmin) {
        weft_inst index = {.op = WEFT_SCALAR_index, .dtype = WEFT_I64, .index = plan->reduced[0]};
        weft_dtype dtypes[WEFT_MAX_COMPONENTS];
        weft_reduction_components(low->graph, plan->node, dtypes);
        values[count++] = weft_lowerer_cast(low, weft_kernel_builder_inst(low->builder, &index), WEFT_I64, dtypes[1]);
    } else {
        count = split_value(low, weft_value_type(low->graph, node->inputs[0])->dtype, values);
    }
    weft_lowerer_accumulate_values(low, plan, count, values);
}

void weft_lowerer_accumulate(lowerer *low, stage_plan *plan)
{
    for (uint32_t g = 0; g < plan->reduction.group_count; g++)
        reduced_range(low, &plan->reduction, g, plan->variables[g], plan->extents[g]);
    for (stage_plan *each = plan; each != NULL; each = each->beside) take_in(low, each);
}

void weft_lowerer_accumulate_partial(lowerer *low, stage_plan *plan, uint32_t first_memory)
{
    weft_expr_context *x = low->exprs;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint32_t width = weft_reduction_components(low->graph, plan->node, dtypes);
    weft_expr chunks = weft_reduction_chunks(&low->space, plan->node, &plan->reduction);
    weft_expr variable = weft_lowerer_variable(low, chunks);
    reduced_range(low, &plan->reduction, 0, variable, chunks);
    weft_expr index = weft_expr_mul(x, weft_space_position(&low->space, &plan->point), chunks);
    weft_inst_id values[WEFT_MAX_COMPONENTS] = {0};
    for (uint32_t i = 0; i < width; i++) {
        weft_inst load = {.op = WEFT_SCALAR_load,
                          .dtype = dtypes[i],
                          .buffer = weft_lowerer_buffer(low, first_memory + i, false),
                          .index = weft_expr_add(x, index, variable)};
        values[i] = weft_kernel_builder_inst(low->builder, &load);
    }
    weft_lowerer_accumulate_values(low, plan, width, values);
}

/* ---- scans ---- */

bool weft_lowerer_scan_operand(lowerer *low, const weft_point *point, size_t operand, weft_expr step,
                               scanned *out_scanned)
{
    const weft_node *node = weft_graph_node(low->graph, low->root);
    weft_expr_context *x = low->exprs;
    size_t axis = (size_t)node->attrs[0].integer;
    bool is_linear = weft_op_id_of(node->op) == WEFT_OP_scan_linear;
    bool reverse = node->attrs[1].integer != 0, exclusive = !is_linear && node->attrs[2].integer != 0;
    weft_expr one = weft_expr_constant(x, 1), before = weft_expr_sub(x, step, one);
    weft_point *read = &out_scanned->read;
    if (!weft_space_operand(&low->space, point, operand, NULL, read)) return false;
    weft_expr position = exclusive ? before : step;
    weft_expr last = weft_expr_sub(x, weft_space_extent(&low->space, node->types[0].shape.extents[axis]), one);
    read->index[axis] = reverse ? weft_expr_sub(x, last, position) : position;
    out_scanned->counts = NULL;
    if (!exclusive && (!is_linear || operand != 0)) return true;
    out_scanned->counts = weft_arena_copy(&low->arena, &before, sizeof before);
    if (exclusive) {
        read->predicates = out_scanned->counts;
        read->predicate_count = 1;
    }
    return out_scanned->counts != NULL;
}

/* A component of the operand, and `otherwise` where it does not count. */
static weft_inst_id counted_value(lowerer *low, const scanned *operand, weft_inst_id value, weft_dtype dtype,
                                  uint64_t otherwise)
{
    if (operand->counts == NULL) return value;
    weft_inst inside = {
        .op = WEFT_SCALAR_inside, .dtype = WEFT_BOOL, .predicate_count = 1, .predicates = operand->counts};
    weft_inst pick = {.op = WEFT_SCALAR_select, .dtype = dtype, .arg_count = 3};
    pick.args[0] = weft_kernel_builder_inst(low->builder, &inside);
    pick.args[1] = value;
    pick.args[2] = weft_lowerer_constant(low, dtype, otherwise);
    return weft_kernel_builder_inst(low->builder, &pick);
}

/* The components of an operand; how many there are. What takes the place of one that does not count is what the scan
 * begins with, or a factor of zero. */
static uint32_t scanned_values(lowerer *low, const stage_plan *plan, const scanned *operand, weft_inst_id *out_values)
{
    weft_op_id op = weft_op_id_of(weft_graph_node(low->graph, plan->node)->op);
    weft_dtype dtypes[WEFT_MAX_COMPONENTS], dtype = weft_graph_node(low->graph, plan->node)->types[0].dtype;
    uint32_t width = weft_reduction_components(low->graph, plan->node, dtypes);
    weft_inst_id value = weft_lowerer_value(low, &operand->read);
    out_values[0] = weft_lowerer_cast(low, value, dtype, weft_accumulator_dtype(dtype));
    split_value(low, dtype, out_values);
    for (uint32_t i = 0; i < width; i++) {
        uint64_t otherwise = op == WEFT_OP_scan_linear ? 0 : weft_reduction_start(low->graph, plan->node, i);
        out_values[i] = counted_value(low, operand, out_values[i], dtypes[i], otherwise);
    }
    return width;
}

void weft_lowerer_accumulate_scan(lowerer *low, stage_plan *plan, size_t count, const scanned *operands,
                                  weft_expr variable)
{
    weft_inst_id values[WEFT_MAX_COMPONENTS];
    uint32_t taken = 0;
    int64_t only;
    if (!weft_expr_is_constant(low->exprs, variable, &only))
        reduced_range(low, &plan->reduction, 0, variable, weft_expr_bound(low->exprs, variable));
    for (size_t i = 0; i < count; i++) taken += scanned_values(low, plan, &operands[i], &values[taken]);
    weft_lowerer_accumulate_values(low, plan, taken, values);
}
