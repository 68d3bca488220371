/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
/*
 * Programs all of whose extents are symbols, beside the same ones with known extents: code for any extents, and the
 * code that an executor makes for those used often. Bits must be equal.
 *
 *     symbolic [NAME]        programs whose names have NAME in them: medians (least times) relative to known extents
 *     symbolic --longest     calls while the executor specialises: each, the longest, and how often one waited
 *
 * Times are processor times.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <weft/weft.h>

enum { ROUNDS = 21, OPERANDS = 2, MOST_SYMBOLS = 8, MOST_RANK = 4, CALLS = 100000, LONGEST_ROUNDS = 7, WARM = 300 };
enum { FORM_KNOWN, FORM_ANY, FORM_HOT, FORMS };

typedef struct program {
    const char *name;
    weft_tensor (*trace)(const weft_tensor *x);
    const char *axes[OPERANDS]; /* a letter for each symbol; 1: an extent of one */
    int64_t extents[MOST_SYMBOLS];
} program;

/* ---- programs ---- */

static weft_tensor add(const weft_tensor *x)
{
    return weft_add(x[0], x[1]);
}

static weft_tensor gelu(const weft_tensor *x)
{
    return weft_gelu(x[0]);
}

static weft_tensor softmax(const weft_tensor *x)
{
    return weft_softmax(x[0], -1);
}

static weft_tensor norm(const weft_tensor *x)
{
    weft_tensor from_mean = weft_sub(x[0], weft_mean(x[0], WEFT_INTS(-1), true));
    weft_tensor variance = weft_mean(weft_mul(from_mean, from_mean), WEFT_INTS(-1), true);
    return weft_mul(from_mean, weft_rsqrt(weft_add(variance, weft_full_like(variance, 1e-5))));
}

static weft_tensor transpose(const weft_tensor *x)
{
    return weft_permute(x[0], WEFT_INTS(1, 0));
}

static weft_tensor permute_middle(const weft_tensor *x)
{
    return weft_permute(x[0], WEFT_INTS(0, 2, 1, 3));
}

static weft_tensor permute_last(const weft_tensor *x)
{
    return weft_permute(x[0], WEFT_INTS(0, 2, 3, 1));
}

static weft_tensor sum_rows(const weft_tensor *x)
{
    return weft_reduce_sum(x[0], WEFT_INTS(-1), false);
}

static weft_tensor max_rows(const weft_tensor *x)
{
    return weft_reduce_max(x[0], WEFT_INTS(-1), false);
}

static weft_tensor sum_columns(const weft_tensor *x)
{
    return weft_reduce_sum(x[0], WEFT_INTS(0), false);
}

static weft_tensor sum_middle(const weft_tensor *x)
{
    return weft_reduce_sum(x[0], WEFT_INTS(1), false);
}

static weft_tensor pool(const weft_tensor *x)
{
    return weft_max_pool(
        x[0], &(weft_pool_options){
                  .size = WEFT_INTS(3, 3), .stride = WEFT_INTS(2, 2), .low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1)});
}

static weft_tensor product(const weft_tensor *x)
{
    return weft_matmul(x[0], x[1]);
}

static weft_tensor concat(const weft_tensor *x)
{
    return weft_concat(WEFT_TENSORS(x[0], x[1]), -1);
}

static weft_tensor cumulate(const weft_tensor *x)
{
    return weft_cumsum(x[0], -1, false, false);
}

static weft_tensor flip(const weft_tensor *x)
{
    return weft_flip(x[0], WEFT_INTS(-1));
}

