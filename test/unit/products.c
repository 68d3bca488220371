/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose products are all the library's: each is a step of its own, and every bit is that of a program that
 * chooses. Both run on one executor. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "runtime/base/float_bits.h"
#include "runtime/engine/gemm.h"
#include "test/rng.h"
#include "test/support.h"

enum { MOST_INPUTS = 4, SYMBOL = 37 /* the value of each */ };

static weft_executor *executors[2]; /* of 1 and 3 threads */

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1 + 2 * i}, &executors[i]));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) weft_executor_destroy(executors[i]);
    return 0;
}

/* ---- what is compiled ---- */

typedef weft_tensor (*tracer)(weft_graph *graph, weft_dtype dtype);

#define INPUT(name, ...) weft_input(graph, name, dtype, WEFT_SHAPE(__VA_ARGS__))

static weft_tensor matmul(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 7, 9), INPUT("b", 9, 5));
}

static weft_tensor many_terms(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 40, 1100), INPUT("b", 1100, 24));
}

static weft_tensor transposed(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor a = INPUT("a", 70, 33), b = INPUT("b", 18, 70);
    return weft_matmul(weft_permute(a, WEFT_INTS(1, 0)), weft_permute(b, WEFT_INTS(1, 0)));
}

static weft_tensor transposed_after(weft_graph *graph, weft_dtype dtype)
{
    return weft_permute(weft_matmul(INPUT("a", 2, 30, 20), INPUT("b", 2, 20, 17)), WEFT_INTS(2, 0, 1));
}

static weft_tensor batched(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 3, 6, 20), INPUT("b", 3, 20, 10));
}

static weft_tensor batch_of_one_side(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 3, 6, 20), INPUT("b", 20, 10));
}

static weft_tensor several_terms(weft_graph *graph, weft_dtype dtype)
{
    return weft_tensordot(INPUT("a", 12, 5, 9, 7), INPUT("b", 7, 9, 21), WEFT_INTS(2, 3), WEFT_INTS(1, 0));
}

static weft_tensor symmetric(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor x = INPUT("x", 90, 40);
    return weft_matmul(weft_permute(x, WEFT_INTS(1, 0)), x);
}

static weft_tensor symbolic(weft_graph *graph, weft_dtype dtype)
{
    weft_extent n = weft_symbol(graph, "n", 1, 4096), k = weft_symbol(graph, "k", 0, 4096);
    return weft_matmul(INPUT("a", n, k), INPUT("b", k, 24));
}

static weft_tensor row(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 600), INPUT("b", 600, 48));
}

static weft_tensor sum_of_products(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor a = INPUT("a", 20, 30, 1), b = INPUT("b", 1, 30, 25);
    return weft_reduce_sum(weft_mul(a, b), WEFT_INTS(1), false);
}

static weft_tensor computed_before(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(weft_add(INPUT("a", 20, 30), INPUT("c", 30)), INPUT("b", 30, 24));
}

static weft_tensor layer(weft_graph *graph, weft_dtype dtype)
{
    return weft_relu(weft_add(weft_matmul(INPUT("a", 45, 64), INPUT("b", 64, 32)), INPUT("c", 32)));
}

static weft_tensor two_layers(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor x = weft_relu(weft_add(weft_matmul(INPUT("a", 700, 300), INPUT("b", 300, 260)), INPUT("c", 260)));
    return weft_relu(weft_matmul(x, INPUT("d", 260, 300)));
}

static weft_tensor attention(weft_graph *graph, weft_dtype dtype)
{
    return weft_attention(INPUT("a", 2, 24, 16), INPUT("b", 2, 40, 16), INPUT("c", 2, 40, 8),
                          &(weft_attention_options){.causal = true});
}

static weft_tensor convolution(weft_graph *graph, weft_dtype dtype)
{
    return weft_conv(INPUT("a", 2, 3, 14, 15), INPUT("b", 8, 3, 3, 3),
                     &(weft_conv_options){.low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1)});
}

static void multiply(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *a = context;
    (void)index;
    out_next[0] = weft_matmul(carried[0], *a);
}

static weft_tensor loop(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor a = INPUT("a", 12, 12);
    return weft_fold(weft_extent_of(3), WEFT_TENSORS(INPUT("b", 20, 12)), multiply, &a, NULL);
}

