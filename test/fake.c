/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fake.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "test/support.h"

enum { MOST_VALUES = 16, MOST_BUFFERS = 512, MOST_STEPS = 256 };

/* ---- programs ---- */

weft_program *weft_fake_program(void)
{
    weft_program *program;
    weft_test_ok(weft_program_create(NULL, &program));
    program->inputs = weft_arena_allocate(&program->arena, MOST_VALUES * sizeof *program->inputs);
    program->outputs = weft_arena_allocate(&program->arena, MOST_VALUES * sizeof *program->outputs);
    program->guards = weft_arena_allocate(&program->arena, MOST_VALUES * sizeof *program->guards);
    program->families = weft_arena_allocate(&program->arena, MOST_VALUES * sizeof *program->families);
    program->family_ops = weft_arena_allocate(&program->arena, MOST_VALUES * sizeof *program->family_ops);
    return program;
}

uint32_t weft_fake_symbol(weft_program *program, const char *name, int64_t min, int64_t max)
{
    uint32_t slot;
    weft_test_ok(weft_formulas_add_symbol(&program->formulas, name, min, max, &slot));
    return slot;
}

uint32_t weft_fake_formula(weft_program *program, weft_formula_op op, uint32_t a, uint32_t b)
{
    uint32_t slot;
    weft_test_ok(weft_formulas_add(&program->formulas, (weft_formula){.op = op, .a = a, .b = b}, &slot));
    return slot;
}

uint32_t weft_fake_constant(weft_program *program, int64_t value)
{
    uint32_t slot;
    weft_formula formula = {.op = WEFT_FORMULA_CONSTANT, .constant = value};
    weft_test_ok(weft_formulas_add(&program->formulas, formula, &slot));
    return slot;
}

static weft_program_value value_of(weft_program *program, const char *name, weft_dtype dtype, uint32_t rank,
                                   const uint32_t *extents)
{
    return (weft_program_value){.name = name,
                                .dtype = dtype,
                                .rank = rank,
                                .extents = weft_arena_copy(&program->arena, extents, rank * sizeof *extents)};
}

void weft_fake_input(weft_program *program, const char *name, weft_dtype dtype, uint32_t rank, const uint32_t *extents)
{
    assert_true(program->input_count < MOST_VALUES);
    program->inputs[program->input_count++] = value_of(program, name, dtype, rank, extents);
}

void weft_fake_output(weft_program *program, const char *name, weft_dtype dtype, uint32_t rank, const uint32_t *extents)
{
    assert_true(program->output_count < MOST_VALUES);
    program->outputs[program->output_count++] = value_of(program, name, dtype, rank, extents);
}

void weft_fake_guard(weft_program *program, bool equal, uint32_t a, uint32_t b, const char *message)
{
    assert_true(program->guard_count < MOST_VALUES);
    program->guards[program->guard_count++] = (weft_program_guard){.equal = equal, .a = a, .b = b, .message = message};
}

void weft_fake_family(weft_program *program, const weft_extension *extension)
{
    assert_true(program->family_count < MOST_VALUES);
    program->family_ops[program->family_count] = extension->ops[0];
    program->families[program->family_count++] = extension;
}

/* ---- variants ---- */

weft_status *weft_fake_value(weft_variant *variant, int64_t value, uint32_t *out_slot)
{
    return weft_formulas_add(&variant->formulas, (weft_formula){.op = WEFT_FORMULA_CONSTANT, .constant = value},
                             out_slot);
}

static weft_status *row_major(weft_variant *variant, uint32_t rank, const uint32_t *extents, uint32_t *out_strides,
                              uint32_t *out_count)
{
    WEFT_TRY(weft_fake_value(variant, 1, out_count));
    for (uint32_t axis = rank; axis-- > 0;) {
        out_strides[axis] = *out_count;
        weft_formula product = {.op = WEFT_FORMULA_MUL, .a = *out_count, .b = extents[axis]};
        WEFT_TRY(weft_formulas_add(&variant->formulas, product, out_count));
    }
    return NULL;
}

static weft_status *symbolic(weft_variant *variant, const char *kind, size_t number, uint32_t rank,
                             uint32_t *out_strides)
{
    char name[32];
    for (uint32_t axis = 0; axis < rank; axis++) {
        snprintf(name, sizeof name, "%s%zu.s%u", kind, number, axis);
        WEFT_TRY(weft_formulas_add_symbol(&variant->formulas, name, INT64_MIN, INT64_MAX, &out_strides[axis]));
    }
    return NULL;
}

