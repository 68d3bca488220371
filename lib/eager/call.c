/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: recorded, or made views at once. */
#include <string.h>
#include "lib/eager/eager.h"
#include "runtime/base/status.h"

/* ---- checks ---- */

/* Whether all operands are there: a failed one needs no second error. */
static bool are_there(weft_eager_arrays operands)
{
    for (size_t i = 0; i < operands.count; i++) {
        if (operands.items[i] == NULL) return false;
    }
    return true;
}

static weft_status *check(weft_eager *eager, const weft_eager_function *function, weft_eager_arrays operands)
{
    for (size_t i = 0; i < operands.count; i++) {
        if (operands.items[i]->eager == eager) continue;
        return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, function->name,
                                  "%s: operand %zu belongs to another context", function->name, i);
    }
    return NULL;
}

/* ---- views ---- */

static bool can_view(const weft_eager_entry *entry, weft_eager_arrays operands)
{
    if (entry->views == NULL) return false;
    for (size_t i = 0; i < entry->function.result_count; i++) {
        if (operands.items[weft_eager_view_operand(entry->views[i])]->value == NULL) return false;
    }
    return true;
}

static void release_values(size_t count, weft_array **values)
{
    for (size_t i = 0; i < count; i++) weft_array_release(values[i]);
}

/* The views of all results; `*out_made` is false, and nothing was made, where strides cannot say one. */
static weft_status *find_views(const weft_eager_entry *entry, weft_eager_arrays operands, weft_array **out_values,
                               bool *out_made)
{
    *out_made = false;
    for (size_t i = 0; i < entry->function.result_count; i++) {
        const weft_eager_view *view = entry->views[i];
        weft_array *base = operands.items[weft_eager_view_operand(view)]->value;
        weft_status *status = weft_eager_view_apply(view, weft_eager_entry_result(entry, i), base, &out_values[i]);
        if (status == NULL && out_values[i] != NULL) continue;
        release_values(i, out_values);
        return status;
    }
    *out_made = true;
    return NULL;
}

static void release_results(size_t count, weft_eager_array **results)
{
    for (size_t i = 0; i < count; i++) weft_eager_release(results[i]);
}

/* Without a record: nothing will ask where they came from. */
static weft_status *make_arrays(weft_eager *eager, const weft_eager_entry *entry, weft_array **values,
                                weft_eager_array **out_results)
{
    for (size_t i = 0; i < entry->function.result_count; i++) {
        weft_status *status =
            weft_eager_array_create(eager, weft_eager_entry_result(entry, i), values[i], &out_results[i]);
        if (status == NULL) continue;
        release_results(i, out_results);
        return status;
    }
    return NULL;
}

static weft_status *record_views(weft_eager *eager, weft_eager_entry *entry, weft_eager_arrays operands,
                                 weft_array **values, weft_eager_array **out_results)
{
    WEFT_TRY(weft_eager_node_create(eager, entry, operands, out_results));
    for (size_t i = 0; i < entry->function.result_count; i++) out_results[i]->value = weft_array_retain(values[i]);
    return NULL;
}

static weft_status *make_views_in(weft_eager *eager, weft_eager_entry *entry, weft_eager_arrays operands,
                                  weft_array **values, weft_eager_array **out_results, bool *out_made)
{
    WEFT_TRY(find_views(entry, operands, values, out_made));
    if (!*out_made) return NULL;
    weft_status *status = weft_eager_are_taped(operands) ? record_views(eager, entry, operands, values, out_results)
                                                         : make_arrays(eager, entry, values, out_results);
    release_values(entry->function.result_count, values);
    eager->counters.views += status == NULL;
    return status;
}

