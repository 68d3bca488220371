/* SPDX-License-Identifier: Apache-2.0 */
#include "instance.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "label.h"
#include "sizes.h"

/* What is read, and what for. */
typedef struct reader {
    const char *path;
    const cJSON *root;
    weft_instance *out;
} reader;

static weft_status *find_list(const reader *r, const char *key, const cJSON **out_list)
{
    char room[WEFT_JSON_ROOM];
    *out_list = cJSON_GetObjectItemCaseSensitive(r->root, key);
    if (cJSON_IsArray(*out_list)) return NULL;
    return weft_json_refuse(r->path, "\"%s\" is %s; it must be a list", key, weft_json_describe(*out_list, room));
}

/* A list of integers from 0 that a double holds exactly; `what` names the list. */
static weft_status *read_integers(const reader *r, const cJSON *list, const char *what, weft_ints *out_integers)
{
    char room[WEFT_JSON_ROOM], entry[128];
    const cJSON *item;
    size_t at = 0;
    if (!cJSON_IsArray(list))
        return weft_json_refuse(r->path, "%s is %s; it must be a list of integers", what,
                                weft_json_describe(list, room));
    int64_t *items = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *items);
    if (items == NULL) return weft_status_out_of_memory();
    *out_integers = (weft_ints){(size_t)cJSON_GetArraySize(list), items};
    cJSON_ArrayForEach(item, list)
    {
        snprintf(entry, sizeof entry, "entry %zu of %s", at, what);
        WEFT_TRY(weft_json_read_integer(r->path, item, entry, &items[at++]));
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
    return *out_count > 0 ? NULL : weft_json_refuse(r->path, "\"%s\" is empty; there must be an operand", key);
}

/* ---- integer labels ---- */

