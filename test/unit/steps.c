/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <inttypes.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#include "runtime/base/memory.h"
#include "test/fake.h"

/* Each kind of step, as the loop that runs them sees it. */

static weft_fake fake;
static weft_executor *executor;

static void open_executor(weft_fake_fill fill)
{
    weft_fake_init(&fake, "fake", fill);
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 3}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, &fake.runtime));
}

static weft_array *wrap(weft_dtype dtype, size_t rank, const int64_t *shape, void *data)
{
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, dtype, rank, shape, NULL, data, NULL, NULL, &array));
    return array;
}

static weft_status *run(weft_program *program, size_t input_count, weft_array **inputs, weft_array *output,
                        weft_run options)
{
    options.input_count = input_count;
    options.inputs = inputs;
    options.output_count = 1;
    options.outputs = &output;
    return weft_executor_run(executor, program, &options);
}

static void release_all(size_t count, weft_array **arrays)
{
    for (size_t i = 0; i < count; i++) weft_array_release(arrays[i]);
}

/* ---- kernels: the error slot ---- */

/* out[t] = data[index[t]]; buffers: out, data, index; scalars: extent of data. */
static void gather_kernel(const weft_kernel_frame *frame, int64_t begin, int64_t end)
{
    float *out = frame->buffers[0];
    const float *data = frame->buffers[1];
    const int64_t *index = frame->buffers[2];
    for (int64_t t = begin; t < end; t++) {
        bool inside = index[t] >= 0 && index[t] < frame->scalars[0];
        if (!inside && t < frame->error->position)
            *frame->error = (weft_error_slot){.position = t, .value = index[t], .site = 1};
        out[t] = inside ? data[index[t]] : 0;
    }
}

static const weft_kernel_code gather_kernel_code = {.function = gather_kernel};

static const char *const gather_sites[] = {"not this one %" PRId64 " %" PRId64,
                                           "index %" PRId64 " at position %" PRId64 " is out of range"};

static weft_status *fill_gather(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    uint32_t work;
    WEFT_TRY(weft_fake_value(variant, 4, &work));
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_KERNEL,
                                      .name = "gather",
                                      .buffer_count = 3,
                                      .buffers = (uint32_t[]){2, 0, 1},
                                      .written = 1,
                                      .scalar_count = 1,
                                      .scalars = variant->buffers[0].extents,
                                      .iterations = variant->buffers[1].extents[0],
                                      .work = work,
                                      .sites = gather_sites},
                          (weft_resolved){.code = &gather_kernel_code});
}

static void test_data_error_at_the_lowest_position(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    static int64_t index[COUNT];
    static float out[COUNT];
    float data[3] = {7, 8, 9};
    open_executor(fill_gather);
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 0, 100), m = weft_fake_symbol(program, "m", 0, 1 << 20);
    weft_fake_input(program, "data", WEFT_F32, 1, &n);
    weft_fake_input(program, "index", WEFT_I64, 1, &m);
    weft_fake_output(program, "out", WEFT_F32, 1, &m);
    weft_array *arrays[] = {wrap(WEFT_F32, 1, (int64_t[]){3}, data), wrap(WEFT_I64, 1, (int64_t[]){COUNT}, index),
                            wrap(WEFT_F32, 1, (int64_t[]){COUNT}, out)};
    for (int64_t i = 0; i < COUNT; i++) index[i] = i % 3;
    weft_test_ok(run(program, 2, arrays, arrays[2], (weft_run){0}));
    for (int64_t i = 0; i < COUNT; i++) assert_true(out[i] == data[i % 3]);
    index[COUNT - 1] = 3;
    weft_test_fails(run(program, 2, arrays, arrays[2], (weft_run){0}), WEFT_DATA_ERROR,
                    "index 3 at position 199999 is out of range");
    index[150000] = 5;
    index[120001] = -4;
    for (int round = 0; round < 10; round++)
        weft_test_fails(run(program, 2, arrays, arrays[2], (weft_run){0}), WEFT_DATA_ERROR,
                        "index -4 at position 120001 is out of range");
    index[COUNT - 1] = index[150000] = index[120001] = 0;
    weft_test_ok(run(program, 2, arrays, arrays[2], (weft_run){0}));
    release_all(3, arrays);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* ---- matrix products ---- */

