/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_DESCRIBE_H
#define WEFT_LIB_PASS_DESCRIBE_H
#include "lib/graph/graph.h"
#include "runtime/program/program.h"

/* The axes of an input or output of `shape`, whose extents are `slots` of the program's formulas. */
weft_status *weft_describe_axes(weft_program *program, weft_graph *graph, weft_shape shape, const uint32_t *slots,
                                const weft_program_axis **out_axes) WEFT_MUST_USE;
/* Fills in program->symbols from its formulas and inputs. */
weft_status *weft_describe_symbols(weft_program *program) WEFT_MUST_USE;
#endif
