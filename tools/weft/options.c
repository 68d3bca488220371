/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <weft/executor.h>

static const char misuse_place[] = "usage";

weft_status *weft_misuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status = weft_status_create_v(NULL, WEFT_INVALID_ARGUMENT, misuse_place, format, arguments);
    va_end(arguments);
    return status;
}

bool weft_status_is_misuse(const weft_status *status)
{
    return strcmp(weft_status_where(status), misuse_place) == 0;
}

/* The option that `argument` names in its first `length` bytes. */
static const weft_option *find_option(weft_option_table table, const char *argument, size_t length)
{
    for (size_t i = 0; i < table.count; i++) {
        const char *name = table.options[i].name;
        if (strlen(name) == length && memcmp(name, argument, length) == 0) return &table.options[i];
    }
    return NULL;
}

static weft_status *refuse_option(weft_option_table table, const char *given, size_t length)
{
    const char *nearest = NULL;
    size_t least = length < 6 ? 2 : 3; /* with this many changes it is another word */
    for (size_t i = 0; i < table.count && length > 3; i++)
        if (weft_text_is_nearer(table.options[i].name, given, length, &least)) nearest = table.options[i].name;
    return weft_misuse("unknown option '%.*s'%s%s%s", (int)length, given, nearest == NULL ? "" : "; did you mean '",
                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
        if (*at == '|') at++;
        if (length > 0 && strncmp(at, text, length) == 0 && (at[length] == '|' || at[length] == 0)) return true;
    }
    return false;
}

bool weft_option_read_integer(const char **at, bool negative, int64_t *out_value)
{
    const char *digits = *at + (negative && **at == '-');
    char *end;
    if (!isdigit((unsigned char)*digits)) return false; /* strtoll skips white space and takes a '+' */
    errno = 0;
    *out_value = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

/* "2", "0.5", ".5", "1e-3"; strtod takes more: white space, signs, hexadecimal, "inf". */
static bool parse_number(const char *text, double *out_number)
{
    char *end;
    size_t length = strspn(text, "0123456789.eE+-");
    if (!isdigit((unsigned char)*text) && *text != '.') return false;
    *out_number = strtod(text, &end);
    return end == text + length && *end == 0;
}

/* "4096", "512M", "512m"; false for what is none, and for 2^63 or more. */
static bool parse_bytes(const char *text, int64_t *out_bytes)
{
    static const char units[] = "KMGT";
    int64_t count;
    if (!weft_option_read_integer(&text, false, &count)) return false;
    const char *unit = *text == 0 ? NULL : strchr(units, toupper((unsigned char)*text));
    int shift = unit == NULL ? 0 : (int)(unit - units + 1) * 10;
    if ((unit == NULL ? *text : text[1]) != 0) return false;
    if (count < 1 || count >> (63 - shift) != 0) return false;
    *out_bytes = count << shift;
    return true;
}

static weft_status *parse_count(weft_option_value *value)
{
    weft_option_kind kind = value->option->kind;
    long least = kind == WEFT_OPTION_COUNT, most = kind == WEFT_OPTION_THREADS ? WEFT_MAX_THREADS : 1000000000;
    const char *end = value->text;
    if (weft_option_read_integer(&end, false, &value->count) && *end == 0 && value->count >= least &&
        value->count <= most)
        return NULL;
    return weft_misuse("%s takes an integer from %ld to %ld, not '%s'", value->option->name, least, most, value->text);
}

static weft_status *parse_value(weft_option_value *value)
{
    const weft_option *option = value->option;
    switch (option->kind) {
    case WEFT_OPTION_COUNT:
    case WEFT_OPTION_SEED:
    case WEFT_OPTION_THREADS: return parse_count(value);
    case WEFT_OPTION_BYTES:
        if (parse_bytes(value->text, &value->count)) return NULL;
        return weft_misuse("%s takes a number of bytes from 1 to 2^63 - 1, such as 1048576, 512M or 4G, not '%s'",
                           option->name, value->text);
    case WEFT_OPTION_NUMBER:
        if (!parse_number(value->text, &value->number) || !(value->number > 0) || !(value->number <= 1e9))
            return weft_misuse("%s takes a number above 0 and at most 1e9, not '%s'", option->name, value->text);
        return NULL;
    case WEFT_OPTION_CHOICE:
        if (!is_choice(option->value, value->text))
            return weft_misuse("%s takes one of %s, not '%s'", option->name, option->value, value->text);
        return NULL;
    case WEFT_OPTION_FILE:
    case WEFT_OPTION_FILES:
        if (value->text[0] != 0) return NULL;
        return weft_misuse("%s takes the name of a file, not ''", option->name);
    default: return NULL;
    }
}

static weft_status *check_once(const weft_arguments *arguments, const weft_option_value *value)
{
    const char *name = value->option->name;
    const weft_option_value *former = weft_arguments_find(arguments, name);
    bool repeats = value->option->kind == WEFT_OPTION_TEXTS || value->option->kind == WEFT_OPTION_FILES;
    if (former == NULL || repeats) return NULL;
    if (value->text == NULL) return weft_misuse("%s is given twice", name);
    return weft_misuse("%s is given twice, with '%s' and '%s'", name, former->text, value->text);
}

/* The text after an option, which is its value unless it is an option itself. */
static weft_status *next_text(weft_option_table table, const weft_option *option, const char *text,
                              const char **out_text)
{
    *out_text = text;
    if (text == NULL) return weft_misuse("%s needs a value: %s", option->name, option->value);
    if (find_option(table, text, strlen(text)) == NULL) return NULL;
    return weft_misuse("%s needs a value, but the option '%s' follows: %s", option->name, text, option->value);
}

/* Parses the option argv[*at], and moves *at onto its value. */
static weft_status *parse_option(weft_option_table table, int argc, char **argv, int *at, weft_arguments *arguments)
{
    const char *argument = argv[*at], *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    size_t length = equals == NULL ? strlen(argument) : (size_t)(equals - argument);
    weft_option_value value = {.option = find_option(table, argument, length)};
    if (value.option == NULL) return refuse_option(table, argument, length);
    if (value.option->kind == WEFT_OPTION_FLAG) {
        if (equals != NULL) return weft_misuse("%s takes no value, but has '%s'", value.option->name, equals + 1);
    } else {
        if (equals != NULL) value.text = equals + 1;
        else WEFT_TRY(next_text(table, value.option, ++*at == argc ? NULL : argv[*at], &value.text));
        WEFT_TRY(parse_value(&value));
    }
    WEFT_TRY(check_once(arguments, &value));
    arguments->values[arguments->value_count++] = value;
    return NULL;
}

static weft_status *parse(weft_option_table table, int argc, char **argv, weft_arguments *arguments)
{
    bool options = true;
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) options = false;
        else if (options && argv[i][0] == '-' && argv[i][1] != 0 && argv[i][1] != '>')
            WEFT_TRY(parse_option(table, argc, argv, &i, arguments));
        else arguments->operands[arguments->operand_count++] = argv[i];
    }
    return NULL;
}

