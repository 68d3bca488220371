/* SPDX-License-Identifier: Apache-2.0 */
/* Tracing: shapes, sentences of errors, guards; every tracing function at least once. */
#include <weft/weft.h>
#include <complex.h>
#include <iso646.h>
#include <stdio.h>
#include <string.h>
#include "lib/graph/graph.h"
#include "lib/graph/scalar.h"
#include "test/support.h"
#include "test/traced.h"

#define N(value) weft_extent_of(value)

typedef struct fixture {
    weft_graph *graph;
    weft_extent n, m;    /* [1, 1000], [0, 50] */
    weft_tensor x, y, v; /* f32[n, 4], f32[3, 4], f32[3] */
    weft_tensor s, i, d; /* f32[m, 3], i64[2, 5], f64[3, 4] */
    weft_tensor p;       /* bool[3, 4] */
} fixture;

static fixture f;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &f.graph));
    f.n = weft_symbol(f.graph, "n", 1, 1000);
    f.m = weft_symbol(f.graph, "m", 0, 50);
    f.x = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(f.n, 4));
    f.y = weft_input(f.graph, "y", WEFT_F32, WEFT_SHAPE(3, 4));
    f.v = weft_input(f.graph, "v", WEFT_F32, WEFT_SHAPE(3));
    f.s = weft_input(f.graph, "s", WEFT_F32, WEFT_SHAPE(f.m, 3));
    f.i = weft_input(f.graph, "i", WEFT_I64, WEFT_SHAPE(2, 5));
    f.d = weft_input(f.graph, "d", WEFT_F64, WEFT_SHAPE(3, 4));
    f.p = weft_input(f.graph, "p", WEFT_BOOL, WEFT_SHAPE(3, 4));
    assert_null(weft_graph_error(f.graph));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_graph_destroy(f.graph);
    return 0;
}

static void expect_type(weft_tensor tensor, const char *type)
{
    weft_test_traced(f.graph, tensor, type);
}

static void expect_error(weft_tensor tensor, weft_code code, const char *message)
{
    weft_test_refused(f.graph, tensor, code, "trace.c:", message);
}

/* The last guard, which is taken away. */
static void expect_guard(const char *a, const char *relation, const char *b, const char *message)
{
    assert_int_not_equal(f.graph->guard_count, 0);
    const weft_guard *guard = &f.graph->guards[--f.graph->guard_count];
    assert_string_equal(weft_extent_describe(weft_extent_from(f.graph, guard->a)).text, a);
    assert_string_equal(guard->kind == WEFT_GUARD_EQUAL ? "==" : "<=", relation);
    assert_string_equal(weft_extent_describe(weft_extent_from(f.graph, guard->b)).text, b);
    assert_string_equal(guard->message, message);
    assert_int_equal(f.graph->guard_count, 0);
}

/* ---- leaves ---- */

static void leaves_have_their_types(void **state)
{
    (void)state;
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    expect_type(f.x, "f32[n, 4]");
    expect_type(weft_constant(f.graph, WEFT_F32, WEFT_INTS(2, 3), data), "f32[2, 3]");
    expect_type(weft_constant(f.graph, WEFT_F32, WEFT_INTS(0, 3), NULL), "f32[0, 3]");
    expect_type(weft_scalar(f.graph, WEFT_C128, 2.5), "c128[]");
    expect_type(weft_full(f.graph, WEFT_I64, 7, WEFT_SHAPE(f.n, 2)), "i64[n, 2]");
    expect_type(weft_iota(f.graph, WEFT_I64, WEFT_SHAPE(f.n, 2), -1), "i64[n, 2]");
    expect_type(weft_extent_tensor(f.graph, weft_extent_mul(f.n, N(3))), "i64[]");
    assert_int_equal(f.graph->guard_count, 0);
}

static void shapes_take_numbers(void **state)
{
    (void)state;
    weft_shape many = WEFT_SHAPE(1, 2u, 3l, 4ul, (uint8_t)5, (short)6, 7, 8, 9, 10, 11, 12, 13, 14, f.n, true);
    assert_int_equal(many.rank, 16);
    for (int64_t i = 0; i < 14; i++) assert_true(weft_extent_equal(many.extents[i], N(i + 1)));
    assert_true(weft_extent_equal(many.extents[14], f.n) && weft_extent_equal(many.extents[15], N(1)));
    assert_int_equal(WEFT_SHAPE().rank, 0);
    assert_int_equal(WEFT_SHAPE((f.n)).rank, 1);
    assert_false(weft_extent_is_valid(WEFT_SHAPE(UINT64_MAX).extents[0]));
    expect_error(weft_input(f.graph, "z", WEFT_F32, WEFT_SHAPE(SIZE_MAX)), WEFT_INVALID_ARGUMENT,
                 "input: shape has an extent that is invalid, or more than an int64 counts");
}

static void leaves_refuse(void **state)
{
    (void)state;
    weft_graph *g = f.graph;
    expect_error(weft_input(g, "x", WEFT_F64, WEFT_SHAPE(f.n, 4)), WEFT_INVALID_ARGUMENT,
                 "input: x is declared as f32[n, 4] already and cannot also be f64[n, 4]");
    expect_error(weft_input(g, "3x", WEFT_F64, WEFT_SHAPE()), WEFT_INVALID_ARGUMENT,
                 "input: name \"3x\" must be a letter or _ followed by letters, digits, _ or .");
    expect_error(weft_input(g, NULL, WEFT_F64, WEFT_SHAPE()), WEFT_INVALID_ARGUMENT, "input: name is NULL");
    expect_error(weft_input(g, "z", (weft_dtype)99, WEFT_SHAPE()), WEFT_INVALID_ARGUMENT,
                 "input: dtype is not a weft_dtype");
    expect_error(weft_input(g, "z", WEFT_F32, WEFT_SHAPE(-2)), WEFT_OUT_OF_RANGE,
                 "input: axis 0 has extent -2, below 0");
    expect_error(weft_input(g, "z", WEFT_F32, (weft_shape){2, NULL}), WEFT_INVALID_ARGUMENT,
                 "input: shape is NULL, but its rank is not 0");
    expect_error(weft_input(g, "z", WEFT_U8, WEFT_SHAPE(INT64_C(1) << 32, INT64_C(1) << 31)), WEFT_OUT_OF_RANGE,
                 "input: a result of type u8[4294967296, 2147483648] has more elements than an int64 counts");
    expect_error(weft_constant(g, WEFT_F32, WEFT_INTS(3, -2), "abc"), WEFT_OUT_OF_RANGE,
                 "constant: axis 1 has extent -2, below 0");
    expect_error(weft_constant(g, WEFT_F32, WEFT_INTS(INT64_MAX, 8), "abc"), WEFT_OUT_OF_RANGE,
                 "constant: the elements of the shape do not fit in memory");
    expect_error(weft_constant(g, WEFT_F32, WEFT_INTS(2), NULL), WEFT_INVALID_ARGUMENT,
                 "constant: data is NULL, but has elements");
    expect_error(weft_constant(g, WEFT_BOOL, WEFT_INTS(3), ((uint8_t[]){0, 1, 2})), WEFT_INVALID_ARGUMENT,
                 "constant: byte 2 of bool data is 2, neither 0 nor 1");
    expect_error(weft_iota(g, WEFT_BOOL, WEFT_SHAPE(2), 0), WEFT_DTYPE_MISMATCH, "iota: dtype bool is not numeric");
    expect_error(weft_iota(g, WEFT_I64, WEFT_SHAPE(2), 1), WEFT_OUT_OF_RANGE,
                 "iota: axis 1 is out of range for rank 1");
}

