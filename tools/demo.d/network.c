/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include <weft/npy.h>
#include "demo.h"

/*
 * A network traced once with a symbolic batch, compiled once, and run for several batch sizes; each result is compared
 * with that of the reference runtime. Fails when one differs, or when more was compiled than the first run needed.
 */

enum { PARAMETER_COUNT = 5, INPUT_COUNT = PARAMETER_COUNT + 1, REPEATS = 21 };
static const char *const parameter_names[PARAMETER_COUNT] = {"w1", "b1", "w2", "b2", "mix"};
static const double tolerance = 1e-5;

typedef struct network {
    const char *folder;
    weft_graph *graph;
    weft_program *program;
    weft_executor *executor, *reference;
    weft_array *inputs[INPUT_COUNT]; /* x, then the parameters */
    uint64_t kernels;                /* compiled by the first run */
} network;

static double clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static weft_tensor parameter(weft_graph *graph, const char *name, weft_shape shape)
{
    return weft_input(graph, name, WEFT_F32, shape);
}

static weft_tensor trace(weft_graph *graph)
{
    weft_extent n = weft_symbol(graph, "n", 1, 65536);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, DEMO_PIXELS));
    weft_tensor w1 = parameter(graph, "w1", WEFT_SHAPE(DEMO_PIXELS, DEMO_HIDDEN));
    weft_tensor b1 = parameter(graph, "b1", WEFT_SHAPE(DEMO_HIDDEN));
    weft_tensor w2 = parameter(graph, "w2", WEFT_SHAPE(DEMO_HIDDEN, DEMO_CLASSES));
    weft_tensor b2 = parameter(graph, "b2", WEFT_SHAPE(DEMO_CLASSES));
    weft_tensor mix = parameter(graph, "mix", WEFT_SHAPE(DEMO_CLASSES, DEMO_GROUPS));
    weft_tensor h = weft_relu(weft_add(weft_matmul(x, w1), b1));
    weft_tensor p = weft_softmax(weft_add(weft_matmul(h, w2), b2), -1);
    return weft_einsum("bi,ij->bj", WEFT_TENSORS(p, mix), NULL);
}

/* The text of the graph, for `weft view` and `weft run`. */
static weft_status *write_graph(const network *demo, weft_tensor y)
{
    char path[4096], *text;
    WEFT_TRY(weft_graph_print(WEFT_TENSORS(y), &text));
    snprintf(path, sizeof path, "%s/network.weft", demo->folder);
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fputs(text, file) >= 0;
    if (file != NULL && fclose(file) != 0) written = false;
    weft_text_destroy(text);
    return written ? NULL : weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be written", path);
}

static weft_status *prepare(network *demo)
{
    char path[4096];
    WEFT_TRY(weft_graph_create(NULL, &demo->graph));
    weft_tensor y = trace(demo->graph);
    WEFT_TRY(weft_compile(demo->graph, WEFT_TENSORS(y), NULL, &demo->program));
    WEFT_TRY(write_graph(demo, y));
    WEFT_TRY(weft_executor_create_standard(NULL, &demo->executor));
    WEFT_TRY(weft_executor_create_standard(NULL, &demo->reference));
    for (int i = 0; i < PARAMETER_COUNT; i++) {
        snprintf(path, sizeof path, "%s/%s.npy", demo->folder, parameter_names[i]);
        WEFT_TRY(weft_npy_load(NULL, path, &demo->inputs[i + 1]));
    }
    return NULL;
}

static weft_status *print_program(const network *demo)
{
    char *kernels;
    WEFT_TRY(weft_program_emit(demo->program, WEFT_EMIT_LOOPS, NULL, NULL, &kernels));
    printf("\nThe program:\n\n%s\nIts kernels:\n\n%s\n", weft_program_text(demo->program), kernels);
    weft_text_destroy(kernels);
    return NULL;
}

static weft_status *run_on(const network *demo, weft_executor *executor, const char *runtime, weft_array **output,
                           weft_report *report)
{
    weft_run run = {.runtime = runtime,
                    .input_count = INPUT_COUNT,
                    .inputs = demo->inputs,
                    .output_count = 1,
                    .outputs = output,
                    .report = report};
    return weft_executor_run(executor, demo->program, &run);
}

