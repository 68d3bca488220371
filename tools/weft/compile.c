/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <weft/object.h>
#include "../output.h"
#include "command.h"
#include "file.h"
#include "module.h"
#include "named.h"
#include "schedule.h"

/* ---- names ---- */

/* That of the file without folder and ending, with underscores for what identifiers often lack. */
static weft_status *find_name(const weft_arguments *arguments, char **out_name)
{
    const char *given = weft_arguments_text(arguments, "--name", NULL), *path = arguments->operands[0];
    const char *slash = strrchr(path, '/');
    if (given == NULL && strcmp(path, "-") == 0)
        return weft_misuse("a graph from standard input needs a name: --name NAME");
    char *name = strdup(given != NULL ? given : slash != NULL ? slash + 1 : path);
    if (name == NULL) return weft_status_out_of_memory();
    char *end = strrchr(name, '.');
    if (given == NULL && end != NULL && end != name) *end = '\0';
    for (char *at = name; given == NULL && *at != '\0'; at++)
        if (strchr(".-+ ", *at) != NULL) *at = '_';
    *out_name = name;
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), rest = strlen(end);
    return length > rest && strcmp(text + length - rest, end) == 0;
}

/* That of `-o`: no file. */
static weft_status *check_folder(const char *folder)
{
    struct stat found;
    bool is_there = stat(folder, &found) == 0;
    if (is_there && S_ISDIR(found.st_mode)) return NULL;
    if (!is_there && !ends_with(folder, ".o") && !ends_with(folder, ".h") && !ends_with(folder, ".a")) return NULL;
    return weft_misuse("-o %s: it is the folder that NAME.o, NAME.h and NAME.pc are written to; --name says NAME",
                       folder);
}

/* DIR/NAME.END, to be freed. */
static weft_status *join(const char *folder, const char *name, const char *end, char **out_path)
{
    size_t size = strlen(folder) + strlen(name) + strlen(end) + 2;
    *out_path = malloc(size);
    if (*out_path == NULL) return weft_status_out_of_memory();
    snprintf(*out_path, size, "%s/%s%s", folder, name, end);
    return NULL;
}

/* ---- files ---- */

typedef struct content {
    const void *data;
    size_t size;
} content;

static weft_status *write_content(const void *context, FILE *file)
{
    const content *c = context;
    fwrite(c->data, 1, c->size, file); /* a failure is the file's */
    return NULL;
}

static weft_status *save(const char *folder, const char *name, const char *end, content c)
{
    char *path;
    WEFT_TRY(join(folder, name, end, &path));
    weft_status *status = weft_output_write(path, write_content, &c);
    free(path);
    return status;
}

static content text_of(const char *text)
{
    return (content){text, strlen(text)};
}

static weft_status *save_all(const weft_object *object, const char *folder, const char *name)
{
    content code, weights;
    weights.data = weft_object_weights(object, &weights.size);
    code.data = weft_object_code(object, &code.size);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return weft_status_create(NULL, WEFT_BAD_FILE, "weft", "%s: the folder cannot be made: %s", folder,
                                  strerror(errno));
    WEFT_TRY(save(folder, name, ".o", code));
    if (weights.size > 0) WEFT_TRY(save(folder, name, ".weights", weights));
    WEFT_TRY(save(folder, name, ".h", text_of(weft_object_header(object))));
    return save(folder, name, ".pc", text_of(weft_object_pkg_config(object)));
}

/* ---- constants ---- */

static bool is_constant(const weft_option_value *value)
{
    return strcmp(value->option->name, "--constant") == 0;
}

/* A file for an input that no output needs is not read. */
static weft_status *load_constants(const weft_arguments *arguments, weft_named_files *list, weft_array **arrays)
{
    for (size_t i = 0; i < arguments->value_count; i++)
        if (is_constant(&arguments->values[i]) && !weft_named_is_archive(arguments->values[i].text))
            WEFT_TRY(weft_named_add(list, arguments->values[i].text));
    WEFT_TRY(weft_file_check_inputs(list->count, list->files));
    for (size_t i = 0; i < arguments->value_count; i++)
        if (is_constant(&arguments->values[i]) && weft_named_is_archive(arguments->values[i].text))
            WEFT_TRY(weft_named_load_archive(list, arguments->values[i].text, arrays));
    for (size_t i = 0; i < list->count; i++)
        if (list->files[i] != NULL) WEFT_TRY(weft_file_load(list->files[i], list->names[i], &arrays[i]));
    return NULL;
}

static weft_status *bind_arrays(const weft_named_files *list, weft_array *const *arrays, weft_program **program)
{
    weft_program *bound;
    weft_named_arrays constants = {0, calloc(list->count + 1, sizeof *constants.items)};
    if (constants.items == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < list->count; i++)
        if (arrays[i] != NULL) constants.items[constants.count++] = (weft_named_array){list->names[i], arrays[i]};
    weft_status *status = weft_program_bind(*program, constants, &bound);
    free(constants.items);
    WEFT_TRY(status);
    weft_program_release(*program);
    *program = bound;
    return NULL;
}

