/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program.h"

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
    *out_program = program;
    return NULL;
}

weft_program *weft_program_retain(weft_program *program)
{
    if (program != NULL) atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

void weft_program_release(weft_program *program)
{
    if (program == NULL || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) return;
    if (program->destroy_graph != NULL) program->destroy_graph(program->graph);
    weft_formulas_finish(&program->formulas);
    weft_arena_finish(&program->arena);
    weft_allocator allocator = program->own_allocator;
    weft_free(&allocator, program, sizeof *program);
}

static const weft_program_value *input_of(const weft_program *program, size_t input)
{
    return input < program->input_count ? &program->inputs[input] : NULL;
}

static const weft_program_value *output_of(const weft_program *program, size_t output)
{
    return output < program->output_count ? &program->outputs[output] : NULL;
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

const char *weft_program_text(const weft_program *program)
{
    return program->text;
}
