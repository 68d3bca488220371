/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>
#include "lib/graph/indexing.h"

/*
 * A region op becomes a step with the steps of its regions after it, in the same variant: its values are planned
 * together with all others, and its extents are slots like theirs. What a loop carries is known to its steps as two
 * ALIAS buffers, `current` and `next`, which stand for other memory from one iteration to the next.
 */

/* A region op on its way to a planned step. */
typedef struct region_plan {
    variant_builder *builder;
    const weft_node *node;
    uint32_t number; /* of the node */
    planned_step step;
    size_t carried_count;
    weft_carried *carried;
    weft_memory *operands; /* as the regions know them */
    uint32_t *operand_buffers;
} region_plan;

static void *allocate(const region_plan *plan, size_t count, size_t size)
{
    return weft_arena_allocate(plan->builder->arena, (count + 1) * size);
}

/* ---- operands ---- */

/* What a loop starts from is row-major like what follows it. */
static weft_status *find_operand(region_plan *plan, uint32_t i)
{
    variant_builder *builder = plan->builder;
    uint32_t memory = weft_builder_memory(builder, plan->node->inputs[i]);
    if (i < plan->carried_count && builder->memories[memory].stride_prefix != NULL) {
        uint32_t copy;
        WEFT_TRY(weft_builder_spare(builder, plan->node->inputs[i], &copy));
        WEFT_TRY(weft_builder_plan_copy(builder, memory, copy));
        memory = copy;
    }
    plan->operands[i] = builder->memories[memory];
    plan->operand_buffers[i] = builder->buffers[memory];
    return NULL;
}

static weft_status *find_operands(region_plan *plan)
{
    plan->operands = allocate(plan, plan->node->input_count, sizeof *plan->operands);
    plan->operand_buffers = allocate(plan, plan->node->input_count, sizeof *plan->operand_buffers);
    if (plan->operands == NULL || plan->operand_buffers == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < plan->node->input_count; i++) WEFT_TRY(find_operand(plan, i));
    return NULL;
}

static uint32_t result_buffer(const region_plan *plan, uint32_t output)
{
    const variant_builder *builder = plan->builder;
    return builder->buffers[weft_builder_memory(builder, (weft_value){plan->number, output})];
}

/* ---- what is carried ---- */

static weft_status *make_carried(region_plan *plan)
{
    variant_builder *builder = plan->builder;
    plan->carried = weft_arena_allocate(&builder->variant->arena, (plan->carried_count + 1) * sizeof *plan->carried);
    if (plan->carried == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < plan->carried_count; i++) {
        weft_carried *carried = &plan->carried[i];
        const weft_type *type = &plan->node->types[i];
        *carried = (weft_carried){.initial = plan->operand_buffers[i], .result = result_buffer(plan, i)};
        WEFT_TRY(weft_builder_buffer(builder, type, WEFT_BUFFER_ALIAS, &carried->current));
        WEFT_TRY(weft_builder_buffer(builder, type, WEFT_BUFFER_ALIAS, &carried->next));
    }
    plan->step.region.carried_count = plan->carried_count;
    plan->step.region.carried = plan->step.carried = plan->carried;
    return NULL;
}

size_t weft_builder_count_uses(const variant_builder *builder, weft_value value)
{
    size_t count = 0;
    for (uint32_t n = value.node + 1; n < builder->graph->node_count; n++) {
        const weft_node *reader = weft_graph_node(builder->graph, n);
        bool dead = builder->fusion->roles[n] == WEFT_ROLE_DEAD;
        for (uint32_t i = 0; !dead && i < reader->input_count; i++)
            count += reader->inputs[i].node == value.node && reader->inputs[i].output == value.output;
    }
    const weft_compiled *compiled = builder->compiled;
    for (size_t i = 0; i < compiled->output_count; i++)
        count += compiled->outputs[i].node == value.node && compiled->outputs[i].output == value.output;
    return count;
}

