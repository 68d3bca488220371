/* SPDX-License-Identifier: Apache-2.0 */
#include "binding.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

weft_status *weft_binding_name_source(weft_status *status, const char *source)
{
    static const char given[] = "given in extents";
    const char *message = weft_status_message(status), *found = status == NULL ? NULL : strstr(message, given);
    if (found == NULL) return status;
    weft_status *named = weft_status_create(NULL, weft_status_code(status), weft_status_where(status), "%.*s%s%s",
                                            (int)(found - message), message, source, found + strlen(given));
    weft_status_destroy(status);
    return weft_binding_name_source(named, source);
}

/* `length` bytes are as the name of a symbol may be. */
static bool is_name(const char *text, size_t length)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return strspn(text, all) >= length && (text[0] < '0' || text[0] > '9');
}

weft_status *weft_binding_parse(const char *text, weft_binding *out_binding)
{
    int64_t value;
    const char *equals = strchr(text, '='), *at = equals == NULL ? NULL : equals + 1;
    if (at == NULL || equals == text || !is_name(text, (size_t)(equals - text)) ||
        !weft_option_read_integer(&at, true, &value) || *at != 0)
        return weft_misuse("--set takes SYMBOL=INTEGER such as n=5, not '%s'", text);
    char *name = strndup(text, (size_t)(equals - text));
    *out_binding = (weft_binding){name, value};
    return name == NULL ? weft_status_out_of_memory() : NULL;
}

bool weft_binding_is_needed(const weft_program *program, const char *name)
{
    for (size_t i = 0; i < weft_program_symbol_count(program); i++)
        if (strcmp(weft_program_symbol_at(program, i)->name, name) == 0) return true;
    return false;
}

/* Names the symbols that the outputs need. */
static weft_status *refuse(const weft_program *program, const char *name)
{
    char names[512] = "";
    size_t used = 0, count = weft_program_symbol_count(program);
    for (size_t i = 0; i < count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "; its outputs need: " : ", ",
                                 weft_program_symbol_at(program, i)->name);
    return weft_misuse("--set names '%s', but the graph has no such symbol%s", name, names);
}

weft_status *weft_binding_check_unneeded(const weft_program *program, weft_graph *graph, const weft_binding *extent)
{
    int64_t least, most;
    weft_extent symbol;
    if (graph == NULL) return NULL;
    weft_status *status = weft_extent_parse(graph, extent->name, &symbol);
    bool unknown = status != NULL;
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    if (unknown) return refuse(program, extent->name);
    weft_extent_range(symbol, &least, &most);
    if (extent->value >= least && extent->value <= most) return NULL;
    return weft_status_create(NULL, WEFT_OUT_OF_RANGE, NULL,
                              "symbol %s = %" PRId64 " is outside [%" PRId64 ", %" PRId64 "] (given by --set)",
                              extent->name, extent->value, least, most);
}
