/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/lower.h"
#include "lib/graph/indexing.h"
#include "lib/lower/lowerer.h"
#include <inttypes.h>
#include <string.h>

/*
 * A root's axes are ranges. Reductions that are fused into the kernel become stages: their results depend on some of
 * those axes, which are then the outer ranges; the remaining axes are inner ranges of the last stage, which stores. All
 * stages must agree on the outer axes; one that does not is materialized, and the fusion plan starts over.
 */

/* Whether all indices of the root's axis are inside the extent: a concat or pad reads its operands on a part of its own
 * axis only. */
static bool stays_inside(lowerer *low, weft_expr variable, weft_extent extent)
{
    weft_expr_context *x = low->exprs;
    weft_expr rest = weft_expr_sub(x, weft_space_extent(&low->space, extent), weft_expr_bound(x, variable));
    return weft_expr_always_nonnegative(x, rest);
}

/* Whether the extent is known to be at least one: the only index of an empty axis is 0, too. */
static bool has_elements(lowerer *low, weft_extent extent)
{
    weft_expr_context *x = low->exprs;
    weft_expr rest = weft_expr_sub(x, weft_space_extent(&low->space, extent), weft_expr_constant(x, 1));
    return weft_expr_always_nonnegative(x, rest);
}

/* The axes of the root that the point uses, if its index consists of distinct axes and zeros. */
static bool used_axes(lowerer *low, const weft_point *point, uint64_t *out_axes)
{
    weft_shape shape = weft_value_type(low->graph, point->value)->shape;
    size_t rank = low->axis_count;
    uint64_t axes = 0;
    for (size_t i = 0; i < shape.rank; i++) {
        int64_t constant;
        if (weft_expr_is_constant(low->exprs, point->index[i], &constant) && constant == 0) {
            if (!has_elements(low, shape.extents[i])) return false;
            continue;
        }
        size_t axis = 0;
        while (axis < rank && low->variables[axis] != point->index[i]) axis++;
        if (axis == rank || (axes >> axis & 1) != 0) return false;
        if (!stays_inside(low, point->index[i], shape.extents[i])) return false;
        axes |= UINT64_C(1) << axis;
    }
    *out_axes = axes;
    return true;
}

/* The axes of the root that become ranges: those whose extent is not statically one. */
static uint64_t all_axes(const lowerer *low)
{
    uint64_t axes = 0;
    for (size_t i = 0; i < low->axis_count; i++) {
        int64_t constant;
        if (!weft_expr_is_constant(low->exprs, low->variables[i], &constant)) axes |= UINT64_C(1) << i;
    }
    return axes;
}

static bool same_index(const lowerer *low, const weft_point *a, const weft_point *b)
{
    size_t rank = weft_value_type(low->graph, a->value)->shape.rank;
    return rank == 0 || memcmp(a->index, b->index, rank * sizeof *a->index) == 0;
}

static void add_stage(lowerer *low, stage_plan *plan)
{
    plan->next = NULL;
    *low->last_stage = plan;
    low->last_stage = &plan->next;
}

/* Whether a reduction read at this point can be a stage: it has to use exactly the outer axes, and there must be some
 * to run in parallel. */
static bool fits(lowerer *low, const weft_point *point)
{
    uint64_t axes;
    if (!used_axes(low, point, &axes)) {
        if (low->may_cut) weft_lowerer_find_cut(low, point);
        return false;
    }
    if (low->outer_fixed) return axes == low->outer;
    if (axes == 0 && all_axes(low) != 0) return false;
    low->outer = axes;
    low->outer_fixed = true;
    return true;
}

static bool scan(lowerer *low, const weft_point *point);

static bool scan_operands(lowerer *low, const weft_point *point, const weft_expr *reduced)
{
    const weft_node *node = weft_graph_node(low->graph, point->value.node);
    for (uint32_t i = weft_indexing_first(weft_op_id_of(node->op)); i < node->input_count; i++) {
        weft_point read;
        if (!weft_space_operand(&low->space, point, i, reduced, &read)) low->failed = true;
        if (low->failed || !scan(low, &read)) return false;
    }
    return true;
}

