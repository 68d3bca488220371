/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/eager/general.h"
#include <stdio.h>
#include <string.h>

/* Records that get a program for their own extents before there is one for all. */
enum { OWN = 2 };
/* What a symbol may be: extents beyond it stay numbers. */
#define MOST_EXTENT ((int64_t)1 << 31)

/* ---- labels ---- */

static bool has_label(int64_t extent)
{
    return extent >= 2 && extent <= MOST_EXTENT;
}

static size_t find_label(const weft_eager *eager, int64_t extent)
{
    const int64_t *labels = eager->labels.items;
    size_t i = 0;
    while (i < eager->labels.count && labels[i] != extent) i++;
    return i;
}

/* ---- keys ---- */

static void append_word(weft_eager *eager, uint64_t word)
{
    weft_bytes_append(&eager->general, &word, sizeof word);
}

/* The extent as its label, below 0, or as it is. */
static weft_status *append_extent(weft_eager *eager, int64_t extent)
{
    if (!has_label(extent)) {
        append_word(eager, (uint64_t)extent);
        return NULL;
    }
    size_t label = find_label(eager, extent);
    bool is_new = label == eager->labels.count;
    if (is_new && !weft_eager_list_add(eager, &eager->labels, &extent, sizeof extent))
        return weft_status_out_of_memory();
    append_word(eager, ~(uint64_t)label);
    return NULL;
}

static weft_status *append_leaves(weft_eager *eager)
{
    weft_eager_array **leaves = eager->record.leaves.items;
    eager->labels.count = 0;
    for (size_t i = 0; i < eager->record.leaves.count; i++) {
        const weft_eager_type *type = leaves[i]->type;
        append_word(eager, type->dtype);
        append_word(eager, type->rank);
        for (size_t k = 0; k < type->rank; k++) WEFT_TRY(append_extent(eager, type->extents[k]));
    }
    return NULL;
}

static const uint64_t *append_calls(weft_eager *eager, size_t count, const uint64_t *words);

/* What is called, whatever the types: the options of a gradient, which are calls, in the same way. */
static void append_function(weft_eager *eager, const weft_eager_entry *entry)
{
    const weft_eager_function *function = &entry->function;
    append_word(eager, (uint64_t)(uintptr_t)function->trace);
    append_word(eager, function->result_count);
    append_word(eager, entry->operand_count);
    append_word(eager, function->options_size);
    if (entry->part_count == 0) {
        weft_bytes_append(&eager->general, function->options, function->options_size);
        weft_bytes_pad(&eager->general, sizeof(uint64_t));
        return;
    }
    const uint64_t *words = function->options, *end = words + function->options_size / sizeof *words;
    for (size_t i = 0; i < WEFT_EAGER_GRADIENT_HEADER; i++) append_word(eager, words[i]);
    words = append_calls(eager, entry->part_count, words + WEFT_EAGER_GRADIENT_HEADER);
    while (words < end) append_word(eager, *words++);
}

/* Returns what comes after the words of the calls. */
static const uint64_t *append_calls(weft_eager *eager, size_t count, const uint64_t *words)
{
    for (size_t i = 0; i < count; i++) {
        const weft_eager_entry *entry = (const weft_eager_entry *)(uintptr_t)*words++;
        append_function(eager, entry);
        for (size_t k = 0; k < entry->operand_count; k++) append_word(eager, *words++);
    }
    return words;
}

static weft_status *fill_key(weft_eager *eager)
{
    const weft_eager_record *record = &eager->record;
    const uint64_t *words = record->words.items, *end = words + record->words.count;
    weft_bytes_clear(&eager->general);
    WEFT_TRY(append_leaves(eager));
    words = append_calls(eager, record->nodes.count, words);
    while (words < end) append_word(eager, *words++);
    return weft_bytes_status(&eager->general);
}

/* ---- its life ---- */

