/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>
#include "lib/pass/pass.h"

/*
 * Which outputs may be in the memory of an input. One that is the input except for some elements is planned as a copy
 * and updates of the copy: the runtime leaves the copy out if the output is given the same memory. Updates check their
 * data before they write, or say that they do not. One that a kernel computes element by element, or row by row, from
 * the input is written over it, if nothing reads the input afterwards; after an error nobody could tell which elements
 * were, so that is only done where no step can fail any more. Runtimes that run steps out of order keep to that
 * (runtime/plan/depend.c).
 */

/* Whether a loop after step `number` writes all of buffer `target`, whose first value the step put there. */
static bool is_rewritten(const variant_builder *builder, uint32_t number, uint32_t target)
{
    for (uint32_t s = number + 1; s < builder->step_count; s++) {
        const weft_region_step *region = &builder->steps[s].region;
        for (size_t i = 0; i < region->carried_count; i++)
            if (region->carried[i].result == target && !region->carried[i].updated) return true;
    }
    return false;
}

/* Lets an output share the memory of an input if step `number` copies the one to the other and later steps only update
 * the output: after an error the input has nothing but updates. */
static void put_alias(const variant_builder *builder, uint32_t number, uint32_t source, uint32_t target,
                      uint32_t *output_alias)
{
    const weft_buffer *input = &builder->variant->buffers[source], *output = &builder->variant->buffers[target];
    if (input->kind != WEFT_BUFFER_INPUT || output->kind != WEFT_BUFFER_OUTPUT) return;
    if (weft_builder_reads_after(builder, number, source) || is_rewritten(builder, number, target)) return;
    output_alias[input->number] = output->number;
}

/* A loop that updates a value in place begins with a copy of it, which its regions must not know as an operand too. */
static void put_carried_alias(const variant_builder *builder, uint32_t number, uint32_t *output_alias)
{
    const planned_step *step = &builder->steps[number];
    for (size_t i = 0; i < step->region.carried_count; i++) {
        const weft_carried *carried = &step->region.carried[i];
        size_t uses = 0;
        for (size_t b = 0; b < step->buffer_count; b++) uses += step->buffers[b] == carried->initial;
        if (carried->updated && uses == 1) put_alias(builder, number, carried->initial, carried->result, output_alias);
    }
}

/* Whether the step writes an output, and no other step does. */
static bool writes_output(const variant_builder *builder, uint32_t number)
{
    const planned_step *step = &builder->steps[number];
    uint32_t target = builder->buffers[step->target];
    if (step->kind != WEFT_STEP_KERNEL || step->copies || step->updates) return false;
    if (builder->variant->buffers[target].kind != WEFT_BUFFER_OUTPUT) return false;
    for (uint32_t s = 0; s < builder->step_count; s++) {
        const planned_step *other = &builder->steps[s];
        if (s < number && weft_builder_uses(builder, other, target)) return false;
        if (s > number && other->kind == WEFT_STEP_KERNEL && builder->buffers[other->target] == target) return false;
    }
    return true;
}

static bool have_same_type(const variant_builder *builder, uint32_t a, uint32_t b)
{
    const weft_type *x = weft_value_type(builder->graph, builder->memories[a].value);
    const weft_type *y = weft_value_type(builder->graph, builder->memories[b].value);
    return x->dtype == y->dtype && weft_shape_equal(x->shape, y->shape);
}

static bool may_fail(const planned_step *step)
{
    return step->kind != WEFT_STEP_KERNEL || step->lowered.site_count > 0;
}

/* Whether argument `i` of the step's kernel is an input that the output could be written over, if nothing else read it.
 */
static bool may_overwrite(const variant_builder *builder, const planned_step *step, uint32_t i)
{
    uint32_t memory = step->lowered.memories[i], read = builder->buffers[memory];
    return builder->variant->buffers[read].kind == WEFT_BUFFER_INPUT && have_same_type(builder, memory, step->target) &&
           weft_builder_overwrites(builder, step, read, builder->buffers[step->target]);
}

weft_status *weft_builder_find_replaced(const variant_builder *builder, const planned_step *step,
                                        uint32_t *out_argument)
{
    const weft_buffer *buffers = builder->variant->buffers;
    uint32_t written = builder->buffers[step->target];
    *out_argument = 0;
    if (step->copies || step->updates || buffers[written].kind != WEFT_BUFFER_TEMPORARY) return NULL;
    for (uint32_t i = 1; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        uint32_t memory = step->lowered.memories[i], read = builder->buffers[memory];
        if (buffers[read].kind != WEFT_BUFFER_TEMPORARY || !have_same_type(builder, memory, step->target)) continue;
        bool fits = !weft_builder_reads_after(builder, (uint32_t)(step - builder->steps), read) &&
                    weft_builder_overwrites(builder, step, read, written);
        WEFT_TRY(weft_expr_context_take_error(step->lowered.kernel->exprs));
        if (!fits) continue;
        *out_argument = i;
        return NULL;
    }
    return NULL;
}

