/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_MODULE_H
#define WEFT_TOOLS_MODULE_H
/* Graphs from files. */
#include <weft/program.h>
#include "plugins.h"

weft_status *weft_module_load(const char *path, const weft_plugins *plugins, weft_module **out_module) WEFT_MUST_USE;
/* `passes` as in weft_policy. */
weft_status *weft_module_compile(const weft_module *module, const char *passes,
                                 weft_program **out_program) WEFT_MUST_USE;
#endif
