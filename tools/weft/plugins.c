/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins.h"
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>

static weft_status *add_plugin(weft_plugins *plugins, const char *path)
{
    weft_plugin *plugin;
    WEFT_TRY(weft_plugin_load(NULL, path, &plugin));
    const weft_extension *extension = weft_plugin_extension(plugin);
    plugins->plugins[plugins->plugin_count++] = plugin;
    for (size_t i = 0; i < plugins->count; i++)
        if (plugins->extensions[i] != extension && strcmp(plugins->extensions[i]->family, extension->family) == 0)
            return weft_misuse("--plugin %s has ops of family %s, which others have already", path, extension->family);
    plugins->extensions[plugins->count++] = extension;
    return NULL;
}

weft_status *weft_plugins_init(weft_plugins *plugins, const weft_arguments *arguments)
{
    size_t most = arguments->value_count + 1;
    *plugins = (weft_plugins){.plugins = calloc(most, sizeof(weft_plugin *)),
                              .extensions = calloc(most, sizeof(weft_extension *))};
    if (plugins->plugins == NULL || plugins->extensions == NULL) return weft_status_out_of_memory();
    plugins->extensions[plugins->count++] = weft_einsum_extension();
    for (size_t i = 0; i < arguments->value_count; i++) {
        const weft_option_value *value = &arguments->values[i];
        if (strcmp(value->option->name, "--plugin") == 0) WEFT_TRY(add_plugin(plugins, value->text));
    }
    return NULL;
}

void weft_plugins_finish(weft_plugins *plugins)
{
    for (size_t i = 0; i < plugins->plugin_count; i++) weft_plugin_destroy(plugins->plugins[i]);
    free(plugins->plugins);
    free(plugins->extensions);
    *plugins = (weft_plugins){.count = 0};
}

weft_status *weft_plugins_register(const weft_plugins *plugins, weft_executor *executor)
{
    for (size_t i = 0; i < plugins->count; i++)
        WEFT_TRY(weft_executor_register_extension(executor, plugins->extensions[i]));
    return NULL;
}
