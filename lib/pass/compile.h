/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_COMPILE_H
#define WEFT_LIB_PASS_COMPILE_H
/* What program->graph points to: the optimised graph, which only compilers read. */
#include <weft/program.h>
#include "lib/graph/graph.h"

typedef struct weft_compiled {
    weft_graph *graph;
    size_t output_count;
    weft_value *outputs; /* in the program's order */
    uint32_t *inputs;    /* input i of the program is node inputs[i], an `input` node; as many as the program has */
} weft_compiled;

/* weft_compile_named, where `inputs` of the graph are inputs of the program whether or not an output needs them. */
weft_status *weft_compile_with_inputs(weft_graph *graph, weft_tensors outputs, const char *const *output_names,
                                      weft_tensors inputs, const weft_policy *policy,
                                      weft_program **out_program) WEFT_MUST_USE;

/* Whether the program may have ops that are lowered for extents that are expected. */
bool weft_program_expects(const weft_program *program);
/* The program once more, with those ops lowered for these values of its symbols: the same inputs, outputs, symbols and
 * guards. UNSUPPORTED where that cannot be. If `exact` it has no other values, and computes the bits that the program
 * does for these. */
weft_status *weft_compile_for(const weft_program *program, const int64_t *values, bool exact,
                              weft_program **out_program) WEFT_MUST_USE;

/* The graph of `program` for these values of its symbols: of the choices that its passes made by extents, those that no
 * bit depends on are made again. out_compiled->graph, which the caller destroys, also after a failure, is NULL where
 * none comes out otherwise. */
weft_status *weft_compiled_for(const weft_allocator *allocator, const weft_program *program, const int64_t *values,
                               weft_compiled *out_compiled) WEFT_MUST_USE;

/* Copies what `values` of `compiled` need, and all symbols in their order: also those that nothing needs from now on
 * are symbols of the program. The caller destroys *out_graph, which may be there after a failure. */
weft_status *weft_compiled_copy(const weft_allocator *allocator, const weft_compiled *compiled, size_t count,
                                const weft_value *values, weft_graph **out_graph, weft_value *out_values) WEFT_MUST_USE;

/* A region in the form of a compiled graph, in memory of `arena`. */
weft_status *weft_compiled_open(const weft_region *region, weft_arena *arena, weft_compiled *out_body) WEFT_MUST_USE;
#endif
