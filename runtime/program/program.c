/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/program.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/status.h"
#include "runtime/program/shared.h"

weft_status *weft_program_create(const weft_allocator *allocator, weft_program **out_program)
{
    static atomic_uint_least64_t serials;
    allocator = weft_allocator_or_default(allocator);
    weft_program *program = weft_allocate_zeroed(allocator, sizeof *program);
    if (program == NULL) return weft_status_out_of_memory();
    program->own_allocator = *allocator;
    program->allocator = &program->own_allocator;
    program->serial = atomic_fetch_add(&serials, 1) + 1;
    atomic_init(&program->references, 1);
    weft_arena_init(&program->arena, program->allocator);
    weft_formulas_init(&program->formulas, program->allocator);
    weft_map_init(&program->inputs_by_name, program->allocator);
    weft_map_init(&program->outputs_by_name, program->allocator);
    weft_status *status = weft_shared_create(program->allocator, &program->shared);
    if (status != NULL) {
        weft_program_release(program);
        return status;
    }
    *out_program = program;
    return NULL;
}

weft_program *weft_program_retain(weft_program *program)
{
    if (program != NULL) atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

static void text_destroy(const weft_program *program, weft_bytes *text)
{
    if (text == NULL) return;
    weft_bytes_finish(text);
    weft_free(program->allocator, text, sizeof *text);
}

void weft_program_release(weft_program *program)
{
    if (program == NULL || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) return;
    text_destroy(program, atomic_load_explicit(&program->text, memory_order_acquire));
    weft_kept_code_destroy(program->kept);
    if (program->destroy_graph != NULL) program->destroy_graph(program->graph);
    weft_map_finish(&program->outputs_by_name, NULL);
    weft_map_finish(&program->inputs_by_name, NULL);
    weft_formulas_finish(&program->formulas);
    weft_shared_destroy(program->shared);
    weft_arena_finish(&program->arena);
    weft_allocator allocator = program->own_allocator;
    weft_free(&allocator, program, sizeof *program);
}

/* ---- code ---- */

weft_status *weft_program_make_kept(weft_program *program)
{
    weft_kept_code *kept;
    if (atomic_load(&program->kept) != NULL) return NULL;
    WEFT_TRY(weft_kept_code_create(program->allocator, &kept));
    atomic_store(&program->kept, kept);
    return NULL;
}

weft_status *weft_program_keep_code(weft_program *program)
{
    WEFT_REQUIRE(program);
    WEFT_TRY(weft_program_make_kept(program));
    weft_kept_code_set_growing(program->kept);
    return NULL;
}

size_t weft_program_code_count(const weft_program *program)
{
    return weft_kept_code_count(program->kept);
}

/* ---- inputs and outputs ---- */

static const weft_program_value *input_of(const weft_program *program, size_t input)
{
    return input < program->input_count ? &program->inputs[input] : NULL;
}

static const weft_program_value *output_of(const weft_program *program, size_t output)
{
    return output < program->output_count ? &program->outputs[output] : NULL;
}

weft_product_policy weft_program_products(const weft_program *program)
{
    return program->policy.products;
}

weft_function_policy weft_program_functions(const weft_program *program)
{
    return program->policy.functions;
}

size_t weft_program_input_count(const weft_program *program)
{
    return program->input_count;
}

size_t weft_program_output_count(const weft_program *program)
{
    return program->output_count;
}

const char *weft_program_input_name(const weft_program *program, size_t input)
{
    const weft_program_value *value = input_of(program, input);
    return value == NULL ? NULL : value->name;
}

const char *weft_program_output_name(const weft_program *program, size_t output)
{
    const weft_program_value *value = output_of(program, output);
    return value == NULL ? NULL : value->name;
}

weft_dtype weft_program_input_dtype(const weft_program *program, size_t input)
{
    const weft_program_value *value = input_of(program, input);
    return value == NULL ? (weft_dtype)0 : value->dtype;
}

weft_dtype weft_program_output_dtype(const weft_program *program, size_t output)
{
    const weft_program_value *value = output_of(program, output);
    return value == NULL ? (weft_dtype)0 : value->dtype;
}

size_t weft_program_input_rank(const weft_program *program, size_t input)
{
    const weft_program_value *value = input_of(program, input);
    return value == NULL ? 0 : value->rank;
}

size_t weft_program_output_rank(const weft_program *program, size_t output)
{
    const weft_program_value *value = output_of(program, output);
    return value == NULL ? 0 : value->rank;
}

/* ---- names ---- */

static weft_status *index_names(weft_map *by_name, weft_program_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!weft_map_insert(by_name, values[i].name, strlen(values[i].name), &values[i]))
            return weft_status_out_of_memory();
    return NULL;
}

