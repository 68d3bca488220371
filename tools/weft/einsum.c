/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/einsum.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../interrupt.h"
#include "../output.h"
#include "command.h"
#include "contraction.h"
#include "file.h"
#include "order.h"
#include "progress.h"
#include "random.h"
#include "tree.h"

typedef struct einsum_job {
    weft_contraction x;
    weft_ints labels; /* of the operands, as weft_instance_list_labels has them */
    weft_order order;
    bool interrupted; /* while it was planned: nothing is run */
} einsum_job;

static bool has(const einsum_job *job, const char *option)
{
    return weft_arguments_find(job->x.arguments, option) != NULL;
}

/* ---- what is contracted ---- */

static weft_status *check_arguments(const einsum_job *job)
{
    static const char *const with_instance[] = {"--dtype", "--check"};
    static const char *const with_run[] = {"-o",      "--check",    "--repeat", "--profile",
                                           "--trace", "--symbolic", "--backend"};
    size_t count = job->x.arguments->operand_count;
    if (job->x.path != NULL && count > 0)
        return weft_misuse("'%s' cannot be combined with --instance", job->x.arguments->operands[0]);
    if (job->x.path == NULL && count < 2)
        return weft_misuse("an expression and arrays are needed, or --instance; see 'weft help einsum'");
    if (job->x.path == NULL && weft_file_ends_with(job->x.arguments->operands[0], ".npy"))
        return weft_misuse("the expression comes first, such as 'ij,jk->ik'; '%s' is a file",
                           job->x.arguments->operands[0]);
    WEFT_TRY(weft_file_check_inputs(count, job->x.arguments->operands));
    for (size_t i = 0; i < sizeof with_instance / sizeof *with_instance; i++)
        if (job->x.path == NULL && has(job, with_instance[i]))
            return weft_misuse("%s requires --instance", with_instance[i]);
    for (size_t i = 0; i < sizeof with_run / sizeof *with_run; i++)
        if (has(job, "--plan-only") && has(job, with_run[i]))
            return weft_misuse("%s needs a run, which --plan-only leaves out", with_run[i]);
    if (has(job, "--check") && strcmp(weft_arguments_text(job->x.arguments, "--optimize", ""), "nested") == 0)
        return weft_misuse("--check needs an expression without parentheses, to contract it otherwise");
    const char *out = weft_arguments_text(job->x.arguments, "-o", NULL),
               *tree = weft_arguments_text(job->x.arguments, "--tree", NULL);
    size_t text = count > 0; /* the expression */
    WEFT_TRY(
        weft_file_check_results(job->x.arguments, count - text, job->x.arguments->operands + text, out != NULL, &out));
    if (tree != NULL) WEFT_TRY(weft_tree_check("--tree", tree));
    WEFT_TRY(weft_session_check(job->x.arguments));
    return out == NULL ? NULL : weft_file_check_single(out);
}

static weft_status *load_instance(einsum_job *job)
{
    const char *dtype = weft_arguments_text(job->x.arguments, "--dtype", NULL);
    WEFT_TRY(weft_instance_load(job->x.path, &job->x.instance));
    if (dtype == NULL || weft_dtype_find(dtype, &job->x.instance.dtype)) return NULL;
    return weft_misuse("--dtype takes the name of a dtype such as f32, f64 or c64, not '%s'", dtype);
}

/* ---- the order ---- */

static weft_einsum_options order_options(const einsum_job *job)
{
    weft_einsum_options options = job->x.planner.options;
    options.order = job->order.order;
    options.path = job->order.path;
    options.sliced = job->order.sliced;
    return options;
}

static bool is_numbered(const weft_instance *x)
{
    return x->labels != NULL || strchr(x->text, '[') != NULL;
}

/* What ended the search for an order is told after the order is printed. */
static weft_status *tell_interrupt(const einsum_job *job)
{
    return weft_status_create(NULL, WEFT_CANCELLED, NULL,
                              "interrupted after %.1f s; the order is the best found so far%s",
                              job->x.session.plan_ms * 1e-3, has(job, "--plan-only") ? "" : ", and nothing was run");
}

/* Whether an option for the search has something to say: to that for the order, or for the second one of --check. A
 * seed is also that of operands made up. */
static bool applies(const einsum_job *job, const char *option)
{
    if (job->order.order == WEFT_EINSUM_AUTO) return true;
    if (strcmp(option, "--seed") == 0) return job->x.path != NULL && !has(job, "--plan-only");
    return has(job, "--check") && strcmp(option, "--memory-limit") != 0;
}

