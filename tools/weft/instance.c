/* SPDX-License-Identifier: Apache-2.0 */
#include "instance.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"

/* What is read, and what for. */
typedef struct reader {
    const char *path;
    const cJSON *root;
    weft_instance *out;
} reader;

static weft_status *refuse(const reader *r, const char *format, ...) WEFT_FORMAT(2, 3);

static weft_status *refuse(const reader *r, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s: %s", r->path, sentence);
}

/* What stands in the place of something else, for messages. */
static const char *describe(const cJSON *item)
{
    return item == NULL           ? "missing"
           : cJSON_IsArray(item)  ? "a list"
           : cJSON_IsObject(item) ? "an object"
           : cJSON_IsString(item) ? "a text"
           : cJSON_IsNumber(item) ? "a number"
                                  : "null, true or false";
}

static weft_status *find_list(const reader *r, const char *key, const cJSON **out_list)
{
    *out_list = cJSON_GetObjectItemCaseSensitive(r->root, key);
    if (cJSON_IsArray(*out_list)) return NULL;
    return refuse(r, "\"%s\" is %s; it must be a list", key, describe(*out_list));
}

/* A list of integers from 0 that a double holds exactly; `what` names the list. */
static weft_status *read_integers(const reader *r, const cJSON *list, const char *what, weft_ints *out_integers)
{
    const cJSON *item;
    size_t at = 0;
    if (!cJSON_IsArray(list)) return refuse(r, "%s is %s; it must be a list of integers", what, describe(list));
    int64_t *items = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *items);
    if (items == NULL) return weft_status_out_of_memory();
    *out_integers = (weft_ints){(size_t)cJSON_GetArraySize(list), items};
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item)) return refuse(r, "entry %zu of %s is %s, not an integer", at, what, describe(item));
        double value = item->valuedouble;
        if (value < 0 || value != floor(value) || value > 0x1p53)
            return refuse(r, "entry %zu of %s is %.17g, not an integer from 0 to 2^53", at, what, value);
        items[at++] = (int64_t)value;
    }
    return NULL;
}

/* A list of lists of integers, one for each operand. */
static weft_status *read_lists(const reader *r, const char *key, size_t *out_count, weft_ints **out_lists)
{
    const cJSON *list, *item;
    size_t at = 0;
    WEFT_TRY(find_list(r, key, &list));
    *out_lists = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof **out_lists);
    if (*out_lists == NULL) return weft_status_out_of_memory();
    *out_count = (size_t)cJSON_GetArraySize(list);
    cJSON_ArrayForEach(item, list)
    {
        char what[96];
        snprintf(what, sizeof what, "\"%s\" of operand %zu", key, at);
        WEFT_TRY(read_integers(r, item, what, &(*out_lists)[at]));
        at++;
    }
    return *out_count > 0 ? NULL : refuse(r, "\"%s\" is empty; there must be an operand", key);
}

/* ---- integer labels ---- */

static weft_status *fill_shape(const reader *r, weft_ints sizes, size_t operand)
{
    weft_ints labels = r->out->labels[operand];
    int64_t *shape = calloc(labels.count + 1, sizeof *shape);
    if (shape == NULL) return weft_status_out_of_memory();
    r->out->shapes[operand] = (weft_ints){labels.count, shape};
    for (size_t axis = 0; axis < labels.count; axis++) {
        int64_t label = labels.items[axis];
        if ((uint64_t)label >= sizes.count)
            return refuse(r, "label %" PRId64 " of operand %zu has no size; \"sizes\" has %zu entries, from 0", label,
                          operand, sizes.count);
        shape[axis] = sizes.items[label];
    }
    return NULL;
}

/* Whether each label of the output is one of an operand. */
static weft_status *check_output(const reader *r, size_t label_count)
{
    bool *known = calloc(label_count + 1, sizeof *known);
    weft_status *status = known == NULL ? weft_status_out_of_memory() : NULL;
    for (size_t i = 0; status == NULL && i < r->out->count; i++)
        for (size_t k = 0; k < r->out->labels[i].count; k++) known[r->out->labels[i].items[k]] = true;
    for (size_t i = 0; status == NULL && i < r->out->output.count; i++) {
        int64_t label = r->out->output.items[i];
        if ((uint64_t)label >= label_count || !known[label])
            status = refuse(r, "label %" PRId64 " of \"output\" is in none of the %zu operands", label, r->out->count);
    }
    free(known);
    return status;
}

