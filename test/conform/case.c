/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a text that grows ---- */

typedef struct text {
    char *data;
    size_t size;
} text;

static void append(text *out, const char *data, size_t size)
{
    char *grown = realloc(out->data, out->size + size + 1);
    if (grown == NULL) abort();
    memcpy(grown + out->size, data, size);
    out->data = grown;
    out->size += size;
    out->data[out->size] = '\0';
}

/* `source` with $key replaced by `value`. */
static char *substitute(const char *source, const char *key, const char *value)
{
    text out = {NULL, 0};
    size_t length = strlen(key);
    append(&out, "", 0);
    for (const char *at = source; *at != '\0';) {
        if (*at == '$' && strncmp(at + 1, key, length) == 0) {
            append(&out, value, strlen(value));
            at += length + 1;
        } else {
            append(&out, at++, 1);
        }
    }
    return out.data;
}

static void substitute_in(char *field, size_t size, const char *key, const char *value)
{
    char *replaced = substitute(field, key, value);
    snprintf(field, size, "%s", replaced);
    free(replaced);
}

/* ---- combinations ---- */

typedef struct reader {
    weft_test_case_visitor visit;
    void *context;
} reader;

static void visit_combinations(const reader *read, const weft_test_case *given);

static void visit_value(const reader *read, const weft_test_case *given, const char *key, const char *value)
{
    weft_test_case chosen = *given;
    char note[64];
    chosen.text = substitute(given->text, key, value);
    snprintf(note, sizeof note, " %s", value);
    strncat(chosen.title, note, sizeof chosen.title - strlen(chosen.title) - 1);
    substitute_in(chosen.bind, sizeof chosen.bind, key, value);
    substitute_in(chosen.data, sizeof chosen.data, key, value);
    substitute_in(chosen.tolerance, sizeof chosen.tolerance, key, value);
    substitute_in(chosen.fails, sizeof chosen.fails, key, value);
    visit_combinations(read, &chosen);
    free(chosen.text);
}

static void visit_combinations(const reader *read, const weft_test_case *given)
{
    if (given->parameter_count == 0) {
        read->visit(read->context, given);
        return;
    }
    weft_test_case rest = *given;
    weft_test_parameter parameter = rest.parameters[--rest.parameter_count];
    char *cursor = NULL;
    for (char *value = strtok_r(parameter.values, " ", &cursor); value != NULL; value = strtok_r(NULL, " ", &cursor))
        visit_value(read, &rest, parameter.key, value);
}

/* ---- reading ---- */

static void set_directive(weft_test_case *given, const char *key, const char *value)
{
    const struct {
        const char *key;
        char *field;
        size_t size;
    } fields[] = {{"bind", given->bind, sizeof given->bind},
                  {"data", given->data, sizeof given->data},
                  {"tolerance", given->tolerance, sizeof given->tolerance},
                  {"fails", given->fails, sizeof given->fails}};
    if (strcmp(key, "threads") == 0) {
        given->threads = true;
        return;
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(key, fields[i].key) == 0) {
            snprintf(fields[i].field, fields[i].size, "%s", value);
            return;
        }
    if (given->parameter_count == WEFT_TEST_PARAMETERS) abort();
    weft_test_parameter *parameter = &given->parameters[given->parameter_count++];
    snprintf(parameter->key, sizeof parameter->key, "%.31s", key);
    snprintf(parameter->values, sizeof parameter->values, "%s", value);
}

/* Splits "# key: value" in place. */
static bool split_directive(char *line, char **out_key, char **out_value)
{
    if (strncmp(line, "# ", 2) != 0) return false;
    size_t length = strspn(line + 2, "abcdefghijklmnopqrstuvwxyz");
    if (length == 0 || length >= sizeof(((weft_test_parameter *)0)->key) || line[2 + length] != ':') return false;
    line[2 + length] = '\0';
    *out_key = line + 2;
    *out_value = line + 3 + length;
    while (**out_value == ' ') (*out_value)++;
    return true;
}

static void finish_case(const reader *read, weft_test_case *given, text *body)
{
    given->text = body->data;
    if (given->title[0] != '\0' && body->data != NULL) visit_combinations(read, given);
    free(body->data);
    *body = (text){NULL, 0};
    *given = (weft_test_case){.tolerance = "exact"};
}

bool weft_test_cases_read(const char *path, weft_test_case_visitor visit, void *context)
{
    const reader read = {visit, context};
    weft_test_case given = {.tolerance = "exact"};
    text body = {NULL, 0};
    char line[4096], *key, *value;
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        bool directive = split_directive(line, &key, &value);
        if (directive && strcmp(key, "case") == 0) {
            finish_case(&read, &given, &body);
            snprintf(given.title, sizeof given.title, "%s", value);
        } else if (directive && given.title[0] != '\0') {
            set_directive(&given, key, value);
        } else if (given.title[0] != '\0') {
            append(&body, line, strlen(line));
            append(&body, "\n", 1);
        }
    }
    finish_case(&read, &given, &body);
    fclose(file);
    return true;
}

/* ---- fields ---- */

bool weft_test_tolerance_parse(const char *source, weft_test_tolerance *out_tolerance)
{
    static const char *const names[] = {"exact", "bits", "value", "ulp", "near", "within", "sum"};
    char name[16];
    *out_tolerance = (weft_test_tolerance){WEFT_TEST_EXACT, 0};
    if (sscanf(source, "%15s %lf", name, &out_tolerance->amount) < 1) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            out_tolerance->kind = (weft_test_tolerance_kind)i;
            return true;
        }
    return false;
}

void weft_test_data_find(const char *data, const char *name, char *out_kind, size_t size)
{
    snprintf(out_kind, size, "normal");
    for (const char *at = data; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        char entry[32], kind[64];
        if (*at == ',') at++;
        if (sscanf(at, " %31s %63[^, ]", entry, kind) == 2 && strcmp(entry, name) == 0)
            snprintf(out_kind, size, "%s", kind);
    }
}
