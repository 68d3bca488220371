/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <pthreadpool.h>

enum { ARRAYS = CASE_INPUTS + 1, TRIALS = 5, HUGE_PAGE = 1 << 21 };

struct weft_bench {
    const weft_bench_case *subject;
    void *memory[ARRAYS]; /* the output is the last of input_count + 1 */
    weft_array *arrays[ARRAYS];
    case_data data;
    case_floor floor;
    pthreadpool_t pool; /* the floor's */
    unsigned threads;
    weft_executor *executor;
    weft_program *program;
    weft_bench_facts facts;
};

int64_t weft_bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- arrays ---- */

static weft_dtype dtype_of(const weft_bench_case *subject)
{
    return strcmp(subject->dtype, "f64") == 0 ? WEFT_F64 : WEFT_F32;
}

static weft_dtype dtype_of_tensor(const weft_bench_case *subject, const case_tensor *tensor)
{
    return tensor->below != 0 ? WEFT_I64 : dtype_of(subject);
}

static size_t count_of(const case_tensor *tensor)
{
    size_t count = 1;
    for (size_t axis = 0; axis < tensor->rank; axis++) count *= (size_t)tensor->shape[axis];
    return count;
}

static void fill(void *memory, weft_dtype dtype, const case_tensor *tensor, uint64_t seed)
{
    double reach = tensor->reach == 0 ? 1 : tensor->reach;
    size_t count = count_of(tensor);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double value = ((double)(int64_t)(seed >> 40) / (1 << 23) - 1) * reach;
        if (tensor->below != 0) ((int64_t *)memory)[i] = (int64_t)((seed >> 33) % (uint64_t)tensor->below);
        else if (dtype == WEFT_F64) ((double *)memory)[i] = value;
        else ((float *)memory)[i] = (float)value;
    }
}

void *weft_bench_allocate(size_t bytes)
{
    size_t unit = bytes < HUGE_PAGE ? 64 : HUGE_PAGE, rounded = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, rounded);
    if (memory == NULL) return NULL;
    if (unit == HUGE_PAGE) madvise(memory, rounded, MADV_HUGEPAGE);
    return memset(memory, 0, rounded);
}

static weft_status *create_array(weft_bench *bench, size_t number, const case_tensor *tensor)
{
    weft_dtype dtype = dtype_of_tensor(bench->subject, tensor);
    bench->memory[number] = weft_bench_allocate(count_of(tensor) * weft_dtype_size(dtype));
    if (bench->memory[number] == NULL) return weft_status_out_of_memory();
    fill(bench->memory[number], dtype, tensor, number);
    return weft_array_wrap(NULL, dtype, tensor->rank, tensor->shape, NULL, bench->memory[number], NULL, NULL,
                           &bench->arrays[number]);
}

static weft_status *create_arrays(weft_bench *bench)
{
    const weft_bench_case *subject = bench->subject;
    const case_tensor *first = &subject->inputs[0];
    for (size_t i = 0; i < subject->input_count; i++) WEFT_TRY(create_array(bench, i, &subject->inputs[i]));
    WEFT_TRY(create_array(bench, subject->input_count, &subject->output));
    bench->data = (case_data){.output = bench->memory[subject->input_count]};
    memcpy(bench->data.inputs, bench->memory, sizeof bench->data.inputs);
    bench->data.columns = first->shape[first->rank - 1];
    bench->data.rows = (int64_t)count_of(first) / bench->data.columns;
    if (subject->scratch == 0) return NULL;
    bench->data.scratch = weft_bench_allocate(subject->scratch * sizeof *bench->data.scratch);
    if (bench->data.scratch == NULL) return weft_status_out_of_memory();
    subject->prepare(&bench->data);
    return NULL;
}

/* ---- the floor ---- */

static void run_chunk(void *context, size_t start, size_t count)
{
    const weft_bench *bench = context;
    bench->floor(&bench->data, (int64_t)start, (int64_t)(start + count));
}

int64_t weft_bench_run_floor(const weft_bench *bench, int64_t repeat)
{
    size_t rows = (size_t)bench->subject->rows, chunks = (size_t)bench->threads * bench->subject->chunks;
    bool serial = bench->threads == 1 || chunks == 0;
    int64_t begin = weft_bench_now();
    for (int64_t i = 0; i < repeat; i++) {
        if (serial) bench->floor(&bench->data, 0, (int64_t)rows);
        else
            pthreadpool_parallelize_1d_tile_1d(bench->pool, run_chunk, (void *)bench, rows, (rows - 1) / chunks + 1, 0);
    }
    return weft_bench_now() - begin;
}

/* The faster one of the case's floors. */
static void choose_floor(weft_bench *bench)
{
    int64_t least = INT64_MAX;
    case_floor best = NULL;
    for (int i = 0; i < CASE_FLOORS && bench->subject->floors[i] != NULL; i++) {
        bench->floor = bench->subject->floors[i];
        weft_bench_run_floor(bench, 1);
        for (int trial = 0; trial < TRIALS; trial++) {
            int64_t time = weft_bench_run_floor(bench, 1);
            if (time >= least) continue;
            least = time;
            best = bench->floor;
        }
    }
    bench->floor = best;
}

/* ---- the program ---- */

static weft_status *trace(const weft_bench_case *subject, weft_graph *graph, weft_program **out_program)
{
    static const char *const names[CASE_INPUTS] = {"a", "b", "c"};
    weft_tensor inputs[CASE_INPUTS] = {{0}};
    for (size_t i = 0; i < subject->input_count; i++) {
        weft_extent extents[CASE_RANK];
        const case_tensor *tensor = &subject->inputs[i];
        for (size_t axis = 0; axis < tensor->rank; axis++) extents[axis] = weft_extent_of(tensor->shape[axis]);
        inputs[i] = weft_input(graph, names[i], dtype_of_tensor(subject, tensor), (weft_shape){tensor->rank, extents});
    }
    return weft_compile(graph, WEFT_TENSORS(subject->trace(inputs)), NULL, out_program);
}

