/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/expr.h"
#include "test/rng.h"

#include <stdio.h>
#include <string.h>

#include "test/support.h"

static weft_expr parse(weft_expr_context *exprs, const char *text)
{
    const char *cursor = text;
    weft_expr e = WEFT_EXPR_NONE;
    weft_test_ok(weft_expr_parse(exprs, &cursor, &e));
    assert_string_equal(cursor, "");
    return e;
}

/* x y z n m k p: any; w h: any; a b c d: from 1; s in [0, 127], t in [0, 256], u in [1, 1]; loop variables i < n, j <
 * m, l < k. */
static void declare_symbols(weft_expr_context *exprs)
{
    static const char *const from_zero[] = {"x", "y", "z", "n", "m", "k", "p", "w", "h"}, *const from_one[] = {
                                                                                              "a", "b", "c", "d"};
    for (size_t i = 0; i < sizeof from_zero / sizeof *from_zero; i++)
        weft_expr_symbol(exprs, from_zero[i], 0, INT64_MAX);
    for (size_t i = 0; i < sizeof from_one / sizeof *from_one; i++) weft_expr_symbol(exprs, from_one[i], 1, INT64_MAX);
    weft_expr_symbol(exprs, "s", 0, 127);
    weft_expr_symbol(exprs, "t", 0, 256);
    weft_expr_symbol(exprs, "u", 1, 1);
    weft_expr_variable(exprs, "i", weft_expr_find(exprs, "n"));
    weft_expr_variable(exprs, "j", weft_expr_find(exprs, "m"));
    weft_expr_variable(exprs, "l", weft_expr_find(exprs, "k"));
    weft_expr_variable(exprs, "block", parse(exprs, "(n + 31) / 32"));
    weft_expr_variable(exprs, "lane", parse(exprs, "min(32, n - 32*block)"));
    weft_expr_variable(exprs, "tile", parse(exprs, "(n + a - 1) / a"));
    weft_expr_variable(exprs, "part", parse(exprs, "min(a, n - tile*a)"));
    weft_expr_variable(exprs, "i4", weft_expr_constant(exprs, 4));
    weft_expr_variable(exprs, "i32", weft_expr_constant(exprs, 32));
    weft_expr_variable(exprs, "padded", parse(exprs, "w + 2"));
    weft_test_ok(weft_expr_context_take_error(exprs));
}

static int set_up(void **state)
{
    weft_expr_context *exprs;
    weft_test_ok(weft_expr_context_create(NULL, &exprs));
    declare_symbols(exprs);
    *state = exprs;
    return 0;
}

static int tear_down(void **state)
{
    weft_expr_context *exprs = *state;
    weft_test_ok(weft_expr_context_take_error(exprs));
    weft_expr_context_destroy(exprs);
    return 0;
}

static void print_expr(weft_expr_context *exprs, weft_expr e, weft_bytes *text)
{
    weft_bytes_clear(text);
    weft_expr_print(exprs, e, text);
    weft_test_ok(weft_bytes_status(text));
}

static void check_same(weft_expr_context *exprs, const char *left, const char *right)
{
    weft_expr a = parse(exprs, left), b = parse(exprs, right);
    if (a == b) return;
    weft_bytes x, y;
    weft_bytes_init(&x, NULL);
    weft_bytes_init(&y, NULL);
    print_expr(exprs, a, &x);
    print_expr(exprs, b, &y);
    print_error("%s is %s, but %s is %s\n", left, x.data, right, y.data);
    weft_bytes_finish(&x);
    weft_bytes_finish(&y);
    fail();
}

