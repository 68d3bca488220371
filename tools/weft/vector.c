/* SPDX-License-Identifier: Apache-2.0 */
#include "vector.h"
#include <math.h>
#include "element.h"

static size_t count_parts(const weft_array *array)
{
    return weft_dtype_info_of(weft_array_dtype(array))->kind == WEFT_KIND_COMPLEX ? 2 : 1;
}

size_t weft_vector_size(const weft_array *array)
{
    return (size_t)weft_array_count(array) * count_parts(array);
}

void weft_vector_read(const weft_array *array, double *out_numbers)
{
    weft_dtype dtype = weft_array_dtype(array);
    const char *data = weft_array_data(array);
    size_t parts = count_parts(array), count = (size_t)weft_array_count(array);
    for (size_t i = 0; i < count; i++) {
        weft_element element = weft_element_read(dtype, data + i * weft_dtype_size(dtype));
        out_numbers[i * parts] = element.re;
        if (parts == 2) out_numbers[i * parts + 1] = element.im;
    }
}

void weft_vector_write(weft_array *array, const double *numbers)
{
    weft_dtype dtype = weft_array_dtype(array);
    char *data = weft_array_data(array);
    size_t parts = count_parts(array), count = (size_t)weft_array_count(array);
    for (size_t i = 0; i < count; i++) {
        weft_element element = {0, 0};
        if (numbers != NULL) element.re = numbers[i * parts];
        if (numbers != NULL && parts == 2) element.im = numbers[i * parts + 1];
        weft_element_write(dtype, data + i * weft_dtype_size(dtype), element);
    }
}

double weft_vector_dot(size_t size, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++) sum += a[i] * b[i];
    return sum;
}

double weft_vector_largest(size_t size, const double *numbers)
{
    double largest = 0;
    for (size_t i = 0; i < size; i++)
        if (isfinite(numbers[i]) && fabs(numbers[i]) > largest) largest = fabs(numbers[i]);
    return largest;
}