static void zero_extents_may_sit_beside_huge_ones(void **state)
{
    (void)state;
    weft_extent huge = N(INT64_C(1) << 62);
    expect_type(weft_input(f.graph, "z", WEFT_F64, WEFT_SHAPE(0, huge, huge)),
                "f64[0, 4611686018427387904, 4611686018427387904]");
}

static void names_of_inputs_are_unique(void **state)
{
    (void)state;
    weft_tensor again = weft_input(f.graph, "x", WEFT_F32, WEFT_SHAPE(f.n, 4));
    assert_int_equal(again.node, f.x.node);
    assert_null(weft_graph_error(f.graph));
}

static void scalars_are_converted(void **state)
{
    (void)state;
    static const struct {
        weft_dtype dtype;
        double value;
        uint64_t bits;
    } cases[] = {
        {WEFT_BOOL, -0.5, 1},
        {WEFT_BOOL, 0, 0},
        {WEFT_U8, 300, 255},
        {WEFT_U8, -1, 0},
        {WEFT_I32, -1e30, 0x80000000},
        {WEFT_I32, -3.9, 0xfffffffd},
        {WEFT_U32, 4294967295.0, 0xffffffff},
        {WEFT_I64, 1e30, INT64_MAX},
        {WEFT_BF16, 1, 0x3f80},
        {WEFT_BF16, 0x1.01p0, 0x3f80}, /* halfway, to even */
        {WEFT_BF16, 0x1.03p0, 0x3f82},
        {WEFT_BF16, -1e39, 0xff80},
        {WEFT_F16, 1, 0x3c00},
        {WEFT_F16, -2, 0xc000},
        {WEFT_F16, -0.0, 0x8000},
        {WEFT_F16, 65504, 0x7bff},
        {WEFT_F16, 65520, 0x7c00},
        {WEFT_F16, 0x1p-24, 1},
        {WEFT_F16, 0x1p-14, 0x400},
        {WEFT_F16, 0x1p-25, 0},
        {WEFT_F16, 0x1.002p0 + 0x1p-40, 0x3c01}, /* rounding through f32 first would give 0x3c00 */
        {WEFT_F32, 1, 0x3f800000},
        {WEFT_F64, 1, 0x3ff0000000000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bits = 0;
        weft_scalar_store(cases[i].dtype, cases[i].value, &bits);
        if (bits != cases[i].bits) fail_msg("case %zu: %llx", i, (unsigned long long)bits);
    }
}

/* ---- elementwise ---- */

static void operands_broadcast(void **state)
{
    (void)state;
    expect_type(weft_add(f.x, weft_scalar(f.graph, WEFT_F32, 1)), "f32[n, 4]");
    expect_type(weft_mul(weft_unsqueeze(f.v, -1), f.y), "f32[3, 4]");
    expect_type(weft_sub(weft_unsqueeze(f.v, -1), weft_unsqueeze(f.x, 1)), "f32[n, 3, 4]");
    expect_type(weft_select(f.p, weft_scalar(f.graph, WEFT_F32, 1), f.y), "f32[3, 4]");
    expect_type(weft_lt(f.x, f.x), "bool[n, 4]");
    expect_type(weft_add(weft_unsqueeze(f.x, 0), weft_input(f.graph, "e", WEFT_F32, WEFT_SHAPE(0, 1, 1))),
                "f32[0, n, 4]");
    assert_int_equal(f.graph->guard_count, 0);
}

static void undecided_extents_become_guards(void **state)
{
    (void)state;
    expect_type(weft_add(f.x, f.y), "f32[3, 4]");
    expect_guard(
        "n", "==", "3",
        "add: axis 0 of operand 0 has extent n but axis 0 of operand 1 has 3 (operand 0 is x, operand 1 is y)");
    weft_tensor z = weft_input(f.graph, "z", WEFT_F32, WEFT_SHAPE(f.m, 1));
    expect_type(weft_div(f.x, z), "f32[n, 4]");
    expect_guard("n", "==", "m",
                 "div: axis 0 of operand 0 has extent n but axis 0 of operand 1 has m (operand 0 is x, operand 1 is a "
                 "view of z)");
}

static void equal_guards_are_one(void **state)
{
    (void)state;
    weft_tensor z = weft_input(f.graph, "z", WEFT_F32, WEFT_SHAPE(f.m, 4));
    weft_tensor sum = weft_add(f.x, z);
    weft_mul(z, weft_exp(sum));
    weft_sub(f.x, z);
    assert_int_equal(f.graph->guard_count, 1);
}

static void elementwise_refuses(void **state)
{
    (void)state;
    expect_error(weft_add(f.y, f.d), WEFT_DTYPE_MISMATCH,
                 "add: operand 1 has dtype f64 but operand 0 has f32; cast explicitly");
    expect_error(weft_max(f.x, f.v), WEFT_SHAPE_MISMATCH,
                 "max: axis 1 of operand 0 has extent 4 but axis 0 of operand 1 has 3");
    expect_error(weft_add(f.y, weft_input(f.graph, "w", WEFT_F32, WEFT_SHAPE(weft_extent_add(f.m, N(4)), 4))),
                 WEFT_SHAPE_MISMATCH, "add: axis 0 of operand 0 has extent 3 but axis 0 of operand 1 has m + 4");
    expect_error(weft_exp(f.i), WEFT_DTYPE_MISMATCH,
                 "exp: operand 0 has dtype i64 but the op takes bf16, f16, f32, f64, c64, c128");
    expect_error(weft_angle(f.y), WEFT_DTYPE_MISMATCH, "angle: operand 0 has dtype f32 but the op takes c64, c128");
    expect_error(weft_and(f.x, f.x), WEFT_DTYPE_MISMATCH,
                 "and: operand 0 has dtype f32 but the op takes bool, u8, i32, u32, i64");
    expect_error(weft_neg(f.p), WEFT_DTYPE_MISMATCH,
                 "neg: operand 0 has dtype bool but the op takes u8, i32, u32, i64, bf16, f16, f32, f64, c64, c128");
    expect_error(weft_select(f.y, f.y, f.y), WEFT_DTYPE_MISMATCH, "select: the condition has dtype f32, not bool");
    expect_error(weft_select(f.p, f.y, f.d), WEFT_DTYPE_MISMATCH,
                 "select: operand 2 has dtype f64 but operand 1 has f32; cast explicitly");
    expect_error(weft_cast(f.x, (weft_dtype)-1), WEFT_INVALID_ARGUMENT, "cast: dtype is not a weft_dtype");
}

/* ---- movement ---- */

static void reshapes_count(void **state)
{
    (void)state;
    expect_type(weft_reshape(f.x, WEFT_SHAPE(weft_extent_mul(f.n, N(2)), 2)), "f32[2*n, 2]");
    expect_type(weft_reshape(f.x, WEFT_SHAPE(WEFT_INFER, 2, 2)), "f32[n, 2, 2]");
    expect_type(weft_reshape(f.y, WEFT_SHAPE(2, WEFT_INFER)), "f32[2, 6]");
    expect_type(weft_reshape(weft_input(f.graph, "e", WEFT_F32, WEFT_SHAPE(0, f.n)), WEFT_SHAPE(f.m, 0)), "f32[m, 0]");
    expect_type(weft_reshape(weft_input(f.graph, "g", WEFT_F32, WEFT_SHAPE(f.m, 0)), WEFT_SHAPE(f.m, 2, 0)),
                "f32[m, 2, 0]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_error(weft_reshape(weft_input(f.graph, "h", WEFT_F32, WEFT_SHAPE(f.m)), WEFT_SHAPE(f.m, 2)),
                 WEFT_SHAPE_MISMATCH, "reshape: f32[m] and f32[m, 2] must have equally many elements");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(5, 2)), WEFT_SHAPE_MISMATCH,
                 "reshape: f32[3, 4] and f32[5, 2] must have equally many elements");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(5, WEFT_INFER)), WEFT_SHAPE_MISMATCH,
                 "reshape: axis 1 cannot be inferred: 12 elements are not a multiple of 5");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(0, WEFT_INFER)), WEFT_SHAPE_MISMATCH,
                 "reshape: axis 1 cannot be inferred: the others have no elements");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(-2, 6)), WEFT_OUT_OF_RANGE,
                 "reshape: axis 0 of the result has extent -2, below 0");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(-2, -6)), WEFT_OUT_OF_RANGE,
                 "reshape: axis 0 of the result has extent -2, below 0");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(WEFT_INFER, -5)), WEFT_OUT_OF_RANGE,
                 "reshape: axis 1 of the result has extent -5, below 0");
    expect_error(weft_reshape(f.y, WEFT_SHAPE(WEFT_INFER, 2, WEFT_INFER)), WEFT_INVALID_ARGUMENT,
                 "reshape: axes 0 and 2 cannot both be inferred");
}

