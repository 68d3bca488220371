/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/shrink.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "test/conform/subject.h"
#include "test/random/worker.h"

enum { MOST_LINES = 1024, MOST_NAMES = 8 };
/* Seconds for one program. */
#define MOST_TIME 120

/* A text as lines. */
typedef struct lines {
    size_t count;
    const char *start[MOST_LINES];
    size_t length[MOST_LINES]; /* with the newline */
} lines;

/* A statement: "  %0, %1 = ... : f32[n], f32[n]", whose regions lie on lines between its first and its last. */
typedef struct statement {
    size_t first, last, indent, count;
    char names[MOST_NAMES][32], types[MOST_NAMES][128];
} statement;

typedef struct shrinker {
    uint64_t seed;
    char *text;
    char *problem;
    size_t size;
    time_t end;
} shrinker;

static void split(const char *text, lines *out)
{
    out->count = 0;
    while (*text != '\0' && out->count < MOST_LINES) {
        size_t length = strcspn(text, "\n") + 1;
        out->start[out->count] = text;
        out->length[out->count++] = length;
        text += length;
    }
}

static size_t indent_of(const lines *all, size_t i)
{
    return strspn(all->start[i], " ");
}

static void read_names(statement *s, const char *at)
{
    for (s->count = 0; s->count < MOST_NAMES && *at == '%'; s->count++) {
        size_t length = strcspn(at, ", ");
        snprintf(s->names[s->count], sizeof s->names[0], "%.*s", (int)length, at);
        at += length;
        at += strspn(at, ", ");
    }
}

/* "f32[n], i64[]" */
static bool read_types(statement *s, const char *at)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t length = strcspn(at, "]") + 1;
        if (length >= sizeof s->types[0] || at[length - 1] != ']') return false;
        snprintf(s->types[i], sizeof s->types[0], "%.*s", (int)length, at);
        at += length + strspn(at + length, ", ");
    }
    return true;
}

/* The statement that begins on line i, if one does. */
static bool read_statement(const lines *all, size_t i, statement *out)
{
    *out = (statement){.first = i, .last = i, .indent = indent_of(all, i)};
    if (all->start[i][out->indent] != '%') return false;
    read_names(out, all->start[i] + out->indent);
    while (all->start[out->last][all->length[out->last] - 2] == '{') {
        do out->last++;
        while (out->last < all->count && indent_of(all, out->last) > out->indent);
        if (out->last >= all->count) return false;
    }
    char line[4096];
    snprintf(line, sizeof line, "%.*s", (int)(all->length[out->last] - 1), all->start[out->last]);
    char *type = NULL;
    for (char *at = strstr(line, " : "); at != NULL; at = strstr(at + 1, " : "))
        if (out->first != out->last || type == NULL || strchr(at, '"') == NULL) type = at;
    return type != NULL && read_types(out, type + 3);
}

/* ---- candidates ---- */

/* Prints what of `text` its results need; NULL when it is no program. Takes it. */
static char *tidy(char *text)
{
    weft_module *module = NULL;
    char *printed = NULL;
    weft_status *status = weft_test_parse("shrunk", text, &module);
    if (status == NULL) status = weft_graph_print(module->outputs, &printed);
    weft_status_destroy(status);
    char *kept = printed == NULL ? NULL : malloc(strlen(printed) + 1);
    if (kept != NULL) strcpy(kept, printed);
    weft_text_destroy(printed);
    weft_module_destroy(module);
    free(text);
    return kept;
}

/* Takes a text if it is smaller and still fails. */
static bool take(shrinker *s, char *changed)
{
    char found[WEFT_TEST_PROBLEM];
    changed = tidy(changed);
    if (changed == NULL) return false;
    bool smaller =
        strlen(changed) < strlen(s->text) || (strlen(changed) == strlen(s->text) && strcmp(changed, s->text) < 0);
    if (!smaller || time(NULL) > s->end || weft_test_try_apart(s->seed, changed, found, sizeof found)) {
        free(changed);
        return false;
    }
    snprintf(s->problem, s->size, "%s", found);
    free(s->text);
    s->text = changed;
    return true;
}

static FILE *open_text(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    if (out == NULL) abort();
    return out;
}

/* The text with another line of results, and without lines [first, last] but `instead`. */
static char *without(const lines *all, size_t first, size_t last, const char *instead, const char *results)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_text(&text, &size);
    for (size_t i = 0; i < all->count; i++) {
        if (i == first) fputs(instead, out);
        if (i >= first && i <= last) continue;
        if (results != NULL && strncmp(all->start[i], "  return ", 9) == 0) fprintf(out, "  return %s\n", results);
        else fwrite(all->start[i], 1, all->length[i], out);
    }
    fclose(out);
    return text;
}

/* One value as the only result. */
static bool return_one(shrinker *s)
{
    lines all;
    statement found;
    split(s->text, &all);
    for (size_t i = 0; i < all.count; i++)
        for (size_t k = 0; read_statement(&all, i, &found) && found.indent == 2 && k < found.count; k++)
            if (take(s, without(&all, SIZE_MAX, 0, "", found.names[k]))) return true;
    return false;
}

/* Without one of the results. */
static bool return_fewer(shrinker *s)
{
    lines all;
    char *items[64], results[4096];
    size_t count = 0;
    split(s->text, &all);
    for (size_t i = 0; i < all.count; i++)
        if (strncmp(all.start[i], "  return ", 9) == 0)
            snprintf(results, sizeof results, "%.*s", (int)all.length[i] - 10, all.start[i] + 9);
    for (char *item = strtok(results, ","); item != NULL && count < 64; item = strtok(NULL, ",")) items[count++] = item;
    for (size_t skipped = 0; skipped < count && count > 1; skipped++) {
        char fewer[4096] = "";
        for (size_t i = 0; i < count; i++)
            if (i != skipped) {
                if (*fewer != '\0') strcat(fewer, ", ");
                strcat(fewer, items[i] + strspn(items[i], " "));
            }
        if (take(s, without(&all, SIZE_MAX, 0, "", fewer))) return true;
    }
    return false;
}

