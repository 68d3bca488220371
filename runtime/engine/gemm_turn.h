/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_TURN_H
#define WEFT_RUNTIME_ENGINE_GEMM_TURN_H
/*
 * Products whose result lies across an operand: the rows, or columns, of both run over several axes, and elements are
 * adjacent along another one of these in C than in the operand. As they lie, one of the two would be read or written a
 * number at a time. So parts of C are computed into a buffer that L2 holds, in the order of the operand, and go from
 * there to C by squares of registers.
 */
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_transpose.h"

/* Rows, columns and the axes of a batch along which C moves, at most. */
enum { WEFT_GEMM_TURN_AXES = WEFT_MAX_RANK + 2 };

/* A C of more than so many times the second level is written past the caches: none of them holds it. */
enum { WEFT_GEMM_TURN_PAST = 32 };

typedef struct weft_gemm_turn_axis {
    int64_t extent, part; /* of the product, and of a part */
    int64_t a, b, c;      /* strides in elements, */
    int64_t buffer;       /* that of the buffer */
    size_t place;         /* in the batch of the call; or after it, of its rows and its columns */
} weft_gemm_turn_axis;

typedef struct weft_gemm_turn {
    const weft_gemm_call *call;
    size_t rank;                                   /* 0: the product is better computed as it lies */
    weft_gemm_turn_axis axes[WEFT_GEMM_TURN_AXES]; /* from the longest to the shortest stride in C; of these */
    size_t own;                                    /* is adjacent in the operand, */
    size_t last;                                   /* and this one in C; */
    size_t next;                                   /* along this one C continues where that ends; `rank`: none */
    int64_t parts;                                 /* of C */
    int64_t lead;                                  /* elements of C before the parts of `last` begin */
    size_t bytes;                                  /* of the buffer */
    bool far;                                      /* the operand comes from beyond L2 */
    bool past;                                     /* C is written past the caches, which it is too large for */
} weft_gemm_turn;

/* How C is cut for a second level of so many bytes. `call` is not empty, and stays where it is. */
void weft_gemm_turn_find(weft_gemm_turn *turn, const weft_gemm_call *call, size_t cache_bytes);
/* Parts begin where lines of the cache do in this memory, so far as they all can. Their number is as before. */
void weft_gemm_turn_align(weft_gemm_turn *turn, const void *c);

/* Parts among which there is one of each size. */
int64_t weft_gemm_turn_sizes(const weft_gemm_turn *turn);
int64_t weft_gemm_turn_size(const weft_gemm_turn *turn, int64_t index);

/* Which elements a part has. Along the last axis its first `tail` ones lie from `begin` on. Where it has more, these
 * are the first ones of the axis: in memory they come next, at the following place along `next`. */
typedef struct weft_gemm_turn_part {
    int64_t begin[WEFT_GEMM_TURN_AXES], extents[WEFT_GEMM_TURN_AXES], tail;
} weft_gemm_turn_part;
void weft_gemm_turn_start(const weft_gemm_turn *turn, int64_t index, weft_gemm_turn_part *out_part);
/* `count` of the elements along the last axis, from `first` on, as a product of its own with the buffer for its C: they
 * lie apart neither in the operand nor in C. It stays where it is. */
typedef struct weft_gemm_turn_piece {
    weft_gemm_call call;
    int64_t batch[2 * WEFT_MAX_RANK], strides[2 * WEFT_MAX_RANK];
} weft_gemm_turn_piece;
void weft_gemm_turn_cut(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, int64_t first, int64_t count,
                        weft_gemm_turn_piece *out_piece);
/* Asks for what a part joins with its neighbours to lines of the cache, which is written into these. */
void weft_gemm_turn_fetch(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, const char *buffer, char *c);
/* Puts it from the buffer into C. */
void weft_gemm_turn_finish(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, weft_gemm_transpose *transpose,
                           const char *buffer, char *c);
#endif