static void equal_expressions_are_one(void **state)
{
    static const char *const cases[][2] = {
        {"11*16 + 15", "191"},
        {"-7 / 2", "-4"},
        {"-7 mod 2", "1"},
        {"7 mod -2", "-1"},
        {"1 + (8/32 + 27)", "28"},
        {"1+s+8+s+12+s+13+s+14+s+15+s+16+s+10+s+s+s", "10*s + 89"},
        {"s+s+s+89+s+s+s+s+s+s+s", "10*s + 89"},
        {"x + (y - x)", "y"},
        {"(x + y)*(x - y)", "x*x - y*y"},
        {"u + 127", "128"},
        {"u*x", "x"},
        {"x*0", "0"},
        {"x / 1", "x"},
        {"x mod 1", "0"},
        {"a / a", "1"},
        {"a mod a", "0"},
        {"(h*a) / a", "h"},
        {"s mod 128", "s"},
        {"s / 128", "0"},
        {"(z*6 + 5) / 6", "z"},
        {"(z*6 + 5) mod 6", "5"},
        {"(z/3)*3 + z mod 3", "z"},
        {"((w+3)/2 + 2) / 2", "(w + 7) / 4"},
        {"(x/2)/3", "x/6"},
        {"(x/a)/b", "x / (a*b)"},
        {"(x mod a) mod a", "x mod a"},
        {"(x mod 12) mod 4", "x mod 4"},
        {"(x mod 12) / 4", "(x / 4) mod 3"},
        {"(4*x + 2) / 6", "(2*x + 1) / 3"},
        {"(4*x + 3) mod 6", "2*((2*x + 1) mod 3) + 1"},
        {"(8*x + i4) / 4", "2*x"},
        {"(8*x + i4) mod 4", "i4"},
        {"(4*x + i4) / 8", "x / 2"},
        {"(4*x + i4) mod 8", "4*(x mod 2) + i4"},
        {"(i*m + j) / m", "i"},
        {"(i*m + j) mod m", "j"},
        {"(i*m + m - 1 - j) / m", "i"},
        {"(i*m + m - 1 - j) mod m", "m - 1 - j"},
        {"(i*m*k + j*k + l) / (m*k)", "i"},
        {"(i*m*k + j*k + l) mod (m*k)", "j*k + l"},
        {"(i*m*k + j*k + l) / k", "i*m + j"},
        {"((i*m*k + j*k + l) / k) mod m", "j"},
        {"(x*k + l) / (a*k)", "x / a"},
        {"(x*k + l) mod (a*k)", "k*(x mod a) + l"},
        {"(i*(w + 2) + padded) / (w + 2)", "i"},
        {"(i*(w + 2) + padded) mod (w + 2)", "padded"},
        {"(z/a)*a + z mod a", "z"},
        {"p*(z/a)*a + y + p*(z mod a)", "p*z + y"},
        {"5*p*((x*w + y)/4096)*4096 + 7 + 5*p*((x*w + y) mod 4096)", "5*p*x*w + 5*p*y + 7"},
        {"((x*w + y)/a)*a + (x*w + y) mod a", "x*w + y"},
        {"(x/(a + 1))*(a + 1) + x mod (a + 1)", "x"},
        {"(x / 4096)*4096 + ((x / 64) mod 64)*64 + x mod 64", "x"},
        {"((x / 64) mod 64)*64 + x mod 64", "x mod 4096"},
        {"((x/64 + y) mod 64)*64 + x mod 64", "(x + 64*y) mod 4096"},
        {"(x / (a*b))*a*b + ((x / b) mod a)*b + x mod b", "x"},
        {"x - x mod 8", "8*(x / 8)"},
        {"(x mod 12)/4*4 + (x mod 12) mod 4", "x mod 12"},
        {"x / -3", "-x / 3"},
        {"x mod -3", "-(-x mod 3)"},
        {"min(x, x + 1)", "x"},
        {"min(4*x, 8*y + 12)", "4*min(2*y + 3, x)"},
        {"min(x, max(x, y))", "x"},
        {"max(min(x, y), x)", "x"},
        {"min(s, 127)", "s"},
        {"max(s, 127)", "127"},
        {"min(min(x, y), y)", "min(y, x)"},
        {"n - min(n, 1)", "max(n - 1, 0)"},
        {"max(n - 1, 0) + min(n, 1)", "n"},
        {"max(n - m, 0) + min(n, m)", "n"},
        {"x - min(x, y)", "max(x - y, 0)"},
        {"x + y - min(x, y)", "max(x, y)"},
        {"max(max(n - 1, 0) - 1, 0)", "max(n - 2, 0)"},
        {"n - min(n, 1) - min(n - min(n, 1), 1)", "max(n - 2, 0)"},
        {"min(n + 3, 5)", "min(n, 2) + 3"},
        {"min(n + x, n + y)", "n + min(x, y)"},
        {"min(2*n, n + 1)", "n + min(n, 1)"},
        {"min(1, n + 2*min(n, 1))", "min(n, 1)"},
        {"min(3, 8*n)", "3*min(n, 1)"},
        {"min(3, 2*n + 8*m)", "min(3, 2*n + 3*m)"},
        {"max(n - 3, -1) / 3 + 1", "n / 3"},
        {"min(n, 5) / 2", "min(n / 2, 2)"},
        {"min(n - m, 2) + max(m - n, -2)", "0"},
        {"min((n + 2) / 4, n / 4)", "n / 4"},
        {"min(n / 2, 2*(n / 4))", "2*(n / 4)"},
        {"min(x, min(y, min(z, x + 1)))", "min(z, min(y, x))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_same(*state, cases[i][0], cases[i][1]);
}

static void what_is_unknown_stays(void **state)
{
    weft_expr_context *exprs = *state;
    assert_int_equal(weft_expr_kind_of(exprs, parse(exprs, "(h*w) / w")), WEFT_EXPR_DIV);
    assert_int_equal(weft_expr_kind_of(exprs, parse(exprs, "w / w")), WEFT_EXPR_DIV);
    assert_int_equal(weft_expr_kind_of(exprs, parse(exprs, "t mod 128")), WEFT_EXPR_MOD);
    assert_int_equal(weft_expr_kind_of(exprs, parse(exprs, "t / 128")), WEFT_EXPR_DIV);
    assert_int_equal(weft_expr_kind_of(exprs, parse(exprs, "(x*m + i) / m")), WEFT_EXPR_DIV);
    assert_int_equal(weft_expr_kind_of(exprs, parse(exprs, "(4*x + y) / 8")), WEFT_EXPR_DIV);
    assert_int_not_equal(parse(exprs, "(4*x + y) / 8"), parse(exprs, "x / 2"));
    assert_int_not_equal(parse(exprs, "(x*m + y) / (a*m)"), parse(exprs, "x / a"));
    assert_int_not_equal(parse(exprs, "x"), parse(exprs, "y"));
    assert_int_not_equal(parse(exprs, "n*m"), parse(exprs, "n + m"));
}

static void proofs_hold_inside_loops(void **state)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"m - 1 - j", true},
        {"m - j", true},
        {"m - 2 - j", false},
        {"n*m - 1 - (i*m + j)", true},
        {"n*m*k - 1 - (i*m*k + j*k + l)", true},
        {"n*m - 2 - (i*m + j)", false},
        {"n*m - 1 - (j*n + i)", true},
        {"n - i*m", false},
        {"x - y", false},
        {"x - x mod 3", true},
        {"x - 4*(x/4)", true},
        {"x - 4*((x + 1)/4)", false},
        {"4*(x/4) + 3 - x", true},
        {"4*(x/4) + 2 - x", false},
        {"a - 1 - x mod a", true},
        {"x - min(x, y)", true},
        {"max(x, y) - x", true},
        {"x + y - max(x, y)", true},
        {"x + y - 1 - max(x, y)", false},
        {"32*((n + 31)/32) - n", true},
        {"n - 1 - 32*block", true},
        {"n - 1 - (32*block + lane)", true},
        {"n - 2 - (32*block + lane)", false},
        {"31 - lane", true},
        {"n - 1 - (tile*a + part)", true},
        {"n - 1 + 0*block + block*0 + lane", true},
        {"n - 1", false},
        {"a*x - x", true},
        {"a*b - a", true},
        {"n*a - n*1", true},
        {"x*x - 2*x + 1", false},
    };
    weft_expr_context *exprs = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (weft_expr_always_nonnegative(exprs, parse(exprs, cases[i].text)) == cases[i].holds) continue;
        print_error("%s >= 0 should be %sproven\n", cases[i].text, cases[i].holds ? "" : "un");
        fail();
    }
}

static void comparisons_are_proven(void **state)
{
    weft_expr_context *exprs = *state;
    assert_true(weft_expr_always_less(exprs, parse(exprs, "s"), parse(exprs, "128")));
    assert_false(weft_expr_always_less(exprs, parse(exprs, "t"), parse(exprs, "128")));
    assert_true(weft_expr_always_less(exprs, parse(exprs, "160"), parse(exprs, "1 + 643/4")));
    assert_false(weft_expr_always_less(exprs, parse(exprs, "161"), parse(exprs, "1 + 643/4")));
    assert_true(weft_expr_always_less(exprs, parse(exprs, "z mod (651/4)"), parse(exprs, "162")));
    assert_true(weft_expr_always_less(exprs, parse(exprs, "i*m + j"), parse(exprs, "n*m")));
    assert_true(weft_expr_never_equal(exprs, parse(exprs, "2*x"), parse(exprs, "2*y + 1")));
    assert_true(weft_expr_never_equal(exprs, parse(exprs, "i"), parse(exprs, "n")));
    assert_false(weft_expr_never_equal(exprs, parse(exprs, "2*x"), parse(exprs, "3*y + 1")));
    assert_false(weft_expr_never_equal(exprs, parse(exprs, "x"), parse(exprs, "x")));
    assert_false(weft_expr_never_equal(exprs, parse(exprs, "x"), parse(exprs, "y")));
}

