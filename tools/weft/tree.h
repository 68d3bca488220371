/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_TREE_H
#define WEFT_TOOLS_TREE_H
/* Contraction trees drawn: the result at the root, operands as leaves, each with its labels, its size, and what its
 * step multiplies and does one element at a time. */
#include <stdio.h>
#include <weft/einsum.h>

/* Where the values of a plan go. */
typedef struct weft_tree {
    const weft_einsum_plan *plan;
    size_t operands, count, depth;
    struct weft_tree_row *rows; /* by value */
    size_t *values;             /* from the root on, each before those below it */
    double largest;             /* log2 */
} weft_tree;

weft_status *weft_tree_init(weft_tree *tree, const weft_einsum_plan *plan) WEFT_MUST_USE;
void weft_tree_finish(weft_tree *tree);

/* Lines of text, indented. */
weft_status *weft_tree_print_text(const weft_tree *tree, FILE *file) WEFT_MUST_USE;
/* Statements of a digraph; names of nodes begin with `prefix`. */
void weft_tree_print_dot(const weft_tree *tree, const char *prefix, FILE *file);
/* How long Graphviz may compute for a tree. */
enum { WEFT_TREE_SECONDS = 60 };

/* Copies `text`, cut between two characters where it is longer than `length`. */
void weft_tree_cut(const char *text, size_t length, char *out_text);

/* Prints the tree of a plan as text. */
weft_status *weft_tree_print(const weft_einsum_plan *plan, FILE *file) WEFT_MUST_USE;
/* Refuses, as a misuse of `option`, a name that does not end in .svg, .dot or .txt, and a file that cannot be written.
 */
weft_status *weft_tree_check(const char *option, const char *path) WEFT_MUST_USE;
/* Draws into a file that was checked. */
weft_status *weft_tree_save(const weft_einsum_plan *plan, const char *path) WEFT_MUST_USE;
#endif
