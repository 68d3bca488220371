/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of programs with symbols for known extents: the kernels of the same programs without symbols, and the bits
 * of variants for all extents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"
#include "test/variants.h"

enum { MOST_RANK = 5, INPUTS = 2, NAME = 3 };

typedef struct subject {
    const char *name; /* of an einsum: its equation */
    weft_tensor (*trace)(weft_tensor a, weft_tensor b);
    weft_dtype dtype;
    int64_t shapes[INPUTS][MOST_RANK];
    enum { OF_KNOWN, OF_ALL, OWN } kernels; /* those of the program with known extents, for all extents, others */
    bool rows_alone;                        /* are a symbol, the first of a's */
} subject;

static weft_tensor product(weft_tensor a, weft_tensor b)
{
    return weft_matmul(a, b);
}

static weft_tensor place(weft_tensor a, weft_tensor b)
{
    return weft_searchsorted(weft_cumsum(weft_abs(a), 0, false, false), b, false);
}

/* Of narrow columns, which are joined where their number is known. */
static weft_tensor columns(weft_tensor a, weft_tensor b)
{
    return weft_or(weft_reduce_all(weft_gt(a, -0.99), WEFT_INTS(0), false), weft_gt(b, 0));
}

/* With a constant so small that a variant has a copy of it, and a number that is computed from an extent. */
static weft_tensor weighted(weft_tensor a, weft_tensor b)
{
    float weights[16];
    for (int i = 0; i < 16; i++) weights[i] = (float)(i % 7) - 2.5f;
    weft_tensor mean = weft_mean(b, WEFT_INTS(0), false);
    return weft_add(weft_matmul(a, weft_constant(a.graph, WEFT_F32, WEFT_INTS(4, 4), weights)),
                    weft_broadcast_like(mean, a));
}

static void next(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)index;
    out_next[0] = weft_matmul(carried[0], *(const weft_tensor *)context);
}

static weft_tensor power(weft_tensor a, weft_tensor b)
{
    return weft_fold(weft_extent_of(3), WEFT_TENSORS(a), next, &b, NULL);
}

/* What is chosen by extents differs for them from what is chosen for all. */
static const subject subjects[] = {
    {"dbea,ec->abcd", NULL, WEFT_F32, {{6, 9, 48, 40}, {48, 12}}},
    {"dbea,ec->abcd", NULL, WEFT_F32, {{24, 42, 48, 48}, {48, 12}}},
    {"deca,be->abcd", NULL, WEFT_F32, {{24, 48, 42, 48}, {12, 48}}},
    {"efbad,cf->abcde", NULL, WEFT_F32, {{7, 18, 9, 11, 12}, {5, 18}}},
    {"cf,efbad->abcde", NULL, WEFT_F64, {{5, 18}, {7, 18, 9, 11, 12}}},
    {"dfgb,geac->abcdef", NULL, WEFT_F32, {{9, 12, 10, 8}, {10, 9, 10, 12}}},
    {"ikb,kjb->ijb", NULL, WEFT_F32, {{8, 9, 10}, {9, 11, 10}}},
    {"product of a few", product, WEFT_BF16, {{19, 21}, {21, 33}}},
    {"product of a few, f16", product, WEFT_F16, {{5, 19, 21}, {21, 33}}},
    {"product of many", product, WEFT_BF16, {{130, 128}, {128, 130}}, OF_ALL},
    {"power", power, WEFT_BF16, {{20, 16}, {16, 16}}},
    {"columns", columns, WEFT_F32, {{600, 10}, {10}}},
    {"whole columns", columns, WEFT_F32, {{640, 10}, {10}}},
    {"place", place, WEFT_F32, {{100}, {40}}},
    {"place in one", place, WEFT_F32, {{1}, {9}}},
    {"weighted", weighted, WEFT_F32, {{20, 4}, {50, 4}}, OWN},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static size_t rank_of(const subject *s, size_t input)
{
    size_t rank = 0;
    while (rank < MOST_RANK && s->shapes[input][rank] > 0) rank++;
    return rank;
}

/* ---- programs ---- */

/* The columns of `weighted` are as many as its weights have rows. */
static weft_extent extent_of(const subject *s, weft_graph *graph, size_t input, size_t axis)
{
    const char name[NAME] = {(char)('a' + input), (char)('0' + axis), '\0'};
    if (s->rows_alone && (input > 0 || axis > 0)) return weft_extent_of(s->shapes[input][axis]);
    return s->trace == weighted && axis == 1 ? weft_extent_of(4) : weft_symbol(graph, name, 1, 1000);
}

static weft_program *compile(const subject *s, bool symbolic)
{
    weft_graph *graph;
    weft_program *program;
    weft_tensor inputs[INPUTS];
    weft_test_ok(weft_graph_create(NULL, &graph));
    for (size_t i = 0; i < INPUTS; i++) {
        weft_extent extents[MOST_RANK];
        for (size_t axis = 0; axis < rank_of(s, i); axis++)
            extents[axis] = symbolic ? extent_of(s, graph, i, axis) : weft_extent_of(s->shapes[i][axis]);
        inputs[i] = weft_input(graph, i == 0 ? "a" : "b", s->dtype, (weft_shape){rank_of(s, i), extents});
    }
    weft_tensor y =
        s->trace != NULL ? s->trace(inputs[0], inputs[1]) : weft_einsum(s->name, (weft_tensors){INPUTS, inputs}, NULL);
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(y), NULL, &program));
    weft_graph_destroy(graph);
    return program;
}