static void facts_can_be_read(void **state)
{
    weft_expr_context *exprs = *state;
    int64_t min, max, value;
    weft_expr e = parse(exprs, "3*s + 6*x*s + 9");
    assert_int_equal(weft_expr_divisor(exprs, e), 3);
    assert_int_equal(weft_expr_divisor(exprs, parse(exprs, "0")), 0);
    assert_int_equal(weft_expr_divisor(exprs, weft_expr_symbol(exprs, "step", -3, -3)), 3);
    assert_int_equal(weft_expr_offset(exprs, e), 9);
    assert_int_equal(weft_expr_arity(exprs, e), 2);
    weft_expr_range(exprs, parse(exprs, "3*s - 4"), &min, &max);
    assert_int_equal(min, -4);
    assert_int_equal(max, 377);
    weft_expr_range(exprs, parse(exprs, "x - 1"), &min, &max);
    assert_int_equal(min, -1);
    assert_int_equal(max, INT64_MAX);
    assert_true(weft_expr_uses(exprs, e, parse(exprs, "s")));
    assert_false(weft_expr_uses(exprs, e, parse(exprs, "y")));
    assert_int_equal(weft_expr_bound(exprs, parse(exprs, "i")), parse(exprs, "n"));
    assert_true(weft_expr_is_constant(exprs, parse(exprs, "u"), &value));
    assert_int_equal(value, 1);
    assert_false(weft_expr_is_constant(exprs, WEFT_EXPR_NONE, NULL));
    assert_string_equal(weft_expr_name(exprs, weft_expr_context_symbol(exprs, 0)), "x");
}

static void far_ranges_are_bounds_too(void **state)
{
    weft_expr_context *exprs = *state;
    int64_t min, max;
    weft_expr far = weft_expr_symbol(exprs, "far", INT64_C(1) << 62, INT64_MAX), near = parse(exprs, "s");
    weft_expr_range(exprs, weft_expr_sub(exprs, parse(exprs, "2*far"), near), &min, &max);
    assert_true(min >= INT64_MAX - 127 && max == INT64_MAX);
    weft_expr e = weft_expr_sub(exprs, parse(exprs, "max(x, 9223372036854775807)"), weft_expr_constant(exprs, 5));
    weft_expr_range(exprs, e, &min, &max);
    assert_int_equal(min, INT64_MAX - 5);
    assert_false(weft_expr_is_constant(exprs, weft_expr_mul(exprs, far, far), NULL));
    weft_expr any = weft_expr_symbol(exprs, "any", INT64_MIN, INT64_MAX);
    weft_expr_range(exprs, weft_expr_mul(exprs, any, near), &min, &max);
    assert_true(min == INT64_MIN && max == INT64_MAX);
    assert_false(weft_expr_always_nonnegative(exprs, weft_expr_mul(exprs, any, far)));
    assert_int_equal(weft_expr_kind_of(exprs, weft_expr_div(exprs, near, any)), WEFT_EXPR_DIV);
}

static void text_is_as_written(void **state)
{
    static const char *const cases[] = {"10*s + 89", "(n + 3) / 4", "n mod 128", "min(x, y)", "-(x / 3) + n", "x - 1",
                                        "(x + y) / (a*b)", "4*(x / 3)", "x*y / a", "-9223372036854775808", "-x / 3",
                                        "max(x, y + 1) mod (n + 2)", "x / 3 mod n", "x / (y / 3)", "y - x", "-2*x",
                                        /* the least number */
                                        "k + -9223372036854775808", "x + -9223372036854775808*y - 9223372036854775807",
                                        "-9223372036854775808*x + -9223372036854775808", "-9223372036854775808*(x / 3)",
                                        "x + -9223372036854775808*(y / 3)", "min(k + -9223372036854775808, x*y)",
                                        "max(x, y) + -9223372036854775808", "(s + -9223372036854775808) / 3",
                                        "x mod (k + -9223372036854775808)",
                                        "-9223372036854775807*k + k*k + -9223372036854775808"};
    weft_expr_context *exprs = *state;
    weft_bytes text;
    weft_bytes_init(&text, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_expr(exprs, parse(exprs, cases[i]), &text);
        if (strcmp(cases[i], "-(x / 3) + n") == 0) assert_string_equal(text.data, "n - x / 3");
        else if (strcmp(cases[i], "y - x") == 0) assert_string_equal(text.data, "-x + y");
        else assert_string_equal(text.data, cases[i]);
    }
    weft_bytes_finish(&text);
}

static void parse_fails(weft_expr_context *exprs, const char *text, weft_code code, const char *part)
{
    const char *cursor = text;
    weft_expr e = WEFT_EXPR_NONE;
    weft_test_fails(weft_expr_parse(exprs, &cursor, &e), code, part);
    assert_ptr_equal(cursor, text);
    assert_int_equal(e, WEFT_EXPR_NONE);
}

static void broken_text_is_refused(void **state)
{
    weft_expr_context *exprs = *state;
    parse_fails(exprs, "x + unheard_of", WEFT_NOT_FOUND, "unheard_of");
    parse_fails(exprs, "x + ", WEFT_PARSE_ERROR, "number");
    parse_fails(exprs, "(x", WEFT_PARSE_ERROR, "')'");
    parse_fails(exprs, "min(x y)", WEFT_PARSE_ERROR, "','");
    parse_fails(exprs, "min", WEFT_PARSE_ERROR, "'('");
    parse_fails(exprs, "12ab", WEFT_PARSE_ERROR, "12ab");
    parse_fails(exprs, "9223372036854775808", WEFT_OUT_OF_RANGE, "9223372036854775808");
    parse_fails(exprs, "x / 0", WEFT_INVALID_ARGUMENT, "divided by 0");
    parse_fails(exprs, "x mod (3 - 3)", WEFT_INVALID_ARGUMENT, "divided by 0");
    parse_fails(exprs, "x*4611686018427387904*2", WEFT_OUT_OF_RANGE, "64 bits");
    parse_fails(exprs, "9223372036854775807 + 1", WEFT_OUT_OF_RANGE, "64 bits");
    char deep[1000];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    parse_fails(exprs, deep, WEFT_PARSE_ERROR, "deep");
    const char *cursor = "x + y -> z";
    weft_expr e;
    weft_test_ok(weft_expr_parse(exprs, &cursor, &e));
    assert_string_equal(cursor, " -> z");
}

