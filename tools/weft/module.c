/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include <stdlib.h>
#include <string.h>
#include "file.h"

weft_policy weft_policy_of(const weft_arguments *arguments)
{
    const char *products = weft_arguments_text(arguments, "--products", "generated");
    const char *functions = weft_arguments_text(arguments, "--functions", "accurate");
    return (weft_policy){.size = sizeof(weft_policy),
                         .products = strcmp(products, "library") == 0 ? WEFT_PRODUCTS_LIBRARY : WEFT_PRODUCTS_GENERATED,
                         .functions = strcmp(functions, "fast") == 0 ? WEFT_FUNCTIONS_FAST : WEFT_FUNCTIONS_ACCURATE};
}

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

static weft_status *visit_module(const weft_arguments *arguments, const weft_plugins *plugins,
                                 weft_status *(*visit)(const weft_arguments *arguments, const weft_module *module))
{
    weft_module *module;
    WEFT_TRY(weft_module_load(arguments->operands[0], plugins, &module));
    weft_status *status = visit(arguments, module);
    weft_module_destroy(module);
    return status;
}

weft_status *weft_module_visit(const weft_arguments *arguments,
                               weft_status *(*visit)(const weft_arguments *arguments, const weft_module *module))
{
    weft_plugins plugins;
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL) status = visit_module(arguments, &plugins, visit);
    weft_plugins_finish(&plugins);
    return status;
}

weft_status *weft_module_compile(const weft_module *module, const weft_policy *policy, weft_program **out_program)
{
    return weft_compile_named(module->graph, module->outputs, module->output_names, policy, out_program);
}
