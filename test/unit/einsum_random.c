/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions against a loop over all values of all labels. Data are small integers: every order is exact.
 * Arguments: how many expressions, and the runtime. */
#include "test/einsum/einsum.h"
#include "test/rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 6, LABELS = 7, RANK = 4, ELEMENTS = 4096 };

typedef struct operand {
    size_t rank;
    int labels[RANK];
    int64_t shape[RANK];
    double data[ELEMENTS];
    weft_array *array;
} operand;

typedef struct expression {
    int64_t extents[LABELS];
    size_t count, output_rank;
    operand operands[OPERANDS];
    int output[2 * RANK];
    int64_t output_shape[2 * RANK];
    double expected[ELEMENTS];
    bool numbers; /* labels of the text */
    bool used[LABELS];
    char text[512];
} expression;

static int expressions = 400;
static bool on_llvm;
static size_t within, refused; /* calls with a memory limit that was kept, or was not */
static uint64_t random_state = 1;

static unsigned draw(unsigned count)
{
    return (unsigned)weft_test_below(&random_state, count);
}

/* ---- making one ---- */

static void fill_operand(expression *e, operand *o, unsigned label_count)
{
    bool one[LABELS];
    size_t count = 1;
    for (size_t i = 0; i < LABELS; i++) one[i] = draw(8) == 0;
    o->rank = draw(RANK + 1);
    for (size_t i = 0; i < o->rank; i++) {
        o->labels[i] = (int)draw(label_count);
        o->shape[i] = one[o->labels[i]] ? 1 : e->extents[o->labels[i]];
        count *= (size_t)o->shape[i];
    }
    for (size_t i = 0; i < count; i++) o->data[i] = (double)draw(5) - 2;
    o->array = weft_test_column_major(o->rank, o->shape, o->data);
}

/* A label is as large as it is somewhere: where it is one everywhere, that is its extent. */
static void settle_extents(expression *e, bool *out_used)
{
    int64_t largest[LABELS];
    for (size_t i = 0; i < LABELS; i++) largest[i] = 1;
    memset(out_used, 0, LABELS * sizeof *out_used);
    for (size_t i = 0; i < e->count; i++)
        for (size_t k = 0; k < e->operands[i].rank; k++) {
            int label = e->operands[i].labels[k];
            if (e->operands[i].shape[k] != 1) largest[label] = e->operands[i].shape[k];
            out_used[label] = true;
        }
    memcpy(e->extents, largest, sizeof largest);
}

static void fill_output(expression *e, const bool *used)
{
    e->output_rank = 0;
    for (size_t i = draw(5); i > 0; i--) {
        int label = (int)draw(LABELS);
        if (!used[label]) continue;
        e->output[e->output_rank] = label;
        e->output_shape[e->output_rank++] = e->extents[label];
    }
}

static char *print_term(char *at, bool numbers, size_t rank, const int *labels)
{
    static const char *const letters[] = {"a", "B", "ξ", "字", "i", "\xf0\x9f\x98\x80", "z"};
    if (numbers) *at++ = '[';
    for (size_t i = 0; i < rank; i++)
        at +=
            numbers ? sprintf(at, " %d", 100 * labels[i]) : sprintf(at, "%s%s", letters[labels[i]], draw(4) ? "" : " ");
    if (numbers) *at++ = ']';
    return at;
}

static void print(expression *e)
{
    char *at = e->text;
    bool numbers = e->numbers = draw(3) == 0;
    for (size_t i = 0; i < e->count; i++) {
        if (i > 0) *at++ = ',';
        at = print_term(at, numbers, e->operands[i].rank, e->operands[i].labels);
    }
    at = print_term(at + sprintf(at, "->"), numbers, e->output_rank, e->output);
    *at = '\0';
}

/* ---- the loop ---- */

static size_t offset_of(size_t rank, const int *labels, const int64_t *shape, const int64_t *at)
{
    size_t offset = 0;
    for (size_t i = rank; i-- > 0;) offset = offset * (size_t)shape[i] + (shape[i] == 1 ? 0 : (size_t)at[labels[i]]);
    return offset;
}

static bool advance(const int64_t *extents, int64_t *at)
{
    for (size_t i = 0; i < LABELS; i++) {
        if (++at[i] < extents[i]) return true;
        at[i] = 0;
    }
    return false;
}

static void compute(expression *e)
{
    int64_t at[LABELS] = {0};
    bool empty = false;
    memset(e->expected, 0, sizeof e->expected);
    for (size_t i = 0; i < LABELS; i++) empty = empty || e->extents[i] == 0;
    if (empty) return;
    do {
        double product = 1;
        for (size_t i = 0; i < e->count; i++) {
            const operand *o = &e->operands[i];
            product *= o->data[offset_of(o->rank, o->labels, o->shape, at)];
        }
        e->expected[offset_of(e->output_rank, e->output, e->output_shape, at)] += product;
    } while (advance(e->extents, at));
}

static void make(expression *e)
{
    for (size_t i = 0; i < LABELS; i++) e->extents[i] = draw(40) == 0 ? 0 : 1 + draw(4);
    e->count = 1 + draw(OPERANDS);
    for (size_t i = 0; i < e->count; i++) fill_operand(e, &e->operands[i], 2 + draw(LABELS - 1));
    settle_extents(e, e->used);
    fill_output(e, e->used);
    print(e);
    compute(e);
}

