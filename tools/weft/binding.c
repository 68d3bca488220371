/* SPDX-License-Identifier: Apache-2.0 */
#include "binding.h"
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

weft_status *weft_binding_parse(const char *text, weft_binding *out_binding)
{
    int64_t value;
    const char *equals = strrchr(text, '='), *at = equals == NULL ? NULL : equals + 1;
    if (at == NULL || equals == text || !weft_option_read_integer(&at, true, &value) || *at != 0)
        return weft_misuse("--set takes SYMBOL=INTEGER such as n=5, not '%s'", text);
    char *name = strndup(text, (size_t)(equals - text));
    *out_binding = (weft_binding){name, value};
    return name == NULL ? weft_status_out_of_memory() : NULL;
}