static weft_status *add_array(weft_variant *variant, weft_buffer_kind kind, size_t number,
                              const weft_program_value *value, uint8_t layout)
{
    uint32_t count;
    uint32_t *strides = weft_arena_allocate(&variant->arena, value->rank * sizeof *strides);
    uint32_t *extents = weft_arena_copy(&variant->arena, value->extents, value->rank * sizeof *extents);
    if (strides == NULL || extents == NULL) return weft_status_out_of_memory();
    if (layout == WEFT_LAYOUT_CONTIGUOUS) WEFT_TRY(row_major(variant, value->rank, extents, strides, &count));
    else WEFT_TRY(symbolic(variant, kind == WEFT_BUFFER_INPUT ? "in" : "out", number, value->rank, strides));
    variant->buffers[variant->buffer_count++] = (weft_buffer){.kind = kind,
                                                              .number = (uint32_t)number,
                                                              .dtype = value->dtype,
                                                              .rank = value->rank,
                                                              .extents = extents,
                                                              .strides = strides};
    return NULL;
}

weft_status *weft_fake_temporary(weft_variant *variant, weft_dtype dtype, uint32_t rank, const uint32_t *extents,
                                 uint32_t *out_buffer)
{
    uint32_t strides[WEFT_MAX_RANK], count, size, bytes;
    WEFT_TRY(row_major(variant, rank, extents, strides, &count));
    WEFT_TRY(weft_fake_value(variant, (int64_t)weft_dtype_size(dtype), &size));
    WEFT_TRY(
        weft_formulas_add(&variant->formulas, (weft_formula){.op = WEFT_FORMULA_MUL, .a = count, .b = size}, &bytes));
    uint32_t *copy = weft_arena_copy(&variant->arena, extents, rank * sizeof *extents);
    if (copy == NULL) return weft_status_out_of_memory();
    *out_buffer = (uint32_t)variant->buffer_count;
    variant->buffers[variant->buffer_count++] =
        (weft_buffer){.kind = WEFT_BUFFER_TEMPORARY, .dtype = dtype, .rank = rank, .extents = copy, .bytes = bytes};
    return NULL;
}

weft_status *weft_fake_step(weft_variant *variant, weft_step step, weft_resolved resolved)
{
    step.buffers = weft_arena_copy(&variant->arena, step.buffers, step.buffer_count * sizeof *step.buffers);
    step.scalars = weft_arena_copy(&variant->arena, step.scalars, step.scalar_count * sizeof *step.scalars);
    if (step.buffers == NULL || step.scalars == NULL) return weft_status_out_of_memory();
    variant->resolved[variant->step_count] = resolved;
    variant->steps[variant->step_count++] = step;
    return NULL;
}

/* ---- compiler ---- */

static weft_status *fill_variant(const weft_fake *fake, const weft_build_request *request, weft_variant *variant)
{
    const weft_program *program = request->program;
    WEFT_TRY(weft_formulas_copy(variant->allocator, &program->formulas, &variant->formulas));
    variant->buffers = weft_arena_allocate(&variant->arena, MOST_BUFFERS * sizeof *variant->buffers);
    if (variant->buffers == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_variant_make_steps(variant, MOST_STEPS));
    for (size_t i = 0; i < program->input_count; i++)
        WEFT_TRY(add_array(variant, WEFT_BUFFER_INPUT, i, &program->inputs[i], request->input_layouts[i]));
    for (size_t i = 0; i < program->output_count; i++)
        WEFT_TRY(add_array(variant, WEFT_BUFFER_OUTPUT, i, &program->outputs[i], request->output_layouts[i]));
    return fake->fill(request, variant);
}

static weft_status *build(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    weft_fake *fake = self;
    weft_variant *variant;
    int number = atomic_fetch_add(&fake->builds, 1);
    if (fake->delay_us > 0) usleep(fake->delay_us);
    if (number < atomic_load(&fake->failures))
        return weft_status_create(request->allocator, WEFT_COMPILE_FAILED, "build", "build %d fails", number);
    WEFT_TRY(weft_variant_create(request->allocator, &variant));
    weft_status *status = fill_variant(fake, request, variant);
    if (status == NULL) *out_variant = variant;
    else weft_variant_destroy(variant);
    return status;
}

void weft_fake_init(weft_fake *fake, const char *name, weft_fake_fill fill)
{
    memset(fake, 0, sizeof *fake);
    fake->driver = (weft_driver){.size = sizeof(weft_driver), .device = {WEFT_DEVICE_CPU, 0}};
    fake->compiler = (weft_compiler){.size = sizeof(weft_compiler), .build = build};
    fake->runtime = (weft_runtime){
        .size = sizeof(weft_runtime), .name = name, .self = fake, .driver = &fake->driver, .compiler = &fake->compiler};
    fake->fill = fill;
}
