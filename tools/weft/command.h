/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_COMMAND_H
#define WEFT_TOOLS_COMMAND_H
/* The subcommands of `weft`, each one row. */
#include "options.h"

typedef struct weft_command {
    const char *name;
    const char *operands; /* for help, each after a space */
    const char *summary;  /* one line */
    const char *detail;   /* what help says below the options; may be "" */
    size_t least, most;   /* operands */
    weft_option_table options;
    weft_status *(*run)(const weft_arguments *arguments);
} weft_command;

extern const weft_command weft_command_einsum, weft_command_run, weft_command_compile, weft_command_opt,
    weft_command_view, weft_command_check_gradients, weft_command_info;

#define WEFT_OPTIONS(table)                                                                                            \
    {                                                                                                                  \
        sizeof(table) / sizeof *(table), table                                                                         \
    }
#endif
