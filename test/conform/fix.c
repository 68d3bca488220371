/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/fix.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *weft_test_binding_parse(const char *source, weft_test_binding *out_binding, char *names, size_t size)
{
    *out_binding = (weft_test_binding){.count = 0};
    for (;;) {
        int length = 0;
        source += strspn(source, " ");
        weft_binding *item = &out_binding->items[out_binding->count];
        if (sscanf(source, "%*[a-z]%n", &length) < 0 || length == 0 || (size_t)length >= size) break;
        memcpy(names, source, (size_t)length);
        names[length] = '\0';
        item->name = names;
        char *end;
        item->value = strtoll(source + length + 1, &end, 10);
        source = end;
        names += length + 1;
        size -= (size_t)length + 1;
        if (++out_binding->count == WEFT_TEST_SYMBOLS) break;
    }
    return *source == '|' ? source + 1 : source + strlen(source);
}

static const weft_binding *find(const weft_test_binding *binding, const char *word, size_t length)
{
    for (size_t i = 0; i < binding->count; i++)
        if (strlen(binding->items[i].name) == length && strncmp(binding->items[i].name, word, length) == 0)
            return &binding->items[i];
    return NULL;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Copies one token; a word that is a symbol as its value. Returns what follows. */
static const char *fix_token(const char *at, const weft_test_binding *binding, FILE *out)
{
    size_t length = 1;
    if (*at == '"') length = strcspn(at + 1, "\"") + 2;
    else if (*at == '%' || in_word(*at))
        while (in_word(at[length])) length++;
    const weft_binding *item = *at == '%' ? NULL : find(binding, at, length);
    if (item != NULL) fprintf(out, "%" PRId64, item->value);
    else fwrite(at, 1, length, out);
    return at + length;
}

char *weft_test_fix_symbols(const char *text, const weft_test_binding *binding)
{
    char *fixed = NULL;
    size_t size;
    FILE *out = open_memstream(&fixed, &size);
    if (out == NULL) abort();
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n") + 1;
        bool symbol = strncmp(text, "symbol ", 7) == 0;
        while (text < end && *text != '\0') text = symbol ? end : fix_token(text, binding, out);
    }
    fclose(out);
    return fixed;
}
