/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_CHAIN_H
#define WEFT_RUNTIME_STEP_CHAIN_H
/* Chains of steps: which of them run strip by strip, so that what they hand on stays in the cache. */
#include "runtime/step/bound_variant.h"

/* Decides which steps of the chain that begins with step `number` run in strips; the first of them has the memory for
 * these as its scratch. The steps are bound. */
weft_status *weft_chain_bind(weft_bound_variant *bound, size_t number) WEFT_MUST_USE;
/* Has the strips that begin with a step run on one thread; whether that changes anything. */
bool weft_chain_tighten(weft_bound_step *bound_step);
#endif
