/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_PACK_H
#define WEFT_LIB_EAGER_PACK_H
/* Arguments of a call, one after the other, as words and operands of an entry (packed.h). */
#include "lib/eager/packed.h"

typedef struct weft_eager_packing {
    weft_eager *eager;
    const char *name;
    int64_t *at; /* where the next word goes: there is room for all */
    const weft_eager_argument *arguments, *argument;
    size_t count, number; /* of arguments, of the one in hand */
    weft_dtype dtype;     /* of numbers; none where `has_dtype` is false */
    bool has_dtype;
    bool failed; /* an operand is a value that failed */
} weft_eager_packing;

static inline void weft_eager_pack_word(weft_eager_packing *p, int64_t word)
{
    *p->at++ = word;
}

/* What is wrong with the argument in hand. */
weft_status *weft_eager_pack_fault(const weft_eager_packing *p, const char *what) WEFT_MUST_USE;
/* Packs the argument in hand as one of parameter `letter`: its words; arrays are held, and become operands. Options
 * take the arguments after them that are their tensors. */
weft_status *weft_eager_pack_argument(weft_eager_packing *p, char letter) WEFT_MUST_USE;

/* An array, or NULL where one may be left out. */
bool weft_eager_argument_is_array(const weft_eager_argument *argument);
/* Those of a list. */
weft_eager_array *const *weft_eager_argument_arrays(const weft_eager_argument *argument);
#endif
