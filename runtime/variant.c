/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/variant.h"
#include "runtime/gemm.h"
#include "runtime/sort.h"

weft_status *weft_variant_create(const weft_allocator *allocator, weft_variant **out_variant)
{
    allocator = weft_allocator_or_default(allocator);
    weft_variant *variant = weft_allocate_zeroed(allocator, sizeof *variant);
    if (variant == NULL) return weft_status_out_of_memory();
    variant->allocator = allocator;
    weft_arena_init(&variant->arena, allocator);
    weft_formulas_init(&variant->formulas, allocator);
    *out_variant = variant;
    return NULL;
}

void weft_variant_destroy(weft_variant *variant)
{
    if (variant == NULL) return;
    if (variant->destroy_self != NULL) variant->destroy_self(variant->self);
    for (size_t i = 0; variant->steps != NULL && i < variant->step_count; i++)
        weft_cache_release(variant->steps[i].code);
    weft_formulas_finish(&variant->formulas);
    weft_arena_finish(&variant->arena);
    weft_free(variant->allocator, variant, sizeof *variant);
}

void weft_kernel_code_destroy(void *argument)
{
    weft_kernel_code *code = argument;
    if (code == NULL) return;
    if (code->image != NULL) code->runtime->driver->unload(code->runtime->self, code->image);
    weft_free(code->allocator, code, sizeof *code);
}

/* ---- check ---- */

static bool slots_exist(const weft_variant *variant, const uint32_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slots == NULL || slots[i] >= variant->formulas.count) return false;
    return true;
}

static bool buffer_is_sound(const weft_variant *variant, const weft_program *program, const weft_buffer *buffer)
{
    if (!slots_exist(variant, buffer->extents, buffer->rank)) return false;
    if (buffer->strides != NULL && !slots_exist(variant, buffer->strides, buffer->rank)) return false;
    switch (buffer->place) {
    case WEFT_PLACE_INPUT: return buffer->number < program->input_count;
    case WEFT_PLACE_OUTPUT: return buffer->number < program->output_count;
    case WEFT_PLACE_TEMPORARY: return buffer->bytes < variant->formulas.count;
    case WEFT_PLACE_CONSTANT: return true;
    case WEFT_PLACE_ALIAS: return buffer->bytes < variant->formulas.count;
    }
    return false;
}

static bool gemm_is_sound(const weft_variant *variant, const weft_step *step)
{
    const weft_gemm *gemm = &step->gemm;
    const uint32_t slots[] = {gemm->m,        gemm->n,        gemm->k,        gemm->a_row,
                              gemm->a_column, gemm->b_row,    gemm->b_column, gemm->c_row,
                              gemm->c_column, gemm->a_offset, gemm->b_offset, gemm->c_offset};
    return step->buffer_count == 3 && weft_gemm_supports(gemm->dtype) &&
           slots_exist(variant, slots, sizeof slots / sizeof *slots) &&
           slots_exist(variant, gemm->batch, gemm->batch_rank) &&
           slots_exist(variant, gemm->a_batch, gemm->batch_rank) &&
           slots_exist(variant, gemm->b_batch, gemm->batch_rank) &&
           slots_exist(variant, gemm->c_batch, gemm->batch_rank);
}

/* What is carried has row-major memory of a known size, and aliases that stand for nothing else. */
static bool carried_is_sound(const weft_variant *variant, const weft_carried *carried)
{
    const uint32_t buffers[] = {carried->initial, carried->current, carried->next, carried->result, carried->spare};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i] >= variant->buffer_count || variant->buffers[buffers[i]].strides != NULL) return false;
        if (variant->buffers[buffers[i]].bytes >= variant->formulas.count) return false;
    }
    return variant->buffers[carried->current].place == WEFT_PLACE_ALIAS &&
           variant->buffers[carried->next].place == WEFT_PLACE_ALIAS && carried->current != carried->next;
}

static bool region_is_sound(const weft_variant *variant, const weft_step *step)
{
    const weft_region_step *region = &step->region;
    if (weft_step_nested(step) >= variant->step_count - (size_t)(step - variant->steps)) return false;
    if (region->scalar >= variant->buffer_count) return false;
    if (region->control == WEFT_CONTROL_FOLD && !slots_exist(variant, &region->trips, 1)) return false;
    for (size_t i = 0; i < region->carried_count; i++)
        if (!carried_is_sound(variant, &region->carried[i])) return false;
    return true;
}

static bool sort_is_sound(const weft_variant *variant, const weft_step *step)
{
    const weft_sort_step *sort = &step->sort;
    const uint32_t slots[] = {sort->length, sort->in_step, sort->out_step, sort->in_offset, sort->out_offset};
    return step->buffer_count == 2 && weft_sort_supports(sort->dtype) &&
           slots_exist(variant, slots, sizeof slots / sizeof *slots) && slots_exist(variant, sort->rows, sort->rank) &&
           slots_exist(variant, sort->in_strides, sort->rank) && slots_exist(variant, sort->out_strides, sort->rank);
}

static bool step_is_sound(const weft_variant *variant, const weft_step *step)
{
    const uint32_t range[] = {step->iterations, step->work};
    if (step->written > step->buffer_count) return false;
    for (size_t i = 0; i < step->buffer_count; i++)
        if (step->buffers[i] >= variant->buffer_count) return false;
    switch (step->kind) {
    case WEFT_STEP_KERNEL:
        return (!step->copies || step->buffer_count == 2) && step->function != NULL && slots_exist(variant, range, 2) &&
               slots_exist(variant, step->scalars, step->scalar_count) &&
               (step->accesses == NULL ||
                (slots_exist(variant, step->accesses, step->buffer_count) && slots_exist(variant, &step->flops, 1)));
    case WEFT_STEP_GEMM: return gemm_is_sound(variant, step);
    case WEFT_STEP_SORT: return sort_is_sound(variant, step);
    case WEFT_STEP_HOST: return step->op != NULL ? step->op->kernel != NULL : step->host != NULL;
    case WEFT_STEP_REGION: return region_is_sound(variant, step);
    }
    return false;
}

weft_status *weft_variant_check(const weft_variant *variant, const weft_program *program)
{
    for (size_t i = 0; i < variant->buffer_count; i++)
        if (!buffer_is_sound(variant, program, &variant->buffers[i]))
            return weft_status_create(variant->allocator, WEFT_INTERNAL, __func__,
                                      "buffer %zu of the variant names an array or a slot that does not exist", i);
    for (size_t i = 0; variant->over != NULL && i < program->output_count; i++)
        if (variant->over[i] != WEFT_OVER_NONE && variant->over[i] >= program->input_count)
            return weft_status_create(variant->allocator, WEFT_INTERNAL, __func__,
                                      "output %zu of the variant lies over an input that does not exist", i);
    for (size_t i = 0; i < variant->step_count; i++)
        if (!step_is_sound(variant, &variant->steps[i]))
            return weft_status_create(
                variant->allocator, WEFT_INTERNAL, __func__,
                "step %zu of the variant lacks its function or names a buffer or slot that does not exist", i);
    return NULL;
}
