/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_MODULE_H
#define WEFT_TOOLS_MODULE_H
/* Graphs and saved programs from files. */
#include <weft/program.h>
#include "options.h"
#include "plugins.h"

#define WEFT_PRODUCTS_OPTION                                                                                           \
    {                                                                                                                  \
        "--products", WEFT_OPTION_CHOICE, "generated|library|fast",                                                    \
            "by loops where they are faster, the library alone, or instructions for bf16 (generated)"                  \
    }

#define WEFT_FUNCTIONS_OPTION                                                                                          \
    {                                                                                                                  \
        "--functions", WEFT_OPTION_CHOICE, "accurate|fast",                                                            \
            "exp, exp2, sigmoid, tanh of f32: within 1 unit of the last place, or 4 (accurate)"                        \
    }

/* Refuses, as a misuse, arrays in place of a graph or a saved program. */
weft_status *weft_source_check_name(const char *path) WEFT_MUST_USE;

/* That of --products and --functions. */
weft_policy weft_policy_of(const weft_arguments *arguments);

/* What is in the file that a command is about: one of them. */
typedef struct weft_source {
    weft_module *module;
    weft_program *program;
} weft_source;

/* Loads what the first operand names, with the code that is in a saved program if --saved-code asks for it. With a
 * saved program an option of how it is compiled is a misuse, and --saved-code is one with a graph. */
weft_status *weft_source_load(const weft_arguments *arguments, const weft_plugins *plugins,
                              weft_source *out_source) WEFT_MUST_USE;
void weft_source_finish(weft_source *source);
/* Of the graph; a saved program has none that were traced. */
weft_tensors weft_source_outputs(const weft_source *source);
/* Loads it, with the extensions of --plugin, and calls `visit`. */
weft_status *weft_source_visit(const weft_arguments *arguments,
                               weft_status *(*visit)(const weft_arguments *arguments,
                                                     const weft_source *source)) WEFT_MUST_USE;
/* Refuses, as a misuse, what is no file for a program, and a file that cannot be written. */
weft_status *weft_source_check_saving(const char *path) WEFT_MUST_USE;
/* Compiles the graph, or retains the program. */
weft_status *weft_source_compile(const weft_source *source, const weft_policy *policy,
                                 weft_program **out_program) WEFT_MUST_USE;
#endif
