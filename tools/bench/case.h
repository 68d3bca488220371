/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_BENCH_CASE_H
#define WEFT_TOOLS_BENCH_CASE_H
/* What is measured: one row per case, with its graph and its floor. */
#include <weft/graph.h>

enum { CASE_INPUTS = 3, CASE_RANK = 4, CASE_FLOORS = 2 };

typedef struct case_tensor {
    size_t rank;
    int64_t shape[CASE_RANK];
    double reach;  /* numbers of [-reach, reach); 0 stands for 1 */
    int64_t below; /* not 0: integers (i64) from 0 up to this, in place of the case's dtype */
} case_tensor;

/* Arrays of one case, row-major. */
typedef struct case_data {
    const void *inputs[CASE_INPUTS];
    void *output;
    float *scratch;        /* the floor's own */
    int64_t rows, columns; /* of the first input, as a matrix */
} case_data;

/* Rows begin <= i < end of what the case's threads share. */
typedef void (*case_floor)(const case_data *data, int64_t begin, int64_t end);

typedef struct weft_bench_case {
    const char *name;
    const char *bound; /* what the floor waits for: "memory", "compute", "call" */
    const char *dtype;
    size_t input_count;
    case_tensor inputs[CASE_INPUTS], output;
    double bytes, flops; /* of one pass, each element moved once; 0 where that says nothing */
    double tolerance;    /* largest difference to the floor, over the largest magnitude */
    weft_tensor (*trace)(const weft_tensor *inputs);
    size_t scratch;                         /* elements of case_data.scratch, */
    void (*prepare)(const case_data *data); /* which this fills before anything is measured */
    case_floor floors[CASE_FLOORS];         /* the faster one counts; the second may be NULL */
    int64_t rows;                           /* that the floor's threads share */
    unsigned chunks;                        /* of rows per thread; 0: not worth threads */
} weft_bench_case;

size_t weft_bench_case_count(void);
const weft_bench_case *weft_bench_case_at(size_t index);

/* floor.c: loops, for the vectors of the machine they are compiled on. */
void floor_broadcast(const case_data *data, int64_t begin, int64_t end);
void floor_chain(const case_data *data, int64_t begin, int64_t end);
void floor_softmax(const case_data *data, int64_t begin, int64_t end);
void floor_row_sum(const case_data *data, int64_t begin, int64_t end);
void floor_column_sum(const case_data *data, int64_t begin, int64_t end);
void floor_transpose_along(const case_data *data, int64_t begin, int64_t end);
void floor_transpose_across(const case_data *data, int64_t begin, int64_t end);
void floor_add(const case_data *data, int64_t begin, int64_t end);
void floor_layer_norm(const case_data *data, int64_t begin, int64_t end);
void floor_gelu(const case_data *data, int64_t begin, int64_t end);
void floor_embedding(const case_data *data, int64_t begin, int64_t end);
/* exp(x - max) / sum of one row. */
void floor_softmax_row(const float *x, float *restrict y, int64_t n);
/* The windows of a convolution, a row for each channel and element of the kernel. */
void floor_prepare_windows(const case_data *data);

/* product.c: BLIS, with and without its path for small products. */
void floor_product_f32(const case_data *data, int64_t begin, int64_t end);
void floor_product_f64(const case_data *data, int64_t begin, int64_t end);
void floor_small_product_f32(const case_data *data, int64_t begin, int64_t end);
void floor_small_product_f64(const case_data *data, int64_t begin, int64_t end);
void floor_attention(const case_data *data, int64_t begin, int64_t end);
/* Of the kernel and the windows; rows are places of the result. */
void floor_conv(const case_data *data, int64_t begin, int64_t end);
#endif