static void splitting_a_symbol_guards_divisibility(void **state)
{
    (void)state;
    weft_tensor z = weft_input(f.graph, "z", WEFT_F32, WEFT_SHAPE(f.n));
    expect_type(weft_reshape(z, WEFT_SHAPE(WEFT_INFER, 8)), "f32[n / 8, 8]");
    expect_guard("n", "==", "8*(n / 8)",
                 "reshape: f32[n] and f32[n / 8, 8] must have equally many elements (operand 0 is z)");
    expect_type(weft_reshape(f.x, WEFT_SHAPE(4, f.m)), "f32[4, m]");
    expect_guard("n", "==", "m", "reshape: f32[n, 4] and f32[4, m] must have equally many elements (operand 0 is x)");
}

static void squeezing_a_symbol_guards_one(void **state)
{
    (void)state;
    expect_type(weft_squeeze(f.s, 0), "f32[3]");
    expect_guard("m", "==", "1", "reshape: axis 0 of the operand has extent m, not 1 (operand 0 is s)");
    weft_tensor z = weft_input(f.graph, "z", WEFT_F32, WEFT_SHAPE(f.n, f.m));
    expect_type(weft_squeeze(z, 0), "f32[m]");
    expect_guard("n", "==", "1", "reshape: axis 0 of the operand has extent n, not 1 (operand 0 is z)");
    expect_type(weft_squeeze(weft_unsqueeze(f.v, 1), 1), "f32[3]");
    expect_error(weft_squeeze(f.y, -1), WEFT_SHAPE_MISMATCH, "squeeze: axis 1 has extent 4, not 1");
    expect_error(weft_squeeze(f.y, 2), WEFT_OUT_OF_RANGE, "squeeze: axis 2 is out of range for rank 2");
}

static void axes_move(void **state)
{
    (void)state;
    weft_tensor c = weft_input(f.graph, "c", WEFT_F32, WEFT_SHAPE(2, 3, f.n));
    expect_type(weft_permute(c, WEFT_INTS(2, 0, -2)), "f32[n, 2, 3]");
    expect_type(weft_transpose(c, 0, -1), "f32[n, 3, 2]");
    expect_type(weft_flip(c, WEFT_INTS(-1, 0)), "f32[2, 3, n]");
    expect_type(weft_unsqueeze(c, -1), "f32[2, 3, n, 1]");
    expect_error(weft_permute(c, WEFT_INTS(0, 1, 1)), WEFT_INVALID_ARGUMENT, "permute: axes names axis 1 twice");
    expect_error(weft_permute(c, WEFT_INTS(0, 1)), WEFT_INVALID_ARGUMENT,
                 "permute: axes has length 2 but the rank is 3");
    expect_error(weft_permute(c, (weft_ints){3, NULL}), WEFT_INVALID_ARGUMENT, "permute: the axes are NULL");
    expect_error(weft_permute(c, WEFT_INTS(0, 1, 3)), WEFT_OUT_OF_RANGE, "permute: axis 3 is out of range for rank 3");
    expect_error(weft_flip(c, WEFT_INTS(0, -3)), WEFT_INVALID_ARGUMENT, "flip: axes names axis 0 twice");
    expect_error(weft_transpose(c, 0, -4), WEFT_OUT_OF_RANGE, "transpose: axis -4 is out of range for rank 3");
}

