/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include "runtime/program/formula.h"

static uint32_t add(weft_formulas *formulas, weft_formula_op op, uint32_t a, uint32_t b, int64_t constant)
{
    uint32_t slot = UINT32_MAX;
    weft_test_ok(weft_formulas_add(formulas, (weft_formula){op, a, b, 0, constant}, &slot));
    return slot;
}

static uint32_t add_symbol(weft_formulas *formulas, const char *name)
{
    uint32_t slot = UINT32_MAX;
    weft_test_ok(weft_formulas_add_symbol(formulas, name, 0, 1000, &slot));
    return slot;
}

/* a `op` b */
static weft_status *apply(weft_formula_op op, int64_t a, int64_t b, int64_t *out_value)
{
    weft_formulas formulas;
    weft_formulas_init(&formulas, NULL);
    uint32_t x = add(&formulas, WEFT_FORMULA_CONSTANT, 0, 0, a), y = add(&formulas, WEFT_FORMULA_CONSTANT, 0, 0, b);
    uint32_t slot = add(&formulas, op, x, y, 0);
    int64_t values[3];
    weft_formulas_evaluate(&formulas, NULL, values);
    weft_status *status = weft_formulas_check(&formulas, "here", values, &slot, 1);
    *out_value = values[slot];
    weft_formulas_finish(&formulas);
    return status;
}

static void every_op_computes(void **state)
{
    (void)state;
    static const struct {
        weft_formula_op op;
        int64_t a, b, result;
    } cases[] = {
        {WEFT_FORMULA_ADD, 7, -9, -2},
        {WEFT_FORMULA_MUL, 7, -9, -63},
        {WEFT_FORMULA_DIV, 7, 2, 3},
        {WEFT_FORMULA_DIV, -7, 2, -4},
        {WEFT_FORMULA_DIV, 7, -2, -4},
        {WEFT_FORMULA_DIV, -7, -2, 3},
        {WEFT_FORMULA_DIV, -8, 2, -4},
        {WEFT_FORMULA_DIV, -INT64_MAX, 1, -INT64_MAX},
        {WEFT_FORMULA_DIV, -INT64_MAX, INT64_MAX - 1, -2},
        {WEFT_FORMULA_MOD, 7, 3, 1},
        {WEFT_FORMULA_MOD, -7, 3, 2},
        {WEFT_FORMULA_MOD, 7, -3, -2},
        {WEFT_FORMULA_MOD, -7, -3, -1},
        {WEFT_FORMULA_MOD, -6, 3, 0},
        {WEFT_FORMULA_MOD, -INT64_MAX, -1, 0},
        {WEFT_FORMULA_MIN, 3, -4, -4},
        {WEFT_FORMULA_MAX, 3, -4, 3},
        {WEFT_FORMULA_ADD, INT64_MAX, -INT64_MAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value;
        weft_test_ok(apply(cases[i].op, cases[i].a, cases[i].b, &value));
        assert_true(value == cases[i].result);
    }
}

static void what_overflows_is_an_error(void **state)
{
    (void)state;
    int64_t value;
    weft_test_fails(apply(WEFT_FORMULA_ADD, INT64_MAX, 1, &value), WEFT_OUT_OF_RANGE,
                    "9223372036854775807 + 1 overflows 64 bits");
    weft_test_fails(apply(WEFT_FORMULA_MUL, INT64_MAX, 2, &value), WEFT_OUT_OF_RANGE, "* 2 overflows");
    weft_test_fails(apply(WEFT_FORMULA_ADD, -INT64_MAX, -1, &value), WEFT_OUT_OF_RANGE, "+ -1 overflows");
    weft_test_fails(apply(WEFT_FORMULA_DIV, 5, 0, &value), WEFT_OUT_OF_RANGE, "5 / 0 divides by zero");
    weft_test_fails(apply(WEFT_FORMULA_MOD, 5, 0, &value), WEFT_OUT_OF_RANGE, "5 mod 0 divides by zero");
}

static void nothing_times_too_much_is_nothing(void **state)
{
    (void)state;
    weft_formulas formulas;
    weft_formulas_init(&formulas, NULL);
    uint32_t huge = add(&formulas, WEFT_FORMULA_CONSTANT, 0, 0, INT64_C(1) << 40);
    uint32_t zero = add(&formulas, WEFT_FORMULA_CONSTANT, 0, 0, 0);
    uint32_t square = add(&formulas, WEFT_FORMULA_MUL, huge, huge, 0);
    uint32_t more = add(&formulas, WEFT_FORMULA_ADD, square, zero, 0);
    uint32_t count = add(&formulas, WEFT_FORMULA_MUL, more, zero, 0);
    int64_t values[5];
    weft_formulas_evaluate(&formulas, NULL, values);
    assert_true(values[square] == WEFT_FORMULA_NONE && values[more] == WEFT_FORMULA_NONE);
    assert_int_equal(values[count], 0);
    assert_int_equal(weft_formulas_find_cause(&formulas, values, more), square);
    weft_test_ok(weft_formulas_check(&formulas, "here", values, &count, 1));
    weft_test_fails(weft_formulas_check(&formulas, "here", values, (const uint32_t[]){count, more}, 2),
                    WEFT_OUT_OF_RANGE, "1099511627776 * 1099511627776 overflows 64 bits");
    weft_formulas_finish(&formulas);
}

static void equal_formulas_share_a_slot(void **state)
{
    (void)state;
    weft_formulas formulas;
    weft_formulas_init(&formulas, NULL);
    uint32_t n = add_symbol(&formulas, "n"), m = add_symbol(&formulas, "m");
    assert_int_equal(add_symbol(&formulas, "n"), n);
    assert_int_equal(add(&formulas, WEFT_FORMULA_SYMBOL, 0, 0, 1), m);
    uint32_t sum = add(&formulas, WEFT_FORMULA_ADD, n, m, 0);
    assert_int_equal(add(&formulas, WEFT_FORMULA_ADD, n, m, 99), sum);
    assert_int_not_equal(add(&formulas, WEFT_FORMULA_ADD, m, n, 0), sum);
    assert_int_not_equal(add(&formulas, WEFT_FORMULA_MUL, n, m, 0), sum);
    uint32_t three = add(&formulas, WEFT_FORMULA_CONSTANT, 1, 2, 3);
    assert_int_equal(add(&formulas, WEFT_FORMULA_CONSTANT, 0, 0, 3), three);
    assert_int_equal(formulas.count, 6);
    assert_int_equal(weft_formulas_find_symbol(&formulas, "m"), 1);
    assert_true(weft_formulas_find_symbol(&formulas, "k") == SIZE_MAX);
    weft_formulas_finish(&formulas);
}

static void what_is_no_formula_is_refused(void **state)
{
    (void)state;
    weft_formulas formulas;
    weft_formulas_init(&formulas, NULL);
    uint32_t slot;
    add_symbol(&formulas, "n");
    weft_test_fails(weft_formulas_add(&formulas, (weft_formula){WEFT_FORMULA_ADD, 0, 1, 0, 0}, &slot),
                    WEFT_OUT_OF_RANGE, "slots 0 and 1");
    weft_test_fails(weft_formulas_add(&formulas, (weft_formula){WEFT_FORMULA_SYMBOL, 0, 0, 0, 1}, &slot),
                    WEFT_OUT_OF_RANGE, "symbol 1");
    weft_test_fails(weft_formulas_add(&formulas, (weft_formula){WEFT_FORMULA_SYMBOL, 0, 0, 0, -1}, &slot),
                    WEFT_OUT_OF_RANGE, "symbol -1");
    weft_test_fails(weft_formulas_add(&formulas, (weft_formula){(weft_formula_op)77, 0, 0, 0, 0}, &slot),
                    WEFT_INVALID_ARGUMENT, "op 77");
    weft_test_fails(weft_formulas_add_symbol(&formulas, "n", 0, 5, &slot), WEFT_INVALID_ARGUMENT,
                    "'n' has the range [0, 1000] and cannot have [0, 5]");
    weft_test_fails(weft_formulas_add_symbol(&formulas, "k", 5, 4, &slot), WEFT_OUT_OF_RANGE, "'k'");
    assert_int_equal(formulas.count, 1);
    weft_formulas_finish(&formulas);
}

/* Symbols s0, s1, ... each followed by twice itself. */
static weft_status *add_many(weft_formulas *formulas, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[] = {'s', (char)('a' + i), '\0'};
        uint32_t symbol, twice;
        WEFT_TRY(weft_formulas_add_symbol(formulas, name, 0, 1000, &symbol));
        WEFT_TRY(weft_formulas_add(formulas, (weft_formula){WEFT_FORMULA_ADD, symbol, symbol, 0, 0}, &twice));
    }
    return NULL;
}

