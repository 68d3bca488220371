/* SPDX-License-Identifier: Apache-2.0 */
/* The reference backend against values computed by hand. */
#include "backends/ref/ref.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>
#include "test/support.h"

/* ---- a world: a graph, an executor that has only the reference, and the arrays behind the inputs ---- */

enum { INPUT_LIMIT = 12 };

struct world {
    weft_graph *graph;
    weft_executor *executor;
    weft_extent n; /* a symbol of the range [0, 64] */
    size_t count;
    char names[INPUT_LIMIT][8];
    weft_array *arrays[INPUT_LIMIT];
};

static int open_world(void **state)
{
    static struct world world;
    world = (struct world){.count = 0};
    weft_test_ok(weft_graph_create(NULL, &world.graph));
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 1}, &world.executor));
    weft_test_ok(weft_executor_register_runtime(world.executor, weft_runtime_reference()));
    world.n = weft_symbol(world.graph, "n", 0, 64);
    *state = &world;
    return 0;
}

static int close_world(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < world->count; i++) weft_array_release(world->arrays[i]);
    weft_executor_destroy(world->executor);
    weft_graph_destroy(world->graph);
    return 0;
}

/* An input of `shape` bound to `array`, which the world takes. */
static weft_tensor bind(struct world *world, weft_shape shape, weft_array *array)
{
    assert_true(world->count < INPUT_LIMIT);
    char *name = world->names[world->count];
    snprintf(name, sizeof world->names[0], "x%zu", world->count);
    world->arrays[world->count++] = array;
    return weft_input(world->graph, name, weft_array_dtype(array), shape);
}

