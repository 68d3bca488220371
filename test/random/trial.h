/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_TRIAL_H
#define WEFT_TEST_TRIAL_H
/*
 * One program, run by both runtimes and compared: generated code on one to three threads, with symbols and with their
 * values in place of them, specialised, in several layouts, with donated inputs and given outputs. All these give the
 * same bits, and lie within the bounds (bounds.h) of what the reference gives.
 */
#include <weft/weft.h>

/* Makes the executors that the trials of this process use. */
bool weft_test_trials_begin(void);
/* Has trials of processes that begin from now on write objects and records of their runs (test/conform/record.h). */
void weft_test_trials_record(const char *folder);
/* False when something of theirs was not freed. */
bool weft_test_trials_end(void);

/*
 * Whether the runtimes agree on the program. `seed` chooses the values of symbols, the data, the layouts and what is
 * run. Otherwise says in `out_problem` what differs.
 */
bool weft_test_try(uint64_t seed, const char *text, char *out_problem, size_t size);
#endif