static weft_status *fill_shapes(const reader *r, weft_ints sizes)
{
    for (size_t i = 0; i < r->out->count; i++) WEFT_TRY(fill_shape(r, sizes, i));
    return check_output(r, sizes.count);
}

static weft_status *read_labels(const reader *r)
{
    const cJSON *list;
    weft_ints sizes = {0};
    WEFT_TRY(read_lists(r, "inputs", &r->out->count, &r->out->labels));
    WEFT_TRY(find_list(r, "output", &list));
    WEFT_TRY(read_integers(r, list, "\"output\"", &r->out->output));
    WEFT_TRY(find_list(r, "sizes", &list));
    r->out->shapes = calloc(r->out->count, sizeof *r->out->shapes);
    if (r->out->shapes == NULL) return weft_status_out_of_memory();
    weft_status *status = read_integers(r, list, "\"sizes\"", &sizes);
    if (status == NULL) status = fill_shapes(r, sizes);
    free((void *)sizes.items);
    return status;
}

/* ---- a text ---- */

static weft_status *read_format(const reader *r)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(r->root, "format_string");
    if (!cJSON_IsString(text)) return refuse(r, "\"format_string\" is %s; it must be a text", describe(text));
    r->out->text = malloc(strlen(text->valuestring) + 1);
    if (r->out->text == NULL) return weft_status_out_of_memory();
    strcpy(r->out->text, text->valuestring);
    return read_lists(r, "shapes", &r->out->count, &r->out->shapes);
}

/* ---- all ---- */

static weft_status *read_dtype(const reader *r)
{
    static const struct {
        const char *numpy;
        weft_dtype dtype;
    } names[] = {{"bool", WEFT_BOOL},     {"uint8", WEFT_U8},      {"int32", WEFT_I32},      {"uint32", WEFT_U32},
                 {"int64", WEFT_I64},     {"float16", WEFT_F16},   {"float32", WEFT_F32},    {"float64", WEFT_F64},
                 {"bfloat16", WEFT_BF16}, {"complex64", WEFT_C64}, {"complex128", WEFT_C128}};
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->root, "dtype");
    r->out->dtype = WEFT_F32;
    if (item == NULL) return NULL;
    if (!cJSON_IsString(item)) return refuse(r, "\"dtype\" is %s; it must be a text", describe(item));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(item->valuestring, names[i].numpy) != 0) continue;
        r->out->dtype = names[i].dtype;
        return NULL;
    }
    if (weft_dtype_find(item->valuestring, &r->out->dtype)) return NULL;
    return refuse(r, "\"dtype\" is \"%s\", which is no dtype", item->valuestring);
}

static weft_status *read_order(const reader *r)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->root, "order");
    if (item == NULL) return NULL;
    if (!cJSON_IsArray(item) && !cJSON_IsNumber(item))
        return refuse(r, "\"order\" is %s; it must be a list", describe(item));
    r->out->order = cJSON_PrintUnformatted(item);
    return r->out->order == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *read_root(const reader *r)
{
    if (!cJSON_IsObject(r->root)) return refuse(r, "the file holds %s; it must be an object", describe(r->root));
    bool labels = cJSON_HasObjectItem(r->root, "inputs"), format = cJSON_HasObjectItem(r->root, "format_string");
    if (labels && format)
        return refuse(r, "\"inputs\" and \"format_string\" are two ways to say it; there must be one");
    if (!labels && !format)
        return refuse(r, "neither \"inputs\" (with \"output\" and \"sizes\") nor \"format_string\" (with \"shapes\") "
                         "is there");
    WEFT_TRY(read_dtype(r));
    WEFT_TRY(read_order(r));
    return labels ? read_labels(r) : read_format(r);
}

weft_status *weft_instance_load(const char *path, weft_instance *out_instance)
{
    char *text;
    size_t length;
    const char *end = NULL;
    *out_instance = (weft_instance){0};
    WEFT_TRY(weft_file_read(path, &text, &length));
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    reader r = {path, root, out_instance};
    weft_status *status = root == NULL ? refuse(&r, "byte %td is no JSON", end - text + 1) : read_root(&r);
    cJSON_Delete(root);
    free(text);
    return status;
}

static void free_lists(size_t count, weft_ints *lists)
{
    for (size_t i = 0; lists != NULL && i < count; i++) free((void *)lists[i].items);
    free(lists);
}

void weft_instance_finish(weft_instance *instance)
{
    free(instance->text);
    cJSON_free(instance->order);
    free((void *)instance->output.items);
    free_lists(instance->count, instance->labels);
    free_lists(instance->count, instance->shapes);
    *instance = (weft_instance){0};
}