/* c = a * b^T with a[m, k] and b[n, k]; every slot but the column strides is symbolic. */
static weft_status *fill_gemm(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    const weft_buffer *a = &variant->buffers[0], *b = &variant->buffers[1], *c = &variant->buffers[2];
    uint32_t zero;
    WEFT_TRY(weft_fake_value(variant, 0, &zero));
    weft_gemm gemm = {.dtype = WEFT_F64,
                      .m = a->extents[0],
                      .n = b->extents[0],
                      .k = a->extents[1],
                      .a_row = a->strides[0],
                      .a_column = a->strides[1],
                      .b_row = b->strides[1],
                      .b_column = b->strides[0],
                      .c_row = c->strides[0],
                      .c_column = c->strides[1],
                      .a_offset = zero,
                      .b_offset = zero,
                      .c_offset = zero};
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_GEMM,
                                      .name = "gemm",
                                      .buffer_count = 3,
                                      .buffers = (uint32_t[]){0, 1, 2},
                                      .written = 1,
                                      .gemm = gemm},
                          (weft_resolved){0});
}

static void test_gemm(void **state)
{
    (void)state;
    double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 1, 0, 2, 0}, c[4];
    const double expected[] = {4, 4, 10, 10}, nothing[4] = {0};
    open_executor(fill_gemm);
    weft_program *program = weft_fake_program();
    uint32_t m = weft_fake_symbol(program, "m", 0, 100), n = weft_fake_symbol(program, "n", 0, 100);
    uint32_t k = weft_fake_symbol(program, "k", 0, 100);
    weft_fake_input(program, "a", WEFT_F64, 2, (uint32_t[]){m, k});
    weft_fake_input(program, "b", WEFT_F64, 2, (uint32_t[]){n, k});
    weft_fake_output(program, "c", WEFT_F64, 2, (uint32_t[]){m, n});
    weft_array *arrays[] = {wrap(WEFT_F64, 2, (int64_t[]){2, 3}, a), wrap(WEFT_F64, 2, (int64_t[]){2, 3}, b),
                            wrap(WEFT_F64, 2, (int64_t[]){2, 2}, c)};
    weft_array *empty[] = {wrap(WEFT_F64, 2, (int64_t[]){2, 0}, a), wrap(WEFT_F64, 2, (int64_t[]){2, 0}, b)};
    weft_test_ok(run(program, 2, arrays, arrays[2], (weft_run){0}));
    assert_memory_equal(c, expected, sizeof c);
    weft_test_ok(run(program, 2, empty, arrays[2], (weft_run){0}));
    assert_memory_equal(c, nothing, sizeof c);
    release_all(3, arrays);
    release_all(2, empty);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* ---- host steps ---- */

static atomic_int states;

static weft_status *state_create(const weft_allocator *allocator, void **out_state)
{
    atomic_fetch_add(&states, 1);
    *out_state = weft_allocate_zeroed(allocator, sizeof(int));
    return *out_state == NULL ? weft_status_out_of_memory() : NULL;
}

static void state_destroy(void *state)
{
    atomic_fetch_sub(&states, 1);
    weft_free(NULL, state, sizeof(int));
}

static const weft_attr_def twice_attrs[] = {{"rows", WEFT_ATTR_EXTENT}, {"nested", WEFT_ATTR_DATA}};

