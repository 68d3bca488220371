/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on a device whose memory the host does not see, and arrays there. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/device.h"
#include "test/rng.h"
#include "test/support.h"

typedef struct bench {
    weft_test_device *device;
    weft_executor *executor;
    weft_module *module;
    weft_program *program;
} bench;

static void open_bench(bench *b, const char *text)
{
    *b = (bench){.device = weft_test_device_create("device", weft_runtime_llvm())};
    assert_non_null(b->device);
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &b->executor));
    weft_test_ok(weft_executor_register_runtime(b->executor, weft_test_device_runtime(b->device)));
    if (text == NULL) return;
    weft_test_ok(weft_graph_parse("text", text, strlen(text), NULL, 0, NULL, &b->module));
    weft_test_ok(weft_compile_named(b->module->graph, b->module->outputs, b->module->output_names, NULL, &b->program));
}

static void close_bench(bench *b)
{
    weft_program_release(b->program);
    weft_module_destroy(b->module);
    weft_executor_destroy(b->executor);
    weft_test_device_destroy(b->device);
}

static weft_array *make(const bench *b, weft_dtype dtype, int64_t count, const void *data)
{
    weft_array *host, *array;
    weft_test_ok(weft_array_wrap(NULL, dtype, 1, &count, NULL, (void *)data, NULL, NULL, &host));
    weft_test_ok(weft_array_create_on(NULL, weft_test_device_runtime(b->device), dtype, 1, &count, &array));
    weft_test_ok(weft_array_copy(array, host));
    weft_array_release(host);
    return array;
}

static void fetch(const weft_array *array, void *out_data)
{
    weft_array *host;
    weft_test_ok(weft_array_wrap(NULL, weft_array_dtype(array), weft_array_rank(array), weft_array_shape(array), NULL,
                                 out_data, NULL, NULL, &host));
    weft_test_ok(weft_array_copy(host, array));
    weft_array_release(host);
}

/* ---- arrays ---- */

enum { ROOM = 4096 };
static uint64_t random_state = 1;

static int random_below(int count)
{
    return (int)weft_test_below(&random_state, (uint64_t)count);
}

/* A view of `base` with axes of random extents `shape` and strides of both signs, whose elements do not meet. */
static weft_array *draw_view(weft_array *base, const int64_t *shape)
{
    int64_t strides[3], order[3] = {0, 1, 2}, offset = 0, step = 1 + random_below(2);
    for (size_t i = 2; i > 0; i--) {
        size_t j = (size_t)weft_test_below(&random_state, i + 1);
        int64_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (size_t i = 0; i < 3; i++) {
        bool backwards = random_below(3) == 0;
        strides[order[i]] = backwards ? -step : step;
        if (backwards) offset += (shape[order[i]] - 1) * step;
        step *= shape[order[i]] + random_below(2);
    }
    weft_array *view;
    weft_test_ok(weft_array_view(base, 3, shape, strides, offset, &view));
    return view;
}

static void fill(weft_array *array)
{
    unsigned char *bytes = weft_array_data(array);
    for (size_t i = 0; i < ROOM * weft_dtype_size(weft_array_dtype(array)); i++)
        bytes[i] = (unsigned char)weft_test_bits(&random_state);
}

/* The same views of four blocks, two of the device with what two of the host hold: whichever way they are copied, all
 * bytes agree afterwards, also those between elements. */
static void copies_agree_with_those_of_the_host(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_U8, WEFT_F16, WEFT_F32, WEFT_F64, WEFT_C128};
    (void)state;
    bench b;
    open_bench(&b, NULL);
    for (int round = 0; round < 600; round++) {
        const int64_t shape[] = {1 + random_below(12), 1 + random_below(12), 1 + random_below(6)}, room = ROOM;
        weft_dtype dtype = dtypes[random_below(5)];
        weft_array *x, *y, *expected;
        weft_test_ok(weft_array_create(NULL, dtype, 1, &room, &x));
        weft_test_ok(weft_array_create(NULL, dtype, 1, &room, &y));
        weft_test_ok(weft_array_create(NULL, dtype, 1, &room, &expected));
        fill(x);
        fill(y);
        weft_test_ok(weft_array_copy(expected, y));
        bool x_apart = random_below(2) == 0, y_apart = !x_apart || random_below(2) == 0, same = random_below(4) == 0;
        weft_array *from = x_apart ? weft_test_device_upload(b.device, x) : weft_array_retain(x);
        weft_array *to = y_apart ? weft_test_device_upload(b.device, y) : weft_array_retain(y);
        if (same) { /* views that overlap */
            weft_array_release(from);
            from = weft_array_retain(to);
            weft_test_ok(weft_array_copy(x, y));
        }
        uint64_t before = random_state;
        weft_array *from_view = draw_view(from, shape), *to_view = draw_view(to, shape);
        random_state = before;
        weft_array *x_view = draw_view(x, shape), *y_view = draw_view(expected, shape);
        weft_test_ok(weft_array_copy(to_view, from_view));
        weft_test_ok(weft_array_copy(y_view, x_view));
        if (y_apart) assert_true(weft_test_device_download(b.device, to, y));
        assert_memory_equal(weft_array_data(y), weft_array_data(expected), ROOM * weft_dtype_size(dtype));
        weft_array *const all[] = {from_view, to_view, x_view, y_view, from, to, x, y, expected};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) weft_array_release(all[i]);
    }
    close_bench(&b);
}