/* Puts the arrays of --constant in the place of inputs. */
static weft_status *bind_constants(const weft_arguments *arguments, const weft_source *source, weft_program **program)
{
    const weft_tensors declared = source->module == NULL ? (weft_tensors){0, NULL} : source->module->inputs;
    size_t most = weft_program_input_count(*program) + declared.count;
    weft_named_files list;
    if (weft_arguments_find(arguments, "--constant") == NULL) return NULL;
    weft_array **arrays = calloc(most + 1, sizeof *arrays);
    weft_status *status = weft_named_init(&list, "input", most);
    if (arrays == NULL && status == NULL) status = weft_status_out_of_memory();
    if (status == NULL) {
        weft_named_fill_inputs(&list, *program, declared);
        status = load_constants(arguments, &list, arrays);
        if (status == NULL) status = bind_arrays(&list, arrays, program);
    }
    for (size_t i = 0; i < most && arrays != NULL; i++) weft_array_release(arrays[i]);
    free(arrays);
    weft_named_finish(&list);
    return status;
}

/* ---- compiling ---- */

static weft_status *compile(const weft_arguments *arguments, const weft_program *program,
                            const weft_schedules *schedules, const char *name)
{
    const char *weights = weft_arguments_text(arguments, "--weights", "embed");
    const weft_object_options options = {.size = sizeof options,
                                         .name = name,
                                         .isa = weft_arguments_text(arguments, "--isa", NULL),
                                         .extents = weft_arguments_text(arguments, "--extents", NULL),
                                         .weights_file = strcmp(weights, "file") == 0,
                                         .freestanding = weft_arguments_find(arguments, "--freestanding") != NULL,
                                         .target = weft_arguments_text(arguments, "--target", NULL),
                                         .schedules = schedules};
    const char *folder = weft_arguments_text(arguments, "-o", ".");
    weft_object *object;
    WEFT_TRY(check_folder(folder));
    weft_status *status = weft_object_create(program, &options, &object);
    if (weft_status_code(status) == WEFT_INVALID_ARGUMENT) {
        weft_status *misuse = weft_misuse("%s", weft_status_message(status));
        weft_status_destroy(status);
        return misuse;
    }
    WEFT_TRY(status);
    status = save_all(object, folder, name);
    weft_object_destroy(object);
    return status;
}

static weft_status *run_source(const weft_arguments *arguments, const weft_source *source)
{
    const weft_policy policy = weft_policy_of(arguments);
    weft_program *program;
    weft_schedules *schedules = NULL;
    char *name = NULL;
    if (policy.products == WEFT_PRODUCTS_FAST)
        return weft_misuse("--products fast is for programs that run here: objects compute products as without it");
    WEFT_TRY(weft_source_compile(source, &policy, &program));
    weft_status *status = find_name(arguments, &name);
    if (status == NULL) status = bind_constants(arguments, source, &program);
    if (status == NULL) status = weft_schedule_load(arguments, false, &schedules);
    if (status == NULL) status = weft_schedule_add_given(arguments, program, schedules);
    if (status == NULL) status = compile(arguments, program, schedules, name);
    weft_schedules_destroy(schedules);
    free(name);
    weft_program_release(program);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    return weft_source_visit(arguments, run_source);
}

static const weft_option options[] = {
    {"-o", WEFT_OPTION_FILE, "DIR", "the folder to write to, which is made unless it is there (.)"},
    {"--name", WEFT_OPTION_TEXT, "NAME", "what files, functions and types begin with (net_v2 of net.v2.weft)"},
    {"--isa", WEFT_OPTION_TEXT, "LEVEL,...",
     "x86-64-v2 to x86-64-v4, armv8-a or native; the best runs (x86-64-v3, armv8-a)"},
    {"--target", WEFT_OPTION_TEXT, "TRIPLE", "x86_64-linux-gnu or aarch64-linux-gnu: where it runs (as this machine)"},
    {"--extents", WEFT_OPTION_TEXT, "n=1,m=64;...", "sizes to compile for beside any, which run faster"},
    {"--constant", WEFT_OPTION_FILES, "[NAME=]IN.npy or IN.npz",
     "that input, or those the archive has, as constants; may be repeated"},
    {"--weights", WEFT_OPTION_CHOICE, "embed|file",
     "constants in the object, or in NAME.weights, which is mapped, if there are any (embed)"},
    {"--freestanding", WEFT_OPTION_FLAG, NULL,
     "an object that needs no library: no threads, no memory but the caller's"},
    WEFT_SCHEDULE_OPTION,
    WEFT_SCHEDULES_OPTION,
    WEFT_PRODUCTS_OPTION,
    WEFT_FUNCTIONS_OPTION,
    WEFT_PLUGIN_OPTION,
};

const weft_command weft_command_compile = {
    .name = "compile",
    .operands = " GRAPH [OPTION ...]",
    .summary = "compile a graph to an object and a header, which need no compiler where they run",
    .detail = "GRAPH is a .weft file, or a program that 'weft opt --save' wrote.\n"
              "Writes NAME.o, NAME.h, NAME.pc and, if asked, NAME.weights. An application includes the header and\n"
              "links the object and libweft-rt, or, with --freestanding, the object alone.",
    .least = 1,
    .most = 1,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
