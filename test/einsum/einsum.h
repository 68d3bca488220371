/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_EINSUM_H
#define WEFT_TEST_EINSUM_H
/* What the tests of einsum share: one call, from text and arrays to an array. */
#include <weft/einsum.h>
#include "test/support.h"

typedef enum weft_test_einsum_way {
    WEFT_TEST_STATIC,
    WEFT_TEST_SYMBOLIC, /* every extent but one is a symbol of its own */
    WEFT_TEST_KEPT,     /* as SYMBOLIC, and nodes are not lowered */
    WEFT_TEST_ARRAYS,   /* no graph: weft_einsum_arrays */
    WEFT_TEST_WAYS
} weft_test_einsum_way;

typedef struct weft_test_einsum {
    const char *text;
    size_t count;
    weft_array *const *operands;
    const weft_einsum_options *options;
    weft_test_einsum_way way;
    weft_report *report; /* of the run, for all ways but ARRAYS; may be NULL */
} weft_test_einsum;

/* Runs `call` on the default runtime of `executor`. */
weft_status *weft_test_einsum_run(weft_executor *executor, const weft_test_einsum *call,
                                  weft_array **out_array) WEFT_MUST_USE;

/* A column-major f64 array over a copy of `data`. */
weft_array *weft_test_column_major(size_t rank, const int64_t *shape, const double *data);

/* Elements of an f64 array in column-major order; `out_data` has room for all. */
void weft_test_read_column_major(const weft_array *array, double *out_data);

/* An executor with einsum; its default runtime is LLVM or the reference. */
weft_executor *weft_test_einsum_executor(bool llvm);

/* As weft_test_fail_each, for what runs on an executor of one thread with the reference runtime and einsum. */
size_t weft_test_einsum_fail_each(weft_status *(*body)(weft_executor *executor, void *context), void *context);
#endif
