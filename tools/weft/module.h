/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_MODULE_H
#define WEFT_TOOLS_MODULE_H
/* Graphs from files. */
#include <weft/program.h>
#include "options.h"
#include "plugins.h"

#define WEFT_PRODUCTS_OPTION                                                                                           \
    {                                                                                                                  \
        "--products", WEFT_OPTION_CHOICE, "generated|library",                                                         \
            "what computes products: loops where they are faster, or the library alone (generated)"                    \
    }

#define WEFT_FUNCTIONS_OPTION                                                                                          \
    {                                                                                                                  \
        "--functions", WEFT_OPTION_CHOICE, "accurate|fast",                                                            \
            "exp, exp2, sigmoid, tanh of f32: within 1 unit of the last place, or 4 (accurate)"                        \
    }

/* That of --products and --functions. */
weft_policy weft_policy_of(const weft_arguments *arguments);

weft_status *weft_module_load(const char *path, const weft_plugins *plugins, weft_module **out_module) WEFT_MUST_USE;
/* Calls `visit` with the graph in the file that the first operand names; the extensions of --plugin are there for it.
 */
weft_status *weft_module_visit(const weft_arguments *arguments,
                               weft_status *(*visit)(const weft_arguments *arguments,
                                                     const weft_module *module)) WEFT_MUST_USE;
weft_status *weft_module_compile(const weft_module *module, const weft_policy *policy,
                                 weft_program **out_program) WEFT_MUST_USE;
#endif
