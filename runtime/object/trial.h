/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_OBJECT_TRIAL_H
#define WEFT_RUNTIME_OBJECT_TRIAL_H
/*
 * A workspace to learn in how much a call takes. Its memory is that of the C library, and what the caller gave stays as
 * it is; an object that needs no library has `given` for it (freestanding/trial.c).
 */
#include <weft/rt.h>
#include "runtime/object/workspace.h"

void weft_trial_begin(weft_workspace *trial, weft_rt_workspace *given);
/* Gives memory of the C library back. */
void weft_trial_end(weft_workspace *trial);
/* Tells the caller of how many bytes a run has need, unless it has them. */
void weft_trial_tell(weft_rt_workspace *given, size_t needed);
/* After a trial that was short of memory: tells the caller to try with more, and returns how much; 0: there is none. */
size_t weft_trial_ask(weft_rt_workspace *given);
#endif
