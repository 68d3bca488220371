/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static weft_status *read_error(const char *path)
{
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be read: %s", path, strerror(errno));
}

/* Appends what `file` holds to a text that is freed by the caller also on failure. */
static weft_status *read_text(const char *path, FILE *file, char **text, size_t *length)
{
    size_t capacity = 0;
    do {
        if (*length + 1 >= capacity) {
            capacity = capacity == 0 ? 4096 : 2 * capacity;
            char *grown = realloc(*text, capacity);
            if (grown == NULL) return weft_status_out_of_memory();
            *text = grown;
        }
        *length += fread(*text + *length, 1, capacity - *length - 1, file);
        if (ferror(file)) return read_error(path);
    } while (!feof(file));
    (*text)[*length] = 0;
    return NULL;
}

weft_status *weft_module_load(const char *path, const weft_plugins *plugins, weft_module **out_module)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return read_error(path);
    weft_status *status = read_text(path, file, &text, &length);
    fclose(file);
    if (status == NULL)
        status = weft_graph_parse(path, text, length, NULL, plugins->count, plugins->extensions, out_module);
    free(text);
    return status;
}

weft_status *weft_program_load(const char *path, const weft_plugins *plugins, const char *passes,
                               weft_program **out_program)
{
    weft_policy policy = {.size = sizeof policy, .passes = passes};
    weft_module *module;
    WEFT_TRY(weft_module_load(path, plugins, &module));
    weft_status *status =
        weft_compile_named(module->graph, module->outputs, module->output_names, &policy, out_program);
    weft_module_destroy(module);
    return status;
}