weft_status *weft_program_index_names(weft_program *program)
{
    WEFT_TRY(index_names(&program->inputs_by_name, program->inputs, program->input_count));
    return index_names(&program->outputs_by_name, program->outputs, program->output_count);
}

static size_t find(const weft_map *by_name, const weft_program_value *values, const char *name)
{
    const weft_program_value *value = name == NULL ? NULL : weft_map_find(by_name, name, strlen(name));
    return value == NULL ? SIZE_MAX : (size_t)(value - values);
}

size_t weft_program_find_input(const weft_program *program, const char *name)
{
    return find(&program->inputs_by_name, program->inputs, name);
}

size_t weft_program_find_output(const weft_program *program, const char *name)
{
    return find(&program->outputs_by_name, program->outputs, name);
}

/* ---- extents and symbols ---- */

size_t weft_program_symbol_count(const weft_program *program)
{
    return program->formulas.symbol_count;
}

const weft_program_symbol *weft_program_symbol_at(const weft_program *program, size_t symbol)
{
    return symbol < program->formulas.symbol_count ? &program->symbols[symbol] : NULL;
}

const weft_program_axis *weft_program_input_axes(const weft_program *program, size_t input)
{
    const weft_program_value *value = input_of(program, input);
    return value == NULL ? NULL : value->axes;
}

const weft_program_axis *weft_program_output_axes(const weft_program *program, size_t output)
{
    const weft_program_value *value = output_of(program, output);
    return value == NULL ? NULL : value->axes;
}

static const weft_symbol_info *find_idle(const weft_program *program, const char *name)
{
    for (size_t i = 0; i < program->idle_count; i++)
        if (strcmp(program->idle[i].name, name) == 0) return &program->idle[i];
    return NULL;
}

weft_status *weft_program_check_idle(const weft_program *program, const weft_idle_check *check,
                                     const weft_binding *bindings, size_t number)
{
    const weft_binding *binding = &bindings[number];
    const weft_symbol_info *symbol = find_idle(program, binding->name);
    if (symbol == NULL)
        return weft_status_create(check->allocator, WEFT_INVALID_ARGUMENT, check->where,
                                  "the program has no symbol \"%s\"", binding->name);
    for (size_t i = 0; i < number; i++)
        if (bindings[i].value != binding->value && strcmp(bindings[i].name, binding->name) == 0)
            return weft_status_create(check->allocator, WEFT_INVALID_ARGUMENT, check->where,
                                      "symbol %s is given twice, as %" PRId64 " and as %" PRId64, binding->name,
                                      bindings[i].value, binding->value);
    if (binding->value >= symbol->min && binding->value <= symbol->max) return NULL;
    return weft_status_create(check->allocator, check->out_of_range, check->where,
                              "symbol %s = %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]", symbol->name,
                              binding->value, symbol->min, symbol->max);
}

static weft_status *shape_error(const weft_program *program, weft_code code, const char *format, ...) WEFT_FORMAT(3, 4);

static weft_status *shape_error(const weft_program *program, weft_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status =
        weft_status_create_v(program->allocator, code, "weft_program_output_shape", format, arguments);
    va_end(arguments);
    return status;
}

/* values[symbol] from bindings[number]; `given` says which have one. */
static weft_status *bind(const weft_program *program, const weft_binding *bindings, size_t number, bool *given,
                         int64_t *values)
{
    const weft_idle_check check = {program->allocator, "weft_program_output_shape", WEFT_OUT_OF_RANGE};
    const weft_binding *binding = &bindings[number];
    const char *name = binding->name;
    if (name == NULL) return shape_error(program, WEFT_INVALID_ARGUMENT, "the name of a symbol is NULL");
    size_t symbol = weft_formulas_find_symbol(&program->formulas, name);
    if (symbol == SIZE_MAX) return weft_program_check_idle(program, &check, bindings, number);
    const weft_symbol_info *info = &program->formulas.symbols[symbol];
    if (given[symbol] && values[symbol] != binding->value)
        return shape_error(program, WEFT_INVALID_ARGUMENT, "symbol %s is given twice, as %" PRId64 " and as %" PRId64,
                           name, values[symbol], binding->value);
    if (binding->value < info->min || binding->value > info->max)
        return shape_error(program, WEFT_OUT_OF_RANGE, "symbol %s = %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]",
                           name, binding->value, info->min, info->max);
    given[symbol] = true;
    values[symbol] = binding->value;
    return NULL;
}