static weft_status *create_program(const weft_bench_case *subject, weft_program **out_program)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_status *status = trace(subject, graph, out_program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *run(weft_bench *bench, weft_report *report)
{
    weft_array *outputs[] = {bench->arrays[bench->subject->input_count]};
    weft_run call = {.input_count = bench->subject->input_count,
                     .inputs = bench->arrays,
                     .output_count = 1,
                     .outputs = outputs,
                     .runtime = "llvm",
                     .report = report};
    return weft_executor_run(bench->executor, bench->program, &call);
}

weft_status *weft_bench_run(weft_bench *bench, int64_t repeat, int64_t *out_ns)
{
    int64_t begin = weft_bench_now();
    for (int64_t i = 0; i < repeat; i++) WEFT_TRY(run(bench, NULL));
    *out_ns = weft_bench_now() - begin;
    return NULL;
}

weft_status *weft_bench_load_generator(weft_executor *executor)
{
    weft_graph *graph;
    weft_program *program = NULL;
    weft_array *outputs[1] = {NULL};
    weft_run call = {.output_count = 1, .outputs = outputs, .runtime = "llvm"};
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_status *status =
        weft_compile(graph, WEFT_TENSORS(weft_iota(graph, WEFT_F32, WEFT_SHAPE(3), 0)), NULL, &program);
    if (status == NULL) status = weft_executor_run(executor, program, &call);
    weft_array_release(outputs[0]);
    weft_program_release(program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *compile(weft_bench *bench)
{
    weft_report report;
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.threads = bench->threads}, &bench->executor));
    WEFT_TRY(weft_bench_load_generator(bench->executor));
    int64_t begin = weft_bench_now();
    WEFT_TRY(create_program(bench->subject, &bench->program));
    bench->facts.program_ns = weft_bench_now() - begin;
    WEFT_TRY(run(bench, &report));
    bench->facts.compile_ns = report.compile_ns;
    bench->facts.peak_bytes = report.peak_bytes;
    bench->facts.steps = report.steps;
    return NULL;
}

/* ---- comparison ---- */

static double element(const void *memory, weft_dtype dtype, size_t i)
{
    return dtype == WEFT_F64 ? ((const double *)memory)[i] : (double)((const float *)memory)[i];
}

/* Greatest difference over the greatest magnitude; infinite where one is no number. */
static double difference(const void *a, const void *b, weft_dtype dtype, size_t count)
{
    double most = 0, magnitude = 0;
    for (size_t i = 0; i < count; i++) {
        double x = element(a, dtype, i), y = element(b, dtype, i);
        if (isnan(x) || isnan(y)) return INFINITY;
        most = fmax(most, fabs(x - y));
        magnitude = fmax(magnitude, fabs(y));
    }
    return most == 0 ? 0 : most / magnitude;
}

/* The output is the program's before, the floor's after. */
static weft_status *check(weft_bench *bench)
{
    const weft_bench_case *subject = bench->subject;
    weft_dtype dtype = dtype_of(subject);
    size_t count = count_of(&subject->output), bytes = count * weft_dtype_size(dtype);
    void *ours = malloc(bytes);
    if (ours == NULL) return weft_status_out_of_memory();
    memcpy(ours, bench->data.output, bytes);
    memset(bench->data.output, 0xff, bytes);
    choose_floor(bench);
    bench->facts.error = difference(ours, bench->data.output, dtype, count);
    free(ours);
    if (bench->facts.error <= subject->tolerance) return NULL;
    return weft_status_create(NULL, WEFT_DATA_ERROR, "weft_bench_create",
                              "%s differs from the floor by %g of the greatest magnitude, more than %g", subject->name,
                              bench->facts.error, subject->tolerance);
}

/* ---- the whole ---- */

static weft_status *fill_bench(weft_bench *bench)
{
    WEFT_TRY(create_arrays(bench));
    memset(bench->data.output, 0xff, count_of(&bench->subject->output) * weft_dtype_size(dtype_of(bench->subject)));
    bench->pool = pthreadpool_create(bench->threads);
    if (bench->pool == NULL) return weft_status_out_of_memory();
    WEFT_TRY(compile(bench));
    return check(bench);
}

weft_status *weft_bench_create(size_t index, unsigned threads, weft_bench **out_bench)
{
    const weft_bench_case *subject = weft_bench_case_at(index);
    if (subject == NULL)
        return weft_status_create(NULL, WEFT_OUT_OF_RANGE, "weft_bench_create", "there is no case %zu", index);
    weft_bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) return weft_status_out_of_memory();
    bench->subject = subject;
    bench->threads = threads == 0 ? 1 : threads;
    weft_status *status = fill_bench(bench);
    if (status == NULL) *out_bench = bench;
    else weft_bench_destroy(bench);
    return status;
}

void weft_bench_destroy(weft_bench *bench)
{
    if (bench == NULL) return;
    if (bench->pool != NULL) pthreadpool_destroy(bench->pool);
    weft_executor_destroy(bench->executor);
    weft_program_release(bench->program);
    for (size_t i = 0; i < ARRAYS; i++) {
        weft_array_release(bench->arrays[i]);
        free(bench->memory[i]);
    }
    free(bench->data.scratch);
    free(bench);
}

const weft_bench_facts *weft_bench_facts_of(const weft_bench *bench)
{
    return &bench->facts;
}

void *weft_bench_memory(const weft_bench *bench, size_t number)
{
    return number < ARRAYS ? bench->memory[number] : NULL;
}
