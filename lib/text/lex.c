/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/text/text.h"
#include <errno.h>
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/escape.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/spelling.h"

/* ---- characters: not those of ctype.h, whose answers depend on the locale ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '.';
}

static int hex_value(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static const char *skip_blank(const char *cursor)
{
    for (;;) {
        cursor += strspn(cursor, " \t\r\n");
        if (*cursor != '#') return cursor;
        cursor += strcspn(cursor, "\n");
    }
}

static const char *skip_word(const char *cursor)
{
    while (is_word(*cursor)) cursor++;
    return cursor;
}

/* ---- tokens ---- */

/* The end of a number: a word that also goes on over the sign of an exponent. */
static const char *skip_number(const char *start, bool *out_real)
{
    const char *cursor = start + (*start == '-');
    bool hex = cursor[0] == '0' && (cursor[1] == 'x' || cursor[1] == 'X');
    *out_real = false;
    for (; is_word(*cursor); cursor++) {
        bool exponent = hex ? *cursor == 'p' || *cursor == 'P' : *cursor == 'e' || *cursor == 'E';
        *out_real = *out_real || exponent || *cursor == '.';
        if (exponent && (cursor[1] == '+' || cursor[1] == '-')) cursor++;
    }
    return cursor;
}

static weft_token scan_number(const char *start)
{
    bool real;
    const char *end = skip_number(start, &real);
    return (weft_token){real ? WEFT_TOKEN_REAL : WEFT_TOKEN_INTEGER, start, (size_t)(end - start)};
}

static weft_token scan_string(const char *start)
{
    const char *cursor = start + 1;
    while (*cursor != '"' && *cursor != '\n' && *cursor != '\0')
        cursor += cursor[0] == '\\' && cursor[1] != '\0' ? 2 : 1;
    if (*cursor != '"') return (weft_token){WEFT_TOKEN_BAD, start, (size_t)(cursor - start)};
    return (weft_token){WEFT_TOKEN_STRING, start, (size_t)(cursor + 1 - start)};
}

static weft_token scan(const char *start)
{
    char c = *start;
    if (c == '\0') return (weft_token){WEFT_TOKEN_END, start, 0};
    if (is_letter(c)) return (weft_token){WEFT_TOKEN_IDENTIFIER, start, (size_t)(skip_word(start) - start)};
    if (c == '%' && is_word(start[1]))
        return (weft_token){WEFT_TOKEN_VALUE, start, (size_t)(skip_word(start + 1) - start)};
    if (is_digit(c) || (c == '-' && is_digit(start[1]))) return scan_number(start);
    if (c == '"') return scan_string(start);
    if (c == '-' && start[1] == '>') return (weft_token){WEFT_TOKEN_PUNCTUATION, start, 2};
    return (weft_token){c > ' ' && c < 127 ? WEFT_TOKEN_PUNCTUATION : WEFT_TOKEN_BAD, start, 1};
}

void weft_lexer_seek(weft_lexer *lexer, const char *cursor)
{
    lexer->token = scan(skip_blank(cursor));
}

void weft_lexer_advance(weft_lexer *lexer)
{
    weft_lexer_seek(lexer, lexer->token.start + lexer->token.length);
}

void weft_lexer_init(weft_lexer *lexer, const weft_allocator *allocator, const char *name, const char *text)
{
    *lexer = (weft_lexer){.allocator = allocator, .name = name, .text = text};
    weft_lexer_seek(lexer, text);
}

bool weft_lexer_at(const weft_lexer *lexer, const char *text)
{
    const weft_token *token = &lexer->token;
    if (token->kind != WEFT_TOKEN_IDENTIFIER && token->kind != WEFT_TOKEN_PUNCTUATION) return false;
    return strlen(text) == token->length && memcmp(text, token->start, token->length) == 0;
}

bool weft_lexer_accept(weft_lexer *lexer, const char *text)
{
    if (!weft_lexer_at(lexer, text)) return false;
    weft_lexer_advance(lexer);
    return true;
}

/* ---- errors ---- */

static void find_location(const char *text, const char *at, size_t *out_line, size_t *out_column)
{
    const char *line = text;
    *out_line = 1;
    for (const char *c = text; c < at; c++) {
        if (*c != '\n') continue;
        *out_line += 1;
        line = c + 1;
    }
    *out_column = (size_t)(at - line) + 1;
}