/* An input of fixed extents with a copy of `data`. */
static weft_tensor given(struct world *world, weft_dtype dtype, weft_ints shape, const void *data)
{
    weft_array *array;
    weft_extent extents[WEFT_MAX_RANK];
    weft_test_ok(weft_array_create(NULL, dtype, shape.count, shape.items, &array));
    size_t size = (size_t)weft_array_count(array) * weft_dtype_size(dtype);
    if (size > 0) memcpy(weft_array_data(array), data, size);
    for (size_t i = 0; i < shape.count; i++) extents[i] = weft_extent_of(shape.items[i]);
    return bind(world, (weft_shape){shape.count, extents}, array);
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define BOOLS(shape, ...) given(world, WEFT_BOOL, shape, (const uint8_t[]){__VA_ARGS__})
#define U8S(shape, ...) given(world, WEFT_U8, shape, (const uint8_t[]){__VA_ARGS__})
#define I32S(shape, ...) given(world, WEFT_I32, shape, (const int32_t[]){__VA_ARGS__})
#define I64S(shape, ...) given(world, WEFT_I64, shape, (const int64_t[]){__VA_ARGS__})
#define F16S(shape, ...) given(world, WEFT_F16, shape, (const uint16_t[]){__VA_ARGS__})
#define BF16S(shape, ...) given(world, WEFT_BF16, shape, (const uint16_t[]){__VA_ARGS__})
#define F32S(shape, ...) given(world, WEFT_F32, shape, (const float[]){__VA_ARGS__})
#define F64S(shape, ...) given(world, WEFT_F64, shape, (const double[]){__VA_ARGS__})
#define C64S(shape, ...) given(world, WEFT_C64, shape, (const float[]){__VA_ARGS__})

static weft_array *find_array(const struct world *world, const char *name)
{
    for (size_t i = 0; i < world->count; i++)
        if (strcmp(world->names[i], name) == 0) return world->arrays[i];
    return NULL;
}

static weft_status *run_program(struct world *world, weft_program *program, size_t count, weft_array **outputs)
{
    weft_array *inputs[INPUT_LIMIT];
    size_t input_count = weft_program_input_count(program);
    for (size_t i = 0; i < input_count; i++) inputs[i] = find_array(world, weft_program_input_name(program, i));
    return weft_executor_run(world->executor, program,
                             &(weft_run){.input_count = input_count,
                                         .inputs = inputs,
                                         .output_count = count,
                                         .outputs = outputs,
                                         .extent_count = 0});
}

static weft_status *run(struct world *world, weft_tensors results, weft_array **outputs)
{
    /* No passes: every op is to reach the backend as it was traced. */
    const weft_policy policy = {.size = sizeof policy, .passes = ""};
    weft_program *program;
    WEFT_TRY(weft_compile(world->graph, results, &policy, &program));
    weft_status *status = run_program(world, program, results.count, outputs);
    weft_program_release(program);
    return status;
}

static weft_array *compute(struct world *world, weft_tensor result)
{
    weft_array *output = NULL;
    weft_test_ok(run(world, WEFT_TENSORS(result), &output));
    return output;
}

/* Computes `result` and compares its shape and bytes. */
static void want(struct world *world, weft_tensor result, weft_dtype dtype, weft_ints shape, const void *expected)
{
    weft_array *output = compute(world, result);
    assert_int_equal(weft_array_dtype(output), dtype);
    assert_int_equal(weft_array_rank(output), shape.count);
    for (size_t i = 0; i < shape.count; i++) assert_int_equal(weft_array_shape(output)[i], shape.items[i]);
    size_t size = (size_t)weft_array_count(output) * weft_dtype_size(dtype);
    if (size > 0) assert_memory_equal(weft_array_data(output), expected, size);
    weft_array_release(output);
}

#define WANT_BOOLS(y, shape, ...) want(world, y, WEFT_BOOL, shape, (const uint8_t[]){__VA_ARGS__})
#define WANT_U8S(y, shape, ...) want(world, y, WEFT_U8, shape, (const uint8_t[]){__VA_ARGS__})
#define WANT_I32S(y, shape, ...) want(world, y, WEFT_I32, shape, (const int32_t[]){__VA_ARGS__})
#define WANT_U32S(y, shape, ...) want(world, y, WEFT_U32, shape, (const uint32_t[]){__VA_ARGS__})
#define WANT_I64S(y, shape, ...) want(world, y, WEFT_I64, shape, (const int64_t[]){__VA_ARGS__})
#define WANT_F16S(y, shape, ...) want(world, y, WEFT_F16, shape, (const uint16_t[]){__VA_ARGS__})
#define WANT_BF16S(y, shape, ...) want(world, y, WEFT_BF16, shape, (const uint16_t[]){__VA_ARGS__})
#define WANT_F32S(y, shape, ...) want(world, y, WEFT_F32, shape, (const float[]){__VA_ARGS__})
#define WANT_F64S(y, shape, ...) want(world, y, WEFT_F64, shape, (const double[]){__VA_ARGS__})
#define WANT_C64S(y, shape, ...) want(world, y, WEFT_C64, shape, (const float[]){__VA_ARGS__})
#define WANT_NOTHING(y, dtype, shape) want(world, y, dtype, shape, NULL)

static void fails(struct world *world, weft_tensor result, weft_code code, const char *part)
{
    weft_array *output = NULL;
    weft_test_fails(run(world, WEFT_TENSORS(result), &output), code, part);
    assert_null(output);
}

/* 0, 1, 2, ... */
static weft_tensor arange(struct world *world, weft_ints shape)
{
    float data[256];
    for (size_t i = 0; i < 256; i++) data[i] = (float)i;
    return given(world, WEFT_F32, shape, data);
}

/* ---- elements ---- */

static uint16_t round_to(weft_dtype dtype, long double value)
{
    uint16_t code;
    weft_element_store(dtype, (weft_element){.real = value}, &code);
    return code;
}

static void small_floats_round_trip(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x10000; code++) {
        uint16_t bits = (uint16_t)code;
        long double half = weft_element_load(WEFT_F16, &bits).real, brain = weft_element_load(WEFT_BF16, &bits).real;
        if (isnan(half)) assert_true((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0);
        else assert_int_equal(round_to(WEFT_F16, half), bits);
        if (isnan(brain)) assert_true((bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0);
        else assert_int_equal(round_to(WEFT_BF16, brain), bits);
    }
}

static void small_floats_round_to_nearest_even(void **state)
{
    (void)state;
    const struct {
        long double value;
        uint16_t half, brain;
    } cases[] = {
        {1.0L, 0x3c00, 0x3f80},
        {-2.0L, 0xc000, 0xc000},
        {-0.0L, 0x8000, 0x8000},
        {HUGE_VALL, 0x7c00, 0x7f80},
        {1.0L + 0x1p-11L, 0x3c00, 0x3f80}, /* half way: to the even one */
        {1.0L + 0x3p-11L, 0x3c02, 0x3f80},
        {1.0L + 0x1p-11L + 0x1p-60L, 0x3c01, 0x3f80}, /* just above half way */
        {1.0L + 0x1p-8L, 0x3c04, 0x3f80},
        {1.0L + 0x3p-8L, 0x3c0c, 0x3f82},
        {65519.0L, 0x7bff, 0x4780},
        {65520.0L, 0x7c00, 0x4780}, /* half way to 2^16 */
        {0x1p-24L, 0x0001, 0x3380},
        {0x1p-25L, 0x0000, 0x3300},
        {0x1.8p-25L, 0x0001, 0x3340},
        {0x1p-133L, 0x0000, 0x0001},
        {0x1p-134L, 0x0000, 0x0000},
        {0x1p-16000L, 0x0000, 0x0000},
        {0x1p16000L, 0x7c00, 0x7f80},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(round_to(WEFT_F16, cases[i].value), cases[i].half);
        assert_int_equal(round_to(WEFT_BF16, cases[i].value), cases[i].brain);
    }
    assert_int_equal(round_to(WEFT_F16, nanl("")) & 0x7fff, 0x7e00);
    assert_int_equal(round_to(WEFT_BF16, -nanl("")), 0xffc0);
}

/* Against the integer way to round a float's bits. */
static void bf16_rounds_as_the_bits_of_f32_do(void **state)
{
    (void)state;
    for (uint64_t step = 0; step <= UINT32_MAX; step += 9973) {
        uint32_t bits = (uint32_t)step;
        float value;
        memcpy(&value, &bits, sizeof value);
        uint16_t expected = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        if (isnan(value)) assert_int_equal(round_to(WEFT_BF16, value) & 0x7fff, 0x7fc0);
        else assert_int_equal(round_to(WEFT_BF16, value), expected);
    }
}

/* ---- elementwise ---- */

static void integers_wrap_in_their_width(void **state)
{
    struct world *world = *state;
    weft_tensor a = I32S(WEFT_INTS(3), INT32_MAX, INT32_MIN, 7), b = I32S(WEFT_INTS(3), 1, -1, 3);
    WANT_I32S(weft_add(a, b), WEFT_INTS(3), INT32_MIN, INT32_MAX, 10);
    WANT_I32S(weft_sub(a, b), WEFT_INTS(3), INT32_MAX - 1, INT32_MIN + 1, 4);
    WANT_I32S(weft_mul(a, a), WEFT_INTS(3), 1, 0, 49);
    WANT_I32S(weft_neg(a), WEFT_INTS(3), -INT32_MAX, INT32_MIN, -7);
    WANT_I32S(weft_abs(a), WEFT_INTS(3), INT32_MAX, INT32_MIN, 7);
    weft_tensor c = U8S(WEFT_INTS(3), 250, 16, 0), d = U8S(WEFT_INTS(3), 10, 16, 1);
    WANT_U8S(weft_add(c, d), WEFT_INTS(3), 4, 32, 1);
    WANT_U8S(weft_sub(c, d), WEFT_INTS(3), 240, 0, 255);
    WANT_U8S(weft_mul(c, d), WEFT_INTS(3), 196, 0, 0);
    weft_tensor e = I64S(WEFT_INTS(2), INT64_MAX, INT64_MIN), f = I64S(WEFT_INTS(2), 2, -1);
    WANT_I64S(weft_mul(e, f), WEFT_INTS(2), -2, INT64_MIN);
}

static void integers_divide_to_the_floor(void **state)
{
    struct world *world = *state;
    weft_tensor a = I64S(WEFT_INTS(6), 7, -7, 7, -7, 6, INT64_MIN), b = I64S(WEFT_INTS(6), 2, 2, -2, -2, 3, -1);
    WANT_I64S(weft_div(a, b), WEFT_INTS(6), 3, -4, -4, 3, 2, INT64_MIN);
    weft_tensor c = I32S(WEFT_INTS(1), INT32_MIN), d = I32S(WEFT_INTS(1), -1);
    WANT_I32S(weft_div(c, d), WEFT_INTS(1), INT32_MIN);
    weft_tensor zeros = I64S(WEFT_INTS(2, 3), 1, 1, 1, 1, 0, 0);
    fails(world, weft_div(zeros, zeros), WEFT_DATA_ERROR, "div: division by 0 at position 4");
}

/* Next to the middle of two doubles, which a wider format would take it for. */
static void doubles_are_rounded_once(void **state)
{
    struct world *world = *state;
    const double p = 0x1.9dc550000008p+0, q = 0x1.9505a0000001ep+0, s = 0x1.fda81000000d9p+0, t = 0x1.e189b0000006p+0;
    weft_tensor a = F64S(WEFT_INTS(2), 1, 0x1.fffffffffffffp+1023), b = F64S(WEFT_INTS(2), 0x1.0000000000001p-53, 1);
    WANT_F64S(weft_add(a, b), WEFT_INTS(2), 0x1.0000000000001p+0, 0x1.fffffffffffffp+1023);
    WANT_F64S(weft_sub(a, weft_mul(b, 0.5)), WEFT_INTS(2), 0x1.fffffffffffffp-1, 0x1.fffffffffffffp+1023);
    WANT_F64S(weft_sqrt(a), WEFT_INTS(2), 1, 0x1.fffffffffffffp+511);
    WANT_F64S(weft_remainder(weft_mul(b, -0.5), 1), WEFT_INTS(2), 0x1.fffffffffffffp-1, 0.5);
    weft_tensor c = F64S(WEFT_INTS(2), p, s), d = F64S(WEFT_INTS(2), q, t);
    WANT_F64S(weft_mul(c, d), WEFT_INTS(2), p * q, s * t);
    WANT_F64S(weft_div(c, d), WEFT_INTS(2), p / q, s / t);
}

static void floats_follow_ieee(void **state)
{
    struct world *world = *state;
    weft_tensor a = F32S(WEFT_INTS(4), 1, -1, 0, 3), b = F32S(WEFT_INTS(4), 0, 0, -2, 2);
    WANT_F32S(weft_div(a, b), WEFT_INTS(4), INFINITY, -INFINITY, -0.0f, 1.5f);
    weft_tensor c = F64S(WEFT_INTS(4), 0, 1, 4, 0.5);
    WANT_F64S(weft_exp(c), WEFT_INTS(4), 1, exp(1), exp(4), exp(0.5));
    WANT_F64S(weft_log(c), WEFT_INTS(4), -INFINITY, 0, log(4), log(0.5));
    WANT_F64S(weft_sqrt(c), WEFT_INTS(4), 0, 1, 2, sqrt(0.5));
    WANT_F64S(weft_tanh(c), WEFT_INTS(4), 0, tanh(1), tanh(4), tanh(0.5));
    weft_tensor sixteenth = F32S(WEFT_INTS(2), 16777216, 0.1f), one = F32S(WEFT_INTS(2), 1, 0.2f);
    WANT_F32S(weft_add(sixteenth, one), WEFT_INTS(2), 16777216, 0.1f + 0.2f);
    /* x*x + 5x + 4 */
    weft_tensor x = F32S(WEFT_INTS(3), 3, 1, 4), five = weft_scalar(world->graph, WEFT_F32, 5);
    weft_tensor y = weft_add(weft_add(weft_mul(x, x), weft_mul(x, five)), weft_scalar(world->graph, WEFT_F32, 4));
    WANT_F32S(y, WEFT_INTS(3), 28, 10, 40);
}

static void special_functions_have_known_values(void **state)
{
    struct world *world = *state;
    weft_tensor x = F64S(WEFT_INTS(4), 1, 2, 0.5, -0.5);
    WANT_F64S(weft_erf(x), WEFT_INTS(4), 0.8427007929497149, 0.9953222650189527, 0.5204998778130465,
              -0.5204998778130465);
    WANT_F64S(weft_erfc(x), WEFT_INTS(4), 0.15729920705028513, 0.004677734981047266, 0.4795001221869535,
              1.5204998778130465);
    WANT_F64S(weft_tgamma(x), WEFT_INTS(4), 1, 1, 1.772453850905516, -3.544907701811032);
    WANT_F64S(weft_lgamma(x), WEFT_INTS(4), 0, 0, 0.5723649429247001, 1.2655121234846454);
    WANT_F64S(weft_digamma(x), WEFT_INTS(4), -0.5772156649015329, 0.42278433509846714, -1.9635100260214235,
              0.03648997397857652);
    weft_tensor poles = F64S(WEFT_INTS(4), 0, -0.0, -1, -INFINITY);
    WANT_F64S(weft_tgamma(poles), WEFT_INTS(4), INFINITY, -INFINITY, NAN, NAN);
    WANT_F64S(weft_lgamma(poles), WEFT_INTS(4), INFINITY, INFINITY, INFINITY, INFINITY);
    WANT_F64S(weft_digamma(poles), WEFT_INTS(4), -INFINITY, INFINITY, NAN, NAN);
    weft_tensor zeros = F64S(WEFT_INTS(4), 0, -0.0, 0, -0.0), sides = F64S(WEFT_INTS(4), 1, 1, -1, -0.0);
    WANT_F64S(weft_atan2(zeros, sides), WEFT_INTS(4), 0, -0.0, M_PI, -M_PI);
}

static void not_a_number_travels(void **state)
{
    struct world *world = *state;
    weft_tensor a = F32S(WEFT_INTS(4), NAN, 1, 2, -1), b = F32S(WEFT_INTS(4), 1, NAN, 3, -2);
    weft_tensor high = weft_max(a, b), low = weft_min(a, b);
    WANT_BOOLS(weft_ne(high, high), WEFT_INTS(4), 1, 1, 0, 0);
    WANT_BOOLS(weft_ne(low, low), WEFT_INTS(4), 1, 1, 0, 0);
    WANT_F32S(weft_narrow(high, 0, weft_extent_of(2), weft_extent_of(2)), WEFT_INTS(2), 3, -1);
    WANT_F32S(weft_narrow(low, 0, weft_extent_of(2), weft_extent_of(2)), WEFT_INTS(2), 2, -2);
}

static void comparisons_give_bools(void **state)
{
    struct world *world = *state;
    weft_tensor a = F64S(WEFT_INTS(4), 1, 2, 3, NAN), b = F64S(WEFT_INTS(4), 2, 2, 2, 2);
    WANT_BOOLS(weft_eq(a, b), WEFT_INTS(4), 0, 1, 0, 0);
    WANT_BOOLS(weft_ne(a, b), WEFT_INTS(4), 1, 0, 1, 1);
    WANT_BOOLS(weft_lt(a, b), WEFT_INTS(4), 1, 0, 0, 0);
    WANT_BOOLS(weft_le(a, b), WEFT_INTS(4), 1, 1, 0, 0);
    WANT_BOOLS(weft_gt(a, b), WEFT_INTS(4), 0, 0, 1, 0);
    WANT_BOOLS(weft_ge(a, b), WEFT_INTS(4), 0, 1, 1, 0);
    weft_tensor c = I64S(WEFT_INTS(2), INT64_MAX, INT64_MIN), d = I64S(WEFT_INTS(2), INT64_MAX - 1, INT64_MAX);
    WANT_BOOLS(weft_gt(c, d), WEFT_INTS(2), 1, 0);
}

static void logic_is_on_bools_and_bits(void **state)
{
    struct world *world = *state;
    weft_tensor p = BOOLS(WEFT_INTS(4), 0, 0, 1, 1), q = BOOLS(WEFT_INTS(4), 0, 1, 0, 1);
    WANT_BOOLS(weft_and(p, q), WEFT_INTS(4), 0, 0, 0, 1);
    WANT_BOOLS(weft_or(p, q), WEFT_INTS(4), 0, 1, 1, 1);
    WANT_BOOLS(weft_xor(p, q), WEFT_INTS(4), 0, 1, 1, 0);
    WANT_BOOLS(weft_not(p), WEFT_INTS(4), 1, 1, 0, 0);
    WANT_BOOLS(weft_max(p, q), WEFT_INTS(4), 0, 1, 1, 1);
    weft_tensor a = U8S(WEFT_INTS(2), 0xf0, 0x0f), b = U8S(WEFT_INTS(2), 0x3c, 0x3c);
    WANT_U8S(weft_and(a, b), WEFT_INTS(2), 0x30, 0x0c);
    WANT_U8S(weft_or(a, b), WEFT_INTS(2), 0xfc, 0x3f);
    WANT_U8S(weft_xor(a, b), WEFT_INTS(2), 0xcc, 0x33);
    WANT_U8S(weft_not(a), WEFT_INTS(2), 0x0f, 0xf0);
    WANT_I64S(weft_not(I64S(WEFT_INTS(2), 0, -1)), WEFT_INTS(2), -1, 0);
}

static void complex_numbers_compute(void **state)
{
    struct world *world = *state;
    weft_tensor a = C64S(WEFT_INTS(2), 1, 2, 0, 1), b = C64S(WEFT_INTS(2), 3, -1, 0, 1);
    WANT_C64S(weft_add(a, b), WEFT_INTS(2), 4, 1, 0, 2);
    WANT_C64S(weft_mul(a, b), WEFT_INTS(2), 5, 5, -1, 0);
    WANT_C64S(weft_div(weft_mul(a, b), b), WEFT_INTS(2), 1, 2, 0, 1);
    WANT_BOOLS(weft_eq(a, b), WEFT_INTS(2), 0, 1);
    WANT_C64S(weft_reduce_sum(a, WEFT_INTS(0), false), WEFT_INTS(), 1, 3);
}

/* On both sides of their cuts, at zeros and at infinities. */
static void complex_functions_have_their_values(void **state)
{
    struct world *world = *state;
    const float pi = 0x1.921fb6p+1f;
    weft_tensor around = C64S(WEFT_INTS(4), -1, 0.0, -1, -0.0, 0.0, 0, -INFINITY, INFINITY);
    WANT_C64S(weft_log(around), WEFT_INTS(4), 0, pi, 0, -pi, -INFINITY, 0, INFINITY, pi * 0.75f);
    WANT_F32S(weft_angle(around), WEFT_INTS(4), pi, -pi, 0, pi * 0.75f);
    weft_tensor ends = C64S(WEFT_INTS(4), 0, 0, INFINITY, 0, -INFINITY, INFINITY, -INFINITY, NAN);
    WANT_C64S(weft_exp(ends), WEFT_INTS(4), 1, 0, INFINITY, 0, 0, 0, 0, 0);
    WANT_C64S(weft_tanh(ends), WEFT_INTS(4), 0, 0, 1, 0, -1, 0, -1, 0);
    weft_tensor base = C64S(WEFT_INTS(3), 0, 0, 0, 0, 2, 0), power = C64S(WEFT_INTS(3), 0, 0, 1, 5, 0, 0);
    WANT_C64S(weft_pow(base, power), WEFT_INTS(3), 1, 0, 0, 0, 1, 0);
    WANT_BOOLS(weft_is_nan(ends), WEFT_INTS(4), 0, 0, 0, 1);
    WANT_BOOLS(weft_is_finite(ends), WEFT_INTS(4), 1, 0, 0, 0);
}

static void small_floats_compute(void **state)
{
    struct world *world = *state;
    weft_tensor a = F16S(WEFT_INTS(3), 0x3c00, 0x6800, 0x7bff), b = F16S(WEFT_INTS(3), 0x4000, 0x3c00, 0x7bff);
    WANT_F16S(weft_add(a, b), WEFT_INTS(3), 0x4200, 0x6800, 0x7c00); /* 3; 2048 + 1 = 2048; infinity */
    weft_tensor c = BF16S(WEFT_INTS(2), 0x3f80, 0x4380), d = BF16S(WEFT_INTS(2), 0x4000, 0x3f80);
    WANT_BF16S(weft_add(c, d), WEFT_INTS(2), 0x4040, 0x4380); /* 3; 256 + 1 = 256 */
}

static void select_chooses(void **state)
{
    struct world *world = *state;
    weft_tensor p = BOOLS(WEFT_INTS(3), 1, 0, 1), a = I64S(WEFT_INTS(3), 1, 2, 3), b = I64S(WEFT_INTS(), 9);
    WANT_I64S(weft_select(p, a, b), WEFT_INTS(3), 1, 9, 3);
}

static void casts_saturate_and_round(void **state)
{
    struct world *world = *state;
    weft_tensor x = F64S(WEFT_INTS(6), NAN, 1e300, -1e300, -2.9, 300.5, 0);
    WANT_I64S(weft_cast(x, WEFT_I64), WEFT_INTS(6), 0, INT64_MAX, INT64_MIN, -2, 300, 0);
    WANT_I32S(weft_cast(x, WEFT_I32), WEFT_INTS(6), 0, INT32_MAX, INT32_MIN, -2, 300, 0);
    WANT_U32S(weft_cast(x, WEFT_U32), WEFT_INTS(6), 0, UINT32_MAX, 0, 0, 300, 0);
    WANT_U8S(weft_cast(x, WEFT_U8), WEFT_INTS(6), 0, 255, 0, 0, 255, 0);
    WANT_BOOLS(weft_cast(x, WEFT_BOOL), WEFT_INTS(6), 1, 1, 1, 1, 1, 0);
    weft_tensor y = I64S(WEFT_INTS(4), 16777217, -1, INT64_MAX, 256);
    WANT_F32S(weft_cast(y, WEFT_F32), WEFT_INTS(4), 16777216, -1, 0x1p63f, 256);
    WANT_F64S(weft_cast(y, WEFT_F64), WEFT_INTS(4), 16777217, -1, 0x1p63, 256);
    WANT_U8S(weft_cast(y, WEFT_U8), WEFT_INTS(4), 1, 255, 255, 0);
    WANT_BOOLS(weft_cast(y, WEFT_BOOL), WEFT_INTS(4), 1, 1, 1, 1);
    WANT_C64S(weft_cast(weft_narrow(y, 0, weft_extent_of(0), weft_extent_of(2)), WEFT_C64), WEFT_INTS(2), 16777216, 0,
              -1, 0);
    WANT_F32S(weft_cast(BOOLS(WEFT_INTS(2), 1, 0), WEFT_F32), WEFT_INTS(2), 1, 0);
    WANT_BF16S(weft_cast(F32S(WEFT_INTS(2), 1.00390625f, 3e38f), WEFT_BF16), WEFT_INTS(2), 0x3f80, 0x7f62);
}

/* ---- leaves and symbolic extents ---- */

/* An input of shape [n] with the elements 1, 2, ..., count. */
static weft_tensor counting(struct world *world, int64_t count)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_F32, 1, &count, &array));
    for (int64_t i = 0; i < count; i++) ((float *)weft_array_data(array))[i] = (float)(i + 1);
    return bind(world, WEFT_SHAPE(world->n), array);
}

