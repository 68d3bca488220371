/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <stdio.h>
#include <string.h>

/*
 * A value that a loop carries and that one step reads and writes, element by element or row by row, is written where it
 * is read. A value that is another one except for some elements (a scatter, a dynamic update slice) is planned as a
 * copy and an update of the copy. If nothing reads the other one afterwards the copy is left out: the other one is
 * computed in the memory of the update to begin with. An input's memory is the caller's: donors.c.
 */

bool weft_builder_is_in(const variant_builder *builder, uint32_t part, uint32_t buffer)
{
    const weft_buffer *buffers = builder->variant->buffers;
    while (part != buffer && buffers[part].kind == WEFT_BUFFER_ALIAS && buffers[part].part_of > 0)
        part = buffers[part].part_of - 1;
    return part == buffer;
}

bool weft_builder_reads(const variant_builder *builder, const planned_step *step, uint32_t buffer)
{
    const weft_node *node = weft_graph_node(builder->graph, step->node);
    bool found = false;
    if (step->kind == WEFT_STEP_KERNEL) {
        for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++)
            found |= weft_builder_is_in(builder, builder->buffers[step->lowered.memories[i]], buffer);
    } else if (step->kind == WEFT_STEP_GEMM || step->kind == WEFT_STEP_SORT) {
        found = weft_builder_is_in(builder, builder->buffers[step->a.memory], buffer);
        found |= step->kind == WEFT_STEP_GEMM && weft_builder_is_in(builder, builder->buffers[step->b.memory], buffer);
    } else {
        for (uint32_t i = 0; i < node->input_count; i++)
            found |=
                weft_builder_is_in(builder, builder->buffers[weft_builder_memory(builder, node->inputs[i])], buffer);
    }
    return found;
}

bool weft_builder_writes(const variant_builder *builder, const planned_step *step, uint32_t buffer)
{
    const weft_lowered *lowered = &step->lowered;
    bool is_kernel = step->kind == WEFT_STEP_KERNEL, found = false;
    for (uint32_t i = 0; is_kernel && i < weft_kernel_argument_count(lowered->kernel); i++)
        found |= lowered->kernel->buffers[i].written &&
                 weft_builder_is_in(builder, builder->buffers[lowered->memories[i]], buffer);
    for (uint32_t i = 0; !is_kernel && i < weft_graph_node(builder->graph, step->node)->output_count; i++)
        found |= weft_builder_is_in(builder, builder->buffers[step->target + i], buffer);
    return found;
}

bool weft_builder_uses(const variant_builder *builder, const planned_step *step, uint32_t buffer)
{
    return weft_builder_reads(builder, step, buffer) || weft_builder_writes(builder, step, buffer);
}

bool weft_builder_reads_after(const variant_builder *builder, uint32_t number, uint32_t buffer)
{
    for (uint32_t s = number + 1; s < builder->step_count; s++)
        if (weft_builder_reads(builder, &builder->steps[s], buffer)) return true;
    return false;
}

/* Strides of one array, as symbols of a kernel, that are those of another one. */
typedef struct renamed_strides {
    size_t count;
    weft_expr from[WEFT_MAX_RANK], to[WEFT_MAX_RANK];
} renamed_strides;

/* Those of the arrays that are buffers `from` and `to` of the kernel of `step`. */
static void find_strides(const variant_builder *builder, const planned_step *step, uint32_t from, uint32_t to,
                         renamed_strides *out_same)
{
    const weft_expr_context *x = step->lowered.kernel->exprs;
    const weft_memory *source = &builder->memories[step->lowered.memories[from]];
    const weft_memory *target = &builder->memories[step->lowered.memories[to]];
    *out_same = (renamed_strides){.count = 0};
    if (source->stride_prefix == NULL || target->stride_prefix == NULL) return;
    for (size_t axis = 0; axis < weft_value_type(builder->graph, source->value)->shape.rank; axis++) {
        char name[48];
        snprintf(name, sizeof name, "%s.s%zu", source->stride_prefix, axis);
        weft_expr known = weft_expr_find(x, name);
        snprintf(name, sizeof name, "%s.s%zu", target->stride_prefix, axis);
        weft_expr wanted = weft_expr_find(x, name);
        if (known == WEFT_EXPR_NONE || wanted == WEFT_EXPR_NONE) continue;
        out_same->from[out_same->count] = known;
        out_same->to[out_same->count++] = wanted;
    }
}

