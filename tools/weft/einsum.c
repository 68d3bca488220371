/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/einsum.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../npy.h"
#include "command.h"
#include "file.h"
#include "print.h"
#include "session.h"

typedef struct einsum_job {
    const weft_arguments *arguments;
    const char *text;
    weft_plugins plugins;
    weft_session session;
    size_t count;
    weft_array **arrays;
    weft_graph *graph;
    int64_t *path;
    weft_ints *shapes;
    weft_tensor *operands;
    weft_einsum_options options;
    weft_einsum_plan *plan;
} einsum_job;

/* "0-1,0-1" as pairs of positions. */
static weft_status *parse_path(const char *text, int64_t *path, size_t *out_count)
{
    const char *at = text;
    size_t count = 0;
    for (bool more = true; more; count += 2) {
        int length = 0;
        if (sscanf(at, "%9" SCNd64 "-%9" SCNd64 "%n", &path[count], &path[count + 1], &length) != 2)
            return weft_misuse("--optimize path: takes pairs of positions such as 0-1,0-1, not '%s'", text);
        at += length;
        more = *at == ',';
        at += more;
    }
    if (*at != 0) return weft_misuse("--optimize path: takes pairs of positions such as 0-1,0-1, not '%s'", text);
    *out_count = count;
    return NULL;
}

static weft_status *parse_order(einsum_job *job)
{
    static const char *const names[] = {
        [WEFT_EINSUM_AUTO] = "auto", [WEFT_EINSUM_LEFT] = "left", [WEFT_EINSUM_NESTED] = "nested"};
    const char *text = weft_arguments_text(job->arguments, "--optimize", "auto");
    job->options.size = sizeof job->options;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i] == NULL || strcmp(text, names[i]) != 0) continue;
        job->options.order = (weft_einsum_order)i;
        return NULL;
    }
    if (strncmp(text, "path:", 5) != 0)
        return weft_misuse("--optimize takes auto, left, nested or path:0-1,..., not '%s'", text);
    job->path = calloc(strlen(text), sizeof *job->path);
    if (job->path == NULL) return weft_status_out_of_memory();
    job->options.order = WEFT_EINSUM_PATH;
    job->options.path.items = job->path;
    return parse_path(text + 5, job->path, &job->options.path.count);
}

static weft_status *load_operands(einsum_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        weft_array **array = &job->arrays[i];
        WEFT_TRY(weft_file_load(job->arguments->operands[i + 1], NULL, array));
        job->shapes[i] = (weft_ints){weft_array_rank(*array), weft_array_shape(*array)};
    }
    return NULL;
}

/* An extent of one is what broadcasts, so it is never a symbol. */
static weft_extent extent_of(const einsum_job *job, size_t operand, size_t axis)
{
    int64_t extent = job->shapes[operand].items[axis];
    char name[48];
    if (extent == 1 || weft_arguments_find(job->arguments, "--symbolic") == NULL) return weft_extent_of(extent);
    snprintf(name, sizeof name, "n%zu_%zu", operand, axis);
    return weft_symbol(job->graph, name, 0, extent);
}

static void trace_operand(einsum_job *job, size_t operand)
{
    weft_extent extents[WEFT_MAX_RANK];
    weft_ints shape = job->shapes[operand];
    char name[32];
    for (size_t axis = 0; axis < shape.count; axis++) extents[axis] = extent_of(job, operand, axis);
    snprintf(name, sizeof name, "operand%zu", operand);
    job->operands[operand] =
        weft_input(job->graph, name, weft_array_dtype(job->arrays[operand]), (weft_shape){shape.count, extents});
}

static weft_status *plan(einsum_job *job)
{
    double begin = weft_clock_ms();
    WEFT_TRY(weft_einsum_plan_create(NULL, job->text, job->count, job->shapes, &job->options, &job->plan));
    job->session.plan_ms = weft_clock_ms() - begin;
    return NULL;
}

/* With known extents the plan at hand is the order; with symbols it is found again at the run. A tree goes with flat
 * text only. */
