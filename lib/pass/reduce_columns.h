/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_PASS_REDUCE_COLUMNS_H
#define WEFT_LIB_PASS_REDUCE_COLUMNS_H
#include "lib/pass/pass.h"

/*
 * A row for reductions of long narrow columns, which may take in their elements in any order: a few columns do not fill
 * a vector. So many rows side by side count as one, and their results are reduced at last, with the rows that are left.
 */
weft_tensor weft_reduce_columns(const weft_rewrite_site *site);
/* The same where extents are these, which guards require, and no bit depends on it; for reductions alone. `expected`
 * may be NULL: as above. */
weft_tensor weft_reduce_columns_for(const weft_rewrite_site *site, const weft_expected *expected);
#endif