static weft_status *fill_shape(const reader *r, const weft_sizes *sizes, size_t operand)
{
    weft_ints labels = r->out->labels[operand];
    int64_t *shape = calloc(labels.count + 1, sizeof *shape);
    if (shape == NULL) return weft_status_out_of_memory();
    r->out->shapes[operand] = (weft_ints){labels.count, shape};
    for (size_t axis = 0; axis < labels.count; axis++) {
        char label[WEFT_LABEL_ROOM];
        snprintf(label, sizeof label, "%" PRId64, labels.items[axis]);
        WEFT_TRY(weft_sizes_find(sizes, label, operand, &shape[axis]));
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether each label of the output is one of an operand; `known` has room for those of all. */
static weft_status *check_output(const reader *r, int64_t *known)
{
    size_t count = 0;
    for (size_t i = 0; i < r->out->count; i++)
        for (size_t k = 0; k < r->out->labels[i].count; k++) known[count++] = r->out->labels[i].items[k];
    qsort(known, count, sizeof *known, compare);
    for (size_t i = 0; i < r->out->output.count; i++) {
        const int64_t *label = &r->out->output.items[i];
        if (bsearch(label, known, count, sizeof *known, compare) == NULL)
            return weft_json_refuse(r->path,
                                    "label %" PRId64 " of \"output\" is in none of the operands, of which "
                                    "there are %zu",
                                    *label, r->out->count);
    }
    return NULL;
}

static weft_status *fill_shapes(const reader *r, const weft_sizes *sizes)
{
    size_t total = 0;
    for (size_t i = 0; i < r->out->count; i++) {
        WEFT_TRY(fill_shape(r, sizes, i));
        total += r->out->labels[i].count;
    }
    int64_t *known = calloc(total + 1, sizeof *known);
    if (known == NULL) return weft_status_out_of_memory();
    weft_status *status = check_output(r, known);
    free(known);
    return status;
}

static weft_status *read_numbers(const reader *r)
{
    const cJSON *list;
    weft_sizes sizes;
    WEFT_TRY(read_lists(r, "inputs", &r->out->count, &r->out->labels));
    WEFT_TRY(find_list(r, "output", &list));
    WEFT_TRY(read_integers(r, list, "\"output\"", &r->out->output));
    r->out->shapes = calloc(r->out->count, sizeof *r->out->shapes);
    if (r->out->shapes == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_sizes_load(r->path, r->root, true, &sizes);
    if (status == NULL) status = fill_shapes(r, &sizes);
    weft_sizes_finish(&sizes);
    return status;
}

/* ---- a text ---- */

/* Each label of the text with its size. */
static weft_status *fill_text_shapes(const reader *r, const weft_sizes *sizes)
{
    size_t begun = 0;
    int64_t *shape = NULL;
    weft_label_cursor cursor = weft_label_begin(r->out->text);
    while (weft_label_next(&cursor)) {
        weft_ints *operand = &r->out->shapes[cursor.operand];
        if (cursor.operand >= begun) {
            operand->items = shape = calloc(strcspn(cursor.at, ",") + 2, sizeof *shape);
            begun = cursor.operand + 1;
        }
        if (shape == NULL) return weft_status_out_of_memory();
        WEFT_TRY(weft_sizes_find(sizes, cursor.label, cursor.operand, &shape[operand->count++]));
    }
    return NULL;
}

/* What "shapes" would say, from the sizes of the labels. */
static weft_status *measure_text(const reader *r)
{
    weft_sizes sizes;
    const char *text = r->out->text;
    if (strstr(text, "...") != NULL)
        return weft_json_refuse(r->path, "sizes of labels do not say what the ellipsis stands for; there must be "
                                         "\"shapes\"");
    r->out->count = 1;
    for (const char *at = text; *at != '\0'; at++) r->out->count += *at == ',';
    r->out->shapes = calloc(r->out->count, sizeof *r->out->shapes);
    if (r->out->shapes == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_sizes_load(r->path, r->root, strchr(text, ']') != NULL, &sizes);
    if (status == NULL) status = fill_text_shapes(r, &sizes);
    weft_sizes_finish(&sizes);
    return status;
}

static weft_status *read_format(const reader *r)
{
    char room[WEFT_JSON_ROOM];
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(r->root, "format_string");
    if (!cJSON_IsString(text))
        return weft_json_refuse(r->path, "\"format_string\" is %s; it must be a text", weft_json_describe(text, room));
    r->out->text = malloc(strlen(text->valuestring) + 1);
    if (r->out->text == NULL) return weft_status_out_of_memory();
    strcpy(r->out->text, text->valuestring);
    bool has_shapes = cJSON_HasObjectItem(r->root, "shapes");
    if (!has_shapes && weft_sizes_exist(r->root)) return measure_text(r);
    if (!has_shapes)
        return weft_json_refuse(r->path, "\"sizes\" is missing, and so is \"shapes\"; there must be one of them");
    return read_lists(r, "shapes", &r->out->count, &r->out->shapes);
}

/* ---- letters as labels ---- */

static weft_status *write_letter(const reader *r, const cJSON *item, size_t at, const char *what, FILE *text)
{
    char room[WEFT_JSON_ROOM];
    if (!cJSON_IsString(item) || !weft_label_check(item->valuestring, false))
        return weft_json_refuse(r->path,
                                "entry %zu of %s is %s; labels are either all integers or all single "
                                "characters",
                                at, what, weft_json_describe(item, room));
    fputs(item->valuestring, text);
    return NULL;
}

static weft_status *write_letters(const reader *r, const cJSON *term, const char *what, FILE *text)
{
    char room[WEFT_JSON_ROOM], letter[8] = "";
    int64_t point;
    for (const char *at = term->valuestring; *at != '\0'; at += strlen(letter)) {
        snprintf(letter, sizeof letter, "%.*s", (int)weft_label_decode(at, &point), at);
        if (!weft_label_check(letter, false))
            return weft_json_refuse(r->path, "%s is %s, in which byte %td is not a label", what,
                                    weft_json_describe(term, room), at - term->valuestring + 1);
        fputs(letter, text);
    }
    return NULL;
}

/* A term from a list of letters, or a text of them. */
static weft_status *write_term(const reader *r, const cJSON *term, const char *what, FILE *text)
{
    char room[WEFT_JSON_ROOM];
    const cJSON *item;
    size_t at = 0;
    if (cJSON_IsString(term)) return write_letters(r, term, what, text);
    if (!cJSON_IsArray(term))
        return weft_json_refuse(r->path, "%s is %s; it must be a list of labels", what, weft_json_describe(term, room));
    cJSON_ArrayForEach(item, term) WEFT_TRY(write_letter(r, item, at++, what, text));
    return NULL;
}

static weft_status *write_text(const reader *r, FILE *text)
{
    const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(r->root, "inputs"), *term;
    size_t at = 0;
    cJSON_ArrayForEach(term, inputs)
    {
        char what[96];
        snprintf(what, sizeof what, "\"inputs\" of operand %zu", at);
        if (at++ > 0) fputc(',', text);
        WEFT_TRY(write_term(r, term, what, text));
    }
    fputs("->", text);
    return write_term(r, cJSON_GetObjectItemCaseSensitive(r->root, "output"), "\"output\"", text);
}

/* Whether each letter of the output is one of an operand. */
static weft_status *check_letters(const reader *r)
{
    const char *arrow = strstr(r->out->text, "->");
    char letter[8] = "";
    int64_t point;
    for (const char *at = arrow + 2; *at != '\0'; at += strlen(letter)) {
        snprintf(letter, sizeof letter, "%.*s", (int)weft_label_decode(at, &point), at);
        if (strstr(r->out->text, letter) > arrow)
            return weft_json_refuse(r->path,
                                    "label '%s' of \"output\" is in none of the operands, of which there are %d",
                                    letter, cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(r->root, "inputs")));
    }
    return NULL;
}

static weft_status *read_letters(const reader *r)
{
    size_t size;
    FILE *text = open_memstream(&r->out->text, &size);
    if (text == NULL) return weft_status_out_of_memory();
    weft_status *status = write_text(r, text);
    bool failed = ferror(text) != 0;
    failed = fclose(text) != 0 || failed;
    if (status == NULL && failed) return weft_status_out_of_memory();
    if (status == NULL) status = check_letters(r);
    return status == NULL ? measure_text(r) : status;
}

/* Whether the first label of "inputs" is a letter. */
static bool are_letters(const cJSON *root)
{
    const cJSON *term;
    cJSON_ArrayForEach(term, cJSON_GetObjectItemCaseSensitive(root, "inputs"))
    {
        if (cJSON_IsString(term)) return true;
        if (cJSON_GetArraySize(term) > 0) return cJSON_IsString(term->child);
    }
    return false;
}

static weft_status *read_labels(const reader *r)
{
    const cJSON *list;
    WEFT_TRY(find_list(r, "inputs", &list));
    return are_letters(r->root) ? read_letters(r) : read_numbers(r);
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
    char room[WEFT_JSON_ROOM];
    r->out->dtype = WEFT_F32;
    if (item == NULL) return NULL;
    if (!cJSON_IsString(item))
        return weft_json_refuse(r->path, "\"dtype\" is %s; it must be a text", weft_json_describe(item, room));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(item->valuestring, names[i].numpy) != 0) continue;
        r->out->dtype = names[i].dtype;
        return NULL;
    }
    if (weft_dtype_find(item->valuestring, &r->out->dtype)) return NULL;
    return weft_json_refuse(r->path, "\"dtype\" is \"%s\", which is not a dtype", item->valuestring);
}

static weft_status *read_order(const reader *r)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->root, "order");
    char room[WEFT_JSON_ROOM];
    if (item == NULL) return NULL;
    if (!cJSON_IsArray(item) && !cJSON_IsNumber(item))
        return weft_json_refuse(r->path, "\"order\" is %s; it must be a list", weft_json_describe(item, room));
    r->out->order = cJSON_PrintUnformatted(item);
    return r->out->order == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *read_root(const reader *r)
{
    static const char *const known[] = {"inputs",        "output", "sizes", "size_dict",
                                        "format_string", "shapes", "order", "dtype"};
    WEFT_TRY(weft_json_check_members(r->path, r->root, sizeof known / sizeof *known, known));
    bool labels = cJSON_HasObjectItem(r->root, "inputs"), format = cJSON_HasObjectItem(r->root, "format_string");
    if (labels && format)
        return weft_json_refuse(r->path, "\"inputs\" and \"format_string\" are two ways to say it; there must be one");
    if (!labels && !format)
        return weft_json_refuse(
            r->path, "neither \"inputs\" (with \"output\" and \"sizes\") nor \"format_string\" (with \"shapes\" "
                     "or \"sizes\") is there");
    WEFT_TRY(read_dtype(r));
    WEFT_TRY(read_order(r));
    return labels ? read_labels(r) : read_format(r);
}