/* ---- the order of steps ---- */

/* The last step that step `number` would have to follow to be written over an input; itself: it may stay. */
static uint32_t last_before(const variant_builder *builder, uint32_t number)
{
    const planned_step *step = &builder->steps[number];
    uint32_t last = number;
    bool any = false;
    for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        if (!may_overwrite(builder, step, i)) continue;
        any = true;
        for (uint32_t s = number + 1; s < builder->step_count; s++)
            if (s > last &&
                weft_builder_reads(builder, &builder->steps[s], builder->buffers[step->lowered.memories[i]]))
                last = s;
    }
    for (uint32_t s = last + 1; any && s < builder->step_count; s++)
        if (may_fail(&builder->steps[s])) last = s;
    return last;
}

/* Whether what step `other` writes could be in the memory of inputs, all of which `step` reads. */
static bool competes(const variant_builder *builder, const planned_step *step, uint32_t other)
{
    const planned_step *o = &builder->steps[other];
    bool any = false;
    if (o->copies) return weft_builder_reads(builder, step, builder->buffers[o->source]);
    if (may_fail(o) || !writes_output(builder, other)) return false;
    for (uint32_t i = 0; i < weft_kernel_argument_count(o->lowered.kernel); i++) {
        uint32_t read = builder->buffers[o->lowered.memories[i]];
        if (!may_overwrite(builder, o, i) || weft_builder_reads_after(builder, other, read)) continue;
        if (!weft_builder_reads(builder, step, read)) return false;
        any = true;
    }
    return any;
}

/* Whether step `number` may as well come right after step `last`: nothing needs its output until then, what it reads
 * has to be kept for others anyway, and no other output is kept from the memory of an input by that. */
static bool may_follow(const variant_builder *builder, uint32_t number, uint32_t last)
{
    const planned_step *step = &builder->steps[number];
    for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        uint32_t read = builder->buffers[step->lowered.memories[i]];
        bool is_temporary = builder->variant->buffers[read].kind == WEFT_BUFFER_TEMPORARY;
        if (is_temporary && !weft_builder_reads_after(builder, last - 1, read)) return false;
    }
    for (uint32_t s = number + 1; s <= last; s++)
        if (weft_builder_uses(builder, &builder->steps[s], builder->buffers[step->target]) ||
            competes(builder, step, s))
            return false;
    return true;
}

void weft_builder_defer_outputs(variant_builder *builder)
{
    if (builder->interface != NULL || weft_fusion_has_changed(builder->fusion)) return;
    for (uint32_t s = builder->step_count; s-- > 0;) {
        if (may_fail(&builder->steps[s]) || !writes_output(builder, s)) continue;
        uint32_t last = last_before(builder, s);
        if (last == s || !may_follow(builder, s, last)) continue;
        const planned_step step = builder->steps[s];
        memmove(&builder->steps[s], &builder->steps[s + 1], (last - s) * sizeof step);
        builder->steps[last] = step;
    }
}

/* ---- aliases ---- */

/* Lets the output that step `number` computes be in the memory of the inputs that it reads last. */
static weft_status *put_overwritten(variant_builder *builder, uint32_t number, uint32_t *output_alias)
{
    planned_step *step = &builder->steps[number];
    const weft_buffer *buffers = builder->variant->buffers;
    if (!writes_output(builder, number)) return NULL;
    for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        uint32_t read = builder->buffers[step->lowered.memories[i]];
        bool fits = may_overwrite(builder, step, i);
        WEFT_TRY(weft_expr_context_take_error(step->lowered.kernel->exprs));
        if (!fits || weft_builder_reads_after(builder, number, read)) continue;
        output_alias[buffers[read].number] = buffers[builder->buffers[step->target]].number;
        step->overwrites = true;
    }
    return NULL;
}

weft_status *weft_builder_fill_aliases(variant_builder *builder)
{
    size_t count = builder->request->program->input_count;
    uint32_t *output_alias = weft_arena_allocate(&builder->variant->arena, (count + 1) * sizeof *output_alias);
    if (output_alias == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++) output_alias[i] = WEFT_NO_ALIAS;
    for (uint32_t s = 0; s < builder->step_count; s++) {
        const planned_step *step = &builder->steps[s];
        if (step->copies)
            put_alias(builder, s, builder->buffers[step->source], builder->buffers[step->target], output_alias);
        if (step->kind == WEFT_STEP_REGION) put_carried_alias(builder, s, output_alias);
    }
    for (uint32_t s = builder->step_count; s-- > 0 && !may_fail(&builder->steps[s]);)
        WEFT_TRY(put_overwritten(builder, s, output_alias));
    builder->variant->output_alias = output_alias;
    return NULL;
}
