/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include <stdlib.h>
#include <string.h>
#include "../output.h"
#include "file.h"

#define CODE_OPTION "--saved-code"

weft_policy weft_policy_of(const weft_arguments *arguments)
{
    const char *products = weft_arguments_text(arguments, "--products", "generated");
    const char *functions = weft_arguments_text(arguments, "--functions", "accurate");
    return (weft_policy){.size = sizeof(weft_policy),
                         .products = strcmp(products, "library") == 0 ? WEFT_PRODUCTS_LIBRARY
                                     : strcmp(products, "fast") == 0  ? WEFT_PRODUCTS_FAST
                                                                      : WEFT_PRODUCTS_GENERATED,
                         .functions = strcmp(functions, "fast") == 0 ? WEFT_FUNCTIONS_FAST : WEFT_FUNCTIONS_ACCURATE};
}

/* How it was compiled is part of a program. */
static weft_status *check_policy(const weft_arguments *arguments)
{
    static const char *const names[] = {"--products", "--functions", "--passes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (weft_arguments_find(arguments, names[i]) != NULL)
            return weft_misuse("%s is for a graph that is compiled now; '%s' is a saved program", names[i],
                               weft_file_name(arguments->operands[0]));
    return NULL;
}

/* Of a file. */
typedef struct content {
    const char *name, *data;
    size_t size;
} content;

static weft_status *parse_program(const weft_arguments *arguments, const weft_plugins *plugins, content file,
                                  weft_source *out_source)
{
    WEFT_TRY(check_policy(arguments));
    WEFT_TRY(weft_program_parse(file.name, file.data, file.size, NULL, plugins->count, plugins->extensions,
                                &out_source->program));
    if (weft_arguments_find(arguments, CODE_OPTION) == NULL) return NULL;
    return weft_program_parse_code(out_source->program, file.name, file.data, file.size, NULL);
}

static weft_status *parse_graph(const weft_arguments *arguments, const weft_plugins *plugins, content file,
                                weft_source *out_source)
{
    if (weft_arguments_find(arguments, CODE_OPTION) != NULL)
        return weft_misuse(CODE_OPTION " is for a saved program, which '%s' is not", file.name);
    return weft_graph_parse(file.name, file.data, file.size, NULL, plugins->count, plugins->extensions,
                            &out_source->module);
}

weft_status *weft_source_check_name(const char *path)
{
    if (!weft_file_ends_with(path, ".npy") && !weft_file_ends_with(path, ".npz")) return NULL;
    return weft_misuse("the graph comes first, such as graph.weft; '%s' names arrays", weft_file_name(path));
}

weft_status *weft_source_load(const weft_arguments *arguments, const weft_plugins *plugins, weft_source *out_source)
{
    char *text;
    size_t length;
    *out_source = (weft_source){NULL, NULL};
    WEFT_TRY(weft_source_check_name(arguments->operands[0]));
    WEFT_TRY(weft_file_read(arguments->operands[0], &text, &length));
    weft_status *status = (weft_program_is_saved(text, length) ? parse_program : parse_graph)(
        arguments, plugins, (content){weft_file_name(arguments->operands[0]), text, length}, out_source);
    free(text);
    if (status != NULL) weft_source_finish(out_source);
    return status;
}

void weft_source_finish(weft_source *source)
{
    weft_module_destroy(source->module);
    weft_program_release(source->program);
}

weft_tensors weft_source_outputs(const weft_source *source)
{
    return source->module == NULL ? (weft_tensors){0, NULL} : source->module->outputs;
}

static weft_status *visit_source(const weft_arguments *arguments, const weft_plugins *plugins,
                                 weft_status *(*visit)(const weft_arguments *arguments, const weft_source *source))
{
    weft_source source;
    WEFT_TRY(weft_source_load(arguments, plugins, &source));
    weft_status *status = visit(arguments, &source);
    weft_source_finish(&source);
    return status;
}

weft_status *weft_source_visit(const weft_arguments *arguments,
                               weft_status *(*visit)(const weft_arguments *arguments, const weft_source *source))
{
    weft_plugins plugins;
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL) status = visit_source(arguments, &plugins, visit);
    weft_plugins_finish(&plugins);
    return status;
}

weft_status *weft_source_check_saving(const char *path)
{
    if (weft_output_is_standard(path)) return weft_misuse("--save needs the name of a file, not '%s'", path);
    return weft_output_check(path);
}

weft_status *weft_source_compile(const weft_source *source, const weft_policy *policy, weft_program **out_program)
{
    const weft_module *module = source->module;
    if (module != NULL)
        return weft_compile_named(module->graph, module->outputs, module->output_names, policy, out_program);
    *out_program = weft_program_retain(source->program);
    return NULL;
}
