/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: their life and their errors. */
#include <stdio.h>
#include <string.h>
#include "lib/eager/general.h"
#include "runtime/base/status.h"

/* ---- errors ---- */

void weft_eager_fail(weft_eager *eager, weft_status *status, const char *file, int line)
{
    char where[256];
    if (eager->error != NULL || file == NULL) {
        if (eager->error == NULL) eager->error = status;
        else weft_status_destroy(status);
        return;
    }
    snprintf(where, sizeof where, "%s:%d", file, line);
    eager->error =
        weft_status_create(eager->allocator, weft_status_code(status), where, "%s", weft_status_message(status));
    weft_status_destroy(status);
}

const weft_status *weft_eager_error(const weft_eager *eager)
{
    return eager->error;
}

void weft_eager_clear_error(weft_eager *eager)
{
    if (eager == NULL) return;
    weft_status_destroy(eager->error);
    eager->error = NULL;
}

/* ---- its life ---- */

static size_t or_else(size_t value, size_t otherwise)
{
    return value == 0 ? otherwise : value;
}

weft_status *weft_eager_create(weft_executor *executor, const weft_eager_options *options, weft_eager **out_eager)
{
    static const weft_eager_options defaults;
    WEFT_REQUIRE(executor);
    WEFT_REQUIRE(out_eager);
    if (options == NULL) options = &defaults;
    const weft_allocator *allocator = weft_allocator_or_default(options->allocator);
    weft_eager *eager = weft_allocate_zeroed(allocator, sizeof *eager);
    if (eager == NULL) return weft_status_out_of_memory();
    eager->own_allocator = *allocator;
    eager->allocator = &eager->own_allocator;
    eager->executor = executor;
    eager->fixed_extents = options->fixed_extents;
    eager->most_recorded = or_else(options->most_recorded, 64);
    eager->runtime = options->runtime;
    eager->policy = options->policy;
    weft_map_init(&eager->types, eager->allocator);
    weft_bytes_init(&eager->general, eager->allocator);
    weft_eager_kept_init(&eager->entries, eager->allocator, or_else(options->function_capacity, 4096),
                         weft_eager_entry_drop, eager);
    weft_eager_kept_init(&eager->programs, eager->allocator, or_else(options->program_capacity, 1024),
                         weft_eager_program_drop, eager);
    weft_eager_kept_init(&eager->generals, eager->allocator, or_else(options->program_capacity, 1024),
                         weft_eager_general_drop, eager);
    *out_eager = eager;
    return NULL;
}

static void forget_numbers(weft_eager *eager)
{
    for (size_t i = 0; i < WEFT_EAGER_NUMBERS; i++) weft_eager_assign(&eager->numbers[i], NULL);
}

void weft_eager_clear(weft_eager *eager)
{
    if (eager == NULL) return;
    weft_eager_kept_clear(&eager->programs);
    weft_eager_kept_clear(&eager->generals);
    weft_eager_kept_clear(&eager->entries);
    forget_numbers(eager);
}

static void finish(weft_eager *eager)
{
    weft_allocator allocator = eager->own_allocator;
    weft_map_finish(&eager->types, NULL);
    weft_eager_list_finish(eager, &eager->key, sizeof(uint64_t));
    weft_bytes_finish(&eager->general);
    weft_eager_list_finish(eager, &eager->packed, sizeof(uint64_t));
    weft_eager_list_finish(eager, &eager->labels, sizeof(int64_t));
    weft_eager_list_finish(eager, &eager->scope, sizeof(weft_eager_array *));
    weft_eager_list_finish(eager, &eager->operands, sizeof(weft_eager_array *));
    weft_eager_list_finish(eager, &eager->record.nodes, sizeof(weft_eager_node *));
    weft_eager_list_finish(eager, &eager->record.leaves, sizeof(weft_eager_array *));
    weft_eager_list_finish(eager, &eager->record.wanted, sizeof(weft_eager_array *));
    weft_eager_list_finish(eager, &eager->record.words, sizeof(uint64_t));
    weft_eager_list_finish(eager, &eager->record.stack, sizeof(weft_eager_node *));
    weft_status_destroy(eager->error);
    weft_free(&allocator, eager, sizeof *eager);
}

void weft_eager_review(weft_eager *eager)
{
    if (eager->closed && eager->counters.arrays == 0) finish(eager);
}

void weft_eager_destroy(weft_eager *eager)
{
    if (eager == NULL) return;
    weft_eager_tape_forget(eager);
    while (eager->scope_depth > 0) weft_eager_scope_end(eager, (weft_eager_scope){0, 0});
    weft_eager_clear(eager);
    eager->closed = true;
    weft_eager_review(eager);
}

void weft_eager_counters_read(const weft_eager *eager, weft_eager_counters *out_counters)
{
    *out_counters = eager->counters;
}
