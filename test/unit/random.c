/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: published blocks, equal bits however they are computed, distributions, and sentences of errors. */
#include <weft/weft.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test/support.h"

#define N(value) weft_extent_of(value)

typedef struct fixture {
    weft_graph *graph, *other;
    weft_executor *executors[2]; /* with one thread, and with four */
    weft_tensor key;
} fixture;

static fixture f;
/* The arguments of the program. */
static size_t runtime_count;
static char **runtimes;

static int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_graph_create(NULL, &f.graph));
    weft_test_ok(weft_graph_create(NULL, &f.other));
    static const weft_executor_options options[] = {{.threads = 1}, {.threads = 4, .code = WEFT_CODE_QUICK}};
    for (size_t i = 0; i < 2; i++) weft_test_ok(weft_executor_create_standard(&options[i], &f.executors[i]));
    f.key = weft_random_key(f.graph, 0x123456789abcdef);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) weft_executor_destroy(f.executors[i]);
    weft_graph_destroy(f.graph);
    weft_graph_destroy(f.other);
    return 0;
}

/* ---- running ---- */

/* The result of the only output, for a value of the symbol n. */
static weft_array *run(weft_executor *executor, const char *runtime, const weft_program *program, int64_t n)
{
    weft_array *output = NULL;
    const weft_binding binding = {"n", n};
    weft_test_ok(weft_executor_run(executor, (weft_program *)program,
                                   &(weft_run){.runtime = runtime,
                                               .extent_count = n < 0 ? 0 : 1,
                                               .extents = &binding,
                                               .output_count = 1,
                                               .outputs = &output}));
    return output;
}

static size_t bytes_of(const weft_array *array)
{
    return (size_t)weft_array_count(array) * weft_dtype_size(weft_array_dtype(array));
}

static void check_equal(const char *what, const weft_array *wanted, const weft_array *got)
{
    assert_int_equal(weft_array_count(wanted), weft_array_count(got));
    assert_int_equal(weft_array_dtype(wanted), weft_array_dtype(got));
    if (memcmp(weft_array_data(wanted), weft_array_data(got), bytes_of(wanted)) == 0) return;
    fail_msg("other bits: %s", what);
}

/* The elements, which are the same bits on all runtimes and for any number of threads; of the symbol n, if it is not
 * negative. */
static weft_array *draw_at(weft_tensor tensor, int64_t n)
{
    weft_program *program = NULL;
    weft_array *first = NULL;
    weft_test_ok(weft_compile(tensor.graph, WEFT_TENSORS(tensor), NULL, &program));
    for (size_t i = 0; i < 2 * runtime_count; i++) {
        const char *runtime = runtimes[i % runtime_count];
        if (i >= runtime_count && strcmp(runtime, "ref") == 0) continue; /* it has no threads */
        weft_array *next = run(f.executors[i / runtime_count], runtime, program, n);
        if (first != NULL) check_equal(runtime, first, next);
        weft_array_release(first);
        first = next;
    }
    weft_program_release(program);
    return first;
}

static weft_array *draw(weft_tensor tensor)
{
    return draw_at(tensor, -1);
}

static double element(const weft_array *array, int64_t i)
{
    double real, imaginary;
    weft_dtype dtype = weft_array_dtype(array);
    const unsigned char *data = weft_array_data((weft_array *)array);
    weft_dtype_load(dtype, data + (size_t)i * weft_dtype_size(dtype), &real, &imaginary);
    return real;
}

/* Takes both. */
static void expect_equal(const char *what, weft_array *wanted, weft_array *got)
{
    check_equal(what, wanted, got);
    weft_array_release(wanted);
    weft_array_release(got);
}

/* ---- bits ---- */

static void check_block(const uint32_t *key, const uint32_t *counter, const uint32_t *wanted)
{
    weft_tensor k = weft_constant(f.graph, WEFT_U32, WEFT_INTS(2), key);
    weft_array *block = draw(weft_random_philox(k, weft_constant(f.graph, WEFT_U32, WEFT_INTS(4), counter)));
    assert_memory_equal(weft_array_data(block), wanted, 4 * sizeof *wanted);
    weft_array_release(block);
}

