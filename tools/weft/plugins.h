/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PLUGINS_H
#define WEFT_TOOLS_PLUGINS_H
/* The extensions that a command knows: einsum's, and those of the plugins it is given. */
#include <weft/executor.h>
#include "options.h"

/* A row of an option table. */
#define WEFT_PLUGIN_OPTION                                                                                             \
    {                                                                                                                  \
        "--plugin", WEFT_OPTION_FILES, "FILE.so", "load the ops of this plugin; may be repeated"                       \
    }

typedef struct weft_plugins {
    size_t plugin_count, count;
    weft_plugin **plugins;
    const weft_extension **extensions; /* `count` */
} weft_plugins;

/* Loads what --plugin names. To be finished also on failure, after all that uses the extensions. */
weft_status *weft_plugins_init(weft_plugins *plugins, const weft_arguments *arguments) WEFT_MUST_USE;
void weft_plugins_finish(weft_plugins *plugins);
weft_status *weft_plugins_register(const weft_plugins *plugins, weft_executor *executor) WEFT_MUST_USE;
#endif
