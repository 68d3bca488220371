/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/runtime.h>
#include "runtime/base/status.h"

weft_status *weft_executor_create_standard(const weft_executor_options *options, weft_executor **out_executor)
{
#ifdef WEFT_WITHOUT_LLVM
    const weft_runtime *const runtimes[] = {weft_runtime_reference(), weft_runtime_llvm(),
                                            weft_runtime_reference_ordered()};
#else
    const weft_runtime *const runtimes[] = {weft_runtime_llvm(), weft_runtime_reference(),
                                            weft_runtime_reference_ordered()};
#endif
    WEFT_REQUIRE(out_executor);
    weft_executor *executor;
    WEFT_TRY(weft_executor_create(options, &executor));
    weft_status *status = NULL;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes && status == NULL; i++)
        status = weft_executor_register_runtime(executor, runtimes[i]);
    if (status == NULL) *out_executor = executor;
    else weft_executor_destroy(executor);
    return status;
}