static void check_many(const weft_formulas *formulas, size_t count)
{
    int64_t symbols[26], values[52];
    for (size_t i = 0; i < count; i++) symbols[i] = (int64_t)(i * i);
    assert_int_equal(formulas->count, 2 * count);
    weft_formulas_evaluate(formulas, symbols, values);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(formulas->symbol_slots[i], 2 * i);
        assert_int_equal(values[2 * i], i * i);
        assert_int_equal(values[2 * i + 1], 2 * i * i);
    }
}

static weft_status *build_and_copy(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_formulas formulas, copy;
    weft_formulas_init(&formulas, allocator);
    weft_status *status = add_many(&formulas, 26);
    if (status == NULL) status = weft_formulas_copy(formulas.allocator, &formulas, &copy);
    weft_formulas_finish(&formulas);
    if (status != NULL) return status;
    check_many(&copy, 26);
    weft_formulas_finish(&copy);
    return NULL;
}

static void formulas_survive_short_memory(void **state)
{
    (void)state;
    assert_true(weft_test_fail_each(build_and_copy, NULL) >= 2 * 26);
}

static void evaluating_does_not_allocate(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_formulas formulas;
    weft_formulas_init(&formulas, &test.allocator);
    weft_test_ok(add_many(&formulas, 10));
    size_t before = atomic_load(&test.requests);
    check_many(&formulas, 10);
    assert_int_equal(atomic_load(&test.requests), before);
    weft_formulas_finish(&formulas);
    weft_test_allocator_check(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_computes),
        cmocka_unit_test(what_overflows_is_an_error),
        cmocka_unit_test(nothing_times_too_much_is_nothing),
        cmocka_unit_test(equal_formulas_share_a_slot),
        cmocka_unit_test(what_is_no_formula_is_refused),
        cmocka_unit_test(formulas_survive_short_memory),
        cmocka_unit_test(evaluating_does_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