static void arrays_are_of_a_runtime(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, NULL);
    weft_array *array, *empty, *dense;
    const weft_runtime *runtime = weft_test_device_runtime(b.device);
    weft_test_ok(weft_array_create_on(NULL, runtime, WEFT_F32, 2, (const int64_t[]){3, 4}, &array));
    assert_int_equal(weft_array_device(array).kind, WEFT_DEVICE_OTHER);
    char text[64];
    assert_int_equal(weft_array_print(array, text, sizeof text), strlen("f32[3, 4] on device 12:0"));
    assert_string_equal(text, "f32[3, 4] on device 12:0");
    assert_int_equal(weft_array_print(array, text, 12), strlen("f32[3, 4] on device 12:0"));
    assert_string_equal(text, "f32[3, 4] o");
    weft_test_fails(weft_npy_save(NULL, "never.npy", array), WEFT_UNSUPPORTED, "CPU");
    assert_int_equal(weft_test_device_bytes(b.device), 48);
    weft_test_ok(weft_array_create_on(NULL, runtime, WEFT_F32, 2, (const int64_t[]){3, 0}, &empty));
    weft_test_ok(weft_array_copy(empty, empty));
    weft_test_fails(weft_array_create_on(NULL, runtime, WEFT_F32, 1, (const int64_t[]){-3}, &dense), WEFT_OUT_OF_RANGE,
                    "negative");
    weft_test_fails(weft_array_create_on(NULL, NULL, WEFT_F32, 1, (const int64_t[]){3}, &dense), WEFT_INVALID_ARGUMENT,
                    "runtime is NULL");
    const weft_runtime bare = {.size = sizeof bare, .name = "bare"};
    weft_test_fails(weft_array_create_on(NULL, &bare, WEFT_F32, 1, (const int64_t[]){3}, &dense), WEFT_INVALID_ARGUMENT,
                    "the runtime cannot be used: it needs its size, a name and a driver");
    float number = 0;
    weft_test_fails(weft_array_wrap_on(NULL, &bare, WEFT_F32, 0, NULL, NULL, &number, NULL, NULL, &dense),
                    WEFT_INVALID_ARGUMENT, "the runtime cannot be used: it needs its size, a name and a driver");
    weft_test_fails(weft_array_create_on(NULL, runtime, WEFT_F32, 1, (const int64_t[]){(int64_t)1 << 40}, &dense),
                    WEFT_OUT_OF_MEMORY, "full");
    weft_test_ok(weft_array_create_on(NULL, weft_runtime_llvm(), WEFT_F32, 1, (const int64_t[]){3}, &dense));
    assert_int_equal(weft_array_device(dense).kind, WEFT_DEVICE_CPU);
    weft_array_release(dense);
    weft_array_release(array);
    weft_array_release(empty);
    close_bench(&b);
}

/* ---- runs ---- */

/* Every kind of step, loops within loops, a constant, a branch. */
static const char everything[] = "weft 0.1\n"
                                 "graph {\n"
                                 "  %x = input() {name = \"x\", dtype = f32, shape = [6]}\n"
                                 "  %at = input() {name = \"at\", dtype = i64, shape = [6]}\n"
                                 "  %p = constant() {dtype = f32, shape = [6], data = [3, 1, 4, 1, 5, 9]}\n"
                                 "  %0 = gather(%x, %at) {axes = [0], batch = []}\n"
                                 "  %1 = add(%0, %p)\n"
                                 "  %2 = sort(%1) {axis = 0, descending = false}\n"
                                 "  %3 = fold(%2) {trips = 5, carried = 1} body (%i : i64[], %a : f32[6]) {\n"
                                 "    %0 = fold(%a) {trips = 3, carried = 1} body (%j : i64[], %b : f32[6]) {\n"
                                 "      %0 = cast(%j) {dtype = f32}\n"
                                 "      %1 = broadcast(%0) {shape = [6], axes = []}\n"
                                 "      %2 = add(%b, %1)\n"
                                 "      yield %2\n"
                                 "    }\n"
                                 "    yield %0\n"
                                 "  }\n"
                                 "  return %3\n"
                                 "}\n";