static void fails(weft_expr_context *exprs, weft_expr e, weft_code code, const char *part)
{
    assert_int_equal(e, WEFT_EXPR_NONE);
    weft_test_fails(weft_expr_context_take_error(exprs), code, part);
}

static void clashes_are_errors(void **state)
{
    weft_expr_context *exprs = *state;
    assert_int_not_equal(weft_expr_symbol(exprs, "q", 1, 4), WEFT_EXPR_NONE);
    assert_int_equal(weft_expr_symbol(exprs, "q", 1, 4), parse(exprs, "q"));
    fails(exprs, weft_expr_symbol(exprs, "q", 2, 3), WEFT_INVALID_ARGUMENT, "'q' is declared as a symbol in [2, 3]");
    fails(exprs, weft_expr_symbol(exprs, "q", 2, 3), WEFT_INVALID_ARGUMENT, "[1, 4]");
    fails(exprs, weft_expr_symbol(exprs, "r", 5, 3), WEFT_INVALID_ARGUMENT, "'r' has the range [5, 3]");
    fails(exprs, weft_expr_symbol(exprs, "r", -1, -3), WEFT_INVALID_ARGUMENT, "'r' has the range [-1, -3]");
    fails(exprs, weft_expr_symbol(exprs, "2r", 0, 3), WEFT_INVALID_ARGUMENT, "'2r'");
    fails(exprs, weft_expr_symbol(exprs, "mod", 0, 3), WEFT_INVALID_ARGUMENT, "'mod'");
    fails(exprs, weft_expr_symbol(exprs, "i", 0, INT64_MAX), WEFT_INVALID_ARGUMENT, "loop variable below n");
    fails(exprs, weft_expr_variable(exprs, "i", parse(exprs, "m")), WEFT_INVALID_ARGUMENT, "loop variable below m");
    fails(exprs, weft_expr_variable(exprs, "q", parse(exprs, "m")), WEFT_INVALID_ARGUMENT, "[1, 4]");
    assert_int_equal(weft_expr_find(exprs, "r"), WEFT_EXPR_NONE);
    weft_expr dotted = weft_expr_symbol(exprs, "in0.axis1", 0, 8);
    assert_int_equal(dotted, parse(exprs, "in0.axis1"));
}

static void errors_stick(void **state)
{
    weft_expr_context *exprs = *state;
    weft_expr x = parse(exprs, "x"), zero = weft_expr_constant(exprs, 0);
    weft_expr broken = weft_expr_div(exprs, x, zero);
    assert_int_equal(weft_expr_add(exprs, x, broken), WEFT_EXPR_NONE);
    assert_int_equal(weft_expr_mul(exprs, weft_expr_min(exprs, broken, x), x), WEFT_EXPR_NONE);
    assert_int_equal(weft_expr_symbol(exprs, "bad", 3, 1), WEFT_EXPR_NONE);
    assert_int_equal(weft_expr_variable(exprs, "bad", broken), WEFT_EXPR_NONE);
    assert_false(weft_expr_always_nonnegative(exprs, broken));
    weft_test_fails(weft_expr_context_take_error(exprs), WEFT_INVALID_ARGUMENT, "divided by 0");
    weft_test_ok(weft_expr_context_take_error(exprs));
}

static void size_is_bounded(void **state)
{
    weft_expr_context *exprs = *state;
    weft_expr e = parse(exprs, "x");
    for (int i = 0; i < 1000 && e != WEFT_EXPR_NONE; i++)
        e = weft_expr_min(exprs, weft_expr_mul(exprs, e, e),
                          weft_expr_symbol(exprs, i % 2 == 0 ? "y" : "z", 0, INT64_MAX));
    fails(exprs, e, WEFT_OUT_OF_RANGE, "deep");
    weft_expr sum = weft_expr_constant(exprs, 0);
    char name[16];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "v%d", i);
        sum = weft_expr_add(exprs, sum, weft_expr_symbol(exprs, name, 0, INT64_MAX));
    }
    assert_int_equal(weft_expr_arity(exprs, sum), 100);
    assert_true(weft_expr_uses(exprs, sum, weft_expr_find(exprs, "v99")));
    fails(exprs, weft_expr_mul(exprs, sum, sum), WEFT_OUT_OF_RANGE, "10000");
}

static void affine_parts(void **state)
{
    weft_expr_context *exprs = *state;
    weft_expr i = parse(exprs, "i"), coefficient, rest;
    assert_true(weft_expr_affine(exprs, parse(exprs, "3*i*m + 2*i + j + 5"), i, &coefficient, &rest));
    assert_int_equal(coefficient, parse(exprs, "3*m + 2"));
    assert_int_equal(rest, parse(exprs, "j + 5"));
    assert_true(weft_expr_affine(exprs, i, i, &coefficient, &rest));
    assert_int_equal(coefficient, parse(exprs, "1"));
    assert_int_equal(rest, parse(exprs, "0"));
    assert_true(weft_expr_affine(exprs, parse(exprs, "j / 2"), i, &coefficient, &rest));
    assert_int_equal(coefficient, parse(exprs, "0"));
    assert_false(weft_expr_affine(exprs, parse(exprs, "i*i"), i, &coefficient, &rest));
    assert_false(weft_expr_affine(exprs, parse(exprs, "i + i / 2"), i, &coefficient, &rest));
}

