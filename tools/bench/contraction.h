/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_BENCH_CONTRACTION_H
#define WEFT_TOOLS_BENCH_CONTRACTION_H
/* One einsum planned, and made ready on the caller's memory; how fast memory can be copied. */
#include <weft/einsum.h>

typedef struct weft_bench_contraction weft_bench_contraction;

typedef struct weft_bench_contraction_options {
    const char *text, *dtype;
    size_t operand_count;
    const weft_ints *shapes;
    unsigned threads;
    double time_budget; /* seconds for the planner; 0: what it takes by itself */
} weft_bench_contraction_options;

typedef struct weft_bench_contraction_facts {
    int64_t plan_ns;
    int64_t program_ns; /* tracing and passes */
    int64_t compile_ns; /* scheduling, code generation, loading */
    int64_t first_ns;   /* the first run */
    uint64_t peak_bytes, steps;
    double predicted_seconds;
} weft_bench_contraction_facts;

/* Plans. What the options point to is the caller's and outlives the contraction. */
weft_status *weft_bench_contraction_create(const weft_bench_contraction_options *options,
                                           weft_bench_contraction **out_contraction) WEFT_MUST_USE;
/* Compiles for the runtime "llvm" (LLVM is loaded before) and runs once. `memory` of the operands, then of the result,
 * is dense and the caller's. */
weft_status *weft_bench_contraction_compile(weft_bench_contraction *contraction, void *const *memory) WEFT_MUST_USE;
void weft_bench_contraction_destroy(weft_bench_contraction *contraction);
const weft_bench_contraction_facts *weft_bench_contraction_facts_of(const weft_bench_contraction *contraction);
/* Value i is operand i, value operand count + k the result of step k. */
weft_ints weft_bench_contraction_order(const weft_bench_contraction *contraction);

/* Nanoseconds for `repeat` runs of the program, or of weft_einsum_arrays with the text. */
weft_status *weft_bench_contraction_run(weft_bench_contraction *contraction, bool arrays, int64_t repeat,
                                        int64_t *out_ns) WEFT_MUST_USE;

/* Bytes read and written in a second by threads that copy blocks of `bytes` together; the best of several runs, 0
 * without memory. */
double weft_bench_bandwidth(unsigned threads, size_t bytes);
#endif
