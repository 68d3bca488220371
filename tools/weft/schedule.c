/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/graph.h>
#include "../output.h"
#include "file.h"

static weft_status *read_file(const char *path, weft_schedules *schedules)
{
    char *text;
    size_t length;
    bool foreign;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status = weft_schedules_parse(schedules, weft_file_name(path), text, length, &foreign);
    free(text);
    if (status == NULL && foreign)
        fprintf(stderr, "%s: its schedules are for another machine or another version of weft, and are not used\n",
                weft_file_name(path));
    return status;
}

weft_status *weft_schedule_load(const weft_arguments *arguments, bool optional, weft_schedules **out_schedules)
{
    const char *path = weft_arguments_text(arguments, "--schedules", NULL);
    weft_schedules *schedules;
    *out_schedules = NULL;
    if (path == NULL) return NULL;
    WEFT_TRY(weft_schedules_create(NULL, &schedules));
    weft_status *status = optional && access(path, F_OK) != 0 ? NULL : read_file(path, schedules);
    if (status == NULL) *out_schedules = schedules;
    else weft_schedules_destroy(schedules);
    return status;
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