/* Inputs in place of what is computed. */
static bool replace_by_inputs(shrinker *s)
{
    lines all;
    statement found;
    split(s->text, &all);
    for (size_t i = all.count; i-- > 0;) {
        char inputs[2048] = "";
        if (!read_statement(&all, i, &found) || found.indent != 2 ||
            strstr(all.start[i], " = input(") == all.start[i] + 2 + strlen(found.names[0]))
            continue;
        for (size_t k = 0; k < found.count; k++) {
            size_t used = strlen(inputs), dtype = strcspn(found.types[k], "[");
            snprintf(inputs + used, sizeof inputs - used, "  %s = input() {name = \"s%s\", dtype = %.*s, shape = %s}\n",
                     found.names[k], found.names[k] + 1, (int)dtype, found.types[k], found.types[k] + dtype);
        }
        if (take(s, without(&all, found.first, found.last, inputs, NULL))) return true;
    }
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '%';
}

/* Writes a line with `to` in place of the words `from`, up to where the parameters of a region begin. */
static void write_renamed(FILE *out, const char *line, size_t length, const char *from, const char *to)
{
    const char *end = line + length, *stop = end;
    for (const char *at = line; at + 3 < end && end[-2] == '{'; at++)
        if (strncmp(at, " (%", 3) == 0) {
            stop = at;
            break;
        }
    for (const char *at = line; at < end;) {
        size_t word = 0;
        while (at + word < end && in_word(at[word])) word++;
        bool same = word == strlen(from) && strncmp(at, from, word) == 0 && at < stop;
        if (word == 0) word = 1;
        if (same) fputs(to, out);
        else fwrite(at, 1, word, out);
        at += word;
    }
}

/* The text without the statement, with another value in place of its only one. */
static char *merged(const lines *all, const statement *gone, const char *by)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_text(&text, &size);
    bool inside = true;
    for (size_t i = 0; i < all->count; i++) {
        if (i > gone->last && indent_of(all, i) < gone->indent) inside = false;
        if (i >= gone->first && i <= gone->last) continue;
        if (i > gone->last && inside && indent_of(all, i) == gone->indent && all->start[i][gone->indent] != '}')
            write_renamed(out, all->start[i], all->length[i], gone->names[0], by);
        else fwrite(all->start[i], 1, all->length[i], out);
    }
    fclose(out);
    return text;
}

/* An earlier value of the same type in place of one. */
static bool merge(shrinker *s)
{
    lines all;
    statement found, other;
    split(s->text, &all);
    for (size_t i = all.count; i-- > 0;) {
        if (!read_statement(&all, i, &found) || found.count != 1) continue;
        for (size_t j = i; j-- > 0 && indent_of(&all, j) >= found.indent;) {
            if (indent_of(&all, j) != found.indent || !read_statement(&all, j, &other) || other.count != 1) continue;
            if (strcmp(other.types[0], found.types[0]) == 0 && take(s, merged(&all, &found, other.names[0])))
                return true;
        }
    }
    return false;
}

/* ---- numbers ---- */

/* The text with `to` in place of the numbers `from`, but in names. */
static char *renumbered(const char *text, const char *from, long to)
{
    char *changed = NULL;
    size_t size;
    FILE *out = open_text(&changed, &size);
    const char *at = strchr(text, '\n');
    fwrite(text, 1, (size_t)(at - text), out); /* the version */
    while (*at != '\0') {
        size_t word = 0;
        if (*at == '"') word = strcspn(at + 1, "\"") + 2;
        else
            while (in_word(at[word])) word++;
        if (word == strlen(from) && strncmp(at, from, word) == 0) fprintf(out, "%ld", to);
        else fwrite(at, 1, word == 0 ? 1 : word, out);
        at += word == 0 ? 1 : word;
    }
    fclose(out);
    return changed;
}

static bool reduce_number(shrinker *s, const char *number)
{
    long value = strtol(number, NULL, 10), tries[] = {1, 2, 3, value / 8, value / 2, value - 1};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        if (tries[i] > 0 && tries[i] < value && take(s, renumbered(s->text, number, tries[i]))) return true;
    return false;
}

static bool reduce_numbers(shrinker *s)
{
    char *text = malloc(strlen(s->text) + 1), done[1024] = " ";
    bool reduced = false;
    if (text == NULL) abort();
    strcpy(text, s->text);
    for (const char *at = strchr(text, '\n'); *at != '\0';) {
        size_t word = 0;
        while (in_word(at[word])) word++;
        char number[24], marked[28];
        bool fits = word > 0 && word < 12 && strspn(at, "0123456789") == word;
        snprintf(number, sizeof number, "%.*s", (int)(fits ? word : 0), at);
        snprintf(marked, sizeof marked, " %s ", number);
        if (fits && strstr(done, marked) == NULL && strlen(done) + 20 < sizeof done) {
            strcat(done, marked + 1);
            reduced |= reduce_number(s, number);
        }
        at += word == 0 ? 1 : word;
    }
    free(text);
    return reduced;
}

char *weft_test_shrink(uint64_t seed, const char *text, char *problem, size_t size)
{
    shrinker s = {seed, malloc(strlen(text) + 1), problem, size, time(NULL) + MOST_TIME};
    if (s.text == NULL) abort();
    strcpy(s.text, text);
    while (return_one(&s) || return_fewer(&s) || replace_by_inputs(&s) || merge(&s) || reduce_numbers(&s)) continue;
    return s.text;
}
