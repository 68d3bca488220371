/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object COUNT: times the program of one object, linked as `p`, on random data, one thread: prints the least and the
 * median nanoseconds of COUNT runs, of the first run from its preparation on, the bytes of the workspace, and the most
 * memory that the process had, in KB.
 * object GRAPH.weft COUNT (with -DJIT): the same with an executor, without the last three.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef JIT
#include <weft/weft.h>
#else
#include "p.h"
#endif

enum { ARRAYS = 32, AXES = 8 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Floats of f32 and f64 in [-1, 1). */
static void fill(void *data, size_t count, size_t size)
{
    static unsigned state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        double value = (double)(state >> 8) / (1 << 23) - 1;
        if (size == sizeof(float)) ((float *)data)[i] = (float)value;
        else ((double *)data)[i] = value;
    }
}

static void report(size_t count, double *times)
{
    qsort(times, count, sizeof *times, compare);
    printf("%.1f %.1f", times[0], times[count / 2]);
}

#ifdef JIT
static weft_status *run(const char *path, size_t count, double *times)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t length = file == NULL ? 0 : fread(text, 1, sizeof text, file);
    weft_module *module;
    weft_program *program;
    weft_executor *executor;
    weft_array *arrays[ARRAYS] = {NULL};
    if (file != NULL) fclose(file);
    WEFT_TRY(weft_graph_parse(path, text, length, NULL, 0, NULL, &module));
    WEFT_TRY(weft_compile_named(module->graph, module->outputs, module->output_names, NULL, &program));
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    size_t inputs = weft_program_input_count(program), outputs = weft_program_output_count(program);
    for (size_t i = 0; i < inputs + outputs; i++) {
        bool is_input = i < inputs;
        int64_t shape[AXES], elements = 1;
        weft_dtype dtype =
            is_input ? weft_program_input_dtype(program, i) : weft_program_output_dtype(program, i - inputs);
        size_t rank = is_input ? weft_program_input_rank(program, i) : weft_program_output_rank(program, i - inputs);
        const weft_program_axis *axes =
            is_input ? weft_program_input_axes(program, i) : weft_program_output_axes(program, i - inputs);
        for (size_t axis = 0; axis < rank; axis++) elements *= shape[axis] = axes[axis].size;
        WEFT_TRY(weft_array_create(NULL, dtype, rank, shape, &arrays[i]));
        if (is_input) fill(weft_array_data(arrays[i]), (size_t)elements, weft_dtype_size(dtype));
    }
    const weft_run how = {.input_count = inputs, .inputs = arrays, .output_count = outputs, .outputs = arrays + inputs};
    for (size_t i = 0; i < count; i++) {
        double begin = now();
        WEFT_TRY(weft_executor_run(executor, program, &how));
        times[i] = now() - begin;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    size_t count = argc == 3 ? (size_t)atoi(argv[2]) : 0;
    double *times = malloc((count + 1) * sizeof *times);
    weft_status *status = count == 0 ? NULL : run(argv[1], count, times);
    if (count == 0 || status != NULL) return printf("%s\n", weft_status_message(status)), 1;
    report(count, times);
    printf("\n");
    return 0;
}
#else
/* Of this program alone: what getrusage says includes the process that started it. */
static long most_memory(void)
{
    char line[256];
    long most = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0) most = atol(line + 6);
    if (file != NULL) fclose(file);
    return most;
}

static size_t elements_of(const weft_rt_value *value)
{
    size_t count = 1;
    for (uint32_t axis = 0; axis < value->rank; axis++) count *= (size_t)atoll(value->extents[axis]);
    return count;
}

int main(int argc, char **argv)
{
    union {
        p_call call;
        void *words[2 * ARRAYS];
    } u = {.words = {NULL}};
    const weft_rt_manifest *m = p_manifest();
    size_t count = argc == 2 ? (size_t)atoi(argv[1]) : 0;
    double *times = malloc((count + 1) * sizeof *times);
    weft_rt_workspace workspace = {0};
    weft_rt_error error;
    for (uint32_t i = 0; i < m->input_count + m->output_count; i++) {
        const weft_rt_value *value = i < m->input_count ? &m->inputs[i] : &m->outputs[i - m->input_count];
        size_t size = strcmp(value->dtype, "f64") == 0 ? 8 : 4, elements = elements_of(value);
        u.words[i] = aligned_alloc(64, (elements * size + 64) / 64 * 64);
        fill(u.words[i], elements, size);
    }
    double begin = now();
    if (p_prepare(&u.call, &workspace, NULL, &error) != WEFT_RT_OK) return printf("%s\n", error.message), 1;
    workspace.memory = malloc(workspace.size);
    double first = 0;
    for (size_t i = 0; i < count; i++) {
        double start = now();
        if (p_run(&u.call, &workspace, &error) != WEFT_RT_OK) return printf("%s\n", error.message), 1;
        times[i] = now() - start;
        if (i == 0) first = now() - begin;
    }
    report(count, times);
    printf(" %.1f %zu %ld\n", first, workspace.size, most_memory());
    return 0;
}
#endif
