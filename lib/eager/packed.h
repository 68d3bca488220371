/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_PACKED_H
#define WEFT_LIB_EAGER_PACKED_H
/* Arguments of a public tracing function as the options of an entry. */
#include "lib/eager/eager.h"

/*
 * The function and its signature, then of each parameter: of a tensor whether it is an operand (0), left out (-1) or a
 * number, as dtype + 1 and the element in two words; of tensors how many; integers and reals as they are; of lists
 * their length and the items; of options their fields, in the same way; of places for results whether there are any,
 * and of items of an index how many, then kind, step, start and stop of each.
 */
enum {
    WEFT_EAGER_ELEMENT_WORDS = 2,
    WEFT_EAGER_ITEM_WORDS = 4,
    WEFT_EAGER_FIELDS = 8 /* of options, at most; lists are WEFT_EAGER_FEW words more, all together */
};

/* A field of options; letters are those of parameters. */
typedef struct weft_eager_field {
    char letter;
    size_t offset;
} weft_eager_field;
typedef struct weft_eager_struct {
    const char *letter, *name;
    size_t size, field_count;
    const weft_eager_field *fields;
} weft_eager_struct;
/* The options that parameter `letter` is, or NULL: capital letters, and others too. */
const weft_eager_struct *weft_eager_struct_among(char letter);
static inline const weft_eager_struct *weft_eager_struct_find(char letter)
{
    return letter >= 'a' ? NULL : weft_eager_struct_among(letter);
}
const weft_eager_struct *weft_eager_struct_of(weft_eager_options_kind kind);
/* How many of its fields are tensors. */
size_t weft_eager_struct_tensors(const weft_eager_struct *options);

/* What functions of that type take, a letter for each parameter (<weft/eager.h>). */
const char *weft_eager_letters(weft_eager_signature signature);
/* Calls the function: a weft_eager_trace. */
void weft_eager_packed_trace(weft_graph *graph, const void *options, const weft_tensor *operands,
                             weft_tensor *out_results);
#endif
