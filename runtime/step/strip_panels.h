/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_STRIP_PANELS_H
#define WEFT_RUNTIME_STEP_STRIP_PANELS_H
/* Operands of products that several strips read, packed once. */
#include "runtime/step/bound_variant.h"

/* Has strips, whose first step is number `first`, keep panels of such operands, in a copy with more memory; but no more
 * than the largest intermediate would take. */
weft_status *weft_strip_panels_share(weft_bound_variant *bound, size_t first, weft_strips **strips) WEFT_MUST_USE;
/* Packs B of `call`, which is the step's with some of its rows and columns, in whole. */
void weft_strip_panels_fill(const weft_bound_step *bound_step, const weft_gemm_call *call, const void *b, void *panels);
#endif
