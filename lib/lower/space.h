/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_SPACE_H
#define WEFT_LIB_LOWER_SPACE_H
/*
 * Index spaces: the elements of a graph's values addressed by expressions of one kernel. Movement ops disappear here:
 * reading their result at a point is reading their operand at another point.
 */
#include "lib/graph/graph.h"

/* Symbols of a graph, and strides of arrays, whose values are known: specialisation. */
typedef struct weft_fixed {
    size_t count;
    const char *const *names;
    const int64_t *values;
} weft_fixed;

/* Of each symbol of a graph whose id is below `count`, the constant that guards require it to equal, or the first such
 * symbol, or itself: one for all that have to be equal, so that what is walked as one looks so. */
typedef struct weft_equal_symbols {
    size_t count;
    const weft_expr *first;
} weft_equal_symbols;

/* Bytes of the vectors of AVX-512. */
#define WEFT_LONG_VECTOR 64

typedef struct weft_space {
    const weft_graph *graph;
    weft_expr_context *exprs; /* the kernel's */
    weft_arena *arena;
    weft_fixed fixed; /* constants here */
    weft_equal_symbols equal;
    int64_t vector_bytes;  /* of the machine, for choices that depend on it (product.h) */
    bool multiplies_bytes; /* so does whether the library does that (product.h) */
    bool is_limited;       /* runs have a memory limit, for what the fusion plan chooses */
    int64_t threads;       /* that kernels run on, at most; for what the fusion plan chooses */
    weft_expr *imported;   /* graph expression -> kernel expression */
    size_t imported_count;
} weft_space;

/* An element of a value; where a predicate is negative there is none. */
typedef struct weft_point {
    weft_value value;
    weft_expr *index; /* one for each axis of the value */
    uint32_t predicate_count;
    weft_expr *predicates;
} weft_point;

/* Where a value lies, as kernels address it. */
typedef struct weft_memory {
    weft_value value; /* its extents are the memory's */
    weft_dtype dtype;
    const char *stride_prefix; /* strides are symbols "<prefix>.s<axis>", or fixed; NULL: row-major */
    int32_t unit_axis;         /* of strided memory: the axis whose stride is 1, or -1 */
    const int64_t *order;      /* axes, as they follow each other where it is not strided; NULL: as they are */
} weft_memory;

/* Finds the symbols that have to be equal, once for all spaces of a program; false when out of memory. */
bool weft_space_find_equal(weft_space *space);
/* An extent of the graph as an expression of the kernel. */
weft_expr weft_space_extent(weft_space *space, weft_extent extent);
/* Bounds of an extent: its value, as far as the fixed symbols tell. */
void weft_space_range(weft_space *space, weft_extent extent, int64_t *out_least, int64_t *out_most);
bool weft_space_is_one(weft_space *space, weft_extent extent);
/* The same as a divisor: 1 for a constant 0. One that is zero at run time has no points to divide anything for; code
 * generators see to it that what moves out of the empty loops does not fault. */
weft_expr weft_space_divisor(weft_space *space, weft_extent extent);
/* Whether a shape is known to have no elements. Strides of such a value may overflow: its positions and addresses are
 * all 0. */
bool weft_space_is_empty(weft_space *space, weft_shape shape);
/* How many elements lie along these axes of a shape: 0 if the whole shape is known to be empty. */
weft_expr weft_space_count(weft_space *space, weft_shape shape, const int64_t *axes, size_t count);
/* Row-major position of the element in its value. */
weft_expr weft_space_position(weft_space *space, const weft_point *point);
/* Offset of element `index` in `memory`, in elements. */
weft_expr weft_space_address(weft_space *space, const weft_memory *memory, const weft_expr *index);
/* A point of `value` with room for its index, without predicates; index is NULL when out of memory. */
weft_point weft_space_point(weft_space *space, weft_value value);
/* Where index tensor `operand` of gather or scatter `node` is read for an element of the result or of the updates. */
bool weft_space_indices(weft_space *space, const weft_node *node, size_t operand, const weft_expr *index,
                        weft_point *out_point);
/*
 * Where operand `operand` of the point's node is read to compute the point. Elementwise and movement ops, concat, pad,
 * the indices of gather, the starts of a dynamic slice; for reductions and dot, `reduced` has the index of each reduced
 * or contracted axis. False when out of memory.
 */
bool weft_space_operand(weft_space *space, const weft_point *point, size_t operand, const weft_expr *reduced,
                        weft_point *out_point);
#endif