/* Refuses what a search is told where there is none. */
static weft_status *check_search(const einsum_job *job)
{
    static const char *const of_search[] = {"--moves", "--time-budget", "--objective", "--seed", "--memory-limit"};
    const char *by = has(job, "--order")      ? "--order"
                     : has(job, "--optimize") ? "--optimize"
                                              : "the instance; --optimize auto searches all the same";
    for (size_t i = 0; i < sizeof of_search / sizeof *of_search; i++)
        if (has(job, of_search[i]) && !applies(job, of_search[i]))
            return weft_misuse("%s is about the search for an order, but the order is given by %s", of_search[i], by);
    return NULL;
}

static weft_status *plan(einsum_job *job)
{
    weft_progress progress;
    WEFT_TRY(weft_planner_init(&job->x.planner, job->x.arguments));
    job->x.planner.options.dtype = job->x.instance.dtype;
    WEFT_TRY(weft_instance_list_labels(&job->x.instance, &job->labels));
    weft_order_subject subject = {.counts = {job->x.instance.count, job->labels.count},
                                  .labels = job->labels,
                                  .numbered = is_numbered(&job->x.instance),
                                  .order = job->x.instance.order,
                                  .path = job->x.path};
    WEFT_TRY(weft_order_init(&job->order, job->x.arguments, &subject));
    WEFT_TRY(check_search(job));
    weft_einsum_options options = order_options(job);
    options.watch = weft_progress_begin(&progress, job->x.arguments);
    weft_interrupt_begin();
    double begin = weft_clock_ms();
    weft_status *status = weft_contraction_plan(&job->x, &options, &job->x.plan);
    job->x.session.plan_ms = weft_clock_ms() - begin;
    weft_progress_end(&progress);
    job->interrupted = weft_interrupt_end() && status == NULL;
    return status;
}

/* Whether the order is found at run time. */
static bool is_late(const einsum_job *job)
{
    return has(job, "--symbolic") || has(job, "--memory-limit");
}

/* With known extents the plan at hand is the order; with symbols, or a memory limit, it is found again at run time. A
 * tree goes with flat text only. */
static weft_einsum_options traced_options(const einsum_job *job)
{
    if (is_late(job) || job->order.order == WEFT_EINSUM_NESTED) return order_options(job);
    return (weft_einsum_options){.size = sizeof(weft_einsum_options), .order = WEFT_EINSUM_TREE, .tree = job->x.plan};
}

/* ---- what is printed ---- */

static weft_status *print_plan(const einsum_job *job)
{
    const char *tree = weft_arguments_text(job->x.arguments, "--tree", NULL);
    const char *form = weft_arguments_text(job->x.arguments, "--print-order", job->interrupted ? "ssa" : NULL);
    bool numbered = is_numbered(&job->x.instance);
    if (job->x.path != NULL || has(job, "--plan-only") || job->interrupted) {
        printf(WEFT_LINE_OPERANDS "%zu\n", weft_einsum_plan_operand_count(job->x.plan));
        printf(WEFT_LINE_LABELS "%zu\n", weft_einsum_plan_label_count(job->x.plan));
        printf(WEFT_LINE_FLOPS "%.4f\n", weft_einsum_plan_log10_flops(job->x.plan));
        printf(WEFT_LINE_SIZE "%.4f\n", weft_einsum_plan_log2_size(job->x.plan));
        if (weft_einsum_plan_log2_peak(job->x.plan) > -INFINITY)
            printf(WEFT_LINE_PEAK "%.4f\n", weft_einsum_plan_log2_peak(job->x.plan));
        if (weft_einsum_plan_sliced(job->x.plan).count > 0) {
            WEFT_TRY(weft_order_print_sliced(job->x.plan, numbered));
            printf(WEFT_LINE_OVERHEAD "%.3g" WEFT_LINE_TIMES "\n",
                   pow(10, weft_einsum_plan_log10_overhead(job->x.plan)));
        }
        printf(WEFT_LINE_SECONDS "%s\n", weft_planner_print_ms(job->x.plan, 4).text);
    } else if (form != NULL) {
        WEFT_TRY(weft_order_print_sliced(job->x.plan, numbered));
    }
    WEFT_TRY(weft_order_print(job->x.plan, form));
    fflush(stdout); /* what follows may take long */
    return tree == NULL ? NULL : weft_tree_save(job->x.plan, tree);
}