static const program programs[] = {
    {"add", add, {"ab", "ab"}, {512, 512}},
    {"add of 8", add, {"a", "a"}, {8}},
    {"add rows of 3", add, {"ab", "ab"}, {20000, 3}},
    {"add a row", add, {"ab", "b"}, {512, 512}},
    {"add a row of 5", add, {"ab", "b"}, {20000, 5}},
    {"add a middle", add, {"abc", "a1c"}, {32, 64, 128}},
    {"add a middle of 8", add, {"abc", "a1c"}, {64, 64, 8}},
    {"add a column", add, {"ab", "a1"}, {512, 512}},
    {"add a column to 6", add, {"ab", "a1"}, {20000, 6}},
    {"gelu", gelu, {"ab"}, {256, 256}},
    {"softmax", softmax, {"ab"}, {512, 512}},
    {"softmax of 10", softmax, {"ab"}, {20000, 10}},
    {"norm", norm, {"ab"}, {512, 512}},
    {"norm of 20", norm, {"ab"}, {10000, 20}},
    {"transpose", transpose, {"ab"}, {512, 512}},
    {"transpose of 4", transpose, {"ab"}, {20000, 4}},
    {"permute 0213", permute_middle, {"abcd"}, {8, 128, 12, 64}},
    {"permute 0213 of 8", permute_middle, {"abcd"}, {8, 128, 12, 8}},
    {"permute 0231", permute_last, {"abcd"}, {8, 64, 28, 28}},
    {"permute 0231 of 3", permute_last, {"abcd"}, {8, 3, 64, 64}},
    {"sum rows", sum_rows, {"ab"}, {512, 512}},
    {"sum rows of 4", sum_rows, {"ab"}, {65536, 4}},
    {"sum rows of 20", sum_rows, {"ab"}, {20000, 20}},
    {"max rows of 7", max_rows, {"ab"}, {20000, 7}},
    {"sum columns", sum_columns, {"ab"}, {512, 512}},
    {"sum columns of 4", sum_columns, {"ab"}, {20000, 4}},
    {"sum a middle of 4", sum_middle, {"abc"}, {512, 4, 64}},
    {"pool", pool, {"abcd"}, {1, 64, 56, 56}},
    {"product", product, {"ab", "bc"}, {128, 128, 128}},
    {"product of 20", product, {"ab", "bc"}, {20, 20, 20}},
    {"64 products of 16", product, {"abc", "acd"}, {64, 16, 16, 16}},
    {"500 products of 4", product, {"abc", "acd"}, {500, 4, 4, 4}},
    {"concat", concat, {"ab", "ac"}, {512, 300, 200}},
    {"concat 3 and 5", concat, {"ab", "ac"}, {10000, 3, 5}},
    {"cumulative sum", cumulate, {"ab"}, {512, 512}},
    {"flip of 6", flip, {"ab"}, {20000, 6}},
};

/* ---- one of them made ready ---- */

typedef struct subject {
    weft_program *program;
    weft_executor *executor;
    size_t count;
    weft_array *inputs[OPERANDS], *output;
} subject;

