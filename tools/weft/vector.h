/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_VECTOR_H
#define WEFT_TOOLS_VECTOR_H
/* Row-major arrays of floats as vectors of real numbers; a complex element is two. */
#include <weft/array.h>

size_t weft_vector_size(const weft_array *array);
void weft_vector_read(const weft_array *array, double *out_numbers);
/* Rounds to the dtype of the array; NULL stands for zeros. */
void weft_vector_write(weft_array *array, const double *numbers);
double weft_vector_dot(size_t size, const double *a, const double *b);
/* The largest absolute value of those that are finite. */
double weft_vector_largest(size_t size, const double *numbers);
#endif
