/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_ARRAY_LAYOUT_H
#define WEFT_RUNTIME_DATA_ARRAY_LAYOUT_H
/* The inside of arrays: for their files, and for what every run reads of all its arrays. */
#include <stdatomic.h>
#include <weft/array.h>

struct weft_array {
    atomic_size_t references;
    weft_allocator allocator; /* a copy: an array may outlive the object it was asked from */
    size_t block_size, block_alignment;
    weft_array *base; /* of a view; keeps the buffer */
    void (*release)(void *context);
    void *context;
    void *data;
    weft_device device;
    const struct weft_runtime *runtime; /* that reads and writes the memory; NULL: the host, or nobody here */
    weft_dtype dtype;
    size_t rank;
    int64_t count;
    bool contiguous, read_only;
    int64_t extents[]; /* rank extents, then rank strides */
};

static inline int64_t *weft_array_own_strides(weft_array *array)
{
    return array->extents + array->rank;
}

typedef struct weft_layout {
    const char *where; /* for errors */
    weft_dtype dtype;
    size_t rank;
    const int64_t *shape;
    const int64_t *strides; /* NULL: row-major */
    int64_t count;
    int64_t low, high; /* least and greatest offset of an element, when count > 0 */
} weft_layout;

/* Checks dtype, rank and shape, and fills in what is below them. */
weft_status *weft_layout_fill(const weft_allocator *allocator, weft_layout *layout) WEFT_MUST_USE;
/* weft_array_wrap; errors are of layout.where. */
weft_status *weft_array_wrap_layout(const weft_allocator *allocator, weft_layout layout, void *data,
                                    void (*release)(void *context), void *context,
                                    weft_array **out_array) WEFT_MUST_USE;
#endif
