/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_FORMULA_H
#define WEFT_RUNTIME_PROGRAM_FORMULA_H
/*
 * Extents at run time: a straight-line table of integer formulas. A slot is a symbol, whose value the caller gives, a
 * constant, or computed from lower slots; one pass over the table computes all.
 */
#include <weft/base.h>

typedef enum weft_formula_op {
    WEFT_FORMULA_SYMBOL,
    WEFT_FORMULA_CONSTANT,
    WEFT_FORMULA_ADD,
    WEFT_FORMULA_MUL,
    WEFT_FORMULA_DIV, /* floor */
    WEFT_FORMULA_MOD,
    WEFT_FORMULA_MIN,
    WEFT_FORMULA_MAX
} weft_formula_op;

typedef struct weft_formula {
    weft_formula_op op;
    uint32_t a, b;    /* slots */
    uint32_t zero;    /* in place of padding, which would be anything in objects */
    int64_t constant; /* CONSTANT; for SYMBOL the index into names */
} weft_formula;

typedef struct weft_symbol_info {
    char *name;
    int64_t min, max;
} weft_symbol_info;

typedef struct weft_formulas {
    const weft_allocator *allocator;
    weft_symbol_info *symbols;
    uint32_t *symbol_slots; /* slot of each symbol */
    size_t symbol_count, symbol_capacity;
    weft_formula *items;
    size_t count, capacity;
} weft_formulas;

void weft_formulas_init(weft_formulas *formulas, const weft_allocator *allocator);
void weft_formulas_finish(weft_formulas *formulas);
/* The same slots again, in memory of `allocator`. */
weft_status *weft_formulas_copy(const weft_allocator *allocator, const weft_formulas *source,
                                weft_formulas *out_copy) WEFT_MUST_USE;
/* The slot of an equal formula, or of a new one at the end. */
weft_status *weft_formulas_add(weft_formulas *formulas, weft_formula formula, uint32_t *out_slot) WEFT_MUST_USE;
weft_status *weft_formulas_add_symbol(weft_formulas *formulas, const char *name, int64_t min, int64_t max,
                                      uint32_t *out_slot) WEFT_MUST_USE;
/* Index into `symbols`, or SIZE_MAX. */
size_t weft_formulas_find_symbol(const weft_formulas *formulas, const char *name);
/* A slot without a value: it overflows, divides by zero, or is made of such a slot. But zero times anything is zero, so
 * that strides may overflow in an array of nothing whose elements are counted. */
#define WEFT_FORMULA_NONE INT64_MIN
/* Fills values[0 .. count-1] from the symbols' values (symbol_count of them, in the order of `symbols`). */
void weft_formulas_evaluate(const weft_formulas *formulas, const int64_t *symbols, int64_t *out_values);
/* The first slot to blame for `slot`, which has no value. */
uint32_t weft_formulas_find_cause(const weft_formulas *formulas, const int64_t *values, uint32_t slot);
/* WEFT_OUT_OF_RANGE of function `where` if one of the slots has no value, naming the operation to blame and its
 * operands. */
weft_status *weft_formulas_check(const weft_formulas *formulas, const char *where, const int64_t *values,
                                 const uint32_t *slots, size_t count) WEFT_MUST_USE;
#endif
