/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_COVERAGE_H
#define WEFT_TEST_COVERAGE_H
/* Which built-in ops the cases of the suite use, and in which dtypes. */
#include "lib/graph/op.h"

typedef struct weft_test_coverage {
    weft_dtype_set seen[WEFT_OP_COUNT];
} weft_test_coverage;

/* Adds the ops of a graph text; one that does not parse has none. Whether one of them is the first with this kind of
 * dtype. */
bool weft_test_coverage_add(weft_test_coverage *coverage, const char *text);
/* Prints what is missing and returns how many. */
size_t weft_test_coverage_report(const weft_test_coverage *coverage);
#endif
