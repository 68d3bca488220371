/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a machine: its bounds, what is estimated with it, and that it changes no bits. */
#include <math.h>
#include <string.h>
#include <weft/weft.h>
#include "runtime/base/machine.h"
#include "runtime/engine/gemm.h"
#include "test/support.h"

/* ---- bounds ---- */

static void refuses(const weft_machine *machine, const char *message)
{
    weft_executor *executor = NULL;
    weft_test_fails(weft_machine_check(machine), WEFT_INVALID_ARGUMENT, message);
    weft_test_fails(weft_executor_create(&(weft_executor_options){.machine = machine}, &executor),
                    WEFT_INVALID_ARGUMENT, message);
    assert_null(executor);
}

static void members_have_bounds(void **state)
{
    (void)state;
    const double rates[] = {0, 0.5, -1, 2e18, NAN, INFINITY}, times[] = {-1e-9, 1.5, NAN, INFINITY};
    weft_machine m = *weft_machine_reference();
    double *const of_rates[] = {&m.operations,       &m.cache_bandwidth,  &m.sort_rate,        &m.bandwidth,
                                &m.product_rates[0], &m.product_rates[3], &m.product_rates[2], &m.product_rates[1]};
    double *const of_times[] = {&m.dispatch_seconds, &m.fork_join_seconds};
    weft_test_ok(weft_machine_check(&m));
    for (size_t i = 0; i < sizeof of_rates / sizeof *of_rates; i++)
        for (size_t j = 0; j < sizeof rates / sizeof *rates; j++) {
            double before = *of_rates[i];
            *of_rates[i] = rates[j];
            refuses(&m, "not a number from 1 to 1e+18");
            *of_rates[i] = before;
        }
    for (size_t i = 0; i < sizeof of_times / sizeof *of_times; i++)
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) {
            double before = *of_times[i];
            *of_times[i] = times[j];
            refuses(&m, "not a number from 0 to 1");
            *of_times[i] = before;
        }
    weft_test_ok(weft_machine_check(&m));
}

