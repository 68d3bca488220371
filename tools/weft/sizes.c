/* SPDX-License-Identifier: Apache-2.0 */
#include "sizes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "label.h"

static const char *const names[] = {"sizes", "size_dict"};

bool weft_sizes_exist(const cJSON *root)
{
    return cJSON_HasObjectItem(root, names[0]) || cJSON_HasObjectItem(root, names[1]);
}

static weft_status *find_item(weft_sizes *sizes, const cJSON *root, const cJSON **out_item)
{
    char room[WEFT_JSON_ROOM];
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(root, names[0]);
    const cJSON *second = cJSON_GetObjectItemCaseSensitive(root, names[1]);
    if (first != NULL && second != NULL)
        return weft_json_refuse(sizes->path, "\"sizes\" and \"size_dict\" are two names of one thing; there must be "
                                             "one");
    *out_item = first != NULL ? first : second;
    sizes->key = names[first == NULL && second != NULL];
    if (cJSON_IsArray(*out_item) || cJSON_IsObject(*out_item)) return NULL;
    return weft_json_refuse(sizes->path,
                            "\"%s\" is %s; it must be a list of extents, or an object with one for each "
                            "label",
                            sizes->key, weft_json_describe(*out_item, room));
}

/* ---- an object ---- */

static weft_status *check_label(const weft_sizes *sizes, const char *label, bool numbered)
{
    if (weft_label_check(label, numbered)) return NULL;
    return weft_json_refuse(sizes->path, "key \"%.40s\" of \"%s\" is no label: they are %s here", label, sizes->key,
                            numbered ? "integers from 0" : "single characters");
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const weft_size *)a)->label, ((const weft_size *)b)->label);
}

static weft_status *sort(const weft_sizes *sizes)
{
    qsort(sizes->items, sizes->count, sizeof *sizes->items, compare);
    for (size_t i = 1; i < sizes->count; i++)
        if (compare(&sizes->items[i - 1], &sizes->items[i]) == 0)
            return weft_json_refuse(sizes->path, "key \"%s\" is twice in \"%s\"", sizes->items[i].label, sizes->key);
    return NULL;
}

/* ---- both ---- */

weft_status *weft_sizes_load(const char *path, const cJSON *root, bool numbered, weft_sizes *out_sizes)
{
    const cJSON *sizes = NULL, *item;
    size_t at = 0;
    char what[96];
    *out_sizes = (weft_sizes){.path = path};
    WEFT_TRY(find_item(out_sizes, root, &sizes));
    out_sizes->listed = cJSON_IsArray(sizes);
    if (out_sizes->listed && !numbered)
        return weft_json_refuse(path,
                                "\"%s\" is a list, which requires integer labels; there must be an object such "
                                "as {\"i\": 4}",
                                out_sizes->key);
    out_sizes->count = (size_t)cJSON_GetArraySize(sizes);
    out_sizes->items = calloc(out_sizes->count + 1, sizeof *out_sizes->items);
    if (out_sizes->items == NULL) return weft_status_out_of_memory();
    cJSON_ArrayForEach(item, sizes)
    {
        out_sizes->items[at].label = item->string;
        if (!out_sizes->listed) WEFT_TRY(check_label(out_sizes, item->string, numbered));
        if (out_sizes->listed) snprintf(what, sizeof what, "entry %zu of \"%s\"", at, out_sizes->key);
        else snprintf(what, sizeof what, "\"%.40s\" of \"%s\"", item->string, out_sizes->key);
        WEFT_TRY(weft_json_read_integer(path, item, what, &out_sizes->items[at++].extent));
    }
    return out_sizes->listed ? NULL : sort(out_sizes);
}

void weft_sizes_finish(weft_sizes *sizes)
{
    free(sizes->items);
    *sizes = (weft_sizes){.path = NULL};
}

static const weft_size *find(const weft_sizes *sizes, const char *label)
{
    if (!sizes->listed)
        return bsearch(&(weft_size){.label = label}, sizes->items, sizes->count, sizeof *sizes->items, compare);
    unsigned long long at = strtoull(label, NULL, 10);
    return at < sizes->count ? &sizes->items[at] : NULL;
}

weft_status *weft_sizes_find(const weft_sizes *sizes, const char *label, size_t operand, int64_t *out_extent)
{
    const weft_size *found = find(sizes, label);
    if (found != NULL) *out_extent = found->extent;
    if (found != NULL) return NULL;
    if (!sizes->listed)
        return weft_json_refuse(sizes->path, "label %s of operand %zu has no size; \"%s\" has no key \"%s\"", label,
                                operand, sizes->key, label);
    return weft_json_refuse(sizes->path, "label %s of operand %zu has no size; \"%s\" has %zu entr%s, from 0", label,
                            operand, sizes->key, sizes->count, sizes->count == 1 ? "y" : "ies");
}
