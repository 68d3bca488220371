/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PRINT_H
#define WEFT_TOOLS_PRINT_H
#include <stdio.h>
#include <weft/array.h>

/* Prints the elements in nested brackets, with a line end behind. From 1000 elements on, only the first and last three
 * of each axis. */
weft_status *weft_array_print(FILE *file, const weft_array *array) WEFT_MUST_USE;
#endif
