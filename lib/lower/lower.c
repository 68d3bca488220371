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

/* Stores what the reduction takes in, in its stage. */
static void store_operand(lowerer *low, const stage_plan *plan)
{
    weft_point read;
    if (!weft_space_operand(&low->space, &plan->point, 0, plan->reduced, &read)) low->failed = true;
    if (low->failed) return;
    uint32_t memory = low->lowering->first_memory[read.value.node], buffer = weft_lowerer_buffer(low, memory, true);
    weft_inst_id value = weft_lowerer_value(low, &read);
    weft_lowerer_store(low, buffer, weft_lowerer_address(low, memory, read.index), value);
}

/* The point of a value of as many elements as the root has. */
static weft_point same_point(const weft_point *point, uint32_t node)
{
    weft_point same = *point;
    same.value = (weft_value){node, 0};
    return same;
}

/* Finds the stages behind what an elementwise root's kernel stores beside its result. */
static bool find_stages_of_stored(lowerer *low, const weft_point *point)
{
    for (uint32_t s = low->fusion->stored[low->root]; s != 0; s = low->fusion->stored[s - 1]) {
        weft_point stored = same_point(point, s - 1);
        if (!weft_lowerer_find_stages_of_operands(low, &stored, NULL)) return false;
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
static bool find_stages_of_reduced(lowerer *low, const stage_plan *own)
{
    bool fits = !low->failed;
    for (const stage_plan *plan = own; plan != NULL && fits; plan = plan->beside)
        fits = weft_lowerer_find_stages_of_operands(low, &plan->point, plan->reduced);
    return fits;
}

static void store_at(lowerer *low, uint32_t memory, const weft_point *point, weft_inst_id value)
{
    uint32_t buffer = weft_lowerer_buffer(low, memory, true);
    weft_lowerer_store(low, buffer, weft_lowerer_address(low, memory, point->index), value);
}

/* Stores the root's own reduction, and those beside it. */
static void store_outcomes(lowerer *low, const stage_plan *own, uint32_t target)
{
    for (const stage_plan *plan = own; plan != NULL; plan = plan->beside) {
        uint32_t memory = plan == own ? target : low->lowering->first_memory[plan->node];
        store_at(low, memory, &plan->point, weft_lowerer_outcome(low, plan));
    }
}

/* Finds the stages of the kernel of an elementwise root. False if there cannot be such a kernel. */
static bool plan_elements(lowerer *low, const weft_point *point)
{
    low->may_cut = !weft_axis_is_cut(low->cut) && low->axis_count < WEFT_MAX_RANK;
    return weft_lowerer_find_stages_of_operands(low, point, NULL) && find_stages_of_stored(low, point);
}

/* The same of a reduction, which is the last stage. */
static bool plan_reduction(lowerer *low, const weft_point *point, stage_plan **out_own)
{
    low->outer_fixed = true;
    *out_own = weft_lowerer_plan(low, point);
    if (*out_own == NULL) low->failed = true;
    if (low->failed) return false;
    plan_stored(low, *out_own);
    if (!find_stages_of_reduced(low, *out_own)) return false;
    weft_lowerer_add_stage(low, *out_own);
    return true;
}

static void store_elements(lowerer *low, const weft_point *point, uint32_t target)
{
    for (uint32_t s = low->fusion->stored[low->root]; s != 0; s = low->fusion->stored[s - 1]) {
        weft_point stored = same_point(point, s - 1);
        store_at(low, low->lowering->first_memory[s - 1], &stored, weft_lowerer_value(low, &stored));
    }
    store_at(low, target, point, weft_lowerer_compute(low, point));
}

/* Lanes go along rows for all stages or across them: beside reductions in order, across rows, those whose order affects
 * no bit have no virtual lanes. */
static void agree_on_lanes(lowerer *low)
{
    bool is_across = false;
    for (const stage_plan *plan = low->stages; plan != NULL; plan = plan->next)
        is_across |= plan->reduction.blocks != WEFT_BLOCKS_NONE && plan->reduction.lanes == 1;
    for (stage_plan *plan = low->stages; plan != NULL; plan = plan->next)
        for (stage_plan *each = plan; each != NULL && is_across; each = each->beside)
            if (each->reduction.blocks == WEFT_BLOCKS_NONE) each->reduction.lanes = 1;
}

/* The whole root in one kernel. */
static void lower_whole(lowerer *low, const weft_point *point, uint32_t target)
{
    stage_plan *own = NULL;
    const weft_node *root = weft_graph_node(low->graph, low->root);
    if (root->op->op_class == WEFT_CLASS_SCAN) {
        weft_lower_scan(low, point, target);
        return;
    }
    bool reduces = root->op->op_class == WEFT_CLASS_REDUCE || root->op->op_class == WEFT_CLASS_PRODUCT;
    low->outer = weft_lowerer_axes(low);
    if (reduces ? !plan_reduction(low, point, &own) : !plan_elements(low, point)) return;
    weft_lowerer_buffer(low, target, true);
    for (uint32_t s = low->fusion->stored[low->root]; s != 0; s = low->fusion->stored[s - 1])
        weft_lowerer_buffer(low, low->lowering->first_memory[s - 1], true);
    uint32_t operand = reduces ? root->inputs[0].node : low->root;
    bool stores = weft_lowerer_stores(low, operand);
    if (stores) weft_lowerer_buffer(low, low->lowering->first_memory[operand], true);
    weft_lowerer_make_ranges(low, low->outer);
    agree_on_lanes(low);
    for (stage_plan *plan = low->stages; plan != NULL; plan = plan->next) {
        weft_lowerer_begin_stage(low);
        weft_lowerer_accumulate(low, plan);
        if (stores && plan == own) store_operand(low, plan);
    }
    weft_lowerer_begin_stage(low);
    weft_lowerer_make_ranges(low, weft_lowerer_axes(low) & ~low->outer);
    if (reduces) store_outcomes(low, own, target);
    else store_elements(low, point, target);
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
        weft_lowerer_store(low, weft_lowerer_buffer(low, first + i, true), index, weft_lowerer_component(low, plan, i));
}

/* One partial result for each chunk of a long reduction, and of those beside it. */
static void lower_partial(lowerer *low, const weft_point *point, uint32_t target)
{
    weft_expr_context *x = low->exprs;
    stage_plan *plan = weft_lowerer_plan(low, point);
    if (plan == NULL) low->failed = true;
    if (low->failed) return;
    low->outer = weft_lowerer_axes(low);
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
    if (!find_stages_of_reduced(low, plan)) return;
    weft_dtype dtypes[WEFT_MAX_COMPONENTS];
    for (const stage_plan *each = plan; each != NULL; each = each->beside) {
        uint32_t width = weft_reduction_components(low->graph, each->node, dtypes);
        for (uint32_t i = 0; i < width; i++) weft_lowerer_buffer(low, partial_memory(low, each, target) + i, true);
    }
    bool is_along_memory = plan->reduction.lanes > 1; /* then the chunks of a row follow each other */
    if (!is_along_memory) weft_kernel_builder_range(low->builder, weft_lowerer_range(low, chunk));
    weft_lowerer_make_ranges(low, low->outer);
    if (is_along_memory) weft_kernel_builder_range(low->builder, weft_lowerer_range(low, chunk));
    weft_lowerer_begin_stage(low);
    weft_lowerer_accumulate(low, plan);
    weft_lowerer_begin_stage(low);
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
    weft_lowerer_make_ranges(low, weft_lowerer_axes(low));
    for (stage_plan *plan = own; plan != NULL; plan = plan->beside) {
        weft_lowerer_begin_stage(low);
        weft_lowerer_accumulate_partial(low, plan, low->lowering->first_memory[plan->node] + 1);
    }
    weft_lowerer_begin_stage(low);
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
    weft_lowerer_make_ranges(low, weft_lowerer_axes(low));
    weft_lowerer_begin_stage(low);
    weft_inst_id value = weft_lowerer_value(low, point);
    weft_lowerer_store(low, written, weft_lowerer_address(low, target, point->index), value);
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
    low->outer = weft_lowerer_axes(low) & ~meeting;
    low->outer_fixed = true;
    for (uint32_t i = weft_indexing_first(weft_op_id_of(node->op)); i < node->input_count; i++) {
        weft_point read;
        if (!weft_lowerer_update_operand(low, point, i, &read)) low->failed = true;
        if (low->failed || !weft_lowerer_find_stages(low, &read)) return;
    }
    if (!weft_lowerer_find_stages(low, point)) return;
    weft_lowerer_buffer(low, target, true);
    weft_lowerer_make_ranges(low, low->outer);
    for (stage_plan *plan = low->stages; plan != NULL; plan = plan->next) {
        weft_lowerer_begin_stage(low);
        weft_lowerer_accumulate(low, plan);
    }
    weft_lowerer_begin_stage(low);
    weft_lowerer_make_ranges(low, weft_lowerer_axes(low) & meeting);
    weft_lowerer_store_update(low, point, target);
}

weft_status *weft_lower_root(weft_lowering *lowering, uint32_t root, weft_lower_part part, uint32_t target,
                             weft_lowered *out_lowered)
{
    static const lower_function functions[] = {lower_whole, lower_partial, lower_final, weft_lower_totals,
                                               weft_lower_prefix};
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
