/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>
#include "lib/pass/pass.h"

#define NONE UINT32_MAX

/*
 * Which outputs may be in the memory of an input. One that is the input except for some elements is planned as a copy
 * and updates of the copy: the runtime leaves the copy out if the output is given the same memory. Updates check their
 * data before they write, or say that they do not. One that a kernel computes element by element, or row by row, from
 * the input is written over it, also beside others, if nothing reads the input afterwards; after an error nobody could
 * tell which elements were, so that is only done where no step can fail any more. Runtimes that run steps out of order
 * keep to that (runtime/plan/depend.c).
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

/* Whether the step computes what it writes, and other steps are no part of that. */
static bool computes(const planned_step *step)
{
    return step->kind == WEFT_STEP_KERNEL && !step->copies && !step->updates;
}

/* Whether the buffer is an output, and of all steps step `number` alone writes it. */
static bool is_own_output(const variant_builder *builder, uint32_t number, uint32_t buffer)
{
    if (builder->variant->buffers[buffer].kind != WEFT_BUFFER_OUTPUT) return false;
    for (uint32_t s = 0; s < builder->step_count; s++) {
        const planned_step *other = &builder->steps[s];
        if (s < number && weft_builder_uses(builder, other, buffer)) return false;
        if (s > number && other->kind == WEFT_STEP_KERNEL && weft_builder_writes(builder, other, buffer)) return false;
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

/* Whether the store takes in argument `i` of the kernel, other than through what other stores of the last stage take.
 * Instructions are as many as one kernel has before functions are expanded. */
static bool takes_in(const weft_kernel *kernel, const weft_store *store, uint32_t i)
{
    enum { MOST_INSTS = 1024 };
    const weft_stage *last = &kernel->stages[kernel->stage_count - 1];
    bool needed[MOST_INSTS] = {false};
    if (last->inst_count > MOST_INSTS || store->value < last->inst_first) return false;
    needed[store->value - last->inst_first] = true;
    for (uint32_t n = last->inst_count; n-- > 0;) {
        const weft_inst *inst = &kernel->insts[last->inst_first + n];
        bool is_stored = false;
        if (!needed[n]) continue;
        if (inst->op == WEFT_SCALAR_load && inst->buffer == i) return true;
        for (uint32_t k = 0; k < last->store_count; k++) is_stored |= last->stores[k].value == last->inst_first + n;
        if (is_stored && last->inst_first + n != store->value) continue;
        for (uint32_t k = 0; k < inst->arg_count; k++)
            if (inst->args[k] >= last->inst_first) needed[inst->args[k] - last->inst_first] = true;
    }
    return false;
}

/* Which stores of the last stage are to outputs that could be written over argument `i` of the step's kernel, an input,
 * if nothing else read it. */
static uint64_t find_writers(const variant_builder *builder, const planned_step *step, uint32_t i)
{
    enum { MOST_STORES = 63 }; /* `writers >> k` ends */
    const weft_kernel *kernel = step->lowered.kernel;
    const weft_stage *last = &kernel->stages[kernel->stage_count - 1];
    uint32_t memory = step->lowered.memories[i], read = builder->buffers[memory];
    uint64_t found = 0;
    if (builder->variant->buffers[read].kind != WEFT_BUFFER_INPUT) return 0;
    for (uint32_t k = 0; k < last->store_count && k < MOST_STORES; k++) {
        uint32_t target = step->lowered.memories[last->stores[k].buffer], written = builder->buffers[target];
        if (have_same_type(builder, memory, target) &&
            is_own_output(builder, (uint32_t)(step - builder->steps), written) &&
            (last->store_count == 1 || takes_in(kernel, &last->stores[k], i)) &&
            weft_builder_overwrites(builder, step, read, written))
            found |= UINT64_C(1) << k;
    }
    return found;
}

/* Whether one of the arguments could be overwritten by store `k` alone. */
static bool has_own_input(const variant_builder *builder, const planned_step *step, uint32_t k)
{
    uint32_t i = 0, count = weft_kernel_argument_count(step->lowered.kernel);
    while (i < count && find_writers(builder, step, i) != UINT64_C(1) << k) i++;
    return i < count;
}

/* The output that may be written over argument `i` of the step's kernel, if nothing else reads it: a buffer, or NONE.
 * Of several the first for which there is no other input, or the last. */
static uint32_t overwritten_by(const variant_builder *builder, const planned_step *step, uint32_t i)
{
    if (!computes(step)) return NONE;
    const weft_kernel *kernel = step->lowered.kernel;
    const weft_stage *last = &kernel->stages[kernel->stage_count - 1];
    uint64_t writers = find_writers(builder, step, i);
    uint32_t found = NONE;
    for (uint32_t k = 0; writers >> k != 0; k++) {
        if ((writers >> k & 1) == 0) continue;
        found = builder->buffers[step->lowered.memories[last->stores[k].buffer]];
        if (writers >> k != 1 && !has_own_input(builder, step, k)) break;
    }
    return found;
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
        if (overwritten_by(builder, step, i) == NONE) continue;
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
    if (may_fail(o)) return false;
    for (uint32_t i = 0; i < weft_kernel_argument_count(o->lowered.kernel); i++) {
        uint32_t read = builder->buffers[o->lowered.memories[i]];
        if (overwritten_by(builder, o, i) == NONE || weft_builder_reads_after(builder, other, read)) continue;
        if (!weft_builder_reads(builder, step, read)) return false;
        any = true;
    }
    return any;
}

/* Whether the step uses what the kernel of `writer` writes. */
static bool uses_written(const variant_builder *builder, const planned_step *step, const planned_step *writer)
{
    const weft_kernel *kernel = writer->lowered.kernel;
    for (uint32_t i = 0; i < kernel->buffer_count && kernel->buffers[i].written; i++)
        if (weft_builder_uses(builder, step, builder->buffers[writer->lowered.memories[i]])) return true;
    return false;
}

/* Whether step `number` may as well come right after step `last`: nothing needs its output until then, or changes what
 * it reads, which has to be kept for others anyway, and no other output is kept from the memory of an input by that. */
static bool may_follow(const variant_builder *builder, uint32_t number, uint32_t last)
{
    const planned_step *step = &builder->steps[number];
    for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        uint32_t read = builder->buffers[step->lowered.memories[i]];
        bool is_temporary = builder->variant->buffers[read].kind == WEFT_BUFFER_TEMPORARY;
        if (is_temporary && !weft_builder_reads_after(builder, last - 1, read)) return false;
        for (uint32_t s = number + 1; s <= last; s++)
            if (weft_builder_writes(builder, &builder->steps[s], read)) return false;
    }
    for (uint32_t s = number + 1; s <= last; s++)
        if (uses_written(builder, &builder->steps[s], step) || competes(builder, step, s)) return false;
    return true;
}

void weft_builder_defer_outputs(variant_builder *builder)
{
    if (builder->interface != NULL || weft_fusion_has_changed(builder->fusion)) return;
    for (uint32_t s = builder->step_count; s-- > 0;) {
        if (may_fail(&builder->steps[s])) continue;
        uint32_t last = last_before(builder, s);
        if (last == s || !may_follow(builder, s, last)) continue;
        const planned_step step = builder->steps[s];
        memmove(&builder->steps[s], &builder->steps[s + 1], (last - s) * sizeof step);
        builder->steps[last] = step;
    }
}

/* ---- aliases ---- */

/* Lets the outputs that step `number` computes be in the memory of the inputs that it reads last. */
static weft_status *put_overwritten(variant_builder *builder, uint32_t number, uint32_t *output_alias)
{
    planned_step *step = &builder->steps[number];
    const weft_buffer *buffers = builder->variant->buffers;
    for (uint32_t i = 0; i < weft_kernel_argument_count(step->lowered.kernel); i++) {
        uint32_t read = builder->buffers[step->lowered.memories[i]], written = overwritten_by(builder, step, i);
        WEFT_TRY(weft_expr_context_take_error(step->lowered.kernel->exprs));
        if (written == NONE || weft_builder_reads_after(builder, number, read)) continue;
        output_alias[buffers[read].number] = buffers[written].number;
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