weft_status *weft_lexer_error(const weft_lexer *lexer, const char *at, weft_code code, const char *format, ...)
{
    size_t line, column;
    find_location(lexer->text, at, &line, &column);
    weft_bytes location;
    weft_bytes_init(&location, lexer->allocator);
    weft_bytes_print(&location, "%s:%zu:%zu", lexer->name, line, column);
    va_list arguments;
    va_start(arguments, format);
    weft_status *sentence = weft_status_create_v(lexer->allocator, code, NULL, format, arguments);
    va_end(arguments);
    weft_status *status = sentence;
    if (!location.failed && weft_status_code(sentence) == code) {
        status =
            weft_status_create(lexer->allocator, code, NULL, "%s: %s", location.data, weft_status_message(sentence));
        weft_status_destroy(sentence);
    }
    weft_bytes_finish(&location);
    return status;
}

/* A '%' before what begins no name. */
static void describe_nameless(char next, char *out_text, size_t size)
{
    if (next == '\0' || strchr(" \t\r\n", next) != NULL) snprintf(out_text, size, "'%%' without a name");
    else if (next > ' ' && next < 127) snprintf(out_text, size, "'%%' with '%c' after it", next);
    else snprintf(out_text, size, "'%%' with the byte 0x%02x after it", (unsigned char)next);
}

/* Describes a token in messages; at most 40 bytes of it. */
static void describe(const weft_token *token, char *out_text, size_t size)
{
    int length = token->length < 40 ? (int)token->length : 40;
    const char *more = token->length > 40 ? "..." : "";
    if (token->kind == WEFT_TOKEN_END) snprintf(out_text, size, "the end of the text");
    else if (token->kind == WEFT_TOKEN_STRING)
        snprintf(out_text, size, "the string %.*s%s", length, token->start, more);
    else if (token->kind == WEFT_TOKEN_PUNCTUATION && *token->start == '%')
        describe_nameless(token->start[1], out_text, size);
    else if (token->kind != WEFT_TOKEN_BAD) snprintf(out_text, size, "'%.*s%s'", length, token->start, more);
    else if (*token->start == '"') snprintf(out_text, size, "a string without its closing quote");
    else if (strncmp(token->start, "\xef\xbb\xbf", 3) == 0) snprintf(out_text, size, "a byte order mark");
    else snprintf(out_text, size, "the byte 0x%02x", (unsigned char)*token->start);
}

weft_status *weft_lexer_unexpected(const weft_lexer *lexer, const char *what)
{
    char found[64];
    describe(&lexer->token, found, sizeof found);
    return weft_lexer_error(lexer, lexer->token.start, WEFT_PARSE_ERROR, "expected %s, found %s", what, found);
}

weft_status *weft_lexer_expect(weft_lexer *lexer, const char *text)
{
    if (weft_lexer_accept(lexer, text)) return NULL;
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", text);
    return weft_lexer_unexpected(lexer, quoted);
}

/* ---- values of tokens ---- */

weft_status *weft_lexer_take(weft_lexer *lexer, weft_token_kind kind, const char *what, weft_token *out_token)
{
    if (lexer->token.kind != kind) return weft_lexer_unexpected(lexer, what);
    *out_token = lexer->token;
    weft_lexer_advance(lexer);
    return NULL;
}

weft_status *weft_lexer_take_integer(weft_lexer *lexer, const char *what, int64_t *out_value)
{
    weft_token token = lexer->token;
    if (token.kind != WEFT_TOKEN_INTEGER) return weft_lexer_unexpected(lexer, what);
    const char *digits = token.start + (*token.start == '-');
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    errno = 0;
    char *end;
    long long value = strtoll(token.start, &end, hex ? 16 : 10);
    if (end != token.start + token.length) return weft_lexer_unexpected(lexer, what);
    if (errno == ERANGE) {
        return weft_lexer_error(lexer, token.start, WEFT_PARSE_ERROR,
                                "expected %s between %" PRId64 " and %" PRId64 ", found '%.*s%s'", what, INT64_MIN,
                                INT64_MAX, token.length < 40 ? (int)token.length : 40, token.start,
                                token.length > 40 ? "..." : "");
    }
    weft_lexer_advance(lexer);
    *out_value = value;
    return NULL;
}

/* strtod and printf use the thread's rounding mode: set to nearest in here. */
typedef struct spelling {
    weft_spelling point;
    weft_float_mode mode;
} spelling;

static spelling enter_spelling(void)
{
    return (spelling){weft_spelling_enter(), weft_float_mode_enter()};
}

static void leave_spelling(spelling s)
{
    weft_float_mode_leave(s.mode);
    weft_spelling_leave(s.point);
}

static double read_real(const char *text, char **out_end)
{
    spelling s = enter_spelling();
    double value = strtod(text, out_end);
    leave_spelling(s);
    return value;
}

