/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the node models of ONNX's backend tests: onnx FOLDER UNSUPPORTED [NAME]. Each model is traced, run on every
 * runtime and compared with the outputs that come with it. UNSUPPORTED lists what has no counterpart, a line for each
 * reason with the number of its models; the test fails when that differs from what it finds. NAME: only that model,
 * said in full.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/onnx/import.h"

static const char *const runtimes[] = {"ref", "llvm"};

typedef struct reason {
    char text[256];
    size_t count;
} reason;

typedef struct tally {
    size_t passed, failed, unsupported, reason_count;
    reason reasons[256];
} tally;

/* ---- data ---- */

typedef struct arrays {
    size_t count;
    weft_array *items[ONNX_MAX_TENSORS];
} arrays;

static void arrays_release(arrays *list)
{
    for (size_t i = 0; i < list->count; i++) weft_array_release(list->items[i]);
    list->count = 0;
}

/* Files FOLDER/WHAT_0.pb, FOLDER/WHAT_1.pb, ... one for each of `values`. */
static weft_status *read_arrays(const char *folder, const char *what, size_t count, Onnx__ValueInfoProto **values,
                                arrays *out_list)
{
    out_list->count = 0;
    if (count > ONNX_MAX_TENSORS) return weft_status_create(NULL, WEFT_UNSUPPORTED, "onnx", "too many tensors");
    for (size_t i = 0; i < count; i++) {
        char path[1100];
        const Onnx__TypeProto *type = values[i]->type;
        if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            return weft_status_create(NULL, WEFT_UNSUPPORTED, "onnx", "there are no sequences and optional values");
        snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, what, i);
        WEFT_TRY(onnx_tensor_file_read(path, &out_list->items[i]));
        out_list->count = i + 1;
    }
    return NULL;
}

/* ---- comparing ---- */

/* Element i as a complex number, whatever the dtype; exact except for integers beyond 2^53. */
static weft_status *widen(weft_executor *executor, const weft_array *array, weft_array **out_wide)
{
    weft_graph *graph;
    weft_program *program;
    weft_extent extents[WEFT_MAX_RANK];
    size_t rank = weft_array_rank(array);
    for (size_t i = 0; i < rank; i++) extents[i] = weft_extent_of(weft_array_shape(array)[i]);
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", weft_array_dtype(array), (weft_shape){rank, extents});
    weft_status *status = weft_compile(graph, WEFT_TENSORS(weft_cast(x, WEFT_C128)), NULL, &program);
    weft_graph_destroy(graph);
    if (status != NULL) return status;
    weft_array *input = (weft_array *)array;
    *out_wide = NULL;
    weft_run run = {.runtime = "ref", .input_count = 1, .inputs = &input, .output_count = 1, .outputs = out_wide};
    status = weft_executor_run(executor, program, &run);
    weft_program_release(program);
    return status;
}

static bool is_close(double got, double wanted)
{
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    return got == wanted || fabs(got - wanted) <= 1e-7 + 1e-3 * fabs(wanted);
}

static weft_status *different(size_t output, const char *runtime, int64_t position, double got, double wanted)
{
    return weft_status_create(NULL, WEFT_INTERNAL, "onnx", "output %zu on %s, element %lld: %.9g instead of %.9g",
                              output, runtime, (long long)position, got, wanted);
}

static weft_status *compare(weft_executor *executor, size_t output, const char *runtime, const weft_array *got,
                            const weft_array *wanted)
{
    size_t rank = weft_array_rank(wanted);
    if (weft_array_dtype(got) != weft_array_dtype(wanted) || weft_array_rank(got) != rank ||
        memcmp(weft_array_shape(got), weft_array_shape(wanted), rank * sizeof(int64_t)) != 0)
        return weft_status_create(NULL, WEFT_INTERNAL, "onnx", "output %zu on %s has another type or shape", output,
                                  runtime);
    weft_array *a, *b;
    WEFT_TRY(widen(executor, got, &a));
    WEFT_TRY(widen(executor, wanted, &b));
    const double *x = weft_array_data(a), *y = weft_array_data(b);
    weft_status *status = NULL;
    for (int64_t i = 0; status == NULL && i < 2 * weft_array_count(a); i++)
        if (!is_close(x[i], y[i])) status = different(output, runtime, i / 2, x[i], y[i]);
    weft_array_release(a);
    weft_array_release(b);
    return status;
}

/* ---- one model ---- */

static weft_array *input_of(const onnx_import *import, const char *name)
{
    for (size_t i = 0; i < import->input_count; i++)
        if (strcmp(import->input_names[i], name) == 0) return import->inputs[i];
    return NULL;
}

static weft_status *run_program(const onnx_import *import, weft_program *program, const char *runtime,
                                const arrays *wanted)
{
    arrays got = {.count = wanted->count};
    weft_array *inputs[ONNX_MAX_TENSORS];
    size_t count = weft_program_input_count(program);
    for (size_t i = 0; i < count; i++) inputs[i] = input_of(import, weft_program_input_name(program, i));
    weft_run run = {
        .runtime = runtime, .input_count = count, .inputs = inputs, .output_count = got.count, .outputs = got.items};
    weft_status *status = weft_executor_run(import->executor, program, &run);
    for (size_t i = 0; status == NULL && i < got.count; i++)
        status = compare(import->executor, i, runtime, got.items[i], wanted->items[i]);
    if (status == NULL || got.items[0] != NULL) arrays_release(&got);
    return status;
}

