/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "test/fake.h"

/*
 * z[n, m] = x[n, m] + y[m, n] transposed, through a temporary: t = x + y, z = t + c with c constant. Strides of all
 * arrays are scalars, so any layout works. What is checked here is all that happens before and around the steps.
 */

/* buffers: result, left, right; scalars: m, then two strides of each. */
static void add_kernel(const weft_kernel_frame *frame, int64_t begin, int64_t end)
{
    float *result = frame->buffers[0];
    const float *left = frame->buffers[1], *right = frame->buffers[2];
    const int64_t *s = frame->scalars;
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / s[0], j = t % s[0];
        result[i * s[1] + j * s[2]] = left[i * s[3] + j * s[4]] + right[i * s[5] + j * s[6]];
    }
}

static const weft_kernel_code add_kernel_code = {.function = add_kernel};

static const float hundred[] = {100};

enum { X, Y, Z, CONSTANT, TEMPORARY }; /* buffers */

static weft_status *add_step(weft_variant *variant, const uint32_t *buffers, const uint32_t *strides)
{
    const weft_buffer *x = &variant->buffers[X];
    weft_formula product = {.op = WEFT_FORMULA_MUL, .a = x->extents[0], .b = x->extents[1]};
    uint32_t count, work;
    WEFT_TRY(weft_formulas_add(&variant->formulas, product, &count));
    WEFT_TRY(weft_fake_value(variant, 3, &work));
    const uint32_t scalars[] = {x->extents[1], strides[0], strides[1], strides[2], strides[3], strides[4], strides[5]};
    return weft_fake_step(variant,
                          (weft_step){.kind = WEFT_STEP_KERNEL,
                                      .name = "add",
                                      .buffer_count = 3,
                                      .buffers = buffers,
                                      .written = 1,
                                      .scalar_count = 7,
                                      .scalars = scalars,
                                      .iterations = count,
                                      .work = work},
                          (weft_resolved){.code = &add_kernel_code});
}

static weft_status *fill_add(const weft_build_request *request, weft_variant *variant)
{
    (void)request;
    uint32_t zero, one, bytes, temporary;
    const weft_buffer *b = variant->buffers;
    WEFT_TRY(weft_fake_value(variant, 0, &zero));
    WEFT_TRY(weft_fake_value(variant, 1, &one));
    WEFT_TRY(weft_fake_value(variant, sizeof hundred, &bytes));
    variant->buffers[variant->buffer_count++] =
        (weft_buffer){.kind = WEFT_BUFFER_CONSTANT, .dtype = WEFT_F32, .bytes = bytes, .data = hundred};
    WEFT_TRY(weft_fake_temporary(variant, WEFT_F32, 2, b[X].extents, &temporary));
    const uint32_t m = b[X].extents[1];
    const uint32_t first[] = {temporary, X, Y}, second[] = {Z, temporary, CONSTANT};
    const uint32_t first_strides[] = {m, one, b[X].strides[0], b[X].strides[1], b[Y].strides[1], b[Y].strides[0]};
    const uint32_t second_strides[] = {b[Z].strides[0], b[Z].strides[1], m, one, zero, zero};
    WEFT_TRY(add_step(variant, first, first_strides));
    return add_step(variant, second, second_strides);
}

static weft_program *add_program(void)
{
    weft_program *program = weft_fake_program();
    uint32_t n = weft_fake_symbol(program, "n", 0, 4096), m = weft_fake_symbol(program, "m", 0, 4096);
    const uint32_t straight[] = {n, m}, crossed[] = {m, n};
    weft_fake_input(program, "x", WEFT_F32, 2, straight);
    weft_fake_input(program, "y", WEFT_F32, 2, crossed);
    weft_fake_output(program, "z", WEFT_F32, 2, straight);
    return program;
}

/* ---- a call ---- */

struct bench {
    weft_test_allocator test;
    weft_fake fake;
    weft_executor *executor;
    weft_program *program;
};

static void open_bench(struct bench *bench, const weft_executor_options *options)
{
    weft_executor_options own = *options;
    weft_test_allocator_init(&bench->test, WEFT_TEST_NEVER);
    own.allocator = &bench->test.allocator;
    weft_fake_init(&bench->fake, "fake", fill_add);
    weft_test_ok(weft_executor_create(&own, &bench->executor));
    weft_test_ok(weft_executor_register_runtime(bench->executor, &bench->fake.runtime));
    bench->program = add_program();
}