/* ---- kernels ---- */

static weft_status *print(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    for (size_t i = 0; i < variant->step_count; i++) {
        weft_bytes_print(context, "step %d\n", (int)variant->steps[i].kind);
        if (kernels[i] != NULL) WEFT_TRY(weft_kernel_print(kernels[i], context));
    }
    return NULL;
}

/* Symbols that nothing uses are named in a kernel too. */
static void drop_symbols(char *text)
{
    for (char *line; (line = strstr(text, "  symbol ")) != NULL;) {
        char *after = strchr(line, '\n') + 1;
        memmove(line, after, strlen(after) + 1);
    }
}

static char *kernels_of(const weft_program *program, const int64_t *specialized)
{
    weft_bytes text;
    weft_bytes_init(&text, weft_allocator_or_default(NULL));
    weft_test_ok(weft_test_visit(NULL, program, specialized, false, print, &text));
    char *copy = strdup(text.data);
    weft_bytes_finish(&text);
    assert_non_null(copy);
    drop_symbols(copy);
    return copy;
}

static void fill_values(const subject *s, const weft_program *program, int64_t *values)
{
    for (size_t i = 0; i < weft_program_symbol_count(program); i++) {
        const char *name = weft_program_symbol_at(program, i)->name;
        values[i] = s->shapes[name[0] - 'a'][name[1] - '0'];
    }
}

static void has_kernels_of_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++) {
        int64_t values[INPUTS * MOST_RANK];
        weft_program *known = compile(&subjects[i], false), *symbolic = compile(&subjects[i], true);
        fill_values(&subjects[i], symbolic, values);
        char *expected = kernels_of(known, NULL), *found = kernels_of(symbolic, values),
             *all = kernels_of(symbolic, NULL);
        bool is_expected = strcmp(expected, found) == 0;
        if (!is_expected && subjects[i].kernels != OWN)
            fail_msg("%s:\n%s\ninstead of\n%s", subjects[i].name, found, expected);
        assert_int_equal(strcmp(all, found) == 0, subjects[i].kernels == OF_ALL);
        free(expected);
        free(found);
        free(all);
        weft_program_release(known);
        weft_program_release(symbolic);
    }
}

/* ---- bits ---- */

