/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_NAMED_H
#define WEFT_RUNTIME_RUN_NAMED_H
#include <weft/executor.h>

/* Whether the run names inputs or outputs. */
static inline bool weft_run_is_named(const weft_run *run)
{
    return run->named_inputs.count > 0 || run->named_outputs.count > 0;
}

/* weft_executor_run for such a run. */
weft_status *weft_run_named(weft_executor *executor, weft_program *program, const weft_run *run) WEFT_MUST_USE;
#endif
