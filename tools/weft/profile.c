/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "../output.h"
#include "session.h"

/* ---- collecting ---- */

/* Room for one more of `size` bytes in `*items`; false when there is none. */
static bool grow(void **items, size_t *capacity, size_t count, size_t size)
{
    if (count <= *capacity) return true;
    size_t wanted = count > 2 * *capacity ? count : 2 * *capacity;
    char *grown = realloc(*items, wanted * size);
    if (grown == NULL) return false;
    memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
    *items = grown;
    *capacity = wanted;
    return true;
}

static weft_profile_step *find_step(weft_profile_table *table, const weft_profile_record *record)
{
    if (!grow((void **)&table->steps, &table->step_capacity, record->step + 1, sizeof *table->steps)) return NULL;
    if (record->step >= table->step_count) table->step_count = record->step + 1;
    weft_profile_step *step = &table->steps[record->step];
    if (step->name != NULL) return step;
    step->runs = calloc(table->run_count, sizeof *step->runs);
    step->name = step->runs == NULL ? NULL : strdup(record->name);
    step->kind = record->kind;
    step->depth = record->depth;
    return step->name == NULL ? NULL : step;
}

/* Steps outside of regions are few, and come after those that they run: there is always room for them. */
static bool is_left_out(const weft_profile_table *table, const weft_profile_record *record)
{
    return record->depth > 0 && table->event_count >= WEFT_PROFILE_MOST_EVENTS;
}

static void add_event(weft_profile_table *table, const weft_profile_record *record)
{
    if (is_left_out(table, record)) {
        table->left_out++;
        return;
    }
    if (!grow((void **)&table->events, &table->event_capacity, table->event_count + 1, sizeof *table->events)) {
        table->failed = true;
        return;
    }
    table->events[table->event_count++] = (weft_profile_event){.step = record->step,
                                                               .begin_ns = record->begin_ns,
                                                               .end_ns = record->end_ns,
                                                               .bytes = record->bytes,
                                                               .flops = record->flops};
}

static void take_record(void *self, const weft_profile_record *record)
{
    weft_profile_table *table = self;
    weft_profile_step *step = find_step(table, record);
    if (step == NULL) {
        table->failed = true;
        return;
    }
    step->runs[table->run - 1] += (double)(record->end_ns - record->begin_ns) * 1e-6;
    step->calls++;
    step->bytes += record->bytes;
    step->flops += record->flops;
    if (table->traced && table->run == table->run_count) add_event(table, record);
}

void weft_profile_table_init(weft_profile_table *table, size_t run_count, bool traced)
{
    *table =
        (weft_profile_table){.run_count = run_count, .traced = traced, .hook = {.self = table, .record = take_record}};
}

void weft_profile_table_finish(weft_profile_table *table)
{
    for (size_t i = 0; i < table->step_count; i++) {
        free(table->steps[i].name);
        free(table->steps[i].runs);
    }
    free(table->steps);
    free(table->events);
    *table = (weft_profile_table){.run_count = 0};
}

const weft_profile *weft_profile_table_begin(weft_profile_table *table)
{
    table->run++;
    for (size_t i = 0; i < table->step_count; i++)
        table->steps[i].bytes = table->steps[i].flops = 0, table->steps[i].calls = 0;
    return &table->hook;
}

weft_status *weft_profile_table_end(weft_profile_table *table)
{
    if (table->failed) return weft_status_out_of_memory();
    table->total_ms = 0;
    for (size_t i = 0; i < table->step_count; i++) {
        weft_profile_step *step = &table->steps[i];
        if (step->name == NULL) continue;
        step->ms = weft_median(table->run_count, step->runs);
        if (step->depth == 0) table->total_ms += step->ms;
    }
    return NULL;
}

static const char *kind_name(weft_profile_kind kind)
{
    switch (kind) {
    case WEFT_PROFILE_KERNEL: return "kernel";
    case WEFT_PROFILE_PRODUCT: return "product";
    case WEFT_PROFILE_SORT: return "sort";
    case WEFT_PROFILE_HOST: return "host";
    case WEFT_PROFILE_REGION: return "region";
    case WEFT_PROFILE_PACK: return "pack";
    }
    return "?";
}

/* ---- the table ---- */

/* `amount` in millions, and in thousands of millions a second; nothing where there is none. */
static void print_amount(double amount, double ms, FILE *file)
{
    if (amount > 0) fprintf(file, " %10.3f %8.2f", amount * 1e-6, ms > 0 ? amount * 1e-6 / ms : 0);
    else fprintf(file, " %10s %8s", "-", "-");
}

