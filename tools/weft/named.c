/* SPDX-License-Identifier: Apache-2.0 */
#include "named.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../npz.h"
#include "file.h"

weft_status *weft_named_init(weft_named_files *list, const char *what, size_t most)
{
    *list = (weft_named_files){
        .what = what, .names = calloc(most + 1, sizeof *list->names), .files = calloc(most + 1, sizeof *list->files)};
    return list->names == NULL || list->files == NULL ? weft_status_out_of_memory() : NULL;
}

void weft_named_finish(weft_named_files *list)
{
    free(list->names);
    free(list->files);
}

void weft_named_fill_inputs(weft_named_files *list, const weft_program *program, weft_tensors declared)
{
    list->count = weft_program_input_count(program);
    for (; list->known < list->count; list->known++)
        list->names[list->known] = weft_program_input_name(program, list->known);
    for (size_t i = 0; i < declared.count; i++) {
        const char *name = weft_tensor_name(declared.items[i]);
        if (weft_program_find_input(program, name) == SIZE_MAX) list->names[list->known++] = name;
    }
}

void weft_named_print(const weft_named_files *list, char *out_text, size_t size)
{
    size_t used = 0;
    snprintf(out_text, size, "none");
    for (size_t i = 0; i < list->known && used < size; i++) {
        int length = snprintf(out_text + used, size - used, "%s%s", i == 0 ? "" : ", ", list->names[i]);
        used += (size_t)length;
    }
}

/* The name that `text` begins with, before "=". Names and files may contain "=" too: the longest name that fits. */
static size_t find_name(const weft_named_files *list, const char *text, size_t *out_length)
{
    size_t found = list->known;
    *out_length = 0;
    for (size_t i = 0; i < list->known; i++) {
        const char *known = list->names[i];
        size_t length = strlen(known);
        if (strncmp(known, text, length) != 0 || text[length] != '=' || length < *out_length) continue;
        *out_length = length;
        found = i;
    }
    return found;
}

static weft_status *refuse_name(const weft_named_files *list, const char *text)
{
    char names[512];
    const char *equals = strchr(text, '=');
    weft_named_print(list, names, sizeof names);
    if (equals != NULL)
        return weft_misuse("the graph has no %s '%.*s'; its %ss: %s", list->what, (int)(equals - text), text,
                           list->what, names);
    return weft_misuse("it is unclear which %s '%s' is; write NAME=%s; the graph's %ss: %s", list->what, text, text,
                       list->what, names);
}

weft_status *weft_named_add(weft_named_files *list, const char *text)
{
    size_t length, found = find_name(list, text, &length);
    bool single = list->count == 1 || list->known == 1;
    bool nameless = found == list->known && single && strchr(text, '=') == NULL;
    const char *file = nameless ? text : text + length + 1;
    if (nameless) found = 0;
    if (found == list->known) return refuse_name(list, text);
    const char *name = list->names[found];
    if (file[0] == 0 && !nameless) return weft_misuse("%s '%s' has no file after '='", list->what, name);
    if (list->files[found] != NULL) return weft_misuse("%s '%s' is given twice", list->what, name);
    list->files[found] = file;
    return NULL;
}

bool weft_named_is_archive(const char *text)
{
    return strchr(text, '=') == NULL && weft_file_ends_with(text, ".npz");
}

/* Loads from an archive the needed inputs that no other file is named for. */
static weft_status *load_members(const weft_npz *npz, const weft_named_files *list, const char *path,
                                 weft_array **arrays)
{
    size_t member, taken = 0;
    char names[512];
    for (size_t i = 0; i < list->known; i++) {
        const char *name = list->names[i];
        if (!weft_npz_find(npz, name, &member)) continue;
        taken++;
        if (list->files[i] != NULL || i >= list->count) continue;
        if (arrays[i] != NULL) return weft_misuse("input '%s' is given by two archives", name);
        WEFT_TRY(weft_npz_load(npz, member, &arrays[i]));
    }
    if (taken > 0) return NULL;
    weft_npz_list(npz, names, sizeof names);
    return weft_misuse("%s has none of the graph's inputs; its arrays: %s", path, names);
}

weft_status *weft_named_load_archive(const weft_named_files *list, const char *path, weft_array **arrays)
{
    weft_npz *npz;
    WEFT_TRY(weft_npz_open(NULL, path, &npz));
    weft_status *status = load_members(npz, list, path, arrays);
    weft_npz_close(npz);
    return status;
}
