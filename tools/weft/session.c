/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../interrupt.h"
#include "../output.h"
#include "file.h"
#include "measure.h"

double weft_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool is_to_standard_output(const weft_option_value *value)
{
    const char *equals = strrchr(value->text == NULL ? "" : value->text, '=');
    return strcmp(value->option->name, "-o") == 0 && weft_output_is_standard(equals == NULL ? value->text : equals + 1);
}

/* Standard output gets arrays or text. */
static weft_status *check_standard_output(const weft_arguments *arguments)
{
    static const char *const printing[] = {"--stats", "--profile", "--print-order", "--instance"};
    bool taken = false;
    for (size_t i = 0; i < arguments->value_count && !taken; i++) taken = is_to_standard_output(&arguments->values[i]);
    for (size_t i = 0; i < sizeof printing / sizeof *printing && taken; i++)
        if (weft_arguments_find(arguments, printing[i]) != NULL)
            return weft_misuse("%s prints to standard output, which gets an array by -o", printing[i]);
    return NULL;
}

weft_status *weft_session_check(const weft_arguments *arguments)
{
    WEFT_TRY(check_standard_output(arguments));
    const char *trace = weft_arguments_text(arguments, "--trace", NULL);
    return trace == NULL ? NULL : weft_output_check(trace);
}

static weft_status *check_schedules(const weft_arguments *arguments)
{
    static const char *const scheduling[] = {"--tune", "--schedules", "--schedule"};
    if (strcmp(weft_arguments_text(arguments, "--backend", "llvm"), "llvm") == 0) return NULL;
    for (size_t i = 0; i < sizeof scheduling / sizeof *scheduling; i++)
        if (weft_arguments_find(arguments, scheduling[i]) != NULL)
            return weft_misuse("%s is for the schedules of --backend llvm", scheduling[i]);
    return NULL;
}

static weft_status *check_tuning(const weft_arguments *arguments)
{
    const char *path = weft_arguments_text(arguments, "--schedules", NULL);
    if (weft_arguments_find(arguments, "--tune") == NULL) return NULL;
    if (path == NULL) return weft_misuse("--tune writes what it finds into a file: --schedules FILE");
    if (weft_arguments_find(arguments, "--schedule") != NULL)
        return weft_misuse("--tune looks for schedules, and --schedule gives one");
    return weft_output_check(path);
}

static weft_code_policy code_policy(const weft_arguments *arguments)
{
    const char *code = weft_arguments_text(arguments, "--code", "optimized");
    if (strcmp(code, "tiered") == 0) return WEFT_CODE_TIERED;
    return strcmp(code, "quick") == 0 ? WEFT_CODE_QUICK : WEFT_CODE_OPTIMIZED;
}

weft_status *weft_session_init(weft_session *session, const weft_arguments *arguments, const weft_plugins *plugins)
{
    weft_machine machine;
    weft_executor_options options = {.threads = (unsigned)weft_arguments_count(arguments, "--threads", 0),
                                     .code = code_policy(arguments),
                                     .cache_directory = weft_arguments_text(arguments, "--cache", NULL)};
    *session = (weft_session){.policy = weft_policy_of(arguments)};
    WEFT_TRY(weft_measure_given(arguments, &machine, &options.machine));
    WEFT_TRY(check_schedules(arguments));
    WEFT_TRY(check_tuning(arguments));
    WEFT_TRY(weft_schedule_load(arguments, weft_arguments_find(arguments, "--tune") != NULL, &session->schedules));
    options.schedules = session->schedules;
    WEFT_TRY(weft_executor_create_standard(&options, &session->executor));
    return weft_plugins_register(plugins, session->executor);
}

void weft_session_finish(weft_session *session)
{
    for (size_t i = 0; session->inputs != NULL && i < session->input_count; i++) weft_array_release(session->inputs[i]);
    for (size_t i = 0; session->outputs != NULL && i < session->output_count; i++)
        weft_array_release(session->outputs[i]);
    free(session->inputs);
    free(session->outputs);
    for (size_t i = 0; i < session->extent_count; i++) free((char *)session->extents[i].name);
    free(session->extents);
    weft_profile_table_finish(&session->profile);
    weft_executor_destroy(session->executor);
    weft_schedules_destroy(session->schedules);
    weft_program_release(session->program);
    *session = (weft_session){0};
}