static weft_tensor column(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 48, 600), INPUT("b", 600));
}

static weft_tensor vectors(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 600), INPUT("b", 600));
}

static weft_tensor outer(weft_graph *graph, weft_dtype dtype)
{
    return weft_dot(INPUT("a", 20), INPUT("b", 30), (weft_dot_axes){.batch_a = {0}});
}

typedef struct subject {
    const char *name;
    tracer trace;
    size_t products; /* that the library is to compute, one for each time that it runs */
    bool real;       /* not of complex numbers */
} subject;

static const subject subjects[] = {
    {"matmul", matmul, 1, false},
    {"many terms", many_terms, 1, false},
    {"transposed", transposed, 1, false},
    {"transposed after", transposed_after, 1, false},
    {"batched", batched, 1, false},
    {"batch of one side", batch_of_one_side, 1, false},
    {"several terms", several_terms, 1, false},
    {"symmetric", symmetric, 1, false},
    {"symbolic", symbolic, 1, false},
    {"row", row, 1, false},
    {"sum of products", sum_of_products, 1, false},
    {"computed before", computed_before, 1, false},
    {"layer", layer, 1, true},
    {"two layers", two_layers, 2, true},
    {"attention", attention, 2, true},
    {"convolution", convolution, 1, true},
    {"loop", loop, 3, false},
    {"column", column, 0, false},
    {"vectors", vectors, 0, false},
    {"outer", outer, 0, false},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static weft_program *compile(tracer trace, weft_dtype dtype, const weft_policy *policy)
{
    weft_graph *graph;
    weft_program *program;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(trace(graph, dtype)), policy, &program));
    weft_graph_destroy(graph);
    return program;
}

/* ---- running it ---- */

static uint64_t random_state = 1;

static weft_array *make_input(const weft_program *program, size_t input)
{
    weft_dtype dtype = weft_program_input_dtype(program, input), part = weft_dtype_component(dtype);
    const weft_program_axis *axes = weft_program_input_axes(program, input);
    int64_t shape[WEFT_MAX_RANK];
    weft_array *array;
    size_t rank = weft_program_input_rank(program, input);
    for (size_t i = 0; i < rank; i++) shape[i] = axes[i].size < 0 ? SYMBOL : axes[i].size;
    weft_test_ok(weft_array_create(NULL, dtype, rank, shape, &array));
    int64_t numbers = weft_array_count(array) * (part == dtype ? 1 : 2);
    void *data = weft_array_data(array);
    for (int64_t i = 0; i < numbers; i++) {
        double value = weft_test_real(&random_state);
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        switch (part) {
        case WEFT_F32: ((float *)data)[i] = single; break;
        case WEFT_F64: ((double *)data)[i] = value; break;
        case WEFT_I32: ((int32_t *)data)[i] = (int32_t)(value * 1000); break;
        case WEFT_U8: ((uint8_t *)data)[i] = (uint8_t)(bits >> 8); break;
        case WEFT_BF16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
        default:
            ((uint16_t *)data)[i] = (uint16_t)(bits >> 31 << 15 | (8 + (bits >> 13) % 7) << 10 | (bits & 1023));
            break;
        }
    }
    return array;
}

static double product_bytes; /* of the last product that was counted */

static void count_product(void *self, const weft_profile_record *record)
{
    if (record->kind != WEFT_PROFILE_PRODUCT) return;
    product_bytes = record->bytes;
    ++*(size_t *)self;
}

static weft_array *run(weft_executor *executor, weft_program *program, weft_array *const *inputs, size_t *out_products)
{
    weft_array *output = NULL;
    weft_profile profile = {.self = out_products, .record = count_product};
    *out_products = 0;
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.input_count = weft_program_input_count(program),
                                               .inputs = (weft_array **)inputs,
                                               .output_count = 1,
                                               .outputs = &output,
                                               .profile = &profile}));
    return output;
}

