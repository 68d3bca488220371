/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "options.h"

weft_status *weft_json_refuse(const char *path, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s: %s", path, sentence);
}

static const char *name_type(const cJSON *item)
{
    return item == NULL           ? "missing"
           : cJSON_IsArray(item)  ? "a list"
           : cJSON_IsObject(item) ? "an object"
           : cJSON_IsNull(item)   ? "null"
           : cJSON_IsTrue(item)   ? "true"
                                  : "false";
}

const char *weft_json_describe(const cJSON *item, char buffer[WEFT_JSON_ROOM])
{
    if (cJSON_IsNumber(item)) snprintf(buffer, WEFT_JSON_ROOM, "%.17g", item->valuedouble);
    else if (cJSON_IsString(item)) snprintf(buffer, WEFT_JSON_ROOM, "the text \"%.40s\"", item->valuestring);
    else snprintf(buffer, WEFT_JSON_ROOM, "%s", name_type(item));
    return buffer;
}

/* Lists and objects that are open at `at`. */
static size_t count_open(const char *text, const char *at)
{
    size_t count = 0;
    bool quoted = false;
    for (const char *c = text; c < at; c++) {
        if (quoted && *c == '\\' && c + 1 < at) c++;
        else if (*c == '"') quoted = !quoted;
        else if (!quoted && (*c == '[' || *c == '{')) count++;
        else if (!quoted && (*c == ']' || *c == '}') && count > 0) count--;
    }
    return count;
}

/* What is no JSON from `at` on. */
static weft_status *refuse_text(const char *path, const char *text, size_t length, const char *at)
{
    bool ended = at == text + length, deep = count_open(text, at) >= CJSON_NESTING_LIMIT;
    size_t line = 1, column = 1;
    for (const char *c = text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    if (deep)
        return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s:%zu:%zu: lists and objects are nested over %d deep",
                                  path, line, column, CJSON_NESTING_LIMIT);
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s:%zu:%zu: %s", path, line, column,
                              ended ? "the file ends before its JSON does" : "invalid JSON");
}

static weft_status *parse(const char *path, const char *text, cJSON **out_object)
{
    char room[WEFT_JSON_ROOM];
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    if (root == NULL) return refuse_text(path, text, strlen(text), end);
    weft_status *status = NULL;
    if (cJSON_IsObject(root)) *out_object = root;
    else status = weft_json_refuse(path, "the file holds %s; it must be an object", weft_json_describe(root, room));
    if (status != NULL) cJSON_Delete(root);
    return status;
}

weft_status *weft_json_load(const char *path, cJSON **out_object)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status =
        strlen(text) == length ? parse(path, text, out_object) : refuse_text(path, text, length, text + strlen(text));
    free(text);
    return status;
}

/* Refuses a second member of the name of `item`. */
static weft_status *check_once(const char *path, const cJSON *item)
{
    for (const cJSON *other = item->next; other != NULL; other = other->next)
        if (strcmp(other->string, item->string) == 0)
            return weft_json_refuse(path, "\"%s\" is there twice", item->string);
    return NULL;
}

weft_status *weft_json_check_members(const char *path, const cJSON *root, size_t count, const char *const *known)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, root)
    {
        const char *meant = NULL;
        size_t least = 2, i = 0; /* with this many changes it is another word */
        for (; i < count && strcmp(known[i], item->string) != 0; i++)
            if (weft_text_is_nearer(known[i], item->string, strlen(item->string), &least)) meant = known[i];
        if (i < count) WEFT_TRY(check_once(path, item));
        else if (meant != NULL)
            return weft_json_refuse(path, "\"%.40s\" is unknown here; did you mean \"%s\"?", item->string, meant);
    }
    return NULL;
}

weft_status *weft_json_read_integer(const char *path, const cJSON *item, const char *what, int64_t *out_integer)
{
    char room[WEFT_JSON_ROOM];
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0 && value == floor(value) && value <= 0x1p53))
        return weft_json_refuse(path, "%s is %s, not an integer from 0 to 2^53", what, weft_json_describe(item, room));
    *out_integer = (int64_t)value;
    return NULL;
}