static void leaves_have_their_values(void **state)
{
    struct world *world = *state;
    weft_graph *graph = world->graph;
    weft_shape shape = WEFT_SHAPE(2, 3);
    WANT_I64S(weft_iota(graph, WEFT_I64, shape, 1), WEFT_INTS(2, 3), 0, 1, 2, 0, 1, 2);
    WANT_F32S(weft_iota(graph, WEFT_F32, shape, 0), WEFT_INTS(2, 3), 0, 0, 0, 1, 1, 1);
    WANT_F64S(weft_full(graph, WEFT_F64, 2.5, shape), WEFT_INTS(2, 3), 2.5, 2.5, 2.5, 2.5, 2.5, 2.5);
    WANT_I32S(weft_constant(graph, WEFT_I32, WEFT_INTS(2), (int32_t[]){4, 5}), WEFT_INTS(2), 4, 5);
}

static void symbolic_extents_are_bound(void **state)
{
    struct world *world = *state;
    weft_tensor x = counting(world, 3);
    weft_extent twice = weft_extent_mul(world->n, weft_extent_of(2));
    weft_tensor size = weft_extent_tensor(world->graph, twice);
    weft_tensor y = weft_add(x, weft_broadcast(weft_cast(size, WEFT_F32), WEFT_SHAPE(world->n)));
    WANT_F32S(y, WEFT_INTS(3), 7, 8, 9);
    WANT_F32S(weft_concat(WEFT_TENSORS(x, x), 0), WEFT_INTS(6), 1, 2, 3, 1, 2, 3);
    WANT_F32S(weft_reduce_sum(x, WEFT_INTS(0), false), WEFT_INTS(), 6);
}