static void print_result(const einsum_job *job)
{
    const weft_array *result = job->x.session.outputs[0];
    double re, im;
    weft_array_sum(result, &re, &im);
    printf("planning ms         %.3f\n", job->x.session.plan_ms);
    printf("compiling ms        %.3f\n", job->x.session.compile_ms);
    bool first = is_late(job) && weft_arguments_count(job->x.arguments, "--repeat", 1) == 1;
    printf("running ms          %.3f%s\n", job->x.session.run_ms, first ? ", planning and compiling in it" : "");
    printf("intermediates MiB   %.3f\n", (double)job->x.session.peak_bytes / (1 << 20));
    printf("result              %s[", weft_dtype_name(weft_array_dtype(result)));
    for (size_t axis = 0; axis < weft_array_rank(result); axis++)
        printf("%s%lld", axis == 0 ? "" : ", ", (long long)weft_array_shape(result)[axis]);
    printf("], sum %.9g", re);
    if (weft_dtype_component(weft_array_dtype(result)) != weft_array_dtype(result)) printf("%+.9gj", im);
    printf("\n");
}

static weft_status *fill_stats(const einsum_job *job, cJSON *stats)
{
    char *sliced;
    WEFT_TRY(weft_order_write_sliced(job->x.plan, is_numbered(&job->x.instance), &sliced));
    cJSON_AddNumberToObject(stats, "operands", (double)weft_einsum_plan_operand_count(job->x.plan));
    cJSON_AddNumberToObject(stats, "labels", (double)weft_einsum_plan_label_count(job->x.plan));
    cJSON_AddNumberToObject(stats, "log10_flops", weft_einsum_plan_log10_flops(job->x.plan));
    cJSON_AddNumberToObject(stats, "log2_size", weft_einsum_plan_log2_size(job->x.plan));
    cJSON_AddNumberToObject(stats, "log2_peak", weft_einsum_plan_log2_peak(job->x.plan));
    cJSON_AddNumberToObject(stats, "log10_overhead", weft_einsum_plan_log10_overhead(job->x.plan));
    cJSON_AddRawToObject(stats, "predicted_ms", weft_planner_print_ms(job->x.plan, 15).text);
    cJSON_AddNumberToObject(stats, "sliced", (double)weft_einsum_plan_sliced(job->x.plan).count);
    cJSON_AddStringToObject(stats, "sliced_labels", sliced);
    cJSON_AddStringToObject(stats, "order", weft_einsum_plan_order(job->x.plan));
    free(sliced);
    return NULL;
}

static weft_status *print_plan_stats(const einsum_job *job, cJSON *stats)
{
    if (!has(job, "--stats")) return NULL;
    cJSON_AddNumberToObject(stats, "plan_ms", job->x.session.plan_ms);
    char *text = cJSON_PrintUnformatted(stats);
    if (text == NULL) return weft_status_out_of_memory();
    printf("%s\n", text);
    cJSON_free(text);
    return NULL;
}

static weft_status *write_result(const einsum_job *job)
{
    const char *out = weft_arguments_text(job->x.arguments, "-o", NULL);
    if (job->x.path != NULL) print_result(job);
    if (out != NULL) return weft_file_save(out, job->x.session.outputs[0]);
    return job->x.path != NULL ? NULL : weft_file_print(job->x.session.outputs[0]);
}

/* ---- all ---- */

/* A run of more than an hour is said to be one. */
static void tell_duration(const einsum_job *job)
{
    double hours = pow(10, weft_einsum_plan_log10_seconds(job->x.plan)) / 3600;
    if (hours <= 1) return;
    fprintf(stderr, "weft einsum: the run is predicted to take %.3g hours", hours);
    if (weft_einsum_plan_sliced(job->x.plan).count > 0)
        fprintf(stderr, "; slicing overhead %.3gx", pow(10, weft_einsum_plan_log10_overhead(job->x.plan)));
    fprintf(stderr, "\n");
}

static weft_status *run_plan(einsum_job *job, cJSON *stats)
{
    weft_einsum_options options = traced_options(job);
    WEFT_TRY(weft_contraction_check_memory(&job->x, job->x.plan));
    tell_duration(job);
    if (job->x.path != NULL) WEFT_TRY(weft_contraction_draw_arrays(&job->x));
    WEFT_TRY(weft_contraction_run(&job->x, &options, &job->x.session));
    WEFT_TRY(write_result(job));
    WEFT_TRY(weft_session_report(&job->x.session, job->x.arguments));
    return has(job, "--check") ? weft_contraction_check(&job->x, stats) : NULL;
}