static bool scan_stage(lowerer *low, const weft_point *point)
{
    stage_plan *known = weft_lowerer_find_stage(low, point->value.node);
    if (known != NULL && same_index(low, &known->point, point)) return true;
    weft_shape shape = weft_value_type(low->graph, point->value)->shape;
    /* In ranges without a point indices say nothing of where a value is needed. */
    if (known != NULL || weft_space_is_empty(&low->space, shape) || !fits(low, point)) {
        if (!weft_axis_is_cut(low->wanted_cut)) weft_fusion_materialize_stage(low->lowering->fusion, point->value.node);
        return false;
    }
    stage_plan *plan = weft_lowerer_plan(low, point);
    if (plan == NULL) low->failed = true;
    if (low->failed || !scan_operands(low, point, plan->reduced)) return false;
    add_stage(low, plan);
    return true;
}

/* Finds the stages behind a point, innermost first. False if the kernel cannot have them. */
static bool scan(lowerer *low, const weft_point *point)
{
    weft_role role = low->fusion->roles[point->value.node];
    if (weft_role_has_memory((uint8_t)role) && !weft_lowerer_stores(low, point->value.node)) return true;
    size_t key_size = 0;
    const uint32_t *key = weft_lowerer_key(low, point, &key_size);
    if (low->failed) return false;
    if (weft_map_find(&low->visited, key, key_size) != NULL) return true;
    if (!weft_map_insert(&low->visited, key, key_size, low)) low->failed = true;
    if (low->failed) return false;
    return role == WEFT_ROLE_STAGE ? scan_stage(low, point) : scan_operands(low, point, NULL);
}

static weft_range plain_range(lowerer *low, weft_expr variable)
{
    return (weft_range){.variable = variable,
                        .extent = weft_expr_bound(low->exprs, variable),
                        .virtual_lanes = 1,
                        .width = 1,
                        .unroll = 1};
}

static void begin_stage(lowerer *low)
{
    weft_map_finish(&low->values, NULL);
    weft_map_init(&low->values, low->lowering->allocator);
    low->data_index_count = 0;
    weft_kernel_builder_stage(low->builder);
}

/* Ranges for the root's axes in `axes`, in order. */
static void make_ranges(lowerer *low, uint64_t axes)
{
    for (uint32_t i = 0; axes >> i != 0 && i < WEFT_MAX_RANK; i++) {
        if ((axes >> i & 1) != 0) weft_kernel_builder_range(low->builder, plain_range(low, low->variables[i]));
    }
}

static void store(lowerer *low, uint32_t buffer, weft_expr index, weft_inst_id value)
{
    weft_kernel_builder_store(low->builder, &(weft_store){.buffer = buffer, .index = index, .value = value});
}

/* ---- scans ---- */

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
    low->outer = all_axes(low) & ~(UINT64_C(1) << s->axis);
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

static bool scan_operands_of(lowerer *low, const weft_point *point, scan_plan *s)
{
    const weft_node *node = weft_graph_node(low->graph, low->root);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!weft_lowerer_scan_operand(low, point, i, s->step, &s->operands[i])) low->failed = true;
        if (low->failed || !scan(low, &s->operands[i].read)) return false;
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
static void lower_scan(lowerer *low, const weft_point *point, uint32_t target)
{
    const weft_node *node = weft_graph_node(low->graph, low->root);
    weft_expr_context *x = low->exprs;
    scan_plan s;
    weft_inst_id before[WEFT_MAX_COMPONENTS];
    plan_scan(low, point, false, &s);
    if (!scan_operands_of(low, point, &s)) return;
    weft_expr extent = weft_space_extent(&low->space, node->types[0].shape.extents[s.axis]);
    weft_expr last = weft_expr_sub(x, extent, weft_expr_constant(x, 1));
    point->index[s.axis] = node->attrs[1].integer != 0 ? weft_expr_sub(x, last, s.step) : s.step;
    uint32_t buffer = weft_lowerer_buffer(low, target, true);
    if (s.size != 0) weft_kernel_builder_range(low->builder, plain_range(low, s.chunk));
    make_ranges(low, low->outer);
    for (stage_plan *stage = low->stages; stage != NULL; stage = stage->next) {
        begin_stage(low);
        weft_lowerer_accumulate(low, stage);
    }
    begin_stage(low);
    weft_lowerer_accumulate_scan(low, &s.stage, node->input_count, s.operands, s.variable);
    if (s.size != 0) load_before(low, &s, before);
    weft_inst_id value = weft_lowerer_running(low, &s.stage, s.size != 0 ? before : NULL);
    store(low, buffer, weft_lowerer_address(low, target, point->index), value);
}