static weft_status *check_given(const weft_program *program, const weft_program_axis *axis, const bool *given)
{
    for (size_t i = 0; i < axis->symbol_count; i++)
        if (!given[axis->symbols[i]])
            return shape_error(program, WEFT_INVALID_ARGUMENT, "symbol %s is not given",
                               program->symbols[axis->symbols[i]].name);
    return NULL;
}

static weft_status *fill_shape(const weft_program *program, const weft_program_value *output, const int64_t *values,
                               int64_t *out_shape)
{
    WEFT_TRY(
        weft_formulas_check(&program->formulas, "weft_program_output_shape", values, output->extents, output->rank));
    for (size_t axis = 0; axis < output->rank; axis++)
        if (values[output->extents[axis]] < 0)
            return shape_error(program, WEFT_OUT_OF_RANGE, "axis %zu would have extent %s = %" PRId64, axis,
                               output->axes[axis].extent, values[output->extents[axis]]);
    for (size_t axis = 0; axis < output->rank; axis++) out_shape[axis] = values[output->extents[axis]];
    return NULL;
}

/* The values of symbols and formulas, and which symbols are given, in `block`. */
static weft_status *find_shape(const weft_program *program, size_t output, size_t count, const weft_binding *bindings,
                               int64_t *block, int64_t *out_shape)
{
    size_t symbols = program->formulas.symbol_count;
    int64_t *values = block + symbols;
    bool *given = (bool *)(values + program->formulas.count);
    for (size_t i = 0; i < count; i++) WEFT_TRY(bind(program, bindings, i, given, block));
    for (size_t axis = 0; axis < program->outputs[output].rank; axis++)
        WEFT_TRY(check_given(program, &program->outputs[output].axes[axis], given));
    /* What the shape does not depend on may be anything. */
    for (size_t i = 0; i < symbols; i++)
        if (!given[i]) block[i] = program->symbols[i].min;
    weft_formulas_evaluate(&program->formulas, block, values);
    return fill_shape(program, &program->outputs[output], values, out_shape);
}

weft_status *weft_program_output_shape(const weft_program *program, size_t output, size_t binding_count,
                                       const weft_binding *bindings, int64_t *out_shape)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(out_shape);
    if (binding_count > 0) WEFT_REQUIRE(bindings);
    if (output >= program->output_count)
        return shape_error(program, WEFT_INVALID_ARGUMENT, "there is no output %zu; the program has %zu", output,
                           program->output_count);
    size_t symbols = program->formulas.symbol_count;
    size_t size = (symbols + program->formulas.count) * sizeof(int64_t) + symbols * sizeof(bool);
    int64_t *block = weft_allocate_zeroed(program->allocator, size);
    if (block == NULL) return weft_status_out_of_memory();
    weft_status *status = find_shape(program, output, binding_count, bindings, block, out_shape);
    weft_free(program->allocator, block, size);
    return status;
}

size_t weft_program_bytes(const weft_program *program)
{
    return sizeof *program + program->arena.used + program->bytes + weft_shared_bytes(program->shared);
}

static weft_bytes *text_create(const weft_program *program)
{
    weft_bytes *text = weft_allocate(program->allocator, sizeof *text);
    if (text == NULL) return NULL;
    weft_bytes_init(text, program->allocator);
    weft_status *status = program->print(program, text);
    if (status == NULL) return text;
    weft_status_destroy(status);
    text_destroy(program, text);
    return NULL;
}

/* If several threads ask for the first time at once, each prints and one result is kept: no lock is held. */
const char *weft_program_text(const weft_program *program)
{
    _Atomic(weft_bytes *) *kept = &((weft_program *)(uintptr_t)program)->text;
    weft_bytes *text = atomic_load_explicit(kept, memory_order_acquire), *known = NULL;
    if (text != NULL) return text->data;
    if (program->print == NULL || (text = text_create(program)) == NULL) return NULL;
    if (atomic_compare_exchange_strong_explicit(kept, &known, text, memory_order_acq_rel, memory_order_acquire))
        return text->data;
    text_destroy(program, text);
    return known->data;
}