weft_status *weft_arguments_parse(weft_option_table table, int argc, char **argv, weft_arguments *out_arguments)
{
    size_t size = (size_t)argc + 1;
    weft_arguments arguments = {.operands = calloc(size, sizeof(char *)),
                                .values = calloc(size, sizeof(weft_option_value))};
    weft_status *status = arguments.operands == NULL || arguments.values == NULL ? weft_status_out_of_memory() : NULL;
    if (status == NULL) status = parse(table, argc, argv, &arguments);
    if (status == NULL) *out_arguments = arguments;
    else weft_arguments_finish(&arguments);
    return status;
}

void weft_arguments_finish(weft_arguments *arguments)
{
    free(arguments->operands);
    free(arguments->values);
    *arguments = (weft_arguments){0};
}

const weft_option_value *weft_arguments_find(const weft_arguments *arguments, const char *name)
{
    for (size_t i = arguments->value_count; i-- > 0;)
        if (strcmp(arguments->values[i].option->name, name) == 0) return &arguments->values[i];
    return NULL;
}

const char *weft_arguments_text(const weft_arguments *arguments, const char *name, const char *otherwise)
{
    const weft_option_value *value = weft_arguments_find(arguments, name);
    return value == NULL ? otherwise : value->text;
}

long weft_arguments_count(const weft_arguments *arguments, const char *name, long otherwise)
{
    const weft_option_value *value = weft_arguments_find(arguments, name);
    return value == NULL ? otherwise : value->count;
}

double weft_arguments_number(const weft_arguments *arguments, const char *name, double otherwise)
{
    const weft_option_value *value = weft_arguments_find(arguments, name);
    return value == NULL ? otherwise : value->number;
}
