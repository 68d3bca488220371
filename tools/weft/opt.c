/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <weft/inspect.h>
#include "command.h"
#include "file.h"
#include "forest.h"
#include "measure.h"
#include "module.h"
#include "schedule.h"

static const char *const formats[] = {
    [WEFT_EMIT_LOOPS] = "loops", [WEFT_EMIT_SCHEDULED] = "scheduled",
    [WEFT_EMIT_LLVM] = "llvm",   [WEFT_EMIT_ASM] = "asm",
    [WEFT_EMIT_PTX] = "ptx",     [WEFT_EMIT_SCHEDULE] = "schedule",
};

static weft_status *emit(const weft_program *program, const weft_arguments *arguments, const weft_schedules *schedules)
{
    const char *format = weft_arguments_text(arguments, "--emit", "graph"), *graph;
    size_t i = 0;
    char *text;
    weft_machine memory;
    const weft_machine *machine;
    while (i < sizeof formats / sizeof *formats && strcmp(formats[i], format) != 0) i++;
    if (i == sizeof formats / sizeof *formats) {
        if ((graph = weft_program_text(program)) == NULL)
            return weft_status_create(NULL, WEFT_OUT_OF_MEMORY, "weft", "there is no memory for the program's text");
        fputs(graph, stdout);
        return NULL;
    }
    WEFT_TRY(weft_measure_given(arguments, &memory, &machine));
    WEFT_TRY(weft_program_emit(program, (weft_emit_format)i, machine, schedules, &text));
    fputs(text, stdout);
    weft_text_destroy(text);
    return NULL;
}

static weft_status *emit_trees(const weft_source *source)
{
    weft_forest forest;
    if (source->module == NULL) return weft_misuse("--emit trees is for a graph that is compiled now");
    weft_status *status = weft_forest_init(&forest, source->module->outputs);
    if (status == NULL) status = weft_forest_print_text(&forest, stdout);
    weft_forest_finish(&forest);
    return status;
}

/* The command line names a pass that does not exist. Takes `status`. */
static weft_status *name_pass(weft_status *status)
{
    if (weft_status_code(status) != WEFT_NOT_FOUND) return status;
    weft_status *misuse = weft_misuse("%s", weft_status_message(status));
    weft_status_destroy(status);
    return misuse;
}

/* Names with commas between them, or nothing at all. */
static weft_status *check_passes(const char *passes, const char *format)
{
    size_t length = strlen(passes);
    if (strcmp(format, "trees") == 0)
        return weft_misuse("--passes does nothing to the trees of --emit, which are those of the graph as it is given");
    if (length > 0 && (passes[0] == ',' || passes[length - 1] == ',' || strstr(passes, ",,") != NULL))
        return weft_misuse("--passes takes names with one comma between two of them, not '%s'", passes);
    return NULL;
}

/* What is saved is printed only where that is asked for too. */
static bool is_printed(const weft_arguments *arguments)
{
    return weft_arguments_find(arguments, "--save") == NULL || weft_arguments_find(arguments, "--emit") != NULL;
}

/* A file to be, and a program to put there. */
static weft_status *check_saving(const weft_arguments *arguments)
{
    const char *path = weft_arguments_text(arguments, "--save", NULL);
    if (path == NULL) return NULL;
    if (strcmp(weft_arguments_text(arguments, "--emit", "graph"), "trees") == 0)
        return weft_misuse("--save writes a program, and --emit trees makes none");
    return weft_source_check_saving(path);
}

static weft_status *run_source(const weft_arguments *arguments, const weft_source *source)
{
    const char *passes = weft_arguments_text(arguments, "--passes", NULL);
    const char *format = weft_arguments_text(arguments, "--emit", "graph");
    const char *path = weft_arguments_text(arguments, "--save", NULL);
    weft_policy policy = weft_policy_of(arguments);
    policy.passes = passes;
    weft_program *program;
    if (passes != NULL) WEFT_TRY(check_passes(passes, format));
    if (strcmp(format, "trees") == 0) return emit_trees(source);
    WEFT_TRY(name_pass(weft_source_compile(source, &policy, &program)));
    weft_schedules *schedules = NULL;
    weft_status *status = weft_schedule_load(arguments, false, &schedules);
    if (status == NULL) status = weft_schedule_add_given(arguments, program, schedules);
    if (status == NULL && is_printed(arguments)) status = emit(program, arguments, schedules);
    if (status == NULL && path != NULL) status = weft_program_save(program, path);
    weft_schedules_destroy(schedules);
    weft_program_release(program);
    return status;
}

/* An option that changes some formats of --emit alone. */
typedef struct scope {
    const char *option, *formats[4];
} scope;

static const scope scopes[] = {
    {"--schedule", {"scheduled", "llvm", "asm", "ptx"}},
    {"--schedules", {"scheduled", "llvm", "asm", "ptx"}},
    {"--machine", {"schedule", "scheduled", "llvm", "asm"}},
};

static weft_status *check_scope(const weft_arguments *arguments, const scope *s)
{
    const char *format = weft_arguments_text(arguments, "--emit", "graph");
    if (weft_arguments_find(arguments, s->option) == NULL) return NULL;
    for (size_t i = 0; i < sizeof s->formats / sizeof *s->formats; i++)
        if (strcmp(s->formats[i], format) == 0) return NULL;
    return weft_misuse("%s changes what --emit %s, %s, %s and %s print, not %s", s->option, s->formats[0],
                       s->formats[1], s->formats[2], s->formats[3], format);
}

static weft_status *run(const weft_arguments *arguments)
{
    WEFT_TRY(weft_file_check_results(arguments, 1, arguments->operands, 0, NULL));
    WEFT_TRY(check_saving(arguments));
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) WEFT_TRY(check_scope(arguments, &scopes[i]));
    return weft_source_visit(arguments, run_source);
}

static const weft_option options[] = {
    {"--passes", WEFT_OPTION_TEXT, "a,b,c", "these passes in this order (the standard pipeline)"},
    WEFT_PRODUCTS_OPTION,
    WEFT_FUNCTIONS_OPTION,
    {"--emit", WEFT_OPTION_CHOICE, "graph|trees|loops|schedule|scheduled|llvm|asm|ptx", "what to print (graph)"},
    {"--save", WEFT_OPTION_FILE, "FILE", "write the program there, which other commands take in place of the graph"},
    WEFT_SCHEDULE_OPTION,
    WEFT_SCHEDULES_OPTION,
    WEFT_MACHINE_OPTION,
    WEFT_PLUGIN_OPTION,
};

const weft_command weft_command_opt = {
    .name = "opt",
    .operands = " GRAPH [OPTION ...]",
    .summary = "optimise a graph and print it, or save it, or print the code made from it",
    .detail =
        "GRAPH is a .weft file, or a program that --save wrote. With --save nothing is printed but what --emit asks "
        "for.\n"
        "The passes are lower, merge_folds, hoist, canonicalize, match_dot, match_sort, simplify, defer_division\n"
        "and canonicalize_dot, the pipeline in this order.\n"
        "Trees are those of the einsums of the graph as it is given, with sizes.",
    .least = 1,
    .most = 1,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