/* Of kat_vectors of Random123, philox4x32 with 10 rounds. */
static void blocks_are_those_of_the_paper(void **state)
{
    (void)state;
    const uint32_t ones = UINT32_MAX;
    check_block((uint32_t[]){0, 0}, (uint32_t[]){0, 0, 0, 0},
                (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_block((uint32_t[]){ones, ones}, (uint32_t[]){ones, ones, ones, ones},
                (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_block((uint32_t[]){0xa4093822, 0x299f31d0}, (uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

/* Counters as random.h has them. */
static void words_are_those_of_the_counter(void **state)
{
    (void)state;
    const uint32_t counters[] = {5, 0, 0, 0, 7, 3, 0, 1};
    weft_tensor counter = weft_constant(f.graph, WEFT_U32, WEFT_INTS(2, 4), counters);
    weft_array *blocks = draw(weft_random_philox(f.key, counter));
    weft_array *bits = draw(weft_random_bits(f.key, WEFT_I64, WEFT_SHAPE(2, 4)));
    const int64_t number = 7 + (INT64_C(3) << 32);
    weft_array *key = draw(weft_random_fold(f.key, weft_constant(f.graph, WEFT_I64, WEFT_INTS(1, 1), &number)));
    const uint32_t *words = weft_array_data(blocks);
    assert_true(((const int64_t *)weft_array_data(bits))[5] == (int64_t)((uint64_t)words[1] << 32 | words[0]));
    assert_int_equal(weft_array_rank(key), 3);
    assert_memory_equal(weft_array_data(key), words + 4, 2 * sizeof *words);
    weft_array_release(blocks);
    weft_array_release(bits);
    weft_array_release(key);
}

static void bits_of_dtypes_are_parts_of_words(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(100);
    weft_array *whole = draw(weft_random_bits(f.key, WEFT_U32, shape));
    weft_array *same = draw(weft_random_bits(f.key, WEFT_I32, shape));
    weft_array *low = draw(weft_random_bits(f.key, WEFT_U8, shape));
    weft_array *least = draw(weft_random_bits(f.key, WEFT_BOOL, shape));
    const uint32_t *words = weft_array_data(whole);
    assert_memory_equal(words, weft_array_data(same), 400);
    for (int64_t i = 0; i < 100; i++) {
        assert_int_equal(element(low, i), words[i] & 0xff);
        assert_int_equal(element(least, i), words[i] & 1);
    }
    weft_array *arrays[] = {whole, same, low, least};
    for (size_t i = 0; i < 4; i++) weft_array_release(arrays[i]);
}

static void keys_are_split_by_number(void **state)
{
    (void)state;
    const int32_t numbers[] = {0, 1, 2, 3, 4};
    weft_tensor keys = weft_random_split(f.key, N(5));
    expect_equal("keys", draw(keys),
                 draw(weft_random_fold(f.key, weft_constant(f.graph, WEFT_I32, WEFT_INTS(5), numbers))));
    weft_tensor second = weft_gather(keys, weft_scalar(f.graph, WEFT_I64, 2), 0);
    weft_tensor folded = weft_random_fold(f.key, weft_scalar(f.graph, WEFT_U8, 2));
    expect_equal("draws", draw(weft_random_normal(second, WEFT_F32, WEFT_SHAPE(10))),
                 draw(weft_random_normal(folded, WEFT_F32, WEFT_SHAPE(10))));
}

/* ---- shapes ---- */

static weft_tensor as_bits(weft_tensor key, weft_shape shape)
{
    return weft_random_bits(key, WEFT_I64, shape);
}
static weft_tensor as_normals(weft_tensor key, weft_shape shape)
{
    return weft_random_normal(key, WEFT_F32, shape);
}
static weft_tensor as_normals_of_16_bits(weft_tensor key, weft_shape shape)
{
    return weft_random_normal(key, WEFT_BF16, shape);
}
static weft_tensor as_uniform(weft_tensor key, weft_shape shape)
{
    return weft_random_uniform(key, WEFT_F16, shape, -3, 1);
}
static weft_tensor as_integers(weft_tensor key, weft_shape shape)
{
    return weft_random_integers(key, WEFT_U32, shape, N(1), N(3000000000));
}
static weft_tensor as_gamma(weft_tensor key, weft_shape shape)
{
    return weft_random_gamma(key, weft_scalar(key.graph, WEFT_F64, 0.75), shape);
}
static weft_tensor as_coins(weft_tensor key, weft_shape shape)
{
    return weft_random_bernoulli(key, weft_scalar(key.graph, WEFT_F32, 0.25), shape);
}
static weft_tensor as_cut_normals(weft_tensor key, weft_shape shape)
{
    return weft_random_truncated_normal(key, WEFT_F64, shape, 1, INFINITY);
}

static weft_tensor (*const kinds[])(weft_tensor key, weft_shape shape) = {
    as_bits, as_normals, as_normals_of_16_bits, as_uniform, as_integers, as_gamma, as_coins, as_cut_normals};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void elements_depend_on_their_number(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        weft_array *flat = draw(kinds[k](f.key, WEFT_SHAPE(60))), *more = draw(kinds[k](f.key, WEFT_SHAPE(77)));
        weft_array *slice = draw(weft_narrow(kinds[k](f.key, WEFT_SHAPE(3, 4, 5)), 0, N(1), N(1)));
        const unsigned char *elements = weft_array_data(flat);
        assert_memory_equal(elements, weft_array_data(more), bytes_of(flat));
        assert_memory_equal(elements + bytes_of(flat) / 3, weft_array_data(slice), bytes_of(flat) / 3);
        weft_array_release(more);
        weft_array_release(slice);
        expect_equal("reshaped", flat, draw(kinds[k](f.key, WEFT_SHAPE(3, 4, 5))));
    }
}

static void shapes_may_be_symbolic(void **state)
{
    (void)state;
    weft_extent n = weft_symbol(f.graph, "n", 0, INT64_C(1) << 20);
    for (size_t k = 0; k < KINDS; k++) {
        weft_tensor symbolic = kinds[k](f.key, WEFT_SHAPE(n, 7));
        expect_equal("symbolic", draw(kinds[k](f.key, WEFT_SHAPE(11, 7))), draw_at(symbolic, 11));
        weft_array *none = draw_at(symbolic, 0);
        assert_int_equal(weft_array_count(none), 0);
        weft_array_release(none);
    }
    weft_tensor any = weft_random_integers(f.key, WEFT_I64, WEFT_SHAPE(100), N(-2), n);
    expect_equal("a bound", draw(weft_random_integers(f.key, WEFT_I64, WEFT_SHAPE(100), N(-2), N(9))), draw_at(any, 9));
    weft_tensor order = weft_random_permutation(f.key, n);
    expect_equal("an order", draw(weft_random_permutation(f.key, N(13))), draw_at(order, 13));
}

/* Elements from number 2^32 on use both words of it. The reference would compute all of them. */
static void large_numbers_have_two_words(void **state)
{
    (void)state;
    if (strcmp(runtimes[runtime_count - 1], "llvm") != 0) skip();
    const uint32_t counters[] = {3, 2, 0, 0};
    weft_tensor all = weft_random_bits(f.key, WEFT_U32, WEFT_SHAPE(INT64_C(1) << 34));
    weft_tensor slice = weft_narrow(all, 0, N((INT64_C(2) << 32) + 3), N(1));
    weft_program *program = NULL;
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(slice), NULL, &program));
    weft_array *one = run(f.executors[0], "llvm", program, -1);
    weft_array *block = draw(weft_random_philox(f.key, weft_constant(f.graph, WEFT_U32, WEFT_INTS(4), counters)));
    assert_memory_equal(weft_array_data(one), weft_array_data(block), 4);
    weft_array_release(one);
    weft_array_release(block);
    weft_program_release(program);
}

/* ---- distributions: at fixed keys, so that a test that passes once passes always ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov's test of elements in (low, high) against a distribution function, at 0.1 %. Takes the array.
 */
static void expect_distribution(const char *what, weft_array *array, double (*below)(double x, double parameter),
                                double parameter)
{
    int64_t count = weft_array_count(array);
    double *sorted = malloc((size_t)count * sizeof *sorted), most = 0;
    assert_non_null(sorted);
    for (int64_t i = 0; i < count; i++) sorted[i] = element(array, i);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int64_t i = 0; i < count; i++) {
        double share = below(sorted[i], parameter), n = (double)count;
        most = fmax(most, fmax(fabs(share - (double)i / n), fabs(share - (double)(i + 1) / n)));
    }
    free(sorted);
    weft_array_release(array);
    if (!(most * sqrt((double)count) < 1.95)) fail_msg("%s: %g", what, most * sqrt((double)count));
}

/* Pearson's test of how often each of 0 .. cells - 1 is there, at about 0.1 %. Takes the array. */
static void expect_counts(const char *what, weft_array *array, size_t cells, const double *shares)
{
    int64_t counts[256] = {0};
    double total = (double)weft_array_count(array), sum = 0, freedom = (double)cells - 1;
    for (int64_t i = 0; i < weft_array_count(array); i++) {
        double x = element(array, i);
        assert_true(x >= 0 && x < (double)cells && x == floor(x));
        counts[(size_t)x]++;
    }
    for (size_t i = 0; i < cells; i++) {
        double wanted = total * (shares == NULL ? 1 / (double)cells : shares[i]);
        if (wanted == 0) assert_int_equal(counts[i], 0);
        else sum += ((double)counts[i] - wanted) * ((double)counts[i] - wanted) / wanted;
    }
    weft_array_release(array);
    /* Wilson and Hilferty's approximation. */
    double z = (cbrt(sum / freedom) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom));
    if (!(fabs(z) < 3.3)) fail_msg("%s: chi squared is %g of %zu cells", what, sum, cells);
}

static double uniform_below(double x, double least)
{
    return (x - least) / 8;
}
static double normal_below(double x, double unused)
{
    (void)unused;
    return erfc(-x * M_SQRT1_2) / 2;
}
static double cut_normal_below(double x, double low)
{
    double from = normal_below(-low, 0), to = normal_below(-low - 1, 0);
    return (from - normal_below(-x, 0)) / (from - to);
}
static double exponential_below(double x, double unused)
{
    (void)unused;
    return -expm1(-x);
}
/* Of shape parameters 1/2, and integers. */
static double gamma_below(double x, double alpha)
{
    if (alpha == 0.5) return erf(sqrt(x));
    double term = exp(-x), sum = 0;
    for (int i = 0; i < (int)alpha; i++) {
        sum += term;
        term *= x / (i + 1);
    }
    return 1 - sum;
}

enum { MANY = 10000 };

static void numbers_are_distributed(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(MANY);
    const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    for (size_t i = 0; i < 2; i++) {
        expect_distribution("uniform", draw(weft_random_uniform(f.key, dtypes[i], shape, -3, 5)), uniform_below, -3);
        expect_distribution("normal", draw(weft_random_normal(f.key, dtypes[i], shape)), normal_below, 0);
        expect_distribution("exponential", draw(weft_random_exponential(f.key, dtypes[i], shape)), exponential_below,
                            0);
        const double lows[] = {6, -2.5, -0.25};
        for (size_t k = 0; k < (i == 0 ? 1 : 3); k++) {
            weft_array *cut = draw(weft_random_truncated_normal(f.key, dtypes[i], shape, lows[k], lows[k] + 1));
            expect_distribution("truncated normal", cut, cut_normal_below, lows[k]);
        }
    }
}

/* A column of an array of five. */
static weft_array *take_column(const weft_array *array, int64_t column)
{
    weft_array *taken;
    int64_t count = weft_array_count(array) / 5;
    weft_test_ok(weft_array_create(NULL, WEFT_F64, 1, &count, &taken));
    for (int64_t i = 0; i < count; i++) ((double *)weft_array_data(taken))[i] = element(array, 5 * i + column);
    return taken;
}

static void gammas_are_distributed(void **state)
{
    (void)state;
    const double alphas[] = {0.5, 1, 2, 3, 40};
    weft_tensor wide = weft_constant(f.graph, WEFT_F64, WEFT_INTS(5), alphas);
    const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64};
    for (size_t i = 0; i < 2; i++) {
        weft_array *gammas = draw(weft_random_gamma(f.key, weft_cast(wide, dtypes[i]), WEFT_SHAPE(MANY / 2, 5)));
        for (int64_t k = 0; k < 5; k++) expect_distribution("gamma", take_column(gammas, k), gamma_below, alphas[k]);
        weft_array_release(gammas);
    }
}

static double large_gamma_below(double x, double alpha)
{
    return normal_below((cbrt(x / alpha) - 1 + 1 / (9 * alpha)) * 3 * sqrt(alpha), 0);
}

/* Where differences cancel, and where powers of small shares underflow. */
static void gammas_may_be_extreme(void **state)
{
    (void)state;
    const double alphas[] = {1e-3, 1e12, 0, -1, NAN, INFINITY};
    weft_tensor large = weft_scalar(f.graph, WEFT_F32, 1e5);
    expect_distribution("large gamma", draw(weft_random_gamma(f.key, large, WEFT_SHAPE(MANY / 4))), large_gamma_below,
                        1e5);
    weft_tensor alpha = weft_constant(f.graph, WEFT_F64, WEFT_INTS(6), alphas);
    weft_array *gammas = draw(weft_random_gamma(f.key, alpha, WEFT_SHAPE(50, 6)));
    for (int64_t i = 0; i < 300; i++) {
        double x = element(gammas, i);
        if (i % 6 == 0) assert_true(x >= 0 && x < 1e3);
        else if (i % 6 == 1) assert_true(fabs(x - 1e12) < 1e7);
        else assert_true(isnan(x));
    }
    weft_array_release(gammas);
}

static void short_floats_are_those_of_f32(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(200);
    const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    for (size_t i = 0; i < 2; i++) {
        expect_equal("normal", draw(weft_random_normal(f.key, dtypes[i], shape)),
                     draw(weft_cast(weft_random_normal(f.key, WEFT_F32, shape), dtypes[i])));
        expect_equal("exponential", draw(weft_random_exponential(f.key, dtypes[i], shape)),
                     draw(weft_cast(weft_random_exponential(f.key, WEFT_F32, shape), dtypes[i])));
        weft_array *unit = draw(weft_random_uniform(f.key, dtypes[i], WEFT_SHAPE(MANY), 0, 1));
        double sum = 0, bits = dtypes[i] == WEFT_F16 ? 11 : 8;
        for (int64_t k = 0; k < MANY; k++) {
            double x = element(unit, k);
            assert_true(x >= 0 && x < 1 && ldexp(x, (int)bits) == floor(ldexp(x, (int)bits)));
            sum += x;
        }
        assert_true(fabs(sum / MANY - (0.5 - ldexp(1, -(int)bits - 1))) < 0.007);
        weft_array_release(unit);
    }
}

static void ends_are_kept(void **state)
{
    (void)state;
    /* Rounded to bf16, half of these would be 1024. */
    weft_array *high = draw(weft_random_uniform(f.key, WEFT_BF16, WEFT_SHAPE(1000), 1020, 1024));
    weft_array *negative = draw(weft_random_uniform(f.key, WEFT_F32, WEFT_SHAPE(1000), -0x1p-149, 0));
    weft_array *cut = draw(weft_random_truncated_normal(f.key, WEFT_F16, WEFT_SHAPE(1000), -0.5, 0.75));
    for (int64_t i = 0; i < 1000; i++) {
        assert_true(element(high, i) == 1020);
        assert_true(element(negative, i) == -0x1p-149);
        assert_true(element(cut, i) >= -0.5 && element(cut, i) <= 0.75);
    }
    weft_array_release(high);
    weft_array_release(negative);
    weft_array_release(cut);
}

/* That a normal number is within `allowed`, relative, of what the distribution function says of its random bits. */
static void check_quantile(double z, double tail, double middle, double allowed)
{
    double size = fabs(z), density = exp(-size * size / 2) / sqrt(2 * M_PI);
    double error = tail < 0.25 ? erfc(size * M_SQRT1_2) / 2 - tail : middle - erf(size * M_SQRT1_2) / 2;
    if (!(fabs(error) <= allowed * size * density + 3e-16 * fmin(tail, middle)))
        fail_msg("%.17g: off by %g of what is allowed", z, error / density / size / allowed);
}

static void normals_are_quantiles(void **state)
{
    (void)state;
    enum { COUNT = 30000 };
    weft_array *bits = draw(weft_random_bits(f.key, WEFT_I64, WEFT_SHAPE(COUNT)));
    weft_array *singles = draw(weft_random_normal(f.key, WEFT_F32, WEFT_SHAPE(COUNT)));
    weft_array *doubles = draw(weft_random_normal(f.key, WEFT_F64, WEFT_SHAPE(COUNT)));
    for (int64_t i = 0; i < COUNT; i++) {
        uint64_t word = ((const uint64_t *)weft_array_data(bits))[i], first = word & INT32_MAX;
        double high = ldexp((double)first + 0.5, -32), rest = ldexp((double)(first ^ INT32_MAX) + 0.5, -32);
        check_quantile(element(singles, i), high, rest, 4 * 0x1p-23);
        double low = (double)(word >> 32) + 0.5, other = (double)(~word >> 32) + 0.5;
        high = ldexp((double)first, -32) + ldexp(low, -64);
        rest = ldexp((double)(first ^ INT32_MAX), -32) + ldexp(other, -64);
        check_quantile(element(doubles, i), high, rest, 5 * 0x1p-52);
        assert_true((element(singles, i) < 0) == (word >> 31 & 1));
    }
    weft_array_release(bits);
    weft_array_release(singles);
    weft_array_release(doubles);
}

static void draws_have_nothing_to_do_with_each_other(void **state)
{
    (void)state;
    weft_tensor keys = weft_random_split(f.key, N(2));
    double products = 0, neighbours = 0;
    weft_array *draws[2];
    for (int64_t i = 0; i < 2; i++) {
        weft_tensor key = weft_gather(keys, weft_scalar(f.graph, WEFT_I64, (double)i), 0);
        draws[i] = draw(weft_random_normal(key, WEFT_F32, WEFT_SHAPE(MANY)));
    }
    for (int64_t i = 0; i + 1 < MANY; i++) {
        products += element(draws[0], i) * element(draws[1], i);
        neighbours += element(draws[0], i) * element(draws[0], i + 1);
    }
    assert_true(fabs(products) < 3.3 * sqrt(MANY));
    assert_true(fabs(neighbours) < 3.3 * sqrt(MANY));
    weft_array_release(draws[0]);
    weft_array_release(draws[1]);
    expect_counts("bytes", draw(weft_random_bits(f.key, WEFT_U8, WEFT_SHAPE(MANY))), 256, NULL);
}

static void coins_are_fair(void **state)
{
    (void)state;
    const double shares[] = {0.75, 0.25}, all[] = {-1, 0, NAN, 1, 2};
    weft_tensor quarter = weft_scalar(f.graph, WEFT_F64, 0.25);
    expect_counts("coins", draw(weft_random_bernoulli(f.key, quarter, WEFT_SHAPE(MANY))), 2, shares);
    weft_tensor ends = weft_constant(f.graph, WEFT_F64, WEFT_INTS(5), all);
    weft_array *coins = draw(weft_random_bernoulli(f.key, ends, WEFT_SHAPE(100, 5)));
    for (int64_t i = 0; i < 500; i++) assert_int_equal(element(coins, i), i % 5 >= 3);
    weft_array_release(coins);
}

/* ---- integers and choices ---- */

static void integers_have_no_bias(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(MANY);
    expect_counts("digits", draw(weft_random_integers(f.key, WEFT_I32, shape, N(0), N(10))), 10, NULL);
    expect_counts("bytes", draw(weft_random_integers(f.key, WEFT_U8, shape, N(0), N(256))), 256, NULL);
    /* Three quarters of all i64: without rejection every third number would come twice as often. */
    weft_tensor least = weft_constant(f.graph, WEFT_I64, WEFT_INTS(), &(int64_t){INT64_MIN});
    weft_tensor limit = weft_constant(f.graph, WEFT_I64, WEFT_INTS(), &(int64_t){INT64_C(1) << 62});
    weft_tensor three = weft_scalar(f.graph, WEFT_I64, 3);
    weft_tensor wide = weft_random_integers_between(f.key, least, limit, shape);
    expect_counts("thirds", draw(weft_remainder(wide, three)), 3, NULL);
    expect_counts("quarters",
                  draw(weft_and(weft_shift_right(weft_sub(wide, least), weft_scalar(f.graph, WEFT_I64, 62)), three)), 3,
                  NULL);
    weft_extent end = N(3 * (INT64_C(1) << 61));
    weft_tensor half = weft_random_integers(f.key, WEFT_I64, shape, N(0), end);
    expect_counts("thirds", draw(weft_remainder(half, three)), 3, NULL);
}

static void bounds_may_be_tensors(void **state)
{
    (void)state;
    const int32_t lows[] = {-5, 7, INT32_MIN, 3}, highs[] = {5, 8, INT32_MAX, 3};
    weft_tensor low = weft_constant(f.graph, WEFT_I32, WEFT_INTS(4), lows);
    weft_tensor high = weft_constant(f.graph, WEFT_I32, WEFT_INTS(4), highs);
    weft_array *drawn = draw(weft_random_integers_between(f.key, low, high, WEFT_SHAPE(2000, 4)));
    bool seen[10] = {false};
    for (int64_t i = 0; i < 8000; i++) {
        double x = element(drawn, i);
        if (i % 4 == 0) seen[(size_t)(x + 5)] = true;
        if (i % 4 == 1) assert_int_equal(x, 7);
        if (i % 4 == 3) assert_int_equal(x, 3);
    }
    for (size_t i = 0; i < 10; i++) assert_true(seen[i]);
    weft_array_release(drawn);
    weft_extent end = N(3000000000);
    weft_array *natural = draw(weft_random_integers(f.key, WEFT_U32, WEFT_SHAPE(MANY), N(2999999990), end));
    for (int64_t i = 0; i < MANY; i++) assert_true(element(natural, i) >= 2999999990 && element(natural, i) < 3e9);
    weft_array_release(natural);
}

static void classes_have_their_shares(void **state)
{
    (void)state;
    const double shares[] = {0.5, 0, 0.125, 0.375}, nothing[] = {-INFINITY, -INFINITY};
    double logits[4];
    for (size_t i = 0; i < 4; i++) logits[i] = log(shares[i]) + 3;
    weft_tensor wide = weft_constant(f.graph, WEFT_F64, WEFT_INTS(4), logits);
    const weft_dtype dtypes[] = {WEFT_F64, WEFT_F32, WEFT_F16};
    for (size_t i = 0; i < 3; i++) {
        weft_tensor own = weft_cast(wide, dtypes[i]);
        expect_counts("classes", draw(weft_random_categorical(f.key, own, WEFT_SHAPE(MANY))), 4, shares);
    }
    weft_array *first = draw(
        weft_random_categorical(f.key, weft_constant(f.graph, WEFT_F64, WEFT_INTS(1, 2), nothing), WEFT_SHAPE(3, 2)));
    assert_int_equal(weft_array_rank(first), 3);
    for (int64_t i = 0; i < 6; i++) assert_int_equal(element(first, i), 0);
    weft_array_release(first);
}

static void check_order(weft_array *order)
{
    enum { COUNT = 2000 };
    bool seen[COUNT] = {false};
    double inversions = 0, n = COUNT;
    for (int64_t i = 0; i < COUNT; i++) {
        size_t at = (size_t)element(order, i);
        assert_true(at < COUNT && !seen[at]);
        seen[at] = true;
        for (int64_t k = 0; k < i; k++) inversions += element(order, k) > (double)at;
    }
    double mean = n * (n - 1) / 4, variance = n * (n - 1) * (2 * n + 5) / 72;
    assert_true(fabs(inversions - mean) < 3.3 * sqrt(variance));
    weft_array_release(order);
}

static void permutations_have_everything_once(void **state)
{
    (void)state;
    check_order(draw(weft_random_permutation(f.key, N(2000))));
    check_order(draw(weft_random_choice(f.key, N(2000), WEFT_SHAPE(40, 50), false, WEFT_NO_TENSOR)));
    weft_array *none = draw(weft_random_permutation(f.key, N(0)));
    assert_int_equal(weft_array_count(none), 0);
    weft_array_release(none);
}

static void choices_follow_weights(void **state)
{
    (void)state;
    const double weights[] = {1, 0, 2, 5, -1, NAN}, shares[] = {0.125, 0, 0.25, 0.625, 0, 0};
    weft_tensor w = weft_constant(f.graph, WEFT_F64, WEFT_INTS(6), weights);
    expect_counts("draws", draw(weft_random_choice(f.key, N(6), WEFT_SHAPE(MANY / 2, 2), true, w)), 6, shares);
    expect_counts("equal draws", draw(weft_random_choice(f.key, N(6), WEFT_SHAPE(MANY), true, WEFT_NO_TENSOR)), 6,
                  NULL);
    weft_array *order = draw(weft_random_choice(f.key, N(6), WEFT_SHAPE(6), false, w));
    const double last[] = {1, 4, 5};
    for (int64_t i = 0; i < 3; i++) assert_int_equal(element(order, 3 + i), last[i]);
    weft_array_release(order);
}

/* The numbers that are chosen first and second, by many keys; here the key is an input. */
static void choices_without_replacement_are_draws_one_by_one(void **state)
{
    (void)state;
    enum { TRIALS = 500 };
    const double weights[] = {1, 2, 5};
    const double shares[] = {
        0, 1 / 8.0 * 2 / 7, 1 / 8.0 * 5 / 7, 2 / 8.0 * 1 / 6, 0, 2 / 8.0 * 5 / 6, 5 / 8.0 * 1 / 3, 5 / 8.0 * 2 / 3, 0};
    weft_tensor w = weft_constant(f.graph, WEFT_F64, WEFT_INTS(3), weights);
    weft_tensor key = weft_input(f.graph, "key", WEFT_U32, WEFT_SHAPE(2));
    weft_program *program = NULL;
    weft_array *pairs, *words, *pair = NULL;
    weft_test_ok(
        weft_compile(f.graph, WEFT_TENSORS(weft_random_choice(key, N(3), WEFT_SHAPE(2), false, w)), NULL, &program));
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 1, (int64_t[]){TRIALS}, &pairs));
    weft_test_ok(weft_array_create(NULL, WEFT_U32, 1, (int64_t[]){2}, &words));
    for (uint32_t i = 0; i < TRIALS; i++) {
        ((uint32_t *)weft_array_data(words))[0] = 0;
        ((uint32_t *)weft_array_data(words))[1] = i;
        weft_test_ok(weft_executor_run(f.executors[0], program,
                                       &(weft_run){.runtime = runtimes[runtime_count - 1],
                                                   .input_count = 1,
                                                   .inputs = &words,
                                                   .output_count = 1,
                                                   .outputs = &pair}));
        const int64_t *chosen = weft_array_data(pair);
        ((int64_t *)weft_array_data(pairs))[i] = 3 * chosen[0] + chosen[1];
    }
    weft_array_release(words);
    weft_array_release(pair);
    weft_program_release(program);
    expect_counts("pairs", pairs, 9, shares);
}

