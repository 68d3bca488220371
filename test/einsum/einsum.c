/* SPDX-License-Identifier: Apache-2.0 */
#include "test/einsum/einsum.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

/* ---- arrays ---- */

static int64_t column_major_strides(size_t rank, const int64_t *shape, int64_t *out_strides)
{
    int64_t count = 1;
    for (size_t i = 0; i < rank; i++) {
        out_strides[i] = count;
        count *= shape[i];
    }
    return count;
}

weft_array *weft_test_column_major(size_t rank, const int64_t *shape, const double *data)
{
    int64_t strides[WEFT_MAX_RANK];
    size_t size = (size_t)column_major_strides(rank, shape, strides) * sizeof *data;
    double *copy = malloc(size + 1);
    assert_non_null(copy);
    if (size > 0) memcpy(copy, data, size);
    weft_array *array;
    weft_test_ok(weft_array_wrap(NULL, WEFT_F64, rank, shape, strides, copy, free, copy, &array));
    return array;
}

void weft_test_read_column_major(const weft_array *array, double *out_data)
{
    int64_t strides[WEFT_MAX_RANK];
    weft_array *view;
    column_major_strides(weft_array_rank(array), weft_array_shape(array), strides);
    weft_test_ok(weft_array_wrap(NULL, WEFT_F64, weft_array_rank(array), weft_array_shape(array), strides, out_data,
                                 NULL, NULL, &view));
    weft_test_ok(weft_array_copy(view, array));
    weft_array_release(view);
}

/* ---- calls ---- */

weft_executor *weft_test_einsum_executor(bool llvm)
{
    weft_executor *executor;
    weft_test_ok(weft_executor_create(&(weft_executor_options){.threads = 2}, &executor));
    weft_test_ok(weft_executor_register_runtime(executor, llvm ? weft_runtime_llvm() : weft_runtime_reference()));
    weft_test_ok(weft_executor_register_extension(executor, weft_einsum_extension()));
    return executor;
}

static weft_tensor trace_input(weft_graph *graph, const weft_test_einsum *call, size_t i)
{
    const weft_array *array = call->operands[i];
    weft_extent extents[WEFT_MAX_RANK];
    char name[48];
    for (size_t axis = 0; axis < weft_array_rank(array); axis++) {
        int64_t extent = weft_array_shape(array)[axis];
        snprintf(name, sizeof name, "n%zu_%zu", i, axis);
        bool known = call->way == WEFT_TEST_STATIC || extent == 1;
        extents[axis] = known ? weft_extent_of(extent) : weft_symbol(graph, name, 0, 1 << 20);
    }
    snprintf(name, sizeof name, "x%zu", i);
    return weft_input(graph, name, weft_array_dtype(array), (weft_shape){weft_array_rank(array), extents});
}

static weft_status *compile(weft_graph *graph, const weft_test_einsum *call, weft_program **out_program)
{
    weft_tensor inputs[64];
    assert_true(call->count <= 64);
    for (size_t i = 0; i < call->count; i++) inputs[i] = trace_input(graph, call, i);
    weft_tensor result = weft_einsum(call->text, (weft_tensors){call->count, inputs}, call->options);
    weft_policy policy = {.size = sizeof policy, .keep_symbolic_extensions = call->way == WEFT_TEST_KEPT};
    return weft_compile(graph, WEFT_TENSORS(result), &policy, out_program);
}

static weft_status *run(weft_executor *executor, weft_program *program, const weft_test_einsum *call,
                        weft_array **out_array)
{
    weft_array *inputs[64], *output = NULL;
    size_t count = weft_program_input_count(program);
    for (size_t i = 0; i < count; i++) inputs[i] = call->operands[atoi(weft_program_input_name(program, i) + 1)];
    weft_run run = {
        .input_count = count, .inputs = inputs, .output_count = 1, .outputs = &output, .report = call->report};
    WEFT_TRY(weft_executor_run(executor, program, &run));
    *out_array = output;
    return NULL;
}

static weft_status *trace_and_run(weft_executor *executor, const weft_test_einsum *call, weft_array **out_array)
{
    weft_graph *graph;
    weft_program *program;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_status *status = compile(graph, call, &program);
    weft_graph_destroy(graph);
    WEFT_TRY(status);
    status = run(executor, program, call, out_array);
    weft_program_release(program);
    return status;
}

weft_status *weft_test_einsum_run(weft_executor *executor, const weft_test_einsum *call, weft_array **out_array)
{
    *out_array = NULL;
    if (call->way != WEFT_TEST_ARRAYS) return trace_and_run(executor, call, out_array);
    return weft_einsum_arrays(executor, call->text, call->count, call->operands, call->options, out_array);
}

/* ---- memory running out ---- */

typedef struct trial {
    weft_status *(*body)(weft_executor *executor, void *context);
    void *context;
} trial;

static weft_status *run_trial(const weft_allocator *allocator, void *context)
{
    const trial *t = context;
    weft_executor *executor;
    WEFT_TRY(weft_executor_create(&(weft_executor_options){.allocator = allocator, .threads = 1}, &executor));
    weft_status *status = weft_executor_register_runtime(executor, weft_runtime_reference());
    if (status == NULL) status = weft_executor_register_extension(executor, weft_einsum_extension());
    if (status == NULL) status = t->body(executor, t->context);
    weft_executor_destroy(executor);
    return status;
}

size_t weft_test_einsum_fail_each(weft_status *(*body)(weft_executor *executor, void *context), void *context)
{
    return weft_test_fail_each(run_trial, &(trial){body, context});
}