static weft_status *run(const bench *b, const char *runtime, size_t count, weft_array *const *inputs,
                        weft_array **out_output)
{
    return weft_executor_run(
        b->executor, b->program,
        &(weft_run){
            .runtime = runtime, .input_count = count, .inputs = inputs, .output_count = 1, .outputs = out_output});
}

static const float x_data[] = {1.5f, -2, 0.25f, 8, 100, -7};
static const int64_t at_data[] = {5, 0, 3, 1, 2, 4};

static void the_device_may_be_lost_at_any_call(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, everything);
    weft_array *inputs[] = {make(&b, WEFT_F32, 6, x_data), make(&b, WEFT_I64, 6, at_data)}, *output = NULL;
    float found[6], again[6];
    weft_test_ok(run(&b, "device", 2, inputs, &output));
    fetch(output, found);
    weft_array_release(output);
    size_t calls = 0;
    for (bool lost = true; lost; calls++) {
        weft_executor_clear(b.executor);
        weft_test_device_fail(b.device, calls);
        output = NULL;
        weft_status *status = run(&b, "device", 2, inputs, &output);
        lost = status != NULL;
        assert_int_equal(output == NULL, lost);
        if (lost) weft_test_fails(status, WEFT_INTERNAL, "the test device was lost");
        weft_test_device_fail(b.device, SIZE_MAX);
    }
    assert_true(calls > 30);
    fetch(output, again);
    assert_memory_equal(found, again, sizeof found);
    weft_array_release(output);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    close_bench(&b);
}

/* What both say of the same bad data. */
static void expect_same_error(const bench *b, size_t count, const weft_dtype *dtypes, const int64_t *counts,
                              const void *const *data)
{
    weft_array *inputs[2], *copies[2], *output = NULL;
    for (size_t i = 0; i < count; i++) {
        weft_test_ok(weft_array_wrap(NULL, dtypes[i], 1, &counts[i], NULL, (void *)data[i], NULL, NULL, &inputs[i]));
        copies[i] = make(b, dtypes[i], counts[i], data[i]);
    }
    weft_status *expected = run(b, "llvm", count, inputs, &output);
    assert_int_equal(weft_status_code(expected), WEFT_DATA_ERROR);
    weft_test_fails(run(b, "device", count, copies, &output), WEFT_DATA_ERROR, weft_status_message(expected));
    assert_null(output);
    weft_status_destroy(expected);
    for (size_t i = 0; i < count; i++) {
        weft_array_release(inputs[i]);
        weft_array_release(copies[i]);
    }
}

static void errors_name_their_iteration(void **state)
{
    static const char text[] = "weft 0.1\n"
                               "graph {\n"
                               "  %x = input() {name = \"x\", dtype = f32, shape = [6]}\n"
                               "  %at = input() {name = \"at\", dtype = i64, shape = [6000]}\n"
                               "  %0 = fold(%x, %at) {trips = 3, carried = 1} body (%i : i64[], %a : f32[6], %at : "
                               "i64[6000]) {\n"
                               "    %n = constant() {dtype = i64, shape = [], data = [2000]}\n"
                               "    %first = mul(%i, %n)\n"
                               "    %0 = fold(%a, %at, %first) {trips = 2000, carried = 1} body (%j : i64[], %b : "
                               "f32[6], %at : i64[6000], %first : i64[]) {\n"
                               "      %where = add(%first, %j)\n"
                               "      %0 = gather(%at, %where) {axes = [0], batch = []}\n"
                               "      %1 = gather(%b, %0) {axes = [0], batch = []}\n"
                               "      %2 = broadcast(%1) {shape = [6], axes = []}\n"
                               "      %3 = add(%b, %2)\n"
                               "      yield %3\n"
                               "    }\n"
                               "    yield %0\n"
                               "  }\n"
                               "  return %0\n"
                               "}\n";
    static const size_t bad[] = {0, 1, 1023, 1024, 1999, 2000, 3030, 5999};
    static int64_t at[6000];
    const weft_dtype dtypes[] = {WEFT_F32, WEFT_I64};
    const int64_t counts[] = {6, 6000};
    const void *const data[] = {x_data, at};
    (void)state;
    bench b;
    open_bench(&b, text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(at, 0, sizeof at);
        at[bad[i]] = 17;
        if (bad[i] < 5000) at[5500] = 18; /* comes later */
        expect_same_error(&b, 2, dtypes, counts, data);
    }
    close_bench(&b);
}