static void symbolic_extents_may_be_zero(void **state)
{
    struct world *world = *state;
    weft_tensor x = counting(world, 0);
    WANT_NOTHING(weft_exp(x), WEFT_F32, WEFT_INTS(0));
    WANT_F32S(weft_reduce_sum(x, WEFT_INTS(0), true), WEFT_INTS(1), 0);
    WANT_F32S(weft_reduce_max(x, WEFT_INTS(0), false), WEFT_INTS(), -INFINITY);
    WANT_F32S(weft_reduce_min(x, WEFT_INTS(0), false), WEFT_INTS(), INFINITY);
    WANT_I64S(weft_argmax(x, 0, false), WEFT_INTS(), 0);
}

static void sizes_that_overflow_are_refused(void **state)
{
    struct world *world = *state;
    weft_graph *graph = world->graph;
    weft_extent huge = weft_extent_of((int64_t)1 << 62);
    weft_tensor y = weft_iota(graph, WEFT_I64, WEFT_SHAPE(huge), 0);
    fails(world, weft_reduce_sum(y, WEFT_INTS(0), false), WEFT_OUT_OF_RANGE, "the size of the result overflows");
}

/* ---- movement ---- */

static void views_move_elements(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(2, 3));
    WANT_F32S(weft_reshape(x, WEFT_SHAPE(3, WEFT_INFER)), WEFT_INTS(3, 2), 0, 1, 2, 3, 4, 5);
    WANT_F32S(weft_permute(x, WEFT_INTS(1, 0)), WEFT_INTS(3, 2), 0, 3, 1, 4, 2, 5);
    WANT_F32S(weft_flip(x, WEFT_INTS(-1)), WEFT_INTS(2, 3), 2, 1, 0, 5, 4, 3);
    WANT_F32S(weft_flip(x, WEFT_INTS(0, 1)), WEFT_INTS(2, 3), 5, 4, 3, 2, 1, 0);
    WANT_F32S(weft_narrow(x, 1, weft_extent_of(2), weft_extent_of(1)), WEFT_INTS(2, 1), 2, 5);
    WANT_NOTHING(weft_narrow(x, 0, weft_extent_of(1), weft_extent_of(0)), WEFT_F32, WEFT_INTS(0, 3));
    weft_tensor row = weft_reshape(weft_narrow(x, 0, weft_extent_of(1), weft_extent_of(1)), WEFT_SHAPE(WEFT_INFER));
    WANT_F32S(weft_broadcast(row, WEFT_SHAPE(2, 3)), WEFT_INTS(2, 3), 3, 4, 5, 3, 4, 5);
    WANT_F32S(weft_broadcast_in_dim(row, WEFT_SHAPE(3, 2), WEFT_INTS(0)), WEFT_INTS(3, 2), 3, 3, 4, 4, 5, 5);
}

static void permutation_of_three_axes(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(2, 3, 4));
    float expected[24];
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 2; j++)
            for (size_t k = 0; k < 3; k++) expected[6 * i + 3 * j + k] = (float)(12 * j + 4 * k + i);
    want(world, weft_permute(x, WEFT_INTS(2, 0, 1)), WEFT_F32, WEFT_INTS(4, 2, 3), expected);
}

static void slices_step_both_ways(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(10));
    weft_shape start = WEFT_SHAPE(9), size = WEFT_SHAPE(4);
    WANT_F32S(weft_slice(x, start, size, WEFT_INTS(-3)), WEFT_INTS(4), 9, 6, 3, 0);
    WANT_F32S(weft_slice(x, WEFT_SHAPE(1), size, WEFT_INTS(2)), WEFT_INTS(4), 1, 3, 5, 7);
}

static void padding_surrounds(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(2, 2)), value = F32S(WEFT_INTS(), 9);
    weft_tensor y = weft_pad(x, value, WEFT_SHAPE(1, 0), WEFT_SHAPE(0, 2));
    WANT_F32S(y, WEFT_INTS(3, 4), 9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 9, 9);
}

static void concat_joins(void **state)
{
    struct world *world = *state;
    weft_tensor a = arange(world, WEFT_INTS(2, 2)), b = F32S(WEFT_INTS(2, 1), 8, 9),
                none = arange(world, WEFT_INTS(2, 0));
    WANT_F32S(weft_concat(WEFT_TENSORS(none, a, none, b, none), 1), WEFT_INTS(2, 3), 0, 1, 8, 2, 3, 9);
    WANT_F32S(weft_concat(WEFT_TENSORS(a, a), 0), WEFT_INTS(4, 2), 0, 1, 2, 3, 0, 1, 2, 3);
}

static void gather_picks(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(2, 3)), columns = I64S(WEFT_INTS(2, 2), 2, 0, -1, 1);
    WANT_F32S(weft_gather(x, columns, 1), WEFT_INTS(2, 2, 2), 2, 0, 2, 1, 5, 3, 5, 4);
    WANT_F32S(weft_gather(x, I64S(WEFT_INTS(), -2), 0), WEFT_INTS(3), 0, 1, 2);
}

