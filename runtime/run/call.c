/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/call.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/program/variant.h"

static const char where[] = "weft_executor_run";

/* ---- arrays ---- */

static weft_status *check_array(const weft_allocator *allocator, const weft_call *call, const char *kind,
                                const weft_program_value *value, const weft_array *array)
{
    weft_device device = weft_array_device(array), wanted = call->runtime->driver->device;
    if (weft_array_dtype(array) != value->dtype)
        return weft_status_create(allocator, WEFT_DTYPE_MISMATCH, where, "%s \"%s\" is %s, but the program requires %s",
                                  kind, value->name, weft_dtype_name(weft_array_dtype(array)),
                                  weft_dtype_name(value->dtype));
    if (weft_array_rank(array) != value->rank)
        return weft_status_create(allocator, WEFT_SHAPE_MISMATCH, where,
                                  "%s \"%s\" has rank %zu, but the program requires %u", kind, value->name,
                                  weft_array_rank(array), value->rank);
    if (device.kind != wanted.kind || device.index != wanted.index)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "%s \"%s\" is on device %d:%d, but runtime \"%s\" works on %d:%d", kind, value->name,
                                  (int)device.kind, (int)device.index, call->runtime->name, (int)wanted.kind,
                                  (int)wanted.index);
    return NULL;
}

static weft_status *check_count(const weft_allocator *allocator, const char *kind, size_t given, size_t required,
                                const void *list)
{
    if (given != required)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "the number of %s is %zu, but the program has %zu", kind, given, required);
    if (given > 0 && list == NULL)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "the list of %zu %s is NULL", given, kind);
    return NULL;
}

weft_status *weft_call_check_arrays(const weft_allocator *allocator, const weft_call *call)
{
    const weft_program *program = call->program;
    const weft_run *run = call->run;
    WEFT_TRY(check_count(allocator, "inputs", run->input_count, program->input_count, run->inputs));
    WEFT_TRY(check_count(allocator, "outputs", run->output_count, program->output_count, run->outputs));
    WEFT_TRY(check_count(allocator, "extents", run->extent_count, run->extent_count, run->extents));
    for (size_t i = 0; i < run->input_count; i++) {
        if (run->inputs[i] == NULL)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "input \"%s\" is NULL",
                                      program->inputs[i].name);
        WEFT_TRY(check_array(allocator, call, "input", &program->inputs[i], run->inputs[i]));
        if (run->donated != NULL && run->donated[i] && weft_array_is_read_only(run->inputs[i]))
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                      "input \"%s\" is read-only and cannot be donated", program->inputs[i].name);
    }
    for (size_t i = 0; i < run->output_count; i++) {
        if (run->outputs[i] == NULL) continue;
        WEFT_TRY(check_array(allocator, call, "output", &program->outputs[i], run->outputs[i]));
        if (weft_array_is_read_only(run->outputs[i]))
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "output \"%s\" is read-only",
                                      program->outputs[i].name);
    }
    return NULL;
}

/* ---- key ---- */

uint8_t weft_call_layout(const weft_array *array)
{
    if (array == NULL || weft_array_is_contiguous(array)) return WEFT_LAYOUT_CONTIGUOUS;
    for (size_t i = weft_array_rank(array); i-- > 0;) {
        if (weft_array_strides(array)[i] == 1 && weft_array_shape(array)[i] != 1)
            return (uint8_t)(WEFT_LAYOUT_UNIT + i);
    }
    return WEFT_LAYOUT_STRIDED;
}

static size_t most_words(const weft_call *call)
{
    const weft_program *program = call->program;
    size_t words = 4 + 2 * call->run->extent_count;
    for (size_t i = 0; i < program->input_count; i++) words += 1 + 2 * (size_t)program->inputs[i].rank;
    for (size_t i = 0; i < program->output_count; i++) words += 2 + 2 * (size_t)program->outputs[i].rank;
    return words;
}

static void add(weft_call_key *key, int64_t word)
{
    key->words[key->count++] = word;
}

static void add_all(weft_call_key *key, const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) key->words[key->count++] = words[i];
}

/* What says whether an output is given stands before its extents, of which there may be none. */
static void add_shapes(weft_call_key *key, const weft_run *run)
{
    for (size_t i = 0; i < run->input_count; i++)
        add_all(key, weft_array_shape(run->inputs[i]), weft_array_rank(run->inputs[i]));
    for (size_t i = 0; i < run->output_count; i++) {
        const weft_array *output = run->outputs[i];
        add(key, output != NULL);
        if (output != NULL) add_all(key, weft_array_shape(output), weft_array_rank(output));
    }
}

static void add_strides(weft_call_key *key, const weft_array *array)
{
    if (weft_call_layout(array) != WEFT_LAYOUT_CONTIGUOUS)
        add_all(key, weft_array_strides(array), weft_array_rank(array));
}

static weft_status *add_extents(weft_call_key *key, const weft_call *call)
{
    for (size_t i = 0; i < call->run->extent_count; i++) {
        const weft_binding *extent = &call->run->extents[i];
        if (extent->name == NULL)
            return weft_status_create(key->allocator, WEFT_INVALID_ARGUMENT, where, "the name of extent %zu is NULL",
                                      i);
        size_t symbol = weft_formulas_find_symbol(&call->program->formulas, extent->name);
        if (symbol == SIZE_MAX) {
            const weft_idle_check check = {key->allocator, where, WEFT_SHAPE_MISMATCH};
            WEFT_TRY(weft_program_check_idle(call->program, &check, call->run->extents, i));
            continue;
        }
        add(key, (int64_t)symbol);
        add(key, extent->value);
    }
    return NULL;
}

/*
 * serial, runtime, specialize, layouts | shapes, explicit extents | strides, limit. The middle part decides the values
 * of all symbols, so it belongs to the variant when that is specialised.
 */
static weft_status *fill_key(weft_call_key *key, const weft_call *call)
{
    const weft_run *run = call->run;
    add(key, (int64_t)call->program->serial);
    add(key, (int64_t)(intptr_t)call->runtime);
    add(key, run->specialize);
    for (size_t i = 0; i < run->input_count; i++) add(key, weft_call_layout(run->inputs[i]));
    for (size_t i = 0; i < run->output_count; i++) add(key, weft_call_layout(run->outputs[i]));
    key->variant_count = key->count;
    add_shapes(key, run);
    WEFT_TRY(add_extents(key, call));
    if (run->specialize) key->variant_count = key->count;
    for (size_t i = 0; i < run->input_count; i++) add_strides(key, run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) add_strides(key, run->outputs[i]);
    if (run->memory_limit != 0) add(key, (int64_t)run->memory_limit);
    return NULL;
}

weft_status *weft_call_key_init(weft_call_key *key, const weft_allocator *allocator, const weft_call *call)
{
    key->allocator = allocator;
    key->variant_count = key->count = 0;
    key->capacity = most_words(call);
    key->words = key->room;
    if (key->capacity > WEFT_CALL_INLINE_WORDS) key->words = weft_allocate(allocator, key->capacity * sizeof(int64_t));
    if (key->words == NULL) return weft_status_out_of_memory();
    weft_status *status = fill_key(key, call);
    if (status != NULL) weft_call_key_finish(key);
    return status;
}

void weft_call_key_finish(weft_call_key *key)
{
    if (key->words != key->room) weft_free(key->allocator, key->words, key->capacity * sizeof(int64_t));
}
