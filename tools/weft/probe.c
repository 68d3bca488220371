/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"
#include <stdio.h>
#include <string.h>

typedef struct probe_row {
    const char *op, *statement;
} probe_row;

static const probe_row rows[] = {
#define WEFT_PROBE(op, statement) {#op, statement},
#include "probe.def"
#undef WEFT_PROBE
};

static const char frame_begin[] = "weft 0.1\n"
                                  "graph {\n"
                                  "  %a = input() {name = \"a\", dtype = T, shape = [2, 2]}\n"
                                  "  %b = input() {name = \"b\", dtype = T, shape = [2, 2]}\n"
                                  "  %c = input() {name = \"c\", dtype = bool, shape = [2, 2]}\n"
                                  "  %p = input() {name = \"p\", dtype = bool, shape = []}\n"
                                  "  %i = input() {name = \"i\", dtype = i64, shape = [2]}\n"
                                  "  %s = input() {name = \"s\", dtype = T, shape = []}\n  ";
static const char frame_end[] = "\n  return y = %y\n}\n";

static const int64_t shape[2] = {2, 2};
static const char zeros[4 * 16];

static const char *find_statement(const weft_op_def *op, char *elementwise, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op, op->name) == 0) return rows[i].statement;
    if (op->op_class != WEFT_CLASS_ELEMENTWISE || op->attr_count > 0) return NULL;
    snprintf(elementwise, size, "%%y = %s(%%a%s)", op->name, op->input_count == 2 ? ", %b" : "");
    return elementwise;
}

/* Appends `text` with each T and Z replaced. */
static void append(char **at, const char *text, weft_dtype dtype)
{
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    const char *zero = kind == WEFT_KIND_BOOL ? "false" : kind == WEFT_KIND_COMPLEX ? "(0, 0)" : "0";
    for (; *text != 0; text++) {
        char letter[] = {*text, 0};
        const char *word = *text == 'T' ? weft_dtype_name(dtype) : *text == 'Z' ? zero : letter;
        memcpy(*at, word, strlen(word));
        *at += strlen(word);
    }
}

static weft_status *compile(const char *text, weft_program **out_program)
{
    weft_module *module;
    WEFT_TRY(weft_graph_parse("probe", text, strlen(text), NULL, 0, NULL, &module));
    weft_status *status = weft_compile(module->graph, module->outputs, NULL, out_program);
    weft_module_destroy(module);
    return status;
}

static weft_status *wrap_inputs(const weft_program *program, weft_array **inputs)
{
    for (size_t i = 0; i < weft_program_input_count(program); i++)
        WEFT_TRY(weft_array_wrap(NULL, weft_program_input_dtype(program, i), weft_program_input_rank(program, i), shape,
                                 NULL, (void *)(uintptr_t)zeros, NULL, NULL, &inputs[i]));
    return NULL;
}

/* Takes what became of an attempt: an error of the data is one that the op itself found. */
static weft_status *judge(weft_status *status, bool *out_computes)
{
    weft_code code = weft_status_code(status);
    *out_computes = code == WEFT_OK || code == WEFT_DATA_ERROR;
    if (code == WEFT_OUT_OF_MEMORY) return status;
    weft_status_destroy(status);
    return NULL;
}

static weft_status *run_all(weft_executor *executor, weft_program *program, const char *const *runtimes,
                            bool *out_computes)
{
    weft_array *inputs[4] = {NULL};
    weft_status *status = wrap_inputs(program, inputs);
    for (size_t i = 0; i < WEFT_PROBE_RUNTIMES && status == NULL; i++) {
        weft_array *output = NULL;
        weft_run run = {.runtime = runtimes[i],
                        .input_count = weft_program_input_count(program),
                        .inputs = inputs,
                        .output_count = 1,
                        .outputs = &output};
        status = judge(weft_executor_run(executor, program, &run), &out_computes[i]);
        weft_array_release(output);
    }
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) weft_array_release(inputs[i]);
    return status;
}

weft_status *weft_probe_run(weft_executor *executor, const weft_op_def *op, weft_dtype dtype,
                            const char *const runtimes[WEFT_PROBE_RUNTIMES], bool out_computes[WEFT_PROBE_RUNTIMES])
{
    char text[2048] = "", elementwise[64], *at = text;
    weft_program *program = NULL;
    bool compiles;
    const char *statement = find_statement(op, elementwise, sizeof elementwise);
    memset(out_computes, 0, WEFT_PROBE_RUNTIMES * sizeof *out_computes);
    if (statement == NULL)
        return weft_status_create(NULL, WEFT_INTERNAL, NULL, "tools/weft/probe.def has no row for the op %s", op->name);
    append(&at, frame_begin, dtype);
    append(&at, statement, dtype);
    append(&at, frame_end, dtype);
    *at = 0;
    WEFT_TRY(judge(compile(text, &program), &compiles));
    weft_status *status = compiles ? run_all(executor, program, runtimes, out_computes) : NULL;
    weft_program_release(program);
    return status;
}
