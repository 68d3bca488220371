/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_LABELS_H
#define EINSUM_LABELS_H
/* Expressions given as lists of numbers. */
#include "memory.h"
#include <weft/graph.h>

typedef struct einsum_labelled {
    const char *function; /* that was called: its name, for errors */
    size_t operand_count;
    const weft_ints *labels;
    const size_t *ranks; /* of the operands */
    weft_ints output;
} einsum_labelled;

/* Writes the expression as text, "[0 12],[12]->[0]", into `arena`. What is wrong with the lists is said here, where
 * they have no bytes to point at. */
weft_status *einsum_labels_print(einsum_arena *arena, const einsum_labelled *x, const char **out_text) WEFT_MUST_USE;
#endif