/* Whether operand `i` could be computed in the buffer where the regions change it: nothing else reads it. */
static bool can_start_in_place(const region_plan *plan, uint32_t i)
{
    const variant_builder *builder = plan->builder;
    weft_value value = plan->node->inputs[i];
    if (builder->fusion->roles[value.node] <= WEFT_ROLE_LEAF || weft_builder_count_uses(builder, value) > 1)
        return false;
    return builder->buffers[weft_builder_memory(builder, value)] == plan->operand_buffers[i];
}

static void start_in_place(region_plan *plan, uint32_t i, uint32_t result)
{
    uint32_t buffer = plan->operand_buffers[i];
    weft_builder_replace_buffer(plan->builder, buffer, result);
    for (size_t part = 0; part < 2; part++)
        if (plan->step.parts[part] != NULL) weft_builder_replace_buffer(plan->step.parts[part], buffer, result);
    plan->operand_buffers[i] = result;
}

/* Whether the value is one number everywhere. */
static bool is_uniform(const variant_builder *builder, weft_value value)
{
    const weft_node *node = weft_graph_node(builder->graph, value.node);
    if (builder->fusion->roles[value.node] != WEFT_ROLE_KERNEL || weft_op_id_of(node->op) != WEFT_OP_broadcast)
        return false;
    return weft_op_id_of(weft_graph_node(builder->graph, node->inputs[0].node)->op) == WEFT_OP_constant &&
           weft_value_type(builder->graph, node->inputs[0])->shape.rank == 0;
}

/* Carried value `i`, one number everywhere, is written in its result right before the loop, if it is ever read. */
static weft_status *begin_uniform(region_plan *plan, uint32_t i)
{
    variant_builder *builder = plan->builder;
    uint32_t node = plan->node->inputs[i].node;
    uint32_t target = weft_builder_memory(builder, (weft_value){plan->number, i});
    builder->begun[node]++;
    plan->operand_buffers[i] = plan->carried[i].result;
    bool is_fold = plan->step.region.control == WEFT_CONTROL_FOLD;
    if (is_fold && weft_builder_is_written_by_blocks(plan->step.parts[0], i)) return NULL;
    planned_step *step = &builder->steps[builder->step_count++];
    *step = (planned_step){.kind = WEFT_STEP_KERNEL, .node = node, .target = target};
    return weft_lower_root(&builder->lowering, node, WEFT_LOWER_WHOLE, target, &step->lowered);
}

/* Carried value `i`, which is changed in place, begins in its result: without a copy where that is possible. */
static weft_status *start_carried(region_plan *plan, uint32_t i)
{
    weft_carried *carried = &plan->carried[i];
    if (is_uniform(plan->builder, plan->node->inputs[i])) WEFT_TRY(begin_uniform(plan, i));
    else if (can_start_in_place(plan, i)) start_in_place(plan, i, carried->result);
    else return NULL;
    carried->initial = carried->result;
    return NULL;
}

bool weft_builder_is_begun(const variant_builder *builder, uint32_t number)
{
    const planned_step *step = &builder->steps[number];
    weft_value value = {step->node, 0};
    if (step->kind != WEFT_STEP_KERNEL || step->target != builder->first_memory[step->node]) return false;
    return builder->begun[step->node] > 0 && weft_builder_count_uses(builder, value) == builder->begun[step->node];
}

/* Which carried values are updated in place; blocks are read and written where they lie. */
static weft_status *find_updated(region_plan *plan, variant_builder *body)
{
    WEFT_TRY(weft_builder_read_blocks(body));
    for (uint32_t i = 0; i < plan->carried_count; i++) {
        weft_carried *carried = &plan->carried[i];
        carried->updated = carried->kept_in == 0 && weft_builder_can_update(body, carried->current, carried->next);
        if (!carried->updated) continue;
        weft_builder_begin_updated(body, carried->current, carried->next);
        WEFT_TRY(weft_builder_write_block(body, plan->carried, i));
    }
    plan->step.region.blocks = plan->step.blocks = body->blocks;
    plan->step.region.block_count = body->block_count;
    return NULL;
}