/* ---- dropout ---- */

static void dropout_keeps_a_share(void **state)
{
    (void)state;
    const double shares[] = {0.3, 0.7};
    weft_tensor x = weft_full(f.graph, WEFT_F32, 3, WEFT_SHAPE(MANY)), zero = weft_scalar(f.graph, WEFT_F32, 0);
    weft_tensor dropped = weft_dropout(x, f.key, 0.3);
    expect_counts("kept", draw(weft_ne(dropped, zero)), 2, shares);
    /* The mask can be computed by itself. */
    weft_tensor mask =
        weft_ge(weft_random_bits(f.key, WEFT_U32, WEFT_SHAPE(MANY)),
                weft_constant(f.graph, WEFT_U32, WEFT_INTS(), &(uint32_t){(uint32_t)ceil(0.3 * 0x1p32)}));
    weft_tensor scaled = weft_mul(x, weft_scalar(f.graph, WEFT_F32, 1 / (1 - 0.3)));
    expect_equal("mask", draw(dropped), draw(weft_select(mask, scaled, zero)));
}

static void dropout_of_nothing_is_the_operand(void **state)
{
    (void)state;
    const float special[] = {-0.0f, INFINITY, 0x1p-149f, -3, 0.1f};
    weft_tensor x = weft_constant(f.graph, WEFT_F32, WEFT_INTS(5), special);
    expect_equal("p = 0", draw(weft_dropout(x, f.key, 0)), draw(x));
    expect_equal("p = 1", draw(weft_dropout(x, f.key, 1)), draw(weft_zeros(f.graph, WEFT_F32, WEFT_SHAPE(5))));
    weft_tensor half = weft_cast(x, WEFT_BF16);
    expect_equal("p = 0", draw(weft_dropout(half, f.key, 0)), draw(half));
}

