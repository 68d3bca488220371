/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include <stdlib.h>
#include "file.h"

weft_status *weft_module_load(const char *path, const weft_plugins *plugins, weft_module **out_module)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status =
        weft_graph_parse(weft_file_name(path), text, length, NULL, plugins->count, plugins->extensions, out_module);
    free(text);
    return status;
}

weft_status *weft_module_compile(const weft_module *module, const char *passes, weft_program **out_program)
{
    weft_policy policy = {.size = sizeof policy, .passes = passes};
    return weft_compile_named(module->graph, module->outputs, module->output_names, &policy, out_program);
}