static double largest_difference(const weft_array *a, const weft_array *b)
{
    const float *x = weft_array_data(a), *y = weft_array_data(b);
    double largest = 0;
    for (int64_t i = 0; i < weft_array_count(a); i++) {
        double difference = fabs((double)x[i] - (double)y[i]);
        if (!(difference <= largest)) largest = difference;
    }
    return largest;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of runs that write to `output` again. */
static weft_status *measure(network *demo, weft_array **output, double *out_us)
{
    double times[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        double begin = clock_us();
        WEFT_TRY(run_on(demo, demo->executor, "llvm", output, NULL));
        times[i] = clock_us() - begin;
    }
    qsort(times, REPEATS, sizeof *times, compare_times);
    *out_us = times[REPEATS / 2];
    return NULL;
}

static weft_status *check(const network *demo, int batch, double difference)
{
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(demo->executor, &counters);
    if (!(difference <= tolerance))
        return weft_status_create(NULL, WEFT_INTERNAL, NULL, "batch %d differs from the reference by %g, more than %g",
                                  batch, difference, tolerance);
    if (counters.kernels_compiled != demo->kernels)
        return weft_status_create(NULL, WEFT_INTERNAL, NULL, "batch %d compiled kernels: %" PRIu64 " after %" PRIu64,
                                  batch, counters.kernels_compiled, demo->kernels);
    return NULL;
}

static weft_status *run_loaded(network *demo, int batch, weft_array **output, weft_array **expected)
{
    weft_report report;
    weft_executor_counters counters = {.size = sizeof counters};
    double us;
    WEFT_TRY(run_on(demo, demo->executor, "llvm", output, &report));
    weft_executor_counters_read(demo->executor, &counters);
    if (demo->kernels == 0) demo->kernels = counters.kernels_compiled;
    WEFT_TRY(measure(demo, output, &us));
    WEFT_TRY(run_on(demo, demo->reference, "ref", expected, NULL));
    double difference = largest_difference(*output, *expected);
    printf("%6d %10.2f %12.1f %10zu %8" PRIu64 " %12.3g\n", batch, (double)report.compile_ns * 1e-6, us,
           report.peak_bytes, counters.kernels_compiled, difference);
    return check(demo, batch, difference);
}

static weft_status *run_batch(network *demo, int batch)
{
    char path[4096];
    weft_array *output = NULL, *expected = NULL;
    demo_batch_path(path, sizeof path, demo->folder, batch);
    weft_array_release(demo->inputs[0]);
    demo->inputs[0] = NULL;
    WEFT_TRY(weft_npy_load(NULL, path, &demo->inputs[0]));
    weft_status *status = run_loaded(demo, batch, &output, &expected);
    weft_array_release(output);
    weft_array_release(expected);
    return status;
}

static void print_cache(const char *name, const weft_cache_counters *cache)
{
    printf("%s: %" PRIu64 " hits, %" PRIu64 " misses, %zu entries, %zu bytes\n", name, cache->hits, cache->misses,
           cache->entries, cache->bytes);
}

static weft_status *print_caches(const network *demo)
{
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(demo->executor, &counters);
    printf("\n");
    print_cache("variants", &counters.variants);
    print_cache("kernels", &counters.kernels);
    if (counters.variants.entries == 1 && counters.variants.misses == 1) return NULL;
    return weft_status_create(NULL, WEFT_INTERNAL, NULL, "%" PRIu64 " variants were built where one serves all batches",
                              counters.variants.misses);
}

static weft_status *run_all(network *demo)
{
    WEFT_TRY(prepare(demo));
    WEFT_TRY(print_program(demo));
    printf("%6s %10s %12s %10s %8s %12s\n", "batch", "compile ms", "run us", "peak bytes", "kernels", "max error");
    for (int i = 0; i < DEMO_BATCH_COUNT; i++) WEFT_TRY(run_batch(demo, demo_batches[i]));
    return print_caches(demo);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: demo-network FOLDER\n");
        return 2;
    }
    network demo = {.folder = argv[1]};
    weft_status *status = run_all(&demo);
    for (int i = 0; i < INPUT_COUNT; i++) weft_array_release(demo.inputs[i]);
    weft_executor_destroy(demo.executor);
    weft_executor_destroy(demo.reference);
    weft_program_release(demo.program);
    weft_graph_destroy(demo.graph);
    if (status == NULL) return 0;
    fprintf(stderr, "demo-network: %s\n", weft_status_message(status));
    weft_status_destroy(status);
    return 1;
}