/* Its gradient is the same mask, computed from the key again. */
static void dropout_has_a_gradient(void **state)
{
    (void)state;
    weft_tensor x = weft_random_normal(f.key, WEFT_F32, WEFT_SHAPE(40, 5)),
                w = weft_random_uniform(f.key, WEFT_F32, WEFT_SHAPE(40, 5), 1, 2);
    weft_tensor loss = weft_reduce_sum(weft_mul(weft_dropout(x, f.key, 0.25), w), WEFT_INTS(0, 1), false);
    expect_equal("gradient", draw(weft_dropout(w, f.key, 0.25)), draw(weft_grad(loss, WEFT_TENSORS(x), NULL)));
}

/* ---- errors ---- */

static void expect_error(weft_tensor tensor, weft_code code, const char *message)
{
    assert_false(weft_tensor_is_valid(tensor));
    const weft_status *status = weft_graph_error(f.graph);
    assert_non_null(status);
    assert_string_equal(weft_status_message(status), message);
    assert_int_equal(weft_status_code(status), code);
    assert_non_null(strstr(weft_status_where(status), "random.c"));
    weft_graph_clear_error(f.graph);
}

static void keys_are_checked(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(3);
    weft_tensor words = weft_input(f.graph, "words", WEFT_U32, WEFT_SHAPE(4)),
                x = weft_input(f.graph, "x", WEFT_F32, shape);
    expect_error(weft_random_normal(x, WEFT_F32, shape), WEFT_DTYPE_MISMATCH,
                 "random_normal: the key has dtype f32 but must be u32");
    expect_error(weft_random_bits(words, WEFT_U32, shape), WEFT_SHAPE_MISMATCH,
                 "random_bits: the key has 4 elements, not 2");
    expect_error(weft_random_split(weft_random_split(f.key, N(2)), N(2)), WEFT_SHAPE_MISMATCH,
                 "random_split: the key has rank 2 but must be of shape [2]");
    expect_error(weft_random_fold(f.key, x), WEFT_DTYPE_MISMATCH,
                 "random_fold: the tensor of numbers has dtype f32 but must be an integer");
    expect_error(weft_random_fold(f.key, WEFT_NO_TENSOR), WEFT_INVALID_ARGUMENT,
                 "random_fold: the tensor of numbers is missing");
    expect_error(weft_dropout(x, weft_random_key(f.other, 1), 0.5), WEFT_INVALID_ARGUMENT,
                 "dropout: the key belongs to another graph");
    expect_error(weft_random_split(f.key, N(-1)), WEFT_OUT_OF_RANGE, "random_split: the count is -1, below 0");
    expect_error(weft_random_philox(f.key, x), WEFT_DTYPE_MISMATCH,
                 "random_philox: the tensor of counters has dtype f32 but must be u32");
    expect_error(weft_random_philox(f.key, weft_narrow(words, 0, N(0), N(3))), WEFT_SHAPE_MISMATCH,
                 "random_philox: the last axis of the tensor of counters has extent 3, not 4");
    expect_error(weft_random_philox(f.key, weft_scalar(f.graph, WEFT_U32, 1)), WEFT_SHAPE_MISMATCH,
                 "random_philox: the tensor of counters has rank 0 but needs at least 1");
}

