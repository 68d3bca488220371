/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/escape.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the character of UTF-8 at `bytes`; 0 for what is none: overlong forms and surrogates are not. */
static size_t decode(const unsigned char *bytes, size_t size, uint32_t *out_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = size == 0 ? 0xff : bytes[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
    if (length == 0 || length > size) return 0;
    uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    *out_point = point;
    return point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ? 0 : length;
}

size_t weft_text_printable(const char *text, size_t size)
{
    static const uint32_t hidden[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                         {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    uint32_t point = 0;
    size_t length = decode((const unsigned char *)text, size, &point);
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (point >= hidden[i][0] && point <= hidden[i][1]) return 0;
    return length;
}

size_t weft_text_escape_byte(unsigned char c, char out_text[WEFT_ESCAPE_ROOM])
{
    if (c == '\n' || c == '\t') return (size_t)snprintf(out_text, WEFT_ESCAPE_ROOM, "\\%c", c == '\n' ? 'n' : 't');
    return (size_t)snprintf(out_text, WEFT_ESCAPE_ROOM, "\\x%02x", c);
}

size_t weft_text_escape(const char *text, char *out_text, size_t size)
{
    size_t length = 0, written = 0, left = text == NULL ? 0 : strlen(text);
    while (left > 0) {
        char escape[WEFT_ESCAPE_ROOM];
        size_t plain = weft_text_printable(text, left), taken = plain > 0 ? plain : 1;
        size_t added = plain > 0 ? plain : weft_text_escape_byte((unsigned char)*text, escape);
        if (length + added < size) {
            memcpy(out_text + length, plain > 0 ? text : escape, added);
            written = length + added;
        }
        length += added;
        text += taken;
        left -= taken;
    }
    if (size > 0) out_text[written] = '\0';
    return length;
}
