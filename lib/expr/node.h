/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EXPR_NODE_H
#define WEFT_LIB_EXPR_NODE_H
/* Shared by the files of the expression engine; not included elsewhere. */
#include "lib/expr/expr.h"

#include "runtime/base/map.h"

/* Bounds of a single expression; beyond them an operation is an error, so every recursion and every product is bounded.
 */
#define WEFT_EXTENT_MAX_HEIGHT 200
#define WEFT_EXTENT_MAX_TERMS 4096
/* How deep divisions may nest while they simplify each other; below that they are kept as written. */
#define WEFT_EXTENT_MAX_DEPTH 24

/* Both members have eight bytes: arrays of terms are keys, compared byte by byte. */
typedef struct weft_term {
    int64_t coefficient;
    uint64_t expr;
} weft_term;

struct weft_expr_node;

/* A term read as factor * (x mod d). */
typedef struct weft_expr_reading {
    const struct weft_expr_node *mod;
    weft_expr factor;         /* the constant 1 where the term is the MOD */
    weft_expr whole, x, next; /* the factor times d * (x div d), x and d; NONE where that does not exist */
} weft_expr_reading;

typedef struct weft_expr_node {
    weft_expr id;
    weft_expr_kind kind;
    uint32_t count;   /* terms, factors or operands */
    uint32_t height;  /* longest way down to a leaf */
    uint32_t parts;   /* nodes, each as often as it is written; UINT32_MAX from there on */
    bool has_choice;  /* of a SUM: a term is a MIN or MAX */
    bool has_mod;     /* a MOD, a product with one, or a sum with such terms */
    bool total;       /* it and its operands have a value whatever the symbols are */
    bool settled;     /* of a SUM: `better` is known */
    bool read;        /* of a term: `readings` are known */
    bool learning;    /* of a MOD: `quotient` and `whole` are being found */
    bool in_quotient; /* a term of the `quotient` of some MOD */
    int8_t proof;     /* 1: never negative, -1: no proof found, 0: not tried */
    int64_t value;    /* of a CONSTANT; the offset of a SUM */
    int64_t min, max, divisor;
    uint64_t shape; /* hash of what it is: the same in all contexts and whatever was made before */
    weft_term self; /* 1 * this, for reading any expression as a sum */
    const weft_term *terms;
    const uint64_t *symbols; /* bit set by symbol index */
    uint32_t words;
    uint32_t symbol; /* index, of a SYMBOL */
    const char *name;
    weft_expr bound, last;     /* of a loop variable: its extent, and extent - 1 unless that is beyond int64 */
    weft_expr quotient, whole; /* of MOD(x, d): x div d, and d * (x div d); NONE when they do not exist */
    weft_expr better;          /* of a SUM: what it simplifies to */
    weft_expr absorbed;        /* of a SUM: what it is once its MINs and MAXs take in terms; NONE: not tried */
    weft_expr gaps[2]; /* of a MIN or MAX: first operand minus second, and second minus first; NONE: not tried */
    uint32_t reading_count;
    const weft_expr_reading *readings; /* one for each MOD among the factors */
} weft_expr_node;

struct weft_expr_context {
    const weft_allocator *allocator;
    weft_arena arena;
    weft_map by_key, by_name;
    weft_expr_node none; /* what NONE reads as */
    weft_expr_node **nodes;
    size_t count, capacity;
    weft_expr *symbols;
    size_t symbol_count, symbol_capacity;
    weft_term *scratch; /* a stack of lists under construction */
    size_t scratch_count, scratch_capacity;
    weft_status *error;
    unsigned speculating; /* while positive, overflow gives NONE but no error */
    unsigned depth;
    unsigned choosing, effort; /* work on MINs and MAXs: how deep it nests, and how much of it may still be done */
    unsigned proving;          /* while positive, sums are left as they come */
};

/* Any expression read as offset + sum of terms. */
typedef struct weft_expr_view {
    int64_t offset;
    const weft_term *terms;
    size_t count;
} weft_expr_view;

/* Terms being gathered on the scratch stack; lists nest, and each ends by sum or intern. */
typedef struct weft_expr_list {
    size_t mark;
    bool failed;
} weft_expr_list;

