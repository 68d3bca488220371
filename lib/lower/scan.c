/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of scans: in one piece, or in chunks, whose totals are added up between. */
#include "lib/lower/lowerer.h"

/* A scan, or the chunk of it that an outer range says. */
typedef struct scan_plan {
    stage_plan stage;
    size_t axis;
    int64_t size;             /* of a chunk; 0: there is one */
    weft_expr chunks, chunk;  /* their number and its variable */
    weft_expr variable, step; /* along the chunk, and along the axis */
    weft_expr row;            /* position among the rows */
    uint32_t width;           /* components of what chunks give */
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    scanned operands[2];
} scan_plan;

static weft_expr row_position(lowerer *low, const weft_point *point, size_t axis)
{
    weft_shape shape = weft_value_type(low->graph, point->value)->shape;
    weft_expr position = weft_expr_constant(low->exprs, 0);
    for (size_t i = 0; i < shape.rank; i++) {
        if (i == axis) continue;
        position = weft_expr_mul(low->exprs, position, weft_space_extent(&low->space, shape.extents[i]));
        position = weft_expr_add(low->exprs, position, point->index[i]);
    }
    return position;
}

/* `but_last`: only chunks that another follows, which are whole. */
static void plan_scan(lowerer *low, const weft_point *point, bool but_last, scan_plan *s)
{
    const weft_node *node = weft_graph_node(low->graph, low->root);
    weft_expr_context *x = low->exprs;
    *s = (scan_plan){.stage = {.node = low->root}, .axis = (size_t)node->attrs[0].integer};
    weft_scan_fill(low->graph, node, &s->stage.reduction);
    s->width = weft_reduction_components(low->graph, low->root, s->dtypes);
    s->size = weft_scan_chunk(low->fusion, node);
    s->variable = s->step = low->variables[s->axis];
    low->outer = weft_lowerer_axes(low) & ~(UINT64_C(1) << s->axis);
    low->outer_fixed = true;
    if (s->size == 0) return;
    weft_expr size = weft_expr_constant(x, s->size), one = weft_expr_constant(x, 1);
    weft_expr extent = weft_space_extent(&low->space, node->types[0].shape.extents[s->axis]);
    s->chunks = weft_expr_div(x, weft_expr_add(x, extent, weft_expr_sub(x, size, one)), size);
    s->chunk = weft_lowerer_variable(low, but_last ? weft_expr_sub(x, s->chunks, one) : s->chunks);
    weft_expr start = weft_expr_mul(x, s->chunk, size);
    s->variable = weft_lowerer_variable(low, but_last ? size : weft_expr_min(x, size, weft_expr_sub(x, extent, start)));
    s->step = weft_expr_add(x, start, s->variable);
    s->row = row_position(low, point, s->axis);
}

static bool find_stages_of(lowerer *low, const weft_point *point, scan_plan *s)
{
    const weft_node *node = weft_graph_node(low->graph, low->root);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!weft_lowerer_scan_operand(low, point, i, s->step, &s->operands[i])) low->failed = true;
        if (low->failed || !weft_lowerer_find_stages(low, &s->operands[i].read)) return false;
    }
    return true;
}

/* What the row has before the chunk, in memory after the totals of chunks. */
static void load_before(lowerer *low, const scan_plan *s, weft_inst_id *out_before)
{
    weft_expr_context *x = low->exprs;
    weft_expr one = weft_expr_constant(x, 1), last = weft_expr_sub(x, s->chunk, one);
    weft_expr index = weft_expr_add(x, weft_expr_mul(x, s->row, weft_expr_sub(x, s->chunks, one)), last);
    uint32_t first = low->lowering->first_memory[low->root] + 1 + s->width;
    weft_inst inside = {.op = WEFT_SCALAR_inside, .dtype = WEFT_BOOL, .predicate_count = 1, .predicates = &last};
    for (uint32_t i = 0; i < s->width; i++) {
        weft_inst load = {.op = WEFT_SCALAR_load,
                          .dtype = s->dtypes[i],
                          .buffer = weft_lowerer_buffer(low, first + i, false),
                          .index = index,
                          .predicate_count = 1,
                          .predicates = &last};
        weft_inst pick = {.op = WEFT_SCALAR_select, .dtype = s->dtypes[i], .arg_count = 3};
        pick.args[0] = weft_kernel_builder_inst(low->builder, &inside);
        pick.args[1] = weft_kernel_builder_inst(low->builder, &load);
        pick.args[2] = weft_lowerer_constant(low, s->dtypes[i], weft_reduction_start(low->graph, low->root, i));
        out_before[i] = weft_kernel_builder_inst(low->builder, &pick);
    }
}

