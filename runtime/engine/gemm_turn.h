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
    size_t last;                                   /* and this one in C */
    int64_t parts;                                 /* of C */
    size_t bytes;                                  /* of the buffer */
    bool past;                                     /* C is written past the caches, which it is too large for */
} weft_gemm_turn;

/* How C is cut for a second level of so many bytes. `call` is not empty, and stays where it is. */
void weft_gemm_turn_find(weft_gemm_turn *turn, const weft_gemm_call *call, size_t cache_bytes);

/* Parts among which there is one of each size. */
int64_t weft_gemm_turn_sizes(const weft_gemm_turn *turn);
int64_t weft_gemm_turn_size(const weft_gemm_turn *turn, int64_t index);

/* A part as a product of its own, with the buffer for its C. It stays where it is. */
typedef struct weft_gemm_turn_part {
    weft_gemm_call call;
    int64_t batch[2 * WEFT_MAX_RANK], strides[2 * WEFT_MAX_RANK];
    int64_t begin[WEFT_GEMM_TURN_AXES], extents[WEFT_GEMM_TURN_AXES];
} weft_gemm_turn_part;
void weft_gemm_turn_start(const weft_gemm_turn *turn, int64_t index, weft_gemm_turn_part *out_part);
/* Puts it from the buffer into C. */
void weft_gemm_turn_finish(const weft_gemm_turn *turn, const weft_gemm_turn_part *part, weft_gemm_transpose *transpose,
                           const char *buffer, char *c);
#endif
