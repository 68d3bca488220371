/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_GENERATE_H
#define WEFT_TEST_GENERATE_H
/* Random compositions of public calls. */
#include "test/random/draw.h"

/*
 * The program of that seed as .weft text, freed with weft_text_destroy. False with a sentence where a call broke a
 * promise while it was traced: an error that is INTERNAL, or one that compiling does not report; or
 * where the text, parsed and printed, is another one.
 */
bool weft_test_generate(uint64_t seed, char **out_text, char *out_problem, size_t size);
/* How often a call gave a tensor to go on from, since this process began. */
size_t weft_test_times_made(const draw_call *call);
#endif
