/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PASSES_H
#define EINSUM_PASSES_H
/*
 * Derivatives of derivatives as a list of passes, one after the other. Each differentiates the results so far, at first
 * the one of the contraction, with respect to inputs so far, at first the operands; all of these are independent of
 * each other. Its new inputs come after those, in its order:
 *
 *     0, n, n results, m, m inputs   reverse mode: the new inputs are cotangents of those n results, the other results
 *                                    have none; the results are then the cotangents of those m inputs
 *     1, n, n inputs                 forward mode: the new inputs are tangents of those n inputs, the others have none;
 *                                    the results are then the tangents of the results
 *
 * The numbers of each list rise.
 */
#include "memory.h"
#include <weft/extension.h>

typedef struct einsum_pass {
    bool is_reverse;
    weft_ints given;  /* results or inputs that have a cotangent or tangent */
    weft_ints wanted; /* inputs, in reverse mode */
} einsum_pass;

/* Takes the first pass off `rest`; false if there is none, or if what comes is no pass. */
bool einsum_pass_take(weft_ints *rest, einsum_pass *out_pass);
/* `before` and one more, in memory of `arena`; items NULL when out of memory. */
weft_ints einsum_passes_add(einsum_arena *arena, weft_ints before, const einsum_pass *pass);

/* How many passes there are, and how many inputs they bring. */
size_t einsum_passes_count(weft_ints passes);
size_t einsum_passes_input_count(weft_ints passes);
/* Whether one is in reverse mode. */
bool einsum_passes_go_back(weft_ints passes);
/* How many results the last one leaves. */
size_t einsum_passes_result_count(weft_ints passes);

/* Takes the passes: differentiates `result`, which was contracted from the first inputs. `inputs` has all, and no
 * tensor twice. The results are in memory of `arena`; errors of tracing stick to the graph. */
weft_status *einsum_passes_trace(einsum_arena *arena, weft_ints passes, weft_tensors inputs, weft_tensor result,
                                 weft_tensors *out_results) WEFT_MUST_USE;
#endif