/* Decides which carried values are changed in place, and gives the others a second buffer. */
static weft_status *make_spares(region_plan *plan, variant_builder *body)
{
    if (weft_fusion_has_changed(body->fusion)) return NULL;
    WEFT_TRY(find_updated(plan, body));
    for (uint32_t i = 0; i < plan->carried_count; i++) {
        weft_carried *carried = &plan->carried[i];
        carried->spare = carried->result;
        if (carried->kept_in > 0) continue;
        carried->in_place = carried->updated || weft_builder_can_share(body, carried->current, carried->next);
        if (carried->in_place) {
            WEFT_TRY(start_carried(plan, i));
        } else {
            const weft_type *type = &plan->node->types[i];
            WEFT_TRY(weft_builder_buffer(plan->builder, type, WEFT_BUFFER_TEMPORARY, &carried->spare));
        }
    }
    return NULL;
}

/* The index of the iteration. */
static weft_status *make_index(region_plan *plan)
{
    variant_builder *builder = plan->builder;
    const weft_fusion *body = weft_fusion_of_region(builder->fusion, plan->number, 0);
    const weft_type *type = weft_value_type(body->compiled->graph, (weft_value){body->compiled->inputs[0], 0});
    return weft_builder_buffer(builder, type, WEFT_BUFFER_TEMPORARY, &plan->step.region.scalar);
}

/* ---- regions ---- */

/* Plans region number `region`: its parameters are `first` (an index) if there is one, what is carried, and the
 * operands from number `skipped` on. */
static weft_status *open_part(region_plan *plan, uint32_t region, const uint32_t *index, uint32_t skipped,
                              const uint32_t *results)
{
    uint32_t count = plan->node->input_count + 1, next = 0;
    weft_memory *parameters = allocate(plan, count, sizeof *parameters);
    uint32_t *buffers = allocate(plan, count, sizeof *buffers);
    region_interface *interface = allocate(plan, 1, sizeof *interface);
    if (parameters == NULL || buffers == NULL || interface == NULL) return weft_status_out_of_memory();
    if (index != NULL) {
        parameters[next] = (weft_memory){.dtype = WEFT_I64, .unit_axis = -1};
        buffers[next++] = *index;
    }
    for (uint32_t i = skipped; i < plan->node->input_count; i++) {
        parameters[next] = plan->operands[i];
        buffers[next++] = i < plan->carried_count ? plan->carried[i].current : plan->operand_buffers[i];
    }
    *interface = (region_interface){parameters, buffers, results};
    return weft_builder_open(plan->builder, plan->number, region, interface, &plan->step.parts[region]);
}

static weft_status *next_buffers(const region_plan *plan, const uint32_t **out_buffers)
{
    uint32_t *buffers = allocate(plan, plan->carried_count, sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < plan->carried_count; i++) buffers[i] = plan->carried[i].next;
    *out_buffers = buffers;
    return NULL;
}

static weft_status *plan_fold(region_plan *plan)
{
    const uint32_t *results = NULL;
    weft_region_step *region = &plan->step.region;
    variant_builder *builder = plan->builder;
    region->control = WEFT_CONTROL_FOLD;
    weft_expr trips = weft_space_extent(&builder->space, plan->node->attrs[0].extents.extents[0]);
    WEFT_TRY(weft_builder_slot(builder, trips, &region->trips));
    WEFT_TRY(make_carried(plan));
    WEFT_TRY(make_index(plan));
    WEFT_TRY(next_buffers(plan, &results));
    WEFT_TRY(open_part(plan, 0, &region->scalar, 0, results));
    plan->step.parts[0]->trips = trips;
    return make_spares(plan, plan->step.parts[0]);
}

