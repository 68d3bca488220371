/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls on arrays that are recorded, beside the same on plain numbers: values are asked for, handles are
 * released and kept, at any time. eager_random [ROUNDS RUNTIME]. */
#include <stdlib.h>
#include <string.h>
#include <weft/eager.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"

enum { SLOTS = 6, SIDE = 3, MOST = 2 * SIDE * SIDE, STEPS = 120 };

/* A matrix, and what it should be. */
typedef struct slot {
    weft_eager_array *array;
    int64_t rows, columns, data[MOST];
} slot;

static weft_executor *executor;
static weft_eager *eager;
static slot slots[SLOTS];
static uint64_t state = 1;
static int round_count = 300;
static const char *runtime = "ref";

static size_t draw(size_t end)
{
    return (size_t)weft_test_below(&state, end);
}

static void check(const slot *x)
{
    weft_array *value, *dense;
    weft_test_ok(weft_eager_value(eager, x->array, &value));
    weft_test_ok(weft_array_retain_dense(NULL, value, &dense));
    assert_int_equal(weft_array_count(dense), x->rows * x->columns);
    assert_memory_equal(weft_array_data(dense), x->data, (size_t)(x->rows * x->columns) * sizeof(int64_t));
    weft_array_release(dense);
}

static void put(slot *at, slot made)
{
    assert_non_null(made.array);
    assert_int_equal(weft_eager_shape(made.array)[0], made.rows);
    assert_int_equal(weft_eager_shape(made.array)[1], made.columns);
    weft_eager_release(at->array);
    *at = made;
}

static slot fresh(void)
{
    slot x = {.rows = 1 + (int64_t)draw(SIDE), .columns = 1 + (int64_t)draw(SIDE)};
    for (int64_t i = 0; i < x.rows * x.columns; i++) x.data[i] = (int64_t)draw(9) - 4;
    x.array = weft_eager_copy(eager, WEFT_I64, WEFT_INTS(x.rows, x.columns), x.data);
    return x;
}

static slot negated(const slot *a)
{
    slot x = *a;
    x.array = weft_eager_apply(weft_neg, a->array);
    for (int64_t i = 0; i < x.rows * x.columns; i++) x.data[i] = -a->data[i];
    return x;
}

static slot scaled(const slot *a)
{
    slot x = *a;
    int64_t by = (int64_t)draw(12) - 6;
    x.array = weft_eager_apply(weft_mul, by, a->array);
    for (int64_t i = 0; i < x.rows * x.columns; i++) x.data[i] = (int64_t)((uint64_t)by * (uint64_t)a->data[i]);
    return x;
}

static slot transposed(const slot *a)
{
    slot x = {.array = weft_eager_apply(weft_permute, a->array, WEFT_INTS(1, 0)), a->columns, a->rows, {0}};
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t k = 0; k < x.columns; k++) x.data[i * x.columns + k] = a->data[k * a->columns + i];
    return x;
}

static slot reshaped(const slot *a)
{
    slot x = *a;
    x.rows = a->rows * a->columns;
    x.columns = 1;
    if (x.rows > SIDE) return negated(a);
    x.array = weft_eager_apply(weft_reshape, a->array, WEFT_SHAPE(WEFT_INFER, 1));
    return x;
}

static slot row_of(const slot *a)
{
    int64_t row = (int64_t)draw((size_t)a->rows);
    slot x = {.array = weft_eager_apply(weft_narrow, a->array, 0, row, 1), 1, a->columns, {0}};
    memcpy(x.data, a->data + row * a->columns, (size_t)a->columns * sizeof *x.data);
    return x;
}

static slot flipped(const slot *a)
{
    slot x = *a;
    x.array = weft_eager_apply(weft_flip, a->array, WEFT_INTS(1));
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t k = 0; k < x.columns; k++) x.data[i * x.columns + k] = a->data[(i + 1) * x.columns - 1 - k];
    return x;
}

static slot summed(const slot *a)
{
    slot x = {.array = weft_eager_apply(weft_reduce_sum, a->array, WEFT_INTS(0), true), 1, a->columns, {0}};
    for (int64_t i = 0; i < a->rows * a->columns; i++) x.data[i % a->columns] += a->data[i];
    return x;
}

