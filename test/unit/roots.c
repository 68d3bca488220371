/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Square roots of f64 by generated code, which may compute them by products, against those of the processor: numbers
 * whose roots are as near to the middle of two numbers as any are, and what branches lead to.
 */
#include "test/rng.h"
#include "test/support.h"
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <weft/weft.h>

enum { BLOCK = 1 << 16 };

static weft_executor *executor;
static weft_program *program;
static weft_array *in, *out;

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Takes the roots of the block and checks each: NaN has any sign. */
static void check_block(void)
{
    const weft_run run = {.runtime = "llvm", .input_count = 1, .inputs = &in, .output_count = 1, .outputs = &out};
    weft_test_ok(weft_executor_run(executor, program, &run));
    const double *from = weft_array_data(in), *to = weft_array_data(out);
    for (size_t i = 0; i < BLOCK; i++) {
        double root = sqrt(from[i]);
        bool equal = isnan(root) ? isnan(to[i]) : bits_of(root) == bits_of(to[i]);
        if (!equal) fail_msg("the root of %a is %a, not %a", from[i], to[i], root);
    }
}

static void fill(double value)
{
    double *from = weft_array_data(in);
    for (size_t i = 0; i < BLOCK; i++) from[i] = value;
}

/* 1 + u and 4 - 2 u, their neighbours, and all of these times powers of four, down to where they round. */
static void test_next_to_powers_of_four(void **state)
{
    enum { AROUND = 8 };
    double *from = weft_array_data(in);
    size_t count = 0;
    (void)state;
    fill(1);
    for (int exponent = -1074; exponent <= 1022; exponent += 2)
        for (int i = 0; i < 2 * AROUND; i++)
            from[count++] = ldexp(from_bits(bits_of(i % 2 == 0 ? 1 : 4) + (uint64_t)(i - AROUND)), exponent);
    assert_true(count <= BLOCK);
    check_block();
}

/* Next to the squares of numbers in the middle of two. */
static void test_next_to_squares_of_middles(void **state)
{
    double *from = weft_array_data(in);
    uint64_t random = 1;
    (void)state;
    for (int block = 0; block < 64; block++) {
        for (size_t i = 0; i < BLOCK; i++) {
            uint64_t bits = weft_test_bits(&random);
            double below = from_bits(bits_of(1) + (bits >> 12)), half = 0x1p-53;
            from[i] = from_bits(bits_of(fma(below, below, 2 * half * below)) + (bits >> 9 & 3) - 1);
        }
        check_block();
    }
}

/* One number, in any lane, that products do not do, among others that they do. */
static void test_branches(void **state)
{
    static const double specials[] = {
        0.0, -0.0, -1.0, INFINITY, -INFINITY, NAN, 0x1p-1074, 0x1p-960, 0x1p-961, 0x1.1p-1022, 0x1.fffffffffffffp1023};
    double *from = weft_array_data(in);
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (size_t lane = 0; lane < 128; lane += 5) {
            fill(2);
            from[lane] = specials[i];
            check_block();
        }
    for (size_t i = 0; i < BLOCK; i++) from[i] = specials[i * i % (sizeof specials / sizeof *specials)];
    check_block();
}

static int start(void **state)
{
    weft_graph *graph;
    const int64_t shape[] = {BLOCK};
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F64, WEFT_SHAPE(BLOCK));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_sqrt(x)), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 1, shape, &in));
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 1, shape, &out));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    return 0;
}

static int end(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    weft_array_release(in);
    weft_array_release(out);
    weft_program_release(program);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_next_to_powers_of_four),
                                       cmocka_unit_test(test_next_to_squares_of_middles),
                                       cmocka_unit_test(test_branches)};
    return cmocka_run_group_tests(tests, start, end);
}