/* Returns how many products of the program that chooses were the library's. */
static size_t check(const subject *s, weft_dtype dtype, size_t expected)
{
    weft_program *chosen = compile(s->trace, dtype, NULL);
    weft_program *library =
        compile(s->trace, dtype, &(weft_policy){.size = sizeof(weft_policy), .products = WEFT_PRODUCTS_LIBRARY});
    weft_array *inputs[MOST_INPUTS];
    size_t count = weft_program_input_count(library), products, chosen_products = 0;
    assert_true(count <= MOST_INPUTS);
    for (size_t i = 0; i < count; i++) inputs[i] = make_input(library, i);
    for (size_t i = 0; i < 2; i++) {
        weft_array *x = run(executors[i], library, inputs, &products);
        weft_array *y = run(executors[i], chosen, inputs, &chosen_products);
        size_t bytes = (size_t)weft_array_count(x) * weft_dtype_size(weft_array_dtype(x));
        if (products != expected)
            fail_msg("%s, %s: %zu products, not %zu", s->name, weft_dtype_name(dtype), products, expected);
        if (memcmp(weft_array_data(x), weft_array_data(y), bytes) != 0)
            fail_msg("%s, %s: other bits", s->name, weft_dtype_name(dtype));
        weft_array_release(x);
        weft_array_release(y);
    }
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    weft_program_release(chosen);
    weft_program_release(library);
    return chosen_products;
}

/* ---- tests ---- */

static void products_are_the_librarys(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_C64, WEFT_C128, WEFT_BF16, WEFT_F16};
    size_t chosen = 0, all = 0;
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            bool complex = weft_dtype_component(dtypes[d]) != dtypes[d];
            if (complex && subjects[i].real) continue;
            chosen += check(&subjects[i], dtypes[d], subjects[i].products);
            all += subjects[i].products;
        }
    assert_true(chosen < all); /* loops are not always worse */
}

static weft_tensor few_columns(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 600, 70), INPUT("b", 70, 4));
}

/* Of f64 these are loops, as they fill a register. */
static weft_tensor eight_columns(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 600, 70), INPUT("b", 70, 8));
}

static weft_tensor lanes_left(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 150, 200), INPUT("b", 200, 100));
}

/* Lines of B that lie across those of the cache, and do not stay in L1. */
static weft_tensor lines_across(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 30, 150), INPUT("b", 150, 120));
}

/* Rows come between the columns, five of which are left to lanes. */
static weft_tensor columns_apart(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor product = weft_tensordot(INPUT("a", 60, 40), INPUT("b", 40, 20, 5), WEFT_INTS(1), WEFT_INTS(0));
    return weft_permute(product, WEFT_INTS(1, 0, 2));
}

/* Loops, unless vectors are the widest. */
static void idle_lanes_are_the_librarys(void **state)
{
    (void)state;
    const size_t expected = weft_machine_host()->vector_bytes >= 64;
    const subject eight = {.name = "eight columns", .trace = eight_columns, .products = 1};
    const subject subjects_of_lanes[] = {{.name = "few columns", .trace = few_columns, .products = 1},
                                         eight,
                                         {.name = "lanes left", .trace = lanes_left, .products = 1},
                                         {.name = "lines across", .trace = lines_across, .products = 1},
                                         {.name = "columns apart", .trace = columns_apart, .products = 1}};
    for (size_t i = 0; i < sizeof subjects_of_lanes / sizeof *subjects_of_lanes; i++)
        assert_int_equal(check(&subjects_of_lanes[i], WEFT_F32, 1), expected);
    assert_int_equal(check(&eight, WEFT_F64, 1), 0);
}

/* Columns that leave lanes of loops empty, and rows of A that lie along those of the library. */
static weft_tensor columns_beside_rows(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(weft_permute(INPUT("a", 90, 300), WEFT_INTS(1, 0)), INPUT("b", 90, 2));
}

/* Few rows beside lines of few terms, more than loops transpose of a square matrix. */
static weft_tensor rows_by_lines(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 5, 24), weft_permute(INPUT("b", 600, 24), WEFT_INTS(1, 0)));
}

static weft_tensor columns_of_lines(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 600, 30), weft_permute(INPUT("b", 3, 30), WEFT_INTS(1, 0)));
}

/* The result ends with an axis of A that A does not lie along. */
static weft_tensor lanes_jump(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor product = weft_tensordot(INPUT("a", 59, 20, 17), INPUT("b", 14, 59), WEFT_INTS(0), WEFT_INTS(1));
    return weft_permute(product, WEFT_INTS(2, 1, 0));
}