static void broadcasts_stretch_ones_only(void **state)
{
    (void)state;
    expect_type(weft_broadcast(f.v, WEFT_SHAPE(f.n, 3)), "f32[n, 3]");
    expect_type(weft_broadcast_in_dim(f.v, WEFT_SHAPE(3, f.m), WEFT_INTS(0)), "f32[3, m]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_type(weft_broadcast(f.x, WEFT_SHAPE(7, 4)), "f32[7, 4]");
    expect_guard("n", "==", "7", "broadcast: axis 0 has extent n but axis 0 of the result has 7 (operand 0 is x)");
    expect_error(weft_broadcast(f.v, WEFT_SHAPE(3, 4)), WEFT_SHAPE_MISMATCH,
                 "broadcast: axis 0 has extent 3 but axis 1 of the result has 4");
    expect_error(weft_broadcast(f.y, WEFT_SHAPE(4)), WEFT_SHAPE_MISMATCH,
                 "broadcast: a tensor of rank 2 does not broadcast to rank 1");
    expect_error(weft_broadcast_in_dim(f.y, WEFT_SHAPE(4, 3), WEFT_INTS(1, 0)), WEFT_INVALID_ARGUMENT,
                 "broadcast_in_dim: axes must increase but 0 follows 1");
}

static void slices_stay_inside(void **state)
{
    (void)state;
    weft_tensor c = weft_input(f.graph, "c", WEFT_F32, WEFT_SHAPE(4, 3));
    expect_type(weft_narrow(c, 0, N(1), N(0)), "f32[0, 3]");
    expect_type(weft_narrow(c, 0, N(4), N(0)), "f32[0, 3]");
    expect_type(weft_slice(c, WEFT_SHAPE(3, 0), WEFT_SHAPE(2, 2), WEFT_INTS(-3, 2)), "f32[2, 2]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_error(weft_narrow(c, 0, N(2), N(3)), WEFT_OUT_OF_RANGE,
                 "narrow: axis 0 reads up to index 4 but its extent is 4");
    expect_error(weft_narrow(c, 0, N(-1), N(3)), WEFT_OUT_OF_RANGE,
                 "narrow: axis 0 starts at index -1, before the first");
    expect_error(weft_narrow(c, 1, N(0), N(-1)), WEFT_OUT_OF_RANGE, "narrow: axis 1 has size -1, below 0");
    expect_error(weft_slice(c, WEFT_SHAPE(3, 0), WEFT_SHAPE(3, 1), WEFT_INTS(-2, 1)), WEFT_OUT_OF_RANGE,
                 "slice: axis 0 reads down to index -1, before the first");
    expect_error(weft_slice(c, WEFT_SHAPE(0, 0), WEFT_SHAPE(1, 1), WEFT_INTS(1, 0)), WEFT_INVALID_ARGUMENT,
                 "slice: the step of axis 1 is 0");
    expect_error(weft_slice(c, WEFT_SHAPE(0), WEFT_SHAPE(1, 1), WEFT_INTS(1, 1)), WEFT_INVALID_ARGUMENT,
                 "slice: starts has length 1, sizes 2 and steps 2, but the rank is 2");
    expect_error(weft_narrow(c, 2, N(0), N(1)), WEFT_OUT_OF_RANGE, "narrow: axis 2 is out of range for rank 2");
}

static weft_tensor slice_nothing(weft_tensor x, int64_t start, int64_t step)
{
    return weft_slice(x, WEFT_SHAPE(start), WEFT_SHAPE(0), WEFT_INTS(step));
}

/* 0 <= start < extent + step, or step <= start < extent where the step is negative. */
static void slices_of_nothing_may_begin_a_step_outside(void **state)
{
    (void)state;
    static const struct bounds {
        int64_t step, least, most;
    } bounds[] = {{1, 0, 4}, {3, 0, 6}, {-1, -1, 3}, {-3, -3, 3}, {INT64_MAX, 0, 4}, {-INT64_MAX, -1, 3}};
    weft_tensor c = weft_input(f.graph, "c", WEFT_F32, WEFT_SHAPE(4));
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        bool forward = bounds[i].step > 0;
        expect_type(slice_nothing(c, bounds[i].least, bounds[i].step), "f32[0]");
        expect_type(slice_nothing(c, bounds[i].most, bounds[i].step), "f32[0]");
        expect_error(slice_nothing(c, bounds[i].least - 1, bounds[i].step), WEFT_OUT_OF_RANGE,
                     forward ? "slice: axis 0 starts at index -1, before the first"
                             : "slice: axis 0 reads down to index -1, before the first");
        expect_error(slice_nothing(c, bounds[i].most + 1, bounds[i].step), WEFT_OUT_OF_RANGE,
                     forward ? "slice: axis 0 reads up to index 4 but its extent is 4"
                             : "slice: axis 0 starts at index 4 but its extent is 4");
    }
    expect_error(slice_nothing(c, 0, INT64_MIN), WEFT_OUT_OF_RANGE,
                 "slice: the step of axis 0 is -9223372036854775808, below -9223372036854775807");
    assert_int_equal(f.graph->guard_count, 0);
}

static void overflows_are_errors(void **state)
{
    (void)state;
    weft_tensor huge = weft_broadcast(weft_scalar(f.graph, WEFT_U8, 1), WEFT_SHAPE(INT64_MAX));
    expect_type(huge, "u8[9223372036854775807]");
    expect_error(weft_concat(WEFT_TENSORS(huge, huge), 0), WEFT_OUT_OF_RANGE,
                 "concat: axis 0 of the result has an extent that is invalid or does not fit an int64");
    expect_error(weft_slice(f.v, WEFT_SHAPE(0), WEFT_SHAPE(3), WEFT_INTS(INT64_MAX)), WEFT_OUT_OF_RANGE,
                 "slice: an extent is invalid or does not fit an int64");
    weft_tensor wide = weft_broadcast(f.x, WEFT_SHAPE(INT64_C(1) << 60, f.n, 4));
    expect_type(weft_permute(weft_narrow(wide, 2, N(0), N(1)), WEFT_INTS(1, 0, 2)), "f32[n, 1152921504606846976, 1]");
}

static void symbolic_slices_become_guards(void **state)
{
    (void)state;
    expect_type(weft_narrow(f.x, 0, N(2), N(3)), "f32[3, 4]");
    expect_guard("5", "<=", "n", "slice: axis 0 reads up to index 4 but its extent is n (operand 0 is x)");
    expect_type(weft_narrow(f.x, 0, N(0), weft_extent_sub(f.n, N(1))), "f32[n - 1, 4]");
    assert_int_equal(f.graph->guard_count, 0);
}

static void padding_grows(void **state)
{
    (void)state;
    weft_tensor zero = weft_scalar(f.graph, WEFT_F32, 0);
    expect_type(weft_pad(f.x, zero, WEFT_SHAPE(1, 0), WEFT_SHAPE(f.m, 2)), "f32[n + m + 1, 6]");
    expect_error(weft_pad(f.x, f.v, WEFT_SHAPE(1, 0), WEFT_SHAPE(0, 0)), WEFT_SHAPE_MISMATCH,
                 "pad: the value has rank 1, not 0");
    expect_error(weft_pad(f.x, zero, WEFT_SHAPE(-1, 0), WEFT_SHAPE(0, 0)), WEFT_OUT_OF_RANGE,
                 "pad: low of axis 0 is -1, below 0");
    expect_error(weft_pad(f.x, zero, WEFT_SHAPE(1), WEFT_SHAPE(0, 0)), WEFT_INVALID_ARGUMENT,
                 "pad: low has length 1 and high 2, but the rank is 2");
    expect_error(weft_pad(f.d, zero, WEFT_SHAPE(1, 0), WEFT_SHAPE(0, 0)), WEFT_DTYPE_MISMATCH,
                 "pad: operand 1 has dtype f32 but operand 0 has f64; cast explicitly");
}