static void expressions_are_rewritten(void **state)
{
    weft_expr_context *exprs = *state, *other;
    weft_expr symbols[] = {parse(exprs, "x"), parse(exprs, "y")}, values[] = {parse(exprs, "y"), parse(exprs, "2*x")};
    weft_expr e = parse(exprs, "min(x*y + 1, (x + 3) / 4) + 3*y");
    assert_int_equal(weft_expr_substitute(exprs, e, 2, symbols, values),
                     parse(exprs, "min(2*x*y + 1, (y + 3) / 4) + 6*x"));
    assert_int_equal(weft_expr_substitute(exprs, parse(exprs, "n*m"), 2, symbols, values), parse(exprs, "n*m"));
    weft_test_ok(weft_expr_context_create(NULL, &other));
    weft_expr there = weft_expr_import(other, exprs, parse(exprs, "(i*m + j) / 7 + s"));
    assert_int_equal(there, parse(other, "(i*m + j) / 7 + s"));
    assert_int_equal(weft_expr_bound(other, weft_expr_find(other, "i")), weft_expr_find(other, "n"));
    weft_expr instead[64];
    for (weft_expr i = 0; i < 64; i++) instead[i] = i;
    weft_expr early = weft_expr_find(exprs, "n"), late = weft_expr_find(exprs, "m");
    assert_true(early < late && late < 64);
    instead[late] = early;
    weft_expr_context *renamed;
    weft_test_ok(weft_expr_context_create(NULL, &renamed));
    there = weft_expr_import_as(renamed, exprs, parse(exprs, "max(m, n) * s + m"), late + 1, instead);
    assert_int_equal(weft_expr_find(renamed, "m"), WEFT_EXPR_NONE);
    assert_int_equal(there, parse(renamed, "n * s + n"));
    weft_expr_context_destroy(renamed);
    weft_expr_symbol(other, "x", 3, 5);
    fails(other, weft_expr_import(other, exprs, parse(exprs, "x + 1")), WEFT_INVALID_ARGUMENT, "[3, 5]");
    weft_expr_context_destroy(other);
}

/* ---- random expressions against their own direct evaluation ---- */

#define RANDOM_SYMBOLS 6
#define RANDOM_CONSTANTS 3
#define RANDOM_NODES 28
#define RANDOM_TABLE 4096
#ifndef RANDOM_ROUNDS
#define RANDOM_ROUNDS 150
#endif
#ifndef RANDOM_SEED
#define RANDOM_SEED UINT64_C(0x9e3779b97f4a7c15)
#endif

typedef struct random_case {
    weft_expr_context *exprs;
    uint64_t seed;
    weft_expr symbols[RANDOM_SYMBOLS];
    int64_t values[RANDOM_SYMBOLS];
    /* Straight-line program of the same operations: leaf (op 's' or 'c') or op over earlier nodes. */
    struct {
        char op;
        size_t a, b;
        int64_t constant;
        weft_expr expr;
        int64_t value;
        bool defined;
    } nodes[RANDOM_NODES];
    size_t count;
    weft_formulas formulas[RANDOM_NODES];
    uint32_t slots[RANDOM_NODES];
    bool less[RANDOM_NODES][RANDOM_NODES], apart[RANDOM_NODES][RANDOM_NODES];
} random_case;

static uint64_t next_random(random_case *r, uint64_t below)
{
    return weft_test_below(&r->seed, below);
}

/* a in [0, 4], b in [1, 3], c in [-2, 2]; i < a, j < b, k < min(3, a*b - i). */
static void make_symbols(random_case *r)
{
    weft_expr_context *exprs = r->exprs;
    r->symbols[0] = weft_expr_symbol(exprs, "a", 0, 4);
    r->symbols[1] = weft_expr_symbol(exprs, "b", 1, 3);
    r->symbols[2] = weft_expr_symbol(exprs, "c", -2, 2);
    r->symbols[3] = weft_expr_variable(exprs, "i", r->symbols[0]);
    r->symbols[4] = weft_expr_variable(exprs, "j", r->symbols[1]);
    r->symbols[5] = weft_expr_variable(exprs, "k", parse(exprs, "min(3, a*b - i)"));
}

static const int64_t random_least[RANDOM_SYMBOLS] = {0, 1, -2, 0, 0, 0},
                     random_most[RANDOM_SYMBOLS] = {4, 3, 2, 3, 2, 2};

static bool next_assignment(int64_t *v)
{
    for (;;) {
        size_t i = 0;
        while (i < RANDOM_SYMBOLS && v[i] == random_most[i]) {
            v[i] = random_least[i];
            i++;
        }
        if (i == RANDOM_SYMBOLS) return false;
        v[i]++;
        int64_t tail = v[0] * v[1] - v[3];
        if (v[3] < v[0] && v[4] < v[1] && v[5] < (tail < 3 ? tail : 3)) return true;
    }
}