static weft_expr rename_strides(const weft_kernel *kernel, const renamed_strides *same, weft_expr index)
{
    return same->count == 0 ? index : weft_expr_substitute(kernel->exprs, index, same->count, same->from, same->to);
}

/* An expression of stage `from` over the ranges of stage `to`, which runs through the same points; NONE: it does not.
 */
static weft_expr carry_over(const weft_kernel *kernel, const weft_stage *from, const weft_stage *to, weft_expr e)
{
    weft_expr variables[WEFT_MAX_RANK], others[WEFT_MAX_RANK];
    uint32_t count = from->range_count;
    if (from == to) return e;
    if (count != to->range_count || count > WEFT_MAX_RANK) return WEFT_EXPR_NONE;
    for (uint32_t r = 0; r < count; r++) {
        variables[r] = from->ranges[r].variable;
        others[r] = to->ranges[r].variable;
        weft_expr extent = weft_expr_substitute(kernel->exprs, from->ranges[r].extent, r, variables, others);
        if (extent != to->ranges[r].extent) return WEFT_EXPR_NONE;
    }
    return weft_expr_substitute(kernel->exprs, e, count, variables, others);
}

/* Whether the stage loads nothing of `read` except what the last one stores to with `store` at the same point. */
static bool reads_what_is_replaced(const weft_kernel *kernel, const weft_stage *stage, uint32_t read,
                                   const weft_store *store, const renamed_strides *same)
{
    const weft_stage *last = &kernel->stages[kernel->stage_count - 1];
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        if (inst->op != WEFT_SCALAR_load || inst->buffer != read) continue;
        weft_expr index = carry_over(kernel, stage, last, inst->index);
        if (inst->arg_count > 0 || rename_strides(kernel, same, index) != store->index) return false;
    }
    return true;
}

static bool reads(const weft_kernel *kernel, const weft_stage *stage, uint32_t buffer)
{
    const weft_inst *insts = kernel->insts + stage->inst_first;
    uint32_t i = 0;
    while (i < stage->inst_count && (insts[i].op != WEFT_SCALAR_load || insts[i].buffer != buffer)) i++;
    return i < stage->inst_count;
}

/* The store of the last stage to buffer `written`; NULL: there is none, or several. */
static const weft_store *last_store(const weft_kernel *kernel, uint32_t written)
{
    const weft_stage *last = &kernel->stages[kernel->stage_count - 1];
    const weft_store *found = NULL;
    for (uint32_t i = 0; i < last->store_count; i++) {
        if (last->stores[i].buffer != written) continue;
        if (found != NULL) return NULL;
        found = &last->stores[i];
    }
    return found;
}

/* Whether `kernel` stores an element of buffer `written` at each point of its last stage, before that nothing else, and
 * loads of `read`, which it does not write, that same element, at that point or at that one of earlier stages, but in
 * no stage after one that has stored something there already: each element is read before it is written, and no
 * iteration reads those of others. */
static bool reads_where_it_writes(const weft_kernel *kernel, uint32_t read, uint32_t written,
                                  const renamed_strides *same)
{
    const weft_store *store = last_store(kernel, written);
    bool has_stored = false;
    if (store == NULL || store->is_indirect || kernel->buffers[read].written) return false;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = 0; i < stage->store_count && s + 1 < kernel->stage_count; i++)
            if (stage->stores[i].buffer != written) return false;
        if (has_stored ? reads(kernel, stage, read) : !reads_what_is_replaced(kernel, stage, read, store, same))
            return false;
        has_stored |= stage->store_count > 0;
    }
    return true;
}

