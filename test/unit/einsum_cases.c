/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of test/einsum/cases.txt, under every order, with numbers and with symbols for extents, lowered and kept. */
#include "test/einsum/einsum.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERAND_LIMIT = 8, ELEMENT_LIMIT = 256 };

typedef struct tensor {
    size_t rank, count;
    int64_t shape[WEFT_MAX_RANK];
    double data[ELEMENT_LIMIT];
} tensor;

typedef struct row {
    char line[1024];
    const char *text;
    size_t count;
    weft_array *operands[OPERAND_LIMIT];
    tensor expected;
} row;

static const char *cases_path;
static bool on_llvm;

/* ---- reading ---- */

/* "R(2,3)", "R0(2,3)", "C7(2,3)" (all 7) or "(2,3) 1 2 3 4 5 6". */
static void parse_tensor(const char *text, tensor *out)
{
    char *at = strchr(text, '(');
    assert_non_null(at);
    text += strspn(text, " ");
    double first = text[0] == 'R' ? text[1] != '0' : text[0] == 'C' ? atof(text + 1) : 0;
    *out = (tensor){.count = 1};
    for (at++; *at != ')'; at += *at == ',') {
        out->shape[out->rank] = strtoll(at, &at, 10);
        out->count *= (size_t)out->shape[out->rank++];
    }
    assert_true(out->count <= ELEMENT_LIMIT);
    at++;
    for (size_t i = 0; i < out->count; i++)
        out->data[i] = text[0] == 'R' ? first + (double)i : text[0] == 'C' ? first : strtod(at, &at);
}

static void parse_operands(char *text, row *out)
{
    for (char *next; text != NULL; text = next) {
        tensor operand;
        next = strstr(text, " , ");
        if (next != NULL) {
            *next = '\0';
            next += 3;
        }
        parse_tensor(text, &operand);
        assert_true(out->count < OPERAND_LIMIT);
        out->operands[out->count++] = weft_test_column_major(operand.rank, operand.shape, operand.data);
    }
}

static void parse_row(row *out)
{
    char *operands = strstr(out->line, " ; "), *result = operands == NULL ? NULL : strstr(operands + 3, " ; ");
    if (result == NULL) fail_msg("'%s' is no row", out->line);
    *operands = *result = '\0';
    out->text = out->line;
    out->count = 0;
    parse_operands(operands + 3, out);
    parse_tensor(result + 3, &out->expected);
}

static bool next_row(FILE *file, row *out)
{
    while (fgets(out->line, sizeof out->line, file) != NULL) {
        out->line[strcspn(out->line, "\n")] = '\0';
        if (out->line[0] == '#' || out->line[0] == '\0') continue;
        parse_row(out);
        return true;
    }
    return false;
}

/* ---- running ---- */

static void check(const row *r, const weft_array *result)
{
    double data[ELEMENT_LIMIT];
    if (weft_array_rank(result) != r->expected.rank) fail_msg("%s: rank %zu", r->text, weft_array_rank(result));
    for (size_t i = 0; i < r->expected.rank; i++)
        if (weft_array_shape(result)[i] != r->expected.shape[i]) fail_msg("%s: axis %zu", r->text, i);
    weft_test_read_column_major(result, data);
    for (size_t i = 0; i < r->expected.count; i++)
        if (data[i] != r->expected.data[i])
            fail_msg("%s: element %zu is %g, not %g", r->text, i, data[i], r->expected.data[i]);
}

/* Each order in each way. */
static void run_row(weft_executor *executor, const row *r)
{
    int64_t last_first[2 * OPERAND_LIMIT] = {0};
    size_t steps = r->count - 1;
    for (size_t k = 0; k < steps; k++) {
        last_first[2 * k] = (int64_t)(steps - k);
        last_first[2 * k + 1] = (int64_t)(steps - k) - 1;
    }
    static const char *const nested[] = {"0", "1,0", "2,(0,1)", "(3,1),(0,2)"};
    const weft_einsum_options orders[] = {
        {.order = WEFT_EINSUM_AUTO},
        {.order = WEFT_EINSUM_AUTO, .minimize = WEFT_EINSUM_SIZE, .seed = 1},
        {.order = WEFT_EINSUM_LEFT},
        {.order = WEFT_EINSUM_PATH, .path = {2 * steps, last_first}},
        {.order = WEFT_EINSUM_NESTED, .nested = nested[steps]},
    };
    for (size_t i = 0; i < WEFT_TEST_WAYS * sizeof orders / sizeof *orders; i++) {
        weft_array *result;
        weft_test_einsum call = {.text = r->text,
                                 .count = r->count,
                                 .operands = r->operands,
                                 .options = &orders[i / WEFT_TEST_WAYS],
                                 .way = i % WEFT_TEST_WAYS};
        weft_test_ok(weft_test_einsum_run(executor, &call, &result));
        check(r, result);
        weft_array_release(result);
    }
}

static void run_cases(void **state)
{
    row r;
    size_t count = 0;
    (void)state;
    FILE *file = fopen(cases_path, "r");
    assert_non_null(file);
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    for (; next_row(file, &r); count++) {
        run_row(executor, &r);
        for (size_t i = 0; i < r.count; i++) weft_array_release(r.operands[i]);
    }
    assert_true(count > 60);
    weft_executor_destroy(executor);
    fclose(file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_cases)};
    if (argc < 2) return 2;
    cases_path = argv[1];
    on_llvm = argc > 2 && strcmp(argv[2], "llvm") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
