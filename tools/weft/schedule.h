/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SCHEDULE_H
#define WEFT_TOOLS_SCHEDULE_H
/* Schedules that a command line gives, and those in the files that it names. */
#include <weft/schedules.h>
#include "options.h"

#define WEFT_SCHEDULES_OPTION                                                                                          \
    {                                                                                                                  \
        "--schedules", WEFT_OPTION_FILE, "FILE", "schedules of kernels in place of those of the rules"                 \
    }
#define WEFT_SCHEDULE_OPTION                                                                                           \
    {                                                                                                                  \
        "--schedule", WEFT_OPTION_TEXTS, "[KERNEL:]MOVES",                                                             \
            "the schedule of that kernel (0), as opt --emit schedule prints it; may be repeated"                       \
    }

/* Those of --schedules; NULL without it and --schedule. A file for another machine or version gives none, which a note
 * says. `to_write`: that file is written later; it may be that there is none yet, and one for others is refused. */
weft_status *weft_schedule_load(const weft_arguments *arguments, bool to_write,
                                weft_schedules **out_schedules) WEFT_MUST_USE;
/* Adds those of --schedule, for kernels of the program. */
weft_status *weft_schedule_add_given(const weft_arguments *arguments, const weft_program *program,
                                     weft_schedules *schedules) WEFT_MUST_USE;
weft_status *weft_schedule_save(const weft_schedules *schedules, const char *path) WEFT_MUST_USE;
#endif