/* The number of `buffer` among those of the kernel of `step`; UINT32_MAX where it is none or several of them, or a
 * block of it is one. */
static uint32_t number_in_kernel(const variant_builder *builder, const planned_step *step, uint32_t buffer)
{
    uint32_t found = UINT32_MAX, count = 0;
    for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        uint32_t own = builder->buffers[step->lowered.memories[i]];
        if (!weft_builder_is_in(builder, own, buffer)) continue;
        found = own == buffer ? i : UINT32_MAX;
        count++;
    }
    return count == 1 ? found : UINT32_MAX;
}

bool weft_builder_can_share(const variant_builder *builder, uint32_t read, uint32_t written)
{
    const planned_step *reader = NULL;
    for (uint32_t s = 0; s < builder->step_count; s++) {
        const planned_step *step = &builder->steps[s];
        bool reads = weft_builder_reads(builder, step, read);
        /* An update has a step before that: the copy of its operand 0, which would be written over `read`. */
        if (!reads && reader == NULL && weft_builder_uses(builder, step, written)) return false;
        if (!reads) continue;
        if (reader != NULL || step->kind != WEFT_STEP_KERNEL) return false;
        reader = step;
    }
    if (reader == NULL) return false;
    uint32_t from = number_in_kernel(builder, reader, read), to = number_in_kernel(builder, reader, written);
    const renamed_strides none = {.count = 0};
    return from != UINT32_MAX && to != UINT32_MAX && reads_where_it_writes(reader->lowered.kernel, from, to, &none);
}

bool weft_builder_overwrites(const variant_builder *builder, const planned_step *step, uint32_t read, uint32_t written)
{
    weft_kernel *kernel = step->lowered.kernel;
    uint32_t from = number_in_kernel(builder, step, read), to = number_in_kernel(builder, step, written);
    if (from == UINT32_MAX || to == UINT32_MAX) return false;
    renamed_strides same;
    find_strides(builder, step, from, to, &same);
    return reads_where_it_writes(kernel, from, to, &same);
}

void weft_builder_drop_step(variant_builder *builder, uint32_t number)
{
    planned_step *steps = builder->steps;
    weft_kernel_destroy(steps[number].lowered.kernel);
    builder->step_count--;
    memmove(&steps[number], &steps[number + 1], (builder->step_count - number) * sizeof *steps);
}

/* ---- updates through regions ---- */

/* Whether the loop begins with `read` and updates it in its result `written`, and knows it in no other way. */
static bool loop_updates(const planned_step *step, uint32_t read, uint32_t written)
{
    size_t uses = 0;
    bool found = false;
    for (size_t b = 0; b < step->buffer_count; b++) uses += step->buffers[b] == read;
    for (size_t i = 0; i < step->region.carried_count; i++) {
        const weft_carried *carried = &step->region.carried[i];
        found |= carried->updated && carried->initial == read && carried->result == written;
    }
    return found && uses == 1;
}

/* Whether step `number` begins what becomes of `read` in `written`: by a copy, or in all of its regions. */
static bool begins_update(const variant_builder *builder, uint32_t number, uint32_t read, uint32_t written)
{
    const planned_step *step = &builder->steps[number];
    if (weft_builder_reads_after(builder, number, read)) return false;
    if (step->copies) return builder->buffers[step->source] == read && builder->buffers[step->target] == written;
    if (step->kind != WEFT_STEP_REGION) return false;
    if (step->region.control != WEFT_CONTROL_COND) return loop_updates(step, read, written);
    return weft_builder_can_update(step->parts[0], read, written) &&
           weft_builder_can_update(step->parts[1], read, written);
}