static void close_bench(struct bench *bench)
{
    weft_program_release(bench->program);
    weft_executor_destroy(bench->executor);
    weft_test_allocator_check(&bench->test);
}

static weft_array *wrap(float *data, int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    const int64_t shape[] = {rows, columns}, strides[] = {row, column};
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, shape, strides, data, NULL, NULL, &array));
    return array;
}

static weft_array *row_major(float *data, int64_t rows, int64_t columns)
{
    return wrap(data, rows, columns, columns, 1);
}

static weft_status *run_with(struct bench *bench, weft_array *x, weft_array *y, weft_array **z, weft_run run)
{
    weft_array *inputs[] = {x, y};
    run.input_count = 2;
    run.inputs = inputs;
    run.output_count = 1;
    run.outputs = z;
    return weft_executor_run(bench->executor, bench->program, &run);
}

static weft_status *run_plain(struct bench *bench, weft_array *x, weft_array *y, weft_array *z)
{
    return run_with(bench, x, y, &z, (weft_run){0});
}

static weft_executor_counters counters(const struct bench *bench)
{
    weft_executor_counters result = {.size = sizeof result};
    weft_executor_counters_read(bench->executor, &result);
    return result;
}

static float at(const weft_array *array, int64_t i, int64_t j)
{
    const int64_t *strides = weft_array_strides(array);
    return ((const float *)weft_array_data(array))[i * strides[0] + j * strides[1]];
}

static void check_sum(const weft_array *x, const weft_array *y, const weft_array *z)
{
    for (int64_t i = 0; i < weft_array_shape(x)[0]; i++)
        for (int64_t j = 0; j < weft_array_shape(x)[1]; j++)
            assert_true(at(z, i, j) == at(x, i, j) + at(y, j, i) + 100);
}

static void fill(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) data[i] = (float)(i % 1000);
}

/* ---- results ---- */

static void test_outputs_of_the_caller_and_new_ones(void **state)
{
    (void)state;
    struct bench bench;
    float a[12], b[12], c[12];
    fill(a, 12);
    fill(b, 12);
    open_bench(&bench, &(weft_executor_options){0});
    weft_array *x = row_major(a, 3, 4), *y = row_major(b, 4, 3), *z = row_major(c, 3, 4), *fresh = NULL;
    weft_report report;
    weft_test_ok(run_with(&bench, x, y, &z, (weft_run){.report = &report}));
    check_sum(x, y, z);
    assert_false(report.hit);
    assert_true(report.compile_ns > 0);
    assert_int_equal(report.steps, 2);
    assert_int_equal(report.peak_bytes, 64);
    weft_test_ok(run_with(&bench, x, y, &fresh, (weft_run){.report = &report}));
    assert_true(report.hit && report.compile_ns == 0);
    weft_test_fails(run_with(&bench, x, x, &z, (weft_run){.report = &report}), WEFT_SHAPE_MISMATCH, "");
    assert_true(report.steps == 0 && report.run_ns == 0 && report.peak_bytes == 0 && !report.hit);
    weft_test_fails(run_with(&bench, x, y, &z, (weft_run){.report = &report, .memory_limit = 1}), WEFT_OVER_LIMIT, "");
    assert_true(report.steps == 2 && report.peak_bytes == 64 && report.hit);
    assert_int_equal(weft_array_shape(fresh)[1], 4);
    assert_true(weft_array_is_contiguous(fresh));
    check_sum(x, y, fresh);
    weft_array_release(x);
    weft_array_release(y);
    weft_array_release(z);
    weft_array_release(fresh);
    assert_int_equal(atomic_load(&bench.fake.builds), 1);
    assert_int_equal(counters(&bench).variants.hits, 3);
    assert_true(counters(&bench).buffer_bytes > 0);
    close_bench(&bench);
}

