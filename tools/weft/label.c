/* SPDX-License-Identifier: Apache-2.0 */
#include "label.h"
#include <string.h>

static const char digits[] = "0123456789", others[] = " \t\n\r\v\f,->.()[]";

size_t weft_label_decode(const char *text, int64_t *out_point)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0x80   ? first > 0
                    : first < 0xc0 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf8 ? 4
                                   : 0;
    int64_t point = length == 1 ? first : first & (0xff >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    *out_point = point;
    return length;
}

const char *weft_label_encode(int64_t point, char out_text[WEFT_LETTER_ROOM])
{
    static const unsigned char firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    out_text[length] = '\0';
    for (size_t i = length - 1; i > 0; i--, point >>= 6) out_text[i] = (char)(0x80 | (point & 0x3f));
    out_text[0] = (char)(firsts[length] | point);
    return out_text;
}

bool weft_label_check(const char *text, bool numbered)
{
    int64_t point;
    size_t length = strlen(text);
    if (numbered) return length > 0 && strspn(text, digits) == length && (length == 1 || *text != '0');
    return length > 0 && weft_label_decode(text, &point) == length && strchr(others, *text) == NULL;
}

/* Bytes of the label at `text`, 0 if there is none. */
static size_t measure(const char *text, bool numbered)
{
    int64_t point;
    if (numbered) return strspn(text, digits);
    return strchr(others, *text) == NULL ? weft_label_decode(text, &point) : 0;
}

weft_label_cursor weft_label_begin(const char *text)
{
    return (weft_label_cursor){.at = text, .numbered = strchr(text, ']') != NULL};
}

bool weft_label_next(weft_label_cursor *cursor)
{
    for (; *cursor->at != '\0' && strncmp(cursor->at, "->", 2) != 0; cursor->at++) {
        size_t length = measure(cursor->at, cursor->numbered);
        cursor->operand += *cursor->at == ',';
        if (length == 0 || length >= WEFT_LABEL_ROOM) continue;
        memcpy(cursor->label, cursor->at, length);
        cursor->label[length] = '\0';
        cursor->at += length;
        return true;
    }
    return false;
}