/* What each chunk of a scan gives, in the scan's order. */
static void lower_totals(lowerer *low, const weft_point *point, uint32_t target)
{
    scan_plan s;
    weft_expr_context *x = low->exprs;
    plan_scan(low, point, true, &s);
    if (!scan_operands_of(low, point, &s)) return;
    for (uint32_t i = 0; i < s.width; i++) weft_lowerer_buffer(low, target + i, true);
    weft_kernel_builder_range(low->builder, plain_range(low, s.chunk));
    make_ranges(low, low->outer);
    begin_stage(low);
    weft_lowerer_accumulate_scan(low, &s.stage, 1, s.operands, s.variable);
    begin_stage(low);
    weft_expr each = weft_expr_sub(x, s.chunks, weft_expr_constant(x, 1));
    weft_expr index = weft_expr_add(x, weft_expr_mul(x, s.row, each), s.chunk);
    for (uint32_t i = 0; i < s.width; i++) store(low, i, index, weft_lowerer_component(low, &s.stage, i));
}

/* What there is after each chunk: totals that lie before `target` are added up in order. */
static void lower_prefix(lowerer *low, const weft_point *point, uint32_t target)
{
    scan_plan s;
    weft_expr_context *x = low->exprs;
    weft_inst_id values[WEFT_MAX_COMPONENTS];
    plan_scan(low, point, true, &s);
    weft_range range = plain_range(low, s.chunk);
    range.reduce = true;
    for (uint32_t i = 0; i < s.width; i++) weft_lowerer_buffer(low, target + i, true);
    make_ranges(low, low->outer);
    begin_stage(low);
    weft_kernel_builder_range(low->builder, range);
    weft_expr each = weft_expr_sub(x, s.chunks, weft_expr_constant(x, 1));
    weft_expr index = weft_expr_add(x, weft_expr_mul(x, s.row, each), s.chunk);
    for (uint32_t i = 0; i < s.width; i++) {
        weft_inst load = {.op = WEFT_SCALAR_load, .dtype = s.dtypes[i], .index = index};
        load.buffer = weft_lowerer_buffer(low, target - s.width + i, false);
        values[i] = weft_kernel_builder_inst(low->builder, &load);
    }
    weft_lowerer_accumulate_values(low, &s.stage, s.width, values);
    for (uint32_t i = 0; i < s.width; i++) store(low, i, index, weft_lowerer_running_component(low, &s.stage, i));
}

/* ---- roots ---- */

/* Stores what the reduction takes in, in its stage. */
static void store_operand(lowerer *low, const stage_plan *plan)
{
    weft_point read;
    if (!weft_space_operand(&low->space, &plan->point, 0, plan->reduced, &read)) low->failed = true;
    if (low->failed) return;
    uint32_t memory = low->lowering->first_memory[read.value.node], buffer = weft_lowerer_buffer(low, memory, true);
    weft_inst_id value = weft_lowerer_value(low, &read);
    store(low, buffer, weft_lowerer_address(low, memory, read.index), value);
}

/* The point of a value of as many elements as the root has. */
static weft_point same_point(const weft_point *point, uint32_t node)
{
    weft_point same = *point;
    same.value = (weft_value){node, 0};
    return same;
}

