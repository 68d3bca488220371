/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/shrink.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/random/trial.h"

enum { MOST_LINES = 256 };

/* A text as lines that stay in it. */
typedef struct lines {
    size_t count;
    const char *start[MOST_LINES];
    size_t length[MOST_LINES]; /* with the newline */
} lines;

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

/* "%7" and "f32[n, 4]" of a line that computes something. */
static bool read_line(const lines *all, size_t i, char *out_value, char *out_dtype, char *out_shape)
{
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)(all->length[i] - 1), all->start[i]);
    char *type = strrchr(line, ':');
    if (strncmp(line, "  %", 3) != 0 || type == NULL || strstr(line, "= input(") != NULL) return false;
    return sscanf(line, " %31s", out_value) == 1 && sscanf(type, ": %15[a-z0-9] [%255[^]]", out_dtype, out_shape) >= 1;
}

/* Prints what of `text` its results need. */
static char *tidy(char *text)
{
    weft_module *module = NULL;
    char *printed = NULL;
    weft_status *status = weft_graph_parse("shrunk", text, strlen(text), NULL, 0, NULL, &module);
    if (status == NULL) status = weft_graph_print(module->outputs, &printed);
    weft_status_destroy(status);
    char *kept = printed == NULL ? NULL : malloc(strlen(printed) + 1);
    if (kept != NULL) strcpy(kept, printed);
    weft_text_destroy(printed);
    weft_module_destroy(module);
    free(text);
    return kept;
}

/* The text with line `at` changed: as the only result, or (`replace`) as an input of its type. */
static char *change(const lines *all, size_t at, bool replace)
{
    char value[32], dtype[16], shape[256] = "", *text = NULL;
    size_t size;
    if (!read_line(all, at, value, dtype, shape)) return NULL;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) abort();
    for (size_t i = 0; i < all->count; i++) {
        bool result = strncmp(all->start[i], "  return ", 9) == 0;
        if (replace && i == at)
            fprintf(out, "  %s = input() {name = \"s%s\", dtype = %s, shape = [%s]}\n", value, value + 1, dtype, shape);
        else if (!replace && result) fprintf(out, "  return %s\n", value);
        else fwrite(all->start[i], 1, all->length[i], out);
    }
    fclose(out);
    return tidy(text);
}

/* How many values a text computes. */
static size_t weight(const char *text)
{
    size_t computed = 0;
    lines all;
    split(text, &all);
    for (size_t i = 0; i < all.count; i++) {
        char value[32], dtype[16], shape[256];
        computed += read_line(&all, i, value, dtype, shape);
    }
    return computed;
}

/* Takes the first change that still fails. */
static bool step(uint64_t seed, char **text, bool replace, char *problem, size_t size)
{
    lines all;
    char found[512];
    split(*text, &all);
    for (size_t i = 0; i < all.count; i++) {
        char *changed = change(&all, replace ? all.count - 1 - i : i, replace);
        if (changed == NULL) continue;
        if (weight(changed) < weight(*text) && !weft_test_try_apart(seed, changed, found, sizeof found)) {
            snprintf(problem, size, "%s", found);
            free(*text);
            *text = changed;
            return true;
        }
        free(changed);
    }
    return false;
}

char *weft_test_shrink(uint64_t seed, const char *text, char *problem, size_t size)
{
    char *small = malloc(strlen(text) + 1);
    if (small == NULL) abort();
    strcpy(small, text);
    while (step(seed, &small, false, problem, size) || step(seed, &small, true, problem, size)) continue;
    return small;
}
