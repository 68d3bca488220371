/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SESSION_H
#define WEFT_TOOLS_SESSION_H
/* What `einsum` and `run` share: a program with its arrays, run some times and measured. */
#include <cjson/cJSON.h>
#include <weft/executor.h>
#include "measure.h"
#include "module.h"
#include "options.h"
#include "plugins.h"
#include "profile.h"
#include "schedule.h"

/* Rows of an option table. */
#define WEFT_SESSION_OPTIONS                                                                                           \
    {"--backend", WEFT_OPTION_CHOICE, "llvm|ref|ref-ordered", "what runs it (llvm)"},                                  \
        {"--threads", WEFT_OPTION_THREADS, "N", "threads, at most 1024 (0: as many as processors)"},                   \
        WEFT_MACHINE_OPTION, WEFT_SCHEDULES_OPTION,                                                                    \
        {"--code", WEFT_OPTION_CHOICE, "optimized|tiered|quick",                                                       \
         "whether code is optimised: before it runs, in the background, or not (optimized)"},                          \
        {"--cache", WEFT_OPTION_FILE, "DIR", "keep compiled kernels in this directory, for runs to come"},             \
        WEFT_PRODUCTS_OPTION,                                                                                          \
        {"--repeat", WEFT_OPTION_COUNT, "N", "run it this many times and report the median (1)"},                      \
        {"--profile", WEFT_OPTION_FLAG, NULL, "print what each step took and did"},                                    \
        {"--trace", WEFT_OPTION_FILE, "FILE.json", "write the last run as a trace for Perfetto or chrome://tracing"},  \
    {                                                                                                                  \
        "--stats", WEFT_OPTION_FLAG, NULL, "print one JSON object as the last line"                                    \
    }

typedef struct weft_session {
    weft_executor *executor;
    weft_schedules *schedules; /* of the executor; NULL: none */
    weft_policy policy;
    weft_program *program;
    size_t input_count, output_count;
    weft_array **inputs, **outputs; /* owned; entries may be NULL */
    size_t extent_count;
    weft_binding *extents; /* values of symbols; owned, as their names are */
    double plan_ms, compile_ms, run_ms;
    size_t peak_bytes, packed_bytes;
    bool once; /* whatever --repeat, --profile and --trace say */
    bool profiled;
    weft_profile_table profile; /* if profiled */
} weft_session;

/* Of a clock that only goes forward. */
double weft_clock_ms(void);
/* Sorts them; 0 of none. */
double weft_median(size_t count, double *values);

/* Whether there is a place for the file of --trace, and nothing printed between arrays. */
weft_status *weft_session_check(const weft_arguments *arguments) WEFT_MUST_USE;
weft_status *weft_session_init(weft_session *session, const weft_arguments *arguments,
                               const weft_plugins *plugins) WEFT_MUST_USE;
void weft_session_finish(weft_session *session);
/* Compiles what is no program yet, and makes room for the arrays; the time counts as compile_ms. */
weft_status *weft_session_compile(weft_session *session, const weft_source *source) WEFT_MUST_USE;
/* Runs as `arguments` say; the first run makes the outputs, the others write to them again. Profiles if --profile or
 * --trace is given, or `session->profiled` was set. */
weft_status *weft_session_run(weft_session *session, const weft_arguments *arguments) WEFT_MUST_USE;
/* Prints and writes what --profile and --trace ask for. */
weft_status *weft_session_report(const weft_session *session, const weft_arguments *arguments) WEFT_MUST_USE;
/* Prints the line of --stats if it was asked for; `extra`, which is taken, has further members or is NULL. */
weft_status *weft_session_print_stats(const weft_session *session, const weft_arguments *arguments,
                                      cJSON *extra) WEFT_MUST_USE;
#endif
