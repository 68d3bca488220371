/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_ORDER_H
#define EINSUM_ORDER_H
/* Orders of contraction: n - 1 pairs of values. Value i < n is operand i, value n + k the result of step k. */
#include "memory.h"
#include <weft/graph.h>

typedef struct einsum_pair {
    size_t a, b;
} einsum_pair;

/* ((0 1) 2) 3 ... */
void einsum_order_left(size_t operand_count, einsum_pair *out_pairs);

/* From positions a0, b0, a1, b1, ... in a list of values that loses both and gets the result at its end. */
weft_status *einsum_order_from_path(einsum_arena *arena, size_t operand_count, weft_ints path,
                                    einsum_pair *out_pairs) WEFT_MUST_USE;

/* From values a0, b0, a1, b1, ... */
weft_status *einsum_order_from_values(einsum_arena *arena, size_t operand_count, weft_ints values,
                                      einsum_pair *out_pairs) WEFT_MUST_USE;

/* The other way from a path; `out_path` has room for 2 * (operand_count - 1) positions, the lower one of a pair first.
 */
weft_status *einsum_order_to_path(einsum_arena *arena, size_t operand_count, const einsum_pair *pairs,
                                  int64_t *out_path) WEFT_MUST_USE;
#endif
