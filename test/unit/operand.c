/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as operands: which dtype they take, what is exact, what is refused. */
#include <math.h>
#include <string.h>
#include <weft/weft.h>
#include "test/support.h"
#include "test/traced.h"

static weft_graph *graph;
static weft_executor *executor;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    weft_graph_destroy(graph);
    return 0;
}

static weft_tensor constant(weft_dtype dtype, const void *data)
{
    return weft_constant(graph, dtype, WEFT_INTS(), data);
}

static weft_tensor f32(float value)
{
    return constant(WEFT_F32, &value);
}

static weft_tensor i64(int64_t value)
{
    return constant(WEFT_I64, &value);
}

/* The program of `output` computes `wanted`, `size` bytes. */
static void expect(weft_tensor output, const void *wanted, size_t size)
{
    weft_program *program;
    weft_array *result = NULL;
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(output), NULL, &program));
    weft_test_ok(
        weft_executor_run(executor, program, &(weft_run){.runtime = "ref", .output_count = 1, .outputs = &result}));
    assert_int_equal(size, weft_dtype_size(weft_array_dtype(result)) * (size_t)weft_array_count(result));
    assert_memory_equal(weft_array_data(result), wanted, size);
    weft_array_release(result);
    weft_program_release(program);
}

#define EXPECT(type, output, ...)                                                                                      \
    do {                                                                                                               \
        const type wanted_[] = {__VA_ARGS__};                                                                          \
        expect(output, wanted_, sizeof wanted_);                                                                       \
    } while (0)

static void expect_error(weft_tensor tensor, weft_code code, const char *message)
{
    weft_test_refused(graph, tensor, code, "operand.c:", message);
}

static void numbers_stand_on_either_side(void **state)
{
    (void)state;
    EXPECT(float, weft_sub(f32(3), 1), 2);
    EXPECT(float, weft_sub(1, f32(3)), -2);
    EXPECT(float, weft_pow(2.0f, f32(3)), 8);
    EXPECT(float, weft_max(weft_min(weft_add(weft_mul(f32(3), 2), 0.5), 6.25L > 6 ? 6.25 : 0), 'a' - 97), 6.25f);
    EXPECT(float, weft_atan2(0, f32(1)), 0);
    EXPECT(float, weft_copysign(f32(3), -1.0), -3);
    EXPECT(bool, weft_lt(f32(3), 3.5), true);
    EXPECT(bool, weft_ge(3, f32(3.5f)), false);
    EXPECT(int64_t, weft_shift_left(i64(3), (unsigned char)2), 12);
    EXPECT(int64_t, weft_remainder(-1, i64(5)), 4);
    EXPECT(int64_t, weft_xor(i64(6), 3u), 5);
    EXPECT(float, weft_complex(f32(1), 2), 1, 2);
    EXPECT(float, weft_clamp(f32(9), 0, 6), 6);
    EXPECT(float, weft_clamp(9, f32(0), 6), 6);
    EXPECT(float, weft_lerp(2, f32(4), 0.5), 3);
    EXPECT(bool, weft_is_close(f32(1), 1.0001, 0.01, 0), true);
    EXPECT(bool, weft_logical_and(f32(2), 0), false);
    EXPECT(float, weft_pad(weft_reshape(f32(1), WEFT_SHAPE(1)), 7, WEFT_SHAPE(1), WEFT_SHAPE(0)), 7, 1);
    EXPECT(float, weft_set_at(weft_zeros(graph, WEFT_F32, WEFT_SHAPE(3)), 2.5, 1), 0, 2.5f, 0);
    EXPECT(int64_t, weft_add_at(weft_iota(graph, WEFT_I64, WEFT_SHAPE(3), 0), 5, WEFT_RANGE(1, 3)), 0, 6, 7);
}

static void choices_take_the_dtype_of_the_chosen(void **state)
{
    (void)state;
    weft_tensor condition = constant(WEFT_BOOL, &(bool){true});
    EXPECT(int64_t, weft_select(condition, 7, i64(1)), 7);
    EXPECT(int64_t, weft_select(condition, i64(1), 7), 1);
    expect_error(weft_select(condition, 1, 0), WEFT_INVALID_ARGUMENT,
                 "select: operand 1 is a number, but no tensor gives its dtype");
    expect_error(weft_select(1, i64(1), 0), WEFT_INVALID_ARGUMENT,
                 "select: operand 0 is a number, but no tensor gives its dtype");
    assert_null(weft_add(1, 2).graph);
}

static void integers_are_exact(void **state)
{
    (void)state;
    EXPECT(int64_t, weft_max(i64(0), INT64_MAX), INT64_MAX);
    EXPECT(int64_t, weft_min(i64(0), INT64_MIN), INT64_MIN);
    EXPECT(int64_t, weft_add(i64(0), 9007199254740993), 9007199254740993);
    EXPECT(int64_t, weft_add(i64(1), 2.0), 3);
    EXPECT(uint8_t, weft_add(constant(WEFT_U8, &(uint8_t){1}), 254), 255);
    EXPECT(uint32_t, weft_max(constant(WEFT_U32, &(uint32_t){1}), UINT32_MAX), UINT32_MAX);
    EXPECT(int32_t, weft_min(constant(WEFT_I32, &(int32_t){1}), INT32_MIN), INT32_MIN);
    EXPECT(bool, weft_or(constant(WEFT_BOOL, &(bool){false}), true), true);
    EXPECT(float, weft_add(f32(0), 16777217), 16777216);
    EXPECT(double, weft_add(constant(WEFT_F64, &(double){0}), UINT64_MAX), 18446744073709551616.0);
}

