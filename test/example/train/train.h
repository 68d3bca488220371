/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRAIN_H
#define TRAIN_H
/*
 * What the examples share: a graph whose inputs have arrays, parameters with the state of Adam beside them, and steps
 * that update these in place. An error ends the program.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/weft.h>

enum { TRAIN_MOST = 128 };

typedef struct trainer {
    weft_graph *graph;
    weft_executor *executor;
    weft_dtype dtype; /* of parameters */
    uint32_t random;
    size_t input_count, parameter_count;
    char names[TRAIN_MOST][32]; /* of inputs */
    weft_tensor inputs[TRAIN_MOST];
    weft_array *arrays[TRAIN_MOST];
    size_t parameters[TRAIN_MOST]; /* which of the inputs; mean and mean of squares follow each */
    int64_t step;
    double loss;
} trainer;

/* A program, and the arrays that it is run with. */
typedef struct train_program {
    weft_program *program;
    weft_run run;
    weft_array *inputs[TRAIN_MOST], *outputs[TRAIN_MOST];
    bool donated[TRAIN_MOST];
} train_program;

static inline void train_check(weft_status *status)
{
    if (status == NULL) return;
    fprintf(stderr, "%s: %s\n", weft_status_where(status), weft_status_message(status));
    exit(1);
}

static inline void train_begin(trainer *t, weft_dtype dtype)
{
    *t = (trainer){.dtype = dtype, .random = 1};
    train_check(weft_graph_create(NULL, &t->graph));
    train_check(weft_executor_create_standard(NULL, &t->executor));
}

static inline void train_end(trainer *t)
{
    for (size_t i = 0; i < t->input_count; i++) weft_array_release(t->arrays[i]);
    weft_executor_destroy(t->executor);
    weft_graph_destroy(t->graph);
}

/* From 0 to 1, without 1. */
static inline double train_random(trainer *t)
{
    t->random = t->random * 1664525 + 1013904223;
    return (t->random >> 8) / 16777216.0;
}

/* An array over `data`, or with memory of its own that is zero. */
static inline weft_array *train_array(weft_dtype dtype, size_t rank, const int64_t *shape, void *data)
{
    weft_array *array;
    if (data != NULL) train_check(weft_array_wrap(NULL, dtype, rank, shape, NULL, data, NULL, NULL, &array));
    else train_check(weft_array_create(NULL, dtype, rank, shape, &array));
    if (data == NULL) memset(weft_array_data(array), 0, (size_t)weft_array_count(array) * weft_dtype_size(dtype));
    return array;
}

/* An input whose elements are `data`, where they are at each run; or zeros, for NULL. */
static inline weft_tensor train_input(trainer *t, const char *name, weft_dtype dtype, size_t rank, const int64_t *shape,
                                      void *data)
{
    weft_extent extents[WEFT_MAX_RANK];
    size_t i = t->input_count++;
    for (size_t k = 0; k < rank; k++) extents[k] = weft_extent_of(shape[k]);
    snprintf(t->names[i], sizeof t->names[i], "%s", name);
    t->inputs[i] = weft_input(t->graph, t->names[i], dtype, (weft_shape){rank, extents});
    t->arrays[i] = train_array(dtype, rank, shape, data);
    return t->inputs[i];
}

/* A parameter, which begins with random numbers from -size to size. */
static inline weft_tensor train_parameter(trainer *t, const char *name, size_t rank, const int64_t *shape, double size)
{
    size_t i = t->input_count;
    char mean[32], square[32];
    snprintf(mean, sizeof mean, "%s_mean", name);
    snprintf(square, sizeof square, "%s_square", name);
    t->parameters[t->parameter_count++] = i;
    train_input(t, name, t->dtype, rank, shape, NULL);
    train_input(t, mean, t->dtype, rank, shape, NULL);
    train_input(t, square, t->dtype, rank, shape, NULL);
    void *data = weft_array_data(t->arrays[i]);
    for (int64_t k = 0; k < weft_array_count(t->arrays[i]); k++) {
        double value = size * (2 * train_random(t) - 1);
        if (t->dtype == WEFT_F64) ((double *)data)[k] = value;
        else ((float *)data)[k] = (float)value;
    }
    return t->inputs[i];
}
#define TRAIN_SHAPE(...)                                                                                               \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                                    \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* The number of the input of that name. */
static inline size_t train_find(const trainer *t, const char *name)
{
    size_t i = 0;
    while (strcmp(t->names[i], name) != 0) i++;
    return i;
}

