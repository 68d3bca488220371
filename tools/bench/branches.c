/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How programs of independent branches gain from threads. For each case the same program runs on an executor of one
 * thread and on one of several, in turn; the results must be equal to the bit.
 *
 *     branches [--threads N] [--rounds N] [CASE ...]
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

enum { LEAVES = 65, ITERATIONS = 64, SAMPLE_NS = 5000000, CALM_NS = 50000000 };

typedef struct branches_case {
    const char *name;
    weft_tensor (*trace)(weft_graph *graph, int64_t n);
    int64_t n;
} branches_case;

/* ---- programs ---- */

static weft_tensor square(weft_graph *graph, int64_t number, int64_t n)
{
    char name[24];
    snprintf(name, sizeof name, "x%" PRId64, number);
    return weft_input(graph, name, WEFT_F32, WEFT_SHAPE(weft_extent_of(n), weft_extent_of(n)));
}

/* 64 products, as a tree. */
static weft_tensor trace_tree(weft_graph *graph, int64_t n)
{
    weft_tensor items[LEAVES];
    size_t count = LEAVES;
    for (size_t i = 0; i < count; i++) items[i] = square(graph, (int64_t)i, n);
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; i + 1 < count; i += 2) items[i / 2] = weft_matmul(items[i], items[i + 1]);
        if (count % 2 == 1) items[count / 2] = items[count - 1];
    }
    return items[0];
}

/* The same number, one after another. */
static weft_tensor trace_chain(weft_graph *graph, int64_t n)
{
    weft_tensor product = square(graph, 0, n);
    for (int64_t i = 1; i < LEAVES; i++) product = weft_matmul(product, square(graph, i, n));
    return product;
}

/* carried + a[iteration] b */
static void add_product(void *context, weft_tensor iteration, const weft_tensor *carried, weft_tensor *out_next)
{
    const weft_tensor *operands = context;
    weft_shape size = WEFT_SHAPE(weft_extent_of(1));
    weft_tensor a = weft_squeeze(weft_dynamic_slice(operands[0], WEFT_TENSORS(iteration), WEFT_INTS(0), size), 0);
    out_next[0] = weft_add(carried[0], weft_matmul(a, operands[1]));
}

static weft_tensor fold_products(weft_graph *graph, const char *name, int64_t n)
{
    weft_shape shape = WEFT_SHAPE(weft_extent_of(ITERATIONS), weft_extent_of(n), weft_extent_of(n));
    weft_tensor operands[] = {weft_input(graph, name, WEFT_F32, shape), square(graph, 0, n)};
    weft_tensor zeros = weft_zeros(graph, WEFT_F32, WEFT_SHAPE(weft_extent_of(n), weft_extent_of(n)));
    return weft_fold(weft_extent_of(ITERATIONS), WEFT_TENSORS(zeros), add_product, operands, NULL);
}

static weft_tensor trace_folds(weft_graph *graph, int64_t n)
{
    return weft_add(fold_products(graph, "a", n), fold_products(graph, "b", n));
}

static weft_tensor trace_add(weft_graph *graph, int64_t n)
{
    return weft_add(square(graph, 0, n), square(graph, 1, n));
}

static const branches_case cases[] = {
    {"tree-16", trace_tree, 16},     {"tree-32", trace_tree, 32},   {"tree-48", trace_tree, 48},
    {"tree-64", trace_tree, 64},     {"tree-96", trace_tree, 96},   {"tree-256", trace_tree, 256},
    {"folds-16", trace_folds, 16},   {"folds-48", trace_folds, 48}, {"folds-96", trace_folds, 96},
    {"folds-192", trace_folds, 192}, {"chain-16", trace_chain, 16}, {"chain-48", trace_chain, 48},
    {"chain-96", trace_chain, 96},   {"add-2", trace_add, 2},
};

/* ---- one case ---- */

typedef struct subject {
    weft_program *program;
    weft_executor *executors[2];
    size_t input_count;
    weft_array *inputs[LEAVES], *outputs[2];
    weft_report reports[2];
} subject;

static void fill(weft_array *array, uint64_t seed)
{
    float *data = weft_array_data(array);
    double scale = 1 / sqrt((double)weft_array_shape(array)[weft_array_rank(array) - 1]);
    for (int64_t i = 0; i < weft_array_count(array); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)(((double)(int64_t)(seed >> 40) / (1 << 23) - 1) * scale);
    }
}

static weft_status *create_inputs(subject *s, int64_t n)
{
    const int64_t shape[] = {ITERATIONS, n, n};
    s->input_count = weft_program_input_count(s->program);
    for (size_t i = 0; i < s->input_count; i++) {
        size_t rank = weft_program_input_rank(s->program, i);
        WEFT_TRY(weft_array_create(NULL, WEFT_F32, rank, shape + 3 - rank, &s->inputs[i]));
        fill(s->inputs[i], i);
    }
    return NULL;
}

