/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/inspect.h>
#include "../npz.h"
#include "../output.h"
#include "binding.h"
#include "command.h"
#include "draw.h"
#include "file.h"
#include "module.h"
#include "named.h"
#include "session.h"

static void fill_names(const weft_program *program, weft_tensors declared, weft_named_files *inputs,
                       weft_named_files *outputs)
{
    weft_named_fill_inputs(inputs, program, declared);
    outputs->count = outputs->known = weft_program_output_count(program);
    for (size_t i = 0; i < outputs->count; i++) outputs->names[i] = weft_program_output_name(program, i);
}

/* ---- symbols ---- */

static bool is_option(const weft_option_value *value, const char *name)
{
    return strcmp(value->option->name, name) == 0;
}

/* The value that an earlier --set gives the symbol, or NULL. */
static const weft_binding *find_extent(const weft_session *session, const char *name)
{
    for (size_t i = 0; i < session->extent_count; i++)
        if (strcmp(session->extents[i].name, name) == 0) return &session->extents[i];
    return NULL;
}

static weft_status *fill_extents(const weft_arguments *arguments, weft_graph *graph, weft_session *session)
{
    session->extents = calloc(arguments->value_count + 1, sizeof *session->extents);
    if (session->extents == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < arguments->value_count; i++) {
        if (!is_option(&arguments->values[i], "--set")) continue;
        weft_binding *extent = &session->extents[session->extent_count];
        WEFT_TRY(weft_binding_parse(arguments->values[i].text, extent));
        const weft_binding *former = find_extent(session, extent->name);
        session->extent_count++;
        if (!weft_binding_is_needed(session->program, extent->name))
            WEFT_TRY(weft_binding_check_unneeded(session->program, graph, extent));
        if (former != NULL && former->value != extent->value)
            return weft_misuse("--set gives '%s' twice, as %" PRId64 " and as %" PRId64, extent->name, former->value,
                               extent->value);
    }
    return NULL;
}

/* Refuses to go on without the value of a symbol. */
static weft_status *check_extents(const weft_session *session)
{
    for (size_t i = 0; i < weft_program_symbol_count(session->program); i++) {
        const weft_program_symbol *symbol = weft_program_symbol_at(session->program, i);
        if (symbol->input == SIZE_MAX && find_extent(session, symbol->name) == NULL)
            return weft_misuse("no input binds the symbol '%s'; --set %s=N gives it a value", symbol->name,
                               symbol->name);
    }
    return NULL;
}

/* ---- inputs ---- */

static weft_status *fill_inputs(const weft_arguments *arguments, weft_named_files *list)
{
    for (size_t i = 1; i < arguments->operand_count; i++)
        if (!weft_named_is_archive(arguments->operands[i])) WEFT_TRY(weft_named_add(list, arguments->operands[i]));
    const char **files = calloc(list->count + 1, sizeof *files);
    if (files == NULL) return weft_status_out_of_memory();
    files[0] = arguments->operands[0]; /* the graph is a file too */
    for (size_t i = 0; i < list->count; i++) files[1 + i] = list->files[i];
    weft_status *status = weft_file_check_inputs(list->count + 1, files);
    free(files);
    return status;
}

static weft_status *load_inputs(const weft_arguments *arguments, const weft_named_files *list, weft_array **arrays)
{
    char names[512];
    for (size_t i = 1; i < arguments->operand_count; i++)
        if (weft_named_is_archive(arguments->operands[i]))
            WEFT_TRY(weft_named_load_archive(list, arguments->operands[i], arrays));
    for (size_t i = 0; i < list->count; i++) {
        if (list->files[i] != NULL || arrays[i] != NULL) continue;
        weft_named_print(list, names, sizeof names);
        return weft_misuse("%s '%s' is missing; the graph's %ss: %s", list->what, list->names[i], list->what, names);
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->files[i] != NULL) WEFT_TRY(weft_file_load(list->files[i], list->names[i], &arrays[i]));
    return NULL;
}

/* ---- outputs ---- */

static bool is_output(const weft_option_value *value)
{
    return is_option(value, "-o");
}

static weft_status *fill_outputs(const weft_arguments *arguments, weft_named_files *list)
{
    const char *archive = NULL;
    for (size_t i = 0; i < arguments->value_count; i++) {
        const weft_option_value *value = &arguments->values[i];
        if (!is_output(value)) continue;
        if (!weft_named_is_archive(value->text)) WEFT_TRY(weft_named_add(list, value->text));
        else if (archive == NULL) archive = value->text;
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->files[i] != NULL) WEFT_TRY(weft_file_check_single(list->files[i]));
    for (size_t i = 0; i < list->count && archive != NULL; i++)
        WEFT_TRY(weft_npz_check_name(NULL, archive, list->names[i]));
    if (archive != NULL || weft_arguments_find(arguments, "--deflate") == NULL) return NULL;
    return weft_misuse("--deflate is for what goes into an archive, but no -o names one: OUT.npz");
}

