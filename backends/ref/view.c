/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"
#include <inttypes.h>
#include <string.h>

enum { DATA_ALIGNMENT = 64 };

/* ---- walking ---- */

bool weft_index_start(size_t rank, const int64_t *shape, int64_t *out_index)
{
    for (size_t axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0) return false;
        out_index[axis] = 0;
    }
    return true;
}

bool weft_index_next(size_t rank, const int64_t *shape, int64_t *index)
{
    for (size_t axis = rank; axis-- > 0;) {
        if (++index[axis] < shape[axis]) return true;
        index[axis] = 0;
    }
    return false;
}

char *weft_view_at(const weft_view *view, const int64_t *index)
{
    int64_t offset = 0;
    for (size_t axis = 0; axis < view->rank; axis++) offset += index[axis] * view->strides[axis];
    return (char *)view->data + offset * (int64_t)weft_dtype_size(view->dtype);
}

char *weft_view_nth(const weft_view *view, int64_t position)
{
    return (char *)view->data + position * (int64_t)weft_dtype_size(view->dtype);
}

int64_t weft_view_count(const weft_view *view)
{
    int64_t count = 1;
    for (size_t axis = 0; axis < view->rank; axis++)
        if (view->shape[axis] == 0) return 0;
    for (size_t axis = 0; axis < view->rank; axis++) count *= view->shape[axis];
    return count;
}

bool weft_view_same_shape(const weft_view *a, const weft_view *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

void weft_view_copy(const weft_view *destination, const weft_view *source)
{
    int64_t index[WEFT_MAX_RANK];
    size_t size = weft_dtype_size(source->dtype);
    for (bool more = weft_index_start(source->rank, source->shape, index); more;
         more = weft_index_next(source->rank, source->shape, index))
        memcpy(weft_view_at(destination, index), weft_view_at(source, index), size);
}

/* ---- tensors ---- */

/* Bytes of the elements; an extent of 0 makes them 0 however large the others are. */
static weft_status *data_size(const weft_allocator *allocator, const char *op, weft_dtype dtype, size_t rank,
                              const int64_t *shape, size_t *out_size)
{
    bool empty = false, overflow = false;
    int64_t size = (int64_t)weft_dtype_size(dtype);
    for (size_t axis = 0; axis < rank; axis++) {
        if (shape[axis] < 0)
            return weft_status_create(allocator, WEFT_OUT_OF_RANGE, op,
                                      "%s: extent %" PRId64 " of axis %zu of the result is negative", op, shape[axis],
                                      axis);
        if (shape[axis] == 0) empty = true;
        else overflow |= __builtin_mul_overflow(size, shape[axis], &size);
    }
    if (overflow && !empty)
        return weft_status_create(allocator, WEFT_OUT_OF_RANGE, op, "%s: the size of the result overflows 64 bits", op);
    *out_size = empty ? 0 : (size_t)size;
    return NULL;
}

static void fill_row_major(size_t rank, const int64_t *shape, int64_t *out_strides)
{
    int64_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
        out_strides[axis] = stride;
        /* Only in an empty tensor, where no stride is used, can the product overflow. */
        if (__builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
    }
}

weft_status *weft_tensor_block_create(const weft_allocator *allocator, const char *op, weft_dtype dtype, size_t rank,
                                      const int64_t *shape, weft_tensor_block **out_block)
{
    size_t data = 0, header = sizeof(weft_tensor_block) + 2 * rank * sizeof(int64_t);
    header = (header + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    WEFT_TRY(data_size(allocator, op, dtype, rank, shape, &data));
    size_t bytes = header + data;
    weft_tensor_block *block = allocator->resize(allocator->self, NULL, 0, bytes, DATA_ALIGNMENT);
    if (block == NULL)
        return weft_status_create(allocator, WEFT_OUT_OF_MEMORY, op,
                                  "%s: there is no memory for the %zu bytes of a result", op, bytes);
    block->bytes = bytes;
    for (size_t axis = 0; axis < rank; axis++) block->extents[axis] = shape[axis];
    fill_row_major(rank, shape, block->extents + rank);
    block->view = (weft_view){.dtype = dtype,
                              .rank = rank,
                              .shape = block->extents,
                              .strides = block->extents + rank,
                              .data = (char *)block + header};
    *out_block = block;
    return NULL;
}

void weft_tensor_block_destroy(const weft_allocator *allocator, weft_tensor_block *block)
{
    if (block != NULL) allocator->resize(allocator->self, block, block->bytes, 0, DATA_ALIGNMENT);
}