static void floats_are_checked(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(3);
    weft_tensor two = weft_input(f.graph, "two", WEFT_F32, WEFT_SHAPE(2)),
                i = weft_input(f.graph, "i", WEFT_I64, shape);
    expect_error(weft_random_bits(f.key, WEFT_F32, shape), WEFT_DTYPE_MISMATCH,
                 "random_bits: dtype f32 is neither bool nor a dtype of integers");
    expect_error(weft_random_normal(f.key, WEFT_I32, shape), WEFT_DTYPE_MISMATCH,
                 "random_normal: dtype i32 is not a float");
    expect_error(weft_random_exponential(f.key, WEFT_C64, shape), WEFT_DTYPE_MISMATCH,
                 "random_exponential: dtype c64 is not a float");
    expect_error(weft_random_normal(f.key, WEFT_F32, WEFT_SHAPE(3, -1)), WEFT_OUT_OF_RANGE,
                 "random_normal: shape[1] is -1, below 0");
    expect_error(weft_random_uniform(f.key, WEFT_F32, shape, 1, 1), WEFT_OUT_OF_RANGE,
                 "random_uniform: low, 1, is not below high, 1, as f32");
    expect_error(weft_random_uniform(f.key, WEFT_F16, shape, 1, 1.0001), WEFT_OUT_OF_RANGE,
                 "random_uniform: low, 1, is not below high, 1.0001, as f16");
    expect_error(weft_random_uniform(f.key, WEFT_F64, shape, -1.5e308, 1.5e308), WEFT_OUT_OF_RANGE,
                 "random_uniform: the difference between low, -1.5e+308, and high, 1.5e+308, is not finite");
    expect_error(weft_random_truncated_normal(f.key, WEFT_F32, shape, 2, NAN), WEFT_OUT_OF_RANGE,
                 "random_truncated_normal: low is 2, not below high, nan");
    expect_error(weft_random_truncated_normal(f.key, WEFT_F32, shape, 38, 39), WEFT_OUT_OF_RANGE,
                 "random_truncated_normal: between low, 38, and high, 39, there is no probability that an f64 holds");
    expect_error(weft_random_bernoulli(f.key, i, shape), WEFT_DTYPE_MISMATCH,
                 "random_bernoulli: p has dtype i64 but must be a float");
    expect_error(weft_random_bernoulli(f.key, two, shape), WEFT_SHAPE_MISMATCH,
                 "random_bernoulli: axis 0 of p has extent 2 but axis 0 of the result has 3");
    expect_error(weft_random_gamma(f.key, two, WEFT_SHAPE()), WEFT_SHAPE_MISMATCH,
                 "random_gamma: alpha has rank 1 but the result has 0");
    expect_error(weft_dropout(two, f.key, -0.25), WEFT_OUT_OF_RANGE, "dropout: p is -0.25, not in [0, 1]");
    expect_error(weft_dropout(two, f.key, NAN), WEFT_OUT_OF_RANGE, "dropout: p is nan, not in [0, 1]");
    expect_error(weft_dropout(i, f.key, 0.5), WEFT_DTYPE_MISMATCH,
                 "dropout: the operand has dtype i64 but must be a float");
}