/* Nothing of a bad update is written, nor of one that comes after. */
static void a_failed_update_leaves_the_input(void **state)
{
    static const char text[] = "weft 0.1\n"
                               "graph {\n"
                               "  %x = input() {name = \"x\", dtype = f32, shape = [6]}\n"
                               "  %at = input() {name = \"at\", dtype = i64, shape = [2]}\n"
                               "  %new = constant() {dtype = f32, shape = [2], data = [70, 80]}\n"
                               "  %0 = scatter(%x, %new, %at) {axes = [0], batch = [], mode = \"set\"}\n"
                               "  return %0\n"
                               "}\n";
    const int64_t good[] = {3, 1}, bad[] = {3, 9};
    const bool donated[] = {true, false};
    (void)state;
    bench b;
    open_bench(&b, text);
    for (int fine = 0; fine < 2; fine++) {
        weft_array *x = make(&b, WEFT_F32, 6, x_data), *at = make(&b, WEFT_I64, 2, fine ? good : bad), *output = x;
        weft_array *inputs[] = {x, at};
        float found[6], expected[6];
        memcpy(expected, x_data, sizeof expected);
        if (fine) {
            expected[3] = 70;
            expected[1] = 80;
        }
        weft_status *status = weft_executor_run(b.executor, b.program,
                                                &(weft_run){.runtime = "device",
                                                            .input_count = 2,
                                                            .inputs = inputs,
                                                            .output_count = 1,
                                                            .outputs = &output,
                                                            .donated = donated});
        if (fine) weft_test_ok(status);
        else weft_test_fails(status, WEFT_DATA_ERROR, "9");
        fetch(x, found);
        assert_memory_equal(found, expected, sizeof expected);
        weft_array_release(x);
        weft_array_release(at);
    }
    close_bench(&b);
}

static void count_records(void *self, const weft_profile_record *record)
{
    (void)record;
    ++*(size_t *)self;
}

static void steps_are_profiled(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, everything);
    weft_array *inputs[] = {make(&b, WEFT_F32, 6, x_data), make(&b, WEFT_I64, 6, at_data)}, *output = NULL;
    size_t records[2] = {0, 0};
    weft_array *copies[2];
    static float x[6];
    static int64_t at[6];
    fetch(inputs[0], x);
    fetch(inputs[1], at);
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){6}, NULL, x, NULL, NULL, &copies[0]));
    weft_test_ok(weft_array_wrap(NULL, WEFT_I64, 1, (const int64_t[]){6}, NULL, at, NULL, NULL, &copies[1]));
    for (int apart = 0; apart < 2; apart++) {
        const weft_profile profile = {&records[apart], count_records};
        weft_test_ok(weft_executor_run(b.executor, b.program,
                                       &(weft_run){.runtime = apart ? "device" : "llvm",
                                                   .input_count = 2,
                                                   .inputs = apart ? inputs : copies,
                                                   .output_count = 1,
                                                   .outputs = &output,
                                                   .profile = &profile}));
        weft_array_release(output);
        output = NULL;
    }
    assert_true(records[0] > 15);
    assert_int_equal(records[0], records[1]);
    weft_test_fails(run(&b, "device", 2, copies, &output), WEFT_INVALID_ARGUMENT, "is on device 1:0");
    for (size_t i = 0; i < 2; i++) {
        weft_array_release(inputs[i]);
        weft_array_release(copies[i]);
    }
    close_bench(&b);
}

