/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_OPTIONS_H
#define WEFT_TOOLS_OPTIONS_H
/* A command line against a table of options. */
#include <weft/base.h>

typedef enum weft_option_kind {
    WEFT_OPTION_FLAG,    /* no value */
    WEFT_OPTION_TEXT,    /* any value */
    WEFT_OPTION_TEXTS,   /* the same, and it may be given more than once */
    WEFT_OPTION_FILE,    /* a name that is not empty */
    WEFT_OPTION_FILES,   /* the same, and it may be given more than once */
    WEFT_OPTION_COUNT,   /* an integer from 1 */
    WEFT_OPTION_SEED,    /* an integer from 0 */
    WEFT_OPTION_THREADS, /* an integer from 0 to WEFT_MAX_THREADS */
    WEFT_OPTION_BYTES,   /* an integer from 1, of bytes or, with K, M, G or T after it, of 2^10, 2^20, ... bytes */
    WEFT_OPTION_NUMBER,  /* a number above 0, at most 1e9 */
    WEFT_OPTION_CHOICE   /* one of those that `value` names: "llvm|ref" */
} weft_option_kind;

typedef struct weft_option {
    const char *name; /* "--threads", "-o" */
    weft_option_kind kind;
    const char *value; /* how help names the value; NULL for a FLAG */
    const char *help;
} weft_option;

typedef struct weft_option_table {
    size_t count;
    const weft_option *options;
} weft_option_table;

typedef struct weft_option_value {
    const weft_option *option;
    const char *text;
    int64_t count;
    double number;
} weft_option_value;

/* A command line taken apart; texts are those of argv. */
typedef struct weft_arguments {
    size_t operand_count, value_count;
    const char **operands;
    weft_option_value *values;
} weft_arguments;

/* An error in how the command was called, as opposed to one while it ran. */
weft_status *weft_misuse(const char *format, ...) WEFT_MUST_USE WEFT_FORMAT(1, 2);
bool weft_status_is_misuse(const weft_status *status);

/* Reads decimal digits, which one '-' may stand before if `negative`, from `*at`, and moves that past them; false if
 * there are none, or too many for an int64. */
bool weft_option_read_integer(const char **at, bool negative, int64_t *out_value);

/* Options may stand anywhere, as `--name VALUE` or `--name=VALUE`; what follows `--` are operands, as are "-" and what
 * begins with "->". An option that is given twice is a misuse, except for TEXTS and FILES: the last one would drop what
 * the first asks for. A misuse names the option. */
weft_status *weft_arguments_parse(weft_option_table table, int argc, char **argv,
                                  weft_arguments *out_arguments) WEFT_MUST_USE;
void weft_arguments_finish(weft_arguments *arguments);

/* The last value given for the option, or NULL. */
const weft_option_value *weft_arguments_find(const weft_arguments *arguments, const char *name);
const char *weft_arguments_text(const weft_arguments *arguments, const char *name, const char *otherwise);
long weft_arguments_count(const weft_arguments *arguments, const char *name, long otherwise);
double weft_arguments_number(const weft_arguments *arguments, const char *name, double otherwise);
#endif