static weft_einsum_options traced_options(const einsum_job *job)
{
    bool symbolic = weft_arguments_find(job->arguments, "--symbolic") != NULL;
    if (symbolic || job->options.order == WEFT_EINSUM_NESTED) return job->options;
    return (weft_einsum_options){.size = sizeof job->options, .order = WEFT_EINSUM_TREE, .tree = job->plan};
}

static weft_status *trace(einsum_job *job)
{
    weft_einsum_options options = traced_options(job);
    WEFT_TRY(weft_graph_create(NULL, &job->graph));
    for (size_t i = 0; i < job->count; i++) trace_operand(job, i);
    weft_tensor result = (weft_einsum)(job->text, (weft_tensors){job->count, job->operands}, &options);
    WEFT_TRY(weft_session_compile(&job->session, job->graph, WEFT_TENSORS(result), NULL));
    for (size_t i = 0; i < job->count; i++) job->session.inputs[i] = weft_array_retain(job->arrays[i]);
    return NULL;
}

static weft_status *print_stats(const einsum_job *job)
{
    cJSON *stats = cJSON_CreateObject();
    cJSON_AddNumberToObject(stats, "log10_flops", weft_einsum_plan_log10_flops(job->plan));
    cJSON_AddNumberToObject(stats, "log2_size", weft_einsum_plan_log2_size(job->plan));
    cJSON_AddStringToObject(stats, "order", weft_einsum_plan_order(job->plan));
    return weft_session_print_stats(&job->session, job->arguments, stats);
}

static weft_status *run_job(einsum_job *job)
{
    const char *path = weft_arguments_text(job->arguments, "-o", NULL);
    if (path != NULL) WEFT_TRY(weft_file_check_single(path));
    WEFT_TRY(parse_order(job));
    WEFT_TRY(weft_plugins_init(&job->plugins, job->arguments));
    WEFT_TRY(weft_session_init(&job->session, job->arguments, &job->plugins));
    job->arrays = calloc(job->count, sizeof(weft_array *));
    job->shapes = calloc(job->count, sizeof *job->shapes);
    job->operands = calloc(job->count, sizeof *job->operands);
    if (job->arrays == NULL || job->shapes == NULL || job->operands == NULL) return weft_status_out_of_memory();
    WEFT_TRY(load_operands(job));
    WEFT_TRY(plan(job));
    WEFT_TRY(trace(job));
    WEFT_TRY(weft_session_run(&job->session, job->arguments));
    if (path != NULL) WEFT_TRY(weft_npy_save(NULL, path, job->session.outputs[0]));
    else WEFT_TRY(weft_array_print(stdout, job->session.outputs[0]));
    WEFT_TRY(weft_session_report(&job->session, job->arguments));
    return print_stats(job);
}

static weft_status *run(const weft_arguments *arguments)
{
    einsum_job job = {.arguments = arguments, .text = arguments->operands[0], .count = arguments->operand_count - 1};
    weft_status *status = run_job(&job);
    weft_session_finish(&job.session);
    weft_graph_destroy(job.graph);
    weft_einsum_plan_destroy(job.plan);
    for (size_t i = 0; job.arrays != NULL && i < job.count; i++) weft_array_release(job.arrays[i]);
    weft_plugins_finish(&job.plugins);
    free(job.arrays);
    free(job.path);
    free(job.shapes);
    free(job.operands);
    return status;
}

static const weft_option options[] = {
    {"-o", WEFT_OPTION_TEXT, "OUT.npy", "write the result there instead of printing it"},
    {"--optimize", WEFT_OPTION_TEXT, "auto|left|path:0-1,0-1|nested", "in which order to contract (auto)"},
    {"--symbolic", WEFT_OPTION_FLAG, NULL, "leave extents open until the run, but for those of one"},
    WEFT_SESSION_OPTIONS,
};

const weft_command weft_command_einsum = {
    .name = "einsum",
    .operands = " EXPR A.npy B.npy ... [OPTION ...]",
    .summary = "contract arrays as an einsum expression says",
    .detail = "EXPR is as in numpy: 'ij,jk->ik'. With --optimize nested it has parentheses: '(ij,jk),kl->il'. A path\n"
              "names in each step two positions of a list that loses both and gets the result at its end. An operand "
              "may also\n"
              "be FILE.npz:ARRAY.",
    .least = 2,
    .most = SIZE_MAX,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
