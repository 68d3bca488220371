/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/bind_variant.h"
#include <string.h>
#include "runtime/data/array.h"
#include "runtime/data/device.h"
#include "runtime/base/memory.h"
#include "runtime/plan/place_temporaries.h"
#include "runtime/step/step.h"

/* ---- symbols of the variant ---- */

/* The number that follows `prefix` in a name, at whose end `*at` is then. */
static bool read_number(const char **at, const char *prefix, size_t *out_number)
{
    size_t length = strlen(prefix);
    if (strncmp(*at, prefix, length) != 0) return false;
    const char *first = *at + length, *digit = first;
    for (*out_number = 0; *digit >= '0' && *digit <= '9'; digit++)
        *out_number = 10 * *out_number + (size_t)(*digit - '0');
    *at = digit;
    return digit > first;
}

/* The array that "in0.s1" or "out0.s1" names, and the axis; NULL when it names none. */
static const weft_array *find_strided(const weft_run *run, const char *name, size_t *out_axis)
{
    size_t number;
    bool is_input = read_number(&name, "in", &number);
    if (!is_input && !read_number(&name, "out", &number)) return NULL;
    if (number >= (is_input ? run->input_count : run->output_count)) return NULL;
    if (!read_number(&name, ".s", out_axis) || *name != '\0') return NULL;
    const weft_array *array = is_input ? run->inputs[number] : run->outputs[number];
    return *out_axis < weft_array_rank(array) ? array : NULL;
}

static weft_status *fill_symbol(const weft_bound_variant *bound, const weft_run *run, const char *name,
                                const int64_t *symbols, int64_t *out_value)
{
    size_t axis = weft_formulas_find_symbol(&bound->program->formulas, name);
    if (axis != SIZE_MAX) {
        *out_value = symbols[axis];
        return NULL;
    }
    if (strcmp(name, WEFT_WRITES_SYMBOL) == 0) {
        *out_value = 1;
        return NULL;
    }
    const weft_array *array = find_strided(run, name, &axis);
    if (array == NULL)
        return weft_status_create(bound->allocator, WEFT_INTERNAL, __func__,
                                  "the variant's symbol \"%s\" is neither one of the program nor a stride of an array",
                                  name);
    /* Nothing is stepped over on an axis of one element: its stride may be any number, also one that has no formula. */
    *out_value = weft_array_shape(array)[axis] == 1 ? 0 : weft_array_strides(array)[axis];
    return NULL;
}

static weft_status *evaluate(weft_bound_variant *bound, const weft_run *run, const int64_t *program_symbols)
{
    const weft_formulas *formulas = &bound->variant->formulas;
    int64_t *symbols = weft_bound_take(bound, formulas->symbol_count, sizeof *symbols);
    bound->values = weft_bound_take(bound, formulas->count, sizeof *bound->values);
    if (symbols == NULL || bound->values == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < formulas->symbol_count; i++)
        WEFT_TRY(fill_symbol(bound, run, formulas->symbols[i].name, program_symbols, &symbols[i]));
    weft_formulas_evaluate(formulas, symbols, bound->values);
    return NULL;
}

static weft_status *fill_output(weft_bound_variant *bound, const weft_program_value *value,
                                const int64_t *program_values, weft_output_shape *out_shape)
{
    *out_shape = (weft_output_shape){.dtype = value->dtype, .rank = value->rank};
    out_shape->shape = weft_bound_take(bound, value->rank, sizeof *out_shape->shape);
    if (out_shape->shape == NULL) return weft_status_out_of_memory();
    int64_t bytes = (int64_t)weft_dtype_size(value->dtype);
    bool overflow = false, empty = false;
    for (size_t axis = 0; axis < value->rank; axis++) {
        int64_t extent = out_shape->shape[axis] = program_values[value->extents[axis]];
        if (extent == 0) empty = true;
        else overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
    }
    out_shape->bytes = empty ? 0 : (size_t)bytes;
    return empty || !overflow ? NULL : weft_bound_variant_too_large(bound, "output \"", value->name, "\"", *out_shape);
}

static weft_status *fill_values(weft_bound_variant *bound, const weft_call *call)
{
    const weft_formulas *formulas = &call->program->formulas;
    int64_t *symbols = weft_bound_take(bound, formulas->symbol_count, sizeof *symbols);
    int64_t *values = weft_bound_take(bound, formulas->count, sizeof *values);
    bound->outputs = weft_bound_take(bound, bound->output_count, sizeof *bound->outputs);
    if (symbols == NULL || values == NULL || bound->outputs == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_call_bind(bound->allocator, call, symbols, values));
    for (size_t i = 0; i < bound->output_count; i++)
        WEFT_TRY(fill_output(bound, &call->program->outputs[i], values, &bound->outputs[i]));
    return evaluate(bound, call->run, symbols);
}

/* ---- spans ---- */

static weft_span span_of(const weft_array *array)
{
    weft_span span = {0, 0};
    if (array != NULL) weft_array_span(array, &span.low, &span.high);
    return span;
}

static weft_status *fill_spans(weft_bound_variant *bound, const weft_run *run)
{
    bound->input_spans = weft_bound_take(bound, run->input_count, sizeof(weft_span));
    bound->output_spans = weft_bound_take(bound, run->output_count, sizeof(weft_span));
    if (bound->input_spans == NULL || bound->output_spans == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < run->input_count; i++) bound->input_spans[i] = span_of(run->inputs[i]);
    for (size_t i = 0; i < run->output_count; i++) bound->output_spans[i] = span_of(run->outputs[i]);
    return NULL;
}

/* ---- binding ---- */

static weft_status *keep_key(weft_bound_variant *bound, const weft_call_key *key)
{
    if (key == NULL) return NULL;
    bound->key = weft_arena_copy(&bound->arena, key->words, key->count * sizeof *key->words);
    bound->key_count = key->count;
    bound->key_hash = key->hash;
    return bound->key == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *bound_fill(weft_bound_variant *bound, const weft_call *call, const weft_call_key *key)
{
    WEFT_TRY(keep_key(bound, key));
    WEFT_TRY(fill_values(bound, call));
    WEFT_TRY(fill_spans(bound, call->run));
    WEFT_TRY(weft_steps_bind(bound));
    WEFT_TRY(weft_place_temporaries(bound, call->run->memory_limit));
    bound->block_bytes = weft_steps_block_bytes(bound);
    return NULL;
}

weft_status *weft_bound_variant_create(const weft_bound_variant *environment, const weft_variant *variant,
                                       const weft_call *call, const weft_call_key *key, weft_bound_variant **out_bound)
{
    weft_bound_variant *bound = weft_allocate(environment->allocator, sizeof *bound);
    if (bound == NULL) return weft_status_out_of_memory();
    *bound = *environment;
    bound->runtime = call->runtime;
    bound->is_apart = weft_device_is_apart(call->runtime);
    bound->program = call->program;
    bound->input_count = call->program->input_count;
    bound->output_count = call->program->output_count;
    bound->variant = variant;
    weft_arena_init(&bound->arena, bound->allocator);
    weft_status *status = bound_fill(bound, call, key);
    if (status == NULL) *out_bound = bound;
    else weft_bound_variant_destroy(bound);
    return status;
}

void weft_bound_variant_destroy(weft_bound_variant *bound)
{
    if (bound == NULL) return;
    while (bound->frames != NULL) {
        weft_frame *frame = bound->frames;
        bound->frames = frame->next;
        weft_frame_destroy(frame);
    }
    weft_arena_finish(&bound->arena);
    weft_free(bound->allocator, bound, sizeof *bound);
}