static weft_status *plan_while(region_plan *plan)
{
    const uint32_t *results = NULL;
    plan->step.region.control = WEFT_CONTROL_WHILE;
    WEFT_TRY(make_carried(plan));
    WEFT_TRY(next_buffers(plan, &results));
    WEFT_TRY(open_part(plan, 0, NULL, 0, NULL));
    const variant_builder *condition = plan->step.parts[0];
    plan->step.region.scalar = condition->buffers[weft_builder_memory(condition, condition->compiled->outputs[0])];
    WEFT_TRY(open_part(plan, 1, NULL, 0, results));
    return make_spares(plan, plan->step.parts[1]);
}

static bool is_result(const region_plan *plan, uint32_t buffer)
{
    for (uint32_t i = 0; i < plan->node->output_count; i++)
        if (result_buffer(plan, i) == buffer) return true;
    return false;
}

/* What both branches update, and nothing else reads, is computed where they do: for one result of them. */
static void update_branches(region_plan *plan, uint32_t result)
{
    variant_builder *const *parts = plan->step.parts;
    if (weft_fusion_has_changed(parts[0]->fusion) || weft_fusion_has_changed(parts[1]->fusion)) return;
    for (uint32_t i = 1; i < plan->node->input_count; i++) {
        uint32_t operand = plan->operand_buffers[i];
        if (is_result(plan, operand) || !weft_builder_can_update(parts[0], operand, result)) continue;
        if (!weft_builder_can_update(parts[1], operand, result) || !can_start_in_place(plan, i)) continue;
        for (size_t part = 0; part < 2; part++) weft_builder_begin_updated(parts[part], operand, result);
        start_in_place(plan, i, result);
        return;
    }
}

static weft_status *plan_cond(region_plan *plan)
{
    uint32_t *results = allocate(plan, plan->node->output_count, sizeof *results);
    if (results == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < plan->node->output_count; i++) results[i] = result_buffer(plan, i);
    plan->step.region.control = WEFT_CONTROL_COND;
    plan->step.region.scalar = plan->operand_buffers[0];
    WEFT_TRY(open_part(plan, 0, NULL, 1, results));
    WEFT_TRY(open_part(plan, 1, NULL, 1, results));
    for (uint32_t i = 0; i < plan->node->output_count; i++) update_branches(plan, results[i]);
    return NULL;
}

/* All that must keep its memory while the steps of the regions run: operands, spare memory, the scalar, results. */
static weft_status *list_buffers(region_plan *plan)
{
    size_t count = 0, inputs = plan->node->input_count, outputs = plan->node->output_count;
    size_t bound = inputs + plan->carried_count + outputs + 1;
    uint32_t *buffers = weft_arena_allocate(&plan->builder->variant->arena, bound * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < inputs; i++) buffers[count++] = plan->operand_buffers[i];
    for (size_t i = 0; i < plan->carried_count; i++) buffers[count++] = plan->carried[i].spare;
    buffers[count++] = plan->step.region.scalar;
    for (uint32_t i = 0; i < outputs; i++) buffers[count++] = result_buffer(plan, i);
    plan->step.buffers = buffers;
    plan->step.buffer_count = count;
    return NULL;
}

weft_status *weft_builder_plan_region(variant_builder *builder, uint32_t n)
{
    region_plan plan = {.builder = builder, .node = weft_graph_node(builder->graph, n), .number = n};
    weft_op_id id = weft_op_id_of(plan.node->op);
    plan.step = (planned_step){.kind = WEFT_STEP_REGION, .node = n, .target = builder->first_memory[n]};
    if (id != WEFT_OP_cond) plan.carried_count = plan.node->output_count;
    WEFT_TRY(find_operands(&plan));
    weft_status *status = id == WEFT_OP_fold    ? plan_fold(&plan)
                          : id == WEFT_OP_while ? plan_while(&plan)
                                                : plan_cond(&plan);
    if (status == NULL) status = list_buffers(&plan);
    /* Also when it failed: what its regions have planned so far ends with the builder. */
    builder->steps[builder->step_count++] = plan.step;
    return status;
}