static void general_destroy(weft_eager *eager, weft_eager_general *general)
{
    weft_free(eager->allocator, general->values, general->label_count * sizeof *general->values);
    weft_free(eager->allocator, general->varied, general->label_count * sizeof *general->varied);
    weft_free(eager->allocator, general->leaves, general->input_count * sizeof *general->leaves);
    weft_program_release(general->program);
    weft_free(eager->allocator, general, sizeof *general);
}

void weft_eager_general_drop(void *context, weft_eager_kept_item *item)
{
    general_destroy(context, (weft_eager_general *)item);
}

static weft_status *fill(weft_eager *eager, weft_eager_general *general)
{
    size_t size = general->label_count * sizeof *general->values;
    general->values = weft_allocate(eager->allocator, size);
    general->varied = weft_allocate_zeroed(eager->allocator, general->label_count * sizeof *general->varied);
    if (general->values == NULL || general->varied == NULL) return weft_status_out_of_memory();
    if (size > 0) memcpy(general->values, eager->labels.items, size);
    bool kept = weft_eager_kept_add(&eager->generals, eager->general.data, eager->general.size, &general->kept);
    return kept ? NULL : weft_status_out_of_memory();
}

static weft_status *make(weft_eager *eager, weft_eager_general **out_general)
{
    weft_eager_general *general = weft_allocate_zeroed(eager->allocator, sizeof *general);
    if (general == NULL) return weft_status_out_of_memory();
    general->label_count = eager->labels.count;
    weft_status *status = fill(eager, general);
    if (status == NULL) *out_general = general;
    else general_destroy(eager, general);
    return status;
}

static void forget_program(weft_eager *eager, weft_eager_general *general)
{
    weft_program_release(general->program);
    weft_free(eager->allocator, general->leaves, general->input_count * sizeof *general->leaves);
    general->program = NULL;
    general->leaves = NULL;
    general->input_count = 0;
}

/* A label with another value than before is not in the program yet. */
static void meet(weft_eager *eager, weft_eager_general *general)
{
    const int64_t *labels = eager->labels.items;
    bool is_new = false;
    general->met++;
    for (size_t i = 0; i < general->label_count; i++) {
        if (general->varied[i] || general->values[i] == labels[i]) continue;
        general->varied[i] = is_new = true;
    }
    if (is_new) forget_program(eager, general);
}

weft_status *weft_eager_general_acquire(weft_eager *eager, weft_eager_general **out_general)
{
    WEFT_TRY(fill_key(eager));
    weft_eager_kept_item *found = weft_eager_kept_find(&eager->generals, eager->general.data, eager->general.size);
    weft_eager_general *general = (weft_eager_general *)found;
    if (general == NULL) WEFT_TRY(make(eager, &general));
    meet(eager, general);
    *out_general = general;
    return NULL;
}

/* ---- its program ---- */

bool weft_eager_general_is_due(const weft_eager_general *general)
{
    bool varies = false;
    for (size_t i = 0; i < general->label_count; i++) varies = varies || general->varied[i];
    return varies && general->met > OWN && !general->refused;
}

weft_extent weft_eager_general_extent(const weft_eager *eager, const weft_eager_general *general, weft_graph *graph,
                                      int64_t value)
{
    char name[32];
    size_t label = has_label(value) ? find_label(eager, value) : general->label_count;
    if (label == general->label_count || !general->varied[label]) return weft_extent_of(value);
    snprintf(name, sizeof name, "extent%zu", label);
    return weft_symbol(graph, name, 2, MOST_EXTENT);
}

weft_status *weft_eager_general_keep(weft_eager *eager, weft_eager_general *general, weft_program *program,
                                     size_t input_count, const size_t *leaves)
{
    size_t size = input_count * sizeof *leaves;
    general->leaves = weft_allocate(eager->allocator, size);
    if (general->leaves == NULL) return weft_status_out_of_memory();
    if (size > 0) memcpy(general->leaves, leaves, size);
    general->input_count = input_count;
    general->program = weft_program_retain(program);
    return NULL;
}
