/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of derivatives have a row for each op, and no empty one for a function. */
#include <string.h>
#include "lib/grad/grad.h"
#include "lib/graph/op.h"
#include "test/support.h"

/* Ops that pass nothing on: leaves, steps, positions, and what is no float. */
static const char *const flat[] = {
    "input",
    "constant",
    "iota",
    "extent",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "is_nan",
    "is_finite",
    "not",
    "and",
    "or",
    "xor",
    "shift_left",
    "shift_right",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "population_count",
    "reduce_any",
    "reduce_all",
    "argmax",
    "argmin",
    "argsort",
    "bitcast",
    "stop_gradient",
};

static bool is_among(const char *name, size_t count, const char *const *names)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}
#define IS_AMONG(name, names) is_among(name, sizeof(names) / sizeof *(names), names)

static void check_row(const weft_op_def *op, const weft_gradient_row *row)
{
    if (row == NULL) fail_msg("%s has no row", op->name);
    if (IS_AMONG(op->name, flat)) {
        if (row->vjp != NULL || row->jvp != NULL) fail_msg("%s is flat, but has a rule", op->name);
        return;
    }
    if (row->jvp == NULL) fail_msg("%s has no jvp", op->name);
    if (row->vjp == NULL && row->no_vjp == NULL) fail_msg("%s has neither a vjp nor a reason", op->name);
    if (row->vjp != NULL && row->no_vjp != NULL) fail_msg("%s has a vjp, and a reason why not", op->name);
}

static void every_op_has_a_row(void **state)
{
    (void)state;
    weft_gradient_row own;
    const weft_op_def *ops = weft_op_table();
    for (size_t i = 0; i < WEFT_OP_COUNT; i++) check_row(&ops[i], weft_gradient_row_of(&ops[i], &own));
}

/* A function without one is differentiated through its ops. */
static void rows_of_functions_are_rules(void **state)
{
    (void)state;
    weft_gradient_row own;
    const weft_op_def *functions = weft_composed_table();
    for (size_t i = 0; i < WEFT_COMPOSED_COUNT; i++) {
        const weft_gradient_row *row = weft_gradient_row_of(&functions[i], &own);
        if (row != NULL && row->vjp == NULL && row->jvp == NULL) fail_msg("the row of %s is empty", functions[i].name);
    }
}

static void no_op_has_two(void **state)
{
    (void)state;
    static const weft_gradient_family *const families[] = {&weft_gradient_elementwise, &weft_gradient_movement,
                                                           &weft_gradient_reduce, &weft_gradient_region};
    size_t counts[WEFT_OP_COUNT] = {0};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (size_t i = 0; i < families[f]->count; i++) counts[families[f]->rows[i].id]++;
    for (size_t i = 0; i < WEFT_OP_COUNT; i++)
        if (counts[i] > 1) fail_msg("%s has %zu rows", weft_op_table()[i].name, counts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_row),
                                       cmocka_unit_test(rows_of_functions_are_rules), cmocka_unit_test(no_op_has_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
