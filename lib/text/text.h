/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_TEXT_TEXT_H
#define WEFT_LIB_TEXT_TEXT_H
/* Code that the text forms of graphs and of kernels share: a lexer whose errors carry positions, and the spelling of
 * strings and numbers. */
#include <weft/dtype.h>
#include "runtime/base/memory.h"

/* Of the grammar; the first line of a text names it. */
#define WEFT_TEXT_VERSION "0.1"

typedef enum weft_token_kind {
    WEFT_TOKEN_END,
    WEFT_TOKEN_IDENTIFIER,  /* [A-Za-z_][A-Za-z0-9_.]* */
    WEFT_TOKEN_VALUE,       /* % and letters, digits, underscores or dots */
    WEFT_TOKEN_INTEGER,     /* -12, 0x1f */
    WEFT_TOKEN_REAL,        /* 1.5, -2e3, 0x1.8p+3; nan and inf are identifiers to the lexer */
    WEFT_TOKEN_STRING,      /* "..." with \n \t \" \\ \xHH */
    WEFT_TOKEN_PUNCTUATION, /* "->" or one character */
    WEFT_TOKEN_BAD          /* a byte that starts nothing, or a string without an end */
} weft_token_kind;

typedef struct weft_token {
    weft_token_kind kind;
    const char *start; /* into the text, not terminated */
    size_t length;
} weft_token;

/* Reads a text that is NUL-terminated after its last byte and has no other NUL. `#` starts a comment that ends with
 * the line. */
typedef struct weft_lexer {
    const weft_allocator *allocator; /* of the errors */
    const char *name;                /* of the text, for errors */
    const char *text;
    weft_token token; /* the next one to be consumed */
} weft_lexer;

void weft_lexer_init(weft_lexer *lexer, const weft_allocator *allocator, const char *name, const char *text);
void weft_lexer_advance(weft_lexer *lexer);
/* Goes on at `cursor`, a place of the text that another parser reached. */
void weft_lexer_seek(weft_lexer *lexer, const char *cursor);

/* Whether the next token is the identifier or punctuation `text`. */
bool weft_lexer_at(const weft_lexer *lexer, const char *text);
/* The same, and consumes it. */
bool weft_lexer_accept(weft_lexer *lexer, const char *text);
/* Consumes it or says what was found in its place. */
weft_status *weft_lexer_expect(weft_lexer *lexer, const char *text) WEFT_MUST_USE;

/* Consume a token of a kind; `what` names it in the error: "the name of an op". */
weft_status *weft_lexer_take(weft_lexer *lexer, weft_token_kind kind, const char *what,
                             weft_token *out_token) WEFT_MUST_USE;
weft_status *weft_lexer_take_integer(weft_lexer *lexer, const char *what, int64_t *out_value) WEFT_MUST_USE;
/* Any number, or nan, inf, -inf; to nearest, or if `is_narrowed` so that rounding it to f32 or less is as if it were
 * the only rounding (to odd: Boldo and Melquiond, "When double rounding is odd"). */
weft_status *weft_lexer_take_real(weft_lexer *lexer, const char *what, bool is_narrowed,
                                  double *out_value) WEFT_MUST_USE;
/* Appends the bytes that a string token spells. */
weft_status *weft_lexer_take_string(weft_lexer *lexer, const char *what, weft_bytes *out_bytes) WEFT_MUST_USE;

/* WEFT_PARSE_ERROR "expected `what`, found ..." about the next token. */
weft_status *weft_lexer_unexpected(const weft_lexer *lexer, const char *what) WEFT_MUST_USE;
/* A status of `code` that says "name:line:column: sentence" for the location `at` in the text. */
weft_status *weft_lexer_error(const weft_lexer *lexer, const char *at, weft_code code, const char *format,
                              ...) WEFT_MUST_USE WEFT_FORMAT(4, 5);

/* A copy of `text` for a caller of the library, who frees it with weft_text_destroy. */
weft_status *weft_text_create(const weft_allocator *allocator, const char *text, size_t length,
                              char **out_text) WEFT_MUST_USE;

/* `data` in quotes, so that weft_lexer_take_string gives the same bytes back. */
void weft_text_print_string(weft_bytes *out_text, const void *data, size_t size);
/* A decimal that reads back as the same `value`; `single`: as the same float. */
void weft_text_print_real(weft_bytes *out_text, double value, bool single);
/* Whether `text` is spelled like a value token without its %: letters, digits, underscores and dots. */
bool weft_text_is_word(const char *text);
/* Whether `text` is spelled like an identifier token. */
bool weft_text_is_identifier(const char *text);

/* Row-major elements of `dtype`: "[1, 2]", complex ones as "(re, im)"; many as `bytes "..."` in hexadecimal,
 * little-endian. */
void weft_text_print_data(weft_bytes *out_text, weft_dtype dtype, const void *data, size_t size);
/* Parses that and appends the elements to `out_data`. */
weft_status *weft_text_parse_data(weft_lexer *lexer, weft_dtype dtype, weft_bytes *out_data) WEFT_MUST_USE;
#endif