static void joining_and_picking(void **state)
{
    (void)state;
    expect_type(weft_concat(WEFT_TENSORS(f.x, f.y, f.x), 0), "f32[2*n + 3, 4]");
    expect_type(weft_concat(WEFT_TENSORS(f.y), -1), "f32[3, 4]");
    expect_type(weft_gather(f.x, f.i, 0), "f32[2, 5, 4]");
    expect_type(weft_gather(f.y, weft_scalar(f.graph, WEFT_I64, 1), -1), "f32[3]");
    expect_error(weft_concat(WEFT_TENSORS(f.y, f.v), 0), WEFT_SHAPE_MISMATCH,
                 "concat: operand 1 has rank 1 but operand 0 has 2");
    expect_error(weft_concat(WEFT_TENSORS(f.y, weft_reshape(f.y, WEFT_SHAPE(4, 3))), 0), WEFT_SHAPE_MISMATCH,
                 "concat: axis 1 of operand 0 has extent 4 but axis 1 of operand 1 has 3");
    expect_error(weft_gather(f.x, f.y, 0), WEFT_DTYPE_MISMATCH, "gather: the indices have dtype f32, not i64 or i32");
    assert_false(weft_tensor_is_valid(weft_concat((weft_tensors){0, NULL}, 0)));
}

static void diagonals(void **state)
{
    (void)state;
    weft_tensor c = weft_input(f.graph, "c", WEFT_F32, WEFT_SHAPE(3, f.n, 3));
    expect_type(weft_extract_diagonal(c, -1, 0), "f32[3, n]");
    expect_type(weft_embed_diagonal(f.x, 0, -1), "f32[n, 4, n]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_type(weft_extract_diagonal(c, 1, 2), "f32[3, n]");
    expect_guard("n", "==", "3", "extract_diagonal: axis 1 has extent n but axis 2 has 3 (operand 0 is c)");
    expect_error(weft_extract_diagonal(f.y, 0, 1), WEFT_SHAPE_MISMATCH,
                 "extract_diagonal: axis 0 has extent 3 but axis 1 has 4");
    expect_error(weft_extract_diagonal(f.y, 1, -1), WEFT_INVALID_ARGUMENT,
                 "extract_diagonal: axis_a and axis_b are both 1");
    expect_error(weft_embed_diagonal(f.y, 0, 3), WEFT_OUT_OF_RANGE,
                 "embed_diagonal: axis 3 is out of range for rank 3");
}

static void windows(void **state)
{
    (void)state;
    expect_type(weft_window(f.y, 1, N(2), 1, 1), "f32[3, 3, 2]");
    expect_type(weft_window(f.y, -1, N(3), 1, 2), "f32[3, 0, 3]");
    expect_type(weft_window(f.y, 0, N(1), 2, 5), "f32[2, 4, 1]");
    expect_type(weft_window(f.y, 1, N(9), 1, 1), "f32[3, 0, 9]");
    expect_type(weft_window(f.x, 0, N(1), 1, 1), "f32[n, 4, 1]");
    expect_type(weft_window(f.x, 0, N(3), 1, INT64_MAX / 2 + 1), "f32[0, 4, 3]");
    expect_type(weft_window(f.y, 1, N(3), 1, INT64_MAX), "f32[3, 0, 3]");
    weft_tensor far = weft_window(f.x, 0, N(3), INT64_MAX, INT64_MAX / 2);
    expect_type(far, "f32[0, 4, 3]");
    weft_extent large = weft_extent_mul(weft_extent_of(INT64_MAX / 2 + 1), f.n);
    weft_tensor zero = weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE());
    expect_error(weft_pad(f.v, zero, WEFT_SHAPE(large), WEFT_SHAPE(large)), WEFT_OUT_OF_RANGE,
                 "pad: a size, a stride or an offset does not fit in 64 bits");
    assert_int_equal(f.graph->guard_count, 0);
    weft_extent k = weft_symbol(f.graph, "k", 0, 5);
    assert_int_equal(weft_tensor_rank(weft_window(f.x, 0, k, 2, 1)), 3);
    expect_guard("1", "<=", "k", "window: the size is k, below 1 (operand 0 is x)");
    expect_error(weft_window(f.y, 1, N(0), 1, 1), WEFT_OUT_OF_RANGE, "window: the size is 0, below 1");
    expect_error(weft_window(f.y, 1, N(2), 0, 1), WEFT_INVALID_ARGUMENT, "window: the stride is 0, below 1");
    expect_error(weft_window(f.y, 1, N(2), 1, -1), WEFT_INVALID_ARGUMENT, "window: the dilation is -1, below 1");
    expect_error(weft_window(f.y, 2, N(2), 1, 1), WEFT_OUT_OF_RANGE, "window: axis 2 is out of range for rank 2");
}

static void shears(void **state)
{
    (void)state;
    expect_type(weft_shear(f.x, 0, 1, 2, weft_extent_add(f.n, N(1))), "f32[n + 1, 4]");
    expect_type(weft_shear(f.y, -1, 0, -1, N(2)), "f32[3, 2]");
    expect_error(weft_shear(f.y, 1, -1, 1, N(2)), WEFT_INVALID_ARGUMENT, "shear: axis and along are both 1");
    expect_error(weft_shear(f.y, 2, 0, 1, N(2)), WEFT_OUT_OF_RANGE, "shear: axis 2 is out of range for rank 2");
    expect_error(weft_shear(f.y, 0, 2, 1, N(2)), WEFT_OUT_OF_RANGE, "shear: axis 2 is out of range for rank 2");
}

static void sums_of_windows(void **state)
{
    (void)state;
    weft_tensor w = weft_window(f.y, 1, N(2), 1, 1);
    expect_type(weft_window_add(w, 1, N(4), 1, 1), "f32[3, 4]");
    expect_type(weft_window_add(weft_window(f.y, 1, N(2), 2, 1), -1, N(4), 2, 1), "f32[3, 4]");
    expect_type(weft_window_add(weft_window(f.x, 0, N(3), 2, 2), 0, f.n, 2, 2), "f32[n, 4]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_error(weft_window_add(w, 1, N(4), 0, 1), WEFT_INVALID_ARGUMENT, "window_add: the stride is 0, below 1");
    expect_error(weft_window_add(w, 1, N(4), 1, -1), WEFT_INVALID_ARGUMENT, "window_add: the dilation is -1, below 1");
    expect_error(weft_window_add(w, 2, N(4), 1, 1), WEFT_OUT_OF_RANGE, "window_add: axis 2 is out of range for rank 2");
    expect_error(weft_window_add(f.v, 0, N(4), 1, 1), WEFT_SHAPE_MISMATCH,
                 "window_add: the operand has rank 1 but needs at least 2");
    expect_error(weft_window_add(w, 1, N(5), 1, 1), WEFT_SHAPE_MISMATCH,
                 "window_add: axis 1 has 3 windows but there are 4 in an extent of 5");
    expect_error(weft_window_add(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(3, 0)), 0, N(3), 1, 1), WEFT_OUT_OF_RANGE,
                 "window_add: the size is 0, below 1");
    expect_type(weft_window_add(weft_input(f.graph, "windows", WEFT_F32, WEFT_SHAPE(f.n, 2)), 0, N(9), 1, 1), "f32[9]");
    expect_guard("n", "==", "8", "window_add: axis 0 has n windows but there are 8 in an extent of 9");
}

