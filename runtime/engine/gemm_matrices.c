/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_matrices.h"
#include <stdlib.h>

/* Only what is looked at is set: this is done for each product, also for small ones. */
static void start_axes(weft_gemm_axes *axes, int64_t count, int64_t stride)
{
    axes->count = axes->each = count;
    axes->stride = stride;
    axes->rank = 0;
}

static bool continues(const weft_gemm_axes *axes, int64_t stride)
{
    return axes->rank == 0 && (axes->each == 1 || stride == axes->each * axes->stride);
}

/*
 * Whether an axis of the batch along which one operand does not move is better one more axis of rows or columns, `own`
 * of which there are. Otherwise each of many products goes through all of the other operand, which costs the more the
 * fewer rows it serves, and leaves lanes empty; but these are packed then, and tiles of C have seams, which costs the
 * more the fewer terms there are. An axis that does not fill a vector is joined whatever the other side is: 32 groups
 * of 4 x 3136 x 36 take 1.2 ms instead of 5.1. What the other side joins may make it long enough: cbagh,fegdh->fadbec
 * of 6, 25, 5, 15, 33, 25, 19, 5 takes half the time. ae,cbde->badc of 56, 31, 20, 17, 44, whose 20 columns would be
 * the product's, takes 0.4 of the time. Measured on Sapphire Rapids, groups on Zen 3. One along which C is adjacent,
 * and that would be read in place and asked for, is not joined if it fills two vectors: ec,abed->abcd of 96, 84, 84,
 * 84, 96 would take 1.5 times as long, of 60, 60, 84, 36, 96 1.4, ecbfa,fd->abcde of 48, 36, 36, 24, 48, 48 1.2, but
 * ec,abed->abcd of 8, 8, 84, 36, 96, which is in L2, 0.93 (Zen 5; 0.9 with AVX2, whose kernels do not ask). Beside many
 * terms a longer one is joined too if the last of its pairs of vectors has more lanes left than an eighth of all: 3 x 3
 * of 64, 128 and 256 channels of 8 images of 14 x 14 take 0.95 of the time, of 15 x 15 0.97 (Zen 5).
 */
static bool is_worth_joining(int64_t own, weft_gemm_line_count other, int64_t terms, bool is_in_place)
{
    enum { SMALL = 16 * 16 * 16, FEW = 128, FEW_IN_PLACE = 32, FEW_OF_LANES = 256, SHORT = 16, VECTOR = 16 };
    enum { FEW_TERMS = 16, SOME_TERMS = 24, MANY_TERMS = 256, SHARE = 8 };
    if ((double)own * (double)other.each * (double)terms < SMALL) return true;
    if (own < VECTOR) return terms >= FEW_TERMS;
    int64_t idle = (2 * VECTOR - own % (2 * VECTOR)) % (2 * VECTOR);
    if (!is_in_place && own < FEW_OF_LANES && SHARE * idle > own && terms >= MANY_TERMS) return other.most >= SHORT;
    return terms >= (own < 2 * VECTOR ? FEW_TERMS : SOME_TERMS) && own < (is_in_place ? FEW_IN_PLACE : FEW) &&
           other.most >= SHORT;
}

/* Around those of C that are adjacent, which stay so. */
static bool join(weft_gemm_axes *operand, const weft_gemm_axes *terms, weft_gemm_axes *c, int64_t extent,
                 const int64_t *strides, weft_gemm_line_count other, bool ahead)
{
    bool is_free = continues(operand, strides[0]) && continues(c, strides[1]);
    bool is_outer = llabs(strides[1]) >= llabs(c->stride);
    bool is_in_place = ahead && c->stride == 1 && operand->rank + terms->rank == 0 && !continues(operand, strides[0]);
    if (!is_free && !(is_outer && is_worth_joining(c->each, other, terms->count, is_in_place))) return false;
    weft_gemm_axes_add(operand, extent, strides[0]);
    weft_gemm_axes_add(c, extent, strides[1]);
    return true;
}

