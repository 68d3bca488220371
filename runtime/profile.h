/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROFILE_H
#define WEFT_RUNTIME_PROFILE_H
/* What a run tells of its steps to those who ask: weft_run.profile. */
#include "runtime/frame.h"

/* Nanoseconds of a clock that only goes forward. */
int64_t weft_clock_now(void);

/* What is known of a step before it runs: kind, name, bytes and flops; all else is 0. */
void weft_profile_estimate(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                           weft_profile_record *out_record);
/* Hands the record of step `number` of the frame's variant to frame->profile. */
void weft_profile_step(const weft_frame *frame, size_t number, int64_t begin, int64_t end);
#endif