static void test_arrays_outlive_the_executor(void **state)
{
    (void)state;
    struct bench bench;
    float a[6] = {1, 2, 3, 4, 5, 6};
    open_bench(&bench, &(weft_executor_options){0});
    weft_array *x = row_major(a, 2, 3), *y = row_major(a, 3, 2), *z = NULL;
    weft_test_ok(run_with(&bench, x, y, &z, (weft_run){0}));
    weft_program_release(bench.program);
    weft_executor_destroy(bench.executor);
    check_sum(x, y, z);
    weft_array_release(z);
    weft_array_release(x);
    weft_array_release(y);
    weft_test_allocator_check(&bench.test);
}

static void test_strides(void **state)
{
    (void)state;
    struct bench bench;
    float a[64], b[64], c[64];
    fill(a, 64);
    fill(b, 64);
    open_bench(&bench, &(weft_executor_options){0});
    weft_array *x = wrap(a + 11, 3, 4, -4, 1), *y = wrap(b, 4, 3, 0, 2), *z = wrap(c + 3, 3, 4, 5, -1);
    weft_array *plain_x = row_major(a, 3, 4), *plain_y = row_major(b, 4, 3);
    weft_test_ok(run_plain(&bench, x, y, z));
    check_sum(x, y, z);
    weft_test_ok(run_plain(&bench, plain_x, y, z));
    check_sum(plain_x, y, z);
    weft_test_ok(run_plain(&bench, plain_x, plain_y, z));
    check_sum(plain_x, plain_y, z);
    assert_int_equal(atomic_load(&bench.fake.builds), 3);
    weft_array *arrays[] = {x, y, z, plain_x, plain_y};
    for (size_t i = 0; i < 5; i++) weft_array_release(arrays[i]);
    close_bench(&bench);
}

/* Extents of 0 and 1 select nothing by themselves: one variant serves all. */
static void test_extents_share_a_variant(void **state)
{
    (void)state;
    static float a[1000 * 130], b[1000 * 130], c[1000 * 130];
    static const int64_t shapes[][2] = {{3, 4}, {0, 4}, {4, 0}, {1, 1}, {1, 9}, {9, 1}, {1000, 130}};
    struct bench bench;
    fill(a, 130000);
    fill(b, 130000);
    open_bench(&bench, &(weft_executor_options){.threads = 3});
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            int64_t n = shapes[i][0], m = shapes[i][1];
            weft_array *x = row_major(a, n, m), *y = row_major(b, m, n), *z = row_major(c, n, m);
            memset(c, 0xff, sizeof c);
            weft_test_ok(run_plain(&bench, x, y, z));
            check_sum(x, y, z);
            weft_array_release(x);
            weft_array_release(y);
            weft_array_release(z);
        }
    assert_int_equal(atomic_load(&bench.fake.builds), 1);
    close_bench(&bench);
}

static void test_repeated_call_allocates_nothing(void **state)
{
    (void)state;
    static float a[4096 * 300], b[4096 * 300], c[4096 * 300];
    struct bench bench;
    open_bench(&bench, &(weft_executor_options){0});
    weft_array *x = row_major(a, 4096, 300), *y = row_major(b, 300, 4096), *z = row_major(c, 4096, 300);
    weft_test_ok(run_plain(&bench, x, y, z));
    size_t requests = atomic_load(&bench.test.requests);
    for (int i = 0; i < 3; i++) weft_test_ok(run_plain(&bench, x, y, z));
    assert_int_equal(atomic_load(&bench.test.requests), requests);
    weft_array_release(x);
    weft_array_release(y);
    weft_array_release(z);
    close_bench(&bench);
}

/* ---- caches ---- */

static void run_shape(struct bench *bench, int64_t n, int64_t m, weft_run run)
{
    static float a[64], b[64];
    weft_array *x = row_major(a, n, m), *y = row_major(b, m, n), *z = NULL;
    weft_test_ok(run_with(bench, x, y, &z, run));
    check_sum(x, y, z);
    weft_array_release(x);
    weft_array_release(y);
    weft_array_release(z);
}