static void scans(void **state)
{
    (void)state;
    expect_type(weft_cumsum(f.x, -1, false, false), "f32[n, 4]");
    expect_type(weft_cummax(weft_eq(f.y, f.y), 0, true, true), "bool[3, 4]");
    expect_error(weft_cumprod(f.x, 2, false, false), WEFT_OUT_OF_RANGE, "cumprod: axis 2 is out of range for rank 2");
    expect_error(weft_cumsum(weft_eq(f.y, f.y), 0, false, false), WEFT_DTYPE_MISMATCH,
                 "cumsum: operand 0 has dtype bool but the op takes u8, i32, u32, i64, bf16, f16, f32, f64, c64, "
                 "c128");
    expect_type(weft_scan_linear(f.v, weft_unsqueeze(f.v, 1), -1, false), "f32[3, 3]");
    expect_type(weft_scan_linear(0.5, f.x, 0, true), "f32[n, 4]");
    expect_type(weft_scan_linear(f.y, 1, 1, true), "f32[3, 4]");
    expect_error(weft_scan_linear(f.x, f.y, 2, false), WEFT_OUT_OF_RANGE,
                 "scan_linear: axis 2 is out of range for rank 2");
    expect_error(weft_scan_linear(f.y, f.d, 0, false), WEFT_DTYPE_MISMATCH,
                 "scan_linear: operand 1 has dtype f64 but operand 0 has f32; cast explicitly");
    expect_error(weft_scan_linear(f.v, f.y, 0, false), WEFT_SHAPE_MISMATCH,
                 "scan_linear: axis 0 of operand 0 has extent 3 but axis 1 of operand 1 has 4");
    assert_int_equal(f.graph->guard_count, 0);
}

static void sorting(void **state)
{
    (void)state;
    expect_type(weft_sort(f.x, -1, false), "f32[n, 4]");
    expect_type(weft_argsort(f.x, 0, true), "i64[n, 4]");
    expect_error(weft_sort(f.x, 2, false), WEFT_OUT_OF_RANGE, "sort: axis 2 is out of range for rank 2");
    expect_error(weft_argsort(weft_scalar(f.graph, WEFT_F32, 1), 0, false), WEFT_OUT_OF_RANGE,
                 "argsort: axis 0 is out of range for rank 0");
    weft_tensor z = weft_input(f.graph, "z", WEFT_C64, WEFT_SHAPE(3));
    expect_error(weft_sort(z, 0, false), WEFT_DTYPE_MISMATCH,
                 "sort: operand 0 has dtype c64 but the op takes bool, u8, i32, u32, i64, bf16, f16, f32, f64");
}

/* ---- reductions and products ---- */

static void reductions_drop_or_keep_axes(void **state)
{
    (void)state;
    expect_type(weft_reduce_sum(f.x, WEFT_INTS(-1, 0), false), "f32[]");
    expect_type(weft_reduce_max(f.x, WEFT_INTS(1), true), "f32[n, 1]");
    expect_type(weft_reduce_min(f.x, WEFT_INTS(0), false), "f32[4]");
    expect_type(weft_reduce_sum(f.x, WEFT_INTS(), false), "f32[n, 4]");
    expect_type(weft_argmax(f.x, 0, false), "i64[4]");
    expect_type(weft_argmax(f.x, 0, true), "i64[1, 4]");
    expect_type(weft_argmin(f.x, 0, false), "i64[4]");
    expect_type(weft_reduce_prod(f.x, WEFT_INTS(0), false), "f32[4]");
    expect_type(weft_reduce_any(weft_eq(f.y, f.y), WEFT_INTS(0), false), "bool[4]");
    expect_type(weft_reduce_all(weft_eq(f.y, f.y), WEFT_INTS(0, 1), true), "bool[1, 1]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_error(weft_reduce_sum(f.x, WEFT_INTS(1, -1), false), WEFT_INVALID_ARGUMENT,
                 "reduce_sum: axes names axis 1 twice");
    expect_error(weft_reduce_max(f.x, WEFT_INTS(0, 1, 0), false), WEFT_INVALID_ARGUMENT,
                 "reduce_max: axes has length 3 but the rank is 2");
    expect_error(weft_reduce_max(f.x, WEFT_INTS(0, 1, 2), false), WEFT_OUT_OF_RANGE,
                 "reduce_max: axis 2 is out of range for rank 2");
    weft_tensor scalar = weft_scalar(f.graph, WEFT_F32, 1), index = weft_scalar(f.graph, WEFT_I64, 0);
    expect_error(weft_reduce_sum(scalar, WEFT_INTS(0), false), WEFT_OUT_OF_RANGE,
                 "reduce_sum: axis 0 is out of range for rank 0");
    expect_error(weft_gather(scalar, index, 0), WEFT_OUT_OF_RANGE, "gather: axis 0 is out of range for rank 0");
    expect_error(weft_reduce_any(f.x, WEFT_INTS(0), false), WEFT_DTYPE_MISMATCH,
                 "reduce_any: operand 0 has dtype f32 but the op takes bool");
    expect_error(weft_argmax(f.x, -3, false), WEFT_OUT_OF_RANGE, "argmax: axis -3 is out of range for rank 2");
}

static void products(void **state)
{
    (void)state;
    weft_tensor a = weft_input(f.graph, "a", WEFT_F32, WEFT_SHAPE(3, 1, 4, 5));
    weft_tensor b = weft_input(f.graph, "b", WEFT_F32, WEFT_SHAPE(6, 5, 2));
    expect_type(weft_matmul(a, b), "f32[3, 6, 4, 2]");
    expect_type(weft_matmul(f.x, weft_transpose(f.y, 0, 1)), "f32[n, 3]");
    expect_type(weft_matmul(f.v, f.y), "f32[4]");
    expect_type(weft_matmul(f.v, f.v), "f32[]");
    expect_type(weft_matmul(weft_reshape(b, WEFT_SHAPE(6, 2, 5)), weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(5), 0)),
                "f32[6, 2]");
    expect_type(weft_matmul(weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(5), 0), b), "f32[6, 2]");
    expect_type(weft_matmul(weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(2, 0), 0),
                            weft_iota(f.graph, WEFT_F32, WEFT_SHAPE(0, 3), 0)),
                "f32[2, 3]");
    expect_type(weft_dot(a, b, (weft_dot_axes){{0, NULL}, {0, NULL}, WEFT_INTS(-1), WEFT_INTS(1)}),
                "f32[3, 1, 4, 6, 2]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_error(weft_matmul(f.y, f.v), WEFT_SHAPE_MISMATCH, "matmul: axis 1 of a has extent 4 but axis 0 of b has 3");
    expect_error(weft_matmul(f.y, weft_scalar(f.graph, WEFT_F32, 1)), WEFT_SHAPE_MISMATCH,
                 "matmul: b has rank 0 but needs at least 1");
    expect_error(weft_matmul(weft_broadcast(f.y, WEFT_SHAPE(2, 3, 4)), b), WEFT_SHAPE_MISMATCH,
                 "matmul: axis 2 of a has extent 4 but axis 1 of b has 5");
    expect_error(weft_dot(f.y, f.y, (weft_dot_axes){WEFT_INTS(0), {0, NULL}, {0, NULL}, {0, NULL}}),
                 WEFT_INVALID_ARGUMENT, "dot: the batch axes of a have length 1 but those of b 0");
    expect_error(weft_dot(f.y, f.y, (weft_dot_axes){WEFT_INTS(0), WEFT_INTS(0), WEFT_INTS(0), WEFT_INTS(1)}),
                 WEFT_INVALID_ARGUMENT, "dot: axis 0 of a is paired twice");
    expect_error(weft_dot(f.y, f.d, (weft_dot_axes){{0, NULL}, {0, NULL}, {0, NULL}, {0, NULL}}), WEFT_DTYPE_MISMATCH,
                 "dot: operand 1 has dtype f64 but operand 0 has f32; cast explicitly");
}