/*
 * A scan is one stage that stores while it accumulates. `reverse` runs along the axis backwards; `exclusive` takes the
 * element one step back, and for the first the initial value. A linear one takes in pairs of elements, of the first
 * only the term.
 */
void weft_lower_scan(lowerer *low, const weft_point *point, uint32_t target)
{
    const weft_node *node = weft_graph_node(low->graph, low->root);
    weft_expr_context *x = low->exprs;
    scan_plan s;
    weft_inst_id before[WEFT_MAX_COMPONENTS];
    plan_scan(low, point, false, &s);
    if (!find_stages_of(low, point, &s)) return;
    weft_expr extent = weft_space_extent(&low->space, node->types[0].shape.extents[s.axis]);
    weft_expr last = weft_expr_sub(x, extent, weft_expr_constant(x, 1));
    point->index[s.axis] = node->attrs[1].integer != 0 ? weft_expr_sub(x, last, s.step) : s.step;
    uint32_t buffer = weft_lowerer_buffer(low, target, true);
    if (s.size != 0) weft_kernel_builder_range(low->builder, weft_lowerer_range(low, s.chunk));
    weft_lowerer_make_ranges(low, low->outer);
    for (stage_plan *stage = low->stages; stage != NULL; stage = stage->next) {
        weft_lowerer_begin_stage(low);
        weft_lowerer_accumulate(low, stage);
    }
    weft_lowerer_begin_stage(low);
    weft_lowerer_accumulate_scan(low, &s.stage, node->input_count, s.operands, s.variable);
    if (s.size != 0) load_before(low, &s, before);
    weft_inst_id value = weft_lowerer_running(low, &s.stage, s.size != 0 ? before : NULL);
    weft_lowerer_store(low, buffer, weft_lowerer_address(low, target, point->index), value);
}

void weft_lower_totals(lowerer *low, const weft_point *point, uint32_t target)
{
    scan_plan s;
    weft_expr_context *x = low->exprs;
    plan_scan(low, point, true, &s);
    if (!find_stages_of(low, point, &s)) return;
    for (uint32_t i = 0; i < s.width; i++) weft_lowerer_buffer(low, target + i, true);
    weft_kernel_builder_range(low->builder, weft_lowerer_range(low, s.chunk));
    weft_lowerer_make_ranges(low, low->outer);
    weft_lowerer_begin_stage(low);
    weft_lowerer_accumulate_scan(low, &s.stage, 1, s.operands, s.variable);
    weft_lowerer_begin_stage(low);
    weft_expr each = weft_expr_sub(x, s.chunks, weft_expr_constant(x, 1));
    weft_expr index = weft_expr_add(x, weft_expr_mul(x, s.row, each), s.chunk);
    for (uint32_t i = 0; i < s.width; i++) weft_lowerer_store(low, i, index, weft_lowerer_component(low, &s.stage, i));
}

void weft_lower_prefix(lowerer *low, const weft_point *point, uint32_t target)
{
    scan_plan s;
    weft_expr_context *x = low->exprs;
    weft_inst_id values[WEFT_MAX_COMPONENTS];
    plan_scan(low, point, true, &s);
    weft_range range = weft_lowerer_range(low, s.chunk);
    range.reduce = true;
    for (uint32_t i = 0; i < s.width; i++) weft_lowerer_buffer(low, target + i, true);
    weft_lowerer_make_ranges(low, low->outer);
    weft_lowerer_begin_stage(low);
    weft_kernel_builder_range(low->builder, range);
    weft_expr each = weft_expr_sub(x, s.chunks, weft_expr_constant(x, 1));
    weft_expr index = weft_expr_add(x, weft_expr_mul(x, s.row, each), s.chunk);
    for (uint32_t i = 0; i < s.width; i++) {
        weft_inst load = {.op = WEFT_SCALAR_load, .dtype = s.dtypes[i], .index = index};
        load.buffer = weft_lowerer_buffer(low, target - s.width + i, false);
        values[i] = weft_kernel_builder_inst(low->builder, &load);
    }
    weft_lowerer_accumulate_values(low, &s.stage, s.width, values);
    for (uint32_t i = 0; i < s.width; i++)
        weft_lowerer_store(low, i, index, weft_lowerer_running_component(low, &s.stage, i));
}
