/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding f32 to bf16 by generated code: rounding [all]. Around every bf16 and around the middle of every two, with
 * `all` on every f32 there is, against a rule of its own: the nearer of the two candidates, the even one of two that
 * are equally near.
 */
#include "test/support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { BLOCK = 1 << 20 };

static weft_executor *executor;
static weft_program *program;
static weft_array *in, *out;
static bool exhaustive;

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By distances, which doubles have without rounding. */
static uint16_t nearest(uint32_t bits)
{
    uint32_t size = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 31 << 15), low = (uint16_t)(size >> 16);
    if (size > 0x7f800000) return (uint16_t)(sign | low | 0x40);
    if (size == 0x7f800000) return (uint16_t)(sign | low);
    double x = (double)from_bits(size), below = (double)from_bits((uint32_t)low << 16);
    /* What comes after the greatest number counts as the next power of two. */
    double above = low == 0x7f7f ? 0x1p128 : (double)from_bits((uint32_t)(low + 1) << 16);
    bool up = x - below > above - x || (x - below == above - x && low % 2 == 1);
    return (uint16_t)(sign | (low + up));
}

/* Rounds the block and checks every element. */
static void check_block(void)
{
    const weft_run run = {.runtime = "llvm", .input_count = 1, .inputs = &in, .output_count = 1, .outputs = &out};
    weft_test_ok(weft_executor_run(executor, program, &run));
    const uint32_t *from = weft_array_data(in);
    const uint16_t *to = weft_array_data(out);
    for (size_t i = 0; i < BLOCK; i++)
        if (to[i] != nearest(from[i])) fail_msg("%#x becomes %#x, not %#x", from[i], to[i], nearest(from[i]));
}

/* The code of each bf16 with what lies on, next to and between the places where rounding turns. */
static void test_turning_points(void **state)
{
    static const uint32_t rests[] = {0,      1,      2,      0x3fff, 0x7ffe, 0x7fff, 0x8000, 0x8001,
                                     0x8002, 0xbfff, 0xfffe, 0xffff, 0x1234, 0x5678, 0x9abc, 0xdef0};
    uint32_t *from = weft_array_data(in);
    (void)state;
    _Static_assert(BLOCK == 65536 * (sizeof rests / sizeof *rests), "one block has them all");
    for (uint32_t i = 0; i < BLOCK; i++) from[i] = i / 16 << 16 | rests[i % 16];
    check_block();
}

static void test_all(void **state)
{
    uint32_t *from = weft_array_data(in);
    (void)state;
    for (uint64_t block = 0; exhaustive && block < (UINT64_C(1) << 32) / BLOCK; block++) {
        for (uint32_t i = 0; i < BLOCK; i++) from[i] = (uint32_t)(block * BLOCK) + i;
        check_block();
    }
}

static int start(void **state)
{
    weft_graph *graph;
    const int64_t shape[] = {BLOCK};
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(BLOCK));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_cast(x, WEFT_BF16)), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, shape, &in));
    weft_test_ok(weft_array_create(NULL, WEFT_BF16, 1, shape, &out));
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turning_points), cmocka_unit_test(test_all)};
    exhaustive = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, start, end);
}
