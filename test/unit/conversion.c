/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Casts between all real dtypes, in both runtimes, against rules of their own. To a float: no neighbour of the result
 * is nearer to the operand, and of two equally near the even one was taken. The operands are those where that is close:
 * next to the middle of two results, within the format of the operand and far below what a format between the two
 * would keep; denormal results, limits, and all values of short formats.
 */
#include <float.h>
#include <math.h>
#include <string.h>
#include <weft/weft.h>
#include "test/conform/number.h"
#include "test/support.h"

enum { BLOCK = 1 << 16 };

static const weft_dtype dtypes[] = {WEFT_BOOL, WEFT_U8,  WEFT_I32, WEFT_U32, WEFT_I64,
                                    WEFT_BF16, WEFT_F16, WEFT_F32, WEFT_F64};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static weft_executor *executor;

static bool is_float(weft_dtype dtype)
{
    return weft_dtype_info_of(dtype)->kind == WEFT_KIND_FLOAT;
}

static int bits_of(weft_dtype dtype)
{
    return 8 * (int)weft_dtype_size(dtype);
}

/* ---- numbers, exact: a long double holds every value of every real dtype ---- */

_Static_assert(LDBL_MANT_DIG >= 64, "as wide as an i64");

static int64_t integer_at(weft_dtype dtype, const void *at)
{
    uint64_t bits = 0;
    int unused = 64 - bits_of(dtype);
    memcpy(&bits, at, weft_dtype_size(dtype));
    return dtype == WEFT_I32 || dtype == WEFT_I64 ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static long double number_at(weft_dtype dtype, const void *at)
{
    return is_float(dtype) ? (long double)weft_test_decode(dtype, at) : (long double)integer_at(dtype, at);
}

/* Of a float dtype: the number of a code, where infinities count as what would come after the largest number. */
static long double candidate(weft_dtype dtype, uint64_t code)
{
    uint64_t below = code - 1;
    double value = weft_test_decode(dtype, &code);
    if (!isinf(value)) return value;
    return 2 * (long double)weft_test_decode(dtype, &below) - candidate(dtype, code - 2);
}

static uint64_t code_at(weft_dtype dtype, const void *at)
{
    uint64_t code = 0;
    memcpy(&code, at, weft_dtype_size(dtype));
    return code;
}

/* ---- rules ---- */

/* x is neither NaN nor infinite where the operand is an integer; zeros keep their sign. */
static bool is_nearest(long double x, weft_dtype to, uint64_t code)
{
    uint64_t sign = UINT64_C(1) << (bits_of(to) - 1), size = code & ~sign;
    double found = weft_test_decode(to, &code);
    if (isnan(x)) return isnan(found);
    if (isinf(x)) return isinf(found) && (found > 0) == (x > 0);
    if (isnan(found) || !signbit(x) != !(code & sign)) return false;
    long double here = fabsl(fabsl(x) - candidate(to, size));
    long double below = size == 0 ? HUGE_VALL : fabsl(fabsl(x) - candidate(to, size - 1));
    if (below < here || (below == here && size % 2 == 1)) return false;
    if (isinf(found)) return true;
    long double above = fabsl(candidate(to, size + 1) - fabsl(x));
    return above > here || (above == here && size % 2 == 0);
}

static int64_t clamp(long double x, weft_dtype to)
{
    bool is_signed = to == WEFT_I32 || to == WEFT_I64;
    int bits = bits_of(to) - is_signed;
    if (isnan(x)) return 0;
    if (x >= ldexpl(1, bits)) return (int64_t)(UINT64_MAX >> (64 - bits));
    if (x <= (is_signed ? -ldexpl(1, bits) : 0)) return is_signed ? -(int64_t)(UINT64_MAX >> (64 - bits)) - 1 : 0;
    return (int64_t)truncl(x);
}

static bool is_right(weft_dtype from, const void *operand, weft_dtype to, const void *result)
{
    long double x = number_at(from, operand);
    if (to == WEFT_BOOL) return integer_at(to, result) == !(x == 0);
    if (is_float(to)) return is_nearest(x, to, code_at(to, result));
    if (is_float(from)) return integer_at(to, result) == clamp(x, to);
    uint64_t kept = UINT64_MAX >> (64 - bits_of(to));
    return ((uint64_t)integer_at(to, result) & kept) == ((uint64_t)integer_at(from, operand) & kept);
}

/* ---- operands ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* The dtype's number near x, and `steps` further. */
static void put(weft_dtype dtype, long double x, int64_t steps, void *at)
{
    float single = (float)x;
    double wide = (double)x;
    int64_t integer = fabsl(x) < 0x1p63L ? (int64_t)x : x < 0 ? INT64_MIN : INT64_MAX;
    uint64_t code = 0;
    if (dtype == WEFT_F64) memcpy(&code, &wide, 8);
    else if (dtype == WEFT_F32) memcpy(&code, &single, 4);
    else code = (uint64_t)integer;
    code += (uint64_t)steps;
    memcpy(at, &code, weft_dtype_size(dtype));
}

/* Where rounding to the float `to` turns: the middle between two of its numbers, moved by nothing, by steps of the
 * operand's format, or by so little that a format between the two would not keep it. */
static void put_turn(weft_dtype from, weft_dtype to, uint64_t random, void *at)
{
    uint64_t code = mix(random) >> (65 - bits_of(to)), next = code + 1;
    long double middle = (candidate(to, code) + candidate(to, next)) / 2;
    if (!is_float(from)) {
        /* A number of that many bits, and of the size of the operand's dtype. */
        int exponent;
        middle = ldexpl(frexpl(middle, &exponent), 1 + (int)(random >> 32) % bits_of(from));
    }
    if (random >> 8 & 1) middle = -middle;
    if (random >> 9 & 1) middle += ldexpl(middle, -(int)(random >> 10 & 63)) * (random >> 16 & 1 ? 1 : -1);
    put(from, middle, (int64_t)(random >> 17) % 3 - 1, at);
}

/* Next to a power of two, where integers end. */
static void put_limit(weft_dtype from, uint64_t random, void *at)
{
    long double power = ldexpl(random >> 8 & 1 ? 1 : -1, (int)(random >> 9 & 127) % 66);
    long double part = (long double)((int)(random >> 16 & 7) - 3) / 2;
    put(from, random >> 19 & 1 ? power + part : power, (int64_t)(random >> 20) % 5 - 2, at);
}

static void fill(weft_dtype from, weft_dtype to, void *data)
{
    size_t size = weft_dtype_size(from);
    for (uint64_t i = 0; i < BLOCK; i++) {
        uint64_t random = mix((i + 1) * 0x9e3779b97f4a7c15);
        char *at = (char *)data + i * size;
        if (from == WEFT_BOOL) *at = (char)(i & 1);
        else if (size <= 2) memcpy(at, &i, size);
        else if (is_float(to) && i % 4 < 2) put_turn(from, to, random, at);
        else if (i % 4 == 2) put_limit(from, random, at);
        else memcpy(at, &random, size);
    }
}

/* ---- tests ---- */

static void check(weft_dtype from, weft_dtype to, const char *runtime)
{
    const int64_t shape[] = {BLOCK};
    weft_graph *graph;
    weft_program *program;
    weft_array *in, *out;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", from, WEFT_SHAPE(weft_extent_of(BLOCK)));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_cast(x, to)), NULL, &program));
    weft_graph_destroy(graph);
    weft_test_ok(weft_array_create(NULL, from, 1, shape, &in));
    weft_test_ok(weft_array_create(NULL, to, 1, shape, &out));
    fill(from, to, weft_array_data(in));
    const weft_run run = {.runtime = runtime, .input_count = 1, .inputs = &in, .output_count = 1, .outputs = &out};
    weft_test_ok(weft_executor_run(executor, program, &run));
    for (size_t i = 0; i < BLOCK; i++) {
        const char *operand = (const char *)weft_array_data(in) + i * weft_dtype_size(from);
        const char *result = (const char *)weft_array_data(out) + i * weft_dtype_size(to);
        if (!is_right(from, operand, to, result))
            fail_msg("%s: %s %#llx (%.24Lg) becomes %s %#llx (%.24Lg)", runtime, weft_dtype_name(from),
                     (unsigned long long)code_at(from, operand), number_at(from, operand), weft_dtype_name(to),
                     (unsigned long long)code_at(to, result), number_at(to, result));
    }
    weft_program_release(program);
    weft_array_release(in);
    weft_array_release(out);
}

static void check_all(const char *runtime)
{
    for (size_t i = 0; i < DTYPES; i++)
        for (size_t k = 0; k < DTYPES; k++) check(dtypes[i], dtypes[k], runtime);
}

static void test_reference(void **state)
{
    (void)state;
    check_all("ref");
}

static void test_generated(void **state)
{
    (void)state;
    check_all("llvm");
}

/* The rule itself tells right from wrong. */
static void test_rule(void **state)
{
    (void)state;
    assert_true(is_nearest(1 + 0x1p-11L, WEFT_F16, 0x3c00) && !is_nearest(1 + 0x1p-11L, WEFT_F16, 0x3c01));
    assert_true(is_nearest(1 + 3 * 0x1p-11L, WEFT_F16, 0x3c02) && !is_nearest(1 + 3 * 0x1p-11L, WEFT_F16, 0x3c01));
    assert_true(is_nearest(1 + 0x1p-11L + 0x1p-60L, WEFT_F16, 0x3c01));
    assert_true(is_nearest(0x1p-25L, WEFT_F16, 0) && is_nearest(0x1.00001p-25L, WEFT_F16, 1));
    assert_true(is_nearest(65520, WEFT_F16, 0x7c00) && is_nearest(65519.99L, WEFT_F16, 0x7bff));
    assert_false(is_nearest(65519.99L, WEFT_F16, 0x7c00) || is_nearest(65520, WEFT_F16, 0x7bff));
    assert_false(is_nearest(-0.0L, WEFT_F32, 0) || is_nearest(1, WEFT_F32, 0xbf800000));
}

static int start(void **state)
{
    (void)state;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    return 0;
}

static int end(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rule), cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_generated)};
    return cmocka_run_group_tests(tests, start, end);
}