static weft_status *run_job(einsum_job *job)
{
    WEFT_TRY(check_arguments(job));
    WEFT_TRY(weft_plugins_init(&job->x.plugins, job->x.arguments));
    WEFT_TRY(job->x.path != NULL ? load_instance(job) : weft_contraction_load_arrays(&job->x));
    if (!has(job, "--plan-only")) WEFT_TRY(weft_session_init(&job->x.session, job->x.arguments, &job->x.plugins));
    WEFT_TRY(plan(job));
    WEFT_TRY(print_plan(job));
    cJSON *stats = cJSON_CreateObject();
    if (stats == NULL) return weft_status_out_of_memory();
    bool planned = has(job, "--plan-only") || job->interrupted;
    weft_status *status = fill_stats(job, stats);
    if (status == NULL) status = planned ? print_plan_stats(job, stats) : run_plan(job, stats);
    if (status == NULL && job->interrupted) status = tell_interrupt(job);
    if (status == NULL && !planned) return weft_session_print_stats(&job->x.session, job->x.arguments, stats);
    cJSON_Delete(stats);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    einsum_job job = {.x = {.arguments = arguments, .path = weft_arguments_text(arguments, "--instance", NULL)}};
    weft_status *status = run_job(&job);
    weft_contraction_finish(&job.x);
    weft_order_finish(&job.order);
    free((void *)job.labels.items);
    return status;
}

static const weft_option options[] = {
    {"-o", WEFT_OPTION_FILE, "OUT.npy", "write the result there instead of printing it"},
    {"--instance", WEFT_OPTION_FILE, "FILE.json", "contract what the file describes, on generated operands"},
    {"--dtype", WEFT_OPTION_TEXT, "f32|f64|c64|...", "of these operands (the file's, or f32)"},
    {"--plan-only", WEFT_OPTION_FLAG, NULL, "find the order, and run nothing"},
    WEFT_ORDER_OPTIONS,
    WEFT_PLANNER_OPTIONS,
    WEFT_PROGRESS_OPTION,
    {"--tree", WEFT_OPTION_FILE, "FILE.svg|FILE.dot|FILE.txt", "draw the contraction tree there"},
    {"--check", WEFT_OPTION_FLAG, NULL, "with --instance: contract in another order too, and compare the results"},
    {"--symbolic", WEFT_OPTION_FLAG, NULL, "make all extents symbolic, except extents of one"},
    WEFT_SESSION_OPTIONS,
};

const weft_command weft_command_einsum = {
    .name = "einsum",
    .operands = " EXPR A.npy B.npy ... | --instance FILE.json [OPTION ...]",
    .summary = "contract arrays as an einsum expression says",
    .detail =
        "EXPR is as in numpy: 'ij,jk->ik'; with --optimize nested it has parentheses: '(ij,jk),kl->il'. Each step of\n"
        "a path names two positions in a list that loses both and gets the result at its end; ssa names values, and\n"
        "each step makes a new one. --order reads either as a list of steps, or a tree of operand numbers such as\n"
        "((0, 1), 2): what --print-order prints as path, ssa or nested. The lines that --plan-only prints before it\n"
        "may precede it and must match; labels they list as sliced are sliced unless --slice names others;\n"
        "'...[0]' is the first axis of the ellipsis. An operand may also be FILE.npz:ARRAY, or '-' for standard\n"
        "input; -o - is standard output.\n\n"
        "An instance is an object with \"inputs\" and \"output\", lists of labels (integers or letters), or a\n"
        "\"format_string\"; and \"sizes\" or \"size_dict\": an object with the extent of each label, {\"i\": 4} or\n"
        "{\"0\": 4}, or for integer labels a list with the extent of label i at index i. With a format string\n"
        "\"shapes\" may replace it. It may have an \"order\", as in --order files, and a \"dtype\".\n\n"
        "What is planned at run time, under --memory-limit and --symbolic, counts as the first run: --repeat reports\n"
        "the other runs.\n\n"
        "Ctrl-C ends the search for an order; what was found so far is printed as --plan-only and --print-order do\n"
        "(ssa if no form is named), nothing is run, and the exit status is 130. A second one ends at once.",
    .least = 0,
    .most = SIZE_MAX,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
