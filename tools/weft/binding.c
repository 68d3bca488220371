/* SPDX-License-Identifier: Apache-2.0 */
#include "binding.h"
#include <stdlib.h>
#include <string.h>

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