static void print_line(const char *ms, double share, const weft_profile_step *amounts, double time, FILE *file)
{
    fprintf(file, "%10s %6.1f%%", ms, share);
    print_amount(amounts->bytes, time, file);
    print_amount(amounts->flops, time, file);
}

static void print_step(const weft_profile_table *table, size_t number, FILE *file)
{
    const weft_profile_step *step = &table->steps[number];
    char ms[32];
    snprintf(ms, sizeof ms, "%.4f", step->ms);
    print_line(ms, table->total_ms > 0 ? 100 * step->ms / table->total_ms : 0, step, step->ms, file);
    fprintf(file, "  %*s%zu %s %s", 2 * (int)step->depth, "", number, kind_name(step->kind), step->name);
    if (step->calls != 1) fprintf(file, " (%zu times)", step->calls);
    fputc('\n', file);
}

void weft_profile_table_print(const weft_profile_table *table, FILE *file)
{
    weft_profile_step sum = {.name = NULL};
    char ms[32];
    fprintf(file, "%10s %7s %10s %8s %10s %8s  %s\n", "ms", "share", "MB", "GB/s", "Mflop", "GF/s", "step");
    for (size_t i = 0; i < table->step_count; i++) {
        if (table->steps[i].name == NULL) continue;
        print_step(table, i, file);
        sum.bytes += table->steps[i].bytes;
        sum.flops += table->steps[i].flops;
    }
    snprintf(ms, sizeof ms, "%.4f", table->total_ms);
    print_line(ms, 100, &sum, table->total_ms, file);
    if (table->run_count == 1) fprintf(file, "  all steps; bytes and flops are estimates\n");
    else fprintf(file, "  all steps; medians of %zu runs; bytes and flops are estimates\n", table->run_count);
}

/* ---- the trace ---- */

/* A step that runs others comes after them, but begins before. */
static int64_t find_begin(const weft_profile_table *table)
{
    int64_t begin = INT64_MAX;
    for (size_t i = 0; i < table->event_count; i++)
        if (table->events[i].begin_ns < begin) begin = table->events[i].begin_ns;
    return begin;
}

static bool fill_event(const weft_profile_table *table, const weft_profile_event *event, int64_t origin, cJSON *json)
{
    const weft_profile_step *step = &table->steps[event->step];
    cJSON *arguments = cJSON_AddObjectToObject(json, "args");
    return arguments != NULL && cJSON_AddStringToObject(json, "name", step->name) != NULL &&
           cJSON_AddStringToObject(json, "cat", kind_name(step->kind)) != NULL &&
           cJSON_AddStringToObject(json, "ph", "X") != NULL &&
           cJSON_AddNumberToObject(json, "ts", (double)(event->begin_ns - origin) * 1e-3) != NULL &&
           cJSON_AddNumberToObject(json, "dur", (double)(event->end_ns - event->begin_ns) * 1e-3) != NULL &&
           cJSON_AddNumberToObject(json, "pid", 1) != NULL && cJSON_AddNumberToObject(json, "tid", 1) != NULL &&
           cJSON_AddNumberToObject(arguments, "step", (double)event->step) != NULL &&
           cJSON_AddNumberToObject(arguments, "bytes", event->bytes) != NULL &&
           cJSON_AddNumberToObject(arguments, "flops", event->flops) != NULL;
}

static weft_status *write_event(const weft_profile_table *table, const weft_profile_event *event, int64_t origin,
                                FILE *file)
{
    cJSON *json = cJSON_CreateObject();
    char *text = json != NULL && fill_event(table, event, origin, json) ? cJSON_PrintUnformatted(json) : NULL;
    if (text != NULL) fprintf(file, ",\n%s", text);
    weft_status *status = text == NULL ? weft_status_out_of_memory() : NULL;
    cJSON_free(text);
    cJSON_Delete(json);
    return status;
}

static weft_status *write_trace(const void *context, FILE *file)
{
    const weft_profile_table *table = context;
    int64_t origin = find_begin(table);
    fprintf(file,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"calls_left_out\":%zu},\"traceEvents\":[\n"
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"weft\"}},\n"
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"steps\"}}",
            table->left_out);
    for (size_t i = 0; i < table->event_count && !ferror(file); i++)
        WEFT_TRY(write_event(table, &table->events[i], origin, file));
    fputs("\n]}\n", file);
    return NULL;
}

weft_status *weft_profile_table_save(const weft_profile_table *table, const char *path)
{
    WEFT_TRY(weft_output_write(path, write_trace, table));
    if (table->left_out > 0)
        fprintf(stderr, "the trace has %zu calls of steps; %zu later ones in loops and branches are left out\n",
                table->event_count, table->left_out);
    return NULL;
}
