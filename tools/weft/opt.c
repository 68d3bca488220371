/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <weft/inspect.h>
#include "command.h"
#include "module.h"

static const char *const formats[] = {
    [WEFT_EMIT_LOOPS] = "loops", [WEFT_EMIT_SCHEDULED] = "scheduled",
    [WEFT_EMIT_LLVM] = "llvm",   [WEFT_EMIT_ASM] = "asm",
    [WEFT_EMIT_PTX] = "ptx",
};

static weft_status *emit(const weft_program *program, const char *format)
{
    size_t i = 0;
    char *text;
    while (i < sizeof formats / sizeof *formats && strcmp(formats[i], format) != 0) i++;
    if (i == sizeof formats / sizeof *formats) {
        fputs(weft_program_text(program), stdout);
        return NULL;
    }
    WEFT_TRY(weft_program_emit(program, (weft_emit_format)i, &text));
    fputs(text, stdout);
    weft_text_destroy(text);
    return NULL;
}

static weft_status *run_program(const weft_arguments *arguments, const weft_plugins *plugins)
{
    const char *passes = weft_arguments_text(arguments, "--passes", NULL);
    weft_program *program;
    WEFT_TRY(weft_program_load(arguments->operands[0], plugins, passes, &program));
    weft_status *status = emit(program, weft_arguments_text(arguments, "--emit", "graph"));
    weft_program_release(program);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    weft_plugins plugins;
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL) status = run_program(arguments, &plugins);
    weft_plugins_finish(&plugins);
    return status;
}

static const weft_option options[] = {
    {"--passes", WEFT_OPTION_TEXT, "a,b,c", "these passes in this order (the standard pipeline)"},
    {"--emit", WEFT_OPTION_CHOICE, "graph|loops|scheduled|llvm|asm|ptx", "what to print (graph)"},
    WEFT_PLUGIN_OPTION,
};

const weft_command weft_command_opt = {
    .name = "opt",
    .operands = " GRAPH.weft [OPTION ...]",
    .summary = "optimise a graph and print it, or the code made from it",
    .detail = "The passes are lower, canonicalize, contract, simplify and arrange, the pipeline in this order.",
    .least = 1,
    .most = 1,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