static weft_status *twice_infer(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *twice_scratch(const weft_kernel_context *context, size_t *out_size)
{
    *out_size = (size_t)context->inputs[0].shape[0] * sizeof(float);
    return NULL;
}

static void double_range(void *argument, int64_t begin, int64_t end)
{
    const weft_kernel_context *context = argument;
    float *scratch = context->scratch;
    const weft_view *x = &context->inputs[0];
    for (int64_t t = begin; t < end; t++) scratch[t] = 2 * ((const float *)x->data)[t * x->strides[0]];
}

/* A nested run of the program itself, on one element fewer, for the rest of the result. */
static weft_status *nested(const weft_kernel_context *context)
{
    weft_program *program;
    memcpy(&program, context->attrs[1].data, sizeof program);
    int64_t count = context->inputs[0].shape[0] - 1;
    const float *x = context->inputs[0].data;
    float *out = context->outputs[0].data;
    weft_array *input = wrap(WEFT_F32, 1, &count, (void *)(uintptr_t)(x + 1)),
               *output = wrap(WEFT_F32, 1, &count, out + 1);
    weft_run nested_run = {
        .runtime = context->runtime, .input_count = 1, .inputs = &input, .output_count = 1, .outputs = &output};
    weft_status *status = weft_executor_run(context->executor, program, &nested_run);
    *context->nested_bytes = 1000;
    weft_array_release(input);
    weft_array_release(output);
    return status;
}

static weft_status *twice_kernel(const weft_kernel_context *context)
{
    int64_t count = context->inputs[0].shape[0];
    assert_int_equal(context->attrs[0].extents.extents[0].value, count + 1);
    assert_true((uintptr_t)context->scratch % 64 == 0);
    ++*(int *)context->extension_state;
    if (context->is_cancelled(context)) return weft_status_create(NULL, WEFT_CANCELLED, "twice", "stopped");
    context->parallel(context, count, 16, double_range, (void *)(uintptr_t)context);
    memcpy(context->outputs[0].data, context->scratch, (size_t)count * sizeof(float));
    return count > 2 && count < 6 ? nested(context) : NULL;
}

static const weft_op_def twice = {.size = sizeof twice,
                                  .name = "sample.twice",
                                  .version = 1,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .op_class = WEFT_CLASS_OPAQUE,
                                  .dtypes = 1u << WEFT_F32,
                                  .attr_count = 2,
                                  .attrs = twice_attrs,
                                  .infer = twice_infer,
                                  .kernel = twice_kernel,
                                  .scratch_size = twice_scratch};
static const weft_op_def *const sample_ops[] = {&twice};
static const weft_extension sample = {.size = sizeof sample,
                                      .abi_major = WEFT_ABI_MAJOR,
                                      .abi_minor = WEFT_ABI_MINOR,
                                      .family = "sample",
                                      .version = "1",
                                      .op_count = 1,
                                      .ops = sample_ops,
                                      .state_create = state_create,
                                      .state_destroy = state_destroy};

static weft_status *fill_twice(const weft_build_request *request, weft_variant *variant)
{
    weft_formula sum = {.op = WEFT_FORMULA_ADD, .a = variant->buffers[0].extents[0]};
    uint32_t slot;
    WEFT_TRY(weft_fake_value(variant, 1, &sum.b));
    WEFT_TRY(weft_formulas_add(&variant->formulas, sum, &slot));
    const weft_extent rows = {.value = slot};
    weft_attr attrs[2] = {
        {.extents = {1, weft_arena_copy(&variant->arena, &rows, sizeof rows)}},
        {.data = weft_arena_copy(&variant->arena, &request->program, sizeof(void *)), .size = sizeof(void *)}};
    weft_step step = {
        .kind = WEFT_STEP_HOST, .name = "twice", .buffer_count = 2, .buffers = (uint32_t[]){0, 1}, .written = 1};
    weft_resolved resolved = {
        .op = &twice, .extension = &sample, .attrs = weft_arena_copy(&variant->arena, attrs, sizeof attrs)};
    if (attrs[0].extents.extents == NULL || attrs[1].data == NULL || resolved.attrs == NULL)
        return weft_status_out_of_memory();
    return weft_fake_step(variant, step, resolved);
}

static weft_program *twice_program(void)
{
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 0, 1 << 20);
    weft_fake_input(program, "x", WEFT_F32, 1, &n);
    weft_fake_output(program, "out", WEFT_F32, 1, &n);
    weft_fake_family(program, &sample);
    return program;
}

