/* SPDX-License-Identifier: Apache-2.0 */
#include "labels.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_labels(einsum_text *text, weft_ints labels)
{
    einsum_text_append(text, "[", 1);
    for (size_t i = 0; i < labels.count; i++) {
        if (i > 0) einsum_text_append(text, " ", 1);
        einsum_text_number(text, labels.items[i]);
    }
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

static weft_status *check_labels(const einsum_arena *arena, const char *function, const char *where, weft_ints labels)
{
    if (labels.count > 0 && labels.items == NULL)
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, function,
                                  "einsum: the labels of %s are NULL, but their count is %zu", where, labels.count);
    for (size_t i = 0; i < labels.count; i++) {
        if (labels.items[i] >= 0) continue;
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, function,
                                  "einsum: label %zu of %s is %" PRId64 ", but labels are not negative", i, where,
                                  labels.items[i]);
    }
    return NULL;
}

static weft_status *check_operands(const einsum_arena *arena, const einsum_labelled *x)
{
    if (x->operand_count == 0)
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, x->function,
                                  "einsum: no operands are given; an expression needs at least one");
    if (x->labels == NULL)
        return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, x->function, "einsum: the labels are NULL");
    for (size_t i = 0; i < x->operand_count; i++) {
        char where[48];
        size_t count = x->labels[i].count;
        snprintf(where, sizeof where, "operand %zu", i);
        WEFT_TRY(check_labels(arena, x->function, where, x->labels[i]));
        if (x->ranks[i] != count)
            return weft_status_create(arena->allocator, WEFT_SHAPE_MISMATCH, x->function,
                                      "einsum: %s has rank %zu but %zu label%s", where, x->ranks[i], count,
                                      einsum_plural(count));
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static weft_status *check_output(einsum_arena *arena, const einsum_labelled *x)
{
    size_t total = 0, count = 0;
    WEFT_TRY(check_labels(arena, x->function, "the output", x->output));
    if (x->output.count == 0) return NULL;
    for (size_t i = 0; i < x->operand_count; i++) total += x->labels[i].count;
    int64_t *known = einsum_arena_allocate(arena, total, sizeof *known);
    if (known == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < x->operand_count; i++)
        for (size_t k = 0; k < x->labels[i].count; k++) known[count++] = x->labels[i].items[k];
    qsort(known, count, sizeof *known, compare);
    for (size_t i = 0; i < x->output.count; i++)
        if (bsearch(&x->output.items[i], known, count, sizeof *known, compare) == NULL)
            return weft_status_create(arena->allocator, WEFT_INVALID_ARGUMENT, x->function,
                                      "einsum: label %" PRId64 " of the output is in no operand", x->output.items[i]);
    return NULL;
}

weft_status *einsum_labels_print(einsum_arena *arena, const einsum_labelled *x, const char **out_text)
{
    einsum_text text;
    WEFT_TRY(check_operands(arena, x));
    WEFT_TRY(check_output(arena, x));
    einsum_text_init(&text, arena);
    print_network(&text, x->operand_count, x->labels, x->output);
    *out_text = text.data;
    return text.failed ? weft_status_out_of_memory() : NULL;
}
