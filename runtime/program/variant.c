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
    for (size_t i = 0; i < variant->step_count; i++) weft_cache_release(variant->resolved[i].handle);
    weft_block_release(variant->constants);
    weft_formulas_finish(&variant->formulas);
    weft_arena_finish(&variant->arena);
    weft_free(variant->allocator, variant, sizeof *variant);
}

enum { CONSTANT_ALIGNMENT = 64 };

/* Bytes that a constant takes with what is left free after it: one of nothing has an address too. */
static size_t constant_room(size_t bytes)
{
    return (bytes + CONSTANT_ALIGNMENT) / CONSTANT_ALIGNMENT * CONSTANT_ALIGNMENT;
}

static size_t constant_bytes(const weft_variant *variant, const weft_buffer *buffer)
{
    return (size_t)variant->formulas.items[buffer->bytes].constant;
}

static weft_status *upload_constant(const weft_runtime *runtime, char *to, size_t bytes, weft_buffer *buffer)
{
    const weft_copy copy = {
        .size = sizeof copy, .kind = WEFT_COPY_TO_DEVICE, .to = to, .from = buffer->data, .width = bytes, .rows = 1};
    buffer->data = to;
    return bytes == 0 ? NULL : runtime->driver->queues->copy(runtime->self, NULL, &copy);
}

weft_status *weft_variant_upload(weft_variant *variant, const weft_runtime *runtime, weft_block_store *store)
{
    size_t room = 0, offset = 0;
    for (size_t i = 0; i < variant->buffer_count; i++) {
        const weft_buffer *buffer = &variant->buffers[i];
        if (buffer->kind == WEFT_BUFFER_CONSTANT) room += constant_room(constant_bytes(variant, buffer));
    }
    if (room == 0) return NULL;
    WEFT_TRY(weft_block_acquire(store, runtime, room, &variant->constants));
    for (size_t i = 0; i < variant->buffer_count; i++) {
        weft_buffer *buffer = &variant->buffers[i];
        if (buffer->kind != WEFT_BUFFER_CONSTANT) continue;
        size_t bytes = constant_bytes(variant, buffer);
        WEFT_TRY(upload_constant(runtime, (char *)variant->constants->memory + offset, bytes, buffer));
        offset += constant_room(bytes);
    }
    return NULL;
}

/* ---- code ---- */

typedef struct kernel_codes {
    atomic_size_t left;
    size_t count;
    weft_kernel_code items[];
} kernel_codes;

weft_status *weft_kernel_codes_create(const weft_allocator *allocator, const weft_runtime *runtime, size_t count,
                                      weft_kernel_code **out_codes)
{
    kernel_codes *codes = weft_allocate_zeroed(allocator, sizeof *codes + count * sizeof *codes->items);
    if (codes == NULL) return weft_status_out_of_memory();
    atomic_init(&codes->left, count);
    codes->count = count;
    for (size_t i = 0; i < count; i++)
        codes->items[i] = (weft_kernel_code){.allocator = allocator, .runtime = runtime, .number = (uint32_t)i};
    *out_codes = codes->items;
    return NULL;
}

void weft_kernel_code_destroy(void *argument)
{
    weft_kernel_code *code = argument;
    if (code == NULL) return;
    const weft_runtime *runtime = code->runtime;
    kernel_codes *codes = (kernel_codes *)((char *)(code - code->number) - offsetof(kernel_codes, items));
    if (code->optimized != NULL) runtime->driver->unload(runtime->self, code->optimized);
    if (atomic_fetch_sub(&codes->left, 1) != 1) return;
    if (code->image != NULL) runtime->driver->unload(runtime->self, code->image);
    weft_free(code->allocator, codes, sizeof *codes + codes->count * sizeof *codes->items);
}