static void test_extension_kernel(void **state)
{
    (void)state;
    static float x[1000], out[1000];
    open_executor(fill_twice);
    weft_program *program = twice_program();
    weft_report report;
    for (int i = 0; i < 1000; i++) x[i] = (float)i;
    weft_array *large[] = {wrap(WEFT_F32, 1, (int64_t[]){1000}, x), wrap(WEFT_F32, 1, (int64_t[]){1000}, out)};
    weft_array *small[] = {wrap(WEFT_F32, 1, (int64_t[]){5}, x), wrap(WEFT_F32, 1, (int64_t[]){5}, out)};
    weft_test_fails(run(program, 1, large, large[1], (weft_run){0}), WEFT_NOT_REGISTERED,
                    "op sample.twice of the program needs extension \"sample\"; register it with this executor");
    assert_null(weft_executor_extension_state(executor, &sample));
    weft_test_ok(weft_executor_register_extension(executor, &sample));
    weft_test_ok(weft_executor_register_extension(executor, &sample));
    assert_int_equal(atomic_load(&states), 1);
    weft_test_ok(run(program, 1, large, large[1], (weft_run){.report = &report}));
    for (int i = 0; i < 1000; i++) assert_true(out[i] == 2 * x[i]);
    assert_int_equal(report.peak_bytes, 4032);
    memset(out, 0xff, sizeof out);
    weft_test_ok(run(program, 1, small, small[1], (weft_run){.report = &report}));
    assert_int_equal(report.peak_bytes, 64 + 1000);
    weft_test_fails(run(program, 1, small, small[0], (weft_run){.report = &report}), WEFT_INVALID_ARGUMENT, "overlaps");
    assert_int_equal(report.peak_bytes, 64); /* nothing ran */
    for (int i = 0; i < 5; i++) assert_true(out[i] == 2 * x[i]);
    assert_int_equal(*(int *)weft_executor_extension_state(executor, &sample), 1 + 4);
    assert_int_equal(atomic_load(&fake.builds), 1);
    weft_extension same_family = sample;
    weft_test_fails(weft_executor_register_extension(executor, &same_family), WEFT_INVALID_ARGUMENT,
                    "another extension of family \"sample\"");
    release_all(2, large);
    release_all(2, small);
    weft_program_release(program);
    weft_executor_destroy(executor);
    assert_int_equal(atomic_load(&states), 0);
}

static void test_cancelled(void **state)
{
    (void)state;
    float x[8] = {1}, out[8];
    volatile bool cancelled = true;
    open_executor(fill_twice);
    weft_test_ok(weft_executor_register_extension(executor, &sample));
    weft_program *program = twice_program();
    weft_array *arrays[] = {wrap(WEFT_F32, 1, (int64_t[]){8}, x), NULL};
    weft_array *output = wrap(WEFT_F32, 1, (int64_t[]){8}, out);
    weft_test_fails(run(program, 1, arrays, NULL, (weft_run){.cancelled = &cancelled}), WEFT_CANCELLED,
                    "before step 0 of 1");
    cancelled = false;
    weft_test_ok(run(program, 1, arrays, output, (weft_run){.cancelled = &cancelled}));
    weft_array_release(arrays[0]);
    weft_array_release(output);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

static weft_status *fill_sort(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    const weft_buffer *in = &variant->buffers[0], *out = &variant->buffers[1];
    uint32_t zero;
    WEFT_TRY(weft_fake_value(variant, 0, &zero));
    weft_sort_step sort = {.dtype = WEFT_BOOL,
                           .rank = 1,
                           .rows = in->extents,
                           .in_strides = in->strides,
                           .out_strides = out->strides,
                           .length = in->extents[1],
                           .wanted = in->extents[1],
                           .in_step = in->strides[1],
                           .out_step = out->strides[1],
                           .in_offset = zero,
                           .out_offset = zero};
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_SORT,
                                      .name = "sort",
                                      .buffer_count = 2,
                                      .buffers = (uint32_t[]){0, 1},
                                      .written = 1,
                                      .sort = sort},
                          (weft_resolved){0});
}