/* Compiles, and finds the arrays of those inputs that the outputs need. */
static inline void train_compile(trainer *t, weft_tensors outputs, train_program *out)
{
    train_check(weft_compile(t->graph, outputs, NULL, &out->program));
    out->run = (weft_run){.input_count = weft_program_input_count(out->program),
                          .inputs = out->inputs,
                          .output_count = outputs.count,
                          .outputs = out->outputs,
                          .donated = out->donated};
    for (size_t i = 0; i < out->run.input_count; i++)
        out->inputs[i] = t->arrays[train_find(t, weft_program_input_name(out->program, i))];
}

/* The program of one value, which is written to `data`. */
static inline void train_compile_value(trainer *t, weft_tensor value, size_t rank, const int64_t *shape, void *data,
                                       train_program *out)
{
    *out = (train_program){.outputs = {train_array(weft_tensor_dtype(value), rank, shape, data)}};
    train_compile(t, WEFT_TENSORS(value), out);
}

/* A program of one step of Adam down the loss, by a rate that falls to a hundredth over `steps` along a cosine. It
 * writes parameters and state where they are. */
static inline void train_compile_step(trainer *t, weft_tensor loss, double rate, int64_t steps, train_program *out)
{
    weft_tensor wrt[TRAIN_MOST], gradients[TRAIN_MOST], outputs[TRAIN_MOST];
    size_t at = t->input_count, count = 0;
    *out = (train_program){0};
    weft_tensor step = train_input(t, "step", WEFT_I64, 0, NULL, &t->step);
    weft_tensor now = weft_rate_cosine(step, rate, rate / 100, 0, steps);
    for (size_t k = 0; k < t->parameter_count; k++) wrt[k] = t->inputs[t->parameters[k]];
    weft_grad(loss, (weft_tensors){t->parameter_count, wrt}, gradients);
    for (size_t k = 0; k < t->parameter_count; k++, count += 3) {
        size_t i = t->parameters[k];
        outputs[count] = weft_adam(wrt[k], gradients[k], now, step, t->inputs[i + 1], t->inputs[i + 2], NULL,
                                   &outputs[count + 1], &outputs[count + 2]);
        memcpy(&out->outputs[count], &t->arrays[i], 3 * sizeof *t->arrays);
    }
    outputs[count] = weft_add(step, 1);
    out->outputs[count++] = t->arrays[at];
    outputs[count] = weft_cast(loss, WEFT_F64);
    out->outputs[count++] = train_array(WEFT_F64, 0, NULL, &t->loss);
    train_compile(t, (weft_tensors){count, outputs}, out);
    for (size_t i = 0; i < out->run.input_count; i++)
        for (size_t k = 0; k < count; k++) out->donated[i] |= out->inputs[i] == out->outputs[k];
}

static inline void train_execute(trainer *t, const train_program *program)
{
    train_check(weft_executor_run(t->executor, program->program, &program->run));
}

/* Releases a program and the array of its last output: others are inputs. */
static inline void train_release(train_program *program)
{
    weft_array_release(program->outputs[program->run.output_count - 1]);
    weft_program_release(program->program);
}

/* Takes the steps, before each of which `feed` fills the arrays of the data, if it is not NULL. */
static inline void train_run(trainer *t, const train_program *program, int64_t steps,
                             void (*feed)(trainer *t, void *context), void *context)
{
    clock_t begin = clock();
    for (int64_t i = 0; i < steps; i++) {
        if (feed != NULL) feed(t, context);
        train_execute(t, program);
        if (i % (steps / 5) == 0) printf("step %4" PRId64 ": loss %.6f\n", i, t->loss);
    }
    printf("step %4" PRId64 ": loss %.6f, %.2f s\n", steps, t->loss, (double)(clock() - begin) / CLOCKS_PER_SEC);
}
#endif
