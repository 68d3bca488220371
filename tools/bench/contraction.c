/* SPDX-License-Identifier: Apache-2.0 */
#include "contraction.h"
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthreadpool.h>

enum { COPIES = 20, COPY_BLOCK = 1 << 20 };

struct weft_bench_contraction {
    weft_bench_contraction_options options;
    weft_dtype dtype;
    weft_einsum_plan *plan;
    weft_executor *executor;
    weft_program *program;
    weft_array **arrays; /* operands, then the result */
    weft_bench_contraction_facts facts;
};

static weft_status *plan(weft_bench_contraction *c)
{
    const weft_bench_contraction_options *o = &c->options;
    weft_einsum_options options = {.dtype = c->dtype, .threads = o->threads, .time_budget = o->time_budget};
    int64_t begin = weft_bench_now();
    WEFT_TRY(weft_einsum_plan_create(NULL, o->text, o->operand_count, o->shapes, &options, &c->plan));
    c->facts.plan_ns = weft_bench_now() - begin;
    c->facts.predicted_seconds = weft_einsum_plan_seconds(c->plan);
    return NULL;
}

static weft_status *create_arrays(weft_bench_contraction *c, void *const *memory)
{
    size_t count = c->options.operand_count;
    c->arrays = calloc(count + 1, sizeof(weft_array *));
    if (c->arrays == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i <= count; i++) {
        weft_ints shape = i < count ? c->options.shapes[i] : weft_einsum_plan_shape(c->plan);
        WEFT_TRY(weft_array_wrap(NULL, c->dtype, shape.count, shape.items, NULL, memory[i], NULL, NULL, &c->arrays[i]));
    }
    return NULL;
}

/* ---- the program ---- */

static weft_status *input(const weft_bench_contraction *c, weft_graph *graph, size_t number, weft_tensor *out_tensor)
{
    weft_ints shape = c->options.shapes[number];
    weft_extent *extents = calloc(shape.count + 1, sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    for (size_t axis = 0; axis < shape.count; axis++) extents[axis] = weft_extent_of(shape.items[axis]);
    char name[24];
    snprintf(name, sizeof name, "x%zu", number);
    *out_tensor = weft_input(graph, name, c->dtype, (weft_shape){shape.count, extents});
    free(extents);
    return NULL;
}

static weft_status *trace(weft_bench_contraction *c, weft_graph *graph, weft_tensor *inputs)
{
    size_t count = c->options.operand_count;
    for (size_t i = 0; i < count; i++) WEFT_TRY(input(c, graph, i, &inputs[i]));
    weft_tensor result = weft_einsum(c->options.text, (weft_tensors){count, inputs},
                                     &(weft_einsum_options){.order = WEFT_EINSUM_TREE, .tree = c->plan});
    return weft_compile(graph, WEFT_TENSORS(result), NULL, &c->program);
}

static weft_status *create_program(weft_bench_contraction *c)
{
    weft_graph *graph;
    weft_tensor *inputs = calloc(c->options.operand_count, sizeof *inputs);
    if (inputs == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_create(NULL, &graph);
    if (status == NULL) {
        status = trace(c, graph, inputs);
        weft_graph_destroy(graph);
    }
    free(inputs);
    return status;
}

static weft_status *run(weft_bench_contraction *c, weft_report *report)
{
    size_t count = c->options.operand_count;
    weft_run call = {.input_count = count,
                     .inputs = c->arrays,
                     .output_count = 1,
                     .outputs = &c->arrays[count],
                     .runtime = "llvm",
                     .report = report};
    return weft_executor_run(c->executor, c->program, &call);
}

weft_status *weft_bench_contraction_compile(weft_bench_contraction *c, void *const *memory)
{
    weft_report report;
    WEFT_TRY(create_arrays(c, memory));
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.threads = c->options.threads}, &c->executor));
    WEFT_TRY(weft_executor_register_extension(c->executor, weft_einsum_extension()));
    WEFT_TRY(weft_bench_load_generator(c->executor));
    int64_t begin = weft_bench_now();
    WEFT_TRY(create_program(c));
    c->facts.program_ns = weft_bench_now() - begin;
    WEFT_TRY(run(c, &report));
    c->facts.compile_ns = report.compile_ns;
    c->facts.first_ns = report.run_ns;
    c->facts.peak_bytes = report.peak_bytes;
    c->facts.steps = report.steps;
    return NULL;
}

static weft_status *run_arrays(weft_bench_contraction *c)
{
    size_t count = c->options.operand_count;
    return weft_einsum_arrays(c->executor, c->options.text, count, c->arrays, NULL, &c->arrays[count]);
}

weft_status *weft_bench_contraction_run(weft_bench_contraction *c, bool arrays, int64_t repeat, int64_t *out_ns)
{
    int64_t begin = weft_bench_now();
    for (int64_t i = 0; i < repeat; i++) WEFT_TRY(arrays ? run_arrays(c) : run(c, NULL));
    *out_ns = weft_bench_now() - begin;
    return NULL;
}

/* ---- the whole ---- */

weft_status *weft_bench_contraction_create(const weft_bench_contraction_options *options,
                                           weft_bench_contraction **out_contraction)
{
    weft_bench_contraction *c = calloc(1, sizeof *c);
    if (c == NULL) return weft_status_out_of_memory();
    c->options = *options;
    weft_status *status = NULL;
    if (!weft_dtype_find(options->dtype, &c->dtype))
        status = weft_status_create(NULL, WEFT_OUT_OF_RANGE, "weft_bench_contraction_create", "there is no dtype %s",
                                    options->dtype);
    if (status == NULL) status = plan(c);
    if (status == NULL) *out_contraction = c;
    else weft_bench_contraction_destroy(c);
    return status;
}

void weft_bench_contraction_destroy(weft_bench_contraction *c)
{
    if (c == NULL) return;
    weft_executor_destroy(c->executor);
    weft_program_release(c->program);
    for (size_t i = 0; c->arrays != NULL && i <= c->options.operand_count; i++) weft_array_release(c->arrays[i]);
    free(c->arrays);
    weft_einsum_plan_destroy(c->plan);
    free(c);
}

const weft_bench_contraction_facts *weft_bench_contraction_facts_of(const weft_bench_contraction *c)
{
    return &c->facts;
}

weft_ints weft_bench_contraction_order(const weft_bench_contraction *c)
{
    return weft_einsum_plan_ssa(c->plan);
}

/* ---- bandwidth ---- */

typedef struct copying {
    const char *from;
    char *to;
} copying;

static void copy_block(void *context, size_t start, size_t count)
{
    const copying *c = context;
    memcpy(c->to + start, c->from + start, count);
}

/* Seconds of the fastest copy. */
static double time_copies(copying c, unsigned threads, size_t bytes)
{
    pthreadpool_t pool = pthreadpool_create(threads);
    int64_t least = INT64_MAX;
    for (int i = 0; i < COPIES; i++) {
        int64_t begin = weft_bench_now();
        pthreadpool_parallelize_1d_tile_1d(pool, copy_block, &c, bytes, COPY_BLOCK, 0);
        int64_t spent = weft_bench_now() - begin;
        if (spent < least) least = spent;
    }
    pthreadpool_destroy(pool);
    return (double)least * 1e-9;
}

double weft_bench_bandwidth(unsigned threads, size_t bytes)
{
    copying c = {weft_bench_allocate(bytes), weft_bench_allocate(bytes)};
    double seconds = c.from == NULL || c.to == NULL ? INFINITY : time_copies(c, threads, bytes);
    free((void *)c.from);
    free(c.to);
    return 2 * (double)bytes / seconds;
}
