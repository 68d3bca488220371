/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_TRACED_H
#define WEFT_TEST_TRACED_H
/* What a tracing function made of a test's graph. */
#include <weft/graph.h>

/* There is no error, and the tensor is of a type such as "f32[n, 4]". */
void weft_test_traced(weft_graph *graph, weft_tensor tensor, const char *type);
/* The tensor is none, and the graph's error, which is cleared, has this code, this whole message, and `file`, unless it
 * is NULL, in its place. */
void weft_test_refused(weft_graph *graph, weft_tensor tensor, weft_code code, const char *file, const char *message);
#endif
