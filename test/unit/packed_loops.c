/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that products in loops read packed, once: which ones, and that every bit is that of the same products
 * without. */
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "test/rng.h"
#include "test/support.h"
#include "test/variants.h"

enum { ROWS = 32, SIDE = 300, INPUTS = 2 };

/* ---- programs ---- */

typedef struct source {
    weft_tensor x, w; /* n x SIDE, SIDE x SIDE */
    int64_t trips, inner;
} source;

static weft_tensor transposed(weft_tensor w)
{
    return weft_permute(w, WEFT_INTS(1, 0));
}

/* Small enough to stay so. */
static weft_tensor product(weft_tensor x, weft_tensor w)
{
    return weft_tanh(weft_matmul(x, w));
}

static void body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    (void)index;
    out_next[0] = product(carried[0], s->w);
}

static void both_ways(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    (void)index;
    out_next[0] = product(product(carried[0], s->w), transposed(s->w));
}

static void twice(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    (void)index;
    out_next[0] = product(product(carried[0], s->w), s->w);
}

static void changing(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context;
    (void)index;
    out_next[0] = product(carried[0], carried[1]);
    out_next[1] = weft_neg(carried[1]);
}

static void nested(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    source *s = context;
    (void)index;
    weft_fold(weft_extent_of(s->inner), WEFT_TENSORS(carried[0]), body, s, out_next);
}

/* The matrix is another one in each iteration of the outer loop. */
static void nested_changing(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    source s = *(const source *)context;
    (void)index;
    s.w = carried[1];
    weft_fold(weft_extent_of(s.inner), WEFT_TENSORS(carried[0]), body, &s, out_next);
    out_next[1] = weft_neg(carried[1]);
}

typedef struct choice {
    source *source;
    weft_tensor from;
} choice;

static void multiplied(void *context, weft_tensor *out_results)
{
    const choice *c = context;
    out_results[0] = product(c->from, c->source->w);
}

static void negated(void *context, weft_tensor *out_results)
{
    const choice *c = context;
    out_results[0] = weft_neg(c->from);
}

static void chosen(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    choice c = {context, carried[0]};
    weft_cond(weft_lt(index, weft_scalar(index.graph, WEFT_I64, 3)), 1, multiplied, negated, &c, out_next);
}

static weft_tensor again(void *context, const weft_tensor *carried)
{
    const source *s = context;
    return weft_lt(carried[1], weft_scalar(carried[1].graph, WEFT_I64, (double)s->trips));
}

static void counted(void *context, const weft_tensor *carried, weft_tensor *out_next)
{
    const source *s = context;
    out_next[0] = product(carried[0], s->w);
    out_next[1] = weft_add(carried[1], weft_scalar(carried[1].graph, WEFT_I64, 1));
}

static weft_tensor fold(source *s, weft_fold_body inner)
{
    return weft_fold(weft_extent_of(s->trips), WEFT_TENSORS(s->x), inner, s, NULL);
}

static void folded(void *context, weft_tensor *out_results)
{
    const choice *c = context;
    weft_fold(weft_extent_of(c->source->inner), WEFT_TENSORS(c->from), body, c->source, out_results);
}

static weft_tensor fold_in_branch(source *s, weft_fold_body inner)
{
    (void)inner;
    choice c = {s, s->x};
    weft_tensor most = weft_reduce_max(s->x, WEFT_INTS(0, 1), false);
    return weft_cond(weft_lt(most, weft_full_like(most, 100)), 1, folded, negated, &c, NULL);
}

/* What follows the branch would take the memory of the matrix. */
static void branching(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    choice c = {context, carried[0]};
    weft_tensor y = weft_cond(weft_lt(index, weft_scalar(index.graph, WEFT_I64, 3)), 1, folded, negated, &c, NULL);
    out_next[0] = product(y, product(transposed(y), y));
}

static weft_tensor fold_of_branches(source *s, weft_fold_body inner)
{
    source own = *s;
    (void)inner;
    own.w = weft_tanh(s->w); /* nothing else reads it */
    return weft_fold(weft_extent_of(s->trips), WEFT_TENSORS(s->x), branching, &own, NULL);
}

static weft_tensor fold_both(source *s, weft_fold_body inner)
{
    return weft_fold(weft_extent_of(s->trips), WEFT_TENSORS(s->x, s->w), inner, s, NULL);
}

static weft_tensor fold_tanh(source *s, weft_fold_body inner)
{
    s->w = weft_tanh(s->w);
    return fold(s, inner);
}

static weft_tensor fold_part(source *s, weft_fold_body inner)
{
    weft_tensor both = weft_concat(WEFT_TENSORS(s->w, s->w), 0);
    s->w = weft_slice(both, WEFT_SHAPE(7, 0), WEFT_SHAPE(SIDE, SIDE), WEFT_INTS(1, 1));
    return fold(s, inner);
}