static void test_specialized_variants(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(weft_executor_options){.variant_capacity = 2});
    run_shape(&bench, 2, 3, (weft_run){0});
    run_shape(&bench, 2, 3, (weft_run){.specialize = true});
    run_shape(&bench, 2, 3, (weft_run){.specialize = true});
    run_shape(&bench, 2, 3, (weft_run){0});
    assert_int_equal(atomic_load(&bench.fake.builds), 2);
    run_shape(&bench, 3, 2, (weft_run){.specialize = true});
    assert_int_equal(atomic_load(&bench.fake.builds), 3);
    assert_int_equal(counters(&bench).variants.entries, 2);
    assert_int_equal(counters(&bench).variants.evictions, 1);
    weft_executor_clear(bench.executor);
    assert_int_equal(counters(&bench).variants.entries, 0);
    assert_int_equal(counters(&bench).buffer_bytes, 0);
    run_shape(&bench, 2, 3, (weft_run){0});
    assert_int_equal(atomic_load(&bench.fake.builds), 4);
    close_bench(&bench);
}

static weft_status *fill_or_stop(const weft_build_request *request, weft_variant *variant)
{
    if (request->cancelled != NULL && *request->cancelled)
        return weft_status_create(NULL, WEFT_CANCELLED, "fake", "the build was cancelled");
    return fill_add(request, variant);
}

static void *run_cancelled(void *context)
{
    float data[4] = {0};
    const volatile bool cancelled = true;
    weft_array *x = row_major(data, 2, 2), *z = NULL;
    weft_test_fails(run_with(context, x, x, &z, (weft_run){.cancelled = &cancelled}), WEFT_CANCELLED,
                    "the build was cancelled");
    weft_array_release(x);
    return NULL;
}

/* Who waits for a variant that another run builds gets it, also where that one is cancelled. */
static void test_cancelled_build(void **state)
{
    (void)state;
    struct bench bench;
    pthread_t thread;
    float data[4] = {1, 2, 3, 4}, sum[4];
    open_bench(&bench, &(weft_executor_options){.threads = 1});
    bench.fake.fill = fill_or_stop;
    bench.fake.delay_us = 100000;
    assert_int_equal(pthread_create(&thread, NULL, run_cancelled, &bench), 0);
    while (atomic_load(&bench.fake.builds) == 0) sched_yield();
    weft_array *x = row_major(data, 2, 2), *z = row_major(sum, 2, 2);
    weft_test_ok(run_plain(&bench, x, x, z));
    check_sum(x, x, z);
    assert_int_equal(atomic_load(&bench.fake.builds), 2);
    pthread_join(thread, NULL);
    weft_array_release(x);
    weft_array_release(z);
    close_bench(&bench);
}

static atomic_bool released;

static weft_status *fill_when_released(const weft_build_request *request, weft_variant *variant)
{
    while (!atomic_load(&released)) sched_yield();
    return fill_add(request, variant);
}

static void *run_in_thread(void *context)
{
    float data[4] = {1, 2, 3, 4}, sum[4];
    weft_array *x = row_major(data, 2, 2), *z = row_major(sum, 2, 2);
    weft_test_ok(run_plain(context, x, x, z));
    check_sum(x, x, z);
    weft_array_release(x);
    weft_array_release(z);
    return NULL;
}

/* Who waits for a variant that another run builds may stop waiting. */
static void test_cancelled_while_another_run_builds(void **state)
{
    (void)state;
    struct bench bench;
    pthread_t thread;
    float data[4] = {0};
    const volatile bool cancelled = true;
    open_bench(&bench, &(weft_executor_options){.threads = 1});
    bench.fake.fill = fill_when_released;
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &bench), 0);
    while (atomic_load(&bench.fake.builds) == 0) sched_yield();
    weft_array *x = row_major(data, 2, 2), *z = NULL;
    weft_test_fails(run_with(&bench, x, x, &z, (weft_run){.cancelled = &cancelled}), WEFT_CANCELLED,
                    "the run was cancelled while another one compiled what it needs");
    atomic_store(&released, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&bench.fake.builds), 1);
    weft_array_release(x);
    close_bench(&bench);
}

static volatile bool taken_back;

static weft_status *stop_once(const weft_build_request *request, weft_variant *variant)
{
    weft_status *status = fill_or_stop(request, variant);
    taken_back = false;
    return status;
}