/* The flag is the first element of the result. */
static void test_cancelled_while_sorting(void **state)
{
    (void)state;
    uint8_t x[2][3] = {{1, 1, 1}, {1, 1, 0}}, y[2][3] = {{0}}; /* rows of bools are sorted one by one */
    const uint8_t expected[2][3] = {{1, 1, 1}, {0}}, second[3] = {0, 1, 1};
    open_executor(fill_sort);
    weft_program *program = weft_fake_program();
    uint32_t m = weft_fake_symbol(program, "m", 0, 100), n = weft_fake_symbol(program, "n", 0, 100);
    weft_fake_input(program, "x", WEFT_BOOL, 2, (uint32_t[]){m, n});
    weft_fake_output(program, "y", WEFT_BOOL, 2, (uint32_t[]){m, n});
    weft_array *arrays[] = {wrap(WEFT_BOOL, 2, (int64_t[]){2, 3}, x), wrap(WEFT_BOOL, 2, (int64_t[]){2, 3}, y)};
    const volatile bool *flag = (const volatile bool *)&y[0][0];
    weft_test_fails(run(program, 1, arrays, arrays[1], (weft_run){.cancelled = flag}), WEFT_CANCELLED,
                    "the run was cancelled in step 0 of 1");
    assert_memory_equal(y, expected, sizeof y);
    weft_test_ok(run(program, 1, arrays, arrays[1], (weft_run){0}));
    assert_memory_equal(y[1], second, sizeof y[1]);
    release_all(2, arrays);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* ---- a function of the compiler, and the floating-point environment ---- */

static weft_status *host_function(void *self, const weft_kernel_context *context, const int64_t *values)
{
    float *out = context->outputs[0].data;
    volatile float tiny = 1e-38f, quarter = 0.25f;
    out[0] = tiny * quarter;
    out[1] = (float)values[0];
    return self == context->inputs[0].data ? NULL : weft_status_create(NULL, WEFT_INTERNAL, "host", "self differs");
}

static float host_input[2];

static weft_status *fill_host(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    return weft_fake_step(
        variant,
        (weft_step){
            .kind = WEFT_STEP_HOST, .name = "host", .buffer_count = 2, .buffers = (uint32_t[]){0, 1}, .written = 1},
        (weft_resolved){.host = host_function, .host_self = host_input});
}

static void test_float_environment(void **state)
{
    (void)state;
    float out[2];
    open_executor(fill_host);
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 0, 100);
    weft_fake_input(program, "x", WEFT_F32, 1, &n);
    weft_fake_output(program, "out", WEFT_F32, 1, &n);
    weft_array *arrays[] = {wrap(WEFT_F32, 1, (int64_t[]){2}, host_input), wrap(WEFT_F32, 1, (int64_t[]){2}, out)};
#if defined(__SSE__)
    const unsigned flushing = 0x9fc0; /* flush to zero, denormals are zero */
    unsigned saved = _mm_getcsr();
    _mm_setcsr(flushing);
    weft_status *status = run(program, 1, arrays, arrays[1], (weft_run){0});
    unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    assert_int_equal(after & 0xffc0, flushing);
#else
    weft_status *status = run(program, 1, arrays, arrays[1], (weft_run){0});
#endif
    weft_test_ok(status);
    assert_true(out[0] > 0 && out[1] == 2);
    release_all(2, arrays);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

/* ---- regions ---- */

/* next[t] = 2 * current[t] + index; buffers: next, current, index. */
static void advance_kernel(const weft_kernel_frame *frame, int64_t begin, int64_t end)
{
    float *next = frame->buffers[0];
    const float *current = frame->buffers[1];
    const int64_t *index = frame->buffers[2];
    for (int64_t t = begin; t < end; t++) next[t] = 2 * current[t] + (float)index[0];
}

static const weft_kernel_code advance_kernel_code = {.function = advance_kernel};

/* Buffers of the fold that is made by hand. */
enum { X, OUT, SPARE, INDEX, CURRENT, NEXT };
static bool in_place, updated;
static uint32_t missing_steps;

static weft_status *fill_fold(const weft_build_request *request, weft_variant *variant)
{
    static weft_carried carried;
    uint32_t spare, index, one, n = variant->buffers[X].extents[0], k = 1;
    (void)request;
    WEFT_TRY(weft_fake_temporary(variant, WEFT_F32, 1, &n, &spare));
    WEFT_TRY(weft_fake_temporary(variant, WEFT_I64, 0, &n, &index));
    WEFT_TRY(weft_fake_value(variant, 1, &one));
    weft_buffer alias = variant->buffers[spare];
    alias.kind = WEFT_BUFFER_ALIAS;
    variant->buffers[variant->buffer_count++] = alias;
    variant->buffers[variant->buffer_count++] = alias;
    for (size_t i = X; i <= OUT; i++) {
        variant->buffers[i].strides = NULL;
        variant->buffers[i].bytes = alias.bytes;
    }
    carried = (weft_carried){X, CURRENT, NEXT, OUT, in_place ? OUT : SPARE, in_place, updated};
    WEFT_TRY(weft_fake_step(variant,
                            (weft_step){.kind = WEFT_STEP_REGION,
                                        .name = "fold",
                                        .buffer_count = 4,
                                        .buffers = (uint32_t[]){X, SPARE, INDEX, OUT},
                                        .written = 1,
                                        .region = {.control = WEFT_CONTROL_FOLD,
                                                   .trips = k,
                                                   .scalar = INDEX,
                                                   .parts = {1 + missing_steps, 0},
                                                   .carried_count = 1,
                                                   .carried = &carried}},
                            (weft_resolved){0}));
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_KERNEL,
                                      .name = "advance",
                                      .buffer_count = 3,
                                      .buffers = (uint32_t[]){NEXT, CURRENT, INDEX},
                                      .written = 1,
                                      .iterations = n,
                                      .work = one},
                          (weft_resolved){.code = &advance_kernel_code});
}

