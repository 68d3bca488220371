/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_BENCH_SUITE_H
#define WEFT_TOOLS_BENCH_SUITE_H
/* Many programs of every kind, each made ready: what suite.py calls. */
#include "bench.h"

enum { SUITE_INPUTS = 6, SUITE_RESULTS = 3 };

typedef struct weft_suite_program {
    const char *family, *name;
    /* Types, separated by ";": a dtype, extents, and what the elements are: nothing for numbers of [-1, 1), "below N"
     * for whole numbers from 0, "times N" for [-N, N), "positive" for (0, 1], "rising" for sorted ones, "partial" for
     * (0, 1) with NaN for half of them. "f32 8x3 times 4". */
    const char *inputs;
    weft_tensor (*trace)(const weft_tensor *inputs); /* NULL: `name` is the text of an einsum */
    double flops;                                    /* of products; 0: bytes are the floor */
    weft_product_policy products;                    /* that it is compiled with */
    /* In place of `trace`, of several results: how many. */
    size_t (*trace_all)(const weft_tensor *inputs, weft_tensor *out_results);
} weft_suite_program;

size_t weft_suite_count(void);
const weft_suite_program *weft_suite_at(size_t index);

typedef struct weft_suite weft_suite;

/* Which extents of inputs are known when a program is compiled. Of SUITE_HOT none is, but the executor specialises. */
typedef enum weft_suite_extents { SUITE_KNOWN, SUITE_OUTERMOST, SUITE_ANY, SUITE_HOT } weft_suite_extents;

/* Fills the inputs, compiles the program for the runtime "llvm" and runs it once, into arrays of its own; or with the
 * arrays of `arrays_of`, which is the same program. */
weft_status *weft_suite_create(size_t index, unsigned threads, weft_suite_extents extents, const weft_suite *arrays_of,
                               weft_suite **out_suite) WEFT_MUST_USE;
void weft_suite_destroy(weft_suite *suite);

const weft_bench_facts *weft_suite_facts_of(const weft_suite *suite);
size_t weft_suite_input_count(const weft_suite *suite);
/* Inputs, then results; NULL after that. */
weft_array *weft_suite_array(const weft_suite *suite, size_t number);
weft_status *weft_suite_run(weft_suite *suite, int64_t repeat, int64_t *out_ns) WEFT_MUST_USE;

/* Floating-point operations a second of fused multiply-adds in registers, on one core, of f32 or f64. */
double weft_suite_peak(bool of_f64);
/* C = A B by BLIS, on one thread: row-major, of m x k and k x n, f32 or f64. */
void weft_bench_blis(bool of_f64, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c);
/* peak.c */
double peak_f32(void);
double peak_f64(void);
#endif