static void shapes_that_decide(void **state)
{
    (void)state;
    assert_int_equal(check(&(subject){"columns beside rows", columns_beside_rows, 1, true}, WEFT_F32, 1), 1);
    assert_int_equal(check(&(subject){"rows by lines", rows_by_lines, 1, true}, WEFT_F32, 1), 0);
    assert_int_equal(check(&(subject){"columns of lines", columns_of_lines, 1, true}, WEFT_F32, 1), 0);
    assert_int_equal(check(&(subject){"lanes jump", lanes_jump, 1, true}, WEFT_F32, 1), 1);
}

/* The result ends with another axis of an operand than this does, which comes right before it. */
static weft_tensor ends_elsewhere(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor a = INPUT("a", 24, 30), b = INPUT("b", 40, 30, 14, 80);
    return weft_permute(weft_tensordot(a, b, WEFT_INTS(1), WEFT_INTS(1)), WEFT_INTS(2, 0, 3, 1));
}

/* The library writes real numbers as they are wanted with the widest vectors; others are permuted by a kernel. */
static void results_are_turned(void **state)
{
    (void)state;
    static const struct {
        weft_dtype dtype;
        size_t steps;
    } cases[] = {{WEFT_F32, 1}, {WEFT_F64, 1}, {WEFT_BF16, 2}, {WEFT_C64, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const weft_program_view *view;
        weft_program *program = compile(ends_elsewhere, cases[i].dtype,
                                        &(weft_policy){.size = sizeof(weft_policy), .products = WEFT_PRODUCTS_LIBRARY});
        weft_test_ok(weft_program_view_create(program, &view));
        assert_int_equal(view->step_count, weft_machine_host()->vector_bytes >= 64 ? cases[i].steps : 2);
        weft_program_view_destroy(view);
        weft_program_release(program);
        check(&(subject){"ends elsewhere", ends_elsewhere, 1, true}, cases[i].dtype, 1);
    }
}

/* dbea,ec->abcd: the result ends with another axis of an operand than this does, and others are between the two. */
static weft_tensor ends_far(weft_graph *graph, weft_dtype dtype, int64_t columns, int64_t planes, int64_t terms)
{
    weft_tensor a = INPUT("a", columns, planes, terms, 96), b = INPUT("b", terms, 24);
    return weft_permute(weft_tensordot(a, b, WEFT_INTS(2), WEFT_INTS(0)), WEFT_INTS(2, 1, 3, 0));
}

/* Planes of which the result of so many columns is larger than the last cache. */
static int64_t many_planes(int64_t columns)
{
    const int64_t usual = 32 << 20, cache = (int64_t)weft_machine_host()->cache_bytes[1] * 32;
    return (cache > usual ? cache : usual) / (int64_t)sizeof(float) / (96 * 24 * columns) + 1;
}

static weft_tensor ends_far_in_lines(weft_graph *graph, weft_dtype dtype)
{
    return ends_far(graph, dtype, 96, many_planes(96), 40);
}

static weft_tensor ends_far_in_pieces(weft_graph *graph, weft_dtype dtype)
{
    return ends_far(graph, dtype, 92, many_planes(92), 40);
}

static weft_tensor ends_far_in_a_cache(weft_graph *graph, weft_dtype dtype)
{
    return ends_far(graph, dtype, 96, many_planes(96) / 3, 40);
}

/* An operand that is smaller than the result. */
static weft_tensor ends_far_with_few_terms(weft_graph *graph, weft_dtype dtype)
{
    return ends_far(graph, dtype, 96, many_planes(96), 16);
}

/* A line of the cache is not written in several pieces, or all of them through the caches, in pages that are apart. */
static void distant_results_are_turned(void **state)
{
    (void)state;
    static const struct {
        weft_tensor (*trace)(weft_graph *graph, weft_dtype dtype);
        weft_product_policy products;
        size_t steps;
    } cases[] = {{ends_far_in_lines, WEFT_PRODUCTS_LIBRARY, 1},
                 {ends_far_in_pieces, WEFT_PRODUCTS_LIBRARY, 2},
                 {ends_far_in_a_cache, WEFT_PRODUCTS_LIBRARY, 2},
                 {ends_far_with_few_terms, WEFT_PRODUCTS_LIBRARY, 1},
                 {ends_far_with_few_terms, WEFT_PRODUCTS_GENERATED, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const weft_program_view *view;
        weft_program *program = compile(cases[i].trace, WEFT_F32,
                                        &(weft_policy){.size = sizeof(weft_policy), .products = cases[i].products});
        weft_test_ok(weft_program_view_create(program, &view));
        bool turns = weft_machine_host()->vector_bytes >= 64 && cases[i].steps == 1;
        if (turns) assert_int_equal(view->steps[0].engine, WEFT_ENGINE_PRODUCT);
        if (turns || cases[i].products == WEFT_PRODUCTS_LIBRARY) assert_int_equal(view->step_count, turns ? 1 : 2);
        weft_program_view_destroy(view);
        weft_program_release(program);
    }
}

static void integers_stay_loops(void **state)
{
    (void)state;
    assert_int_equal(check(&subjects[0], WEFT_I32, 0), 0);
}

static weft_tensor of_bytes(weft_graph *graph, weft_dtype dtype)
{
    weft_tensor a = weft_cast(INPUT("a", 70, 90), WEFT_I32), b = weft_cast(INPUT("b", 80, 90), WEFT_I32);
    return weft_matmul(a, weft_permute(b, WEFT_INTS(1, 0)));
}

/* How many steps of a program that is not run are products, as a picture of it shows them. */
static size_t viewed_products(const weft_program *program)
{
    const weft_program_view *view;
    size_t count = 0;
    weft_test_ok(weft_program_view_create(program, &view));
    for (size_t i = 0; i < view->step_count; i++) count += view->steps[i].engine == WEFT_ENGINE_PRODUCT;
    weft_program_view_destroy(view);
    return count;
}

/* Products of u8 that are cast to i32 are the library's, if it has instructions for them: nothing is cast. */
static void bytes_are_multiplied_as_they_are(void **state)
{
    (void)state;
    const size_t expected = weft_gemm_engine_find_here(weft_isa_level(), WEFT_U8, false) != NULL;
    weft_program *program = compile(of_bytes, WEFT_U8, NULL);
    assert_int_equal(viewed_products(program), expected);
    weft_array *inputs[] = {make_input(program, 0), make_input(program, 1)};
    const uint8_t *a = weft_array_data(inputs[0]), *b = weft_array_data(inputs[1]);
    for (size_t e = 0; e < 2; e++) {
        size_t products;
        weft_array *y = run(executors[e], program, inputs, &products);
        const int32_t *c = weft_array_data(y);
        assert_int_equal(products, expected);
        if (products > 0) assert_true(product_bytes == 70 * 90 + 80 * 90 + 4 * 70 * 80);
        for (int64_t i = 0; i < 70; i++)
            for (int64_t j = 0; j < 80; j++) {
                int32_t sum = 0;
                for (int64_t k = 0; k < 90; k++) sum += a[i * 90 + k] * b[j * 90 + k];
                assert_int_equal(c[i * 80 + j], sum);
            }
        weft_array_release(y);
    }
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
}

/* Sums are those of a dot of f16 and bf16 as it is: nothing is cast for it. */
static void float16_is_not_widened(void **state)
{
    weft_program *library =
        compile(matmul, WEFT_F16, &(weft_policy){.size = sizeof(weft_policy), .products = WEFT_PRODUCTS_LIBRARY});
    (void)state;
    assert_null(strstr(weft_program_text(library), "cast("));
    weft_program_release(library);
}

static weft_tensor middling(weft_graph *graph, weft_dtype dtype)
{
    return weft_matmul(INPUT("a", 70, 90), INPUT("b", 90, 80));
}

/* A matrix that a product may read packed. */
static weft_tensor by_constant(weft_graph *graph, weft_dtype dtype)
{
    enum { TERMS = 540, COLUMNS = 75 };
    static uint16_t weights[TERMS * COLUMNS];
    for (size_t i = 0; i < TERMS * COLUMNS; i++) weights[i] = (uint16_t)weft_float_encode(dtype, (double)(i % 37) - 18);
    return weft_matmul(INPUT("a", 45, TERMS), weft_constant(graph, dtype, WEFT_INTS(TERMS, COLUMNS), weights));
}

static weft_program *compile_fast(tracer trace, weft_dtype dtype)
{
    return compile(trace, dtype, &(weft_policy){.size = sizeof(weft_policy), .products = WEFT_PRODUCTS_FAST});
}

/* Whether numbers of bf16 differ by no more than a few roundings of sums of such terms. */
static bool are_close(const weft_array *x, const weft_array *y)
{
    const uint16_t *a = weft_array_data(x), *b = weft_array_data(y);
    double most = 0, largest = 0;
    for (int64_t i = 0; i < weft_array_count(x); i++) {
        double expected = weft_float_decode(WEFT_BF16, b[i]);
        double difference = fabs(weft_float_decode(WEFT_BF16, a[i]) - expected);
        if (difference > most) most = difference;
        if (fabs(expected) > largest) largest = fabs(expected);
    }
    return most <= largest / 128;
}

/* Products of bf16 are close, and the same with any number of threads; all others are what they are by default. */
static void check_fast(const subject *s, weft_dtype dtype)
{
    weft_program *fast = compile_fast(s->trace, dtype), *exact = compile(s->trace, dtype, NULL);
    weft_array *inputs[MOST_INPUTS], *of_fast[2], *expected;
    size_t count = weft_program_input_count(fast), products;
    for (size_t i = 0; i < count; i++) inputs[i] = make_input(fast, i);
    for (size_t i = 0; i < 2; i++) of_fast[i] = run(executors[i], fast, inputs, &products);
    expected = run(executors[0], exact, inputs, &products);
    size_t bytes = (size_t)weft_array_count(expected) * weft_dtype_size(dtype);
    assert_memory_equal(weft_array_data(of_fast[0]), weft_array_data(of_fast[1]), bytes);
    if (dtype != WEFT_BF16) assert_memory_equal(weft_array_data(of_fast[0]), weft_array_data(expected), bytes);
    else if (!are_close(of_fast[0], expected)) fail_msg("%s: not close", s->name);
    for (size_t i = 0; i < 2; i++) weft_array_release(of_fast[i]);
    weft_array_release(expected);
    for (size_t i = 0; i < count; i++) weft_array_release(inputs[i]);
    weft_program_release(fast);
    weft_program_release(exact);
}

static void fast_products_are_close(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_BF16, WEFT_F16, WEFT_F32};
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) check_fast(&subjects[i], dtypes[d]);
    check_fast(&(subject){.name = "by a constant", .trace = by_constant}, WEFT_BF16);
}

