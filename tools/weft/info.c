/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/inspect.h>
#include <weft/runtime.h>
#include "../output.h"
#include "artifact.h"
#include "command.h"
#include "file.h"
#include "measure.h"
#include "plugins.h"
#include "probe.h"
#include "summary.h"

enum { NAME_WIDTH = 22 };

/* Of products of a dtype whose instructions the processor may have. */
static const char *instructions(weft_dtype dtype)
{
    const char *name = weft_gemm_instructions(dtype);
    return name != NULL ? name : "no instructions of its own";
}

static void print_machine(void)
{
    const char *target;
    weft_status *status = weft_emit_target(&target);
    printf("weft        %d.%d.%d\n", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
    printf("target      %s\n", status == NULL ? target : weft_status_message(status));
    printf("isa         %s, vectors of %u bits\n", weft_isa_name(), 8 * weft_isa_vector_bytes());
    printf("blis        %s\n", weft_gemm_configuration());
    printf("products    u8: %s; bf16 with --products fast: %s\n", instructions(WEFT_U8), instructions(WEFT_BF16));
    printf("memory      %.1f GiB\n", (double)weft_memory_size() / (1 << 30));
    printf("runtimes    %s (default), %s, %s\n", weft_runtime_llvm()->name, weft_runtime_reference()->name,
           weft_runtime_reference_ordered()->name);
    weft_status_destroy(status);
}

static void print_extension(const weft_extension *extension)
{
    printf("extensions  %s %s (ABI %u.%u):", extension->family, extension->version, (unsigned)extension->abi_major,
           (unsigned)extension->abi_minor);
    for (size_t i = 0; i < extension->op_count; i++) printf(" %s", extension->ops[i]->name);
    printf("\n");
}

static weft_status *print_row(weft_executor *executor, const weft_op_def *op)
{
    static const char *const marks[2][2] = {{".", "r"}, {"l", "lr"}};
    const char *runtimes[WEFT_PROBE_RUNTIMES] = {weft_runtime_llvm()->name, weft_runtime_reference()->name};
    printf("%-*s", NAME_WIDTH, op->name);
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
        bool computes[WEFT_PROBE_RUNTIMES];
        WEFT_TRY(weft_probe_run(executor, op, (weft_dtype)dtype, runtimes, computes));
        printf("%-5s", marks[computes[0]][computes[1]]);
    }
    printf("\n");
    return NULL;
}

static weft_status *print_matrix(weft_executor *executor)
{
    const weft_op_def *op;
    printf("\nRuntimes that compute each op: l for llvm, r for ref\n%-*s", NAME_WIDTH, "");
    for (int dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) printf("%-5s", weft_dtype_name((weft_dtype)dtype));
    printf("\n");
    for (size_t i = 0; (op = weft_op_builtin(i)) != NULL; i++) WEFT_TRY(print_row(executor, op));
    return NULL;
}

static weft_status *run_plugins(const weft_plugins *plugins)
{
    weft_executor_options options = {.threads = 1};
    weft_executor *executor;
    WEFT_TRY(weft_executor_create_standard(&options, &executor));
    print_machine();
    for (size_t i = 0; i < plugins->count; i++) print_extension(plugins->extensions[i]);
    weft_status *status = print_matrix(executor);
    weft_executor_destroy(executor);
    return status;
}

static weft_status *measure(const weft_arguments *arguments)
{
    weft_machine machine;
    const char *out = weft_arguments_text(arguments, "-o", NULL);
    if (out != NULL) WEFT_TRY(weft_output_check(out));
    WEFT_TRY(weft_measure((unsigned)weft_arguments_count(arguments, "--threads", 0), &machine));
    weft_measure_print(&machine);
    return out == NULL ? NULL : weft_measure_save(&machine, out);
}

static weft_status *print_saved(const weft_arguments *arguments, const char *name, const char *data, size_t size)
{
    weft_plugins plugins;
    weft_program *program;
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL)
        status = weft_program_parse(name, data, size, NULL, plugins.count, plugins.extensions, &program);
    if (status == NULL) {
        status = weft_program_parse_code(program, name, data, size, NULL);
        if (status == NULL) status = weft_summary_print(program);
        weft_program_release(program);
    }
    weft_plugins_finish(&plugins);
    return status;
}

static weft_status *check_options(const weft_arguments *arguments)
{
    for (size_t i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->values[i].option->name, "--plugin") != 0)
            return weft_misuse("%s says nothing about an object or a saved program", arguments->values[i].option->name);
    return NULL;
}

static weft_status *print_object(const weft_arguments *arguments, const char *name, const char *data, size_t size)
{
    if (arguments->value_count > 0) return weft_misuse("--plugin says nothing about an object");
    return weft_artifact_print(name, data, size);
}

static weft_status *print_file(const weft_arguments *arguments)
{
    char *data;
    size_t size;
    const char *path = arguments->operands[0], *name = weft_file_name(path);
    WEFT_TRY(check_options(arguments));
    WEFT_TRY(weft_file_read(path, &data, &size));
    bool is_saved = weft_program_is_saved(data, size);
    weft_status *status = (is_saved ? print_saved : print_object)(arguments, name, data, size);
    free(data);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    weft_plugins plugins;
    if (arguments->operand_count > 0) return print_file(arguments);
    bool measures = weft_arguments_find(arguments, "--measure") != NULL;
    for (size_t i = 0; i < arguments->value_count; i++) {
        const char *name = arguments->values[i].option->name;
        bool is_plugin = strcmp(name, "--plugin") == 0;
        if (measures && is_plugin) return weft_misuse("--plugin cannot be combined with --measure");
        if (!measures && !is_plugin) return weft_misuse("%s requires --measure", name);
    }
    if (measures) return measure(arguments);
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL) status = run_plugins(&plugins);
    weft_plugins_finish(&plugins);
    return status;
}

static const weft_option options[] = {
    WEFT_PLUGIN_OPTION,
    {"--measure", WEFT_OPTION_FLAG, NULL, "instead, measure the rates that --machine of other commands reads"},
    {"--threads", WEFT_OPTION_THREADS, "N", "of products and memory, at most 1024 (0: as many as processors)"},
    {"-o", WEFT_OPTION_FILE, "MACHINE.json", "write them there too"},
};

const weft_command weft_command_info = {
    .name = "info",
    .operands = " [NAME.o|SAVED]",
    .summary = "report versions, the machine, which op runs where; or what an object or a saved program is",
    .detail = "The table is found out by running each op. To measure takes a few seconds, on a machine that does "
              "nothing else.",
    .least = 0,
    .most = 1,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
