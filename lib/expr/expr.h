/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EXPR_EXPR_H
#define WEFT_LIB_EXPR_EXPR_H
/*
 * Integer expressions over symbols, hash-consed in canonical form: equal ids mean equal expressions. The same engine
 * serves the extents of a graph and the index arithmetic of a kernel.
 *
 * Canonical form: a SUM is a constant plus integer coefficients times distinct terms that are neither constants nor
 * sums; a PRODUCT has at least two factors, none a constant or sum (products distribute over sums); DIV (floor), MOD
 * (sign of the divisor), MIN and MAX are binary. Operands are sorted by id. Every expression has a proven range and a
 * proven divisor. Arithmetic is exact in int64; overflow is an error, never a wrapped value.
 *
 * Errors are sticky: the first one is kept in the context, the function returns WEFT_EXPR_NONE, and every
 * function given WEFT_EXPR_NONE returns it again.
 */
#include <weft/base.h>
#include "runtime/program/formula.h"
#include "runtime/base/memory.h"

typedef uint32_t weft_expr;
#define WEFT_EXPR_NONE 0u

typedef enum weft_expr_kind {
    WEFT_EXPR_CONSTANT,
    WEFT_EXPR_SYMBOL,
    WEFT_EXPR_SUM,
    WEFT_EXPR_PRODUCT,
    WEFT_EXPR_DIV,
    WEFT_EXPR_MOD,
    WEFT_EXPR_MIN,
    WEFT_EXPR_MAX
} weft_expr_kind;

/* Of numbers. The quotient is rounded down, by anything but 0; INT64_MIN / -1 is INT64_MAX. */
int64_t weft_expr_gcd(int64_t a, int64_t b);
int64_t weft_expr_floor_div(int64_t a, int64_t b);

/* Owns expressions and symbols; those of one context do not mix with others. */
typedef struct weft_expr_context weft_expr_context;

weft_status *weft_expr_context_create(const weft_allocator *allocator, weft_expr_context **out_context) WEFT_MUST_USE;
void weft_expr_context_destroy(weft_expr_context *exprs);
/* Another context with the same expressions under the same ids; without the sticky error. */
weft_status *weft_expr_context_clone(const weft_expr_context *exprs, weft_expr_context **out_clone) WEFT_MUST_USE;
/* Moves the sticky error, if any, to the caller. */
weft_status *weft_expr_context_take_error(weft_expr_context *exprs) WEFT_MUST_USE;
/* The same of an attempt that is given up: only that memory ran out matters, because the attempt might have succeeded.
 */
weft_status *weft_expr_context_take_out_of_memory(weft_expr_context *exprs) WEFT_MUST_USE;

/* Records that memory ran out, for a caller that has no expression to give; NONE. */
weft_expr weft_expr_out_of_memory(weft_expr_context *exprs);

weft_expr weft_expr_constant(weft_expr_context *exprs, int64_t value);
/* The symbol of that name; the first use fixes its range, another range later is an error. Names are C identifiers,
 * possibly with dots, other than mod, min and max. The range may reach below 0, as strides do. A symbol with one
 * possible value is a SYMBOL by itself and that constant in every operation. */
weft_expr weft_expr_symbol(weft_expr_context *exprs, const char *name, int64_t min, int64_t max);
/* A loop variable: a symbol that runs over 0 <= v < extent, where `extent` may itself be symbolic. */
weft_expr weft_expr_variable(weft_expr_context *exprs, const char *name, weft_expr extent);
weft_expr weft_expr_find(const weft_expr_context *exprs, const char *name); /* NONE if absent */

weft_expr weft_expr_add(weft_expr_context *exprs, weft_expr a, weft_expr b);
weft_expr weft_expr_sub(weft_expr_context *exprs, weft_expr a, weft_expr b);
weft_expr weft_expr_mul(weft_expr_context *exprs, weft_expr a, weft_expr b);
weft_expr weft_expr_div(weft_expr_context *exprs, weft_expr a, weft_expr b); /* floor */
weft_expr weft_expr_mod(weft_expr_context *exprs, weft_expr a, weft_expr b);
weft_expr weft_expr_min(weft_expr_context *exprs, weft_expr a, weft_expr b);
weft_expr weft_expr_max(weft_expr_context *exprs, weft_expr a, weft_expr b);

