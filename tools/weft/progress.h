/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PROGRESS_H
#define WEFT_TOOLS_PROGRESS_H
/* How a search for an order goes, on standard error: one line that changes on a terminal, else lines. */
#include <weft/einsum.h>
#include "options.h"

/* A row of an option table. */
#define WEFT_PROGRESS_OPTION                                                                                           \
    {                                                                                                                  \
        "--progress", WEFT_OPTION_FLAG, NULL, "report the progress of the search (default on a terminal)"              \
    }

typedef struct weft_progress {
    weft_einsum_watch watch;
    bool terminal;
    double next; /* seconds of the search: when there is something to print again */
    int width;   /* of the line that stands on the terminal */
} weft_progress;

/* What is to be told, or NULL. `progress` must live on. */
const weft_einsum_watch *weft_progress_begin(weft_progress *progress, const weft_arguments *arguments);
/* Takes the line away. */
void weft_progress_end(weft_progress *progress);
#endif
