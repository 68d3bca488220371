/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/imports.h"
#include <string.h>
#include "runtime/base/status.h"
#include "runtime/program/extension.h"

void weft_imports_finish(weft_imports *imports)
{
    weft_free(imports->allocator, imports->items, imports->capacity * sizeof *imports->items);
}

/* ---- what cannot be ---- */

static bool has_region(const weft_op_def *op)
{
    size_t i = 0;
    while (i < op->attr_count && op->attrs[i].kind != WEFT_ATTR_REGION) i++;
    return i < op->attr_count;
}

static weft_status *check_offer(const weft_imports *imports, const weft_op_def *op)
{
    if (!weft_op_knows_objects(op) || op->kernel_symbol == NULL)
        return weft_status_create(imports->allocator, WEFT_UNSUPPORTED, NULL,
                                  "op %s has a kernel of an extension, and no lowering here: for an object to contain "
                                  "it, the extension has to say its kernel_symbol, and may offer bitcode",
                                  op->name);
    if (!has_region(op)) return NULL;
    return weft_status_create(imports->allocator, WEFT_UNSUPPORTED, NULL,
                              "op %s has a kernel with a region, which an object cannot contain", op->name);
}

/* Whether the object has a function or data of that name: of its own, as lib/object/compile.c names them. */
static bool is_taken(const weft_imports *imports, const char *symbol)
{
    static const char *const ends[] = {"_prepare", "_run", "_manifest", "_object", "_text"};
    size_t length = strlen(imports->name), i = 0;
    if (symbol == NULL || strncmp(symbol, imports->name, length) != 0) return false;
    while (i < sizeof ends / sizeof *ends && strcmp(symbol + length, ends[i]) != 0) i++;
    return i < sizeof ends / sizeof *ends || strncmp(symbol + length, "_kernel_", strlen("_kernel_")) == 0;
}

static weft_status *check_names(const weft_imports *imports, const weft_op_def *op)
{
    if (is_taken(imports, op->kernel_symbol) || is_taken(imports, op->scratch_symbol))
        return weft_status_create(
            imports->allocator, WEFT_INVALID_ARGUMENT, NULL,
            "the kernel of op %s has the name %s, as a part of object \"%s\" has: the object "
            "needs another one",
            op->name, is_taken(imports, op->kernel_symbol) ? op->kernel_symbol : op->scratch_symbol, imports->name);
    for (size_t i = 0; i < imports->count; i++) {
        const weft_op_def *other = imports->items[i].op;
        if (strcmp(other->kernel_symbol, op->kernel_symbol) == 0 && other->bitcode != op->bitcode)
            return weft_status_create(imports->allocator, WEFT_INVALID_ARGUMENT, NULL,
                                      "ops %s and %s have kernels of the name %s, and not of the same bitcode",
                                      other->name, op->name, op->kernel_symbol);
    }
    return NULL;
}

/* ---- the list ---- */

static weft_status *add(weft_imports *imports, const weft_resolved *resolved)
{
    WEFT_TRY(check_offer(imports, resolved->op));
    WEFT_TRY(check_names(imports, resolved->op));
    if (!weft_reserve(imports->allocator, &imports->items, &imports->capacity, imports->count + 1,
                      sizeof *imports->items))
        return weft_status_out_of_memory();
    imports->items[imports->count++] = (weft_object_import){resolved->op, resolved->extension};
    return NULL;
}

weft_status *weft_imports_add(weft_imports *imports, const weft_step *step, const weft_resolved *resolved)
{
    for (size_t i = 0; i < imports->count; i++)
        if (imports->items[i].op == resolved->op) return NULL;
    return weft_status_of_op(add(imports, resolved), resolved->op->name, step->file, step->line);
}

/* ---- text ---- */

static bool is_first_of_extension(const weft_imports *imports, size_t number)
{
    size_t i = 0;
    while (imports->items[i].extension != imports->items[number].extension) i++;
    return i == number;
}

void weft_imports_describe(const weft_imports *imports, weft_bytes *text)
{
    for (size_t i = 0; i < imports->count; i++) {
        const weft_op_def *op = imports->items[i].op;
        const weft_extension *extension = imports->items[i].extension;
        const char *between = op->scratch_symbol != NULL ? ", " : "";
        if (is_first_of_extension(imports, i))
            weft_bytes_print(text, "%-10s%s %s\n", "extension", extension->family, extension->version);
        weft_bytes_print(text, "%-10s%s%s%s, of op %s\n", op->bitcode != NULL ? "contains" : "import",
                         op->kernel_symbol, between, op->scratch_symbol != NULL ? op->scratch_symbol : "", op->name);
    }
}
