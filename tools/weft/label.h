/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_LABEL_H
#define WEFT_TOOLS_LABEL_H
/* Labels of einsum in text: characters, or integers between brackets. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One character of UTF-8: bytes it has; 0 for what is none, the end of the text among that. */
size_t weft_label_decode(const char *text, int64_t *out_point);
/* The inverse of it, which ends with 0. */
enum { WEFT_LETTER_ROOM = 5 };
const char *weft_label_encode(int64_t point, char out_text[WEFT_LETTER_ROOM]);
/* Whether the text is one character that may be a label, or an integer from 0 if `numbered`. */
bool weft_label_check(const char *text, bool numbered);
/* The labels of the operands of an expression, one after the other. */
enum { WEFT_LABEL_ROOM = 24 };
typedef struct weft_label_cursor {
    const char *at;
    bool numbered;
    size_t operand;              /* of the label at hand */
    char label[WEFT_LABEL_ROOM]; /* at hand */
} weft_label_cursor;

weft_label_cursor weft_label_begin(const char *text);
/* Goes to the next label; false past the last. What is neither a label nor a comma is passed over. */
bool weft_label_next(weft_label_cursor *cursor);
#endif