/* Finds the stages behind what an elementwise root's kernel stores beside its result. */
static bool scan_stored(lowerer *low, const weft_point *point)
{
    for (uint32_t s = low->fusion->stored[low->root]; s != 0; s = low->fusion->stored[s - 1]) {
        weft_point stored = same_point(point, s - 1);
        if (!scan_operands(low, &stored, NULL)) return false;
    }
    return true;
}

/* Plans the reductions that a kernel stores beside that of its root, in the same stage. */
static void plan_stored(lowerer *low, stage_plan *own)
{
    for (uint32_t s = low->fusion->stored[low->root]; s != 0 && !low->failed; s = low->fusion->stored[s - 1]) {
        weft_point stored = same_point(&own->point, s - 1);
        if (weft_lowerer_plan_beside(low, own, &stored) == NULL) low->failed = true;
    }
}

/* Finds the stages behind reductions of one stage. */
static bool scan_reduced(lowerer *low, const stage_plan *own)
{
    bool fits = !low->failed;
    for (const stage_plan *plan = own; plan != NULL && fits; plan = plan->beside)
        fits = scan_operands(low, &plan->point, plan->reduced);
    return fits;
}

static void store_at(lowerer *low, uint32_t memory, const weft_point *point, weft_inst_id value)
{
    uint32_t buffer = weft_lowerer_buffer(low, memory, true);
    store(low, buffer, weft_lowerer_address(low, memory, point->index), value);
}

/* Stores the root's own reduction, and those beside it. */
static void store_outcomes(lowerer *low, const stage_plan *own, uint32_t target)
{
    for (const stage_plan *plan = own; plan != NULL; plan = plan->beside) {
        uint32_t memory = plan == own ? target : low->lowering->first_memory[plan->node];
        store_at(low, memory, &plan->point, weft_lowerer_outcome(low, plan));
    }
}

/* The whole root in one kernel. */
static void lower_whole(lowerer *low, const weft_point *point, uint32_t target)
{
    const weft_fusion *fusion = low->fusion;
    stage_plan *own = NULL;
    uint32_t op_class = weft_graph_node(low->graph, low->root)->op->op_class;
    if (op_class == WEFT_CLASS_SCAN) {
        lower_scan(low, point, target);
        return;
    }
    low->outer = all_axes(low);
    if (op_class == WEFT_CLASS_REDUCE || op_class == WEFT_CLASS_PRODUCT) {
        low->outer_fixed = true;
        own = weft_lowerer_plan(low, point);
        if (own == NULL) low->failed = true;
        if (low->failed) return;
        plan_stored(low, own);
        if (!scan_reduced(low, own)) return;
        add_stage(low, own);
    } else {
        low->may_cut = !weft_axis_is_cut(low->cut) && low->axis_count < WEFT_MAX_RANK;
        if (!scan_operands(low, point, NULL) || !scan_stored(low, point)) return;
    }
    weft_lowerer_buffer(low, target, true);
    for (uint32_t s = fusion->stored[low->root]; s != 0; s = fusion->stored[s - 1])
        weft_lowerer_buffer(low, low->lowering->first_memory[s - 1], true);
    uint32_t operand = own != NULL ? weft_graph_node(low->graph, low->root)->inputs[0].node : low->root;
    bool stores = weft_lowerer_stores(low, operand);
    if (stores) weft_lowerer_buffer(low, low->lowering->first_memory[operand], true);
    make_ranges(low, low->outer);
    for (stage_plan *plan = low->stages; plan != NULL; plan = plan->next) {
        begin_stage(low);
        weft_lowerer_accumulate(low, plan);
        if (stores && plan == own) store_operand(low, plan);
    }
    begin_stage(low);
    make_ranges(low, all_axes(low) & ~low->outer);
    if (own != NULL) {
        store_outcomes(low, own, target);
        return;
    }
    for (uint32_t s = fusion->stored[low->root]; s != 0; s = fusion->stored[s - 1]) {
        weft_point stored = same_point(point, s - 1);
        store_at(low, low->lowering->first_memory[s - 1], &stored, weft_lowerer_value(low, &stored));
    }
    store_at(low, target, point, weft_lowerer_compute(low, point));
}