static void need(weft_status *status)
{
    if (status == NULL) return;
    fprintf(stderr, "symbolic: %s\n", weft_status_message(status));
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int64_t extent_of(const program *p, char axis)
{
    return axis == '1' ? 1 : p->extents[axis - 'a'];
}

static weft_tensor trace_input(weft_graph *graph, const program *p, size_t number, bool known)
{
    const char name[] = {(char)('x' + number), 0};
    weft_extent extents[MOST_RANK];
    size_t rank = strlen(p->axes[number]);
    for (size_t i = 0; i < rank; i++) {
        const char axis[] = {p->axes[number][i], 0};
        bool fixed = known || *axis == '1';
        extents[i] = fixed ? weft_extent_of(extent_of(p, *axis)) : weft_symbol(graph, axis, 1, 1 << 20);
    }
    return weft_input(graph, name, WEFT_F32, (weft_shape){rank, extents});
}

static weft_array *make_input(const program *p, size_t number)
{
    weft_array *x;
    int64_t shape[MOST_RANK];
    size_t rank = strlen(p->axes[number]);
    for (size_t i = 0; i < rank; i++) shape[i] = extent_of(p, p->axes[number][i]);
    need(weft_array_create(NULL, WEFT_F32, rank, shape, &x));
    float *data = weft_array_data(x);
    for (int64_t i = 0; i < weft_array_count(x); i++) data[i] = (float)(i * 7919 % 1009) / 300 - 1.5f;
    return x;
}

static subject make(const program *p, bool known, uint32_t specialize_after)
{
    subject s = {.count = p->axes[1] == NULL ? 1 : 2};
    weft_graph *graph;
    weft_tensor x[OPERANDS];
    need(weft_graph_create(NULL, &graph));
    for (size_t i = 0; i < s.count; i++) {
        x[i] = trace_input(graph, p, i, known);
        s.inputs[i] = make_input(p, i);
    }
    need(weft_compile(graph, WEFT_TENSORS(p->trace(x)), NULL, &s.program));
    weft_graph_destroy(graph);
    const weft_executor_options options = {.threads = 1, .specialize_after = specialize_after};
    need(weft_executor_create_standard(&options, &s.executor));
    return s;
}

static void run(subject *s)
{
    need(weft_executor_run(
        s->executor, s->program,
        &(weft_run){.input_count = s->count, .inputs = s->inputs, .output_count = 1, .outputs = &s->output}));
}

static void finish(subject *s)
{
    for (size_t i = 0; i < s->count; i++) weft_array_release(s->inputs[i]);
    weft_array_release(s->output);
    weft_executor_destroy(s->executor);
    weft_program_release(s->program);
}

/* ---- beside known extents ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(subject *s, int times)
{
    double begin = now();
    for (int i = 0; i < times; i++) run(s);
    return (now() - begin) / times;
}

static void check(const program *p, const subject *forms)
{
    size_t size = (size_t)weft_array_count(forms->output) * sizeof(float);
    for (int form = 1; form < FORMS; form++) {
        if (memcmp(weft_array_data(forms[form].output), weft_array_data(forms->output), size) == 0) continue;
        fprintf(stderr, "symbolic: %s: other bits\n", p->name);
        exit(1);
    }
}

/* Adds logarithms of the ratios of medians to `sums`. */
static void measure(const program *p, double *sums)
{
    subject forms[FORMS] = {make(p, true, WEFT_SPECIALIZE_NEVER), make(p, false, WEFT_SPECIALIZE_NEVER),
                            make(p, false, 0)};
    double times[FORMS][ROUNDS], ratios[FORMS][ROUNDS];
    for (int i = 0; i < WARM; i++) run(&forms[FORM_HOT]);
    weft_executor_settle(forms[FORM_HOT].executor);
    for (int form = 0; form < FORMS; form++) run(&forms[form]);
    int repeats = 1 + (int)(500 / time_of(&forms[FORM_KNOWN], 3));
    for (int round = 0; round < ROUNDS; round++) {
        for (int form = 0; form < FORMS; form++) times[form][round] = time_of(&forms[form], repeats);
        for (int form = 0; form < FORMS; form++) ratios[form][round] = times[form][round] / times[0][round];
    }
    check(p, forms);
    for (int form = 0; form < FORMS; form++) {
        qsort(times[form], ROUNDS, sizeof **times, compare);
        qsort(ratios[form], ROUNDS, sizeof **ratios, compare);
        sums[form] += log(ratios[form][ROUNDS / 2]);
    }
    printf("%-20s %9.2f us   any %5.2f (%5.2f)   used often %5.2f (%5.2f)\n", p->name, times[0][ROUNDS / 2],
           ratios[FORM_ANY][ROUNDS / 2], times[FORM_ANY][0] / times[0][0], ratios[FORM_HOT][ROUNDS / 2],
           times[FORM_HOT][0] / times[0][0]);
    fflush(stdout);
    for (int form = 0; form < FORMS; form++) finish(&forms[form]);
}

/* ---- the longest call ---- */

/* How often this thread has slept so far. */
static long count_waits(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void measure_longest(const program *p, uint32_t specialize_after, const char *text)
{
    static double times[CALLS];
    subject s = make(p, false, specialize_after);
    run(&s);
    long waits = count_waits();
    for (int i = 0; i < CALLS; i++) times[i] = time_of(&s, 1);
    waits = count_waits() - waits;
    qsort(times, CALLS, sizeof *times, compare);
    printf("%-20s %-10s median %7.3f us   99.99 %% %8.2f us   longest %9.2f us   waits %ld\n", p->name, text,
           times[CALLS / 2], times[CALLS - CALLS / 10000], times[CALLS - 1], waits);
    finish(&s);
}

int main(int argc, char **argv)
{
    static const program longest = {"sum rows of 4", sum_rows, {"ab"}, {64, 4}};
    bool is_longest = argc > 1 && strcmp(argv[1], "--longest") == 0;
    for (int i = 0; is_longest && i < LONGEST_ROUNDS; i++) {
        measure_longest(&longest, WEFT_SPECIALIZE_NEVER, "any");
        measure_longest(&longest, 0, "used often");
    }
    if (is_longest) return 0;
    double sums[FORMS] = {0};
    int count = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (argc > 1 && strstr(programs[i].name, argv[1]) == NULL) continue;
        measure(&programs[i], sums);
        count++;
    }
    if (count > 0)
        printf("%d programs, geometric means: any %.3f, used often %.3f\n", count, exp(sums[FORM_ANY] / count),
               exp(sums[FORM_HOT] / count));
    return count == 0;
}
