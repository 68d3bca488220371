/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_VARIANTS_H
#define WEFT_TEST_VARIANTS_H
/* What a program's variants have, and what they compute. */
#include <weft/weft.h>
#include "lib/build/build.h"

/* Set-up and end of a group of tests: `*state` is an executor of two threads. */
int weft_test_executor_create(void **state);
int weft_test_executor_destroy(void **state);

/* Has `look` visit the variant of contiguous arrays for the reference machine, of extents `specialized` for the symbols
 * unless that is NULL, on two inputs at most. */
weft_status *weft_test_visit(const weft_allocator *allocator, const weft_program *program, const int64_t *specialized,
                             bool is_limited, weft_variant_visitor look, void *context);

/* Fails the test unless both arrays have as many elements and the same bits. */
void weft_test_same_bits(const weft_array *a, const weft_array *b);
#endif
