/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/call.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/data/array_layout.h"
#include "runtime/program/variant.h"

static const char where[] = "weft_executor_run";

/* ---- arrays ---- */

/* What is wrong with an array that does not fit. */
static weft_status *array_fault(const weft_allocator *allocator, const weft_call *call, const char *kind,
                                const weft_program_value *value, const weft_array *array)
{
    weft_device wanted = call->runtime->driver->device;
    if (array->dtype != value->dtype)
        return weft_status_create(allocator, WEFT_DTYPE_MISMATCH, where, "%s \"%s\" is %s, but the program requires %s",
                                  kind, value->name, weft_dtype_name(array->dtype), weft_dtype_name(value->dtype));
    if (array->rank != value->rank)
        return weft_status_create(allocator, WEFT_SHAPE_MISMATCH, where,
                                  "%s \"%s\" has rank %zu, but the program requires %u", kind, value->name, array->rank,
                                  value->rank);
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                              "%s \"%s\" is on device %d:%d, but runtime \"%s\" works on %d:%d", kind, value->name,
                              (int)array->device.kind, (int)array->device.index, call->runtime->name, (int)wanted.kind,
                              (int)wanted.index);
}

static inline bool fits(const weft_array *array, const weft_program_value *value, weft_device wanted)
{
    return array->dtype == value->dtype && array->rank == value->rank && array->device.kind == wanted.kind &&
           array->device.index == wanted.index;
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

static weft_status *check_extents(const weft_allocator *allocator, const weft_call *call)
{
    const weft_idle_check check = {allocator, where, WEFT_SHAPE_MISMATCH};
    for (size_t i = 0; i < call->run->extent_count; i++) {
        const char *name = call->run->extents[i].name;
        if (name == NULL)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "the name of extent %zu is NULL", i);
        if (weft_formulas_find_symbol(&call->program->formulas, name) == SIZE_MAX)
            WEFT_TRY(weft_program_check_idle(call->program, &check, call->run->extents, i));
    }
    return NULL;
}

weft_status *weft_call_check_arrays(const weft_allocator *allocator, weft_call *call)
{
    const weft_program *program = call->program;
    const weft_run *run = call->run;
    const weft_device device = call->runtime->driver->device;
    WEFT_TRY(check_count(allocator, "inputs", run->input_count, program->input_count, run->inputs));
    WEFT_TRY(check_count(allocator, "outputs", run->output_count, program->output_count, run->outputs));
    WEFT_TRY(check_count(allocator, "extents", run->extent_count, run->extent_count, run->extents));
    for (size_t i = 0; i < run->input_count; i++) {
        if (run->inputs[i] == NULL)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "input \"%s\" is NULL",
                                      program->inputs[i].name);
        if (!fits(run->inputs[i], &program->inputs[i], device))
            return array_fault(allocator, call, "input", &program->inputs[i], run->inputs[i]);
        call->axis_count += run->inputs[i]->rank;
        if (run->donated != NULL && run->donated[i] && run->inputs[i]->read_only)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                      "input \"%s\" is read-only and cannot be donated", program->inputs[i].name);
    }
    for (size_t i = 0; i < run->output_count; i++) {
        if (run->outputs[i] == NULL) continue;
        if (!fits(run->outputs[i], &program->outputs[i], device))
            return array_fault(allocator, call, "output", &program->outputs[i], run->outputs[i]);
        call->axis_count += run->outputs[i]->rank;
        if (run->outputs[i]->read_only)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "output \"%s\" is read-only",
                                      program->outputs[i].name);
    }
    return check_extents(allocator, call);
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
    const weft_run *run = call->run;
    return 4 + run->input_count + 2 * run->output_count + 2 * call->axis_count + 2 * run->extent_count;
}

/* Where the next word goes, and the hash of those before it. Passed by value, so that it stays in registers. */
typedef struct writer {
    int64_t *at;
    uint64_t hash;
} writer;

static inline writer add(writer w, int64_t word)
{
    *w.at = word;
    return (writer){w.at + 1, (w.hash << 7 | w.hash >> 57) ^ (uint64_t)word};
}

static inline writer add_all(writer w, const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) w = add(w, words[i]);
    return w;
}

/* What says whether an output is given stands before its extents, of which there may be none. */
static inline writer add_shapes(writer w, const weft_run *run)
{
    for (size_t i = 0; i < run->input_count; i++) w = add_all(w, run->inputs[i]->extents, run->inputs[i]->rank);
    for (size_t i = 0; i < run->output_count; i++) {
        const weft_array *output = run->outputs[i];
        w = add(w, output != NULL);
        if (output != NULL) w = add_all(w, output->extents, output->rank);
    }
    return w;
}

static inline writer add_strides(writer w, const weft_array *array)
{
    if (array == NULL || array->contiguous) return w;
    return add_all(w, array->extents + array->rank, array->rank);
}

/* Those that the program has, each with its symbol. */
static writer add_extents(writer w, const weft_call *call)
{
    for (size_t i = 0; i < call->run->extent_count; i++) {
        const weft_binding *extent = &call->run->extents[i];
        size_t symbol = weft_formulas_find_symbol(&call->program->formulas, extent->name);
        if (symbol != SIZE_MAX) w = add(add(w, (int64_t)symbol), extent->value);
    }
    return w;
}

/*
 * serial, runtime, specialize and whether the variant is a limited one, layouts | shapes, explicit extents, strides |
 * limit. The middle part decides the values of all symbols, so it belongs to the variant when that is specialised.
 */
static void fill_key(weft_call_key *key, const weft_call *call)
{
    const weft_run *run = call->run;
    writer w = {key->words, 0};
    w = add(w, (int64_t)call->program->serial);
    w = add(w, (int64_t)(intptr_t)call->runtime);
    w = add(w, run->specialize + 2 * weft_call_is_limited(call));
    for (size_t i = 0; i < run->input_count; i++) w = add(w, weft_call_layout(run->inputs[i]));
    for (size_t i = 0; i < run->output_count; i++) w = add(w, weft_call_layout(run->outputs[i]));
    key->variant_count = (size_t)(w.at - key->words);
    w = add_shapes(w, run);
    if (run->extent_count > 0) w = add_extents(w, call);
    for (size_t i = 0; i < run->input_count; i++) w = add_strides(w, run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) w = add_strides(w, run->outputs[i]);
    if (run->specialize) key->variant_count = (size_t)(w.at - key->words);
    if (run->memory_limit != 0) w = add(w, (int64_t)run->memory_limit);
    key->count = (size_t)(w.at - key->words);
    key->hash = w.hash * 0x9e3779b97f4a7c15; /* 2^64 over the golden ratio: the high bits depend on all of it */
}

weft_status *weft_call_key_init(weft_call_key *key, const weft_allocator *allocator, const weft_call *call)
{
    key->allocator = allocator;
    key->capacity = most_words(call);
    key->words = key->room;
    if (key->capacity > WEFT_CALL_INLINE_WORDS) key->words = weft_allocate(allocator, key->capacity * sizeof(int64_t));
    if (key->words == NULL) return weft_status_out_of_memory();
    fill_key(key, call);
    return NULL;
}

void weft_call_key_finish(weft_call_key *key)
{
    if (key->words != key->room) weft_free(key->allocator, key->words, key->capacity * sizeof(int64_t));
}
