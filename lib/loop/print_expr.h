/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_PRINT_EXPR_H
#define WEFT_LIB_LOOP_PRINT_EXPR_H
/* Expressions in an order of their own: lib/expr/expr.h sorts terms by id, and ids depend on who made what first. */
#include "lib/loop/loop.h"

/* How loop variables are called: "i" and the number of their range, with more of that letter where a symbol has such a
 * name. `numbered`: symbols are called "s" and their number, whatever their names. */
typedef struct weft_range_names {
    bool numbered;
    size_t letters;
    uint32_t outer_count, inner_count;
    const weft_range *outer, *inner; /* visible ranges */
    uint32_t inner_first;            /* number of the first inner one */
} weft_range_names;

void weft_loop_print_symbol_name(const weft_expr_context *exprs, const weft_range_names *names, weft_expr symbol,
                                 weft_bytes *out_text);
void weft_loop_print_range_name(const weft_range_names *names, uint32_t number, weft_bytes *out_text);

/* The same expression prints the same text, and one that weft_expr_parse reads back: terms are in order of their texts,
 * those added before those subtracted, the constant last. */
void weft_loop_print_expr(const weft_expr_context *exprs, const weft_range_names *names, weft_expr e,
                          weft_bytes *out_text);
#endif
