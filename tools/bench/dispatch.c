/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call takes besides what it computes: of chains of small kernels, with the caller's arrays, and with arrays of
 * its own for each result. dispatch [ROUNDS]: prints the best of so many rounds (100), taken in turn, in nanoseconds
 * of the processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/weft.h>

enum { EXTENT = 4, CALLS = 2000, LONGEST = 33, CHAINS = 5 };

static const size_t lengths[CHAINS] = {1, 2, 9, 17, LONGEST};

typedef struct chain {
    weft_program *program;
    weft_array *result;
    size_t steps;
    double least[2]; /* into the caller's array, into a new one */
} chain;

static double clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Sums of sums: each is a kernel, as none can be computed element by element in the next one. */
static weft_status *make(weft_executor *executor, weft_array *x, size_t length, chain *c)
{
    weft_graph *graph;
    weft_report report;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor y = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(EXTENT));
    for (size_t i = 0; i < length; i++) y = weft_cumsum(y, 0, false, false);
    weft_status *status = weft_compile(graph, WEFT_TENSORS(y), NULL, &c->program);
    weft_graph_destroy(graph);
    WEFT_TRY(status);
    const weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &c->result, .report = &report};
    WEFT_TRY(weft_executor_run(executor, c->program, &run));
    c->steps = report.steps;
    c->least[0] = c->least[1] = 1e30;
    return NULL;
}

static weft_status *measure(weft_executor *executor, weft_array *x, bool is_new, chain *c)
{
    const weft_run run = {.input_count = 1, .inputs = &x, .output_count = 1, .outputs = &c->result};
    double begin = clock_ns();
    for (int i = 0; i < CALLS; i++) {
        if (is_new) {
            weft_array_release(c->result);
            c->result = NULL;
        }
        WEFT_TRY(weft_executor_run(executor, c->program, &run));
    }
    double spent = (clock_ns() - begin) / CALLS;
    if (spent < c->least[is_new]) c->least[is_new] = spent;
    return NULL;
}

static weft_status *measure_all(weft_executor *executor, weft_array *x, long rounds, chain *chains)
{
    for (size_t i = 0; i < CHAINS; i++) WEFT_TRY(make(executor, x, lengths[i], &chains[i]));
    for (long round = 0; round < rounds; round++)
        for (size_t i = 0; i < CHAINS; i++)
            for (int is_new = 0; is_new < 2; is_new++) WEFT_TRY(measure(executor, x, is_new, &chains[i]));
    for (size_t i = 0; i < CHAINS; i++) {
        const chain *c = &chains[i];
        printf("%2zu kernels: %7.1f ns, into a new array %7.1f", c->steps, c->least[0], c->least[1]);
        if (c->steps > 1) printf(", each further one %5.1f", (c->least[0] - chains->least[0]) / (double)(c->steps - 1));
        printf("\n");
    }
    return NULL;
}

/* 0 if it is no number. */
static long read_rounds(const char *text)
{
    char *end;
    long rounds = strtol(text, &end, 10);
    return *end == '\0' ? rounds : 0;
}

int main(int argc, char **argv)
{
    static float numbers[EXTENT] = {1e-20f, 2e-20f, 3e-20f, 4e-20f};
    long rounds = argc > 1 ? read_rounds(argv[1]) : 100;
    chain chains[CHAINS] = {{.program = NULL}};
    weft_executor *executor = NULL;
    weft_array *x = NULL;
    if (argc > 2 || rounds < 1) {
        fprintf(stderr, "dispatch [ROUNDS]: ROUNDS is a positive number\n");
        return 2;
    }
    weft_status *status = weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor);
    if (status == NULL) status = weft_array_wrap(NULL, WEFT_F32, 1, (int64_t[]){EXTENT}, NULL, numbers, NULL, NULL, &x);
    if (status == NULL) status = measure_all(executor, x, rounds, chains);
    if (status != NULL) fprintf(stderr, "%s\n", weft_status_message(status));
    for (size_t i = 0; i < CHAINS; i++) {
        weft_array_release(chains[i].result);
        weft_program_release(chains[i].program);
    }
    weft_array_release(x);
    weft_executor_destroy(executor);
    int result = status != NULL;
    weft_status_destroy(status);
    return result;
}