static weft_tensor loop_while(source *s, weft_fold_body inner)
{
    (void)inner;
    weft_tensor zero = weft_scalar(s->x.graph, WEFT_I64, 0);
    return weft_while(WEFT_TENSORS(s->x, zero), again, counted, s, NULL);
}

static const struct {
    const char *name;
    weft_tensor (*trace)(source *s, weft_fold_body body);
    weft_fold_body body;
    int64_t trips, inner;
    size_t packed; /* matrices */
    bool outside;  /* of all loops */
} cases[] = {
    {"a matrix", fold, body, 8, 0, 1, true},
    {"few iterations", fold, body, 7, 0, 0, false},
    {"no iterations", fold, body, 0, 0, 0, false},
    {"both ways", fold, both_ways, 10, 0, 2, true},
    {"twice", fold, twice, 10, 0, 1, true},
    {"a changing matrix", fold_both, changing, 10, 0, 0, false},
    {"a temporary", fold_tanh, body, 10, 0, 1, true},
    {"a part of one", fold_part, body, 10, 0, 1, true},
    {"a loop in a loop", fold, nested, 4, 3, 1, true},
    {"few iterations in all", fold, nested, 2, 3, 0, false},
    {"a matrix of the outer loop", fold_both, nested_changing, 3, 9, 1, false},
    {"few of the inner loop", fold_both, nested_changing, 9, 3, 0, false},
    {"in a branch", fold, chosen, 10, 0, 0, false},
    {"a loop in a branch", fold_in_branch, NULL, 0, 10, 1, false},
    {"a loop in a branch of a loop", fold_of_branches, NULL, 4, 10, 1, false},
    {"while", loop_while, NULL, 10, 0, 1, true},
};
enum { CASES = sizeof cases / sizeof *cases };

static weft_status *trace(const weft_allocator *allocator, size_t number, weft_dtype dtype, bool symbolic,
                          weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent rows = symbolic ? weft_symbol(graph, "n", 1, 4096) : weft_extent_of(ROWS);
    source s = {.x = weft_input(graph, "x", dtype, WEFT_SHAPE(rows, SIDE)),
                .w = weft_input(graph, "w", dtype, WEFT_SHAPE(SIDE, SIDE)),
                .trips = cases[number].trips,
                .inner = cases[number].inner};
    weft_tensor y = cases[number].trace(&s, cases[number].body);
    /* So that there are two inputs in any case. */
    y = weft_add(y, weft_reduce_max(s.w, WEFT_INTS(0, 1), false));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

/* ---- what is packed ---- */

typedef struct packing_count {
    size_t packed, outside;
    size_t read; /* products that read panels of a temporary */
} packing_count;

static weft_status *count_packed(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    packing_count *found = context;
    size_t regions_end = 0;
    (void)kernels;
    *found = (packing_count){0};
    for (size_t i = 0; i < variant->step_count; i++) {
        const weft_step *step = &variant->steps[i];
        if (step->kind == WEFT_STEP_REGION && i >= regions_end) regions_end = i + 1 + weft_step_nested(step);
        found->packed += step->kind == WEFT_STEP_PACK;
        found->outside += step->kind == WEFT_STEP_PACK && i >= regions_end;
        found->read += step->kind == WEFT_STEP_GEMM && step->gemm.panels != WEFT_PANELS_NONE;
    }
    return NULL;
}

static void loops_pack_what_they_do_not_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        weft_program *program;
        packing_count found;
        weft_test_ok(trace(NULL, i, WEFT_F32, false, &program));
        weft_test_ok(weft_test_visit(NULL, program, NULL, false, count_packed, &found));
        if (found.packed != cases[i].packed ||
            (found.outside == found.packed) != (found.packed == 0 || cases[i].outside))
            fail_msg("%s: %zu packed, %zu of them outside", cases[i].name, found.packed, found.outside);
        if ((found.read > 0) != (found.packed > 0)) fail_msg("%s: %zu read panels", cases[i].name, found.read);
        weft_program_release(program);
    }
}

static void sizes_have_to_be_known_and_memory_be_free(void **state)
{
    weft_program *program;
    packing_count any, some, few, limited;
    (void)state;
    weft_test_ok(trace(NULL, 0, WEFT_F32, true, &program));
    weft_test_ok(weft_test_visit(NULL, program, NULL, false, count_packed, &any));
    weft_test_ok(weft_test_visit(NULL, program, (const int64_t[]){ROWS}, false, count_packed, &some));
    weft_test_ok(weft_test_visit(NULL, program, (const int64_t[]){ROWS}, true, count_packed, &limited));
    weft_test_ok(weft_test_visit(NULL, program, (const int64_t[]){2}, false, count_packed, &few));
    assert_int_equal(any.packed, 0);
    assert_int_equal(some.packed, 1);
    assert_int_equal(few.packed, 0);
    assert_int_equal(limited.packed, 0);
    weft_program_release(program);
}