/* An element set to 7, in place if nobody else has `a`. */
static slot updated(const slot *a)
{
    slot x = *a;
    int64_t row = (int64_t)draw((size_t)a->rows);
    weft_eager_array *seven = weft_eager_copy(eager, WEFT_I64, WEFT_INTS(1, 1), (int64_t[]){7});
    weft_eager_array *at = weft_eager_copy(eager, WEFT_I64, WEFT_INTS(), &row);
    weft_eager_array *zero = weft_eager_number(eager, WEFT_I64, 0);
    x.array =
        weft_eager_apply(weft_dynamic_update_slice, a->array, seven, WEFT_EAGER_ARRAYS(at, zero), WEFT_INTS(0, 1));
    weft_eager_release(zero);
    weft_eager_release(seven);
    weft_eager_release(at);
    x.data[row * a->columns] = 7;
    return x;
}

static slot (*const unary[])(const slot *a) = {negated, scaled, transposed, reshaped, row_of, flipped, summed, updated};

/* Whether the extents meet. */
static bool fit(const slot *a, const slot *b)
{
    bool rows = a->rows == b->rows || a->rows == 1 || b->rows == 1;
    return rows && (a->columns == b->columns || a->columns == 1 || b->columns == 1);
}

static int64_t element(const slot *x, int64_t i, int64_t k)
{
    return x->data[(x->rows == 1 ? 0 : i) * x->columns + (x->columns == 1 ? 0 : k)];
}

static slot joined(const slot *a, const slot *b)
{
    bool adds = draw(2) == 0;
    slot x = {.array = adds ? weft_eager_apply(weft_add, a->array, b->array)
                            : weft_eager_apply(weft_max, a->array, b->array),
              .rows = a->rows > b->rows ? a->rows : b->rows,
              .columns = a->columns > b->columns ? a->columns : b->columns};
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t k = 0; k < x.columns; k++) {
            int64_t left = element(a, i, k), right = element(b, i, k);
            int64_t sum = (int64_t)((uint64_t)left + (uint64_t)right);
            x.data[i * x.columns + k] = adds ? sum : left > right ? left : right;
        }
    return x;
}

static void step(void)
{
    slot *a = &slots[draw(SLOTS)], *b = &slots[draw(SLOTS)], *to = draw(2) == 0 ? a : &slots[draw(SLOTS)];
    size_t kind = draw(24);
    if (kind == 0) check(a);
    else if (kind == 1) put(to, fresh());
    else if (kind == 2) weft_test_ok(weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(a->array, b->array)));
    else if (kind < 12 && fit(a, b)) put(to, joined(a, b));
    else put(to, unary[draw(sizeof unary / sizeof *unary)](a));
}

static void random_round(int round)
{
    weft_eager_counters counters;
    state = (uint64_t)round;
    weft_eager_options options = {.runtime = runtime, .most_recorded = 1 + draw(12), .program_capacity = 1 + draw(40)};
    weft_test_ok(weft_eager_create(executor, &options, &eager));
    for (int i = 0; i < SLOTS; i++) slots[i] = fresh();
    for (int i = 0; i < STEPS; i++) step();
    for (int i = 0; i < SLOTS; i++) check(&slots[i]);
    for (int i = 0; i < SLOTS; i++) weft_eager_release(slots[i].array);
    weft_eager_clear(eager);
    weft_eager_counters_read(eager, &counters);
    assert_int_equal(counters.arrays, 0);
    weft_eager_destroy(eager);
}

static void what_is_recorded_is_what_is_computed(void **cmocka)
{
    (void)cmocka;
    weft_test_ok(
        weft_executor_create_standard(&(weft_executor_options){.threads = 1, .code = WEFT_CODE_QUICK}, &executor));
    for (int round = 0; round < round_count; round++) random_round(round);
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_recorded_is_what_is_computed)};
    if (argc > 1) round_count = atoi(argv[1]);
    if (argc > 2) runtime = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