static void a_symbolic_product_names_inputs_and_axes(void **state)
{
    (void)state;
    expect_type(weft_matmul(weft_transpose(f.x, 0, 1), f.s), "f32[4, 3]");
    expect_guard(
        "n", "==", "m",
        "dot: contracted axis 1 of a has extent n but axis 0 of b has m (operand 0 is a view of x, operand 1 is s)");
}

static void compositions(void **state)
{
    (void)state;
    expect_type(weft_softmax(f.x, -1), "f32[n, 4]");
    expect_type(weft_softmax(f.s, 0), "f32[m, 3]");
    expect_type(weft_mean(f.x, WEFT_INTS(0), false), "f32[4]");
    expect_type(weft_mean(f.y, WEFT_INTS(0, 1), true), "f32[1, 1]");
    expect_type(weft_relu(weft_scalar(f.graph, WEFT_I64, -2)), "i64[]");
    assert_int_equal(f.graph->guard_count, 0);
    expect_error(weft_mean(f.i, WEFT_INTS(0), false), WEFT_DTYPE_MISMATCH,
                 "mean: the operand has dtype i64 but must be a float");
    expect_error(weft_softmax(f.x, 2), WEFT_OUT_OF_RANGE, "softmax: axis 2 is out of range for rank 2");
}

/* ---- the sticky error ---- */

static void the_first_error_sticks(void **state)
{
    (void)state;
    int line = __LINE__ + 1;
    weft_tensor wrong = weft_add(f.y, f.d);
    weft_tensor more = weft_relu(weft_softmax(weft_matmul(wrong, f.y), 7));
    assert_false(weft_tensor_is_valid(more));
    assert_int_equal(weft_tensor_rank(more), 0);
    assert_false(weft_extent_is_valid(weft_tensor_extent(more, 0)));
    assert_false(weft_tensor_is_valid(weft_neg(f.p)));
    const weft_status *error = weft_graph_error(f.graph);
    assert_string_equal(weft_status_message(error),
                        "add: operand 1 has dtype f64 but operand 0 has f32; cast explicitly");
    char place[512];
    snprintf(place, sizeof place, "%s:%d", __FILE__, line);
    assert_string_equal(weft_status_where(error), place);
    weft_graph_clear_error(f.graph);
    expect_type(weft_relu(f.y), "f32[3, 4]");
    assert_false(weft_tensor_is_valid(weft_relu(wrong)));
    assert_null(weft_graph_error(f.graph));
}

static void tensors_of_two_graphs_do_not_mix(void **state)
{
    (void)state;
    weft_graph *other;
    weft_test_ok(weft_graph_create(NULL, &other));
    weft_tensor z = weft_input(other, "z", WEFT_F32, WEFT_SHAPE(3));
    expect_error(weft_add(f.v, z), WEFT_INVALID_ARGUMENT, "add: operand 1 belongs to another graph");
    expect_error(weft_matmul(f.y, z), WEFT_INVALID_ARGUMENT, "matmul: operand 1 belongs to another graph");
    expect_error(weft_add(f.v, (weft_tensor){0}), WEFT_INVALID_ARGUMENT, "add: operand 1 is not a tensor of a graph");
    expect_error(weft_add((weft_tensor){0}, f.v), WEFT_INVALID_ARGUMENT, "add: operand 0 is not a tensor of a graph");
    weft_extent k = weft_symbol(other, "k", 0, 9);
    expect_error(weft_broadcast(f.v, WEFT_SHAPE(k, 3)), WEFT_INVALID_ARGUMENT,
                 "broadcast: shape has an extent of another graph");
    assert_false(weft_extent_is_valid(weft_extent_add(f.n, k)));
    assert_string_equal(weft_status_message(weft_graph_error(f.graph)), "an extent belongs to another graph");
    assert_null(weft_graph_error(other));
    weft_graph_destroy(other);
}

static void nodes_can_be_read(void **state)
{
    (void)state;
    weft_tensor x = f.y, failed = weft_tensor_failed(f.graph);
    weft_tensor y = weft_reduce_sum(weft_add(x, x), WEFT_INTS(1), false);
    weft_tensor_set_name(y, "total");
    assert_string_equal(weft_tensor_op(y)->name, "reduce_sum");
    assert_int_equal(weft_tensor_attrs(y)[0].ints.items[0], 1);
    assert_string_equal(weft_tensor_name(y), "total");
    assert_int_equal(weft_tensor_input_count(weft_tensor_input(y, 0)), 2);
    assert_int_equal(weft_tensor_input(weft_tensor_input(y, 0), 1).node, x.node);
    assert_false(weft_tensor_is_valid(weft_tensor_input(y, 1)));
    assert_null(weft_tensor_op(failed));
    assert_null(weft_tensor_attrs(failed));
    assert_null(weft_tensor_name(failed));
    assert_int_equal(weft_tensor_input_count(failed), 0);
    assert_false(weft_tensor_is_valid(weft_tensor_input(failed, 0)));
}

static void nothing_without_a_graph(void **state)
{
    (void)state;
    assert_false(weft_tensor_is_valid(weft_input(NULL, "x", WEFT_F32, WEFT_SHAPE())));
    assert_false(weft_tensor_is_valid(weft_scalar(NULL, WEFT_F32, 1)));
    assert_false(weft_tensor_is_valid(weft_relu((weft_tensor){0})));
    assert_false(weft_tensor_is_valid(weft_trace(NULL, "add", WEFT_TENSORS(), NULL)));
    assert_false(weft_extent_is_valid(weft_symbol(NULL, "n", 0, 1)));
    assert_null(weft_graph_error(NULL));
    weft_graph_clear_error(NULL);
    weft_graph_destroy(NULL);
}