/* Where partial results of a reduction lie, after its result; `target`: those of the root. */
static uint32_t partial_memory(const lowerer *low, const stage_plan *plan, uint32_t target)
{
    return plan->node == low->root ? target : low->lowering->first_memory[plan->node] + 1;
}

static void store_partial(lowerer *low, const stage_plan *plan, uint32_t first, weft_expr index)
{
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    uint32_t width = weft_reduction_components(low->graph, plan->node, dtypes);
    for (uint32_t i = 0; i < width; i++)
        store(low, weft_lowerer_buffer(low, first + i, true), index, weft_lowerer_component(low, plan, i));
}

/* One partial result for each chunk of a long reduction, and of those beside it. */
static void lower_partial(lowerer *low, const weft_point *point, uint32_t target)
{
    weft_expr_context *x = low->exprs;
    stage_plan *plan = weft_lowerer_plan(low, point);
    if (plan == NULL) low->failed = true;
    if (low->failed) return;
    low->outer = all_axes(low);
    low->outer_fixed = true;
    weft_expr chunks = weft_reduction_chunks(&low->space, low->root, &plan->reduction);
    weft_expr chunk = weft_lowerer_variable(low, chunks);
    weft_expr size = weft_expr_constant(x, plan->reduction.chunk);
    weft_expr start = weft_expr_mul(x, chunk, size);
    plan->extents[0] = weft_expr_min(x, size, weft_expr_sub(x, plan->extents[0], start));
    plan->variables[0] = weft_lowerer_variable(low, plan->extents[0]);
    plan->positions[0] = weft_expr_add(x, start, plan->variables[0]);
    weft_lowerer_split(low, plan);
    plan_stored(low, plan);
    if (!scan_reduced(low, plan)) return;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    for (const stage_plan *each = plan; each != NULL; each = each->beside) {
        uint32_t width = weft_reduction_components(low->graph, each->node, dtypes);
        for (uint32_t i = 0; i < width; i++) weft_lowerer_buffer(low, partial_memory(low, each, target) + i, true);
    }
    weft_kernel_builder_range(low->builder, plain_range(low, chunk));
    make_ranges(low, low->outer);
    begin_stage(low);
    weft_lowerer_accumulate(low, plan);
    begin_stage(low);
    weft_expr index = weft_expr_mul(x, weft_space_position(&low->space, point), chunks);
    index = weft_expr_add(x, index, chunk);
    for (const stage_plan *each = plan; each != NULL; each = each->beside)
        store_partial(low, each, partial_memory(low, each, target), index);
}

static void lower_final(lowerer *low, const weft_point *point, uint32_t target)
{
    stage_plan *own = weft_lowerer_plan(low, point);
    if (own == NULL) low->failed = true;
    if (low->failed) return;
    plan_stored(low, own);
    weft_lowerer_buffer(low, target, true);
    for (stage_plan *plan = own->beside; plan != NULL; plan = plan->beside)
        weft_lowerer_buffer(low, low->lowering->first_memory[plan->node], true);
    make_ranges(low, all_axes(low));
    for (stage_plan *plan = own; plan != NULL; plan = plan->beside) {
        begin_stage(low);
        weft_lowerer_accumulate_partial(low, plan, low->lowering->first_memory[plan->node] + 1);
    }
    begin_stage(low);
    store_outcomes(low, own, target);
}

static weft_status *lowerer_init(lowerer *low, weft_lowering *lowering, weft_value value)
{
    *low = (lowerer){.lowering = lowering,
                     .graph = lowering->fusion->compiled->graph,
                     .fusion = lowering->fusion,
                     .root = value.node,
                     .value = value};
    low->last_stage = &low->stages;
    weft_arena_init(&low->arena, lowering->allocator);
    weft_map_init(&low->values, lowering->allocator);
    weft_map_init(&low->visited, lowering->allocator);
    WEFT_TRY(weft_kernel_builder_create(lowering->allocator, &low->builder));
    low->exprs = weft_kernel_builder_exprs(low->builder);
    low->space = (weft_space){.graph = low->graph,
                              .exprs = low->exprs,
                              .arena = &low->arena,
                              .fixed = lowering->fixed,
                              .equal = lowering->fusion->space->equal};
    return NULL;
}

