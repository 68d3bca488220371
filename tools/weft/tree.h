/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_TREE_H
#define WEFT_TOOLS_TREE_H
/* Contraction trees drawn: the result at the root, operands as leaves, each with its labels, its size and what its step
 * multiplies. */
#include <stdio.h>
#include <weft/einsum.h>

/* Lines of text, indented. */
weft_status *weft_tree_print(const weft_einsum_plan *plan, FILE *file) WEFT_MUST_USE;

/* Refuses, as a misuse of `option`, a name that does not end in .svg, .dot or .txt. */
weft_status *weft_tree_check(const char *option, const char *path) WEFT_MUST_USE;
/* Draws into a file that was checked. */
weft_status *weft_tree_save(const weft_einsum_plan *plan, const char *path) WEFT_MUST_USE;
#endif
