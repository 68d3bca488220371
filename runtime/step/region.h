/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_STEP_REGION_H
#define WEFT_RUNTIME_STEP_REGION_H
/* How fold, while and cond report an error in one of their parts. */
#include <weft/base.h>

/* DATA_ERROR or CANCELLED with "(iteration 3 of fold)" after its message; anything else as it is. Takes `status`. */
weft_status *weft_region_error(const weft_allocator *allocator, const char *op, int64_t iteration,
                               weft_status *status) WEFT_MUST_USE;
#endif