weft_expr_node *weft_expr_node_of(const weft_expr_context *exprs, weft_expr e);
weft_expr_view weft_expr_view_of(const weft_expr_context *exprs, weft_expr e);
/* One value only; a bound that means "unbounded" is not one. */
bool weft_expr_is_point(const weft_expr_node *node);
bool weft_expr_is_choice(const weft_expr_node *node); /* MIN or MAX */
/* Keeps the error unless there is one already, and returns NONE. */
weft_expr weft_expr_fail(weft_expr_context *exprs, weft_code code, const char *format, ...) WEFT_FORMAT(3, 4);
weft_expr weft_expr_overflow(weft_expr_context *exprs);

weft_expr_list weft_expr_begin(weft_expr_context *exprs, weft_expr_kind kind, int64_t offset);
void weft_expr_push(weft_expr_context *exprs, weft_expr_list *list, int64_t coefficient, weft_expr e);
/* The node of exactly that list, or a constant when its range is one value. */
weft_expr weft_expr_intern(weft_expr_context *exprs, weft_expr_list *list);
/* What the MIN or MAX (`kind`) of two operands was found to be; NONE where it is not known. */
weft_expr weft_expr_recall(const weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b);
/* Returns e, or NONE out of memory. */
weft_expr weft_expr_remember(weft_expr_context *exprs, weft_expr_kind kind, weft_expr a, weft_expr b, weft_expr e);
/* The canonical sum of the list's terms, which come in any order. */
weft_expr weft_expr_sum(weft_expr_context *exprs, weft_expr_list *list);
/* A new symbol node under a name that must be free. */
weft_expr weft_expr_add_symbol(weft_expr_context *exprs, const char *name, int64_t min, int64_t max, weft_expr bound);
/* Symbols as they were made, then others by kind, constants last. */
size_t weft_expr_rank(const weft_expr_node *node);
/* Whether a comes before b in an order of what they are: by rank, small ones first. That of ids would depend on what
 * was made first. */
bool weft_expr_precedes(const weft_expr_context *exprs, weft_expr a, weft_expr b);
/* Fills range, divisor, height, shape and symbols of a node from its operands; false when out of memory or too high. */
bool weft_expr_analyse(weft_expr_context *exprs, weft_expr_node *node);

/* A symbol with only one possible value as that value. */
weft_expr weft_expr_settle(weft_expr_context *exprs, weft_expr e);
/* That of the term with `expr`; 0 where there is none. */
int64_t weft_expr_coefficient(weft_expr_view view, uint64_t expr);
/* ca * a + cb * b. */
weft_expr weft_expr_combine(weft_expr_context *exprs, weft_expr a, int64_t ca, weft_expr b, int64_t cb);
/* The factors of a term, a term being neither constant nor sum. */
const weft_term *weft_expr_factors(const weft_expr_context *exprs, weft_expr term, size_t *out_count);
/* `term` without the factors of `divisor` (NONE stands for 1); the constant 1 when nothing is left, NONE if not
 * divisible. */
weft_expr weft_expr_divide_term(weft_expr_context *exprs, weft_expr term, weft_expr divisor);
/* e = cofactor * atom + rest, where `rest` has no term with that factor. */
void weft_expr_cofactor(weft_expr_context *exprs, weft_expr e, weft_expr atom, weft_expr *out_cofactor,
                        weft_expr *out_rest);
/* A sum made smaller by what is known of its MODs; `e` itself if nothing helps. */
weft_expr weft_expr_improve(weft_expr_context *exprs, weft_expr e);
/* A sum whose MINs and MAXs take in what makes them smaller; `e` itself where nothing does. */
weft_expr weft_expr_absorb(weft_expr_context *exprs, weft_expr e);
/* x div d for x = c * M + o, M a MIN or MAX, and a constant d > 0: M of the operands' quotients. NONE for another x. */
weft_expr weft_expr_divide_choice(weft_expr_context *exprs, weft_expr x, weft_expr d);
/* x = d * quotient + rest by what is divisible term by term, for d > 0. False when nothing is, or out of int64. */
bool weft_expr_split(weft_expr_context *exprs, weft_expr x, weft_expr d, weft_expr *out_quotient, weft_expr *out_rest);

/* Proof that `e` >= 0 whenever the loop variables in `e`, `context` and `other` (both may be NONE) are inside their
 * loops. */
bool weft_expr_prove(weft_expr_context *exprs, weft_expr e, weft_expr context, weft_expr other);
bool weft_expr_prove_positive(weft_expr_context *exprs, weft_expr e, weft_expr context, weft_expr other);
#endif