static void gather_refuses_what_is_out_of_range(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(5, 2));
    fails(world, weft_gather(x, I64S(WEFT_INTS(5), 0, -5, 4, 7, 9), 0), WEFT_DATA_ERROR,
          "gather: index 7 at position 3 is out of range for extent 5 (axis 0)");
    fails(world, weft_gather(x, I64S(WEFT_INTS(2), -3, 0), 1), WEFT_DATA_ERROR,
          "gather: index -3 at position 0 is out of range for extent 2 (axis 1)");
    WANT_F32S(weft_gather(x, I64S(WEFT_INTS(1), 4), 0), WEFT_INTS(1, 2), 8, 9);
}

static void diagonals_come_and_go(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(2, 3, 2));
    WANT_F32S(weft_extract_diagonal(x, 0, 2), WEFT_INTS(2, 3), 0, 2, 4, 7, 9, 11);
    WANT_F32S(weft_extract_diagonal(x, 2, 0), WEFT_INTS(2, 3), 0, 2, 4, 7, 9, 11);
    weft_tensor wide = arange(world, WEFT_INTS(2, 2, 3));
    WANT_F32S(weft_extract_diagonal(wide, 0, 1), WEFT_INTS(2, 3), 0, 1, 2, 9, 10, 11);
    weft_tensor v = arange(world, WEFT_INTS(2, 2));
    WANT_F32S(weft_embed_diagonal(v, 1, 2), WEFT_INTS(2, 2, 2), 0, 0, 0, 1, 2, 0, 0, 3);
    WANT_F32S(weft_embed_diagonal(v, 0, 0), WEFT_INTS(2, 2, 2), 0, 1, 0, 0, 0, 0, 2, 3);
}

static void rows_are_sheared(void **state)
{
    struct world *world = *state;
    weft_tensor x = weft_add(arange(world, WEFT_INTS(2, 3)), weft_scalar(world->graph, WEFT_F32, 1));
    WANT_F32S(weft_shear(x, 1, 0, 1, weft_extent_of(4)), WEFT_INTS(2, 4), 1, 2, 3, 0, 0, 4, 5, 6);
    WANT_F32S(weft_shear(x, 1, 0, -1, weft_extent_of(3)), WEFT_INTS(2, 3), 1, 2, 3, 5, 6, 0);
    WANT_F32S(weft_shear(x, 0, 1, 2, weft_extent_of(3)), WEFT_INTS(3, 3), 1, 0, 0, 4, 0, 0, 0, 2, 0);
    WANT_F32S(weft_shear(x, 1, 0, INT64_MIN, weft_extent_of(1)), WEFT_INTS(2, 1), 1, 0);
}

static void windows_are_added(void **state)
{
    struct world *world = *state;
    weft_tensor x = weft_add(arange(world, WEFT_INTS(3, 2)), weft_scalar(world->graph, WEFT_F32, 1));
    WANT_F32S(weft_window_add(x, 0, weft_extent_of(4), 1, 1), WEFT_INTS(4), 1, 5, 9, 6);
    WANT_F32S(weft_window_add(x, 0, weft_extent_of(5), 1, 2), WEFT_INTS(5), 1, 3, 7, 4, 6);
    WANT_F32S(weft_window_add(x, 0, weft_extent_of(7), 2, 1), WEFT_INTS(7), 1, 2, 3, 4, 5, 6, 0);
    WANT_F32S(weft_window_add(x, 0, weft_extent_of(8), 3, 1), WEFT_INTS(8), 1, 2, 0, 3, 4, 0, 5, 6);
    WANT_F32S(weft_window_add(x, 0, weft_extent_of(10), 3, 3), WEFT_INTS(10), 1, 0, 0, 5, 0, 0, 9, 0, 0, 6);
}

static void windows_slide(void **state)
{
    struct world *world = *state;
    weft_extent three = weft_extent_of(3), one = weft_extent_of(1);
    weft_tensor x = F32S(WEFT_INTS(5), 1, 2, 3, 4, 5);
    WANT_F32S(weft_window(x, 0, three, 1, 1), WEFT_INTS(3, 3), 1, 2, 3, 2, 3, 4, 3, 4, 5);
    WANT_F32S(weft_window(x, 0, three, 1, 2), WEFT_INTS(1, 3), 1, 3, 5);
    WANT_F32S(weft_window(x, 0, three, 2, 1), WEFT_INTS(2, 3), 1, 2, 3, 3, 4, 5);
    weft_tensor padded = weft_pad(x, weft_scalar(world->graph, WEFT_F32, 0), WEFT_SHAPE(one), WEFT_SHAPE(one));
    WANT_F32S(weft_window(padded, 0, three, 1, 2), WEFT_INTS(3, 3), 0, 2, 4, 1, 3, 5, 2, 4, 0);
    WANT_F32S(weft_window(arange(world, WEFT_INTS(3, 2)), 0, weft_extent_of(2), 1, 1), WEFT_INTS(2, 2, 2), 0, 2, 1, 3,
              2, 4, 3, 5);
    WANT_NOTHING(weft_window(x, 0, three, 1, 3), WEFT_F32, WEFT_INTS(0, 3));
}

static void scans_run_in_order(void **state)
{
    struct world *world = *state;
    weft_tensor x = F32S(WEFT_INTS(2, 5), 3, 1, 4, 1, 5, 2, 1, 7, 8, 2);
    WANT_F32S(weft_cumsum(x, 0, false, false), WEFT_INTS(2, 5), 3, 1, 4, 1, 5, 5, 2, 11, 9, 7);
    WANT_F32S(weft_cumsum(x, 1, true, false), WEFT_INTS(2, 5), 14, 11, 10, 6, 5, 20, 18, 17, 10, 2);
    WANT_F32S(weft_cumsum(x, 1, false, true), WEFT_INTS(2, 5), 0, 3, 4, 8, 9, 0, 2, 3, 10, 18);
    WANT_F32S(weft_cumprod(x, 1, true, true), WEFT_INTS(2, 5), 20, 20, 5, 5, 1, 112, 112, 16, 2, 1);
    WANT_F32S(weft_cummax(x, 1, false, false), WEFT_INTS(2, 5), 3, 3, 4, 4, 5, 2, 2, 7, 8, 8);
    WANT_F32S(weft_cummin(x, 1, true, true), WEFT_INTS(2, 5), 1, 1, 1, 5, INFINITY, 1, 2, 2, 2, INFINITY);
    weft_tensor y = I32S(WEFT_INTS(3), INT32_MAX, 1, 2);
    WANT_I32S(weft_cumsum(y, 0, false, false), WEFT_INTS(3), INT32_MAX, INT32_MIN, INT32_MIN + 2);
    WANT_I32S(weft_cummax(y, 0, true, true), WEFT_INTS(3), 2, 2, INT32_MIN);
    weft_tensor gap = F32S(WEFT_INTS(4), 1, NAN, 2, 3), high = weft_cummax(gap, 0, false, false);
    WANT_BOOLS(weft_ne(high, high), WEFT_INTS(4), 0, 1, 1, 1);
    /* 4096 + 1 + 1 in bf16: each result is rounded, what is added up is not. */
    const uint16_t parts[] = {0x4580, 0x4100, 0x4100, 0x4100}, sums[] = {0x4580, 0x4580, 0x4580, 0x4581};
    want(world, weft_cumsum(given(world, WEFT_BF16, WEFT_INTS(4), parts), 0, false, false), WEFT_BF16, WEFT_INTS(4),
         sums);
}

static void recurrences_run_in_order(void **state)
{
    struct world *world = *state;
    weft_tensor a = F32S(WEFT_INTS(2, 3), NAN, 2, 3, INFINITY, 0.5, -1), b = F32S(WEFT_INTS(2, 3), 1, 1, 1, 4, 0, 7);
    WANT_F32S(weft_scan_linear(a, b, 1, false), WEFT_INTS(2, 3), 1, 3, 10, 4, 2, 5);
    weft_tensor c = F32S(WEFT_INTS(2, 3), 3, 2, NAN, -1, 0.5, INFINITY);
    WANT_F32S(weft_scan_linear(c, b, 1, true), WEFT_INTS(2, 3), 10, 3, 1, 0.5, 3.5, 7);
    WANT_F32S(weft_scan_linear(b, b, 0, false), WEFT_INTS(2, 3), 1, 1, 1, 8, 0, 14);
    weft_tensor y = I32S(WEFT_INTS(3), 1, INT32_MAX, 5);
    WANT_I32S(weft_scan_linear(3, y, 0, false), WEFT_INTS(3), 1, INT32_MIN + 2, INT32_MIN + 11);
    /* -0 stays. */
    weft_tensor zero = F32S(WEFT_INTS(1), -0.0f);
    WANT_F32S(weft_copysign(weft_add(zero, 1), weft_scan_linear(1, zero, 0, false)), WEFT_INTS(1), -1);
    const uint16_t parts[] = {0x4580, 0x4100, 0x4100, 0x4100}, sums[] = {0x4580, 0x4580, 0x4580, 0x4581};
    want(world, weft_scan_linear(1, given(world, WEFT_BF16, WEFT_INTS(4), parts), 0, false), WEFT_BF16, WEFT_INTS(4),
         sums);
}