static void draw_of_none(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    (void)context, (void)index, (void)carried;
    out_next[0] = weft_random_integers(f.key, WEFT_I64, WEFT_SHAPE(3), N(4), N(4));
}

static void what_never_runs_may_have_no_range(void **state)
{
    (void)state;
    weft_tensor zeros = weft_zeros(f.graph, WEFT_I64, WEFT_SHAPE(3));
    expect_equal("no iteration", draw(zeros), draw(weft_fold(N(0), WEFT_TENSORS(zeros), draw_of_none, NULL, NULL)));
}

static void ranges_are_checked(void **state)
{
    (void)state;
    weft_shape shape = WEFT_SHAPE(3);
    weft_extent n = weft_symbol(f.graph, "n", 0, 9);
    weft_tensor i = weft_input(f.graph, "i", WEFT_I64, shape), j = weft_input(f.graph, "j", WEFT_I32, shape);
    weft_tensor w = weft_input(f.graph, "w", WEFT_F32, shape), scalar = weft_scalar(f.graph, WEFT_F32, 1);
    expect_error(weft_random_integers(f.key, WEFT_I32, shape, N(4), N(4)), WEFT_OUT_OF_RANGE,
                 "random_integers: low is 4, not below high, 4");
    expect_error(weft_random_integers(f.key, WEFT_U8, shape, N(-1), N(4)), WEFT_OUT_OF_RANGE,
                 "random_integers: low is -1, below the least u8");
    expect_error(weft_random_integers(f.key, WEFT_U8, shape, N(0), N(257)), WEFT_OUT_OF_RANGE,
                 "random_integers: high is 257, beyond the greatest u8");
    expect_error(weft_random_integers(f.key, WEFT_F32, shape, N(0), N(2)), WEFT_DTYPE_MISMATCH,
                 "random_integers: dtype f32 is not a dtype of integers");
    expect_error(weft_random_integers_between(f.key, i, j, shape), WEFT_DTYPE_MISMATCH,
                 "random_integers_between: high has dtype i32 but low has i64; cast explicitly");
    expect_error(weft_random_integers_between(f.key, w, w, shape), WEFT_DTYPE_MISMATCH,
                 "random_integers_between: low has dtype f32 but must be an integer");
    expect_error(weft_random_categorical(f.key, scalar, shape), WEFT_SHAPE_MISMATCH,
                 "random_categorical: the tensor of logits has rank 0 but needs at least 1");
    expect_error(weft_random_categorical(f.key, weft_narrow(w, 0, N(0), N(0)), shape), WEFT_OUT_OF_RANGE,
                 "random_categorical: there are 0 classes, fewer than 1");
    expect_error(weft_random_choice(f.key, N(0), shape, true, WEFT_NO_TENSOR), WEFT_OUT_OF_RANGE,
                 "random_choice: the count is 0, below 1");
    expect_error(weft_random_choice(f.key, N(5), WEFT_SHAPE(2, 3), false, WEFT_NO_TENSOR), WEFT_OUT_OF_RANGE,
                 "random_choice: there are 6 draws without replacement of 5");
    expect_error(weft_random_choice(f.key, N(4), shape, true, w), WEFT_SHAPE_MISMATCH,
                 "random_choice: the tensor of weights has extent 3 but the count is 4");
    expect_error(weft_random_choice(f.key, N(4), shape, true, scalar), WEFT_SHAPE_MISMATCH,
                 "random_choice: the tensor of weights has rank 0, not 1");
    expect_error(weft_random_permutation(f.key, N(-3)), WEFT_OUT_OF_RANGE,
                 "random_permutation: the count is -3, below 0");
    /* What depends on a symbol is found by a run. */
    weft_program *program = NULL;
    weft_array *output = NULL;
    weft_tensor drawn = weft_random_integers(f.key, WEFT_I32, shape, N(4), n);
    weft_test_ok(weft_compile(f.graph, WEFT_TENSORS(drawn), NULL, &program));
    const weft_binding binding = {"n", 4};
    const weft_run run = {.extent_count = 1, .extents = &binding, .output_count = 1, .outputs = &output};
    weft_test_fails(weft_executor_run(f.executors[0], program, &run), WEFT_SHAPE_MISMATCH,
                    "low is 4, not below high, n");
    weft_program_release(program);
}