static void tables_are_whole(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, NULL);
    const weft_runtime *whole = weft_test_device_runtime(b.device);
    weft_queue_methods queues = *whole->driver->queues;
    weft_driver driver = *whole->driver;
    weft_runtime runtime = *whole;
    runtime.name = "other";
    runtime.driver = &driver;
    driver.queues = &queues;
    queues.sort = NULL;
    weft_test_fails(weft_executor_register_runtime(b.executor, &runtime), WEFT_INVALID_ARGUMENT,
                    "lacks a function of queues");
    queues = *whole->driver->queues;
    queues.size--;
    weft_test_fails(weft_executor_register_runtime(b.executor, &runtime), WEFT_INVALID_ARGUMENT,
                    "lacks a function of queues");
    queues.size++;
    weft_machine machine = *weft_machine_host();
    machine.vector_bytes = 3;
    driver.machine = &machine;
    weft_test_fails(weft_executor_register_runtime(b.executor, &runtime), WEFT_INVALID_ARGUMENT, "vector_bytes");
    driver.machine = NULL;
    driver.allocate = NULL;
    driver.release = NULL;
    weft_test_fails(weft_executor_register_runtime(b.executor, &runtime), WEFT_INVALID_ARGUMENT, "does not allocate");
    driver.size = offsetof(weft_driver, queues); /* of a header without */
    weft_test_ok(weft_executor_register_runtime(b.executor, &runtime));
    close_bench(&b);
}

/* ---- queues ---- */

static const char step_text[] = "weft 0.1\n"
                                "symbol n in [0, 100000]\n"
                                "graph {\n"
                                "  %x = input() {name = \"x\", dtype = f32, shape = [n]}\n"
                                "  %at = input() {name = \"at\", dtype = i64, shape = [n]}\n"
                                "  %0 = gather(%x, %at) {axes = [0], batch = []}\n"
                                "  %1 = add(%0, %x)\n"
                                "  return %1\n"
                                "}\n";

/* y[i] = x[at[i]] + x[i] on a queue. */
static weft_status *step(const bench *b, weft_queue *queue, weft_array *x, weft_array *at, weft_event *wait,
                         weft_array **out_y, weft_event **out_event)
{
    weft_array *const inputs[] = {x, at};
    return weft_executor_run(b->executor, b->program,
                             &(weft_run){.input_count = 2,
                                         .inputs = inputs,
                                         .output_count = 1,
                                         .outputs = out_y,
                                         .queue = queue,
                                         .wait_count = wait != NULL,
                                         .waits = &wait,
                                         .signal = out_event});
}

/* x becomes what a run makes of it. */
static void step_on_host(float *x)
{
    float y[6];
    for (int i = 0; i < 6; i++) y[i] = x[at_data[i]] + x[i];
    memcpy(x, y, sizeof y);
}

/* Inputs are released as soon as they were given; more runs than may be under way. */
static void runs_follow_each_other(void **state)
{
    float x[6], found[6];
    (void)state;
    bench b;
    weft_queue *queue;
    weft_event *event;
    open_bench(&b, step_text);
    weft_test_ok(weft_queue_create(b.executor, "device", &queue));
    weft_array *at = make(&b, WEFT_I64, 6, at_data), *now = make(&b, WEFT_F32, 6, x_data);
    memcpy(x, x_data, sizeof x);
    for (int i = 0; i < 100; i++) {
        weft_array *next = NULL;
        weft_test_ok(step(&b, queue, now, at, NULL, &next, i == 99 ? &event : NULL));
        weft_array_release(now);
        now = next;
        step_on_host(x);
    }
    weft_array_release(at);
    assert_false(weft_event_is_done(event));
    while (!weft_event_is_done(event)) {
    }
    weft_test_ok(weft_event_finish(event));
    weft_event_release(event);
    weft_test_ok(weft_queue_finish(queue));
    fetch(now, found);
    assert_memory_equal(found, x, sizeof x);
    weft_array_release(now);
    weft_queue_destroy(queue);
    close_bench(&b);
}

