/* SPDX-License-Identifier: Apache-2.0 */
/* Values: what is recorded is made a program, and run. */
#include <stdatomic.h>
#include "lib/eager/record.h"
#include "runtime/base/status.h"
#include "runtime/data/array_layout.h"

static bool is_known(const weft_eager_array *array)
{
    return array->value != NULL;
}

/* ---- what is wanted ---- */

static weft_status *want(weft_eager *eager, weft_eager_array *array)
{
    bool added = weft_eager_list_add(eager, &eager->record.wanted, &array, sizeof array);
    if (!added) return weft_status_out_of_memory();
    return weft_eager_walk_code(eager, array);
}

/* Somebody else will ask for it: it would be computed again. */
static bool is_needed(const weft_eager_array *array)
{
    size_t inside = array->epoch == array->eager->epoch ? array->inside : 0;
    return array->value == NULL && (array->handles > 0 || array->uses > inside);
}

static weft_status *want_results(weft_eager *eager)
{
    weft_eager_node **nodes = eager->record.nodes.items;
    for (size_t i = 0; i < eager->record.nodes.count; i++) {
        weft_eager_array **results = weft_eager_node_results(nodes[i]);
        for (size_t k = 0; k < nodes[i]->entry->function.result_count; k++) {
            if (results[k] != NULL && is_needed(results[k])) WEFT_TRY(want(eager, results[k]));
        }
    }
    return weft_eager_walk_word(eager, eager->record.nodes.count);
}

static weft_status *record_all(weft_eager *eager, weft_eager_arrays arrays)
{
    weft_eager_walk_begin(eager, is_known);
    for (size_t i = 0; i < arrays.count; i++) WEFT_TRY(weft_eager_walk_to(eager, arrays.items[i]));
    return want_results(eager);
}

/* ---- run ---- */

struct call {
    size_t input_count, output_count;
    weft_array **arrays; /* inputs, then outputs */
    bool *donated;
    bool donates;
};

/* Memory that a run made, which nobody has but this array and the calls that are about to run. */
static bool is_free(const weft_eager_array *leaf)
{
    return leaf->is_own && leaf->handles == 0 && leaf->uses == leaf->inside && leaf->value->base == NULL &&
           atomic_load_explicit(&leaf->value->references, memory_order_acquire) == 1;
}

static void fill_call(weft_eager *eager, const weft_eager_program *program, struct call *call)
{
    weft_eager_array **leaves = eager->record.leaves.items;
    for (size_t i = 0; i < call->input_count; i++) {
        weft_eager_array *leaf = leaves[program->leaves[i]];
        call->arrays[i] = leaf->value;
        call->donated[i] = is_free(leaf);
        call->donates = call->donates || call->donated[i];
        eager->counters.donations += call->donated[i];
    }
    for (size_t i = 0; i < call->output_count; i++) call->arrays[call->input_count + i] = NULL;
}

/* A run that failed may have written part of what it was given. */
static void forget_donated(weft_eager *eager, const weft_eager_program *program, const struct call *call)
{
    weft_eager_array **leaves = eager->record.leaves.items;
    for (size_t i = 0; i < call->input_count; i++) {
        if (!call->donated[i]) continue;
        weft_array_release(leaves[program->leaves[i]]->value);
        leaves[program->leaves[i]]->value = NULL;
    }
}

/* An array that was updated in place comes back as a view of it: the same elements. The array itself can be given away
 * again, and no view keeps another. */
static weft_array *whole(weft_array *result)
{
    if (result->base == NULL) return result;
    weft_array *array = weft_array_retain(result->base);
    weft_array_release(result);
    return array;
}

static void take_results(weft_eager *eager, const struct call *call)
{
    weft_eager_array **wanted = eager->record.wanted.items;
    weft_eager_node **nodes = eager->record.nodes.items;
    size_t node_count = eager->record.nodes.count;
    for (size_t i = 0; i < call->output_count; i++) {
        wanted[i]->value = whole(call->arrays[call->input_count + i]);
        wanted[i]->is_own = true;
    }
    for (size_t i = 0; i < node_count; i++) weft_eager_node_pin(nodes[i]);
    for (size_t i = 0; i < node_count; i++) {
        weft_eager_node_settle(nodes[i]);
        weft_eager_node_unpin(nodes[i]);
    }
}

static weft_status *run(weft_eager *eager, weft_eager_program *program, struct call *call)
{
    fill_call(eager, program, call);
    weft_run run = {.runtime = eager->runtime,
                    .input_count = call->input_count,
                    .inputs = call->arrays,
                    .output_count = call->output_count,
                    .outputs = call->arrays + call->input_count,
                    .donated = call->donates ? call->donated : NULL};
    weft_status *status = weft_executor_run(eager->executor, program->program, &run);
    eager->counters.runs++;
    if (status == NULL) take_results(eager, call);
    else if (call->donates) forget_donated(eager, program, call);
    return status;
}

enum { FEW = 16 };

/* Most calls are small. */
static weft_status *run_with_room(weft_eager *eager, weft_eager_program *program)
{
    weft_array *few[FEW];
    bool few_donated[FEW];
    struct call call = {.input_count = program->input_count, .output_count = eager->record.wanted.count};
    size_t count = call.input_count + call.output_count, size = count * (sizeof(weft_array *) + sizeof(bool));
    if (count <= FEW) {
        call.arrays = few;
        call.donated = few_donated;
        return run(eager, program, &call);
    }
    call.arrays = weft_allocate(eager->allocator, size);
    if (call.arrays == NULL) return weft_status_out_of_memory();
    call.donated = (bool *)(call.arrays + count);
    weft_status *status = run(eager, program, &call);
    weft_free(eager->allocator, call.arrays, size);
    return status;
}

weft_status *weft_eager_compute(weft_eager *eager, weft_eager_arrays arrays)
{
    weft_eager_program *program;
    WEFT_TRY(record_all(eager, arrays));
    if (eager->record.nodes.count == 0) return NULL;
    weft_status *status = weft_eager_program_acquire(eager, &program);
    if (status == NULL) status = run_with_room(eager, program);
    return status == NULL ? NULL : weft_eager_name_calls(eager, status);
}

/* ---- asked for ---- */

/* The error that made an array NULL. */
static weft_status *take_error(weft_eager *eager, const char *where)
{
    weft_status *error = eager->error;
    eager->error = NULL;
    if (error != NULL) return error;
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, where,
                              "array is NULL: the call that was to make it failed");
}

static weft_status *check_array(weft_eager *eager, const weft_eager_array *array, const char *where)
{
    if (array == NULL) return take_error(eager, where);
    if (array->eager == eager) return NULL;
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, where, "array belongs to another context");
}

weft_status *weft_eager_evaluate(weft_eager *eager, weft_eager_arrays arrays)
{
    WEFT_REQUIRE(eager);
    if (arrays.count > 0 && arrays.items == NULL) return weft_status_null(__func__, "arrays");
    for (size_t i = 0; i < arrays.count; i++) WEFT_TRY(check_array(eager, arrays.items[i], __func__));
    return weft_eager_compute(eager, arrays);
}

weft_status *weft_eager_value(weft_eager *eager, weft_eager_array *array, weft_array **out_value)
{
    WEFT_REQUIRE(eager);
    WEFT_REQUIRE(out_value);
    WEFT_TRY(check_array(eager, array, __func__));
    if (array->value == NULL) WEFT_TRY(weft_eager_compute(eager, (weft_eager_arrays){1, &array}));
    *out_value = array->value;
    return NULL;
}