static void trace_checks_what_extensions_pass(void **state)
{
    (void)state;
    assert_false(weft_tensor_is_valid(weft_trace(f.graph, "none.such", WEFT_TENSORS(f.x), NULL)));
    assert_string_equal(weft_status_message(weft_graph_error(f.graph)),
                        "no registered extension has the op 'none.such'");
    weft_graph_clear_error(f.graph);
    assert_false(weft_tensor_is_valid(weft_trace(f.graph, NULL, WEFT_TENSORS(f.x), NULL)));
    assert_string_equal(weft_status_message(weft_graph_error(f.graph)), "the name of the op is NULL");
    weft_graph_clear_error(f.graph);
    assert_false(weft_tensor_is_valid(weft_trace(f.graph, "add", WEFT_TENSORS(f.x), NULL)));
    assert_string_equal(weft_status_message(weft_graph_error(f.graph)), "add: 1 operand is given but the op takes 2");
    weft_graph_clear_error(f.graph);
    assert_false(weft_tensor_is_valid(weft_trace(f.graph, "flip", WEFT_TENSORS(f.x), NULL)));
    assert_string_equal(weft_status_message(weft_graph_error(f.graph)), "flip: attributes are NULL");
}

/* ---- extents ---- */

static void extents_without_a_graph(void **state)
{
    (void)state;
    assert_true(weft_extent_equal(weft_extent_div(N(-7), N(2)), N(-4)));
    assert_true(weft_extent_equal(weft_extent_mod(N(-7), N(3)), N(2)));
    assert_true(weft_extent_equal(weft_extent_mod(N(7), N(-3)), N(-2)));
    assert_true(weft_extent_equal(weft_extent_min(N(2), N(3)), N(2)));
    assert_true(weft_extent_equal(weft_extent_max(weft_extent_sub(N(2), N(5)), N(-9)), N(-3)));
    assert_false(weft_extent_is_valid(weft_extent_mul(N(INT64_MAX), N(2))));
    assert_false(weft_extent_is_valid(weft_extent_div(N(1), N(0))));
    assert_false(weft_extent_is_valid(weft_extent_add(weft_extent_mod(N(1), N(0)), N(1))));
}

static void extents_of_a_graph(void **state)
{
    (void)state;
    char text[8];
    weft_extent e = weft_extent_add(weft_extent_mul(f.n, N(2)), f.m), parsed;
    assert_int_equal(weft_extent_print(e, text, sizeof text), 7);
    assert_string_equal(text, "2*n + m");
    assert_int_equal(weft_extent_print(e, text, 4), 7);
    assert_string_equal(text, "2*n");
    int64_t least, most;
    weft_extent_range(e, &least, &most);
    assert_int_equal(least, 2);
    assert_int_equal(most, 2050);
    weft_test_ok(weft_extent_parse(f.graph, " m + n + n ", &parsed));
    assert_true(weft_extent_equal(e, parsed));
    weft_test_fails(weft_extent_parse(f.graph, "n - n - 9223372036854775807 - 1", &parsed), WEFT_OUT_OF_RANGE,
                    "\"n - n - 9223372036854775807 - 1\" is -9223372036854775808, beyond the range of an extent, which "
                    "begins at -9223372036854775807");
    weft_test_fails(weft_extent_parse(f.graph, "m + n)", &parsed), WEFT_PARSE_ERROR,
                    "\")\" after a complete expression");
    assert_true(weft_extent_equal(weft_extent_sub(e, e), N(0)));
    assert_true(weft_extent_is_static(weft_extent_sub(e, e), NULL));
    assert_false(weft_extent_is_valid(weft_symbol(f.graph, "q", 3, 2)));
    assert_string_equal(weft_status_message(weft_graph_error(f.graph)),
                        "symbol q cannot run over [3, 2]: 0 <= min <= max must hold");
}

/* ---- allocation failures ---- */

static weft_status *trace_network(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 1000), m = weft_symbol(graph, "m", 1, 1000);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 6));
    weft_tensor w = weft_input(graph, "w", WEFT_F32, WEFT_SHAPE(m, 4));
    weft_tensor h = weft_relu(weft_matmul(x, w));
    weft_tensor y = weft_mean(weft_softmax(weft_reshape(h, WEFT_SHAPE(WEFT_INFER, 2)), -1), WEFT_INTS(0), true);
    weft_tensor_set_name(y, "y");
    weft_status *status = weft_status_clone(allocator, weft_graph_error(graph));
    if (status == NULL && !weft_tensor_is_valid(y)) {
        status = weft_status_create(allocator, WEFT_INTERNAL, NULL, "the tensor failed without an error");
    }
    if (status == NULL) {
        weft_graph *copy = NULL;
        weft_value value = {y.node, y.output};
        status = weft_graph_create(&(weft_graph_options){allocator}, &copy);
        if (status == NULL) status = weft_graph_copy(graph, copy, 1, &value, &value);
        weft_graph_destroy(copy);
    }
    weft_graph_destroy(graph);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    size_t requests = weft_test_fail_each(trace_network, NULL);
    assert_true(requests > 50);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* <complex.h> and <iso646.h> define these words. */
static void names_of_other_headers(void **state)
{
    (void)state;
    assert_int_equal(weft_tensor_dtype(weft_complex(f.d, f.d)), WEFT_C128);
    assert_int_equal(weft_tensor_dtype(weft_complex(f.d, 1)), WEFT_C128);
    assert_true(weft_tensor_is_valid(weft_and(weft_or(f.p, f.p), weft_xor(f.p, weft_not(f.p)))));
    assert_null(weft_graph_error(f.graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(leaves_have_their_types),
        UNIT(nodes_can_be_read),
        UNIT(shapes_take_numbers),
        UNIT(leaves_refuse),
        UNIT(zero_extents_may_sit_beside_huge_ones),
        UNIT(names_of_inputs_are_unique),
        UNIT(scalars_are_converted),
        UNIT(names_of_other_headers),
        UNIT(operands_broadcast),
        UNIT(undecided_extents_become_guards),
        UNIT(equal_guards_are_one),
        UNIT(elementwise_refuses),
        UNIT(reshapes_count),
        UNIT(splitting_a_symbol_guards_divisibility),
        UNIT(squeezing_a_symbol_guards_one),
        UNIT(axes_move),
        UNIT(broadcasts_stretch_ones_only),
        UNIT(slices_stay_inside),
        UNIT(slices_of_nothing_may_begin_a_step_outside),
        UNIT(overflows_are_errors),
        UNIT(symbolic_slices_become_guards),
        UNIT(padding_grows),
        UNIT(joining_and_picking),
        UNIT(diagonals),
        UNIT(windows),
        UNIT(shears),
        UNIT(sums_of_windows),
        UNIT(scans),
        UNIT(sorting),
        UNIT(reductions_drop_or_keep_axes),
        UNIT(products),
        UNIT(a_symbolic_product_names_inputs_and_axes),
        UNIT(compositions),
        UNIT(the_first_error_sticks),
        UNIT(tensors_of_two_graphs_do_not_mix),
        UNIT(nothing_without_a_graph),
        UNIT(trace_checks_what_extensions_pass),
        UNIT(extents_without_a_graph),
        UNIT(extents_of_a_graph),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
