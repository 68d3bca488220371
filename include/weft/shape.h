/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_SHAPE_H
#define WEFT_SHAPE_H
/*
 * Filling, joining, splitting and repeating, composed of the primitives of ops.h, whose rules hold here too: any dtype
 * unless stated otherwise; axes may be negative, extents may be symbolic. All are views except those that join.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- filling ---- */
weft_tensor weft_zeros(weft_graph *graph, weft_dtype dtype, weft_shape shape);
weft_tensor weft_ones(weft_graph *graph, weft_dtype dtype, weft_shape shape);
/* `value`, converted as by weft_scalar, in the dtype and shape of x. */
weft_tensor weft_full_like(weft_tensor x, double value);
/* start + i * step for i < count, shape [count]. Floats compute in f64 and round once; others in i64, `start` and
 * `step` must then be integers. Not bool, not complex. */
weft_tensor weft_arange(weft_graph *graph, weft_dtype dtype, double start, double step, weft_extent count);
/* `count` values from `start` to `stop`, both included, equally far apart: start + i * ((stop - start) / (count - 1))
 * in f64, in halves if stop - start overflows, and `stop` itself at the end. One value is `start`. Floats. */
weft_tensor weft_linspace(weft_graph *graph, weft_dtype dtype, double start, double stop, weft_extent count);
/* [rows, columns] with 1 where column - row == diagonal, 0 elsewhere. */
weft_tensor weft_eye(weft_graph *graph, weft_dtype dtype, weft_extent rows, weft_extent columns, int64_t diagonal);
/* 1 where `indices` (integers) equal the position along a new last axis of extent `count`, 0 elsewhere: an index
 * outside [0, count) gives zeros. */
weft_tensor weft_one_hot(weft_tensor indices, weft_extent count, weft_dtype dtype);

/* ---- axes ---- */
/* Swaps two axes. */
weft_tensor weft_transpose(weft_tensor x, int64_t axis_a, int64_t axis_b);
/* Axes `from` (distinct) move to positions `to` (distinct) of the result, the others keep their order. */
weft_tensor weft_moveaxis(weft_tensor x, weft_ints from, weft_ints to);
/* Inserts an axis of extent one at position `axis` of the result / removes one, requiring that its extent is one. */
weft_tensor weft_unsqueeze(weft_tensor x, int64_t axis);
weft_tensor weft_squeeze(weft_tensor x, int64_t axis);
/* Axes first .. last become one. A tensor of rank 0 counts as [1], and becomes that. */
weft_tensor weft_flatten(weft_tensor x, int64_t first, int64_t last);
/* weft_broadcast to the shape of `like`. */
weft_tensor weft_broadcast_like(weft_tensor x, weft_tensor like);

/* ---- joining and splitting ---- */
/* A new axis at position `axis` of the result, along which the operands follow each other; their shapes must agree. */
weft_tensor weft_stack(weft_tensors operands, int64_t axis);
/* `parts` equal pieces along `axis`, whose extent must be divisible. Writes them all and returns the first; after an
 * error all are failed, in all `parts` places of `out_parts`. */
weft_tensor weft_split(weft_tensor x, int64_t axis, size_t parts, weft_tensor *out_parts);
/* Pieces of the given extents, which must add up to that of `axis`: as many as `sizes` has. */
weft_tensor weft_split_at(weft_tensor x, int64_t axis, weft_shape sizes, weft_tensor *out_parts);
/* Pieces of ceil(extent / parts), the last one shorter, and none empty: at most `parts`; writes their number, 1 for an
 * empty axis. The extent must be static. After an error there are none, and all `parts` places are failed. */
weft_tensor weft_chunk(weft_tensor x, int64_t axis, size_t parts, weft_tensor *out_parts, size_t *out_count);

/* ---- repeating and shifting ---- */
/* Repeats every element `count` times in succession along `axis`. */
weft_tensor weft_repeat(weft_tensor x, int64_t axis, weft_extent count);
/* Repeats x as a whole counts[i] times along axis i; counts and shape are aligned at the right, missing entries count
 * as 1. The result's axes and those with another count than 1 are WEFT_MAX_RANK at most together. */
