/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <stdio.h>

/* ---- driver: the memory of the executor, and no code ---- */

static weft_status *driver_load(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                                weft_kernel_function *out_function)
{
    (void)self, (void)object, (void)size, (void)out_image, (void)out_function;
    return weft_status_create(NULL, WEFT_UNSUPPORTED, NULL, "runtime ref runs no compiled code: '%s' cannot be loaded",
                              symbol);
}

static void driver_unload(void *self, weft_image *image)
{
    (void)self, (void)image;
}

/* ---- the extents of a program ---- */

struct planner {
    weft_arena *arena;
    weft_reference *reference;
    weft_formulas *formulas;
    const weft_expr_context *exprs;
};

static weft_status *plan_extents(const struct planner *planner, weft_shape shape)
{
    weft_map *slots = &planner->reference->slots;
    for (size_t i = 0; i < shape.rank; i++) {
        weft_expr expr = (weft_expr)shape.extents[i].value;
        if (shape.extents[i].graph == NULL || weft_map_find(slots, &expr, sizeof expr) != NULL) continue;
        uint32_t slot;
        WEFT_TRY(weft_expr_compile(planner->exprs, expr, planner->formulas, &slot));
        if (!weft_map_insert(slots, &expr, sizeof expr, (void *)((uintptr_t)slot + 1)))
            return weft_status_out_of_memory();
    }
    return NULL;
}

static weft_status *plan_body(const struct planner *planner, const weft_compiled *body);

static weft_status *plan_region(const struct planner *planner, const weft_region *region)
{
    weft_compiled body;
    WEFT_TRY(weft_compiled_open(region, planner->arena, &body));
    return plan_body(planner, &body);
}

static weft_status *plan_node(const struct planner *planner, const weft_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) WEFT_TRY(plan_extents(planner, node->types[i].shape));
    for (size_t i = 0; i < node->op->attr_count; i++) {
        weft_attr_kind kind = node->op->attrs[i].kind;
        if (kind == WEFT_ATTR_EXTENT || kind == WEFT_ATTR_EXTENTS)
            WEFT_TRY(plan_extents(planner, node->attrs[i].extents));
        if (kind == WEFT_ATTR_REGION) WEFT_TRY(plan_region(planner, &node->attrs[i].region));
    }
    return NULL;
}

static weft_status *plan_body(const struct planner *planner, const weft_compiled *body)
{
    uint8_t *live = weft_arena_allocate(planner->arena, body->graph->node_count);
    if (live == NULL) return weft_status_out_of_memory();
    weft_graph_mark(body->graph, body->output_count, body->outputs, live);
    for (uint32_t n = 0; n < body->graph->node_count; n++)
        if (live[n]) WEFT_TRY(plan_node(planner, weft_graph_node(body->graph, n)));
    return NULL;
}

/* ---- what a variant owns ---- */

static void destroy_reference(void *self)
{
    weft_reference *reference = self;
    weft_map_finish(&reference->slots, NULL);
    weft_program_release(reference->program);
    weft_free(reference->allocator, reference, sizeof *reference);
}

static weft_status *create_reference(const weft_build_request *request, bool ordered, weft_variant *variant)
{
    weft_reference *reference = weft_allocate_zeroed(request->allocator, sizeof *reference);
    if (reference == NULL) return weft_status_out_of_memory();
    reference->allocator = request->allocator;
    reference->ordered = ordered;
    reference->program = weft_program_retain((weft_program *)request->program);
    weft_map_init(&reference->slots, request->allocator);
    variant->self = reference;
    variant->destroy_self = destroy_reference;
    const weft_compiled *compiled = request->program->graph;
    weft_arena arena;
    weft_arena_init(&arena, request->allocator);
    struct planner planner = {&arena, reference, &variant->formulas, compiled->graph->exprs};
    weft_status *status = plan_body(&planner, compiled);
    weft_arena_finish(&arena);
    return status;
}

static weft_status *run_program(void *self, const weft_kernel_context *context, const int64_t *values)
{
    const weft_reference *reference = self;
    weft_reference_run run = {reference, context, values};
    return weft_reference_evaluate(&run, reference->program->graph, context->input_count, context->inputs,
                                   context->outputs);
}

/* ---- buffers ---- */

