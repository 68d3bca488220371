/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EXPR_CHOICE_H
#define WEFT_LIB_EXPR_CHOICE_H
/* A minimum or maximum in a sum. */
#include "lib/expr/node.h"

/* rest + coefficient * (MIN or MAX of a and b). */
typedef struct weft_choice {
    weft_expr rest, a, b;
    int64_t coefficient;
    weft_expr_kind kind;
} weft_choice;

/* Brings it into normal form (choice_form.c); false where that is beyond int64, nothing `moved` where it has it. */
bool weft_choice_normalise(weft_expr_context *exprs, weft_choice *m, bool *moved);

static inline uint64_t weft_choice_magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static inline weft_expr_kind weft_choice_opposite(weft_expr_kind kind)
{
    return kind == WEFT_EXPR_MIN ? WEFT_EXPR_MAX : WEFT_EXPR_MIN;
}

static inline weft_expr weft_choice_scaled(weft_expr_context *exprs, weft_expr e, int64_t factor)
{
    return weft_expr_combine(exprs, e, factor, e, 0);
}
#endif