static void sorting_is_stable(void **state)
{
    struct world *world = *state;
    weft_tensor x = F32S(WEFT_INTS(2, 5), 3, 1, 4, 1.1f, 5, 2.1f, 1, 7, 8, 2);
    WANT_I64S(weft_argsort(x, 1, false), WEFT_INTS(2, 5), 1, 3, 0, 2, 4, 1, 4, 0, 2, 3);
    WANT_F32S(weft_sort(x, 0, true), WEFT_INTS(2, 5), 3, 1, 7, 8, 5, 2.1f, 1, 4, 1.1f, 2);
    weft_tensor y = F32S(WEFT_INTS(8), 3, NAN, 1, 2, NAN, 0, -1, 4);
    WANT_I64S(weft_argsort(y, 0, false), WEFT_INTS(8), 6, 5, 2, 3, 0, 7, 1, 4);
    WANT_I64S(weft_argsort(y, 0, true), WEFT_INTS(8), 7, 0, 3, 2, 5, 6, 1, 4);
    weft_tensor zeros = F32S(WEFT_INTS(5), 0.0f, -0.0f, 1, -0.0f, 0.0f);
    WANT_F32S(weft_sort(zeros, 0, false), WEFT_INTS(5), 0.0f, -0.0f, -0.0f, 0.0f, 1);
    WANT_I64S(weft_argsort(zeros, 0, true), WEFT_INTS(5), 2, 0, 1, 3, 4);
    weft_tensor codes = given(world, WEFT_U8, WEFT_INTS(4), (const uint8_t[]){200, 3, 255, 3});
    WANT_U8S(weft_sort(codes, 0, false), WEFT_INTS(4), 3, 3, 200, 255);
    WANT_NOTHING(weft_sort(given(world, WEFT_I32, WEFT_INTS(2, 0), NULL), 1, false), WEFT_I32, WEFT_INTS(2, 0));
}

/* ---- reductions ---- */

static void reductions_combine(void **state)
{
    struct world *world = *state;
    weft_tensor x = arange(world, WEFT_INTS(2, 3, 2));
    WANT_F32S(weft_reduce_sum(x, WEFT_INTS(1), false), WEFT_INTS(2, 2), 6, 9, 24, 27);
    WANT_F32S(weft_reduce_sum(x, WEFT_INTS(0, 2), true), WEFT_INTS(1, 3, 1), 14, 22, 30);
    WANT_F32S(weft_reduce_max(x, WEFT_INTS(0, 1, 2), false), WEFT_INTS(), 11);
    WANT_F32S(weft_reduce_min(x, WEFT_INTS(1, 2), false), WEFT_INTS(2), 0, 6);
    weft_tensor y = I32S(WEFT_INTS(3), INT32_MAX, 1, -5);
    WANT_I32S(weft_reduce_sum(y, WEFT_INTS(0), false), WEFT_INTS(), INT32_MAX - 4);
    WANT_I32S(weft_reduce_min(y, WEFT_INTS(0), false), WEFT_INTS(), -5);
    WANT_I32S(weft_reduce_prod(y, WEFT_INTS(0), false), WEFT_INTS(), (int32_t)(-5 * (uint32_t)INT32_MAX));
    WANT_F32S(weft_reduce_prod(weft_add(x, x), WEFT_INTS(1), false), WEFT_INTS(2, 2), 0, 120, 3840, 5544);
    weft_tensor odd = weft_eq(weft_reduce_min(x, WEFT_INTS(2), false), F32S(WEFT_INTS(2, 3), 0, 1, 1, 6, 8, 9));
    WANT_BOOLS(weft_reduce_any(odd, WEFT_INTS(0), false), WEFT_INTS(3), 1, 1, 0);
    WANT_BOOLS(weft_reduce_all(odd, WEFT_INTS(0), false), WEFT_INTS(3), 1, 0, 0);
}

static void sums_of_u32(void **state)
{
    struct world *world = *state;
    weft_extent count = weft_extent_of(4000);
    weft_tensor x = weft_iota(world->graph, WEFT_U32, WEFT_SHAPE(count), 0);
    WANT_U32S(weft_reduce_sum(x, WEFT_INTS(0), false), WEFT_INTS(), 7998000);
    weft_tensor pairs = weft_reshape(x, WEFT_SHAPE(2000, 2));
    WANT_U32S(weft_reduce_sum(pairs, WEFT_INTS(0), false), WEFT_INTS(2), 3998000, 4000000);
    weft_tensor turned = weft_permute(weft_flip(pairs, WEFT_INTS(0)), WEFT_INTS(1, 0));
    WANT_U32S(weft_reduce_sum(turned, WEFT_INTS(1), false), WEFT_INTS(2), 3998000, 4000000);
}

static void empty_reductions_give_what_they_start_from(void **state)
{
    struct world *world = *state;
    weft_tensor x = given(world, WEFT_I32, WEFT_INTS(2, 0), NULL), y = given(world, WEFT_U8, WEFT_INTS(0), NULL);
    WANT_I32S(weft_reduce_sum(x, WEFT_INTS(1), false), WEFT_INTS(2), 0, 0);
    WANT_I32S(weft_reduce_max(x, WEFT_INTS(1), false), WEFT_INTS(2), INT32_MIN, INT32_MIN);
    WANT_I32S(weft_reduce_min(x, WEFT_INTS(1), false), WEFT_INTS(2), INT32_MAX, INT32_MAX);
    WANT_U8S(weft_reduce_max(y, WEFT_INTS(0), false), WEFT_INTS(), 0);
    WANT_U8S(weft_reduce_min(y, WEFT_INTS(0), false), WEFT_INTS(), 255);
    WANT_I64S(weft_argmax(x, 1, false), WEFT_INTS(2), 0, 0);
    WANT_I64S(weft_argmin(x, 1, false), WEFT_INTS(2), 0, 0);
    WANT_I32S(weft_reduce_prod(x, WEFT_INTS(1), false), WEFT_INTS(2), 1, 1);
    weft_tensor none = given(world, WEFT_BOOL, WEFT_INTS(0), NULL);
    WANT_BOOLS(weft_reduce_any(none, WEFT_INTS(0), false), WEFT_INTS(), 0);
    WANT_BOOLS(weft_reduce_all(none, WEFT_INTS(0), false), WEFT_INTS(), 1);
    WANT_NOTHING(weft_reduce_sum(x, WEFT_INTS(0), false), WEFT_I32, WEFT_INTS(0));
}

static void argmax_finds_the_first(void **state)
{
    struct world *world = *state;
    weft_tensor x = F32S(WEFT_INTS(3, 4), 1, 5, 5, 2, 1, NAN, 9, NAN, -INFINITY, -INFINITY, -INFINITY, -INFINITY);
    WANT_I64S(weft_argmax(x, 1, false), WEFT_INTS(3), 1, 1, 0);
    WANT_I64S(weft_argmax(x, 0, true), WEFT_INTS(1, 4), 0, 1, 1, 1);
    WANT_I64S(weft_argmax(I64S(WEFT_INTS(3), -3, -1, -1), 0, false), WEFT_INTS(), 1);
    WANT_I64S(weft_argmin(x, 1, false), WEFT_INTS(3), 0, 1, 0);
    WANT_I64S(weft_argmin(I64S(WEFT_INTS(3), -1, -3, -3), 0, false), WEFT_INTS(), 1);
}

static void reductions_return_not_a_number(void **state)
{
    struct world *world = *state;
    weft_tensor x = F64S(WEFT_INTS(2, 2), 1, NAN, 2, 3);
    weft_tensor high = weft_reduce_max(x, WEFT_INTS(1), false), low = weft_reduce_min(x, WEFT_INTS(1), false);
    WANT_BOOLS(weft_ne(high, high), WEFT_INTS(2), 1, 0);
    WANT_BOOLS(weft_ne(low, low), WEFT_INTS(2), 1, 0);
}

/* ---- products and compositions ---- */

