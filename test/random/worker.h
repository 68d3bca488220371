/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_WORKER_H
#define WEFT_TEST_WORKER_H
/* Trials in processes of their own, so that one that dies or hangs is known by its seed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_TEST_PROBLEM = 1024 };

/* Told of a seed on which the runtimes do not agree. */
typedef void (*weft_test_finder)(void *context, uint64_t seed, const char *problem);

typedef struct weft_test_batch {
    uint64_t first, count; /* seeds; they are taken in order */
    unsigned jobs;         /* processes at a time */
    double seconds;        /* no seed is begun after them; 0: none */
    weft_test_finder find;
    void *context;
} weft_test_batch;

/* Tries the programs of many seeds; returns how many were tried. */
uint64_t weft_test_run_batch(const weft_test_batch *batch);

/* Whether one text does well, in a process of its own; NULL: the program of the seed. */
bool weft_test_try_apart(uint64_t seed, const char *text, char *out_problem, size_t size);
/* Begins the sentences of programs that no text was made of. */
#define WEFT_TEST_TRACING "while tracing: "
#endif