static weft_status *run(subject *s, int which)
{
    return weft_executor_run(s->executors[which], s->program,
                             &(weft_run){.input_count = s->input_count,
                                         .inputs = s->inputs,
                                         .output_count = 1,
                                         .outputs = &s->outputs[which],
                                         .report = &s->reports[which]});
}

static weft_status *open_subject(subject *s, const branches_case *subject_case, unsigned threads)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor output = subject_case->trace(graph, subject_case->n);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(output), NULL, &s->program);
    weft_graph_destroy(graph);
    if (status == NULL) status = create_inputs(s, subject_case->n);
    for (int i = 0; status == NULL && i < 2; i++) {
        weft_executor_options options = {.threads = i == 0 ? 1 : threads};
        status = weft_executor_create_standard(&options, &s->executors[i]);
        if (status == NULL) status = run(s, i);
    }
    return status;
}

static void close_subject(subject *s)
{
    for (size_t i = 0; i < LEAVES; i++) weft_array_release(s->inputs[i]);
    for (int i = 0; i < 2; i++) {
        weft_array_release(s->outputs[i]);
        weft_executor_destroy(s->executors[i]);
    }
    weft_program_release(s->program);
}

/* ---- measuring ---- */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static weft_status *time_runs(subject *s, int which, int64_t repeat, double *out_ns)
{
    int64_t begin = now();
    for (int64_t i = 0; i < repeat; i++) WEFT_TRY(run(s, which));
    *out_ns = (double)(now() - begin) / (double)repeat;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts them. */
static double median(size_t count, double *values)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The median, and the order statistics between which it lies with 95 %; sorts them. */
static void print_interval(size_t count, double *values)
{
    double center = median(count, values);
    double half = 0.98 * sqrt((double)count), middle = (double)count / 2;
    size_t low = middle - half > 1 ? (size_t)(middle - half) - 1 : 0, high = count - 1 - low;
    printf("%6.3f [%.3f, %.3f]", center, values[low], values[high]);
}

static bool is_same(const weft_array *x, const weft_array *y)
{
    return memcmp(weft_array_data(x), weft_array_data(y), (size_t)weft_array_count(x) * sizeof(float)) == 0;
}

/* Rounds begin with one thread and with several in turn; pools that still spin take no processor from the other. */
static weft_status *measure(const branches_case *subject_case, unsigned threads, size_t rounds)
{
    subject s = {.program = NULL};
    double once = 0, *times[] = {calloc(rounds, sizeof once), calloc(rounds, sizeof once)};
    double *ratios = calloc(rounds, sizeof once);
    weft_status *status = open_subject(&s, subject_case, threads);
    if (status == NULL) status = time_runs(&s, 0, 3, &once);
    int64_t repeat = once < SAMPLE_NS ? (int64_t)(SAMPLE_NS / (once + 1)) + 1 : 1;
    for (size_t round = 0; status == NULL && round < rounds; round++) {
        for (int i = 0; status == NULL && i < 2; i++) {
            int which = (round + (size_t)i) % 2 == 1;
            nanosleep(&(struct timespec){.tv_nsec = CALM_NS}, NULL);
            status = time_runs(&s, which, 1, &once);
            if (status == NULL) status = time_runs(&s, which, repeat, &times[which][round]);
        }
        ratios[round] = times[0][round] / times[1][round];
    }
    if (status == NULL && !is_same(s.outputs[0], s.outputs[1]))
        status = weft_status_create(NULL, WEFT_DATA_ERROR, "branches", "the results of %s differ", subject_case->name);
    if (status == NULL) {
        printf("| %-9s | %10.2f | %10.2f | ", subject_case->name, median(rounds, times[0]) / 1000,
               median(rounds, times[1]) / 1000);
        print_interval(rounds, ratios);
        printf(" | %zu | %zu |\n", s.reports[0].peak_bytes, s.reports[1].peak_bytes);
        fflush(stdout);
    }
    close_subject(&s);
    free(times[0]);
    free(times[1]);
    free(ratios);
    return status;
}

/* ---- the command ---- */

static bool is_chosen(const char *name, int count, char **words)
{
    for (int i = 0; i < count; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0) return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    long threads = 2, rounds = 31;
    int first = 1;
    for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2)
        *(strcmp(argv[first], "--threads") == 0 ? &threads : &rounds) = strtol(argv[first + 1], NULL, 10);
    if (threads < 1 || rounds < 1 || rounds > 10000 || (first < argc && argv[first][0] == '-')) {
        fprintf(stderr, "usage: branches [--threads N] [--rounds N] [CASE ...]\n");
        return 2;
    }
    printf("| case | 1 thread, us | %ld threads, us | times as fast [95 %%] | peak of 1 | peak of %ld |\n", threads,
           threads);
    printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!is_chosen(cases[i].name, argc - first, argv + first)) continue;
        weft_status *status = measure(&cases[i], (unsigned)threads, (size_t)rounds);
        if (status == NULL) continue;
        fprintf(stderr, "branches: %s\n", weft_status_message(status));
        weft_status_destroy(status);
        return 1;
    }
    return 0;
}
