/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_SCALAR_H
#define WEFT_LIB_GRAPH_SCALAR_H
#include <weft/dtype.h>

/* Writes `value`, converted to `dtype` as the op `cast` does it, as one element; the imaginary part of a complex one is
 * left alone. */
void weft_scalar_store(weft_dtype dtype, double value, void *out_element);
#endif