/* ---- reading ---- */
weft_expr_kind weft_expr_kind_of(const weft_expr_context *exprs, weft_expr e);
bool weft_expr_is_constant(const weft_expr_context *exprs, weft_expr e, int64_t *out_value);
const char *weft_expr_name(const weft_expr_context *exprs, weft_expr e); /* of a SYMBOL */
weft_expr weft_expr_bound(const weft_expr_context *exprs,
                          weft_expr e); /* extent of a loop variable; NONE for other symbols */
int64_t weft_expr_offset(const weft_expr_context *exprs, weft_expr e); /* the constant of a SUM */
size_t weft_expr_arity(const weft_expr_context *exprs, weft_expr e);   /* terms, factors, or 2 */
weft_expr weft_expr_operand(const weft_expr_context *exprs, weft_expr e, size_t i);
int64_t weft_expr_coefficient_of(const weft_expr_context *exprs, weft_expr e, size_t i); /* of term i of a SUM */
/* Proven inclusive range; INT64_MIN / INT64_MAX where unbounded. */
void weft_expr_range(const weft_expr_context *exprs, weft_expr e, int64_t *out_min, int64_t *out_max);
/* Whether it always has a value, whatever its symbols are: no part of it overflows or divides by zero. */
bool weft_expr_is_total(const weft_expr_context *exprs, weft_expr e);
/* The largest proven divisor (0 for the constant 0). */
int64_t weft_expr_divisor(const weft_expr_context *exprs, weft_expr e);
/* How many constants, symbols and operations its text has, where shared ones count each time; UINT32_MAX for more. */
uint32_t weft_expr_parts(const weft_expr_context *exprs, weft_expr e);
bool weft_expr_uses(const weft_expr_context *exprs, weft_expr e, weft_expr symbol);
/* Number of symbols ever made, and the i-th in order of creation. */
size_t weft_expr_context_symbol_count(const weft_expr_context *exprs);
weft_expr weft_expr_context_symbol(const weft_expr_context *exprs, size_t i);

/* ---- proofs: true only when it holds for every value in range (loop variables range up to their symbolic extent) ----
 */
bool weft_expr_always_nonnegative(weft_expr_context *exprs, weft_expr e);
bool weft_expr_always_less(weft_expr_context *exprs, weft_expr a, weft_expr b);
bool weft_expr_never_equal(weft_expr_context *exprs, weft_expr a, weft_expr b);

/* e = coefficient * variable + rest, neither using `variable`; false when e is not affine in it. `variable` may be any
 * other factor of terms, too. */
bool weft_expr_affine(weft_expr_context *exprs, weft_expr e, weft_expr variable, weft_expr *out_coefficient,
                      weft_expr *out_rest);
/* e with symbols[i] replaced by values[i], which must lie in the range of the symbol: e may have been simplified by it.
 * The extents of loop variables stay as they are. */
weft_expr weft_expr_substitute(weft_expr_context *exprs, weft_expr e, size_t count, const weft_expr *symbols,
                               const weft_expr *values);
/* e of another context rebuilt here: symbols are matched by name, made with their range when absent. */
weft_expr weft_expr_import(weft_expr_context *exprs, const weft_expr_context *source, weft_expr e);
/* The same with instead[s], a constant of the source or a symbol that is no later, for each symbol s below `count`. */
weft_expr weft_expr_import_as(weft_expr_context *exprs, const weft_expr_context *source, weft_expr e, size_t count,
                              const weft_expr *instead);

/* The same with values[i], of this context, in the place of symbols[i] of the source. */
weft_expr weft_expr_import_with(weft_expr_context *exprs, const weft_expr_context *source, weft_expr e, size_t count,
                                const weft_expr *symbols, const weft_expr *values);

/* ---- text: "10*s + 89", "(n + 3) / 4", "n mod 128", "min(a, b)"; precedence as usual, mod like / ---- */
void weft_expr_print(const weft_expr_context *exprs, weft_expr e, weft_bytes *out_text);
/* Parses the longest expression at `*cursor`, over symbols that exist; moves the cursor after it. */
weft_status *weft_expr_parse(weft_expr_context *exprs, const char **cursor, weft_expr *out_expr) WEFT_MUST_USE;

/* Appends what computes e to `formulas` (see runtime/program/formula.h), sharing what is there; symbols are found there
 * by name and added when absent. */
weft_status *weft_expr_compile(const weft_expr_context *exprs, weft_expr e, weft_formulas *formulas,
                               uint32_t *out_slot) WEFT_MUST_USE;
#endif
