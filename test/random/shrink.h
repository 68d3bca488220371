/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_SHRINK_H
#define WEFT_TEST_SHRINK_H
#include <stddef.h>
#include <stdint.h>

/* The smallest part of a program that still fails (trial.h): single results, inputs in place of what was computed.
 * Freed with free; `problem` becomes what is wrong with it. */
char *weft_test_shrink(uint64_t seed, const char *text, char *problem, size_t size);
#endif