static size_t add_known(const weft_named_files *list, const char **files)
{
    size_t count = 0;
    for (size_t i = 0; i < list->known; i++)
        if (list->files[i] != NULL) files[count++] = list->files[i];
    return count;
}

static weft_status *check_files(const weft_arguments *arguments, const weft_named_files *inputs,
                                const weft_named_files *outputs)
{
    size_t most_read = inputs->known + arguments->operand_count;
    const char **read = calloc(most_read + outputs->known + arguments->value_count, sizeof *read);
    if (read == NULL) return weft_status_out_of_memory();
    size_t read_count = add_known(inputs, read);
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (i == 0 || weft_named_is_archive(arguments->operands[i])) read[read_count++] = arguments->operands[i];
    const char **written = read + most_read;
    size_t count = add_known(outputs, written);
    for (size_t i = 0; i < arguments->value_count; i++)
        if (is_output(&arguments->values[i]) && weft_named_is_archive(arguments->values[i].text))
            written[count++] = arguments->values[i].text;
    weft_status *status = weft_file_check_results(arguments, read_count, read, count, written);
    for (size_t i = 0; i < count && status == NULL; i++) status = weft_output_check(written[i]);
    free(read);
    return status;
}

static weft_status *print_outputs(const weft_session *session, const weft_named_files *list)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t size = weft_text_escape(list->names[i], NULL, 0) + 1;
        char *name = malloc(size);
        if (name == NULL) return weft_status_out_of_memory();
        weft_text_escape(list->names[i], name, size);
        printf("%s =\n", name);
        free(name);
        WEFT_TRY(weft_file_print(session->outputs[i]));
    }
    return NULL;
}

/* After an error the rest is still written, except after a signal; the first error is reported. */
static void keep_first(weft_status **first, weft_status *status)
{
    if (*first == NULL) *first = status;
    else weft_status_destroy(status);
}

static bool goes_on(const weft_status *first)
{
    return weft_status_code(first) != WEFT_CANCELLED;
}

static weft_status *write_outputs(const weft_arguments *arguments, const weft_session *session,
                                  const weft_named_files *list)
{
    bool deflated = weft_arguments_find(arguments, "--deflate") != NULL;
    if (weft_arguments_find(arguments, "-o") == NULL) return print_outputs(session, list);
    weft_status *first = NULL;
    for (size_t i = 0; i < list->count && goes_on(first); i++)
        if (list->files[i] != NULL) keep_first(&first, weft_file_save(list->files[i], session->outputs[i]));
    for (size_t i = 0; i < arguments->value_count && goes_on(first); i++) {
        const weft_option_value *value = &arguments->values[i];
        if (is_output(value) && weft_named_is_archive(value->text))
            keep_first(&first, weft_npz_save(NULL, value->text, list->count, list->names, session->outputs, deflated));
    }
    return first;
}

/* ---- all ---- */

/* Where the program goes with its code. */
static weft_status *check_saving(const weft_arguments *arguments)
{
    const char *path = weft_arguments_text(arguments, "--save", NULL);
    if (path == NULL) return NULL;
    if (strcmp(weft_arguments_text(arguments, "--backend", "llvm"), "llvm") != 0)
        return weft_misuse("--save is for the code of --backend llvm; 'weft opt --save' saves a program without code");
    return weft_source_check_saving(path);
}

static weft_status *run_files(const weft_arguments *arguments, weft_graph *graph, weft_session *session,
                              weft_named_files *inputs, weft_named_files *outputs)
{
    const char *save = weft_arguments_text(arguments, "--save", NULL);
    WEFT_TRY(weft_session_check(arguments));
    WEFT_TRY(check_saving(arguments));
    WEFT_TRY(fill_extents(arguments, graph, session));
    WEFT_TRY(fill_inputs(arguments, inputs));
    WEFT_TRY(fill_outputs(arguments, outputs));
    WEFT_TRY(check_files(arguments, inputs, outputs));
    WEFT_TRY(load_inputs(arguments, inputs, session->inputs));
    WEFT_TRY(check_extents(session));
    WEFT_TRY(weft_binding_name_source(weft_session_run(session, arguments), "given by --set"));
    weft_status *first = write_outputs(arguments, session, outputs);
    if (goes_on(first) && save != NULL) keep_first(&first, weft_program_save(session->program, save));
    if (goes_on(first)) keep_first(&first, weft_session_report(session, arguments));
    return first;
}

