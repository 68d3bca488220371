/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_PRODUCT_H
#define WEFT_LIB_LOWER_PRODUCT_H
/* Which products are generated loops, and which the runtime's library computes: a matter of time alone, since both give
 * the same bits. */
#include "lib/lower/space.h"

/* Sums of so few terms are not worth calling the library. */
#define WEFT_PRODUCT_FEW_TERMS 4

/* The sizes of a product at most. */
typedef struct weft_product_size {
    int64_t batch, free, terms;
    int64_t results; /* batch * free */
    bool is_large;   /* has results enough to be worth a kernel */
    bool along;      /* lanes run along what is innermost in B: real numbers one by one */
} weft_product_size;

weft_product_size weft_product_size_of(weft_space *space, const weft_node *dot);
/* Whether loops have a permuted B copied: lanes run along its last axis, and a copy costs little beside the result,
 * beside reading it with a stride again and again, or, of a little B, beside the call of the library. */
bool weft_product_copies_b(weft_space *space, uint32_t dot);
/* Whether loops would jump over what windows in B view, which is then better stored in the order of B. */
bool weft_product_has_windows_across(weft_space *space, const weft_node *dot, uint32_t *out_viewed);
/* Whether a batch axis of real numbers lies innermost in both operands: loops have it along the lanes, if it is last in
 * the result too. */
bool weft_product_has_inner_batch(weft_space *space, const weft_node *dot);
/* Whether it has one, which lies innermost in neither. */
bool weft_product_has_outer_batch(weft_space *space, const weft_node *dot);
/* Whether it is that of a vector and a matrix which lies along another free axis than `axis` of the result. */
bool weft_product_has_matrix_across(weft_space *space, const weft_node *dot, size_t axis);
/* Whether the library has such operands copied, with the batch first: they are little beside the multiplications, and it
 * would pack them number by number, as loops without the batch along the lanes would read them. */
bool weft_product_copies_batches(weft_space *space, uint32_t dot);
/* Whether the library can compute product `dot`: it has one of the library's dtypes, adds something up, has more than
 * one row or column, and its order of sums is the library's, not that of lanes. */
bool weft_product_may_be_library(weft_space *space, uint32_t dot);
/* What the library reads as an operand of a dot that it computes. Those of i32 are products of u8, whose casts are part
 * of them, with the permutes after these. */
weft_value weft_product_operand(const weft_graph *graph, const weft_node *dot, size_t operand);
/* Whether the library computes it, where that is a matter of time: it can, and the product is too large for loops.
 * `in_doubt`: the library is better unless the product is small. */
bool weft_product_is_library(weft_space *space, uint32_t dot, bool in_doubt);
#endif
