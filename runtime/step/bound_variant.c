/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/bound_variant.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/memory.h"

void *weft_bound_take(weft_bound_variant *bound, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *block = weft_arena_allocate(&bound->arena, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

int64_t *weft_bound_gather(weft_bound_variant *bound, const uint32_t *slots, size_t count)
{
    int64_t *items = weft_bound_take(bound, count, sizeof *items);
    for (size_t i = 0; items != NULL && i < count; i++) items[i] = bound->values[slots[i]];
    return items;
}

weft_status *weft_bound_check(const weft_bound_variant *bound, const weft_step *step, const uint32_t *slots,
                              size_t count)
{
    const char *where = "weft_executor_run";
    weft_status *plain = weft_formulas_check(&bound->variant->formulas, where, bound->values, slots, count);
    if (plain == NULL || weft_status_code(plain) == WEFT_OUT_OF_MEMORY) return plain;
    weft_status *status = weft_status_create(bound->allocator, weft_status_code(plain), where, "%s: %s", step->name,
                                             weft_status_message(plain));
    weft_status_destroy(plain);
    return status;
}

weft_status *weft_bound_variant_too_large(const weft_bound_variant *bound, const char *before, const char *name,
                                          const char *after, weft_output_shape shape)
{
    const weft_allocator *allocator = bound->allocator;
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    for (size_t axis = 0; axis < shape.rank; axis++) {
        const char *separator = axis > 0 ? ", " : "";
        if (shape.shape[axis] == WEFT_FORMULA_NONE) weft_bytes_print(&text, "%s?", separator);
        else weft_bytes_print(&text, "%s%" PRId64, separator, shape.shape[axis]);
    }
    weft_status *status = text.failed ? weft_status_out_of_memory()
                                      : weft_status_create(allocator, WEFT_OUT_OF_RANGE, "weft_executor_run",
                                                           "%s%s%s, %s[%s], has more bytes than 64 bits count", before,
                                                           name, after, weft_dtype_name(shape.dtype), text.data);
    weft_bytes_finish(&text);
    return status;
}

weft_status *weft_bound_cancelled(const weft_bound_variant *bound, const char *when, size_t number)
{
    return weft_status_create(bound->allocator, WEFT_CANCELLED, "weft_executor_run",
                              "the run was cancelled %s step %zu of %zu", when, number, bound->variant->step_count);
}
