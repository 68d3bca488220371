/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLE_H
#define SAMPLE_H
/* The sample plugin's own tracing functions, for graphs with which it is registered. */
#include <weft/extension.h>

/* x / (1 + exp(-x)); f32 or f64. */
static inline weft_tensor sample_swish(weft_tensor x)
{
    return (weft_trace)(x.graph, "sample.swish", WEFT_TENSORS(x), NULL);
}
/* The median of the last axis, which must not be empty. */
static inline weft_tensor sample_median(weft_tensor x)
{
    return (weft_trace)(x.graph, "sample.median", WEFT_TENSORS(x), NULL);
}

/* The same calls with the caller's source location attached to errors and guards. */
#define sample_swish(...) WEFT_LOCATED("sample.swish", sample_swish(__VA_ARGS__))
#define sample_median(...) WEFT_LOCATED("sample.median", sample_median(__VA_ARGS__))
#endif