static weft_status *fill_strides(weft_variant *variant, weft_buffer *buffer)
{
    char name[48];
    uint32_t *strides = weft_arena_allocate(&variant->arena, buffer->rank * sizeof *strides);
    if (strides == NULL) return weft_status_out_of_memory();
    for (uint32_t axis = 0; axis < buffer->rank; axis++) {
        snprintf(name, sizeof name, "%s%u.s%u", buffer->kind == WEFT_BUFFER_INPUT ? "in" : "out",
                 (unsigned)buffer->number, (unsigned)axis);
        WEFT_TRY(weft_formulas_add_symbol(&variant->formulas, name, INT64_MIN, INT64_MAX, &strides[axis]));
    }
    buffer->strides = strides;
    return NULL;
}

static weft_status *fill_buffer(weft_variant *variant, weft_buffer_kind kind, size_t number,
                                const weft_program_value *value, uint8_t layout, weft_buffer *out_buffer)
{
    /* Slots of the program's formulas: the variant's begin with a copy of them. */
    uint32_t *extents = weft_arena_copy(&variant->arena, value->extents, value->rank * sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    *out_buffer = (weft_buffer){
        .kind = kind, .number = (uint32_t)number, .dtype = value->dtype, .rank = value->rank, .extents = extents};
    return layout != WEFT_LAYOUT_CONTIGUOUS ? fill_strides(variant, out_buffer) : NULL;
}

static weft_status *fill_buffers(const weft_build_request *request, weft_variant *variant)
{
    const weft_program *program = request->program;
    variant->buffer_count = program->input_count + program->output_count;
    variant->buffers = weft_arena_allocate(&variant->arena, variant->buffer_count * sizeof *variant->buffers);
    if (variant->buffers == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < program->input_count; i++)
        WEFT_TRY(fill_buffer(variant, WEFT_BUFFER_INPUT, i, &program->inputs[i], request->input_layouts[i],
                             &variant->buffers[i]));
    for (size_t i = 0; i < program->output_count; i++)
        WEFT_TRY(fill_buffer(variant, WEFT_BUFFER_OUTPUT, i, &program->outputs[i], request->output_layouts[i],
                             &variant->buffers[program->input_count + i]));
    return NULL;
}

/* ---- compiler ---- */

/* One step that computes everything. */
static weft_status *fill_step(const weft_build_request *request, weft_variant *variant)
{
    uint32_t *buffers = weft_arena_allocate(&variant->arena, variant->buffer_count * sizeof *buffers);
    if (buffers == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_variant_make_steps(variant, 1));
    for (size_t i = 0; i < variant->buffer_count; i++) buffers[i] = (uint32_t)i;
    variant->steps[0] = (weft_step){.kind = WEFT_STEP_HOST,
                                    .name = "reference",
                                    .buffer_count = variant->buffer_count,
                                    .buffers = buffers,
                                    .written = request->program->output_count};
    variant->resolved[0] = (weft_resolved){.host = run_program, .host_self = variant->self};
    variant->step_count = 1;
    return NULL;
}

static weft_status *fill_variant(const weft_build_request *request, bool ordered, weft_variant *variant)
{
    variant->driver = request->runtime->driver;
    WEFT_TRY(weft_formulas_copy(request->allocator, &request->program->formulas, &variant->formulas));
    WEFT_TRY(fill_buffers(request, variant));
    WEFT_TRY(create_reference(request, ordered, variant));
    return fill_step(request, variant);
}

static weft_status *build(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    weft_variant *variant;
    WEFT_TRY(weft_variant_create(request->allocator, &variant));
    weft_status *status = fill_variant(request, self != NULL, variant);
    if (status == NULL) *out_variant = variant;
    else weft_variant_destroy(variant);
    return status;
}

static const weft_driver driver = {
    .size = sizeof driver, .device = {WEFT_DEVICE_CPU, 0}, .load = driver_load, .unload = driver_unload};
static const weft_compiler compiler = {.size = sizeof compiler, .build = build};

const weft_runtime *weft_runtime_reference(void)
{
    static const weft_runtime runtime = {
        .size = sizeof runtime, .name = "ref", .driver = &driver, .compiler = &compiler};
    return &runtime;
}

const weft_runtime *weft_runtime_reference_ordered(void)
{
    static const weft_runtime runtime = {.size = sizeof runtime,
                                         .name = "ref-ordered",
                                         .self = (void *)&compiler, /* not NULL: in order */
                                         .driver = &driver,
                                         .compiler = &compiler};
    return &runtime;
}
