/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_WIDEN_H
#define WEFT_TOOLS_WIDEN_H
/* Graphs in wider dtypes. */
#include <weft/base.h>

/* The .weft text with f64 and c128 in place of all narrower floats, and a NUL at its end; to be freed. What depends on
 * the bytes of an element, a bitcast or a large constant, may make it no graph. */
weft_status *weft_text_widen(const char *text, size_t length, char **out_text, size_t *out_length) WEFT_MUST_USE;
#endif
