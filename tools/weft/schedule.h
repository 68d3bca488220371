/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SCHEDULE_H
#define WEFT_TOOLS_SCHEDULE_H
/* Schedules in the files that a command line names. */
#include <weft/schedules.h>
#include "options.h"

#define WEFT_SCHEDULES_OPTION                                                                                          \
    {                                                                                                                  \
        "--schedules", WEFT_OPTION_FILE, "FILE", "schedules of kernels in place of those of the rules"                 \
    }

/* Those of --schedules; NULL without it. A file for another machine or version gives none, which a note says.
 * `optional`: it may be that there is no such file yet. */
weft_status *weft_schedule_load(const weft_arguments *arguments, bool optional,
                                weft_schedules **out_schedules) WEFT_MUST_USE;
weft_status *weft_schedule_save(const weft_schedules *schedules, const char *path) WEFT_MUST_USE;
#endif
