/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOWER_PRODUCT_WINDOWS_H
#define WEFT_LIB_LOWER_PRODUCT_WINDOWS_H
/* Products of windows, and what their rules share with those of others. */
#include "lib/lower/product.h"

/* The rows of operand 0, or the columns of operand 1, at most. */
int64_t weft_product_rows(weft_space *space, const weft_node *dot, size_t operand);
/* Bytes of a number as it is added up. */
int64_t weft_product_number_size(const weft_node *dot);

/* Whether columns of B that are adjacent are windows with a stride, which vectors gather. */
bool weft_product_has_distant_columns(weft_space *space, const weft_node *dot);
/* Whether columns are windows of more than an element along memory, whose elements vectors load, or pick from those. */
bool weft_product_has_adjacent_windows(weft_space *space, const weft_node *dot);
/* Whether rows are windows that loops read faster than the library, which would pack them. */
bool weft_product_has_window_rows(weft_space *space, const weft_node *dot);
/* The same of columns. */
bool weft_product_has_near_windows(weft_space *space, const weft_node *dot, int64_t terms);
#endif
