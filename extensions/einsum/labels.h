/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_LABELS_H
#define EINSUM_LABELS_H
/* Expressions given as lists of numbers. */
#include "memory.h"
#include <weft/graph.h>

/* Writes them as text, "[0 12],[12]->[0]", into `arena`. Errors are those of the function `place`. */
weft_status *einsum_labels_print(einsum_arena *arena, const char *place, size_t operand_count, const weft_ints *labels,
                                 weft_ints output, const char **out_text) WEFT_MUST_USE;
#endif