/* A chain that goes to and fro between two queues of the device and one of the CPU. */
static void queues_wait_for_each_other(void **state)
{
    (void)state;
    bench b;
    weft_queue *queues[2], *host;
    open_bench(&b, step_text);
    for (int i = 0; i < 2; i++) weft_test_ok(weft_queue_create(b.executor, "device", &queues[i]));
    weft_test_ok(weft_queue_create(b.executor, "llvm", &host));
    weft_array *at = make(&b, WEFT_I64, 6, at_data), *arrays[21] = {make(&b, WEFT_F32, 6, x_data)};
    weft_event *events[21] = {NULL}, *end;
    float x[6], found[6];
    memcpy(x, x_data, sizeof x);
    for (int i = 0; i < 20; i++) {
        weft_test_ok(step(&b, queues[i % 2], arrays[i], at, events[i], &arrays[i + 1], &events[i + 1]));
        step_on_host(x);
    }
    assert_false(weft_event_is_done(events[20]));
    weft_array *on_host, *at_host, *last = NULL;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, (const int64_t[]){6}, NULL, found, NULL, NULL, &on_host));
    weft_test_ok(weft_array_wrap(NULL, WEFT_I64, 1, (const int64_t[]){6}, NULL, (void *)at_data, NULL, NULL, &at_host));
    /* What the CPU does begins when the device has ended. */
    weft_test_ok(step(&b, host, on_host, at_host, events[20], &last, &end));
    assert_true(weft_event_is_done(events[20]) && weft_event_is_done(end));
    fetch(arrays[20], found);
    assert_memory_equal(found, x, sizeof x);
    for (int i = 0; i < 2; i++) weft_queue_destroy(queues[i]);
    weft_queue_destroy(host);
    for (int i = 0; i <= 20; i++) {
        weft_array_release(arrays[i]);
        if (i > 0) weft_test_ok(weft_event_finish(events[i])); /* without its queue */
        weft_event_release(events[i]);
    }
    weft_event_release(end);
    weft_array *const held[] = {at, on_host, at_host, last};
    for (size_t i = 0; i < 4; i++) weft_array_release(held[i]);
    close_bench(&b);
}

static void bad_data_are_told_at_the_end(void **state)
{
    const int64_t bad[] = {0, 1, 2, 6, 4, 17};
    (void)state;
    bench b;
    weft_queue *queue;
    weft_event *failed, *fine;
    open_bench(&b, step_text);
    weft_test_ok(weft_queue_create(b.executor, "device", &queue));
    weft_array *x = make(&b, WEFT_F32, 6, x_data), *at = make(&b, WEFT_I64, 6, bad),
               *good = make(&b, WEFT_I64, 6, at_data);
    weft_array *y = NULL, *z = NULL;
    weft_test_ok(step(&b, queue, x, at, NULL, &y, &failed));
    weft_test_ok(step(&b, queue, x, good, failed, &z, &fine));
    assert_non_null(y);
    for (int i = 0; i < 2; i++)
        weft_test_fails(weft_event_finish(failed), WEFT_DATA_ERROR,
                        "index 6 at position 3 is out of range for extent 6");
    weft_test_ok(weft_event_finish(fine));
    weft_test_fails(weft_queue_finish(queue), WEFT_DATA_ERROR, "index 6 at position 3");
    weft_test_ok(weft_queue_finish(queue));
    weft_array_release(z);
    z = NULL;
    weft_test_ok(step(&b, queue, x, at, NULL, &z, NULL)); /* dropped with the queue */
    weft_queue_destroy(queue);
    weft_event_release(failed);
    weft_event_release(fine);
    weft_array *const held[] = {x, y, z, at, good};
    for (size_t i = 0; i < 5; i++) weft_array_release(held[i]);
    close_bench(&b);
}

/* Up, through a run and down again, while the host goes on. */
static void copies_keep_the_order(void **state)
{
    const weft_dtype dtypes[] = {WEFT_F32, WEFT_I64};
    const int64_t count = 6;
    float x[6], found[6] = {0}, expected[6];
    int64_t at[6];
    (void)state;
    bench b;
    weft_queue *queue;
    weft_event *event;
    weft_array *host[2], *inputs[2], *y = NULL, *down, *backwards, *same;
    open_bench(&b, step_text);
    weft_test_ok(weft_queue_create(b.executor, "device", &queue));
    void *const data[] = {x, at};
    memcpy(x, x_data, sizeof x);
    memcpy(at, at_data, sizeof at);
    for (int i = 0; i < 2; i++) {
        weft_test_ok(weft_array_wrap(NULL, dtypes[i], 1, &count, NULL, data[i], NULL, NULL, &host[i]));
        weft_test_ok(weft_array_create_on(NULL, weft_test_device_runtime(b.device), dtypes[i], 1, &count, &inputs[i]));
        weft_test_ok(weft_queue_copy(queue, inputs[i], host[i], NULL));
        weft_array_release(host[i]);
    }
    weft_test_ok(step(&b, queue, inputs[0], inputs[1], NULL, &y, NULL));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 1, &count, NULL, found, NULL, NULL, &down));
    weft_test_ok(weft_array_view(y, 1, &count, (const int64_t[]){-1}, 5, &backwards));
    weft_test_ok(weft_queue_copy(queue, down, backwards, &event));
    assert_false(weft_event_is_done(event));
    assert_true(found[0] == 0);
    weft_test_ok(weft_event_finish(event));
    weft_event_release(event);
    memcpy(expected, x_data, sizeof x);
    step_on_host(expected);
    for (int i = 0; i < 6; i++) assert_true(found[i] == expected[5 - i]);
    /* What overlaps is done on the spot. */
    weft_test_ok(weft_array_view(y, 1, &count, NULL, 0, &same));
    weft_test_ok(weft_queue_copy(queue, same, backwards, &event));
    assert_true(weft_event_is_done(event));
    weft_event_release(event);
    fetch(y, found);
    for (int i = 0; i < 6; i++) assert_true(found[i] == expected[5 - i]);
    weft_test_fails(weft_queue_copy(queue, y, inputs[1], &event), WEFT_DTYPE_MISMATCH, "f32");
    assert_null(event);
    weft_test_device_fail(b.device, 1);
    weft_test_fails(weft_queue_copy(queue, down, y, &event), WEFT_INTERNAL, "lost");
    weft_test_device_fail(b.device, SIZE_MAX);
    weft_queue_destroy(queue);
    weft_array *const held[] = {inputs[0], inputs[1], y, down, backwards, same};
    for (size_t i = 0; i < 6; i++) weft_array_release(held[i]);
    close_bench(&b);
}

