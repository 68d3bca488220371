/* SPDX-License-Identifier: Apache-2.0 */
#include "order_lines.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "options.h"

static const char blanks[] = " \t";

enum { OPERANDS, LABELS, FLOPS, SIZE, PEAK, SLICED, OVERHEAD, SECONDS, LINES };
static const char *const names[LINES] = {
    [OPERANDS] = WEFT_LINE_OPERANDS, [LABELS] = WEFT_LINE_LABELS,  [FLOPS] = WEFT_LINE_FLOPS,
    [SIZE] = WEFT_LINE_SIZE,         [PEAK] = WEFT_LINE_PEAK,      [SLICED] = WEFT_LINE_SLICED,
    [OVERHEAD] = WEFT_LINE_OVERHEAD, [SECONDS] = WEFT_LINE_SECONDS};

weft_status *weft_order_refuse_v(const char *name, const char *text, size_t offset, const char *format,
                                 va_list arguments)
{
    size_t line = 1, column = 1;
    char sentence[400];
    for (size_t i = 0; i < offset; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    vsnprintf(sentence, sizeof sentence, format, arguments);
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s:%zu:%zu: %s", name, line, column, sentence);
}

weft_status *weft_order_refuse(const char *name, const char *text, size_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status = weft_order_refuse_v(name, text, offset, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- one line ---- */

typedef struct reader {
    const char *name, *text;
    const weft_order_counts *counts;
    const char *lines[LINES]; /* that were read */
} reader;

/* Bytes of the line at `text` without what ends it. */
static int measure(const char *text)
{
    size_t length = strcspn(text, "\n");
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) length--;
    return (int)length;
}

static size_t measure_name(const char *name)
{
    size_t length = strlen(name);
    while (name[length - 1] == ' ') length--;
    return length;
}

const char *weft_order_line_value(const char *line, const char *name)
{
    line += measure_name(name);
    return line + strspn(line, blanks);
}

/* Which line it is; LINES for another text. */
static size_t find_name(const char *line)
{
    size_t i = 0;
    for (; i < LINES; i++) {
        size_t length = measure_name(names[i]);
        if (strncmp(line, names[i], length) == 0 && strchr(" \t\r\n", line[length]) != NULL) break;
    }
    return i;
}

/* Refuses what no line may have. */
static weft_status *refuse(const reader *r, const char *line, const char *fault)
{
    int length = measure(line), most = 80;
    return weft_order_refuse(r->name, r->text, (size_t)(line - r->text), "'%.*s%s' %s", length < most ? length : most,
                             line, length < most ? "" : "...", fault);
}

static weft_status *check_count(const reader *r, size_t i, const char *line)
{
    const char *at = weft_order_line_value(line, names[i]), *end = line + measure(line);
    int64_t count;
    if (!weft_option_read_integer(&at, false, &count) || at != end) return refuse(r, line, "is to end with a count");
    size_t offset = (size_t)(line - r->text), operands = r->counts->operands, labels = r->counts->labels;
    if (i == OPERANDS && (size_t)count != operands)
        return weft_order_refuse(r->name, r->text, offset, "the plan is of %" PRId64 " operands, but there are %zu",
                                 count, operands);
    if (i == LABELS && (size_t)count > labels)
        return weft_order_refuse(r->name, r->text, offset, "the plan is of %" PRId64 " labels, but there are %zu",
                                 count, labels);
    return NULL;
}

static weft_status *check_number(const reader *r, size_t i, const char *line)
{
    const char *at = weft_order_line_value(line, names[i]), *end = line + measure(line);
    const char *rest = i == OVERHEAD ? WEFT_LINE_TIMES : "";
    char *past = NULL;
    if (at < end) strtod(at, &past);
    if (past != NULL && past > at && (size_t)(end - past) == strlen(rest) && strncmp(past, rest, strlen(rest)) == 0)
        return NULL;
    return refuse(r, line, i == OVERHEAD ? "must end with a number and 'x'" : "must end with a number");
}

static weft_status *read_line(reader *r, const char *line)
{
    size_t i = find_name(line);
    if (i == LINES)
        return refuse(
            r, line,
            "is neither a line of a plan nor an order, which is a list of steps such as [(0, 1), (0, 1)] or a tree "
            "such as ((0, 1), 2)");
    if (r->lines[i] != NULL) return refuse(r, line, "is the second line of its kind");
    r->lines[i] = line;
    if (i == SLICED) return NULL;
    return i == OPERANDS || i == LABELS ? check_count(r, i, line) : check_number(r, i, line);
}

/* ---- all ---- */

static bool has(const char *line, const char *word)
{
    const char *found = strstr(line, word);
    return found != NULL && found < line + strcspn(line, "\n");
}

/* Arrays have no commas, and are printed without the line of the operands only; statistics begin with them. */
static bool is_order(const reader *r, const char *line)
{
    static const char statistics[] = "{\"operands\":";
    line += strspn(line, blanks);
    if (*line == '[' || *line == '(') return r->lines[OPERANDS] != NULL || has(line, ",");
    return *line == '{' && strncmp(line, statistics, strlen(statistics)) != 0 && has(line, "\"order\"");
}

/* Where an order without lines before it ends, which may take several: after its last bracket, if nothing follows there;
 * otherwise with the text. */
static size_t find_end(const char *text, size_t at)
{
    size_t depth = 0, all = at + strlen(text + at);
    do {
        at += strcspn(text + at, "[]()");
        bool opens = text[at] == '[' || text[at] == '(';
        if (text[at] == 0 || (!opens && depth == 0)) return all;
        depth += opens ? 1 : (size_t)-1;
        at++;
    } while (depth > 0);
    at += strspn(text + at, " \t\r");
    return text[at] == '\n' ? at : all;
}

/* What stands after the order is said of its run. */
static weft_status *check_rest(const reader *r, const char *text)
{
    for (const char *line = text; *line != 0; line += strcspn(line, "\n"), line += *line == '\n') {
        if (find_name(line) < LINES) return refuse(r, line, "stands after the order, but belongs before it");
        if (is_order(r, line)) return refuse(r, line, "is a second order");
    }
    return NULL;
}

weft_status *weft_order_lines_read(const char *name, const char *text, const weft_order_counts *counts,
                                   weft_order_lines *out_lines)
{
    reader r = {.name = name, .text = text, .counts = counts};
    const char *at = text + strspn(text, " \t\r\n");
    if (!isalpha((unsigned char)*at)) {
        *out_lines = (weft_order_lines){.end = *at == '{' ? strlen(text) : find_end(text, (size_t)(at - text))};
        return check_rest(&r, text + out_lines->end);
    }
    *out_lines = (weft_order_lines){.begin = 0};
    while (isalpha((unsigned char)*at)) {
        WEFT_TRY(read_line(&r, at));
        at += strcspn(at, "\n");
        at += strspn(at, " \t\r\n");
    }
    if (r.lines[OVERHEAD] != NULL && r.lines[SLICED] == NULL)
        return refuse(&r, r.lines[OVERHEAD], "is said of slices, but no line has the sliced labels");
    out_lines->begin = (size_t)(at - text);
    out_lines->end = out_lines->begin + strcspn(at, "\n");
    out_lines->sliced = r.lines[SLICED];
    return check_rest(&r, text + out_lines->end);
}
