/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_SYNTAX_H
#define EINSUM_SYNTAX_H
/*
 * Expressions as text.
 *
 *   expression := terms [ "->" term ]             flat: without "->" the output has the labels seen once, sorted
 *               | group "->" term                 nested
 *   group      := item ("," item)*
 *   item       := term | "(" group ")"
 *   term       := (label | "...")*                at most one "..."
 *               | "[" (number | "...")* "]"       all terms of an expression, or none
 *
 * A label is any code point but white space and , - > . ( ) [ ]. White space may stand between all of them, but within
 * "->" and "...".
 */
#include "memory.h"
#include "order.h"

#define EINSUM_NONE SIZE_MAX

typedef struct einsum_term {
    size_t column; /* byte of the text where it begins, from 1 */
    size_t count;
    int64_t *labels; /* code points or numbers */
    size_t *columns; /* of the labels */
    size_t ellipsis; /* how many labels come before the ellipsis; EINSUM_NONE without one */
} einsum_term;

typedef struct einsum_syntax {
    bool numbered; /* labels are numbers, not code points */
    size_t operand_count;
    einsum_term *operands;
    einsum_term output; /* implicit ones made explicit; column 0 then */
    einsum_pair *pairs; /* nested: operand_count - 1 steps; NULL for flat */
} einsum_syntax;

/* Parses `text`; parentheses are refused unless `nested`. What it makes lives in `arena`. */
weft_status *einsum_syntax_parse(einsum_arena *arena, const char *text, bool nested,
                                 einsum_syntax *out_syntax) WEFT_MUST_USE;

/* Parses an order like "(0,2),1" over `operand_count` operands; fills operand_count - 1 pairs. */
weft_status *einsum_syntax_parse_nested(einsum_arena *arena, const char *text, size_t operand_count,
                                        einsum_pair *out_pairs) WEFT_MUST_USE;

/* The flat, explicit expression without white space. */
void einsum_syntax_print(const einsum_syntax *syntax, einsum_text *out_text);

enum { EINSUM_LABEL_SIZE = 32 };
/* Prints a label as messages name it: 'j', 12, or ...[0] for -1 - 0. `out_text` has room for EINSUM_LABEL_SIZE bytes.
 */
void einsum_label_print(bool numbered, int64_t label, char *out_text);
#endif