static void dot_multiplies_matrices(void **state)
{
    struct world *world = *state;
    weft_tensor a = F32S(WEFT_INTS(2, 2), 1, 2, 3, 4);
    WANT_F32S(weft_matmul(a, a), WEFT_INTS(2, 2), 7, 10, 15, 22);
    weft_tensor wide = given(world, WEFT_F32, WEFT_INTS(2, 0), NULL),
                tall = given(world, WEFT_F32, WEFT_INTS(0, 3), NULL);
    WANT_F32S(weft_matmul(wide, tall), WEFT_INTS(2, 3), 0, 0, 0, 0, 0, 0);
    weft_tensor i = I32S(WEFT_INTS(2), 65536, 1), j = I32S(WEFT_INTS(2), 65536, 7);
    WANT_I32S(weft_matmul(i, j), WEFT_INTS(), 7);
}

static void dot_orders_batch_then_free_axes(void **state)
{
    struct world *world = *state;
    weft_tensor a = arange(world, WEFT_INTS(2, 2, 3)), b = arange(world, WEFT_INTS(3, 2, 2));
    /* sum over k of a[k, x, i] * b[i, k, y], for each i */
    weft_tensor y = weft_dot(
        a, b,
        (weft_dot_axes){
            .batch_a = WEFT_INTS(2), .batch_b = WEFT_INTS(0), .contract_a = WEFT_INTS(0), .contract_b = WEFT_INTS(1)});
    float expected[12];
    for (size_t i = 0; i < 3; i++)
        for (size_t x = 0; x < 2; x++)
            for (size_t c = 0; c < 2; c++) {
                float sum = 0;
                for (size_t k = 0; k < 2; k++) sum += (float)((6 * k + 3 * x + i) * (4 * i + 2 * k + c));
                expected[4 * i + 2 * x + c] = sum;
            }
    want(world, y, WEFT_F32, WEFT_INTS(3, 2, 2), expected);
}

static void batched_products_broadcast(void **state)
{
    struct world *world = *state;
    weft_tensor a = arange(world, WEFT_INTS(3, 1, 4, 5)), b = arange(world, WEFT_INTS(6, 5, 2));
    float expected[3 * 6 * 4 * 2];
    for (size_t n = 0; n < 3 * 6 * 4 * 2; n++) {
        size_t p = n / 48, q = n / 8 % 6, i = n / 2 % 4, j = n % 2;
        float sum = 0;
        for (size_t k = 0; k < 5; k++) sum += (float)((20 * p + 5 * i + k) * (10 * q + 2 * k + j));
        expected[n] = sum;
    }
    want(world, weft_matmul(a, b), WEFT_F32, WEFT_INTS(3, 6, 4, 2), expected);
}

static void compositions_compute(void **state)
{
    struct world *world = *state;
    weft_tensor x = F32S(WEFT_INTS(2, 2), 1000, 1000, -1000, 1000);
    WANT_F32S(weft_softmax(x, 1), WEFT_INTS(2, 2), 0.5f, 0.5f, 0, 1);
    WANT_F32S(weft_relu(x), WEFT_INTS(2, 2), 1000, 1000, 0, 1000);
    WANT_F32S(weft_mean(x, WEFT_INTS(0), false), WEFT_INTS(2), 0, 1000);
    WANT_F32S(weft_transpose(x, 0, 1), WEFT_INTS(2, 2), 1000, -1000, 1000, 1000);
    weft_tensor a = arange(world, WEFT_INTS(4, 2, 3)), b = F32S(WEFT_INTS(2, 1), 100, 200);
    weft_tensor first = weft_narrow(weft_add(a, b), 0, weft_extent_of(0), weft_extent_of(1));
    WANT_F32S(first, WEFT_INTS(1, 2, 3), 100, 101, 102, 203, 204, 205);
    weft_tensor z = F64S(WEFT_INTS(3), -1000, -999, -1001), top = weft_reduce_max(z, WEFT_INTS(0), true);
    weft_array *output =
        compute(world, weft_add(weft_log(weft_reduce_sum(weft_exp(weft_sub(z, top)), WEFT_INTS(0), true)), top));
    assert_true(fabs(*(double *)weft_array_data(output) + 998.5923940355557) < 1e-12);
    weft_array_release(output);
}

/* ---- layouts ---- */

static void arrays_may_have_any_strides(void **state)
{
    struct world *world = *state;
    float source[12], target[12];
    for (size_t i = 0; i < 12; i++) {
        source[i] = (float)i;
        target[i] = -1;
    }
    weft_array *reversed, *spread;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, DIMS(2, 3), DIMS(-6, -2), source + 10, NULL, NULL, &reversed));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, DIMS(2, 3), DIMS(1, 4), target, NULL, NULL, &spread));
    weft_tensor x = bind(world, WEFT_SHAPE(2, 3), reversed);
    weft_array *outputs[] = {spread};
    weft_test_ok(run(world, WEFT_TENSORS(weft_neg(x)), outputs));
    const float expected[12] = {-10, -4, -1, -1, -8, -2, -1, -1, -6, -0.0f, -1, -1};
    assert_memory_equal(target, expected, sizeof expected);
    weft_array_release(spread);
}

static void one_value_may_be_several_outputs(void **state)
{
    struct world *world = *state;
    weft_tensor x = F32S(WEFT_INTS(2), 1, 2), y = weft_neg(x);
    weft_array *outputs[3] = {NULL, NULL, NULL};
    weft_test_ok(run(world, WEFT_TENSORS(y, x, y), outputs));
    assert_memory_equal(weft_array_data(outputs[0]), ((float[]){-1, -2}), 8);
    assert_memory_equal(weft_array_data(outputs[1]), ((float[]){1, 2}), 8);
    assert_memory_equal(weft_array_data(outputs[2]), ((float[]){-1, -2}), 8);
    for (size_t i = 0; i < 3; i++) weft_array_release(outputs[i]);
}

/* ---- regions ---- */

static weft_graph *region_graph(struct world *world)
{
    weft_graph *graph;
    weft_test_ok(weft_graph_create_region(world->graph, &graph));
    return graph;
}

#define PARAMETER(name, dtype) weft_input(graph, name, dtype, WEFT_SHAPE())

/* x = x * step + index, `trips` times. */
static void fold_repeats(void **state)
{
    struct world *world = *state;
    weft_graph *graph = region_graph(world);
    weft_tensor index = PARAMETER("index", WEFT_I64), x = PARAMETER("x", WEFT_I64), step = PARAMETER("step", WEFT_I64);
    weft_tensor result = weft_add(weft_mul(x, step), index);
    const weft_attr attrs[] = {
        {.extents = WEFT_SHAPE(4)},
        {.region = {graph, WEFT_TENSORS(index, x, step), WEFT_TENSORS(result)}},
        {.integer = 1},
    };
    weft_tensor start = I64S(WEFT_INTS(), 1), ten = I64S(WEFT_INTS(), 10);
    WANT_I64S(weft_trace(world->graph, "fold", WEFT_TENSORS(start, ten), attrs), WEFT_INTS(), 10123);
}

/* Doubles x until it is at least `limit`. */
static void while_stops(void **state)
{
    struct world *world = *state;
    weft_graph *graph = region_graph(world);
    weft_tensor x = PARAMETER("x", WEFT_I64), limit = PARAMETER("limit", WEFT_I64);
    weft_region condition = {graph, WEFT_TENSORS(x, limit), WEFT_TENSORS(weft_lt(x, limit))};
    weft_tensor doubled = weft_add(x, x);
    const weft_attr attrs[] = {
        {.integer = 1},
        {.region = condition},
        {.region = {graph, WEFT_TENSORS(x, limit), WEFT_TENSORS(doubled)}},
    };
    weft_tensor start = I64S(WEFT_INTS(), 3), end = I64S(WEFT_INTS(), 40);
    WANT_I64S(weft_trace(world->graph, "while", WEFT_TENSORS(start, end), attrs), WEFT_INTS(), 48);
    WANT_I64S(weft_trace(world->graph, "while", WEFT_TENSORS(end, start), attrs), WEFT_INTS(), 40);
}

static void cond_takes_one_branch(void **state)
{
    struct world *world = *state;
    weft_graph *graph = region_graph(world);
    weft_tensor x = PARAMETER("x", WEFT_I64);
    const weft_attr attrs[] = {
        {.region = {graph, WEFT_TENSORS(x), WEFT_TENSORS(weft_neg(x))}},
        {.region = {graph, WEFT_TENSORS(x), WEFT_TENSORS(weft_mul(x, x))}},
    };
    weft_tensor seven = I64S(WEFT_INTS(), 7), yes = BOOLS(WEFT_INTS(), 1), no = BOOLS(WEFT_INTS(), 0);
    WANT_I64S(weft_trace(world->graph, "cond", WEFT_TENSORS(yes, seven), attrs), WEFT_INTS(), -7);
    WANT_I64S(weft_trace(world->graph, "cond", WEFT_TENSORS(no, seven), attrs), WEFT_INTS(), 49);
}

