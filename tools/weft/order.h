/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_ORDER_H
#define WEFT_TOOLS_ORDER_H
/* Orders of contraction on the command line. */
#include <stdio.h>
#include <weft/einsum.h>
#include "options.h"
#include "order_lines.h"

/* Rows of an option table. */
#define WEFT_ORDER_OPTIONS                                                                                             \
    {"--optimize", WEFT_OPTION_TEXT, "auto|left|path:0-1,0-1|ssa:0-1,2-3|nested",                                      \
     "in which order to contract (auto)"},                                                                             \
        {"--order", WEFT_OPTION_FILE, "FILE", "contract in the order that the file holds, with its slices"},           \
        {"--slice", WEFT_OPTION_TEXT, "i,j|3,7",                                                                       \
         "slice these labels of a given order (--order, --optimize), in place of the file's"},                         \
    {                                                                                                                  \
        "--print-order", WEFT_OPTION_CHOICE, "path|ssa|nested|tree", "print the order in this form"                    \
    }

/* What is ordered. */
typedef struct weft_order_subject {
    weft_order_counts counts;
    weft_ints labels;  /* those that operands have */
    bool numbered;     /* labels are numbers, or else letters */
    const char *order; /* the one that comes with it, as order_text.h reads it, or NULL */
    const char *path;  /* of the file that it comes from */
} weft_order_subject;

/* What --optimize, --order, and --slice or else the file of --order say, for options of einsum. */
typedef struct weft_order {
    weft_einsum_order order;
    weft_ints path;
    int64_t *positions; /* of `path` */
    weft_ints sliced;   /* owned */
} weft_order;

/* To be finished also on failure. */
weft_status *weft_order_init(weft_order *order, const weft_arguments *arguments,
                             const weft_order_subject *subject) WEFT_MUST_USE;
void weft_order_finish(weft_order *order);

/* The sliced labels of a plan as --slice takes them, in memory that is to be freed; axis 0 of the ellipsis is "...[0]".
 */
weft_status *weft_order_write_sliced(const weft_einsum_plan *plan, bool numbered, char **out_text) WEFT_MUST_USE;
/* Prints a line with them, which a file of --order may have before the order; none if there are none. */
weft_status *weft_order_print_sliced(const weft_einsum_plan *plan, bool numbered) WEFT_MUST_USE;
/* Prints the order in a form of --print-order; nothing for NULL. A tree has several lines, other forms one. */
weft_status *weft_order_print(const weft_einsum_plan *plan, const char *form) WEFT_MUST_USE;
#endif
