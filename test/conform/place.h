/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_PLACE_H
#define WEFT_TEST_PLACE_H
/*
 * Arrays between guard pages, in any layout. Generated code is seen by no sanitizer: what it reads or writes outside of
 * a buffer is found because a page without access lies there, and what it writes between elements because that is
 * poison.
 */
#include <weft/array.h>

typedef enum weft_test_layout {
    WEFT_TEST_CONTIGUOUS,
    WEFT_TEST_TRANSPOSED,
    WEFT_TEST_STEPPED,         /* every second element of the last axis */
    WEFT_TEST_REVERSED,        /* along every axis */
    WEFT_TEST_INTERLEAVED,     /* of the last two axes neither steps over the other */
    WEFT_TEST_BROADCAST_FIRST, /* stride 0 along the first axis */
    WEFT_TEST_BROADCAST_LAST,
    WEFT_TEST_LAYOUT_COUNT
} weft_test_layout;

typedef struct weft_test_place {
    weft_array *array;
    unsigned char *mapping, *pages; /* with and without the guard pages */
    size_t mapped, size;
} weft_test_place;

/* A poisoned array whose memory ends, or else begins, at a page without access. False when there is no memory. */
bool weft_test_place_create(weft_dtype dtype, size_t rank, const int64_t *shape, weft_test_layout layout, bool at_end,
                            weft_test_place *out_place);
void weft_test_place_destroy(weft_test_place *place);
/* Whether every byte that belongs to no element is still poison. */
bool weft_test_place_is_clean(const weft_test_place *place);

/* Visits the elements of `array` in row-major order. */
typedef void (*weft_test_visitor)(void *context, int64_t number, void *element);
void weft_test_visit(const weft_array *array, weft_test_visitor visit, void *context);

/* The default allocator, but that blocks aligned like buffers end at a page without access, or less than their
 * alignment before it. */
const weft_allocator *weft_test_guarded_allocator(void);
#endif