/* ---- extensions ---- */

static weft_status *infer_same(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

/* Adds the value of the attribute, by way of scratch. */
static weft_status *shift_kernel(const weft_kernel_context *context)
{
    const weft_view *x = &context->inputs[0];
    int64_t *scratch = context->scratch, *out = context->outputs[0].data;
    assert_int_equal((uintptr_t)scratch % 64, 0);
    for (int64_t i = 0; i < x->shape[0]; i++) scratch[i] = ((int64_t *)x->data)[i * x->strides[0]];
    for (int64_t i = 0; i < x->shape[0]; i++)
        out[i * context->outputs[0].strides[0]] = scratch[i] + context->attrs[0].extents.extents[0].value;
    return NULL;
}

static weft_status *shift_scratch(const weft_kernel_context *context, size_t *out_size)
{
    *out_size = (size_t)context->inputs[0].shape[0] * sizeof(int64_t);
    return NULL;
}

static const weft_attr_def shift_attrs[] = {{"by", WEFT_ATTR_EXTENT}};
static const weft_op_def shift_op = {.size = sizeof shift_op,
                                     .name = "sample.shift",
                                     .version = 1,
                                     .input_count = 1,
                                     .output_count = 1,
                                     .op_class = WEFT_CLASS_OPAQUE,
                                     .dtypes = 1u << WEFT_I64,
                                     .attr_count = 1,
                                     .attrs = shift_attrs,
                                     .infer = infer_same,
                                     .kernel = shift_kernel,
                                     .scratch_size = shift_scratch};
static const weft_op_def *const sample_ops[] = {&shift_op};
static const weft_extension sample = {.size = sizeof sample,
                                      .abi_major = WEFT_ABI_MAJOR,
                                      .abi_minor = WEFT_ABI_MINOR,
                                      .family = "sample",
                                      .version = "1",
                                      .op_count = 1,
                                      .ops = sample_ops};

static void extension_kernels_run(void **state)
{
    struct world *world = *state;
    weft_test_ok(weft_graph_register(world->graph, &sample));
    weft_test_ok(weft_executor_register_extension(world->executor, &sample));
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 1, DIMS(3), &array));
    memcpy(weft_array_data(array), DIMS(1, 2, 3), 3 * sizeof(int64_t));
    weft_tensor x = bind(world, WEFT_SHAPE(world->n), array);
    const weft_attr by = {.extents = WEFT_SHAPE(weft_extent_mul(world->n, weft_extent_of(10)))};
    weft_tensor y = weft_trace(world->graph, "sample.shift", WEFT_TENSORS(weft_add(x, x)), &by);
    WANT_I64S(weft_neg(y), WEFT_INTS(3), -32, -34, -36);
}

static void the_standard_executor_has_it(void **state)
{
    (void)state;
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_fails(weft_executor_register_runtime(executor, weft_runtime_reference()), WEFT_INVALID_ARGUMENT, "ref");
    weft_executor_destroy(executor);
}

/* ---- cancellation ---- */

enum { SORTED = 5000 };
static volatile bool flag;

/* Sets the flag when the sort asks for its positions. */
static void *resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    (void)self;
    const weft_allocator *heap = weft_allocator_default();
    if (new_size == 2 * SORTED * sizeof(int64_t)) flag = true;
    return heap->resize(heap->self, block, old_size, new_size, alignment);
}

static void a_sort_reads_the_flag(void **state)
{
    (void)state;
    const weft_allocator allocator = {NULL, resize};
    weft_graph *graph;
    weft_executor *executor;
    weft_program *program;
    weft_array *outputs[] = {NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_iota(graph, WEFT_F32, WEFT_SHAPE(SORTED), 0);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_sort(x, 0, true)), NULL, &program));
    weft_test_ok(weft_executor_create(&(weft_executor_options){.allocator = &allocator, .threads = 1}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, weft_runtime_reference()));
    weft_test_fails(
        weft_executor_run(executor, program, &(weft_run){.output_count = 1, .outputs = outputs, .cancelled = &flag}),
        WEFT_CANCELLED, "the run was cancelled in sort");
    assert_null(outputs[0]);
    weft_executor_destroy(executor);
    weft_program_release(program);
    weft_graph_destroy(graph);
}

/* ---- memory ---- */

/* Traces, compiles and runs from nothing. */
static weft_status *whole_run(const weft_allocator *allocator, struct world *world)
{
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &world->graph));
    WEFT_TRY(weft_executor_create(&(weft_executor_options){.allocator = allocator, .threads = 1}, &world->executor));
    WEFT_TRY(weft_executor_register_runtime(world->executor, weft_runtime_reference()));
    WEFT_TRY(weft_array_create(allocator, WEFT_F32, 1, DIMS(3), &world->arrays[0]));
    memcpy(weft_array_data(world->arrays[0]), ((float[]){1, 2, 3}), 12);
    strcpy(world->names[0], "x");
    world->count = 1;
    weft_extent n = weft_symbol(world->graph, "n", 1, 64);
    weft_tensor x = weft_input(world->graph, "x", WEFT_F32, WEFT_SHAPE(n));
    weft_tensor y = weft_concat(WEFT_TENSORS(x, weft_exp(x)), 0);
    weft_array *output = NULL;
    weft_status *status = run(world, WEFT_TENSORS(weft_reduce_sum(y, WEFT_INTS(0), false)), &output);
    weft_array_release(output);
    return status;
}

static weft_status *run_from_nothing(const weft_allocator *allocator, void *context)
{
    (void)context;
    struct world world = {.count = 0};
    weft_status *status = whole_run(allocator, &world);
    weft_array_release(world.arrays[0]);
    weft_executor_destroy(world.executor);
    weft_graph_destroy(world.graph);
    return status;
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(run_from_nothing, NULL) > 20);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_floats_round_trip),
        cmocka_unit_test(small_floats_round_to_nearest_even),
        cmocka_unit_test(bf16_rounds_as_the_bits_of_f32_do),
        IN_WORLD(integers_wrap_in_their_width),
        IN_WORLD(integers_divide_to_the_floor),
        IN_WORLD(doubles_are_rounded_once),
        IN_WORLD(floats_follow_ieee),
        IN_WORLD(special_functions_have_known_values),
        IN_WORLD(not_a_number_travels),
        IN_WORLD(comparisons_give_bools),
        IN_WORLD(logic_is_on_bools_and_bits),
        IN_WORLD(complex_numbers_compute),
        IN_WORLD(complex_functions_have_their_values),
        IN_WORLD(small_floats_compute),
        IN_WORLD(select_chooses),
        IN_WORLD(casts_saturate_and_round),
        IN_WORLD(leaves_have_their_values),
        IN_WORLD(symbolic_extents_are_bound),
        IN_WORLD(symbolic_extents_may_be_zero),
        IN_WORLD(sizes_that_overflow_are_refused),
        IN_WORLD(views_move_elements),
        IN_WORLD(permutation_of_three_axes),
        IN_WORLD(slices_step_both_ways),
        IN_WORLD(padding_surrounds),
        IN_WORLD(concat_joins),
        IN_WORLD(gather_picks),
        IN_WORLD(gather_refuses_what_is_out_of_range),
        IN_WORLD(diagonals_come_and_go),
        IN_WORLD(rows_are_sheared),
        IN_WORLD(windows_are_added),
        IN_WORLD(windows_slide),
        IN_WORLD(scans_run_in_order),
        IN_WORLD(recurrences_run_in_order),
        IN_WORLD(sorting_is_stable),
        IN_WORLD(reductions_combine),
        IN_WORLD(sums_of_u32),
        IN_WORLD(empty_reductions_give_what_they_start_from),
        IN_WORLD(argmax_finds_the_first),
        IN_WORLD(reductions_return_not_a_number),
        IN_WORLD(dot_multiplies_matrices),
        IN_WORLD(dot_orders_batch_then_free_axes),
        IN_WORLD(batched_products_broadcast),
        IN_WORLD(compositions_compute),
        IN_WORLD(arrays_may_have_any_strides),
        IN_WORLD(one_value_may_be_several_outputs),
        IN_WORLD(fold_repeats),
        IN_WORLD(while_stops),
        IN_WORLD(cond_takes_one_branch),
        IN_WORLD(extension_kernels_run),
        cmocka_unit_test(the_standard_executor_has_it),
        cmocka_unit_test(a_sort_reads_the_flag),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
