/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/graph.h>
#include "../output.h"
#include "file.h"

static weft_status *read_file(const char *path, bool to_write, weft_schedules *schedules)
{
    char *text;
    size_t length;
    bool foreign;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status = weft_schedules_parse(schedules, weft_file_name(path), text, length, &foreign);
    free(text);
    if (status == NULL && foreign && to_write)
        return weft_misuse(
            "--tune would replace the schedules in %s, which are for another machine or another version of "
            "weft: name another file",
            weft_file_name(path));
    if (status == NULL && foreign)
        fprintf(stderr, "%s: its schedules are for another machine or another version of weft, and are not used\n",
                weft_file_name(path));
    return status;
}

weft_status *weft_schedule_load(const weft_arguments *arguments, bool to_write, weft_schedules **out_schedules)
{
    const char *path = weft_arguments_text(arguments, "--schedules", NULL);
    weft_schedules *schedules;
    *out_schedules = NULL;
    if (path == NULL && weft_arguments_find(arguments, "--schedule") == NULL) return NULL;
    WEFT_TRY(weft_schedules_create(NULL, &schedules));
    bool is_read = path != NULL && !(to_write && access(path, F_OK) != 0);
    weft_status *status = is_read ? read_file(path, to_write, schedules) : NULL;
    if (status == NULL) *out_schedules = schedules;
    else weft_schedules_destroy(schedules);
    return status;
}

/* "MOVES", of a program with one kernel, or "NUMBER:MOVES". */
static weft_status *set(const char *text, const weft_program *program, weft_schedules *schedules)
{
    int64_t kernel = 0;
    const char *at = text;
    if (!weft_option_read_integer(&at, false, &kernel)) at = text;
    else if (*at++ != ':') return weft_misuse("--schedule takes MOVES or KERNEL:MOVES, not '%s'", text);
    return weft_schedules_set(schedules, program, (size_t)kernel, at);
}

weft_status *weft_schedule_add_given(const weft_arguments *arguments, const weft_program *program,
                                     weft_schedules *schedules)
{
    for (size_t i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->values[i].option->name, "--schedule") == 0)
            WEFT_TRY(set(arguments->values[i].text, program, schedules));
    return NULL;
}

static weft_status *print(const void *context, FILE *file)
{
    char *text;
    WEFT_TRY(weft_schedules_text(context, &text));
    fputs(text, file);
    weft_text_destroy(text);
    return NULL;
}

weft_status *weft_schedule_save(const weft_schedules *schedules, const char *path)
{
    return weft_output_write(path, print, schedules);
}