/* Fewer products are widened than elsewhere. */
static void fast_products_are_of_bf16(void **state)
{
    weft_program *fast = compile_fast(middling, WEFT_BF16), *other = compile_fast(middling, WEFT_F16);
    (void)state;
    assert_null(strstr(weft_program_text(fast), "cast("));
    assert_non_null(strstr(weft_program_text(other), "cast("));
    assert_int_equal(weft_program_products(fast), WEFT_PRODUCTS_FAST);
    weft_program_release(fast);
    weft_program_release(other);
}

static weft_tensor chain(weft_graph *graph, weft_dtype dtype)
{
    weft_extent n = weft_symbol(graph, "n", 1, 4096);
    return weft_einsum("ij,jk,kl->il", WEFT_TENSORS(INPUT("a", n, n), INPUT("b", n, n), INPUT("c", n, n)), NULL);
}

/* Kernels that a program of `policy` is compiled to, with those of what it compiles while it runs. */
static uint64_t count_kernels(weft_executor *executor, const weft_policy *policy)
{
    weft_executor_counters before = {.size = sizeof before}, after = before;
    weft_program *program = compile(chain, WEFT_F64, policy);
    weft_array *input = make_input(program, 0);
    size_t products;
    weft_executor_counters_read(executor, &before);
    weft_array_release(run(executor, program, (weft_array *[]){input, input, input}, &products));
    weft_executor_counters_read(executor, &after);
    weft_array_release(input);
    weft_program_release(program);
    return after.kernels_compiled - before.kernels_compiled;
}

