/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/call.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/data/array_layout.h"
#include "runtime/program/variant.h"

static const char where[] = "weft_executor_run";

/* ---- arrays ---- */

static weft_status *check_array(const weft_allocator *allocator, const weft_call *call, const char *kind,
                                const weft_program_value *value, const weft_array *array)
{
    weft_device device = array->device, wanted = call->runtime->driver->device;
    if (array->dtype != value->dtype)
        return weft_status_create(allocator, WEFT_DTYPE_MISMATCH, where, "%s \"%s\" is %s, but the program requires %s",
                                  kind, value->name, weft_dtype_name(array->dtype),
                                  weft_dtype_name(value->dtype));
    if (array->rank != value->rank)
        return weft_status_create(allocator, WEFT_SHAPE_MISMATCH, where,
                                  "%s \"%s\" has rank %zu, but the program requires %u", kind, value->name,
                                  array->rank, value->rank);
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
        if (run->donated != NULL && run->donated[i] && run->inputs[i]->read_only)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                      "input \"%s\" is read-only and cannot be donated", program->inputs[i].name);
    }
    for (size_t i = 0; i < run->output_count; i++) {
        if (run->outputs[i] == NULL) continue;
        WEFT_TRY(check_array(allocator, call, "output", &program->outputs[i], run->outputs[i]));
        if (run->outputs[i]->read_only)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "output \"%s\" is read-only",
                                      program->outputs[i].name);
    }
    return NULL;
}

/* ---- key ---- */

uint8_t weft_call_layout(const weft_array *array)
{
    if (array == NULL || array->contiguous) return WEFT_LAYOUT_CONTIGUOUS;
    const int64_t *strides = array->extents + array->rank;
    for (size_t i = array->rank; i-- > 0;) {
        if (strides[i] == 1 && array->extents[i] != 1) return (uint8_t)(WEFT_LAYOUT_UNIT + i);
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

/* All return where the next word goes. */
static int64_t *add_all(int64_t *at, const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) *at++ = words[i];
    return at;
}

/* What says whether an output is given stands before its extents, of which there may be none. */
static int64_t *add_shapes(int64_t *at, const weft_run *run)
{
    for (size_t i = 0; i < run->input_count; i++) at = add_all(at, run->inputs[i]->extents, run->inputs[i]->rank);
    for (size_t i = 0; i < run->output_count; i++) {
        const weft_array *output = run->outputs[i];
        *at++ = output != NULL;
        if (output != NULL) at = add_all(at, output->extents, output->rank);
    }
    return at;
}

static int64_t *add_strides(int64_t *at, const weft_array *array)
{
    if (array == NULL || array->contiguous) return at;
    return add_all(at, array->extents + array->rank, array->rank);
}

static weft_status *add_extents(int64_t **at, const weft_allocator *allocator, const weft_call *call)
{
    for (size_t i = 0; i < call->run->extent_count; i++) {
        const weft_binding *extent = &call->run->extents[i];
        if (extent->name == NULL)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "the name of extent %zu is NULL", i);
        size_t symbol = weft_formulas_find_symbol(&call->program->formulas, extent->name);
        if (symbol == SIZE_MAX) {
            const weft_idle_check check = {allocator, where, WEFT_SHAPE_MISMATCH};
            WEFT_TRY(weft_program_check_idle(call->program, &check, call->run->extents, i));
            continue;
        }
        *(*at)++ = (int64_t)symbol;
        *(*at)++ = extent->value;
    }
    return NULL;
}

static uint64_t hash_of(const int64_t *words, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) hash = (hash << 7 | hash >> 57) ^ (uint64_t)words[i];
    hash *= 0x9e3779b97f4a7c15; /* 2^64 over the golden ratio */
    return hash ^ hash >> 32;
}

/*
 * serial, runtime, specialize, layouts | shapes, explicit extents | strides, limit. The middle part decides the values
 * of all symbols, so it belongs to the variant when that is specialised.
 */
static weft_status *fill_key(weft_call_key *key, const weft_call *call)
{
    const weft_run *run = call->run;
    int64_t *at = key->words;
    *at++ = (int64_t)call->program->serial;
    *at++ = (int64_t)(intptr_t)call->runtime;
    *at++ = run->specialize;
    for (size_t i = 0; i < run->input_count; i++) *at++ = weft_call_layout(run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) *at++ = weft_call_layout(run->outputs[i]);
    key->variant_count = (size_t)(at - key->words);
    at = add_shapes(at, run);
    if (run->extent_count > 0) WEFT_TRY(add_extents(&at, key->allocator, call));
    if (run->specialize) key->variant_count = (size_t)(at - key->words);
    for (size_t i = 0; i < run->input_count; i++) at = add_strides(at, run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) at = add_strides(at, run->outputs[i]);
    if (run->memory_limit != 0) *at++ = (int64_t)run->memory_limit;
    key->count = (size_t)(at - key->words);
    key->hash = hash_of(key->words, key->count);
    return NULL;
}

weft_status *weft_call_key_init(weft_call_key *key, const weft_allocator *allocator, const weft_call *call)
{
    key->allocator = allocator;
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
