/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_GENERAL_H
#define WEFT_LIB_EAGER_GENERAL_H
/*
 * Records that differ in extents alone. Extents of leaves that are equal have one label; 0 and 1, by which operands
 * broadcast, have none, and belong to what is compared. Of a third record one program is made for the labels that have
 * had different values: they become symbols, the others stay numbers.
 */
#include "lib/eager/record.h"

typedef struct weft_eager_general {
    weft_eager_kept_item kept;
    size_t met; /* records */
    size_t label_count;
    int64_t *values; /* of the first record, by label */
    bool *varied;
    bool refused;          /* no program for symbols can be made */
    weft_program *program; /* for those varied, or NULL */
    size_t input_count;
    size_t *leaves; /* as those of a weft_eager_program */
} weft_eager_general;

/* What is known of records like the one in eager->record, which counts as met. Stays at least until the next one is
 * acquired. */
weft_status *weft_eager_general_acquire(weft_eager *eager, weft_eager_general **out_general) WEFT_MUST_USE;
/* Ends one that is not kept any more. */
void weft_eager_general_drop(void *context, weft_eager_kept_item *item);
/* Whether it is time for a program of symbols. */
bool weft_eager_general_is_due(const weft_eager_general *general);
/* The extent of a leaf: a symbol of `graph`, or the number that it is. */
weft_extent weft_eager_general_extent(const weft_eager *eager, const weft_eager_general *general, weft_graph *graph,
                                      int64_t value);
/* Keeps a program for other records; `program` and `leaves` are copied. */
weft_status *weft_eager_general_keep(weft_eager *eager, weft_eager_general *general, weft_program *program,
                                     size_t input_count, const size_t *leaves) WEFT_MUST_USE;
#endif
