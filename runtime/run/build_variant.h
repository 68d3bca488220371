/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_BUILD_VARIANT_H
#define WEFT_RUNTIME_RUN_BUILD_VARIANT_H
/* Asks the compiler of a runtime for a variant of a program. */
#include "runtime/run/call.h"
#include "runtime/run/executor.h"

/* What decides which variant it is, taken from a call that passes its checks. */
typedef struct weft_variant_request {
    weft_executor *executor;
    const weft_runtime *runtime;
    weft_program *program;
    const uint8_t *layouts; /* of the inputs, then of the outputs */
    /* For a specialised variant; NULL for a generic one: the values of symbols, and strides as weft_build_request has
     * them. */
    const int64_t *symbols, *strides;
    bool is_limited; /* weft_call_is_limited */
    weft_code_policy code;
    const volatile bool *cancelled;
} weft_variant_request;

/* Memory is that of `arena`. The error of a call that fails its checks. */
weft_status *weft_variant_request_init(weft_variant_request *request, weft_executor *executor, const weft_call *call,
                                       bool specialize, weft_arena *arena) WEFT_MUST_USE;
/* Needs a stack to compile on. */
weft_status *weft_variant_request_build(const weft_variant_request *request, weft_variant **out_variant) WEFT_MUST_USE;
#endif