static void lowerer_finish(lowerer *low)
{
    weft_map_finish(&low->values, NULL);
    weft_map_finish(&low->visited, NULL);
    weft_free(low->lowering->allocator, low->data_indices, low->data_index_capacity * sizeof *low->data_indices);
    weft_kernel_builder_destroy(low->builder);
    weft_arena_finish(&low->arena);
}

/* The node below an operand without memory at which about half of its work is done: cut there, a chain needs few
 * kernels. */
static uint32_t middle_of(const lowerer *low, uint32_t operand)
{
    const weft_fusion *fusion = low->fusion;
    uint32_t half = fusion->weights[operand] / 2;
    for (uint32_t found = operand;;) {
        const weft_node *node = weft_graph_node(low->graph, found);
        uint32_t next = found;
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t n = node->inputs[i].node;
            bool inside = fusion->roles[n] == WEFT_ROLE_INLINE && fusion->weights[n] >= half;
            if (inside && (next == found || fusion->weights[n] > fusion->weights[next])) next = n;
        }
        if (next == found) return found;
        found = next;
    }
}

/* A kernel that has grown too large is cut below the operands of its node. */
static weft_status *cut(lowerer *low)
{
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    if (node->input_count > 0 && weft_lowerer_stores(low, node->inputs[0].node))
        node = weft_graph_node(low->graph, node->inputs[0].node);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t operand = node->inputs[i].node;
        if (!weft_role_has_memory(low->fusion->roles[operand]))
            weft_fusion_materialize(low->lowering->fusion, middle_of(low, operand));
    }
    if (low->lowering->fusion->changed) return NULL;
    weft_status *status = weft_status_create(low->lowering->allocator, WEFT_UNSUPPORTED, NULL,
                                             "%s with %" PRIu32 " operands needs more than %d buffers in one kernel",
                                             node->op->name, node->input_count, WEFT_LOWERER_LIMIT);
    return weft_node_error(node, low->lowering->allocator, status);
}

static weft_status *finish_kernel(lowerer *low, weft_lowered *out_lowered)
{
    weft_kernel_builder_sites(low->builder, low->site_count);
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    WEFT_TRY(weft_node_error(node, low->lowering->allocator, weft_expr_context_take_error(low->exprs)));
    if (low->too_large) return cut(low);
    if (low->failed) return weft_status_out_of_memory();
    weft_lowered lowered = {0};
    lowered.memories = weft_arena_copy(low->lowering->arena, low->memories, (low->memory_count + 1) * sizeof(uint32_t));
    lowered.sites = weft_arena_copy(low->lowering->arena, low->sites, (low->site_count + 1) * sizeof(char *));
    lowered.site_count = low->site_count;
    lowered.checks_values = low->checks_values;
    size_t size = (low->site_count + 1) * sizeof(weft_expr);
    lowered.site_extents = weft_arena_copy(low->lowering->arena, low->site_extents, size);
    if (lowered.memories == NULL || lowered.sites == NULL || lowered.site_extents == NULL)
        return weft_status_out_of_memory();
    WEFT_TRY(weft_kernel_builder_finish(low->builder, &lowered.kernel));
    *out_lowered = lowered;
    return NULL;
}

/* Of a kernel that is given up because the fusion plan changed. */
static weft_status *check_memory(const lowerer *low)
{
    if (low->failed && !low->too_large) return weft_status_out_of_memory();
    return weft_expr_context_take_out_of_memory(low->exprs);
}

typedef void (*lower_function)(lowerer *low, const weft_point *point, uint32_t target);

