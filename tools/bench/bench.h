/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_BENCH_BENCH_H
#define WEFT_TOOLS_BENCH_BENCH_H
/* One case made ready: what the driver calls. Floor and program read the same inputs and write the same output. */
#include "case.h"
#include <weft/weft.h>

typedef struct weft_bench weft_bench;

typedef struct weft_bench_facts {
    int64_t program_ns; /* tracing and passes */
    int64_t compile_ns; /* scheduling, code generation, loading */
    uint64_t peak_bytes, steps;
    double error; /* greatest difference to the floor, over the greatest magnitude */
} weft_bench_facts;

/*
 * Fills the inputs with numbers that depend on the case alone, compiles its graph for the runtime "llvm"
 * (LLVM is loaded before, by another program), runs it and compares with the floor. WEFT_OUT_OF_RANGE: no such case;
 * WEFT_DATA_ERROR: the results differ.
 */
weft_status *weft_bench_create(size_t index, unsigned threads, weft_bench **out_bench) WEFT_MUST_USE;
void weft_bench_destroy(weft_bench *bench);

const weft_bench_facts *weft_bench_facts_of(const weft_bench *bench);
/* Inputs, then the output. */
void *weft_bench_memory(const weft_bench *bench, size_t number);

/* Nanoseconds for `repeat` passes. */
int64_t weft_bench_run_floor(const weft_bench *bench, int64_t repeat);
weft_status *weft_bench_run(weft_bench *bench, int64_t repeat, int64_t *out_ns) WEFT_MUST_USE;

/* ---- what contractions need too ---- */

int64_t weft_bench_now(void);
/* Zeros, on huge pages where it is long, as every contestant's arrays should be; the caller frees them. */
void *weft_bench_allocate(size_t bytes);
/* Compiles a program of its own, so that the code generator is loaded. */
weft_status *weft_bench_load_generator(weft_executor *executor) WEFT_MUST_USE;
#endif
