/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_REDUCE_WINDOWS_H
#define WEFT_LIB_PASS_REDUCE_WINDOWS_H
#include "lib/pass/pass.h"

/*
 * A row for maxima and minima of windows along several axes: those of windows along the last axis are reduced first,
 * then what comes out along the others, if that takes in fewer elements. The bits are the same: of equal elements the
 * last one in order wins either way, of NaNs the first.
 */
weft_tensor weft_reduce_windows(const weft_rewrite_site *site);

/* A row for sums of integers in short windows along one axis, which are added up as elements: so what is computed from
 * them, other windows too, may be one kernel with them. */
weft_tensor weft_add_windows(const weft_rewrite_site *site);
#endif