/* A run that stopped is not tried again because its caller has set the flag back by now. */
static void test_cancelled_build_is_not_repeated(void **state)
{
    (void)state;
    struct bench bench;
    float data[4] = {0};
    open_bench(&bench, &(weft_executor_options){.threads = 1});
    bench.fake.fill = stop_once;
    taken_back = true;
    weft_array *x = row_major(data, 2, 2), *z = NULL;
    weft_test_fails(run_with(&bench, x, x, &z, (weft_run){.cancelled = &taken_back}), WEFT_CANCELLED,
                    "the build was cancelled");
    assert_int_equal(atomic_load(&bench.fake.builds), 1);
    weft_array_release(x);
    close_bench(&bench);
}

/* More shapes than a variant keeps bindings for. */
static void test_many_shapes(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(weft_executor_options){0});
    for (int round = 0; round < 3; round++)
        for (int64_t n = 0; n < 8; n++)
            for (int64_t m = 0; m < 8; m++) run_shape(&bench, n, m, (weft_run){0});
    assert_int_equal(atomic_load(&bench.fake.builds), 1);
    close_bench(&bench);
}

static void test_buffers_are_bounded(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(weft_executor_options){.buffer_capacity = 100});
    run_shape(&bench, 8, 8, (weft_run){0});
    assert_int_equal(counters(&bench).buffer_bytes, 0);
    run_shape(&bench, 2, 2, (weft_run){0});
    assert_true(counters(&bench).buffer_bytes > 0 && counters(&bench).buffer_bytes <= 100);
    close_bench(&bench);
}

/* ---- overlaps and donation ---- */

static void test_overlaps(void **state)
{
    (void)state;
    struct bench bench;
    float a[24], b[12];
    fill(a, 24);
    fill(b, 12);
    open_bench(&bench, &(weft_executor_options){0});
    weft_array *x = row_major(a, 3, 4), *y = row_major(b, 4, 3);
    weft_array *inside = row_major(a + 11, 3, 4), *behind = row_major(a + 12, 3, 4),
               *backwards = wrap(a + 23, 3, 4, -4, -1);
    weft_array *repeated = wrap(a + 12, 3, 4, 0, 1), *crossing = wrap(a + 12, 3, 4, 2, 1);
    weft_test_fails(run_plain(&bench, x, y, x), WEFT_INVALID_ARGUMENT,
                    "output \"z\" overlaps input \"x\", which is not donated");
    weft_test_fails(run_plain(&bench, x, y, inside), WEFT_INVALID_ARGUMENT, "overlaps input \"x\"");
    weft_test_fails(run_plain(&bench, x, y, repeated), WEFT_INVALID_ARGUMENT,
                    "output \"z\": stride 0 of axis 0 over extent 3 addresses elements twice");
    weft_test_fails(run_plain(&bench, x, y, crossing), WEFT_INVALID_ARGUMENT, "stride 2 of axis 0");
    weft_test_ok(run_plain(&bench, x, y, behind));
    weft_test_ok(run_plain(&bench, x, y, backwards));
    check_sum(x, y, backwards);
    weft_array *arrays[] = {x, y, inside, behind, backwards, repeated, crossing};
    for (size_t i = 0; i < 7; i++) weft_array_release(arrays[i]);
    close_bench(&bench);
}

/* The result is as if the inputs had been read before anything was written. */
static void test_donated_inputs(void **state)
{
    (void)state;
    struct bench bench;
    float a[12], b[12], before[12];
    fill(a, 12);
    fill(b, 12);
    memcpy(before, b, sizeof b);
    open_bench(&bench, &(weft_executor_options){0});
    const bool donated[] = {false, true};
    weft_array *x = row_major(a, 3, 4), *y = row_major(b, 4, 3), *z = row_major(b, 3, 4),
               *old = row_major(before, 4, 3);
    weft_test_ok(run_with(&bench, x, y, &z, (weft_run){.donated = donated}));
    check_sum(x, old, z);
    weft_test_fails(run_plain(&bench, x, y, z), WEFT_INVALID_ARGUMENT, "overlaps input \"y\"");
    weft_array *arrays[] = {x, y, z, old};
    for (size_t i = 0; i < 4; i++) weft_array_release(arrays[i]);
    close_bench(&bench);
}

/* ---- out of memory ---- */

