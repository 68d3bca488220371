/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_GENERATE_H
#define WEFT_TEST_GENERATE_H
/* Random programs whose results are known within bounds (bounds.h), and random values of their symbols. */
#include "test/conform/subject.h"

/* The program of that seed as .weft text, freed with weft_text_destroy. */
char *weft_test_generate(uint64_t seed);

/* Random numbers: the next of a sequence below `count`. */
uint64_t weft_test_below(uint64_t *state, uint64_t count);
#endif