uint32_t weft_builder_first_use(const variant_builder *builder, uint32_t buffer)
{
    uint32_t s = 0;
    while (s < builder->step_count && !weft_builder_uses(builder, &builder->steps[s], buffer)) s++;
    return s;
}

bool weft_builder_can_update(const variant_builder *builder, uint32_t read, uint32_t written)
{
    uint32_t s = weft_builder_first_use(builder, written);
    return s < builder->step_count && begins_update(builder, s, read, written);
}

void weft_builder_begin_updated(variant_builder *builder, uint32_t read, uint32_t written)
{
    uint32_t s = weft_builder_first_use(builder, written);
    planned_step *step = &builder->steps[s];
    if (step->copies) {
        weft_builder_drop_step(builder, s);
    } else if (step->region.control == WEFT_CONTROL_COND) {
        for (size_t part = 0; part < 2; part++) weft_builder_begin_updated(step->parts[part], read, written);
    }
}

static bool is_output(const variant_builder *builder, weft_value value)
{
    const weft_compiled *compiled = builder->compiled;
    for (size_t i = 0; i < compiled->output_count; i++)
        if (compiled->outputs[i].node == value.node && compiled->outputs[i].output == value.output) return true;
    return false;
}

/* Whether what step `number` copies can be computed in the memory that it is copied to. */
static bool can_move(const variant_builder *builder, uint32_t number)
{
    const planned_step *step = &builder->steps[number];
    weft_value value = builder->memories[step->source].value;
    weft_role role = builder->fusion->roles[value.node];
    if (role <= WEFT_ROLE_LEAF || is_output(builder, value)) return false;
    if (builder->memories[step->target].stride_prefix != NULL) return false;
    if (builder->memories[step->source].order != NULL) return false;
    return !weft_builder_reads_after(builder, number, builder->buffers[step->source]);
}

static void replace_in_step(variant_builder *builder, planned_step *step, uint32_t from, uint32_t to)
{
    if (step->kind != WEFT_STEP_REGION) return;
    for (size_t i = 0; i < step->region.block_count; i++) {
        if (step->blocks[i].whole != from) continue;
        step->blocks[i].whole = to;
        builder->variant->buffers[step->blocks[i].buffer].part_of = to + 1;
    }
    if (step->region.scalar == from) step->region.scalar = to;
    for (size_t b = 0; b < step->buffer_count; b++)
        if (step->buffers[b] == from) step->buffers[b] = to;
    for (size_t i = 0; i < step->region.carried_count; i++) {
        weft_carried *carried = &step->carried[i];
        uint32_t *const known[] = {&carried->initial, &carried->result, &carried->spare};
        for (size_t k = 0; k < 3; k++)
            if (*known[k] == from) *known[k] = to;
    }
    for (size_t part = 0; part < 2; part++)
        if (step->parts[part] != NULL) weft_builder_replace_buffer(step->parts[part], from, to);
}

void weft_builder_replace_buffer(variant_builder *builder, uint32_t from, uint32_t to)
{
    for (uint32_t m = 0; m < builder->memory_count; m++)
        if (builder->buffers[m] == from) builder->buffers[m] = to;
    for (uint32_t s = 0; s < builder->step_count; s++) replace_in_step(builder, &builder->steps[s], from, to);
}

void weft_builder_drop_copies(variant_builder *builder)
{
    if (weft_fusion_has_changed(builder->fusion)) return;
    for (uint32_t s = builder->step_count; s-- > 0;)
        if (weft_builder_is_begun(builder, s)) weft_builder_drop_step(builder, s);
    /* From the last one back, so that of a chain of updates all end up in the memory of the last. */
    for (uint32_t s = builder->step_count; s-- > 0;) {
        if (!builder->steps[s].copies || !can_move(builder, s)) continue;
        const planned_step *step = &builder->steps[s];
        weft_builder_replace_buffer(builder, builder->buffers[step->source], builder->buffers[step->target]);
        weft_builder_drop_step(builder, s);
    }
}
