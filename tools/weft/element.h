/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_ELEMENT_H
#define WEFT_TOOLS_ELEMENT_H
/* Elements of arrays as numbers. */
#include <weft/array.h>

typedef struct weft_element {
    double re, im;
} weft_element;

weft_element weft_element_read(weft_dtype dtype, const void *data);
/* Stores it in a dtype that can hold it, cut where it has fewer places. */
void weft_element_write(weft_dtype dtype, void *data, weft_element element);
/* Half a unit in the last place of 1; 0 for dtypes that are exact. */
double weft_element_rounding(weft_dtype dtype);
#endif
