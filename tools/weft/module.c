/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include <stdlib.h>
#include "file.h"

weft_status *weft_module_load(const char *path, const weft_plugins *plugins, weft_module **out_module)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status = weft_graph_parse(path, text, length, NULL, plugins->count, plugins->extensions, out_module);
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