static weft_status *run_traced(const onnx_import *import, const weft_tensor *outputs, const arrays *wanted)
{
    weft_program *program;
    WEFT_TRY(weft_compile(import->graph, (weft_tensors){wanted->count, outputs}, NULL, &program));
    weft_status *status = NULL;
    for (size_t r = 0; status == NULL && r < sizeof runtimes / sizeof *runtimes; r++)
        status = run_program(import, program, runtimes[r], wanted);
    weft_program_release(program);
    return status;
}

static weft_status *run_data(weft_executor *executor, const Onnx__ModelProto *model, const arrays *inputs,
                             const arrays *wanted)
{
    const char *names[ONNX_MAX_TENSORS];
    weft_tensor outputs[ONNX_MAX_TENSORS];
    for (size_t i = 0; i < inputs->count; i++) names[i] = model->graph->input[i]->name;
    onnx_import import = {
        .executor = executor, .input_count = inputs->count, .input_names = names, .inputs = inputs->items};
    WEFT_TRY(weft_graph_create(NULL, &import.graph));
    weft_status *status = onnx_model_trace(&import, model, outputs);
    if (status == NULL) status = run_traced(&import, outputs, wanted);
    weft_graph_destroy(import.graph);
    return status;
}

static weft_status *run_model(weft_executor *executor, const char *folder, const Onnx__ModelProto *model)
{
    char path[1100];
    arrays inputs = {0}, wanted = {0};
    snprintf(path, sizeof path, "%s/test_data_set_0", folder);
    weft_status *status = read_arrays(path, "input", model->graph->n_input, model->graph->input, &inputs);
    if (status == NULL) status = read_arrays(path, "output", model->graph->n_output, model->graph->output, &wanted);
    if (status == NULL) status = run_data(executor, model, &inputs, &wanted);
    arrays_release(&inputs);
    arrays_release(&wanted);
    return status;
}

static weft_status *run_folder(weft_executor *executor, const char *folder)
{
    char path[1100];
    uint8_t *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    WEFT_TRY(onnx_file_read(path, &bytes, &size));
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
    free(bytes);
    if (model == NULL) return weft_status_create(NULL, WEFT_BAD_FILE, "onnx", "%s holds no model", path);
    weft_status *status = run_model(executor, folder, model);
    onnx__model_proto__free_unpacked(model, NULL);
    return status;
}

/* ---- all models ---- */

static void count_unsupported(tally *counts, const char *text)
{
    size_t i = 0;
    while (i < counts->reason_count && strcmp(counts->reasons[i].text, text) != 0) i++;
    if (i == sizeof counts->reasons / sizeof *counts->reasons) return;
    if (i == counts->reason_count) snprintf(counts->reasons[counts->reason_count++].text, 256, "%s", text);
    counts->reasons[i].count++;
    counts->unsupported++;
}

static void run_named(weft_executor *executor, const char *root, const char *name, bool verbose, tally *counts)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/%s", root, name);
    weft_status *status = run_folder(executor, folder);
    if (status == NULL) counts->passed++;
    else if (weft_status_code(status) == WEFT_UNSUPPORTED) count_unsupported(counts, weft_status_message(status));
    else counts->failed++;
    bool failed = status != NULL && weft_status_code(status) != WEFT_UNSUPPORTED;
    if (verbose || failed) printf("%s: %s\n", name, status == NULL ? "passed" : weft_status_message(status));
    weft_status_destroy(status);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const reason *)a)->text, ((const reason *)b)->text);
}

static void print_reason(const reason *item, char *out_line, size_t size)
{
    snprintf(out_line, size, "%zu %s\n", item->count, item->text);
}

/* Whether the file says exactly what was found, in order. */
static bool matches_list(const char *path, const tally *counts)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool same = true;
    char found[512], line[512];
    for (size_t i = 0; same && i < counts->reason_count; i++) {
        print_reason(&counts->reasons[i], found, sizeof found);
        same = fgets(line, sizeof line, file) != NULL && strcmp(line, found) == 0;
    }
    same = same && fgets(line, sizeof line, file) == NULL;
    fclose(file);
    return same;
}

static void print_list(const char *path, const tally *counts)
{
    char line[512];
    printf("%s should say:\n", path);
    for (size_t i = 0; i < counts->reason_count; i++) {
        print_reason(&counts->reasons[i], line, sizeof line);
        printf("%s", line);
    }
}

static int run_all(weft_executor *executor, const char *root, const char *list)
{
    static tally counts;
    struct dirent **entries;
    int count = scandir(root, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (strncmp(entries[i]->d_name, "test_", 5) == 0) run_named(executor, root, entries[i]->d_name, false, &counts);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    qsort(counts.reasons, counts.reason_count, sizeof *counts.reasons, by_text);
    bool same = matches_list(list, &counts);
    if (!same) print_list(list, &counts);
    printf("%zu passed, %zu unsupported, %zu failed\n", counts.passed, counts.unsupported, counts.failed);
    return counts.failed > 0 || counts.passed == 0 || !same;
}

int main(int count, char **words)
{
    if (count < 3) {
        fprintf(stderr, "usage: onnx FOLDER UNSUPPORTED [NAME]\n");
        return 2;
    }
    weft_executor *executor;
    weft_status *status = weft_executor_create_standard(NULL, &executor);
    if (status != NULL) {
        fprintf(stderr, "%s\n", weft_status_message(status));
        weft_status_destroy(status);
        return 1;
    }
    tally counts = {0};
    int result = 0;
    if (count > 3) run_named(executor, words[1], words[3], true, &counts);
    else result = run_all(executor, words[1], words[2]);
    weft_executor_destroy(executor);
    return result != 0 || counts.failed > 0;
}
