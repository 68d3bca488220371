/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of a small einsum takes: of a program for known extents, of one with symbols, whose node is kept and
 * finds its inner program, and of arrays at once. calls [ROUNDS]: prints the best of so many rounds (50), taken in
 * turn, in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/einsum.h>
#include <weft/program.h>

enum { FORMS = 3, CALLS = 2000, EXTENT = 2, MOST_OPERANDS = 5 };

typedef struct subject {
    const char *text;
    size_t count;
    weft_array *operands[MOST_OPERANDS], *results[FORMS];
    weft_program *programs[2]; /* of known extents, of symbols */
} subject;

static double clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static weft_tensor trace(weft_graph *graph, const subject *s, bool symbolic)
{
    weft_tensor inputs[MOST_OPERANDS];
    for (size_t i = 0; i < s->count; i++) {
        weft_extent extents[2];
        char name[16];
        for (size_t axis = 0; axis < 2; axis++) {
            snprintf(name, sizeof name, "n%zu", i + axis);
            extents[axis] = symbolic ? weft_symbol(graph, name, 1, 1000) : weft_extent_of(EXTENT);
        }
        snprintf(name, sizeof name, "x%zu", i);
        inputs[i] = weft_input(graph, name, WEFT_F32, (weft_shape){2, extents});
    }
    return weft_einsum(s->text, (weft_tensors){s->count, inputs}, NULL);
}

static weft_status *compile(subject *s, bool symbolic)
{
    weft_graph *graph;
    weft_policy policy = {.size = sizeof policy, .keep_symbolic_extensions = true};
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor result = trace(graph, s, symbolic);
    weft_status *status = weft_compile(graph, (weft_tensors){1, &result}, &policy, &s->programs[symbolic]);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *make(subject *s)
{
    const int64_t shape[] = {EXTENT, EXTENT};
    for (size_t i = 0; i < s->count; i++) {
        WEFT_TRY(weft_array_create(NULL, WEFT_F32, 2, shape, &s->operands[i]));
        for (size_t k = 0; k < EXTENT * EXTENT; k++) ((float *)weft_array_data(s->operands[i]))[k] = 0.5f;
    }
    WEFT_TRY(compile(s, false));
    return compile(s, true);
}

static void finish(subject *s)
{
    for (size_t i = 0; i < s->count; i++) weft_array_release(s->operands[i]);
    for (size_t form = 0; form < FORMS; form++) weft_array_release(s->results[form]);
    for (size_t i = 0; i < 2; i++) weft_program_release(s->programs[i]);
}

static weft_status *call(weft_executor *executor, subject *s, size_t form)
{
    if (form == 2) return weft_einsum_arrays(executor, s->text, s->count, s->operands, NULL, &s->results[form]);
    weft_run run = {.input_count = s->count, .inputs = s->operands, .output_count = 1, .outputs = &s->results[form]};
    return weft_executor_run(executor, s->programs[form], &run);
}

static weft_status *measure(weft_executor *executor, subject *s, size_t rounds)
{
    double best[FORMS] = {1e9, 1e9, 1e9};
    for (size_t i = 0; i < rounds * FORMS; i++) {
        double begin = clock_us();
        for (size_t k = 0; k < CALLS; k++) WEFT_TRY(call(executor, s, i % FORMS));
        double each = (clock_us() - begin) / CALLS;
        if (each < best[i % FORMS]) best[i % FORMS] = each;
    }
    printf("%-24s known %.3f  symbolic %.3f (+%.3f)  arrays %.3f\n", s->text, best[0], best[1], best[1] - best[0],
           best[2]);
    return NULL;
}

static weft_status *run(weft_executor *executor, size_t rounds)
{
    subject subjects[] = {{.text = "ij,jk->ik", .count = 2}, {.text = "ij,jk,kl,lm,mn->in", .count = 5}};
    WEFT_TRY(weft_executor_register_extension(executor, weft_einsum_extension()));
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        weft_status *status = make(&subjects[i]);
        if (status == NULL) status = measure(executor, &subjects[i], rounds);
        finish(&subjects[i]);
        WEFT_TRY(status);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    weft_executor *executor = NULL;
    weft_status *status = weft_executor_create_standard(NULL, &executor);
    if (status == NULL) status = run(executor, argc > 1 ? strtoul(argv[1], NULL, 10) : 50);
    if (status != NULL) fprintf(stderr, "calls: %s\n", weft_status_message(status));
    weft_executor_destroy(executor);
    bool failed = status != NULL;
    weft_status_destroy(status);
    return failed;
}