/* Those of an operand with these strides along the batch; `other` is the other operand. */
static weft_gemm_line_count lines_of(const weft_gemm_call *call, int64_t each, const int64_t *strides,
                                     const int64_t *other)
{
    weft_gemm_line_count lines = {each, each};
    for (size_t axis = 0; axis < call->batch_rank; axis++)
        if (strides[axis] != 0 && other[axis] == 0 && call->c_batch[axis] != 0) lines.most *= call->batch[axis];
    return lines;
}

/* Where C does not move, terms are added up; where one operand does not, there may be more rows or columns. */
static void add_axis(weft_gemm_matrices *m, const weft_gemm_call *call, size_t axis)
{
    int64_t extent = call->batch[axis], a = call->a_batch[axis], b = call->b_batch[axis], c = call->c_batch[axis];
    if (extent == 1 || c == 0) {
        weft_gemm_axes_add(&m->a_terms, extent, a);
        weft_gemm_axes_add(&m->b_terms, extent, b);
        return;
    }
    if (b == 0 && a != 0 &&
        join(&m->a_rows, &m->a_terms, &m->c_rows, extent, (const int64_t[]){a, c}, m->columns, m->ahead))
        return;
    if (a == 0 && b != 0 &&
        join(&m->b_columns, &m->b_terms, &m->c_columns, extent, (const int64_t[]){b, c}, m->rows, m->ahead))
        return;
    m->batch *= extent;
    m->extents[m->batch_rank] = extent;
    m->a_strides[m->batch_rank] = a;
    m->b_strides[m->batch_rank] = b;
    m->c_strides[m->batch_rank++] = c;
}

/* The stride of an axis that adds rows or columns, in the operand that has them, if its terms are not adjacent, which
 * would be long runs already; 0: it is none of these. */
static int64_t free_stride(const weft_gemm_call *call, size_t axis)
{
    int64_t a = call->a_batch[axis], b = call->b_batch[axis];
    if (call->c_batch[axis] == 0 || (a != 0 && b != 0)) return 0;
    return (a != 0 ? call->a_column : call->b_row) == 1 ? 0 : llabs(a != 0 ? a : b);
}

/* The axes of a batch from the innermost outwards; those of rows and of columns in the order of their operand, which is
 * then read in long runs, after those that make runs of C longer. */
static void sort_axes(const weft_gemm_call *call, size_t *out_axes)
{
    int64_t strides[2 * WEFT_MAX_RANK], runs[] = {call->m * call->c_row, call->n * call->c_column};
    for (size_t i = 0; i < call->batch_rank; i++) {
        size_t axis = call->batch_rank - 1 - i, at = i;
        int64_t stride = free_stride(call, axis), *run = &runs[call->a_batch[axis] == 0];
        if (stride != 0 && call->c_batch[axis] == *run) {
            *run *= call->batch[axis];
            stride = 1;
        }
        for (; stride != 0 && at > 0 && strides[at - 1] > stride; at--) {
            out_axes[at] = out_axes[at - 1];
            strides[at] = strides[at - 1];
        }
        out_axes[at] = axis;
        strides[at] = stride;
    }
}

void weft_gemm_matrices_find(weft_gemm_matrices *m, const weft_gemm_call *call, bool ahead)
{
    m->batch = 1;
    m->ahead = ahead;
    m->batch_rank = 0;
    start_axes(&m->a_rows, call->m, call->a_row);
    start_axes(&m->a_terms, call->k, call->a_column);
    start_axes(&m->b_columns, call->n, call->b_column);
    start_axes(&m->b_terms, call->k, call->b_row);
    start_axes(&m->c_rows, call->m, call->c_row);
    start_axes(&m->c_columns, call->n, call->c_column);
    m->rows = lines_of(call, call->m, call->a_batch, call->b_batch);
    m->columns = lines_of(call, call->n, call->b_batch, call->a_batch);
    size_t axes[2 * WEFT_MAX_RANK];
    sort_axes(call, axes);
    for (size_t i = 0; i < call->batch_rank; i++) add_axis(m, call, axes[i]);
}