/* `y`, donated, has the memory of the output: without memory for a copy of it, it stays as it is. */
static weft_status *run_over(weft_executor *executor, weft_program *program, weft_array *x, weft_array *y)
{
    float *data = weft_array_data(y);
    const bool donated[] = {false, true};
    weft_array *z = row_major(data, 3, 4);
    weft_array *inputs[] = {x, y};
    weft_run run = {.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &z, .donated = donated};
    fill(data, 12);
    weft_status *status = weft_executor_run(executor, program, &run);
    for (int i = 0; i < 12; i++) assert_true(data[i] == (float)(status != NULL ? i : 100 + i % 4 * 3 + i / 4));
    weft_array_release(z);
    return status;
}

static weft_status *run_once(const weft_allocator *allocator, weft_program *program)
{
    static float a[12], b[12];
    weft_fake fake;
    weft_executor *executor;
    weft_array *inputs[] = {row_major(a, 3, 4), row_major(b, 4, 3)}, *z = NULL;
    weft_run run = {.input_count = 2, .inputs = inputs, .output_count = 1, .outputs = &z};
    weft_fake_init(&fake, "fake", fill_add);
    weft_status *status =
        weft_executor_create(&(weft_executor_options){.allocator = allocator, .threads = 1}, &executor);
    if (status == NULL) {
        status = weft_executor_register_runtime(executor, &fake.runtime);
        for (int i = 0; i < 2 && status == NULL; i++) {
            status = weft_executor_run(executor, program, &run);
            assert_true((status == NULL) == (z != NULL));
            weft_array_release(z);
            z = NULL;
        }
        if (status == NULL) status = run_over(executor, program, inputs[0], inputs[1]);
        weft_executor_destroy(executor);
    }
    weft_array_release(inputs[0]);
    weft_array_release(inputs[1]);
    return status;
}

static weft_status *run_body(const weft_allocator *allocator, void *context)
{
    return run_once(allocator, context);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    weft_program *program = add_program();
    assert_true(weft_test_fail_each(run_body, program) > 20);
    weft_program_release(program);
}

/* Whatever else runs, what runs often is at hand: it allocates nothing. What runs once does not pile up. */
static void test_what_is_used_stays(void **state)
{
    (void)state;
    enum { SHAPES = 300, BETWEEN = 20 };
    struct bench bench;
    static float a[SHAPES], b[SHAPES], c[SHAPES];
    size_t blocks = 0;
    const weft_executor_options options = {
        .threads = 1, .variant_capacity = 2, .specialize_after = WEFT_SPECIALIZE_NEVER};
    open_bench(&bench, &options);
    weft_array *often[] = {row_major(a, 3, 2), row_major(b, 2, 3), row_major(c, 3, 2), wrap(c, 3, 2, 1, 3)};
    weft_test_ok(run_plain(&bench, often[0], often[1], often[2]));
    for (int64_t n = 1; n <= SHAPES; n++) {
        weft_array *once[] = {row_major(a, n, 1), row_major(b, 1, n), row_major(c, n, 1)};
        weft_test_ok(run_plain(&bench, once[0], once[1], once[2]));
        if (n % BETWEEN == 0) weft_test_ok(run_plain(&bench, often[0], often[1], often[3])); /* another variant */
        size_t requests = atomic_load(&bench.test.requests);
        weft_test_ok(run_plain(&bench, often[0], often[1], often[2]));
        assert_int_equal(atomic_load(&bench.test.requests), requests);
        for (int i = 0; i < 3; i++) weft_array_release(once[i]);
        if (n == SHAPES / 4) blocks = atomic_load(&bench.test.blocks);
    }
    assert_in_range(atomic_load(&bench.test.blocks), 0, blocks);
    weft_executor_counters found = counters(&bench);
    assert_int_equal(found.variants.hits + found.variants.misses, 1 + 2 * SHAPES + SHAPES / BETWEEN);
    assert_int_equal(found.variants.misses, 2);
    for (int i = 0; i < 4; i++) weft_array_release(often[i]);
    close_bench(&bench);
}