static void queued_runs_may_lose_the_device(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, everything);
    weft_array *const inputs[] = {make(&b, WEFT_F32, 6, x_data), make(&b, WEFT_I64, 6, at_data)};
    size_t calls = 0, told = 0;
    for (bool lost = true; lost; calls++) {
        weft_queue *queue;
        weft_event *event = (weft_event *)&b;
        weft_array *output = NULL;
        weft_executor_clear(b.executor);
        weft_test_ok(weft_queue_create(b.executor, "device", &queue));
        weft_test_device_fail(b.device, calls);
        weft_status *status = weft_executor_run(b.executor, b.program,
                                                &(weft_run){.input_count = 2,
                                                            .inputs = inputs,
                                                            .output_count = 1,
                                                            .outputs = &output,
                                                            .queue = queue,
                                                            .signal = &event});
        lost = status != NULL;
        assert_int_equal(output == NULL, lost);
        assert_int_equal(event == NULL, lost);
        if (lost) {
            weft_test_fails(status, WEFT_INTERNAL, "lost");
        } else {
            status = weft_event_finish(event);
            lost = status != NULL;
            told += lost;
            if (lost) weft_test_fails(status, WEFT_INTERNAL, "lost");
        }
        weft_test_device_fail(b.device, SIZE_MAX);
        weft_event_release(event);
        weft_array_release(output);
        weft_queue_destroy(queue);
    }
    assert_true(calls > 30 && told > 0);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    close_bench(&b);
}

typedef struct giver {
    const bench *b;
    weft_queue *queue;
    weft_array *x, *at;
    int wrong;
} giver;

static void *give(void *context)
{
    giver *g = context;
    for (int i = 0; i < 50; i++) {
        weft_array *y = NULL;
        weft_event *event = NULL;
        float found[6];
        weft_status *status = step(g->b, g->queue, g->x, g->at, NULL, &y, &event);
        if (status == NULL) status = weft_event_finish(event);
        g->wrong += status != NULL;
        weft_status_destroy(status);
        if (y != NULL) fetch(y, found);
        for (int j = 0; j < 6 && y != NULL; j++) g->wrong += found[j] != x_data[at_data[j]] + x_data[j];
        weft_event_release(event);
        weft_array_release(y);
    }
    return NULL;
}

