/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PLANNER_H
#define WEFT_TOOLS_PLANNER_H
/* What the planner of einsum is told on the command line. */
#include <weft/einsum.h>
#include "options.h"

/* Rows of an option table; --threads, which the planner reads too, is one of a session. */
#define WEFT_PLANNER_OPTIONS                                                                                           \
    {"--objective", WEFT_OPTION_CHOICE, "time|flops|size|write|combo", "what the order minimises (time)"},             \
        {"--time-budget", WEFT_OPTION_NUMBER, "SECONDS",                                                               \
         "search this long: the order then depends on the load of the machine too"},                                   \
        {"--moves", WEFT_OPTION_COUNT, "N", "try this many changes of the order (as many as pay, for a minute)"},      \
        {"--memory-limit", WEFT_OPTION_BYTES, "BYTES",                                                                 \
         "slice so that intermediates, beside operands and result, take no more at once: 512M, 4G"},                   \
    {                                                                                                                  \
        "--seed", WEFT_OPTION_SEED, "N", "of the search, and of generated operands, from 0 (1)"                        \
    }

typedef struct weft_planner {
    weft_machine machine;
    weft_einsum_options options; /* all but the order; points to the machine if there is one */
} weft_planner;

/* What a plan is predicted to take, in milliseconds, as C and JSON write numbers; also where no double holds it. */
typedef struct weft_ms_text {
    char text[48];
} weft_ms_text;

weft_ms_text weft_planner_print_ms(const weft_einsum_plan *plan, int digits);

weft_status *weft_planner_init(weft_planner *planner, const weft_arguments *arguments) WEFT_MUST_USE;
#endif