/* What lies between two numbers becomes the one of them whose last bit is set. */
static double read_odd(const char *text, char **out_end)
{
    spelling s = enter_spelling();
    int rounding = fegetround();
    fesetround(FE_DOWNWARD);
    double below = strtod(text, out_end);
    fesetround(FE_UPWARD);
    double above = strtod(text, out_end);
    fesetround(rounding);
    leave_spelling(s);
    uint64_t bits;
    memcpy(&bits, &below, sizeof bits);
    return bits % 2 != 0 ? below : above;
}

weft_status *weft_lexer_take_real(weft_lexer *lexer, const char *what, bool is_narrowed, double *out_value)
{
    weft_token token = lexer->token;
    if (token.kind == WEFT_TOKEN_INTEGER || token.kind == WEFT_TOKEN_REAL) {
        char *end;
        double value = is_narrowed ? read_odd(token.start, &end) : read_real(token.start, &end);
        if (end != token.start + token.length) return weft_lexer_unexpected(lexer, what);
        if (isinf(value)) return weft_lexer_unexpected(lexer, "a number that fits f64");
        weft_lexer_advance(lexer);
        *out_value = value;
        return NULL;
    }
    bool negative = weft_lexer_accept(lexer, "-");
    double value = weft_lexer_at(lexer, "nan") ? (double)NAN : HUGE_VAL;
    if (!weft_lexer_accept(lexer, "nan") && !weft_lexer_accept(lexer, "inf")) return weft_lexer_unexpected(lexer, what);
    *out_value = negative ? -value : value;
    return NULL;
}

/* Decodes the escape that follows a backslash in a string; returns its length, 0 if it is not an escape. */
static size_t read_escape(const char *text, char *out_character)
{
    static const char letters[] = "nt\"\\", values[] = "\n\t\"\\";
    const char *letter = *text == '\0' ? NULL : strchr(letters, *text);
    if (letter != NULL) {
        *out_character = values[letter - letters];
        return 1;
    }
    if (text[0] != 'x' || hex_value(text[1]) < 0 || hex_value(text[2]) < 0) return 0;
    *out_character = (char)(hex_value(text[1]) * 16 + hex_value(text[2]));
    return 3;
}

weft_status *weft_lexer_take_string(weft_lexer *lexer, const char *what, weft_bytes *out_bytes)
{
    weft_token token = {0};
    WEFT_TRY(weft_lexer_take(lexer, WEFT_TOKEN_STRING, what, &token));
    const char *end = token.start + token.length - 1;
    for (const char *c = token.start + 1; c < end;) {
        char character = *c++;
        if (character == '\\') {
            size_t length = read_escape(c, &character);
            if (length == 0)
                return weft_lexer_error(
                    lexer, c - 1, WEFT_PARSE_ERROR,
                    "a backslash in a string is followed by n, t, a quote, a backslash or x and two digits");
            c += length;
        }
        weft_bytes_append(out_bytes, &character, 1);
    }
    return weft_bytes_status(out_bytes);
}

/* ---- spelling ---- */

void weft_text_print_string(weft_bytes *out_text, const void *data, size_t size)
{
    const char *text = data, *end = text + size;
    weft_bytes_append(out_text, "\"", 1);
    while (text < end) {
        char escape[WEFT_ESCAPE_ROOM];
        size_t length = weft_text_printable(text, (size_t)(end - text));
        if (*text == '"' || *text == '\\') weft_bytes_append(out_text, "\\", 1);
        if (length > 0) weft_bytes_append(out_text, text, length);
        else weft_bytes_append(out_text, escape, weft_text_escape_byte((unsigned char)*text, escape));
        text += length > 0 ? length : 1;
    }
    weft_bytes_append(out_text, "\"", 1);
}

static bool reads_back(const char *text, double value, bool single)
{
    char *end;
    double read = single ? (double)strtof(text, &end) : strtod(text, &end);
    return memcmp(&read, &value, sizeof value) == 0;
}

void weft_text_print_real(weft_bytes *out_text, double value, bool single)
{
    if (isnan(value) || isinf(value)) {
        weft_bytes_print(out_text, "%s%s", signbit(value) ? "-" : "", isnan(value) ? "nan" : "inf");
        return;
    }
    spelling s = enter_spelling();
    char text[40];
    int precision = single ? 6 : 15;
    do snprintf(text, sizeof text, "%.*g", precision++, value);
    while (!reads_back(text, value, single) && precision <= 17);
    leave_spelling(s);
    weft_bytes_append(out_text, text, strlen(text));
}

bool weft_text_is_word(const char *text)
{
    return is_word(*text) && *skip_word(text) == '\0';
}

bool weft_text_is_identifier(const char *text)
{
    return is_letter(*text) && *skip_word(text) == '\0';
}