static weft_status *make_views(weft_eager *eager, weft_eager_entry *entry, weft_eager_arrays operands,
                               weft_eager_array **out_results, bool *out_made)
{
    weft_array *one;
    size_t count = entry->function.result_count, size = count * sizeof(weft_array *);
    *out_made = false;
    if (!can_view(entry, operands)) return NULL;
    if (count == 1) return make_views_in(eager, entry, operands, &one, out_results, out_made);
    weft_array **values = weft_allocate(eager->allocator, size);
    if (values == NULL) return weft_status_out_of_memory();
    weft_status *status = make_views_in(eager, entry, operands, values, out_results, out_made);
    weft_free(eager->allocator, values, size);
    return status;
}

/* ---- calls ---- */

/* A chain that is long enough is run. */
static weft_status *bound_depth(weft_eager *eager, size_t count, weft_eager_array **results)
{
    size_t most = eager->most_recorded;
    const weft_eager_node *node = results[0]->node;
    if (weft_eager_is_taped(results[0])) most = most > SIZE_MAX / 16 ? SIZE_MAX : 16 * most;
    if (node == NULL || results[0]->value != NULL || node->depth < most) return NULL;
    weft_status *status = weft_eager_compute(eager, (weft_eager_arrays){1, results});
    if (status != NULL) release_results(count, results);
    return status;
}

static weft_status *call_entry(weft_eager *eager, weft_eager_entry *entry, const weft_eager_function *function,
                               weft_eager_arrays operands, weft_eager_array **out_results)
{
    bool made;
    eager->counters.calls++;
    WEFT_TRY(make_views(eager, entry, operands, out_results, &made));
    if (made) return NULL;
    WEFT_TRY(weft_eager_node_create(eager, entry, operands, out_results));
    out_results[0]->node->file = function->file;
    out_results[0]->node->line = function->line;
    return bound_depth(eager, entry->function.result_count, out_results);
}

weft_status *weft_eager_call_with(weft_eager *eager, const weft_eager_function *function, weft_eager_arrays operands,
                                  size_t part_count, weft_eager_entry *const *parts, weft_eager_array **out_results)
{
    weft_eager_entry *entry;
    WEFT_TRY(check(eager, function, operands));
    WEFT_TRY(weft_eager_entry_acquire(eager, function, operands, part_count, parts, &entry));
    return call_entry(eager, entry, function, operands, out_results);
}

static weft_status *check_function(const weft_eager *eager, const weft_eager_function *function,
                                   weft_eager_arrays operands, weft_eager_array *const *out_results)
{
    if (function == NULL) return weft_status_null("weft_eager_call", "function");
    if (function->trace == NULL) return weft_status_null("weft_eager_call", "function->trace");
    if (function->options == NULL && function->options_size > 0)
        return weft_status_null("weft_eager_call", "function->options");
    if (operands.items == NULL && operands.count > 0) return weft_status_null("weft_eager_call", "operands");
    if (out_results != NULL || function->result_count <= 1) return NULL;
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, "weft_eager_call",
                              "out_results is NULL, but there are %zu results", function->result_count);
}

/* A name, and at least one result. */
static weft_eager_function complete(const weft_eager_function *function)
{
    weft_eager_function full = *function;
    if (full.name == NULL) full.name = "function";
    if (full.result_count == 0) full.result_count = 1;
    return full;
}

weft_eager_array *weft_eager_call(weft_eager *eager, const weft_eager_function *function, weft_eager_arrays operands,
                                  weft_eager_array **out_results)
{
    weft_eager_array *one = NULL, **results = out_results == NULL ? &one : out_results;
    if (eager == NULL) return NULL;
    weft_status *status = check_function(eager, function, operands, out_results);
    if (status == NULL) {
        weft_eager_function full = complete(function);
        for (size_t i = 0; i < full.result_count; i++) results[i] = NULL;
        if (!are_there(operands)) return NULL;
        status = weft_eager_call_with(eager, &full, operands, 0, NULL, results);
        for (size_t i = 0; status != NULL && i < full.result_count; i++) results[i] = NULL;
    }
    if (status == NULL) return results[0];
    weft_eager_fail(eager, status, function == NULL ? NULL : function->file, function == NULL ? 0 : function->line);
    return NULL;
}