/* The middle of two neighbours a little up or down, by less than a double of that size could say. */
static void integers_are_rounded_once(void **state)
{
    (void)state;
    const uint16_t zero = 0;
    weft_tensor bf16 = constant(WEFT_BF16, &zero), f16 = constant(WEFT_F16, &zero);
    const int64_t two_62 = INT64_C(1) << 62, half = INT64_C(1) << 54;
    EXPECT(uint16_t, weft_add(bf16, two_62 + half), 0x5e80);
    EXPECT(uint16_t, weft_add(bf16, two_62 + half + 1), 0x5e81);
    EXPECT(uint16_t, weft_add(bf16, -(two_62 + half + 1)), 0xde81);
    EXPECT(uint16_t, weft_add(bf16, two_62 + 3 * half), 0x5e82);
    EXPECT(uint16_t, weft_add(bf16, two_62 + 3 * half - 1), 0x5e81);
    EXPECT(uint16_t, weft_add(bf16, (UINT64_C(3) << 62) + 2 * (uint64_t)half + 1), 0x5f41);
    EXPECT(uint16_t, weft_add(bf16, INT64_MIN), 0xdf00);
    EXPECT(uint16_t, weft_add(f16, 2049), 0x6800);
    EXPECT(uint16_t, weft_add(f16, -2051), 0xe802);
    const int64_t small = INT64_C(1) << 38;
    EXPECT(float, weft_add(f32(0), two_62 + small), 0x1p62f);
    EXPECT(float, weft_add(f32(0), two_62 + small + 1), 0x1.000002p62f);
    EXPECT(float, weft_add(f32(0), -(two_62 + 3 * small - 1)), -0x1.000002p62f);
    EXPECT(double, weft_add(constant(WEFT_F64, &(double){0}), two_62 + 513), 0x1.0000000000001p62);
}

static void what_is_not_held_is_refused(void **state)
{
    (void)state;
    weft_tensor u8 = constant(WEFT_U8, &(uint8_t){1}), f16 = constant(WEFT_F16, &(uint16_t){0});
    expect_error(weft_add(u8, 256), WEFT_OUT_OF_RANGE, "add: operand 1 is 256, which u8 cannot hold");
    expect_error(weft_mul(-1, u8), WEFT_OUT_OF_RANGE, "mul: operand 0 is -1, which u8 cannot hold");
    expect_error(weft_mul(u8, 2.5), WEFT_OUT_OF_RANGE, "mul: operand 1 is 2.5, which u8 cannot hold");
    expect_error(weft_mul(i64(1), NAN), WEFT_OUT_OF_RANGE, "mul: operand 1 is nan, which i64 cannot hold");
    expect_error(weft_mul(i64(1), 0x1p63), WEFT_OUT_OF_RANGE,
                 "mul: operand 1 is 9.22337204e+18, which i64 cannot hold");
    expect_error(weft_eq(i64(1), UINT64_MAX), WEFT_OUT_OF_RANGE,
                 "eq: operand 1 is 18446744073709551615, which i64 cannot hold");
    expect_error(weft_and(constant(WEFT_BOOL, &(bool){0}), 2), WEFT_OUT_OF_RANGE,
                 "and: operand 1 is 2, which bool cannot hold");
    expect_error(weft_add(f32(0), 1e39), WEFT_OUT_OF_RANGE, "add: operand 1 is 1e+39, which f32 cannot hold");
    expect_error(weft_add(f16, 65520), WEFT_OUT_OF_RANGE, "add: operand 1 is 65520, which f16 cannot hold");
    expect_error(weft_clamp(u8, 0, 300), WEFT_OUT_OF_RANGE, "clamp: operand 2 is 300, which u8 cannot hold");
    expect_error(weft_set_at(weft_reshape(u8, WEFT_SHAPE(1)), 300, 0), WEFT_OUT_OF_RANGE,
                 "index_update: operand 1 is 300, which u8 cannot hold");
    EXPECT(uint16_t, weft_add(f16, 65519), 0x7bff);
    EXPECT(float, weft_min(f32(1), -INFINITY), -INFINITY);
    EXPECT(bool, weft_is_nan(weft_add(f32(1), NAN)), true);
}

static void double_it(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *around = context;
    out_next[0] = weft_add(weft_mul(2, carried[0]), weft_select(weft_eq(index, 1), 100, *around));
}

static void numbers_in_bodies(void **state)
{
    (void)state;
    weft_tensor around = f32(1);
    EXPECT(float, weft_fold(weft_extent_of(3), WEFT_TENSORS(f32(1)), double_it, &around, NULL), 213);
}

/* A failed operand fails the call without another error, and operands are evaluated once. */
static void operands_are_evaluated_once(void **state)
{
    (void)state;
    int count = 0;
    EXPECT(float, weft_add(f32((float)++count), ++count), 3);
    assert_int_equal(count, 2);
    weft_tensor failed = weft_add(f32(1), i64(1));
    assert_false(weft_tensor_is_valid(weft_mul(failed, 300)));
    expect_error(failed, WEFT_DTYPE_MISMATCH, "add: operand 1 has dtype i64 but operand 0 has f32; cast explicitly");
}

int main(void)
{
#define IN_FIXTURE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(numbers_stand_on_either_side),
        IN_FIXTURE(choices_take_the_dtype_of_the_chosen),
        IN_FIXTURE(integers_are_exact),
        IN_FIXTURE(integers_are_rounded_once),
        IN_FIXTURE(what_is_not_held_is_refused),
        IN_FIXTURE(numbers_in_bodies),
        IN_FIXTURE(operands_are_evaluated_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
