/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that the runtime calls, where there is none: on texts and bytes. Printing knows the
 * conversions %c, %d, %i, %p, %s, %u, %x, %% with h, l, ll and z, a width padded by zeros or spaces, and a precision
 * for %s; "*" stands for either; anything else is an error, as one of encoding is.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- bytes and texts ---- */

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

/* Each run compares its pointers with those of the last one. */
int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a, *y = b;
    size_t i = 0;
    while (i + sizeof(uint64_t) <= size && word_at(x + i) == word_at(y + i)) i += sizeof(uint64_t);
    while (i < size && x[i] == y[i]) i++;
    return i == size ? 0 : x[i] - y[i];
}

/* What compilers make of a memcmp that asks for equality alone. */
int bcmp(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size);
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') length++;
    return length;
}

int strncmp(const char *a, const char *b, size_t size)
{
    size_t i = 0;
    while (i < size && a[i] == b[i] && a[i] != '\0') i++;
    return i == size ? 0 : (unsigned char)a[i] - (unsigned char)b[i];
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strcpy(char *to, const char *from)
{
    return memcpy(to, from, strlen(from) + 1);
}

/* ---- printing ---- */

typedef struct printer {
    char *text;
    size_t size, length; /* of what there would be with room */
} printer;

typedef struct conversion {
    char kind, pad;
    int width, precision; /* -1: none */
    int longs;            /* 1 and more: 64 bits; with h: less than 0 */
} conversion;

static void put(printer *p, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++, p->length++)
        if (p->length + 1 < p->size) p->text[p->length] = text[i];
}

static void put_padded(printer *p, const conversion *c, const char *text, size_t length)
{
    bool negative = c->pad == '0' && length > 0 && *text == '-';
    if (negative) put(p, text, 1);
    for (size_t i = length; c->width > 0 && i < (size_t)c->width; i++) put(p, &c->pad, 1);
    put(p, text + negative, length - negative);
}

static void put_number(printer *p, const conversion *c, uint64_t number, bool negative)
{
    char digits[24];
    size_t at = sizeof digits;
    unsigned base = c->kind == 'x' ? 16 : 10;
    do digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    if (negative) digits[--at] = '-';
    put_padded(p, c, digits + at, sizeof digits - at);
}

static void put_text(printer *p, const conversion *c, const char *text)
{
    size_t length = 0;
    if (text == NULL) text = "(null)";
    while ((c->precision < 0 || length < (size_t)c->precision) && text[length] != '\0') length++;
    put_padded(p, c, text, length);
}

/* The arguments are passed as a struct, because a va_list is an array and has no address to pass. */
typedef struct arguments {
    va_list list;
} arguments;

static int read_count(const char **at, arguments *a)
{
    int count = 0;
    if (**at == '*') {
        ++*at;
        return va_arg(a->list, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at) count = 10 * count + (**at - '0');
    return count;
}

/* What follows the percent sign. */
static conversion read_conversion(const char **at, arguments *a)
{
    conversion c = {.pad = **at == '0' ? '0' : ' ', .precision = -1};
    c.width = read_count(at, a);
    if (**at == '.') {
        ++*at;
        c.precision = read_count(at, a);
    }
    for (; **at == 'l' || **at == 'z' || **at == 'h'; ++*at) c.longs += **at == 'h' ? -1 : 1;
    c.kind = **at;
    if (c.kind != '\0') ++*at;
    return c;
}

static void put_signed(printer *p, const conversion *c, arguments *a)
{
    int64_t number = c->longs > 0 ? va_arg(a->list, int64_t) : va_arg(a->list, int);
    put_number(p, c, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
}

static void put_unsigned(printer *p, const conversion *c, arguments *a)
{
    put_number(p, c, c->longs > 0 ? va_arg(a->list, uint64_t) : va_arg(a->list, unsigned), false);
}

static void put_pointer(printer *p, arguments *a)
{
    const conversion hexadecimal = {.kind = 'x', .longs = 1};
    put(p, "0x", 2);
    put_number(p, &hexadecimal, (uintptr_t)va_arg(a->list, void *), false);
}

static void put_character(printer *p, const conversion *c, arguments *a)
{
    char character = (char)va_arg(a->list, int);
    put_padded(p, c, &character, 1);
}

/* False for one that is not known: what follows it cannot be read. */
static bool put_converted(printer *p, const conversion *c, arguments *a)
{
    switch (c->kind) {
    case 'd':
    case 'i': put_signed(p, c, a); return true;
    case 'u':
    case 'x': put_unsigned(p, c, a); return true;
    case 'c': put_character(p, c, a); return true;
    case 'p': put_pointer(p, a); return true;
    case 's': put_text(p, c, va_arg(a->list, const char *)); return true;
    case '%': put(p, "%", 1); return true;
    default: return false;
    }
}

static int print(printer *p, const char *format, arguments *a)
{
    while (*format != '\0') {
        size_t plain = 0;
        while (format[plain] != '\0' && format[plain] != '%') plain++;
        put(p, format, plain);
        format += plain;
        if (*format == '\0') break;
        format++;
        const conversion c = read_conversion(&format, a);
        if (!put_converted(p, &c, a)) return -1;
    }
    return (int)p->length;
}

int vsnprintf(char *text, size_t size, const char *format, va_list list)
{
    printer p = {text, size, 0};
    arguments a;
    va_copy(a.list, list);
    int length = print(&p, format, &a);
    va_end(a.list);
    if (size > 0) text[p.length < size ? p.length : size - 1] = '\0';
    return length;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, size, format, list);
    va_end(list);
    return length;
}