/* ---- memory ---- */

static weft_status *trace_loop(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(&(weft_graph_options){.allocator = allocator}, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 100);
    weft_tensor key = weft_input(graph, "key", WEFT_U32, WEFT_SHAPE(2));
    weft_tensor drawn = weft_random_integers(key, WEFT_I64, WEFT_SHAPE(2), weft_extent_of(0), n);
    const weft_status *error = weft_graph_error(graph);
    if (error == NULL) assert_true(weft_tensor_is_valid(drawn));
    weft_status *status = weft_status_clone(NULL, error);
    weft_graph_destroy(graph);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    weft_test_fail_each(trace_loop, NULL);
}

int main(int argc, char **argv)
{
    runtime_count = (size_t)argc - 1;
    runtimes = argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_are_those_of_the_paper, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_are_those_of_the_counter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bits_of_dtypes_are_parts_of_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_are_split_by_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(elements_depend_on_their_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_may_be_symbolic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_numbers_have_two_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_distributed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gammas_are_distributed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gammas_may_be_extreme, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_floats_are_those_of_f32, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(normals_are_quantiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(draws_have_nothing_to_do_with_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(coins_are_fair, set_up, tear_down),
        cmocka_unit_test_setup_teardown(integers_have_no_bias, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounds_may_be_tensors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(classes_have_their_shares, set_up, tear_down),
        cmocka_unit_test_setup_teardown(permutations_have_everything_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(choices_follow_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(choices_without_replacement_are_draws_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropout_keeps_a_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropout_of_nothing_is_the_operand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropout_has_a_gradient, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(floats_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_never_runs_may_have_no_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_may_run_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
