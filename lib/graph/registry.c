/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that a graph knows: built-in ones, and those of the extensions registered with it. */
#include <stdio.h>
#include <string.h>
#include "lib/graph/graph.h"
#include "runtime/program/extension.h"
#include "runtime/base/status.h"

static const weft_extension *extension_find(const weft_graph *root, const char *family, size_t length)
{
    for (size_t i = 0; i < root->extension_count; i++) {
        const weft_extension *extension = root->extensions[i];
        if (strncmp(extension->family, family, length) == 0 && extension->family[length] == '\0') return extension;
    }
    return NULL;
}

weft_status *weft_graph_register(weft_graph *graph, const weft_extension *extension)
{
    WEFT_REQUIRE(graph);
    return weft_graph_register_for("weft_graph_register", graph, extension);
}

weft_status *weft_graph_register_for(const char *where, weft_graph *graph, const weft_extension *extension)
{
    WEFT_TRY(weft_extension_check_for(where, extension));
    weft_graph *root = weft_graph_root(graph);
    const weft_extension *known = extension_find(root, extension->family, strlen(extension->family));
    if (known == extension) return NULL;
    if (known != NULL) {
        return weft_status_create(root->allocator, WEFT_INVALID_ARGUMENT, where,
                                  "family %s is registered already, with another table", extension->family);
    }
    if (!weft_reserve(root->allocator, &root->extensions, &root->extension_capacity, root->extension_count + 1,
                      sizeof *root->extensions)) {
        return weft_status_out_of_memory();
    }
    root->extensions[root->extension_count++] = extension;
    return NULL;
}

static const weft_op_def *builtin_find(const char *name)
{
    const weft_op_def *table = weft_op_table();
    for (size_t i = 0; i < WEFT_OP_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) return &table[i];
    }
    return NULL;
}

const weft_op_def *weft_graph_find_op(const weft_graph *graph, const char *name)
{
    if (graph == NULL || name == NULL) return NULL;
    const char *dot = strchr(name, '.');
    if (dot == NULL) return builtin_find(name);
    const weft_extension *extension = extension_find(weft_graph_root(graph), name, (size_t)(dot - name));
    for (size_t i = 0; extension != NULL && i < extension->op_count; i++) {
        if (strcmp(extension->ops[i]->name, name) == 0) return extension->ops[i];
    }
    return NULL;
}

/* As sum is of reduce_sum. */
static bool is_last_word(const char *known, const char *name, size_t length)
{
    size_t size = strlen(known);
    return size > length && known[size - length - 1] == '_' && strcmp(known + size - length, name) == 0;
}

/* The op whose name ends in `name`, or is nearest to it, of the built-in ones without an extension; NULL: each is
 * another word. */
static const char *nearest_op(const weft_extension *extension, const char *name)
{
    const char *nearest = NULL;
    size_t length = strlen(name), least = length < 6 ? 2 : 3; /* with this many changes it is another word */
    size_t count = extension == NULL ? WEFT_OP_COUNT : extension->op_count;
    for (size_t i = 0; i < count && length > 2; i++) {
        const char *known = extension == NULL ? weft_op_table()[i].name : extension->ops[i]->name;
        if (is_last_word(known, name, length)) return known;
        if (weft_text_is_nearer(known, name, length, &least)) nearest = known;
    }
    return nearest;
}

void weft_graph_missing_op(const weft_graph *graph, const char *name, char out_sentence[WEFT_MISSING_OP_ROOM])
{
    const char *dot = strchr(name, '.');
    const weft_extension *extension =
        dot == NULL ? NULL : extension_find(weft_graph_root(graph), name, (size_t)(dot - name));
    const char *nearest = dot == NULL || extension != NULL ? nearest_op(extension, name) : NULL;
    const char *start = dot == NULL         ? "there is no op"
                        : extension != NULL ? "its extension has no op"
                                            : "no registered extension has the op";
    (void)snprintf(out_sentence, WEFT_MISSING_OP_ROOM, "%s '%.80s'%s%.80s%s", start, name,
                   nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "'?");
}
