/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_PROGRAM_H
#define WEFT_PROGRAM_H
/* Programs: what compiling a graph gives. Immutable, counted, independent of any target; any thread may use one. */
#include <weft/extension.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to compile; zero-initialise for the defaults. Part of every cache key. */
typedef struct weft_policy {
    size_t size;                   /* sizeof(weft_policy); 0 stands for it */
    bool keep_symbolic_extensions; /* do not lower extension nodes whose extents are symbolic */
    const char *passes;            /* comma-separated names in order; NULL is the standard pipeline (weft_pass_names) */
} weft_policy;

/*
 * Compiles the graph that `outputs` need. The program does not refer to the graph afterwards. `output_names` may be
 * NULL, and so may single names: then outputs are called "out0", "out1", ... Names must differ. Inputs are those that
 * the outputs need as traced, also where a pass finds that they do not matter, in the order in which they were made.
 * Reports the graph's sticky error if there is one.
 */
weft_status *weft_compile_named(weft_graph *graph, weft_tensors outputs, const char *const *output_names,
                                const weft_policy *policy, weft_program **out_program) WEFT_MUST_USE;
weft_status *weft_compile(weft_graph *graph, weft_tensors outputs, const weft_policy *policy,
                          weft_program **out_program) WEFT_MUST_USE;

weft_program *weft_program_retain(weft_program *program);
void weft_program_release(weft_program *program);

size_t weft_program_input_count(const weft_program *program);
size_t weft_program_output_count(const weft_program *program);
/* Name, dtype and rank of an input or output; NULL / 0 when out of range. */
const char *weft_program_input_name(const weft_program *program, size_t input);
const char *weft_program_output_name(const weft_program *program, size_t output);
weft_dtype weft_program_input_dtype(const weft_program *program, size_t input);
weft_dtype weft_program_output_dtype(const weft_program *program, size_t output);
size_t weft_program_input_rank(const weft_program *program, size_t input);
size_t weft_program_output_rank(const weft_program *program, size_t output);
/* The optimised graph as .weft text; lives as long as the program. */
const char *weft_program_text(const weft_program *program);

/* The passes there are, in the order of the standard pipeline; NULL-terminated. */
const char *const *weft_pass_names(void);

#ifdef __cplusplus
}
#endif
#endif
