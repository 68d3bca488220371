/* SPDX-License-Identifier: Apache-2.0 */
/* Trials in memory that the caller gives for them. */
#include "runtime/object/trial.h"

void weft_trial_begin(weft_workspace *trial, weft_rt_workspace *given)
{
    char *end = (char *)given->memory + given->size, *begin = weft_workspace_align(given->memory);
    bool any = given->memory != NULL && begin < end;
    given->binding = NULL;
    weft_workspace_init(trial, any ? begin : NULL, any ? (size_t)(end - begin) : 0);
}

void weft_trial_end(weft_workspace *trial) {}

/* What does not suffice is taken away, so that nobody takes the size for that of the memory. */
void weft_trial_tell(weft_rt_workspace *given, size_t needed)
{
    if (given->memory != NULL && given->size >= needed) return;
    given->memory = given->binding = NULL;
    given->size = needed;
}

size_t weft_trial_ask(weft_rt_workspace *given)
{
    enum { LEAST = 8192 };
    size_t had = given->memory == NULL ? 0 : given->size;
    given->memory = NULL;
    given->size = had < LEAST ? LEAST : had > PTRDIFF_MAX / 2 ? PTRDIFF_MAX : 2 * had;
    return given->size;
}