weft_status *weft_session_compile(weft_session *session, const weft_source *source)
{
    double begin = weft_clock_ms();
    WEFT_TRY(weft_source_compile(source, &session->policy, &session->program));
    session->compile_ms += weft_clock_ms() - begin;
    session->output_count = weft_program_output_count(session->program);
    session->input_count = weft_program_input_count(session->program);
    session->outputs = calloc(session->output_count, sizeof *session->outputs);
    session->inputs = calloc(session->input_count + 1, sizeof *session->inputs);
    return session->outputs == NULL || session->inputs == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *run_once(weft_session *session, const char *backend, double *out_ms)
{
    weft_report report = {0};
    weft_run run = {.runtime = backend,
                    .input_count = session->input_count,
                    .inputs = session->inputs,
                    .output_count = session->output_count,
                    .outputs = session->outputs,
                    .extent_count = session->extent_count,
                    .extents = session->extents,
                    .cancelled = weft_interrupt_flag(),
                    .report = &report,
                    .profile = session->profiled ? weft_profile_table_begin(&session->profile) : NULL};
    double begin = weft_clock_ms();
    WEFT_TRY(weft_executor_run(session->executor, session->program, &run));
    double compile = (double)report.compile_ns * 1e-6;
    *out_ms = weft_clock_ms() - begin - compile;
    session->compile_ms += compile;
    session->peak_bytes = report.peak_bytes;
    session->packed_bytes = report.packed_bytes;
    return NULL;
}

/* Code that is not there, is damaged, or is for other instructions. */
static void report_compiled(const weft_session *session, const weft_arguments *arguments)
{
    weft_executor_counters counters = {.size = sizeof counters};
    if (weft_arguments_find(arguments, "--saved-code") == NULL) return;
    weft_executor_counters_read(session->executor, &counters);
    uint64_t count = counters.kernels_compiled;
    if (count > 0)
        fprintf(stderr, "'%s' has no code for %" PRIu64 " kernel%s of this run, compiled now; --save keeps code\n",
                weft_file_name(arguments->operands[0]), count, count == 1 ? "" : "s");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double weft_median(size_t count, double *values)
{
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Looks for faster schedules, which the executor has from now on, and saves them. */
static weft_status *tune(weft_session *session, const weft_arguments *arguments)
{
    weft_machine machine;
    weft_tune_report report;
    weft_tune_options options = {.executor = {.threads = weft_executor_threads(session->executor)},
                                 .seconds = weft_arguments_number(arguments, "--tune", 0)};
    const weft_run run = {.input_count = session->input_count,
                          .inputs = session->inputs,
                          .extent_count = session->extent_count,
                          .extents = session->extents,
                          .cancelled = weft_interrupt_flag()};
    WEFT_TRY(weft_measure_given(arguments, &machine, &options.executor.machine));
    WEFT_TRY(weft_tune(session->program, &run, &options, session->schedules, &report));
    fprintf(stderr, "schedules tried: %zu, kernels: %zu, faster now: %zu; all take %.4g us, %.4g before\n",
            report.tried, report.kernels, report.improved, report.best_ns * 1e-3, report.ruled_ns * 1e-3);
    return weft_schedule_save(session->schedules, weft_arguments_text(arguments, "--schedules", NULL));
}

weft_status *weft_session_run(weft_session *session, const weft_arguments *arguments)
{
    size_t repeats = session->once ? 1 : (size_t)weft_arguments_count(arguments, "--repeat", 1);
    const char *backend = weft_arguments_text(arguments, "--backend", NULL);
    double *times = calloc(repeats, sizeof *times);
    weft_interrupt_begin();
    weft_status *status = times == NULL ? weft_status_out_of_memory() : NULL;
    if (status == NULL && weft_arguments_find(arguments, "--tune") != NULL) status = tune(session, arguments);
    bool traced = weft_arguments_find(arguments, "--trace") != NULL;
    if (traced || weft_arguments_find(arguments, "--profile") != NULL) session->profiled = !session->once;
    weft_profile_table_init(&session->profile, repeats, traced);
    for (size_t i = 0; i < repeats && status == NULL; i++) {
        status = run_once(session, backend, &times[i]);
        if (i == 0 && status == NULL) report_compiled(session, arguments);
    }
    if (weft_interrupt_end() && status == NULL)
        status = weft_status_create(NULL, WEFT_CANCELLED, NULL, "interrupted when the run was done");
    if (status == NULL) session->run_ms = weft_median(repeats, times);
    free(times);
    return status == NULL && session->profiled ? weft_profile_table_end(&session->profile) : status;
}

weft_status *weft_session_report(const weft_session *session, const weft_arguments *arguments)
{
    const char *trace = weft_arguments_text(arguments, "--trace", NULL);
    if (weft_arguments_find(arguments, "--profile") != NULL) weft_profile_table_print(&session->profile, stdout);
    return trace == NULL ? NULL : weft_profile_table_save(&session->profile, trace);
}

static bool fill_disk(const weft_disk_counters *counters, cJSON *disk)
{
    return disk != NULL && cJSON_AddNumberToObject(disk, "hits", (double)counters->hits) != NULL &&
           cJSON_AddNumberToObject(disk, "misses", (double)counters->misses) != NULL &&
           cJSON_AddNumberToObject(disk, "refused", (double)counters->refused) != NULL &&
           cJSON_AddNumberToObject(disk, "writes", (double)counters->writes) != NULL &&
           cJSON_AddNumberToObject(disk, "evictions", (double)counters->evictions) != NULL &&
           cJSON_AddNumberToObject(disk, "failures", (double)counters->failures) != NULL;
}

static bool fill_stats(const weft_session *session, cJSON *stats)
{
    weft_executor_counters counters = {.size = sizeof counters};
    weft_executor_counters_read(session->executor, &counters);
    const weft_cache_counters *variants = &counters.variants;
    bool filled = cJSON_AddNumberToObject(stats, "plan_ms", session->plan_ms) != NULL &&
                  cJSON_AddNumberToObject(stats, "compile_ms", session->compile_ms) != NULL &&
                  cJSON_AddNumberToObject(stats, "run_ms", session->run_ms) != NULL &&
                  cJSON_AddNumberToObject(stats, "kernels", (double)counters.kernels_compiled) != NULL &&
                  cJSON_AddNumberToObject(stats, "peak_bytes", (double)session->peak_bytes) != NULL &&
                  cJSON_AddNumberToObject(stats, "packed_bytes", (double)session->packed_bytes) != NULL;
    cJSON *cache = filled ? cJSON_AddObjectToObject(stats, "cache") : NULL;
    return cache != NULL && cJSON_AddNumberToObject(cache, "hits", (double)variants->hits) != NULL &&
           cJSON_AddNumberToObject(cache, "misses", (double)variants->misses) != NULL &&
           cJSON_AddNumberToObject(cache, "entries", (double)variants->entries) != NULL &&
           cJSON_AddNumberToObject(cache, "bytes", (double)variants->bytes) != NULL &&
           fill_disk(&counters.disk, cJSON_AddObjectToObject(stats, "disk"));
}

weft_status *weft_session_print_stats(const weft_session *session, const weft_arguments *arguments, cJSON *extra)
{
    cJSON *stats = extra != NULL ? extra : cJSON_CreateObject();
    bool wanted = weft_arguments_find(arguments, "--stats") != NULL;
    char *text = wanted && stats != NULL && fill_stats(session, stats) ? cJSON_PrintUnformatted(stats) : NULL;
    if (text != NULL) printf("%s\n", text);
    cJSON_free(text);
    cJSON_Delete(stats);
    return wanted && text == NULL ? weft_status_out_of_memory() : NULL;
}
