/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_ESCAPE_H
#define WEFT_RUNTIME_BASE_ESCAPE_H
#include <weft/base.h>

/*
 * Bytes of the printable character that `text` of `size` bytes begins with; 0 where there is none. Not printable are
 * bytes that are no UTF-8, control characters, and what ends a line or changes the direction of text.
 */
size_t weft_text_printable(const char *text, size_t size);
/* Writes the byte `c` as "\n", "\t" or "\x1b". Returns the length. */
enum { WEFT_ESCAPE_ROOM = 5 };
size_t weft_text_escape_byte(unsigned char c, char out_text[WEFT_ESCAPE_ROOM]);
#endif