static weft_array *array_of(const subject *s, size_t input, int64_t more)
{
    int64_t shape[MOST_RANK], count = 1;
    weft_array *array;
    for (size_t axis = 0; axis < rank_of(s, input); axis++) count *= shape[axis] = s->shapes[input][axis];
    if (s->trace == weighted || s->trace == place) {
        count = count / shape[0] * (shape[0] + more);
        shape[0] += more;
    }
    weft_test_ok(weft_array_create(NULL, s->dtype, rank_of(s, input), shape, &array));
    uint64_t seed = input + 1;
    for (int64_t i = 0; i < count; i++) {
        double value = weft_test_real(&seed);
        float small = (float)value;
        uint32_t bits;
        memcpy(&bits, &small, sizeof bits);
        if (s->dtype == WEFT_F32) ((float *)weft_array_data(array))[i] = small;
        else if (s->dtype == WEFT_F64) ((double *)weft_array_data(array))[i] = value;
        else
            ((uint16_t *)weft_array_data(array))[i] =
                (uint16_t)(s->dtype == WEFT_BF16 ? bits >> 16 : 0x2c00 | (bits >> 13 & 0x83ff));
    }
    return array;
}

static weft_array *run(weft_executor *executor, weft_program *program, weft_array **inputs, bool specialize)
{
    weft_array *output = NULL;
    weft_test_ok(weft_executor_run(
        executor, program,
        &(weft_run){
            .input_count = INPUTS, .inputs = inputs, .output_count = 1, .outputs = &output, .specialize = specialize}));
    return output;
}

/* Variants come and go: there is room for one. */
static void computes_bits_of_all(void **state)
{
    (void)state;
    weft_executor *executor;
    weft_test_ok(
        weft_executor_create_standard(&(weft_executor_options){.threads = 2, .specialized_capacity = 1}, &executor));
    for (size_t i = 0; i < SUBJECTS; i++) {
        weft_program *known = compile(&subjects[i], false), *symbolic = compile(&subjects[i], true);
        for (int64_t more = 0; more < 3; more++) {
            weft_array *inputs[INPUTS] = {array_of(&subjects[i], 0, more), array_of(&subjects[i], 1, more)};
            weft_array *all = run(executor, symbolic, inputs, false), *own = run(executor, symbolic, inputs, true);
            weft_test_same_bits(all, own);
            weft_array *same = more == 0 ? run(executor, known, inputs, false) : NULL;
            if (same != NULL) weft_test_same_bits(same, own);
            weft_array *const arrays[] = {inputs[0], inputs[1], all, own, same};
            for (size_t k = 0; k < 5; k++) weft_array_release(arrays[k]);
        }
        weft_program_release(known);
        weft_program_release(symbolic);
    }
    weft_executor_destroy(executor);
}

static weft_tensor number_of(weft_tensor x, weft_tensor like)
{
    return weft_broadcast_like(weft_cast(weft_extent_tensor(x.graph, weft_tensor_extent(x, 0)), WEFT_F32), like);
}

/* To as many as b has elements. */
static weft_tensor raised(weft_tensor a, weft_tensor b)
{
    weft_tensor sizes = weft_add(weft_abs(a), weft_broadcast_like(weft_reduce_max(b, WEFT_INTS(0), false), a));
    return weft_pow(sizes, number_of(b, sizes));
}

/* Of permuted columns, times as many as b has elements: one. */
static weft_tensor scaled(weft_tensor a, weft_tensor b)
{
    weft_tensor columns = weft_permute(a, WEFT_INTS(1, 0));
    weft_tensor sums = weft_cumsum(weft_mul(columns, number_of(b, columns)), 1, false, false);
    return weft_add(sums, weft_broadcast_like(weft_reduce_max(b, WEFT_INTS(0), false), sums));
}

/* Of a product that is written in another order where it is large. */
static weft_tensor scanned(weft_tensor a, weft_tensor b)
{
    weft_dot_axes last = {.contract_a = WEFT_INTS(2), .contract_b = WEFT_INTS(1)};
    return weft_cumsum(weft_permute(weft_dot(a, b, last), WEFT_INTS(0, 2, 1)), 2, false, false);
}

/* By a vector, of a product whose axes come as they lie where it has many terms. */
static weft_tensor by_vector(weft_tensor a, weft_tensor b)
{
    weft_dot_axes last = {.contract_a = WEFT_INTS(2), .contract_b = WEFT_INTS(2)};
    weft_tensor product = weft_dot(a, weft_permute(b, WEFT_INTS(1, 0, 2)), last);
    return weft_matmul(weft_permute(product, WEFT_INTS(1, 0, 2, 3)), weft_reduce_max(b, WEFT_INTS(1, 2), false));
}