#define REFUSES(member, value)                                                                                         \
    do {                                                                                                               \
        weft_machine m = *weft_machine_reference();                                                                    \
        m.member = (value);                                                                                            \
        refuses(&m, #member " of the machine is " #value ", not");                                                     \
    } while (0)

static void sizes_have_bounds(void **state)
{
    (void)state;
    REFUSES(size, 8);
    REFUSES(device, 0);
    REFUSES(device, 3);
    REFUSES(vector_bytes, 0);
    REFUSES(vector_bytes, 48);
    REFUSES(vector_bytes, 8);
    REFUSES(vector_bytes, 128);
    REFUSES(registers, 7);
    REFUSES(registers, 2000);
    REFUSES(line_bytes, 8);
    REFUSES(line_bytes, 96);
    REFUSES(line_bytes, 2048);
    REFUSES(cache_bytes[0], 4095);
    REFUSES(cache_bytes[1], 0);
    REFUSES(cache_bytes[1], 1073741825);
    REFUSES(threads, 0);
    REFUSES(threads, 1025);
}

static void the_host_is_a_machine(void **state)
{
    (void)state;
    const weft_machine *host = weft_machine_host();
    weft_test_ok(weft_machine_check(host));
    assert_ptr_equal(host, weft_machine_host());
    assert_int_equal(host->vector_bytes, weft_isa_vector_bytes());
    weft_machine longer[2] = {*host};
    longer[0].size = sizeof longer; /* of a later version */
    weft_test_ok(weft_machine_check(longer));
    longer[0].size = 0;
    weft_test_ok(weft_machine_check(longer));
    weft_test_fails(weft_machine_check(NULL), WEFT_INVALID_ARGUMENT, "machine is NULL");
}

static void executors_run_on_a_cpu(void **state)
{
    (void)state;
    weft_executor *executor = NULL;
    weft_machine gpu = *weft_machine_reference();
    gpu.device = WEFT_DEVICE_CUDA;
    weft_test_ok(weft_machine_check(&gpu));
    weft_test_fails(weft_executor_create(&(weft_executor_options){.machine = &gpu}, &executor), WEFT_INVALID_ARGUMENT,
                    "the machine is device 2, not the CPU");
    assert_null(executor);
}

/* ---- estimates ---- */

static void grains_cover_iterations(void **state)
{
    (void)state;
    const int64_t iterations[] = {1, 2, 1000, 100000, INT64_MAX}, work[] = {0, 1, 7, 5000, 1 << 20, INT64_MAX};
    const double seconds[] = {0, 1e-7, 2e-6, 1};
    for (size_t r = 0; r < 4; r++) {
        weft_machine m = *weft_machine_reference();
        m.fork_join_seconds = seconds[r];
        for (size_t i = 0; i < sizeof iterations / sizeof *iterations; i++)
            for (size_t w = 0; w < sizeof work / sizeof *work; w++) {
                int64_t grain = weft_machine_grain(&m, iterations[i], work[w]);
                assert_true(grain >= 1);
                assert_true(seconds[r] > 0 || grain == 1);
            }
    }
    const weft_machine *m = weft_machine_reference();
    assert_int_equal(weft_machine_grain(m, 1000, 100), 1000); /* too little for two threads */
    assert_int_equal(weft_machine_grain(m, 10000, 100), 320);
    assert_int_equal(weft_machine_grain(m, 10, 1 << 20), 1);
}

static void products_take_what_their_rate_says(void **state)
{
    (void)state;
    const weft_machine *m = weft_machine_reference();
    double one = weft_machine_product_ns(m, WEFT_F32, 100, 100, 100);
    assert_true(fabs(one - 1e9 * 1e6 / (m->product_rates[3] / 2)) < 1e-6 * one);
    assert_true(fabs(weft_machine_product_ns(m, WEFT_F64, 100, 100, 100) - 2 * one) < 1e-6 * one);
    assert_true(fabs(weft_machine_product_ns(m, WEFT_C64, 100, 100, 100) - 4 * one) < 1e-6 * one);
    assert_true(weft_machine_product_ns(m, WEFT_F32, 3, 1e4, 1e3) >
                10 * weft_machine_product_ns(m, WEFT_F32, 300, 100, 1e3));
    const weft_gemm_call call = {.dtype = WEFT_F32, .m = 512, .n = 512, .k = 512};
    const weft_gemm_engine *engine = weft_gemm_engine_find(weft_isa_level(), WEFT_F32);
    double alone = weft_gemm_estimate(engine, m, &call, 1), together = weft_gemm_estimate(engine, m, &call, 2);
    assert_true(together > alone / 2 && together < alone / 1.9);
    const weft_gemm_call little = {.dtype = WEFT_F32, .m = 30, .n = 30, .k = 30};
    assert_true(weft_gemm_estimate(engine, m, &little, 1) == weft_gemm_estimate(engine, m, &little, 8));
    /* Tiles that are multiplied at once are faster. */
    const weft_gemm_call halves = {.dtype = WEFT_BF16, .m = 512, .n = 512, .k = 512};
    const weft_gemm_engine *plain = weft_gemm_engine_find(weft_isa_level(), WEFT_BF16);
    const weft_gemm_engine *fast = weft_gemm_engine_find_here(weft_isa_level(), WEFT_BF16, true);
    assert_true((fast != plain) ==
                (weft_gemm_estimate(fast, m, &halves, 1) < weft_gemm_estimate(plain, m, &halves, 1)));
    assert_true(weft_machine_kernel_ns(m, 32, 0) == 1 && weft_machine_kernel_ns(m, 0, 40) == 1);
}

/* ---- bits ---- */

enum { RESULTS = 6, COUNT = 131072 };

/* Permutes, computes, sums, multiplies matrices and sorts: what schedules and cuts differ for. */
static weft_program *trace_all(weft_dtype dtype)
{
    weft_graph *graph;
    weft_program *program;
    bool ordered = dtype != WEFT_C64 && dtype != WEFT_C128;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_cast(weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(4, 8, 4, 8, 4, 8, 4)), dtype);
    weft_tensor flat = weft_reshape(x, WEFT_SHAPE(256, 512));
    weft_tensor part = weft_slice(flat, WEFT_SHAPE(1, 2), WEFT_SHAPE(251, 509), WEFT_INTS(1, 1));
    weft_tensor turned = weft_permute(x, WEFT_INTS(6, 1, 4, 3, 2, 5, 0));
    weft_tensor product = weft_matmul(flat, weft_permute(flat, WEFT_INTS(1, 0)));
    weft_tensor sums = weft_reduce_sum(weft_mul(flat, flat), WEFT_INTS(0), false);
    weft_tensor rows = weft_reduce_prod(flat, WEFT_INTS(1), false);
    weft_test_ok(weft_compile(graph,
                              WEFT_TENSORS(turned, weft_transpose(part, 0, 1), product, sums, rows,
                                           ordered ? weft_sort(flat, 1, false) : weft_mul(flat, flat)),
                              NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

static void run(const weft_machine *machine, unsigned threads, weft_program *program, weft_array *x,
                weft_array **out_results)
{
    weft_executor *executor;
    weft_executor_options options = {.threads = threads, .machine = machine};
    weft_test_ok(weft_executor_create_standard(&options, &executor));
    weft_run call = {.input_count = 1, .inputs = &x, .output_count = RESULTS, .outputs = out_results};
    weft_test_ok(weft_executor_run(executor, program, &call));
    weft_executor_destroy(executor);
}

static void check_bits(weft_dtype dtype, const weft_machine *machines, size_t count, weft_array *x)
{
    weft_program *program = trace_all(dtype);
    weft_array *expected[RESULTS] = {NULL};
    run(NULL, 1, program, x, expected);
    for (size_t i = 0; i < 2 * count; i++) {
        weft_array *found[RESULTS] = {NULL};
        run(&machines[i / 2], 1 + i % 2, program, x, found);
        for (size_t y = 0; y < RESULTS; y++) {
            size_t bytes = (size_t)weft_array_count(found[y]) * weft_dtype_size(weft_array_dtype(found[y]));
            assert_memory_equal(weft_array_data(found[y]), weft_array_data(expected[y]), bytes);
            weft_array_release(found[y]);
        }
    }
    for (size_t y = 0; y < RESULTS; y++) weft_array_release(expected[y]);
    weft_program_release(program);
}

static void machines_compute_the_same_bits(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_U8, WEFT_I64, WEFT_C64, WEFT_C128};
    weft_machine machines[4];
    for (size_t i = 0; i < 4; i++) machines[i] = *weft_machine_reference();
    machines[0].cache_bytes[0] = machines[0].cache_bytes[1] = 4096;
    machines[0].line_bytes = 16;
    machines[0].registers = 8;
    machines[1].cache_bytes[0] = machines[1].cache_bytes[1] = 1 << 30;
    machines[1].line_bytes = 1024;
    machines[1].registers = 1024;
    machines[2].vector_bytes = 16;
    machines[2].fork_join_seconds = 0;
    machines[3].vector_bytes = 64;
    machines[3].line_bytes = 1024;
    machines[3].fork_join_seconds = 1;
    weft_array *x;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 7, (const int64_t[]){4, 8, 4, 8, 4, 8, 4}, &x));
    for (int i = 0; i < COUNT; i++) ((float *)weft_array_data(x))[i] = (float)(i * 7919 % 10007) / 100;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) check_bits(dtypes[d], machines, 4, x);
    weft_array_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_have_bounds),
        cmocka_unit_test(sizes_have_bounds),
        cmocka_unit_test(the_host_is_a_machine),
        cmocka_unit_test(executors_run_on_a_cpu),
        cmocka_unit_test(grains_cover_iterations),
        cmocka_unit_test(products_take_what_their_rate_says),
        cmocka_unit_test(machines_compute_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
