/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_PACKED_H
#define WEFT_LIB_EAGER_PACKED_H
/* Arguments of a public tracing function as the options of an entry. */
#include "lib/eager/eager.h"

/*
 * The function and its signature, then of each parameter: of a tensor whether it is an operand (0) or a number, as
 * dtype + 1 and the element in two words; of tensors how many; integers and reals as they are; of lists their length
 * and the items.
 */
enum { WEFT_EAGER_ELEMENT_WORDS = 2 };

/* What functions of that type take, a letter for each parameter (<weft/eager.h>). */
const char *weft_eager_letters(weft_eager_signature signature);
/* Calls the function: a weft_eager_trace. */
void weft_eager_packed_trace(weft_graph *graph, const void *options, const weft_tensor *operands,
                             weft_tensor *out_results);
#endif
