/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PROFILE_H
#define WEFT_TOOLS_PROFILE_H
/* What profiled runs tell, as a table and as a trace. */
#include <stdio.h>
#include <weft/executor.h>

/* A step, over all runs. */
typedef struct weft_profile_step {
    char *name; /* NULL: never ran */
    weft_profile_kind kind;
    size_t depth;
    size_t calls;        /* in the last run */
    double bytes, flops; /* in the last run */
    double ms;           /* in one run, all calls together; the median once finished */
    double *runs;        /* the same of each run */
} weft_profile_step;

/* One call of the last run, for the trace. */
typedef struct weft_profile_event {
    size_t step;
    int64_t begin_ns, end_ns;
    double bytes, flops;
} weft_profile_event;

typedef struct weft_profile_table {
    size_t run_count, run; /* in all; under way */
    size_t step_count, step_capacity;
    weft_profile_step *steps; /* by number */
    size_t event_count, event_capacity;
    weft_profile_event *events;
    size_t left_out; /* calls that are no events */
    bool traced;     /* events are kept */
    double total_ms; /* of the steps at depth 0 */
    bool failed;     /* memory was short */
    weft_profile hook;
} weft_profile_table;

/* From this many events on, further calls of steps in loops and branches are only counted. */
enum { WEFT_PROFILE_MOST_EVENTS = 1000000 };

/* Sums by step are always made; `traced`: events too. */
void weft_profile_table_init(weft_profile_table *table, size_t run_count, bool traced);
void weft_profile_table_finish(weft_profile_table *table);
/* What goes into the next run, weft_run.profile. */
const weft_profile *weft_profile_table_begin(weft_profile_table *table);
/* After the last run: medians and the total. */
weft_status *weft_profile_table_end(weft_profile_table *table) WEFT_MUST_USE;

void weft_profile_table_print(const weft_profile_table *table, FILE *file);
/* Writes the last run in the Trace Event Format (JSON Object Format), which Perfetto and chrome://tracing open, and
 * says on the standard error stream how many calls are left out, if any. */
weft_status *weft_profile_table_save(const weft_profile_table *table, const char *path) WEFT_MUST_USE;
#endif