/* ---- runs ---- */

static weft_array *array_of(weft_dtype dtype, int64_t rows, uint64_t seed)
{
    weft_array *array;
    weft_test_ok(weft_array_create(NULL, dtype, 2, (const int64_t[]){rows, SIDE}, &array));
    for (int64_t i = 0; i < rows * SIDE; i++) {
        double number = 0.1 * weft_test_real(&seed);
        if (dtype == WEFT_F32) ((float *)weft_array_data(array))[i] = (float)number;
        else ((double *)weft_array_data(array))[i] = number;
    }
    return array;
}

/* `limit`: bytes of temporaries, or 0; returns those that there were. */
static size_t run(weft_executor *executor, weft_program *program, weft_dtype dtype, bool specialize, size_t limit,
                  weft_array **out_result)
{
    weft_array *inputs[INPUTS];
    weft_report report;
    *out_result = NULL;
    for (size_t i = 0; i < INPUTS; i++) {
        bool is_x = strcmp(weft_program_input_name(program, i), "x") == 0;
        inputs[i] = array_of(dtype, is_x ? ROWS : SIDE, is_x ? 1 : 2);
    }
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.input_count = INPUTS,
                                               .inputs = inputs,
                                               .output_count = 1,
                                               .outputs = out_result,
                                               .specialize = specialize,
                                               .memory_limit = limit,
                                               .report = &report}));
    for (size_t i = 0; i < INPUTS; i++) weft_array_release(inputs[i]);
    return report.peak_bytes;
}

static weft_status *trace_turned(weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(1000, 1024));
    weft_tensor y = weft_input(graph, "y", WEFT_F32, WEFT_SHAPE(1024, 1000));
    weft_tensor sums = weft_reduce_sum(weft_add(weft_permute(x, WEFT_INTS(1, 0)), y), WEFT_INTS(1), false);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(sums), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

/* What a reduction reads across memory is turned first, but under no limit, however large. */
static void turns_nothing_under_a_limit(void **state)
{
    weft_program *program;
    weft_array *inputs[INPUTS], *results[] = {NULL, NULL};
    weft_report reports[2];
    weft_test_ok(trace_turned(&program));
    for (size_t i = 0; i < INPUTS; i++) {
        const int64_t shape[] = {i == 0 ? 1000 : 1024, i == 0 ? 1024 : 1000};
        weft_test_ok(weft_array_create(NULL, WEFT_F32, 2, shape, &inputs[i]));
        uint64_t seed = i + 1;
        for (int64_t k = 0; k < weft_array_count(inputs[i]); k++)
            ((float *)weft_array_data(inputs[i]))[k] = (float)weft_test_real(&seed);
    }
    for (size_t i = 0; i < 2; i++)
        weft_test_ok(weft_executor_run(*state, program,
                                       &(weft_run){.input_count = INPUTS,
                                                   .inputs = inputs,
                                                   .output_count = 1,
                                                   .outputs = &results[i],
                                                   .memory_limit = i * 4096,
                                                   .report = &reports[i]}));
    assert_true(reports[0].peak_bytes > reports[1].peak_bytes);
    weft_test_same_bits(results[0], results[1]);
    for (size_t i = 0; i < 2; i++) {
        weft_array_release(inputs[i]);
        weft_array_release(results[i]);
    }
    weft_program_release(program);
}

static void packing_changes_no_bits(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    for (size_t i = 0; i < 2 * CASES; i++) {
        weft_program *program;
        weft_test_ok(trace(NULL, i / 2, dtypes[i % 2], true, &program));
        weft_array *expected, *found, *limited;
        run(*state, program, dtypes[i % 2], false, 0, &expected);
        size_t bytes = run(*state, program, dtypes[i % 2], true, 0, &found);
        weft_test_same_bits(found, expected);
        if (cases[i / 2].packed > 0) {
            run(*state, program, dtypes[i % 2], true, bytes - 1, &limited);
            weft_test_same_bits(limited, expected);
            weft_array_release(limited);
        }
        weft_array_release(expected);
        weft_array_release(found);
        weft_program_release(program);
    }
}

/* ---- no memory ---- */

static weft_status *build(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    WEFT_TRY(trace(allocator, 0, WEFT_F32, false, &program));
    weft_status *status = weft_test_visit(allocator, program, NULL, false, count_packed, context);
    weft_program_release(program);
    return status;
}

static void memory_runs_out(void **state)
{
    packing_count found;
    (void)state;
    weft_test_fail_each(build, &found);
    assert_int_equal(found.packed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_pack_what_they_do_not_change),
        cmocka_unit_test(sizes_have_to_be_known_and_memory_be_free),
        cmocka_unit_test(packing_changes_no_bits),
        cmocka_unit_test(turns_nothing_under_a_limit),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, weft_test_executor_create, weft_test_executor_destroy);
}
