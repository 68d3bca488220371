/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PROBE_H
#define WEFT_TOOLS_PROBE_H
/* Finds out which runtime computes which op of which dtype, by running it. */
#include <weft/executor.h>

enum { WEFT_PROBE_RUNTIMES = 2 };

/* Tries `op`; `executor` has the runtimes. */
weft_status *weft_probe_run(weft_executor *executor, const weft_op_def *op, weft_dtype dtype,
                            const char *const runtimes[WEFT_PROBE_RUNTIMES],
                            bool out_computes[WEFT_PROBE_RUNTIMES]) WEFT_MUST_USE;
#endif
