/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers that generated code computes in 16 bits: random expressions of all pairs of bytes and of constants at the
 * limits, against 64 bits that are cut off.
 */
#include "test/rng.h"
#include "test/support.h"
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { COUNT = 65536, EXPRESSIONS = 120, DEPTH = 4 };

static weft_executor *executor;
static weft_array *bytes[2];
static uint64_t seed = 1;

/* A traced value, and what its elements are. */
typedef struct value {
    weft_tensor tensor;
    int64_t *elements;
} value;

static int64_t cut(weft_dtype dtype, uint64_t bits)
{
    return dtype == WEFT_I32 ? (int32_t)bits : dtype == WEFT_U32 ? (int64_t)(uint32_t)bits : (int64_t)bits;
}

static value allocate(void)
{
    value v = {.elements = malloc(COUNT * sizeof(int64_t))};
    assert_non_null(v.elements);
    return v;
}

static value leaf(weft_dtype dtype, const weft_tensor *in)
{
    static const int64_t constants[] = {0, 1, 2, 9, 77, 128, 255, 256, 32767, 32768, 65535, 65536, -1, -128, -32768};
    value v = allocate();
    uint64_t which = weft_test_below(&seed, 4);
    if (which < 2) {
        const uint8_t *from = weft_array_data(bytes[which]);
        v.tensor = weft_cast(in[which], dtype);
        for (int i = 0; i < COUNT; i++) v.elements[i] = from[i];
        return v;
    }
    int64_t constant = constants[weft_test_below(&seed, dtype == WEFT_U32 ? 12 : 15)];
    v.tensor = weft_full_like(weft_cast(in[0], dtype), (double)constant);
    for (int i = 0; i < COUNT; i++) v.elements[i] = constant;
    return v;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

enum { ADD, SUB, MUL, MAX, MIN, AND, OR, XOR, NEG, ABS, DIV, RIGHT, LEFT, CHOICE, OPS };

static weft_tensor trace(int op, weft_tensor a, weft_tensor b, int64_t constant)
{
    switch (op) {
    case ADD: return weft_add(a, b);
    case SUB: return weft_sub(a, b);
    case MUL: return weft_mul(a, b);
    case MAX: return weft_max(a, b);
    case MIN: return weft_min(a, b);
    case AND: return weft_and(a, b);
    case OR: return weft_or(a, b);
    case XOR: return weft_xor(a, b);
    case NEG: return weft_neg(a);
    case ABS: return weft_abs(a);
    case DIV: return weft_div(a, (double)(constant + 1));
    case RIGHT: return weft_shift_right(a, (double)constant);
    case LEFT: return weft_shift_left(a, (double)constant);
    default: return weft_select(weft_lt(a, b), a, weft_sub(b, a));
    }
}

static uint64_t compute(int op, int64_t a, int64_t b, int64_t constant)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case ADD: return x + y;
    case SUB: return x - y;
    case MUL: return x * y;
    case MAX: return a > b ? x : y;
    case MIN: return a < b ? x : y;
    case AND: return x & y;
    case OR: return x | y;
    case XOR: return x ^ y;
    case NEG: return -x;
    case ABS: return a < 0 ? -x : x;
    case DIV: return (uint64_t)floor_divide(a, constant + 1);
    case RIGHT: return (uint64_t)floor_divide(a, (int64_t)1 << constant);
    case LEFT: return x << constant;
    default: return a < b ? x : y - x;
    }
}

static value expression(weft_dtype dtype, const weft_tensor *in, int depth)
{
    if (depth == 0) return leaf(dtype, in);
    int op = (int)weft_test_below(&seed, OPS);
    int64_t constant = (int64_t)weft_test_below(&seed, 17);
    value a = expression(dtype, in, depth - 1), b = expression(dtype, in, (int)weft_test_below(&seed, (uint64_t)depth));
    a.tensor = trace(op, a.tensor, b.tensor, constant);
    for (int i = 0; i < COUNT; i++) a.elements[i] = cut(dtype, compute(op, a.elements[i], b.elements[i], constant));
    free(b.elements);
    return a;
}

/* What is seen of the values: their last bits, all of them as f64, and how they compare. */
static void check(weft_dtype dtype)
{
    weft_graph *graph;
    weft_program *program;
    weft_array *out[3] = {NULL, NULL, NULL};
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor in[2];
    for (int i = 0; i < 2; i++) in[i] = weft_input(graph, i == 0 ? "x" : "y", WEFT_U8, WEFT_SHAPE(COUNT));
    value v = expression(dtype, in, 1 + (int)weft_test_below(&seed, DEPTH)), w = allocate();
    const uint8_t *x = weft_array_data(bytes[0]), *y = weft_array_data(bytes[1]);
    w.tensor = weft_sub(weft_cast(in[0], dtype), weft_cast(in[1], dtype));
    for (int i = 0; i < COUNT; i++) w.elements[i] = cut(dtype, (uint64_t)x[i] - y[i]);
    weft_tensors results =
        WEFT_TENSORS(weft_cast(v.tensor, WEFT_U8), weft_cast(v.tensor, WEFT_F64), weft_le(v.tensor, w.tensor));
    weft_test_ok(weft_compile(graph, results, NULL, &program));
    weft_test_ok(weft_executor_run(
        executor, program,
        &(weft_run){.runtime = "llvm", .input_count = 2, .inputs = bytes, .output_count = 3, .outputs = out}));
    const uint8_t *low = weft_array_data(out[0]), *order = weft_array_data(out[2]);
    const double *all = weft_array_data(out[1]);
    for (int i = 0; i < COUNT; i++) {
        bool same = low[i] == (uint8_t)v.elements[i] && all[i] == (double)v.elements[i];
        if (!same || order[i] != (v.elements[i] <= w.elements[i]))
            fail_msg("%s, element %d: %g, not %g", weft_dtype_name(dtype), i, all[i], (double)v.elements[i]);
    }
    for (int i = 0; i < 3; i++) weft_array_release(out[i]);
    weft_program_release(program);
    weft_graph_destroy(graph);
    free(v.elements);
    free(w.elements);
}

static void test_expressions(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_I32, WEFT_U32, WEFT_I64};
    (void)state;
    for (int i = 0; i < EXPRESSIONS; i++) check(dtypes[i % 3]);
}

static int start(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        weft_test_ok(weft_array_create(NULL, WEFT_U8, 1, (const int64_t[]){COUNT}, &bytes[i]));
        uint8_t *data = weft_array_data(bytes[i]);
        for (int k = 0; k < COUNT; k++) data[k] = (uint8_t)(i == 0 ? k : k / 256);
    }
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    return 0;
}

static int end(void **state)
{
    (void)state;
    weft_executor_destroy(executor);
    for (int i = 0; i < 2; i++) weft_array_release(bytes[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions)};
    return cmocka_run_group_tests(tests, start, end);
}
