/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that a graph knows: built-in ones, and those of the extensions registered with it. */
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

const char *weft_graph_missing_op(const weft_graph *graph, const char *name)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL) return "there is no op '%.80s'";
    bool known = extension_find(weft_graph_root(graph), name, (size_t)(dot - name)) != NULL;
    return known ? "its extension has no op '%.80s'" : "no registered extension has the op '%.80s'";
}