/* A caller whose struct ends earlier gets what it has, and no byte more. */
static void test_counters_of_an_older_header(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, &(weft_executor_options){.threads = 1});
    weft_executor_counters older, all = counters(&bench);
    size_t size = offsetof(weft_executor_counters, disk);
    memset(&older, 0x5a, sizeof older);
    older.size = size;
    weft_executor_counters_read(bench.executor, &older);
    assert_int_equal(older.size, size);
    assert_memory_equal(&older.variants, &all.variants, size - offsetof(weft_executor_counters, variants));
    for (size_t i = size; i < sizeof older; i++) assert_int_equal(((unsigned char *)&older)[i], 0x5a);
    older.size = 0;
    weft_executor_counters_read(bench.executor, &older);
    assert_memory_equal(&older.disk, &all.disk, sizeof all.disk);
    older.size = sizeof older + 8; /* of a later header */
    weft_executor_counters_read(bench.executor, &older);
    assert_int_equal(older.size, sizeof older + 8);
    close_bench(&bench);
}

/* What goes from the cache is not kept at hand either. */
static void test_what_is_dropped_goes(void **state)
{
    (void)state;
    struct bench bench;
    static float a[12], b[12], c[24];
    open_bench(&bench, &(weft_executor_options){.threads = 1, .variant_capacity = 1});
    weft_array *x = row_major(a, 3, 4), *y = row_major(b, 4, 3), *z[] = {row_major(c, 3, 4), wrap(c, 3, 4, 1, 6)};
    size_t blocks[2], none = atomic_load(&bench.test.blocks);
    for (int i = 0; i < 20; i++) {
        for (int run = 0; run < 3; run++) weft_test_ok(run_plain(&bench, x, y, z[i % 2]));
        if (i < 2) blocks[i] = atomic_load(&bench.test.blocks);
        assert_int_equal(atomic_load(&bench.test.blocks), blocks[i % 2]);
        if (i < 2) weft_executor_clear(bench.executor);
    }
    assert_int_equal(atomic_load(&bench.fake.builds), 20);
    assert_int_equal(counters(&bench).variants.hits, 40);
    weft_executor_clear(bench.executor);
    assert_int_equal(atomic_load(&bench.test.blocks), none);
    weft_array *arrays[] = {x, y, z[0], z[1]};
    for (int i = 0; i < 4; i++) weft_array_release(arrays[i]);
    close_bench(&bench);
}

/* The message of a run whose request number `fail` is refused; whether there was one. */
static bool find_message(size_t fail, char *out_text, size_t size)
{
    struct bench bench;
    static float a[40 * 40], b[40 * 40]; /* too large for an arena that is part of a frame */
    open_bench(&bench, &(weft_executor_options){.threads = 1});
    weft_array *x = row_major(a, 40, 40), *y = row_major(b, 40, 40), *z = NULL;
    bench.test.fail_at = atomic_load(&bench.test.requests) + fail;
    weft_status *status = run_with(&bench, x, y, &z, (weft_run){0});
    bool failed = status != NULL;
    if (failed) snprintf(out_text, size, "%s", weft_status_message(status));
    assert_int_equal(failed ? weft_status_code(status) : WEFT_OUT_OF_MEMORY, WEFT_OUT_OF_MEMORY);
    weft_status_destroy(status);
    weft_array *arrays[] = {x, y, z};
    for (size_t i = 0; i < 3; i++) weft_array_release(arrays[i]);
    close_bench(&bench);
    return failed;
}

/* What is large is named. */
static void test_there_is_no_memory_for(void **state)
{
    (void)state;
    bool output = false, intermediates = false;
    char text[256];
    for (size_t fail = 0; find_message(fail, text, sizeof text); fail++) {
        output = output || strcmp(text, "there is no memory for the 6400 bytes of output \"z\"") == 0;
        intermediates = intermediates || strstr(text, "bytes of intermediates") != NULL;
    }
    assert_true(output && intermediates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_of_the_caller_and_new_ones),
        cmocka_unit_test(test_arrays_outlive_the_executor),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_extents_share_a_variant),
        cmocka_unit_test(test_repeated_call_allocates_nothing),
        cmocka_unit_test(test_counters_of_an_older_header),
        cmocka_unit_test(test_specialized_variants),
        cmocka_unit_test(test_cancelled_build),
        cmocka_unit_test(test_cancelled_while_another_run_builds),
        cmocka_unit_test(test_cancelled_build_is_not_repeated),
        cmocka_unit_test(test_many_shapes),
        cmocka_unit_test(test_buffers_are_bounded),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_donated_inputs),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_there_is_no_memory_for),
        cmocka_unit_test(test_what_is_used_stays),
        cmocka_unit_test(test_what_is_dropped_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