/* Contractions that are compiled in a run follow the program, and are kept apart. */
static void contractions_follow_the_program(void **state)
{
    weft_policy policy = {.size = sizeof policy, .keep_symbolic_extensions = true, .products = WEFT_PRODUCTS_LIBRARY};
    weft_executor *executor;
    (void)state;
    weft_test_ok(weft_executor_create_standard(NULL, &executor));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    assert_int_equal(count_kernels(executor, &policy), 0);
    policy.products = WEFT_PRODUCTS_GENERATED;
    assert_true(count_kernels(executor, &policy) > 0);
    weft_executor_destroy(executor);
}

/* What lies beyond the size of an older struct is not read. */
static void older_policies_are_known(void **state)
{
    weft_policy older = {.size = offsetof(weft_policy, products), .products = (weft_product_policy)77};
    weft_program *program = compile(matmul, WEFT_F32, &older);
    weft_array *inputs[2] = {make_input(program, 0), make_input(program, 1)};
    size_t products;
    (void)state;
    weft_array_release(run(executors[0], program, inputs, &products));
    assert_int_equal(products, 0);
    for (size_t i = 0; i < 2; i++) weft_array_release(inputs[i]);
    weft_program_release(program);
}

static void unknown_policies_are_refused(void **state)
{
    weft_graph *graph;
    weft_program *program;
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor product = matmul(graph, WEFT_F32);
    weft_test_fails(
        weft_compile(graph, WEFT_TENSORS(product), &(weft_policy){.products = (weft_product_policy)3}, &program),
        WEFT_INVALID_ARGUMENT, "weft_policy.products is 3: it is WEFT_PRODUCTS_GENERATED (0), WEFT");
    weft_test_fails(
        weft_compile(graph, WEFT_TENSORS(product), &(weft_policy){.functions = (weft_function_policy)2}, &program),
        WEFT_INVALID_ARGUMENT, "weft_policy.functions is 2: it is WEFT_FUNCTIONS_ACCURATE (0) or");
    weft_graph_destroy(graph);
}