/* ---- comparing ---- */

/* The code points of the letters that are printed. */
static const int64_t code_points[LABELS] = {'a', 'B', 0x3be, 0x5b57, 'i', 0x1f600, 'z'};

/* One time in three, two labels in three. */
static void fill_sliced(const expression *e, weft_einsum_options *options, int64_t *sliced)
{
    size_t count = 0;
    if (options->order == WEFT_EINSUM_AUTO || draw(3)) return;
    for (int label = 0; label < LABELS; label++)
        if (e->used[label] && draw(3)) sliced[count++] = e->numbers ? 100 * label : code_points[label];
    options->sliced = (weft_ints){count, sliced};
}

static void fill_order(size_t count, weft_einsum_options *options, int64_t *path)
{
    *options = (weft_einsum_options){.order = (weft_einsum_order)draw(3)};
    if (options->order == WEFT_EINSUM_AUTO && draw(3) == 0) options->memory_limit = (size_t)64 << draw(10);
    if (options->order != WEFT_EINSUM_PATH) return;
    for (size_t k = 0; k + 1 < count; k++) {
        unsigned left = (unsigned)(count - k), a = draw(left), b = draw(left - 1);
        path[2 * k] = a;
        path[2 * k + 1] = b >= a ? b + 1 : b;
    }
    options->path = (weft_ints){2 * (count - 1), path};
}

static void check(const expression *e, const weft_array *result)
{
    static double data[ELEMENTS];
    assert_int_equal(weft_array_rank(result), e->output_rank);
    for (size_t i = 0; i < e->output_rank; i++) assert_int_equal(weft_array_shape(result)[i], e->output_shape[i]);
    weft_test_read_column_major(result, data);
    for (int64_t i = 0; i < weft_array_count(result); i++)
        if (data[i] != e->expected[i])
            fail_msg("%s: element %d is %g, not %g", e->text, (int)i, data[i], e->expected[i]);
}

static void run(weft_executor *executor, const expression *e)
{
    int64_t path[2 * OPERANDS], sliced[LABELS];
    weft_einsum_options options;
    weft_array *operands[OPERANDS], *result;
    for (size_t i = 0; i < e->count; i++) operands[i] = e->operands[i].array;
    for (unsigned way = 0; way < WEFT_TEST_WAYS; way++) {
        fill_order(e->count, &options, path);
        fill_sliced(e, &options, sliced);
        weft_test_einsum call = {
            .text = e->text, .count = e->count, .operands = operands, .options = &options, .way = way};
        weft_status *status = weft_test_einsum_run(executor, &call, &result);
        if (options.memory_limit > 0 && weft_status_code(status) == WEFT_OVER_LIMIT) {
            weft_status_destroy(status);
            refused++;
            continue;
        }
        within += options.memory_limit > 0;
        if (status != NULL) print_error("%s\n", e->text);
        weft_test_ok(status);
        check(e, result);
        weft_array_release(result);
    }
}

static void agree_with_the_loop(void **state)
{
    static expression e;
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    (void)state;
    for (int i = 0; i < expressions; i++) {
        make(&e);
        run(executor, &e);
        for (size_t k = 0; k < e.count; k++) weft_array_release(e.operands[k].array);
    }
    weft_executor_destroy(executor);
    assert_true(within > 4 * refused);
}

/* A sum of a million equal terms, which lose digits one after the other; of four axes and of twenty. */
static void add_many_terms(void **state)
{
    enum { COUNT = 1 << 20 };
    const struct {
        const char *text;
        int64_t extent;
        size_t rank;
    } cases[] = {{"[0 1 2 3],[3 2 1 0]->[]", 32, 4}, {"abcdefghijklmnopqrst,abcdefghijklmnopqrst->", 2, 20}};
    weft_executor *executor = weft_test_einsum_executor(on_llvm);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t shape[32];
        weft_array *array, *result;
        for (size_t axis = 0; axis < cases[i].rank; axis++) shape[axis] = cases[i].extent;
        weft_test_ok(weft_array_create(NULL, WEFT_F32, cases[i].rank, shape, &array));
        for (size_t k = 0; k < COUNT; k++) ((float *)weft_array_data(array))[k] = 0.1f;
        weft_array *operands[] = {array, array};
        weft_test_einsum call = {.text = cases[i].text, .count = 2, .operands = operands, .way = WEFT_TEST_ARRAYS};
        weft_test_ok(weft_test_einsum_run(executor, &call, &result));
        double expected = COUNT * (double)0.1f * (double)0.1f, got = *(const float *)weft_array_data(result);
        if (!(fabs(got - expected) < 2e-5 * expected)) fail_msg("%s: %.9g, not %.9g", cases[i].text, got, expected);
        weft_array_release(array);
        weft_array_release(result);
    }
    weft_executor_destroy(executor);
}

int main(int argc, char **argv)
{
    if (argc > 1) expressions = atoi(argv[1]);
    on_llvm = argc > 2 && strcmp(argv[2], "llvm") == 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(agree_with_the_loop), cmocka_unit_test(add_many_terms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
