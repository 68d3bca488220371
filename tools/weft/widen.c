/* SPDX-License-Identifier: Apache-2.0 */
#include "widen.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *narrow, *wide;
} dtypes[] = {{"f16", "f64"}, {"bf16", "f64"}, {"f32", "f64"}, {"c64", "c128"}};

/* Bytes of a string, with its quotes, or of a comment. */
static size_t measure_quoted(const char *text, size_t length)
{
    size_t i = 1;
    char end = text[0] == '#' ? '\n' : '"';
    while (i < length && text[i] != end) i += text[i] == '\\' && end == '"' ? 2 : 1;
    return i < length ? i + 1 : length;
}

/* Bytes of a name, number or value. */
static size_t measure_word(const char *text, size_t length)
{
    static const char all[] = "%._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t i = 0;
    while (i < length && text[i] != 0 && strchr(all, text[i]) != NULL) i++;
    return i;
}

static const char *find_wide(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strlen(dtypes[i].narrow) == length && memcmp(dtypes[i].narrow, word, length) == 0) return dtypes[i].wide;
    return NULL;
}

weft_status *weft_text_widen(const char *text, size_t length, char **out_text, size_t *out_length)
{
    char *wide = malloc(2 * length + 1), *at = wide;
    if (wide == NULL) return weft_status_out_of_memory();
    for (size_t i = 0, count; i < length; i += count) {
        bool quoted = text[i] == '"' || text[i] == '#';
        count = quoted ? measure_quoted(text + i, length - i) : measure_word(text + i, length - i);
        const char *dtype = quoted ? NULL : find_wide(text + i, count);
        if (count == 0) count = 1;
        size_t size = dtype == NULL ? count : strlen(dtype);
        memcpy(at, dtype == NULL ? text + i : dtype, size);
        at += size;
    }
    *at = 0;
    *out_text = wide;
    *out_length = (size_t)(at - wide);
    return NULL;
}