static weft_status *run_source(const weft_arguments *arguments, const weft_source *source, weft_session *session)
{
    weft_named_files inputs, outputs = {0};
    const char *view = weft_arguments_text(arguments, "--view", NULL);
    WEFT_TRY(weft_session_compile(session, source));
    WEFT_TRY(weft_schedule_add_given(arguments, session->program, session->schedules));
    if (weft_arguments_find(arguments, "--save") != NULL) WEFT_TRY(weft_program_keep_code(session->program));
    const weft_module *module = source->module;
    const weft_tensors declared = module == NULL ? (weft_tensors){0, NULL} : module->inputs;
    weft_status *status = weft_named_init(&inputs, "input", declared.count + session->input_count);
    if (status == NULL) status = weft_named_init(&outputs, "output", session->output_count);
    if (status == NULL) fill_names(session->program, declared, &inputs, &outputs);
    session->profiled = view != NULL;
    if (status == NULL)
        status = run_files(arguments, module == NULL ? NULL : module->graph, session, &inputs, &outputs);
    weft_named_finish(&inputs);
    weft_named_finish(&outputs);
    if (status == NULL && view != NULL) {
        bool every_op = weft_arguments_find(arguments, WEFT_DRAW_OPTION) != NULL;
        weft_draw_options how = {weft_draw_format(view), view, every_op};
        status = weft_draw_save(session->program, weft_source_outputs(source), &session->profile, &how);
    }
    return status == NULL ? weft_session_print_stats(session, arguments, NULL) : status;
}

static weft_status *run_session(const weft_arguments *arguments, const weft_plugins *plugins, weft_session *session)
{
    weft_source source;
    const char *view = weft_arguments_text(arguments, "--view", NULL);
    if (view != NULL) WEFT_TRY(weft_draw_check("--view", view));
    if (view == NULL && weft_arguments_find(arguments, WEFT_DRAW_OPTION) != NULL)
        return weft_misuse(WEFT_DRAW_OPTION " requires --view");
    WEFT_TRY(weft_source_load(arguments, plugins, &source));
    weft_status *status = weft_session_init(session, arguments, plugins);
    if (status == NULL) status = run_source(arguments, &source, session);
    weft_source_finish(&source);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    weft_plugins plugins;
    weft_session session = {0};
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL) status = run_session(arguments, &plugins, &session);
    weft_session_finish(&session);
    weft_plugins_finish(&plugins);
    return status;
}

static const weft_option options[] = {
    {"-o", WEFT_OPTION_FILES, "[NAME=]OUT.npy or OUT.npz",
     "write that output, or all of them, there; may be repeated; without it, all are printed"},
    {"--set", WEFT_OPTION_TEXTS, "SYMBOL=N", "the value of a symbol that no input has; may be repeated"},
    {"--view", WEFT_OPTION_FILE, "FILE.html|FILE.svg|FILE.dot",
     "draw it there as 'weft view' does, the page coloured by the time of each step"},
    {WEFT_DRAW_OPTION, WEFT_OPTION_FLAG, NULL,
     "with --view: broadcasts, permutes and reshapes as ops, not as part of arrows"},
    {"--tune", WEFT_OPTION_NUMBER, "SECONDS",
     "look so long for faster schedules first, and add them to those of --schedules FILE"},
    WEFT_SCHEDULE_OPTION,
    {"--deflate", WEFT_OPTION_FLAG, NULL, "deflate what goes into OUT.npz"},
    {"--save", WEFT_OPTION_FILE, "FILE", "write the program there, with the code that the run used"},
    {"--saved-code", WEFT_OPTION_FLAG, NULL,
     "use the code in the saved program: of a file that you trust like a program that you start"},
    WEFT_PLUGIN_OPTION,
    WEFT_FUNCTIONS_OPTION,
    WEFT_SESSION_OPTIONS,
};

const weft_command weft_command_run = {
    .name = "run",
    .operands = " GRAPH [NAME=]IN.npy|IN.npz ... [OPTION ...]",
    .summary = "compile a graph and run it on arrays",
    .detail =
        "GRAPH is a .weft file, or a program that 'weft opt --save' wrote, which is not compiled again.\n"
        "IN.npz gives each input that no other file is named for the array of its name; NAME=IN.npz:ARRAY takes one\n"
        "array of an archive. OUT.npz gets all outputs, each under its name. NAME= may be left out where there is one\n"
        "input, or one output. A file for an input that no output needs is not read. '-' is standard input, for the\n"
        "graph or one .npy file, and standard output. OUT.npz takes no output whose name is a path, such as 'a/b'.\n"
        "--view draws in the format that the name of the file ends in.",
    .least = 1,
    .most = SIZE_MAX,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
