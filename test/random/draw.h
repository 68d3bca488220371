/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_DRAW_H
#define WEFT_TEST_DRAW_H
/*
 * What the makers of calls draw: operands, axes, extents, dtypes, numbers. Everything follows from the generator's
 * state. Where the generator is told to make mistakes, some of what is drawn breaks the rules on purpose.
 */
#include <weft/einsum.h>
#include <weft/region.h>
#include <weft/weft.h>
#include "test/rng.h"

enum { DRAW_TENSORS = 96, DRAW_INPUTS = 12, DRAW_EXTENTS = 8, DRAW_AXES = 8, DRAW_PARTS = 6 };

typedef struct generator {
    uint64_t state;
    weft_graph *graph;
    weft_extent extents[DRAW_EXTENTS]; /* to choose from */
    size_t extent_count;
    weft_tensor tensors[DRAW_TENSORS];
    size_t count, inputs;
    size_t most_axes;
    size_t mistakes; /* one of so many arguments is wrong; 0: none */
    size_t depth;    /* of bodies around */
    struct {
        const weft_graph *graph;
        size_t first, end;
    } refused[32]; /* nodes that were too much, but are still there, so that making them again costs nothing */
    size_t refused_count;
    double budget; /* elements that may still be made */
} generator;

#define DRAW_BIT(dtype) (1u << WEFT_##dtype)
#define DRAW_ALL ((1u << WEFT_DTYPE_COUNT) - 1)
#define DRAW_BOOL DRAW_BIT(BOOL)
#define DRAW_COMPLEX (DRAW_BIT(C64) | DRAW_BIT(C128))
#define DRAW_PART (DRAW_BIT(F32) | DRAW_BIT(F64))
#define DRAW_FLOAT (DRAW_PART | DRAW_BIT(F16) | DRAW_BIT(BF16))
#define DRAW_INEXACT (DRAW_FLOAT | DRAW_COMPLEX)
#define DRAW_NUMERIC (DRAW_ALL & ~DRAW_BOOL)
#define DRAW_ORDERED (DRAW_ALL & ~DRAW_COMPLEX)
#define DRAW_REAL (DRAW_ORDERED & ~DRAW_BOOL)
#define DRAW_INTEGER (DRAW_BIT(U8) | DRAW_BIT(I32) | DRAW_BIT(U32) | DRAW_BIT(I64))
#define DRAW_BITS (DRAW_INTEGER | DRAW_BOOL)
#define DRAW_INDEX (DRAW_BIT(I32) | DRAW_BIT(I64))

/* Lists that are filled in; the views of them are what calls take. */
typedef struct drawn_ints {
    size_t count;
    int64_t items[DRAW_AXES];
} drawn_ints;
typedef struct drawn_shape {
    size_t rank;
    weft_extent extents[2 * DRAW_AXES];
} drawn_shape;
#define INTS(drawn) ((weft_ints){(drawn).count, (drawn).items})
#define SHAPE(drawn) ((weft_shape){(drawn).rank, (drawn).extents})

/* The next of a sequence, below `count` (from 1). */
size_t draw_below(generator *g, size_t count);
/* True once in `of` times. */
bool draw_chance(generator *g, size_t of);
/* Whether this argument is to be wrong. */
bool draw_mistake(generator *g);

/* A number for an option: mostly harmless. */
double draw_number(generator *g);
int64_t draw_small(generator *g, int64_t most);
weft_dtype draw_dtype(generator *g, weft_dtype_set dtypes);

weft_extent draw_extent(generator *g);
drawn_shape draw_shape(generator *g, size_t most_rank);
/* Of a tensor, made to be changed. */
drawn_shape draw_shape_of(weft_tensor x);
weft_extent draw_extent_of(weft_tensor x, size_t axis);
int64_t draw_least(weft_extent extent);
int64_t draw_most(weft_extent extent);

/* An axis of x, at times counted from the end. */
int64_t draw_axis(generator *g, weft_tensor x);
/* Distinct axes of x, any order, at least one where `some`. */
drawn_ints draw_axes(generator *g, weft_tensor x, bool some);
/* All axes of x in any order. */
drawn_ints draw_order(generator *g, size_t rank);
/* `count` numbers in [low, high]. */
drawn_ints draw_ints(generator *g, size_t count, int64_t low, int64_t high);

weft_tensor draw_input(generator *g, weft_dtype dtype, weft_shape shape);
/* One that is there: late ones more often, so that programs grow deep. */
weft_tensor draw_tensor(generator *g);
/* x, cast where its dtype is none of `dtypes`. */
weft_tensor draw_fit(generator *g, weft_tensor x, weft_dtype_set dtypes);
/* A tensor of that dtype and shape: one that is there, one that broadcasts to it where `may_broadcast`, or new. */
weft_tensor draw_like(generator *g, weft_dtype dtype, weft_shape shape, bool may_broadcast);
/* draw_like of x's dtype and shape, which broadcasts. */
weft_tensor draw_partner(generator *g, weft_tensor x);
/* An i64 or i32 tensor of indices into an axis of that extent, made of another. */
weft_tensor draw_indices(generator *g, weft_tensor from, weft_extent extent);
/* `value` in x's dtype. */
weft_tensor draw_filled(weft_tensor x, double value);
/* Another result of a call, to go on from. */
void draw_keep(generator *g, weft_tensor x);

/* ---- calls ---- */

typedef struct draw_call draw_call;
typedef weft_tensor (*draw_maker)(generator *g, const draw_call *call, weft_tensor x);
struct draw_call {
    const char *name;       /* without the prefix; NULL: a fragment of several calls */
    draw_maker make;        /* one call on x and what else it takes */
    void (*function)(void); /* what the makers of one form call */
    weft_dtype_set dtypes;
    size_t weight;
};
/* The table of calls.def, ended by a row without a maker. */
const draw_call *draw_calls(void);

/* Adds up to `wanted` tensors made by any calls. What INTERNAL errors say goes to `out_problem`, if they come up. */
bool draw_grow(generator *g, size_t wanted, char *out_problem, size_t size);
#endif