/* Rows that lie across memory, in a number that leaves a tail of one vector and a part of one, by two columns. */
static void rows_across_memory(void **state)
{
    (void)state;
    enum { ROWS = 600, TERMS = 100, COLUMNS = 2 };
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_graph_create(NULL, &graph));
    weft_tensor a = weft_input(graph, "a", WEFT_F32, WEFT_SHAPE(ROWS, TERMS));
    weft_tensor b = weft_input(graph, "b", WEFT_F32, WEFT_SHAPE(COLUMNS, TERMS));
    weft_dot_axes axes = {.contract_a = WEFT_INTS(1), .contract_b = WEFT_INTS(1)};
    weft_test_ok(weft_compile(graph, WEFT_TENSORS(weft_dot(a, b, axes)), NULL, &program));
    weft_graph_destroy(graph);
    weft_array *x, *y, *z = NULL;
    const int64_t shapes[][2] = {{ROWS, TERMS}, {COLUMNS, TERMS}}, strides[] = {1, ROWS};
    static float rows[ROWS * TERMS], columns[COLUMNS * TERMS];
    for (size_t i = 0; i < ROWS * TERMS; i++) rows[i] = (float)(i % ROWS);
    for (size_t i = 0; i < COLUMNS * TERMS; i++) columns[i] = 1;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, shapes[0], strides, rows, NULL, NULL, &x));
    weft_test_ok(weft_array_wrap(NULL, WEFT_F32, 2, shapes[1], NULL, columns, NULL, NULL, &y));
    weft_run how = {.input_count = 2, .inputs = (weft_array *[]){x, y}, .output_count = 1, .outputs = &z};
    weft_test_ok(weft_executor_run(executor, program, &how));
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        assert_float_equal(((float *)weft_array_data(z))[i], (float)(i / COLUMNS * TERMS), 0);
    weft_array_release(x);
    weft_array_release(y);
    weft_array_release(z);
    weft_program_release(program);
    weft_executor_destroy(executor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_across_memory),          cmocka_unit_test(products_are_the_librarys),
        cmocka_unit_test(idle_lanes_are_the_librarys), cmocka_unit_test(shapes_that_decide),
        cmocka_unit_test(results_are_turned),          cmocka_unit_test(distant_results_are_turned),
        cmocka_unit_test(integers_stay_loops),         cmocka_unit_test(bytes_are_multiplied_as_they_are),
        cmocka_unit_test(float16_is_not_widened),      cmocka_unit_test(contractions_follow_the_program),
        cmocka_unit_test(fast_products_are_close),     cmocka_unit_test(fast_products_are_of_bf16),
        cmocka_unit_test(older_policies_are_known),    cmocka_unit_test(unknown_policies_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
