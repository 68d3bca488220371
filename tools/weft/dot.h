/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_DOT_H
#define WEFT_TOOLS_DOT_H
/* Text of the DOT language. */
#include <stdio.h>
#include <weft/base.h>

/* Longest text that is shown of a name, with the 0 at its end. */
enum { WEFT_DOT_TEXT = 512 };

/* Opens a digraph, in which the levels of `rankdir` ("TB", "LR") follow each other; it ends with "}". What has no id in
 * it gets one that begins with `id`. */
void weft_dot_begin(const char *rankdir, const char *id, FILE *file);
/* Prints text from elsewhere for within a label's quotes: one line, as weft_text_escape makes it. */
void weft_dot_print(const char *text, FILE *file);
#endif
