/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include "lib/build/schedules.h"
#include "runtime/base/float_mode.h"

/* ---- kernels ---- */

typedef struct kernel_visit {
    const weft_machine *machine;
    const weft_schedules *schedules;
    weft_function_policy functions;
    weft_kernel_visitor visit;
    void *context;
} kernel_visit;

static weft_status *visit_kernel(const kernel_visit *request, const variant_builder *builder, const planned_step *step)
{
    const weft_node *node = weft_graph_node(builder->graph, step->node);
    const char *name = node->name != NULL ? node->name : node->op->name;
    weft_kernel *kernel = step->lowered.kernel, *lowered = NULL, *expanded = NULL;
    uint64_t key;
    weft_status *status = weft_kernel_clone(kernel, &lowered);
    if (status == NULL) status = weft_kernel_expand(kernel, request->functions);
    if (status == NULL) status = weft_kernel_clone(kernel, &expanded);
    if (status == NULL) status = weft_schedules_apply(request->schedules, kernel, request->machine, &key);
    if (status == NULL) weft_builder_mark_unread(builder, step);
    if (status == NULL) status = request->visit(request->context, &(weft_kernel_view){name, lowered, expanded, kernel});
    weft_kernel_destroy(lowered);
    weft_kernel_destroy(expanded);
    return status;
}

static weft_status *visit_kernels(variant_builder *builder, const void *context)
{
    for (uint32_t i = 0; i < builder->step_count; i++) {
        planned_step *step = &builder->steps[i];
        if (step->kind == WEFT_STEP_KERNEL) WEFT_TRY(visit_kernel(context, builder, step));
        for (size_t part = 0; part < 2; part++)
            if (step->parts[part] != NULL) WEFT_TRY(visit_kernels(step->parts[part], context));
    }
    return NULL;
}

/* ---- steps ---- */

typedef struct step_visit {
    weft_steps_visitor visit;
    void *context;
} step_visit;

static weft_status *view(const variant_builder *builder, weft_steps_view **out_view)
{
    weft_steps_view *made = weft_arena_allocate(builder->arena, sizeof *made);
    weft_step_view *steps = weft_arena_allocate(builder->arena, (builder->step_count + 1) * sizeof *steps);
    if (made == NULL || steps == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < builder->step_count; i++) {
        const planned_step *step = &builder->steps[i];
        steps[i] = (weft_step_view){.kind = step->kind, .node = step->node};
        for (size_t part = 0; part < 2; part++)
            if (step->parts[part] != NULL) WEFT_TRY(view(step->parts[part], &steps[i].parts[part]));
    }
    *made = (weft_steps_view){builder->fusion, builder->step_count, steps, NULL};
    *out_view = made;
    return NULL;
}

static weft_status *visit_steps(variant_builder *builder, const void *context)
{
    const step_visit *request = context;
    weft_steps_view *made;
    WEFT_TRY(view(builder, &made));
    WEFT_TRY(weft_builder_fill_aliases(builder));
    made->output_alias = builder->variant->output_alias;
    return request->visit(request->context, made);
}

/* ---- plans of programs that are not run ---- */

static weft_status *visit(const weft_program *program, const weft_machine *machine, weft_attempt_end end,
                          const void *context)
{
    size_t arrays = program->input_count + program->output_count + 1;
    uint8_t *layouts = weft_allocate_zeroed(program->allocator, arrays);
    if (layouts == NULL) return weft_status_out_of_memory();
    weft_build_request request = {.allocator = program->allocator,
                                  .program = program,
                                  .machine = machine,
                                  .input_layouts = layouts,
                                  .output_layouts = layouts + program->input_count};
    weft_variant *variant = NULL;
    weft_float_mode saved = weft_float_mode_enter();
    weft_status *status = weft_builder_run(&request, end, context, &variant);
    weft_float_mode_leave(saved);
    weft_variant_destroy(variant);
    weft_free(program->allocator, layouts, arrays);
    return status;
}

weft_status *weft_program_visit_kernels(const weft_program *program, const weft_machine *machine,
                                        const weft_schedules *schedules, weft_kernel_visitor visitor, void *context)
{
    return visit(program, machine, visit_kernels,
                 &(kernel_visit){machine, schedules, program->policy.functions, visitor, context});
}

weft_status *weft_program_visit_steps(const weft_program *program, weft_steps_visitor visitor, void *context)
{
    return visit(program, weft_machine_host(), visit_steps, &(step_visit){visitor, context});
}