static weft_expr apply(weft_expr_context *exprs, char op, weft_expr a, weft_expr b)
{
    switch (op) {
    case '+': return weft_expr_add(exprs, a, b);
    case '-': return weft_expr_sub(exprs, a, b);
    case '*': return weft_expr_mul(exprs, a, b);
    case '/': return weft_expr_div(exprs, a, b);
    case '%': return weft_expr_mod(exprs, a, b);
    case '<': return weft_expr_min(exprs, a, b);
    default: return weft_expr_max(exprs, a, b);
    }
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* False where undefined or too large to matter. */
static bool compute(char op, int64_t a, int64_t b, int64_t *out_value)
{
    if ((op == '/' || op == '%') && b == 0) return false;
    int64_t limit = INT64_C(1) << 28;
    if (a > limit || a < -limit || b > limit || b < -limit) return false;
    switch (op) {
    case '+': *out_value = a + b; break;
    case '-': *out_value = a - b; break;
    case '*': *out_value = a * b; break;
    case '/': *out_value = floor_div(a, b); break;
    case '%': *out_value = a - b * floor_div(a, b); break;
    case '<': *out_value = a < b ? a : b; break;
    default: *out_value = a > b ? a : b; break;
    }
    return true;
}

static void make_leaves(random_case *r)
{
    static const int64_t constants[] = {2, 3, 4, 6, 8, 1, 5, 12, -1, -2, -6};
    for (size_t s = 0; s < RANDOM_SYMBOLS; s++) {
        r->nodes[s].op = 's';
        r->nodes[s].expr = r->symbols[s];
    }
    r->count = RANDOM_SYMBOLS + RANDOM_CONSTANTS;
    for (size_t c = RANDOM_SYMBOLS; c < r->count; c++) {
        r->nodes[c].op = 'c';
        r->nodes[c].constant = constants[next_random(r, sizeof constants / sizeof *constants)];
        r->nodes[c].expr = weft_expr_constant(r->exprs, r->nodes[c].constant);
    }
}

static void append(random_case *r, char op, size_t a, size_t b)
{
    int64_t value;
    weft_expr divisor = r->nodes[b].expr;
    if (r->count == RANDOM_NODES) return;
    if ((op == '/' || op == '%') && weft_expr_is_constant(r->exprs, divisor, &value) && value == 0) return;
    weft_expr e = apply(r->exprs, op, r->nodes[a].expr, divisor);
    if (e == WEFT_EXPR_NONE) weft_test_fails(weft_expr_context_take_error(r->exprs), WEFT_OUT_OF_RANGE, "");
    if (e == WEFT_EXPR_NONE || weft_expr_arity(r->exprs, e) > 20) return;
    r->nodes[r->count].op = op;
    r->nodes[r->count].a = a;
    r->nodes[r->count].b = b;
    r->nodes[r->count++].expr = e;
}

/* c*x + y, divided by a constant or a symbol: the form that most rules are about. */
static void append_index(random_case *r)
{
    append(r, '*', next_random(r, RANDOM_SYMBOLS), next_random(r, RANDOM_SYMBOLS + RANDOM_CONSTANTS));
    append(r, '+', r->count - 1, next_random(r, r->count));
    append(r, next_random(r, 2) == 0 ? '/' : '%', r->count - 1, next_random(r, RANDOM_SYMBOLS + RANDOM_CONSTANTS));
}

static void make_program(random_case *r)
{
    static const char ops[] = "+++--***//%%<>/%";
    make_leaves(r);
    size_t wanted = r->count + 1 + next_random(r, RANDOM_NODES - r->count - 1);
    for (int tries = 0; r->count < wanted && tries < 100; tries++) {
        char op = ops[next_random(r, sizeof ops - 1)];
        size_t a = next_random(r, r->count), b = next_random(r, r->count);
        if (next_random(r, 2) == 0) a = r->count - 1;
        if (next_random(r, 4) == 0) append_index(r);
        else append(r, op, a, b);
    }
}

static void evaluate(random_case *r)
{
    for (size_t n = 0; n < r->count; n++) {
        r->nodes[n].defined = true;
        if (r->nodes[n].op == 's') r->nodes[n].value = r->values[n];
        else if (r->nodes[n].op == 'c') r->nodes[n].value = r->nodes[n].constant;
        else
            r->nodes[n].defined = r->nodes[r->nodes[n].a].defined && r->nodes[r->nodes[n].b].defined &&
                                  compute(r->nodes[n].op, r->nodes[r->nodes[n].a].value, r->nodes[r->nodes[n].b].value,
                                          &r->nodes[n].value);
    }
}

static int64_t run_formulas(const random_case *r, size_t n)
{
    const weft_formulas *formulas = &r->formulas[n];
    int64_t table[RANDOM_TABLE], symbols[RANDOM_SYMBOLS];
    assert_true(formulas->count <= RANDOM_TABLE);
    for (size_t s = 0; s < formulas->symbol_count; s++)
        for (size_t q = 0; q < RANDOM_SYMBOLS; q++)
            if (strcmp(formulas->symbols[s].name, weft_expr_name(r->exprs, r->symbols[q])) == 0)
                symbols[s] = r->values[q];
    weft_formulas_evaluate(formulas, symbols, table);
    return table[r->slots[n]];
}

static weft_expr at_values(random_case *r, weft_expr e)
{
    weft_expr values[RANDOM_SYMBOLS];
    for (size_t s = 0; s < RANDOM_SYMBOLS; s++) values[s] = weft_expr_constant(r->exprs, r->values[s]);
    return weft_expr_substitute(r->exprs, e, RANDOM_SYMBOLS, r->symbols, values);
}

static void explain(random_case *r, size_t n, const char *what)
{
    weft_bytes text;
    weft_bytes_init(&text, NULL);
    print_expr(r->exprs, r->nodes[n].expr, &text);
    print_error("%s: node %zu, %s, should be %lld at a=%lld b=%lld c=%lld i=%lld j=%lld k=%lld\n", what, n, text.data,
                (long long)r->nodes[n].value, (long long)r->values[0], (long long)r->values[1], (long long)r->values[2],
                (long long)r->values[3], (long long)r->values[4], (long long)r->values[5]);
    for (size_t i = 0; i <= n; i++) {
        print_expr(r->exprs, r->nodes[i].expr, &text);
        print_error("  %zu: %c %zu %zu  %s\n", i, r->nodes[i].op, r->nodes[i].a, r->nodes[i].b, text.data);
    }
    weft_bytes_finish(&text);
    fail();
}

static void check_value(random_case *r, size_t n)
{
    weft_expr e = r->nodes[n].expr;
    int64_t value = r->nodes[n].value, min, max, divisor = weft_expr_divisor(r->exprs, e);
    weft_expr_range(r->exprs, e, &min, &max);
    if (value < min || value > max) explain(r, n, "range");
    if (divisor == 0 ? value != 0 : value % divisor != 0) explain(r, n, "divisor");
    if (run_formulas(r, n) != value) explain(r, n, "formula");
    if (value < 0 && weft_expr_always_nonnegative(r->exprs, e)) explain(r, n, "proof");
    for (size_t o = RANDOM_SYMBOLS; o < n; o++) {
        if (!r->nodes[o].defined) continue;
        if (r->nodes[o].value >= value && r->less[o][n]) explain(r, n, "less");
        if (r->nodes[o].value <= value && r->less[n][o]) explain(r, n, "greater");
        if (r->nodes[o].value == value && r->apart[o][n]) explain(r, n, "apart");
        if (r->nodes[o].value != value && r->nodes[o].expr == e) explain(r, n, "identity");
    }
}

static void check_text(random_case *r, size_t n, weft_bytes *text)
{
    print_expr(r->exprs, r->nodes[n].expr, text);
    const char *cursor = text->data;
    weft_expr again;
    weft_test_ok(weft_expr_parse(r->exprs, &cursor, &again));
    if (again != r->nodes[n].expr) {
        print_error("again: ");
        weft_expr_print(r->exprs, again, text);
        print_error("%s\n", text->data);
        explain(r, n, "round trip");
    }
}

static void check_affine(random_case *r, size_t n)
{
    weft_expr coefficient, rest, e = r->nodes[n].expr;
    for (size_t s = 0; s < RANDOM_SYMBOLS; s++) {
        if (!weft_expr_affine(r->exprs, e, r->symbols[s], &coefficient, &rest)) continue;
        weft_expr again = weft_expr_add(r->exprs, weft_expr_mul(r->exprs, coefficient, r->symbols[s]), rest);
        if (again != e || weft_expr_uses(r->exprs, coefficient, r->symbols[s]) ||
            weft_expr_uses(r->exprs, rest, r->symbols[s]))
            explain(r, n, "affine");
    }
}

static void check_substitution(random_case *r, size_t n)
{
    int64_t value;
    weft_expr e = at_values(r, r->nodes[n].expr);
    if (!weft_expr_is_constant(r->exprs, e, &value) || value != r->nodes[n].value) explain(r, n, "substitution");
}

static void prepare(random_case *r, weft_bytes *text)
{
    for (size_t n = 0; n < r->count; n++) {
        check_text(r, n, text);
        check_affine(r, n);
        weft_formulas_init(&r->formulas[n], NULL);
        weft_test_ok(weft_expr_compile(r->exprs, r->nodes[n].expr, &r->formulas[n], &r->slots[n]));
        for (size_t o = 0; o < r->count; o++) {
            r->less[o][n] = weft_expr_always_less(r->exprs, r->nodes[o].expr, r->nodes[n].expr);
            r->apart[o][n] = weft_expr_never_equal(r->exprs, r->nodes[o].expr, r->nodes[n].expr);
        }
    }
}

static void check_program(random_case *r)
{
    weft_bytes text;
    weft_bytes_init(&text, NULL);
    memcpy(r->values, random_least, sizeof random_least);
    prepare(r, &text);
    for (size_t turn = 0; next_assignment(r->values); turn++) {
        evaluate(r);
        for (size_t n = RANDOM_SYMBOLS; n < r->count; n++) {
            if (!r->nodes[n].defined) continue;
            check_value(r, n);
            if (turn % 16 == 3) check_substitution(r, n);
        }
    }
    for (size_t n = 0; n < r->count; n++) weft_formulas_finish(&r->formulas[n]);
    weft_bytes_finish(&text);
}

static void random_expressions_keep_their_meaning(void **state)
{
    (void)state;
    random_case r = {.seed = RANDOM_SEED};
    for (int round = 0; round < RANDOM_ROUNDS; round++) {
        weft_test_ok(weft_expr_context_create(NULL, &r.exprs));
        make_symbols(&r);
        make_program(&r);
        check_program(&r);
        weft_test_ok(weft_expr_context_take_error(r.exprs));
        weft_expr_context_destroy(r.exprs);
    }
}

/* ---- chains of slices ---- */

/* What slices of n elements have, as tracing makes it. */
static weft_expr clip(weft_expr_context *exprs, weft_expr e, weft_expr n)
{
    return weft_expr_min(exprs, weft_expr_max(exprs, e, weft_expr_constant(exprs, 0)), n);
}

static weft_expr cut(weft_expr_context *exprs, weft_expr n, int64_t start, int64_t stop)
{
    weft_expr first = clip(exprs, weft_expr_constant(exprs, start), n), zero = weft_expr_constant(exprs, 0);
    weft_expr end = clip(exprs, weft_expr_add(exprs, n, weft_expr_constant(exprs, stop)), n);
    return weft_expr_max(exprs, weft_expr_sub(exprs, end, first), zero);
}

static weft_expr cut_by_one(weft_expr_context *exprs, weft_expr n)
{
    weft_expr e = cut(exprs, n, 1, 0);
    assert_int_equal(e, cut(exprs, n, 0, -1));
    return e;
}

static weft_expr cut_both_ends(weft_expr_context *exprs, weft_expr n)
{
    return cut(exprs, n, 1, -1);
}

static weft_expr every_third(weft_expr_context *exprs, weft_expr n)
{
    weft_expr one = weft_expr_constant(exprs, 1), three = weft_expr_constant(exprs, 3);
    weft_expr last = weft_expr_div(exprs, weft_expr_sub(exprs, cut(exprs, n, 2, 0), one), three);
    return weft_expr_max(exprs, weft_expr_add(exprs, last, one), weft_expr_constant(exprs, 0));
}

static weft_expr add_last(weft_expr_context *exprs, weft_expr n)
{
    weft_expr start = clip(exprs, weft_expr_sub(exprs, n, weft_expr_constant(exprs, 1)), n);
    return weft_expr_add(exprs, n, weft_expr_sub(exprs, n, start));
}

static weft_expr add_last_three(weft_expr_context *exprs, weft_expr n)
{
    weft_expr start = clip(exprs, weft_expr_sub(exprs, n, weft_expr_constant(exprs, 3)), n);
    return weft_expr_add(exprs, n, weft_expr_sub(exprs, n, start));
}

/* Those at odd places of an even number. */
static weft_expr odd_half(weft_expr_context *exprs, weft_expr n)
{
    weft_expr two = weft_expr_constant(exprs, 2), one = weft_expr_constant(exprs, 1);
    weft_expr even = weft_expr_mul(exprs, weft_expr_div(exprs, n, two), two);
    weft_expr way = weft_expr_sub(exprs, clip(exprs, even, n), clip(exprs, one, n));
    weft_expr last = weft_expr_max(exprs, way, weft_expr_constant(exprs, 0));
    return weft_expr_add(exprs, weft_expr_div(exprs, weft_expr_sub(exprs, last, one), two), one);
}

static void chains_of_slices_stay_short(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        weft_expr (*link)(weft_expr_context *exprs, weft_expr n);
        const char *after_five;
    } chains[] = {{"y[1:], y[:-1]", cut_by_one, "max(n - 5, 0)"},
                  {"y[1:-1]", cut_both_ends, "max(n - 10, 0)"},
                  {"y[2::3]", every_third, "n / 243"},
                  {"[y, y[-1:]]", add_last, "n + 5*min(n, 1)"},
                  {"[y, y[-3:]]", add_last_three, "n + min(n, 3) + min(2*n, 3) + 9*min(n, 1)"},
                  {"y[1:2*h:2]", odd_half, "n / 32"}};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        weft_expr_context *exprs;
        weft_test_ok(weft_expr_context_create(NULL, &exprs));
        weft_expr n = weft_expr_symbol(exprs, "n", 0, 1 << 30), e = n;
        for (int i = 0; i < 200; i++) {
            e = chains[c].link(exprs, e);
            if (weft_expr_parts(exprs, e) > 24)
                fail_msg("%s: %u parts after %d", chains[c].name, weft_expr_parts(exprs, e), i);
            if (i == 4) assert_int_equal(e, parse(exprs, chains[c].after_five));
        }
        size_t nodes = weft_expr_constant(exprs, -987654321);
        if (nodes > 200 * 200) fail_msg("%s: %zu nodes", chains[c].name, nodes);
        weft_test_ok(weft_expr_context_take_error(exprs));
        weft_expr_context_destroy(exprs);
    }
}

