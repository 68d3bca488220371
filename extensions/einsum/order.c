/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"
#include <inttypes.h>
#include <string.h>

void einsum_order_left(size_t operand_count, einsum_pair *out_pairs)
{
    for (size_t k = 0; k + 1 < operand_count; k++)
        out_pairs[k] = (einsum_pair){k == 0 ? 0 : operand_count + k - 1, k + 1};
}

/* ---- the shrinking list ---- */

static size_t *list_create(einsum_arena *arena, size_t count)
{
    size_t *list = einsum_arena_allocate(arena, count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++) list[i] = i;
    return list;
}

/* Takes the positions low < high out of a list of `count` values and puts `result` at its end. */
static void list_shrink(size_t *list, size_t count, size_t low, size_t high, size_t result)
{
    memmove(list + high, list + high + 1, (count - high - 1) * sizeof *list);
    memmove(list + low, list + low + 1, (count - low - 2) * sizeof *list);
    list[count - 2] = result;
}

static weft_status *check_step(const einsum_arena *arena, weft_ints path, size_t step, size_t count)
{
    const int64_t *pair = path.items + 2 * step;
    for (size_t i = 0; i < 2; i++) {
        if (pair[i] >= 0 && (uint64_t)pair[i] < count) continue;
        return weft_status_create(arena->allocator, WEFT_OUT_OF_RANGE, "weft_einsum",
                                  "einsum: step %zu of the path (%" PRId64 ",%" PRId64 ") has position %" PRId64
                                  " but %zu values are left, at positions 0 to %zu",
                                  step, pair[0], pair[1], pair[i], count, count - 1);
    }
    if (pair[0] != pair[1]) return NULL;
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: step %zu of the path names position %" PRId64 " twice; a step takes two values",
                              step, pair[0]);
}

static weft_status *check_count(const einsum_arena *arena, size_t operand_count, weft_ints path, const char *what)
{
    if (path.count % 2 == 0 && path.count / 2 + 1 == operand_count) return NULL;
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: the path has %zu %s%s but %zu operand%s take%s %zu step%s, two %ss each",
                              path.count, what, einsum_plural(path.count), operand_count, einsum_plural(operand_count),
                              operand_count == 1 ? "s" : "", operand_count - 1, einsum_plural(operand_count - 1), what);
}

weft_status *einsum_order_from_path(einsum_arena *arena, size_t operand_count, weft_ints path, einsum_pair *out_pairs)
{
    WEFT_TRY(check_count(arena, operand_count, path, "position"));
    size_t *list = list_create(arena, operand_count);
    if (list == NULL) return weft_status_out_of_memory();
    for (size_t k = 0; k + 1 < operand_count; k++) {
        size_t count = operand_count - k;
        WEFT_TRY(check_step(arena, path, k, count));
        size_t a = (size_t)path.items[2 * k], b = (size_t)path.items[2 * k + 1];
        out_pairs[k] = (einsum_pair){list[a], list[b]};
        list_shrink(list, count, a < b ? a : b, a < b ? b : a, operand_count + k);
    }
    return NULL;
}

/* ---- numbered values ---- */

/* Takes value number `i` of the list, once. */
static weft_status *take_value(const einsum_arena *arena, weft_ints values, size_t i, size_t known, bool *taken)
{
    int64_t value = values.items[i];
    const char *fault = NULL;
    if (value < 0 || (uint64_t)value >= known) fault = "is not there yet";
    else if (taken[value]) fault = "was taken before";
    if (fault == NULL) taken[value] = true;
    if (fault == NULL) return NULL;
    return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, "weft_einsum",
                              "einsum: step %zu of the path (%" PRId64 ",%" PRId64 ") takes value %" PRId64
                              ", which %s; there are %zu, from 0",
                              i / 2, values.items[i & ~(size_t)1], values.items[i | 1], value, fault, known);
}

weft_status *einsum_order_from_values(einsum_arena *arena, size_t operand_count, weft_ints values,
                                      einsum_pair *out_pairs)
{
    WEFT_TRY(check_count(arena, operand_count, values, "value"));
    bool *taken = einsum_arena_allocate(arena, 2 * operand_count, sizeof *taken);
    if (taken == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < values.count; i++) WEFT_TRY(take_value(arena, values, i, operand_count + i / 2, taken));
    for (size_t k = 0; k + 1 < operand_count; k++)
        out_pairs[k] = (einsum_pair){(size_t)values.items[2 * k], (size_t)values.items[2 * k + 1]};
    return NULL;
}

/* ---- paths of pairs ---- */

/* Results are appended, so that the list is always sorted. */
static size_t list_find(const size_t *list, size_t count, size_t value)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (list[middle] <= value) low = middle;
        else high = middle;
    }
    return low;
}

weft_status *einsum_order_to_path(einsum_arena *arena, size_t operand_count, const einsum_pair *pairs,
                                  int64_t *out_path)
{
    size_t *list = list_create(arena, operand_count);
    if (list == NULL) return weft_status_out_of_memory();
    for (size_t k = 0; k + 1 < operand_count; k++) {
        size_t count = operand_count - k;
        size_t a = list_find(list, count, pairs[k].a), b = list_find(list, count, pairs[k].b);
        out_path[2 * k] = (int64_t)(a < b ? a : b);
        out_path[2 * k + 1] = (int64_t)(a < b ? b : a);
        list_shrink(list, count, a < b ? a : b, a < b ? b : a, operand_count + k);
    }
    return NULL;
}