static void copy(lowerer *low, const weft_point *point, uint32_t target)
{
    uint32_t written = weft_lowerer_buffer(low, target, true);
    make_ranges(low, all_axes(low));
    begin_stage(low);
    weft_inst_id value = weft_lowerer_value(low, point);
    store(low, written, weft_lowerer_address(low, target, point->index), value);
}

/* With one axis cut, if `cut` says so; sets it to the cut that is wanted instead of a result. */
static weft_status *try_lower(weft_lowering *lowering, weft_value value, lower_function function, uint32_t target,
                              uint32_t owner, axis_cut *cut, weft_lowered *out_lowered)
{
    lowerer low;
    weft_status *status = lowerer_init(&low, lowering, value);
    low.owner = owner;
    low.cut = *cut;
    *out_lowered = (weft_lowered){0};
    if (status == NULL && (function == lower_whole || function == copy) && !weft_axis_is_cut(*cut))
        low.cut = weft_lowerer_joined_axis(&low, value);
    if (status == NULL) {
        weft_point point = weft_lowerer_whole_point(&low, value);
        if (!low.failed) function(&low, &point, target);
        bool is_kernel = !lowering->fusion->changed && !weft_axis_is_cut(low.wanted_cut);
        status = is_kernel ? finish_kernel(&low, out_lowered) : check_memory(&low);
    }
    *cut = low.wanted_cut;
    lowerer_finish(&low);
    return status;
}

static weft_status *lower(weft_lowering *lowering, weft_value value, lower_function function, uint32_t target,
                          uint32_t owner, weft_lowered *out_lowered)
{
    axis_cut cut = {0};
    weft_status *status = try_lower(lowering, value, function, target, owner, &cut, out_lowered);
    if (status != NULL || !weft_axis_is_cut(cut)) return status;
    return try_lower(lowering, value, function, target, owner, &cut, out_lowered);
}

/* Threads and lanes run where updates do not meet; where they may, they are applied in order. */
static void lower_update(lowerer *low, const weft_point *point, uint32_t target)
{
    const weft_node *node = weft_graph_node(low->graph, low->owner);
    uint64_t meeting = weft_lowerer_meeting_axes(low);
    low->outer = all_axes(low) & ~meeting;
    low->outer_fixed = true;
    for (uint32_t i = weft_indexing_first(weft_op_id_of(node->op)); i < node->input_count; i++) {
        weft_point read;
        if (!weft_lowerer_update_operand(low, point, i, &read)) low->failed = true;
        if (low->failed || !scan(low, &read)) return;
    }
    if (!scan(low, point)) return;
    weft_lowerer_buffer(low, target, true);
    make_ranges(low, low->outer);
    for (stage_plan *plan = low->stages; plan != NULL; plan = plan->next) {
        begin_stage(low);
        weft_lowerer_accumulate(low, plan);
    }
    begin_stage(low);
    make_ranges(low, all_axes(low) & meeting);
    weft_lowerer_store_update(low, point, target);
}

weft_status *weft_lower_root(weft_lowering *lowering, uint32_t root, weft_lower_part part, uint32_t target,
                             weft_lowered *out_lowered)
{
    static const lower_function functions[] = {lower_whole, lower_partial, lower_final, lower_totals, lower_prefix};
    if (part != WEFT_LOWER_BASE && part != WEFT_LOWER_UPDATE)
        return lower(lowering, (weft_value){root, 0}, functions[part], target, root, out_lowered);
    const weft_graph *graph = lowering->fusion->compiled->graph;
    weft_value value = weft_graph_node(graph, root)->inputs[part == WEFT_LOWER_BASE ? 0 : 1];
    bool has_memory = weft_role_has_memory(lowering->fusion->roles[value.node]);
    lower_function function = part == WEFT_LOWER_UPDATE ? lower_update : has_memory ? copy : lower_whole;
    return lower(lowering, value, function, target, root, out_lowered);
}

weft_status *weft_lower_copy(weft_lowering *lowering, uint32_t source, uint32_t target, weft_lowered *out_lowered)
{
    weft_value value = lowering->memories[source].value;
    return lower(lowering, value, copy, target, value.node, out_lowered);
}