static weft_program *fold_program(void)
{
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 0, 1 << 20);
    assert_int_equal(weft_fake_symbol(program, "k", 0, 100), 1);
    weft_fake_input(program, "x", WEFT_F32, 1, &n);
    weft_fake_output(program, "out", WEFT_F32, 1, &n);
    return program;
}

/* Whatever the number of iterations, the input stays as it is and the output has the last value. */
static void test_fold(void **state)
{
    static float x[50000], out[50000];
    (void)state;
    for (int place = 0; place < 3; place++) {
        in_place = place > 0;
        updated = place > 1;
        open_executor(fill_fold);
        weft_program *program = fold_program();
        for (int i = 0; i < 50000; i++) x[i] = (float)(i % 7);
        weft_array *arrays[] = {wrap(WEFT_F32, 1, (int64_t[]){50000}, x), wrap(WEFT_F32, 1, (int64_t[]){50000}, out)};
        for (int64_t trips = 0; trips < 5; trips++) {
            const weft_binding k = {"k", trips};
            weft_test_ok(run(program, 1, arrays, arrays[1], (weft_run){.extent_count = 1, .extents = &k}));
            for (int i = 0; i < 50000; i++) {
                float wanted = (float)(i % 7);
                for (int64_t t = 0; t < trips; t++) wanted = 2 * wanted + (float)t;
                assert_true(out[i] == wanted && x[i] == (float)(i % 7));
            }
        }
        release_all(2, arrays);
        weft_program_release(program);
        weft_executor_destroy(executor);
    }
    in_place = updated = false;
}

static void test_region_without_its_steps(void **state)
{
    (void)state;
    float x[3] = {1, 2, 3}, out[3];
    missing_steps = 1;
    open_executor(fill_fold);
    weft_program *program = fold_program();
    weft_array *arrays[] = {wrap(WEFT_F32, 1, (int64_t[]){3}, x), wrap(WEFT_F32, 1, (int64_t[]){3}, out)};
    const weft_binding k = {"k", 2};
    weft_test_fails(run(program, 1, arrays, arrays[1], (weft_run){.extent_count = 1, .extents = &k}), WEFT_INTERNAL,
                    "step 0 of the variant lacks");
    missing_steps = 0;
    release_all(2, arrays);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_error_at_the_lowest_position),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_extension_kernel),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_cancelled_while_sorting),
        cmocka_unit_test(test_float_environment),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_region_without_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
