/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include "lib/build/schedules.h"
#include <string.h>
#include "runtime/data/device.h"

/* ---- extension kernels ---- */

static const weft_extension *extension_of(const weft_program *program, const weft_op_def *op)
{
    for (size_t i = 0; i < program->family_count; i++) {
        const weft_extension *extension = program->families[i];
        for (size_t j = 0; j < extension->op_count; j++) {
            if (extension->ops[j] == op) return extension;
        }
    }
    return NULL;
}

/* The attributes with slots in place of extents. */
static weft_status *attr_template(variant_builder *builder, const weft_node *node, const weft_attr **out_attrs)
{
    weft_arena *arena = &builder->variant->arena;
    weft_attr *attrs = weft_arena_copy(arena, node->attrs, node->op->attr_count * sizeof *attrs);
    if (attrs == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < node->op->attr_count; i++) {
        weft_attr_kind kind = node->op->attrs[i].kind;
        if (kind != WEFT_ATTR_EXTENT && kind != WEFT_ATTR_EXTENTS) continue;
        weft_shape shape = attrs[i].extents;
        weft_extent *slots = weft_arena_allocate(arena, (shape.rank + 1) * sizeof *slots);
        if (slots == NULL) return weft_status_out_of_memory();
        for (size_t j = 0; j < shape.rank; j++) {
            uint32_t slot;
            WEFT_TRY(weft_builder_slot(builder, weft_space_extent(&builder->space, shape.extents[j]), &slot));
            slots[j] = weft_extent_of(slot);
        }
        attrs[i].extents.extents = slots;
    }
    *out_attrs = attrs;
    return NULL;
}

weft_status *weft_builder_fill_host(variant_builder *builder, const planned_step *planned, weft_step *out_step,
                                    weft_resolved *out_resolved)
{
    const weft_node *node = weft_graph_node(builder->graph, planned->node);
    if (node->op->kernel == NULL) {
        const weft_allocator *allocator = builder->request->allocator;
        weft_status *status = weft_status_create(allocator, WEFT_UNSUPPORTED, NULL,
                                                 "the op has no kernel, and no lowering replaced it here");
        return weft_node_error(node, allocator, status);
    }
    uint32_t count = node->input_count + node->output_count;
    uint32_t *buffers = weft_arena_allocate(&builder->variant->arena, (count + 1) * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < node->input_count; i++) {
        buffers[i] = builder->buffers[weft_builder_memory(builder, node->inputs[i])];
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        buffers[node->input_count + i] = builder->buffers[planned->target + i];
    out_step->buffers = buffers;
    out_step->buffer_count = count;
    out_step->written = node->output_count;
    out_resolved->op = node->op;
    if (node->location.file != NULL) {
        out_step->line = node->location.line;
        out_step->file = weft_arena_string(&builder->variant->arena, node->location.file, strlen(node->location.file));
        if (out_step->file == NULL) return weft_status_out_of_memory();
    }
    out_resolved->extension = extension_of(builder->request->program, node->op);
    return attr_template(builder, node, &out_resolved->attrs);
}

/* ---- generated kernels ---- */

static weft_status *scalar_slots(variant_builder *builder, const weft_kernel *kernel, weft_step *out_step)
{
    size_t count = weft_kernel_scalar_count(kernel);
    uint32_t *slots = weft_arena_allocate(&builder->variant->arena, (count + 1) * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        const char *name = weft_kernel_scalar_name(kernel, i);
        weft_expr symbol = weft_expr_find(kernel->exprs, name);
        if (strcmp(name, WEFT_WRITES_SYMBOL) == 0) out_step->update.writes = (uint32_t)i;
        WEFT_TRY(weft_expr_compile(kernel->exprs, symbol, &builder->variant->formulas, &slots[i]));
    }
    out_step->scalars = slots;
    out_step->scalar_count = count;
    return NULL;
}

static weft_status *fill_sites(variant_builder *builder, const weft_lowered *lowered, weft_step *out_step)
{
    if (lowered->site_count == 0) return NULL;
    uint32_t *slots = weft_arena_allocate(&builder->variant->arena, lowered->site_count * sizeof *slots);
    if (slots == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < lowered->site_count; i++) {
        WEFT_TRY(weft_expr_compile(lowered->kernel->exprs, lowered->site_extents[i], &builder->variant->formulas,
                                   &slots[i]));
    }
    out_step->site_count = lowered->site_count;
    out_step->sites = lowered->sites;
    out_step->site_extents = slots;
    return NULL;
}

/* Where an update writes an output that may lie on an input. */
static void fill_update(const variant_builder *builder, const planned_step *planned, weft_step *out_step)
{
    const weft_variant *variant = builder->variant;
    const weft_buffer *written = &variant->buffers[builder->buffers[planned->target]];
    if (!planned->updates || written->kind != WEFT_BUFFER_OUTPUT) return;
    for (uint32_t b = 0; b < variant->buffer_count; b++) {
        const weft_buffer *input = &variant->buffers[b];
        if (input->kind != WEFT_BUFFER_INPUT || variant->output_alias[input->number] != written->number) continue;
        out_step->update.input = b;
        out_step->update.guarded = true;
    }
    out_step->update.all_iterations = planned->lowered.checks_values;
}

/* What L2 holds is stored there in any case. */
void weft_builder_mark_unread(const variant_builder *builder, const planned_step *planned)
{
    weft_kernel *kernel = planned->lowered.kernel;
    uint32_t number = (uint32_t)(planned - builder->steps);
    if (builder->interface != NULL) return;
    for (uint32_t b = 0; b < kernel->buffer_count && kernel->buffers[b].written; b++) {
        uint32_t buffer = builder->buffers[planned->lowered.memories[b]];
        bool is_read = weft_kernel_loads(kernel, b) || weft_builder_reads_after(builder, number, buffer);
        bool is_result = builder->variant->buffers[buffer].kind == WEFT_BUFFER_OUTPUT && !is_read;
        kernel->buffers[b].unread =
            is_result && weft_kernel_span(kernel, b) > (double)builder->request->machine->cache_bytes[1];
    }
}

weft_status *weft_builder_fill_kernel(variant_builder *builder, const planned_step *planned, weft_step *out_step)
{
    const weft_build_request *request = builder->request;
    weft_kernel *kernel = planned->lowered.kernel;
    WEFT_TRY(weft_builder_find_replaced(builder, planned, &out_step->replaces));
    weft_status *status = weft_kernel_expand(kernel, request->program->policy.functions);
    if (status == NULL)
        status = weft_schedules_apply(request->schedules, kernel, request->machine, &out_step->schedule_key);
    WEFT_TRY(weft_node_error(weft_graph_node(builder->graph, planned->node), request->allocator, status));
    weft_builder_mark_unread(builder, planned);
    WEFT_TRY(weft_builder_fill_cost(builder, kernel, out_step));
    WEFT_TRY(scalar_slots(builder, kernel, out_step));
    size_t count = weft_kernel_argument_count(kernel);
    uint32_t *buffers = weft_arena_allocate(&builder->variant->arena, (count + 1) * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) buffers[i] = builder->buffers[planned->lowered.memories[i]];
    out_step->buffers = buffers;
    out_step->buffer_count = count;
    for (uint32_t i = 0; i < kernel->buffer_count; i++) out_step->written += kernel->buffers[i].written;
    out_step->overwrites = planned->overwrites;
    fill_update(builder, planned, out_step);
    return fill_sites(builder, &planned->lowered, out_step);
}
