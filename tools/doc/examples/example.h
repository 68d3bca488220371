/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_EXAMPLE_H
#define WEFT_EXAMPLE_H
/* What the examples share: tensors of given values, and a way to see the value of a tensor. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

static weft_executor *example_executor;

static void example_check(weft_status *status)
{
    if (status == NULL) return;
    printf("%s: %s\n", weft_status_where(status), weft_status_message(status));
    exit(1);
}

static weft_graph *example_begin(void)
{
    weft_graph *graph;
    example_check(weft_graph_create(NULL, &graph));
    example_check(weft_executor_create_standard(NULL, &example_executor));
    return graph;
}

static int example_end(weft_graph *graph)
{
    weft_executor_destroy(example_executor);
    weft_graph_destroy(graph);
    return 0;
}

static void example_print(const weft_array *array)
{
    const double *items = weft_array_data(array);
    size_t rank = weft_array_rank(array);
    int64_t row = rank == 0 ? 1 : weft_array_shape(array)[rank - 1];
    printf("[");
    for (size_t i = 0; i < rank; i++) printf(i == 0 ? "%d" : ", %d", (int)weft_array_shape(array)[i]);
    printf("]");
    for (int64_t i = 0; i < weft_array_count(array); i++)
        printf("%s%.5g", i > 0 && i % row == 0 ? " | " : " ", items[i]);
    printf("\n");
}

/* Computes `tensor` and prints its name, shape and elements, rows apart by bars. */
static void example_show(const char *name, weft_tensor tensor)
{
    weft_program *program;
    weft_array *result = NULL;
    example_check(weft_compile(tensor.graph, WEFT_TENSORS(weft_cast(tensor, WEFT_F64)), NULL, &program));
    example_check(weft_executor_run(example_executor, program, &(weft_run){.output_count = 1, .outputs = &result}));
    printf("%s ", name);
    example_print(result);
    weft_array_release(result);
    weft_program_release(program);
}
#endif