weft_tensor weft_tile(weft_tensor x, weft_shape counts);
/* Element i moves to (i + shifts[j]) modulo the extent, along each of `axes`. A shift of INT64_MIN is OUT_OF_RANGE. */
weft_tensor weft_roll(weft_tensor x, weft_ints shifts, weft_ints axes);

/* ---- diagonals: number k lies where column - row == k ---- */
/* The last two axes as matrices with zeros above / below diagonal k. */
weft_tensor weft_tril(weft_tensor x, int64_t diagonal);
weft_tensor weft_triu(weft_tensor x, int64_t diagonal);
/* The elements of diagonal k of the matrices over axes a (rows) and b (columns), as a new last axis in place of both;
 * none of a diagonal outside. */
weft_tensor weft_diagonal(weft_tensor x, int64_t diagonal, int64_t axis_a, int64_t axis_b);
/* Of rank 1: the square matrix with x on diagonal k and zeros elsewhere. Of rank 2: its diagonal k. */
weft_tensor weft_diag(weft_tensor x, int64_t diagonal);

/* Grid i repeats axes[i] (rank 1) along its axis i; all grids have one axis for each operand. With `swap` the first two
 * axes change places ("xy"). Writes as many as there are operands and returns the first. Dtypes may differ. */
weft_tensor weft_meshgrid(weft_tensors axes, bool swap, weft_tensor *out_grids);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_zeros(...) WEFT_LOCATED_(zeros, __VA_ARGS__)
#define weft_ones(...) WEFT_LOCATED_(ones, __VA_ARGS__)
#define weft_full_like(...) WEFT_LOCATED_(full_like, __VA_ARGS__)
#define weft_arange(...) WEFT_LOCATED_(arange, __VA_ARGS__)
#define weft_linspace(...) WEFT_LOCATED_(linspace, __VA_ARGS__)
#define weft_eye(...) WEFT_LOCATED_(eye, __VA_ARGS__)
#define weft_one_hot(...) WEFT_LOCATED_(one_hot, __VA_ARGS__)
#define weft_transpose(...) WEFT_LOCATED_(transpose, __VA_ARGS__)
#define weft_moveaxis(...) WEFT_LOCATED_(moveaxis, __VA_ARGS__)
#define weft_unsqueeze(...) WEFT_LOCATED_(unsqueeze, __VA_ARGS__)
#define weft_squeeze(...) WEFT_LOCATED_(squeeze, __VA_ARGS__)
#define weft_flatten(...) WEFT_LOCATED_(flatten, __VA_ARGS__)
#define weft_broadcast_like(...) WEFT_LOCATED_(broadcast_like, __VA_ARGS__)
#define weft_stack(...) WEFT_LOCATED_(stack, __VA_ARGS__)
#define weft_split(...) WEFT_LOCATED_(split, __VA_ARGS__)
#define weft_split_at(...) WEFT_LOCATED_(split_at, __VA_ARGS__)
#define weft_chunk(...) WEFT_LOCATED_(chunk, __VA_ARGS__)
#define weft_repeat(...) WEFT_LOCATED_(repeat, __VA_ARGS__)
#define weft_tile(...) WEFT_LOCATED_(tile, __VA_ARGS__)
#define weft_roll(...) WEFT_LOCATED_(roll, __VA_ARGS__)
#define weft_tril(...) WEFT_LOCATED_(tril, __VA_ARGS__)
#define weft_triu(...) WEFT_LOCATED_(triu, __VA_ARGS__)
#define weft_diagonal(...) WEFT_LOCATED_(diagonal, __VA_ARGS__)
#define weft_diag(...) WEFT_LOCATED_(diag, __VA_ARGS__)
#define weft_meshgrid(...) WEFT_LOCATED_(meshgrid, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