/* ---- long sums ---- */

enum { LONG_SUM = 1600 };

/* factor * (symbol mod 2) + ... + factor * (symbol mod 1601), added one by one, from either end. */
static weft_expr add_mods(weft_expr_context *exprs, const char *symbol, const char *factor, bool back)
{
    weft_expr x = parse(exprs, symbol), f = parse(exprs, factor), sum = weft_expr_constant(exprs, 0);
    for (int64_t i = 0; i < LONG_SUM; i++) {
        weft_expr d = weft_expr_constant(exprs, 2 + (back ? LONG_SUM - 1 - i : i));
        sum = weft_expr_add(exprs, sum, weft_expr_mul(exprs, f, weft_expr_mod(exprs, x, d)));
    }
    return sum;
}

static weft_expr replaced(weft_expr_context *exprs, weft_expr sum, const char *out, const char *in)
{
    return weft_expr_add(exprs, weft_expr_sub(exprs, sum, parse(exprs, out)), parse(exprs, in));
}

/* Each of them would take minutes if every sum on the way compared all its terms with each other. */
static void long_sums_are_added_up(void **state)
{
    weft_expr_context *exprs = *state;
    weft_expr sum = add_mods(exprs, "n", "1", false), products = add_mods(exprs, "m", "k", false);
    assert_int_equal(weft_expr_arity(exprs, sum), LONG_SUM);
    assert_int_equal(weft_expr_arity(exprs, products), LONG_SUM);
    assert_int_equal(add_mods(exprs, "n", "1", true), sum);
    assert_int_equal(add_mods(exprs, "m", "k", true), products);
    assert_int_equal(weft_expr_arity(exprs, weft_expr_add(exprs, sum, products)), 2 * LONG_SUM);
    weft_expr more = weft_expr_add(exprs, sum, parse(exprs, "a"));
    assert_true(weft_expr_always_less(exprs, sum, more));
    assert_true(weft_expr_never_equal(exprs, more, sum));
    assert_false(weft_expr_always_less(exprs, sum, products));
}

