/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Seconds before the first line on a terminal, and between lines where there is none. */
static const double first = 0.5, between = 1;

static void print_line(const weft_einsum_progress *found, char *out_text, size_t size)
{
    char budget[32] = "";
    if (found->budget > 0) snprintf(budget, sizeof budget, " of %.6g s", found->budget);
    if (found->log10_flops < INFINITY)
        snprintf(out_text, size, "searching for %.1f s%s: 10^%.2f multiplies, by %s", found->seconds, budget,
                 found->log10_flops, found->found_by);
    else snprintf(out_text, size, "searching for %.1f s%s", found->seconds, budget);
}

static void show(void *self, const weft_einsum_progress *found)
{
    weft_progress *progress = self;
    char text[160];
    if (found->seconds < progress->next) return;
    progress->next = progress->terminal ? 0 : found->seconds + between;
    print_line(found, text, sizeof text);
    int length = (int)strlen(text), former = progress->width;
    if (progress->terminal) fprintf(stderr, "\r%s%*s", text, former > length ? former - length : 0, "");
    else fprintf(stderr, "%s\n", text);
    progress->width = length;
}

const weft_einsum_watch *weft_progress_begin(weft_progress *progress, const weft_arguments *arguments)
{
    bool terminal = isatty(STDERR_FILENO) == 1, asked = weft_arguments_find(arguments, "--progress") != NULL;
    *progress =
        (weft_progress){.watch = {progress, show}, .terminal = terminal, .next = terminal && !asked ? first : 0};
    return terminal || asked ? &progress->watch : NULL;
}

void weft_progress_end(weft_progress *progress)
{
    if (progress->terminal && progress->width > 0) fprintf(stderr, "\r%*s\r", progress->width, "");
    progress->width = 0;
}
