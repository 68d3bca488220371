/* SPDX-License-Identifier: Apache-2.0 */
#include "labels.h"
#include <inttypes.h>
#include <stdio.h>

static void print_labels(einsum_text *text, weft_ints labels)
{
    einsum_text_append(text, "[", 1);
    for (size_t i = 0; i < labels.count; i++) einsum_text_print(text, "%s%" PRId64, i == 0 ? "" : " ", labels.items[i]);
    einsum_text_append(text, "]", 1);
}

static void print_network(einsum_text *text, size_t operand_count, const weft_ints *labels, weft_ints output)
{
    for (size_t i = 0; i < operand_count; i++) {
        if (i > 0) einsum_text_append(text, ",", 1);
        print_labels(text, labels[i]);
    }
    einsum_text_append(text, "->", 2);
    print_labels(text, output);
}

static weft_status *check_labels(const einsum_arena *arena, const char *place, const char *where, weft_ints labels)
{
    if (labels.count > 0 && labels.items == NULL)
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, place,
                                  "einsum: the labels of %s are NULL, but their count is %zu", where, labels.count);
    for (size_t i = 0; i < labels.count; i++) {
        if (labels.items[i] >= 0) continue;
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, place,
                                  "einsum: label %zu of %s is %" PRId64 ", but labels are not negative", i, where,
                                  labels.items[i]);
    }
    return NULL;
}

static weft_status *check_network(const einsum_arena *arena, const char *place, size_t operand_count,
                                  const weft_ints *labels, weft_ints output)
{
    if (operand_count > 0 && labels == NULL)
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, place, "einsum: the labels are NULL");
    for (size_t i = 0; i < operand_count; i++) {
        char where[48];
        snprintf(where, sizeof where, "operand %zu", i);
        WEFT_TRY(check_labels(arena, place, where, labels[i]));
    }
    return check_labels(arena, place, "the output", output);
}

weft_status *einsum_labels_print(einsum_arena *arena, const char *place, size_t operand_count, const weft_ints *labels,
                                 weft_ints output, const char **out_text)
{
    einsum_text text;
    WEFT_TRY(check_network(arena, place, operand_count, labels, output));
    einsum_text_init(&text, arena);
    print_network(&text, operand_count, labels, output);
    *out_text = text.data;
    return text.failed ? weft_status_out_of_memory() : NULL;
}