static weft_tensor complex_of(weft_tensor x)
{
    return weft_complex(x, weft_flip(x, WEFT_INTS(0)));
}

/* Of complex numbers: a product that is permuted for the next one. */
static weft_tensor turned(weft_tensor a, weft_tensor b)
{
    weft_dot_axes rows = {.contract_a = WEFT_INTS(0), .contract_b = WEFT_INTS(1)};
    weft_tensor left = complex_of(a);
    return weft_dot(weft_dot(left, complex_of(b), rows), left, rows);
}

/* By few columns over three axes, with terms over two, in an order of their own. */
static weft_tensor by_few(weft_tensor a, weft_tensor b)
{
    weft_dot_axes last = {.contract_a = WEFT_INTS(1, 2), .contract_b = WEFT_INTS(3, 4)};
    weft_tensor product = weft_dot(a, weft_permute(b, WEFT_INTS(3, 4, 1, 0, 2)), last);
    return weft_permute(product, WEFT_INTS(1, 2, 0, 3));
}

/* Of zeros of both signs in narrow columns, of which one stays. */
static weft_tensor greatest(weft_tensor a, weft_tensor b)
{
    weft_tensor zeros = weft_select(weft_gt(weft_abs(a), 0.5), weft_mul(a, 0), -1);
    return weft_mul(weft_reduce_max(zeros, WEFT_INTS(0), false), weft_abs(b));
}

/* What adds up by how a value is permuted, takes another way by a constant, or keeps one of several zeros, does as for
 * all extents. */
static void rounds_as_for_all(void **state)
{
    (void)state;
    static const subject sensitive[] = {
        {"raised", raised, WEFT_F32, {{40, 50}, {5}}},
        {"scaled", scaled, WEFT_F32, {{300, 40}, {1}}},
        {"scanned", scanned, WEFT_F32, {{40, 64, 6}, {40, 6}}},
        {"turned", turned, WEFT_F32, {{16, 300}, {2, 16}}},
        {"greatest", greatest, WEFT_F32, {{640, 10}, {10}}},
        {"by a vector", by_vector, WEFT_F32, {{2, 3, 300}, {30, 20, 300}}},
        {"by few columns", by_few, WEFT_F32, {{50, 2, 160}, {2, 2, 160, 2, 2}}, .rows_alone = true},
    };
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    for (size_t i = 0; i < sizeof sensitive / sizeof *sensitive; i++) {
        const subject *s = &sensitive[i];
        weft_program *program = compile(s, true);
        weft_array *inputs[INPUTS] = {array_of(s, 0, 0), array_of(s, 1, 0)};
        weft_array *all = run(executor, program, inputs, false), *own = run(executor, program, inputs, true);
        weft_test_same_bits(all, own);
        weft_array *const arrays[] = {inputs[0], inputs[1], all, own};
        for (size_t k = 0; k < 4; k++) weft_array_release(arrays[k]);
        weft_program_release(program);
    }
    weft_executor_destroy(executor);
}

/* ---- memory ---- */

static weft_status *build(const weft_allocator *allocator, void *context)
{
    const weft_program *program = context;
    const subject *s = &subjects[0];
    int64_t values[INPUTS * MOST_RANK];
    weft_bytes text;
    fill_values(s, program, values);
    weft_bytes_init(&text, weft_allocator_or_default(NULL));
    weft_status *status = weft_test_visit(allocator, program, values, false, print, &text);
    weft_bytes_finish(&text);
    return status;
}

static void runs_out_of_memory(void **state)
{
    (void)state;
    weft_program *program = compile(&subjects[0], true);
    assert_true(weft_test_fail_each(build, program) > 0);
    weft_program_release(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_kernels_of_known),
        cmocka_unit_test(computes_bits_of_all),
        cmocka_unit_test(rounds_as_for_all),
        cmocka_unit_test(runs_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
