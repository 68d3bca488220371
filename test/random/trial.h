/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_TRIAL_H
#define WEFT_TEST_TRIAL_H
/* One program, run by both runtimes and compared. */
#include <weft/weft.h>

/* Makes the executor that all trials use, with the code generator loaded. */
bool weft_test_trials_begin(void);
void weft_test_trials_end(void);

/*
 * Whether the runtimes agree on the program, in a process of its own. `seed` chooses the values of symbols, the data
 * and the layouts. A text that is no program, or about whose results nothing is known, passes.
 */
bool weft_test_try_apart(uint64_t seed, const char *text, char *out_problem, size_t size);
#endif
