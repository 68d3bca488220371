/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/variant.h"
#include <string.h>

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

weft_status *weft_variant_make_steps(weft_variant *variant, size_t most)
{
    size_t steps = (most + 1) * sizeof *variant->steps, resolved = (most + 1) * sizeof *variant->resolved;
    variant->steps = weft_arena_allocate(&variant->arena, steps);
    variant->resolved = weft_arena_allocate(&variant->arena, resolved);
    if (variant->steps == NULL || variant->resolved == NULL) return weft_status_out_of_memory();
    memset(variant->steps, 0, steps);
    memset(variant->resolved, 0, resolved);
    return NULL;
}

void weft_variant_destroy(weft_variant *variant)
{
    if (variant == NULL) return;
    if (variant->destroy_self != NULL) variant->destroy_self(variant->self);
    for (size_t i = 0; i < variant->step_count; i++) weft_cache_release(variant->resolved[i].code);
    weft_block_release(variant->constants);
    weft_formulas_finish(&variant->formulas);
    weft_arena_finish(&variant->arena);
    weft_free(variant->allocator, variant, sizeof *variant);
}

enum { CONSTANT_ALIGNMENT = 64 };

/* Bytes of a constant, as the formula of its slot has them. */
static size_t constant_bytes(const weft_variant *variant, const weft_buffer *buffer)
{
    return buffer->place == WEFT_PLACE_CONSTANT ? (size_t)variant->formulas.items[buffer->bytes].constant : 0;
}

static size_t aligned(size_t bytes)
{
    return (bytes + CONSTANT_ALIGNMENT - 1) / CONSTANT_ALIGNMENT * CONSTANT_ALIGNMENT;
}

weft_status *weft_variant_upload(weft_variant *variant, const weft_runtime *runtime, weft_block_store *store)
{
    size_t bytes = 0;
    for (size_t i = 0; i < variant->buffer_count; i++) bytes += aligned(constant_bytes(variant, &variant->buffers[i]));
    if (bytes == 0) return NULL;
    WEFT_TRY(weft_block_acquire(store, runtime, bytes, &variant->constants));
    char *to = variant->constants->memory;
    for (size_t i = 0; i < variant->buffer_count; i++) {
        weft_buffer *buffer = &variant->buffers[i];
        weft_copy copy = {.size = sizeof copy,
                          .kind = WEFT_COPY_TO_DEVICE,
                          .to = to,
                          .from = buffer->data,
                          .width = constant_bytes(variant, buffer),
                          .rows = 1};
        if (copy.width == 0) continue;
        WEFT_TRY(runtime->driver->queues->copy(runtime->self, NULL, &copy));
        buffer->data = to;
        to += aligned(copy.width);
    }
    return NULL;
}

void weft_kernel_code_destroy(void *argument)
{
    weft_kernel_code *code = argument;
    if (code == NULL) return;
    if (code->image != NULL) code->runtime->driver->unload(code->runtime->self, code->image);
    weft_free(code->allocator, code, sizeof *code);
}

bool weft_slots_exist(const weft_variant *variant, const uint32_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slots == NULL || slots[i] >= variant->formulas.count) return false;
    return true;
}