/* What completes one of their terms is found among all others. */
static void long_sums_are_simplified(void **state)
{
    weft_expr_context *exprs = *state;
    weft_expr sum = add_mods(exprs, "n", "1", false), products = add_mods(exprs, "m", "k", false);
    assert_int_equal(weft_expr_add(exprs, sum, parse(exprs, "700*(n / 700)")), replaced(exprs, sum, "n mod 700", "n"));
    assert_int_equal(weft_expr_add(exprs, sum, parse(exprs, "700*((n / 700) mod 9)")),
                     replaced(exprs, sum, "n mod 700", "n mod 6300"));
    assert_int_equal(weft_expr_add(exprs, products, parse(exprs, "700*k*(m / 700)")),
                     replaced(exprs, products, "k*(m mod 700)", "k*m"));
    assert_int_equal(weft_expr_add(exprs, products, parse(exprs, "700*k*((m / 700) mod 9)")),
                     replaced(exprs, products, "k*(m mod 700)", "k*(m mod 6300)"));
}

/* A set of symbols is made once for a sum, not once for each of its terms. */
static void sums_of_many_symbols_take_little_room(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_expr_context *exprs;
    char name[16];
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_test_ok(weft_expr_context_create(&test.allocator, &exprs));
    weft_expr sum = weft_expr_constant(exprs, 0);
    for (int i = 0; i < LONG_SUM; i++) {
        snprintf(name, sizeof name, "s%d", i);
        sum = weft_expr_add(exprs, sum, weft_expr_symbol(exprs, name, 0, 9));
    }
    assert_int_equal(weft_expr_arity(exprs, sum), LONG_SUM);
    assert_true(test.most_bytes < 64 << 20);
    weft_test_ok(weft_expr_context_take_error(exprs));
    weft_expr_context_destroy(exprs);
    weft_test_allocator_check(&test);
}

/* ---- memory ---- */

static weft_status *exercise(weft_expr_context *exprs, weft_bytes *text, weft_formulas *formulas)
{
    static const char *const texts[] = {"(a*b + 3) / 4 + min(a, b)", "(i*b + 7) mod 12 + 12*((i*b + 7) / 12)",
                                        "a*a*b - 2*b + max(a, 9)", "b*(a mod 2) + 2*b*((a / 2) mod 3)"};
    uint32_t slot;
    weft_expr_symbol(exprs, "a", 0, 100);
    weft_expr_symbol(exprs, "b", 1, INT64_MAX);
    weft_expr_variable(exprs, "i", weft_expr_find(exprs, "a") == 0 ? 0 : weft_expr_find(exprs, "a"));
    WEFT_TRY(weft_expr_context_take_error(exprs));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *cursor = texts[i];
        weft_expr e;
        WEFT_TRY(weft_expr_parse(exprs, &cursor, &e));
        weft_expr_print(exprs, e, text);
        weft_expr_always_nonnegative(exprs, e);
        weft_expr a = weft_expr_find(exprs, "a"), nine = weft_expr_constant(exprs, 9);
        weft_expr_substitute(exprs, e, 1, &a, &nine);
        WEFT_TRY(weft_expr_context_take_error(exprs));
        WEFT_TRY(weft_expr_compile(exprs, e, formulas, &slot));
    }
    weft_expr_symbol(exprs, "a", 1, 2);
    weft_status *clash = weft_expr_context_take_error(exprs);
    if (weft_status_code(clash) == WEFT_OUT_OF_MEMORY) return clash;
    weft_test_fails(clash, WEFT_INVALID_ARGUMENT, "'a'");
    return weft_bytes_status(text);
}

static weft_status *run_once(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_expr_context *exprs;
    WEFT_TRY(weft_expr_context_create(allocator, &exprs));
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    weft_formulas formulas;
    weft_formulas_init(&formulas, allocator);
    weft_status *status = exercise(exprs, &text, &formulas);
    weft_formulas_finish(&formulas);
    weft_bytes_finish(&text);
    weft_expr_context_destroy(exprs);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(run_once, NULL) > 20);
}

int main(void)
{
#define ON_SYMBOLS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_SYMBOLS(equal_expressions_are_one),
        ON_SYMBOLS(what_is_unknown_stays),
        ON_SYMBOLS(proofs_hold_inside_loops),
        ON_SYMBOLS(comparisons_are_proven),
        ON_SYMBOLS(facts_can_be_read),
        ON_SYMBOLS(far_ranges_are_bounds_too),
        ON_SYMBOLS(text_is_as_written),
        ON_SYMBOLS(broken_text_is_refused),
        ON_SYMBOLS(clashes_are_errors),
        ON_SYMBOLS(errors_stick),
        ON_SYMBOLS(size_is_bounded),
        ON_SYMBOLS(affine_parts),
        ON_SYMBOLS(expressions_are_rewritten),
        cmocka_unit_test(chains_of_slices_stay_short),
        ON_SYMBOLS(long_sums_are_added_up),
        ON_SYMBOLS(long_sums_are_simplified),
        cmocka_unit_test(sums_of_many_symbols_take_little_room),
        cmocka_unit_test(random_expressions_keep_their_meaning),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