weft_status *weft_instance_load(const char *path, weft_instance *out_instance)
{
    cJSON *root;
    *out_instance = (weft_instance){0};
    WEFT_TRY(weft_json_load(path, &root));
    weft_status *status = read_root(&(reader){path, root, out_instance});
    cJSON_Delete(root);
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

/* ---- labels ---- */

/* What an operand has beside `named` labels is under the ellipsis. */
static size_t count_axes(const weft_instance *x, size_t operand, size_t named)
{
    size_t rank = operand < x->count ? x->shapes[operand].count : 0;
    return rank > named ? rank - named : 0;
}

static size_t add_text(const weft_instance *x, int64_t *all)
{
    size_t count = 0, operand = 0, first = 0, most = 0, axes;
    weft_label_cursor cursor = weft_label_begin(x->text);
    for (bool more = true; more;) {
        more = weft_label_next(&cursor);
        for (; operand < (more ? cursor.operand : x->count); operand++, first = count)
            if ((axes = count_axes(x, operand, count - first)) > most) most = axes;
        if (more && cursor.numbered) all[count++] = strtoll(cursor.label, NULL, 10);
        else if (more) weft_label_decode(cursor.label, &all[count++]);
    }
    for (size_t i = 0; i < most; i++) all[count++] = -1 - (int64_t)i;
    return count;
}

static size_t add_lists(const weft_instance *x, int64_t *all)
{
    size_t count = 0;
    for (size_t i = 0; i < x->count; i++)
        for (size_t k = 0; k < x->labels[i].count; k++) all[count++] = x->labels[i].items[k];
    return count;
}

weft_status *weft_instance_list_labels(const weft_instance *instance, weft_ints *out_labels)
{
    size_t room = 1 + (instance->labels == NULL ? strlen(instance->text) : 0), distinct = 0;
    for (size_t i = 0; i < instance->count; i++) room += instance->shapes[i].count;
    int64_t *all = calloc(room, sizeof *all);
    *out_labels = (weft_ints){0, all};
    if (all == NULL) return weft_status_out_of_memory();
    size_t count = instance->labels == NULL ? add_text(instance, all) : add_lists(instance, all);
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 0; i < count; i++)
        if (distinct == 0 || all[distinct - 1] != all[i]) all[distinct++] = all[i];
    out_labels->count = distinct;
    return NULL;
}