static void threads_share_a_queue(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    giver givers[THREADS];
    (void)state;
    bench b;
    weft_queue *queue;
    open_bench(&b, step_text);
    weft_test_ok(weft_queue_create(b.executor, "device", &queue));
    weft_array *x = make(&b, WEFT_F32, 6, x_data), *at = make(&b, WEFT_I64, 6, at_data);
    for (int i = 0; i < THREADS; i++) {
        givers[i] = (giver){&b, queue, x, at, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, give, &givers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(givers[i].wrong, 0);
    }
    weft_queue_destroy(queue);
    weft_array_release(x);
    weft_array_release(at);
    close_bench(&b);
}

static void queues_are_checked(void **state)
{
    (void)state;
    bench b;
    weft_queue *queue, *other;
    weft_executor *executor;
    weft_array *y = NULL;
    weft_event *event = (weft_event *)&b;
    open_bench(&b, step_text);
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_ok(weft_queue_create(b.executor, "device", &queue));
    weft_test_ok(weft_queue_create(executor, NULL, &other));
    weft_test_fails(weft_queue_create(executor, "device", &queue), WEFT_NOT_REGISTERED, "\"device\"");
    weft_test_fails(weft_queue_create(NULL, NULL, &queue), WEFT_INVALID_ARGUMENT, "executor is NULL");
    weft_test_fails(weft_queue_finish(NULL), WEFT_INVALID_ARGUMENT, "queue is NULL");
    weft_test_fails(weft_event_finish(NULL), WEFT_INVALID_ARGUMENT, "event is NULL");
    weft_array *x = make(&b, WEFT_F32, 6, x_data), *at = make(&b, WEFT_I64, 6, at_data);
    weft_test_fails(step(&b, other, x, at, NULL, &y, &event), WEFT_INVALID_ARGUMENT,
                    "queue is one of another executor");
    assert_null(event);
    weft_array *const inputs[] = {x, at};
    weft_run run = {.input_count = 2,
                    .inputs = inputs,
                    .output_count = 1,
                    .outputs = &y,
                    .queue = queue,
                    .runtime = "llvm",
                    .signal = &event};
    weft_test_fails(weft_executor_run(b.executor, b.program, &run), WEFT_INVALID_ARGUMENT,
                    "the run is for runtime \"llvm\", but its queue is one of \"device\"");
    run.runtime = NULL;
    run.wait_count = 1;
    weft_test_fails(weft_executor_run(b.executor, b.program, &run), WEFT_INVALID_ARGUMENT,
                    "events to wait for is NULL");
    run.waits = &(weft_event *const){NULL};
    weft_test_fails(weft_executor_run(b.executor, b.program, &run), WEFT_INVALID_ARGUMENT,
                    "event 0 to wait for is NULL");
    run.wait_count = 0;
    event = (weft_event *)&b;
    run.named_inputs = WEFT_NAMED({"x", x}, {"z", at});
    weft_test_fails(weft_executor_run(b.executor, b.program, &run), WEFT_INVALID_ARGUMENT, "both by name and in order");
    assert_null(event);
    run.named_inputs.count = 0;
    run.input_count = 1;
    weft_test_fails(weft_executor_run(b.executor, b.program, &run), WEFT_INVALID_ARGUMENT, "the number of inputs is 1");
    weft_event_release(NULL);
    weft_queue_destroy(NULL);
    weft_queue_destroy(queue);
    weft_queue_destroy(other);
    weft_executor_destroy(executor);
    weft_array_release(x);
    weft_array_release(at);
    close_bench(&b);
}

/* ---- memory ---- */

static weft_status *run_short_of_memory(const weft_allocator *allocator, void *context)
{
    const bench *b = context;
    weft_executor *executor = NULL;
    weft_queue *queue = NULL;
    weft_event *event = NULL;
    weft_array *inputs[2], *output = NULL;
    inputs[0] = make(b, WEFT_F32, 6, x_data);
    inputs[1] = make(b, WEFT_I64, 6, at_data);
    weft_status *status =
        weft_executor_create(&(weft_executor_options){.threads = 1, .allocator = allocator}, &executor);
    if (status == NULL) status = weft_executor_register_runtime(executor, weft_test_device_runtime(b->device));
    if (status == NULL) status = weft_queue_create(executor, NULL, &queue);
    if (status == NULL)
        status = weft_executor_run(executor, b->program,
                                   &(weft_run){.input_count = 2,
                                               .inputs = inputs,
                                               .output_count = 1,
                                               .outputs = &output,
                                               .queue = queue,
                                               .signal = &event});
    if (status == NULL) status = weft_event_finish(event);
    weft_event_release(event);
    weft_array_release(output);
    weft_queue_destroy(queue);
    weft_executor_destroy(executor);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, everything);
    assert_true(weft_test_fail_each(run_short_of_memory, &b) > 50);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_agree_with_those_of_the_host),
        cmocka_unit_test(arrays_are_of_a_runtime),
        cmocka_unit_test(the_device_may_be_lost_at_any_call),
        cmocka_unit_test(errors_name_their_iteration),
        cmocka_unit_test(a_failed_update_leaves_the_input),
        cmocka_unit_test(steps_are_profiled),
        cmocka_unit_test(tables_are_whole),
        cmocka_unit_test(runs_follow_each_other),
        cmocka_unit_test(queues_wait_for_each_other),
        cmocka_unit_test(bad_data_are_told_at_the_end),
        cmocka_unit_test(copies_keep_the_order),
        cmocka_unit_test(queued_runs_may_lose_the_device),
        cmocka_unit_test(threads_share_a_queue),
        cmocka_unit_test(queues_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
