/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_ORDER_LINES_H
#define WEFT_TOOLS_ORDER_LINES_H
/* What weft prints of a plan before its order, and reads again with it. */
#include <weft/base.h>

/* What the lines begin with. */
#define WEFT_LINE_OPERANDS "operands            "
#define WEFT_LINE_LABELS "labels              "
#define WEFT_LINE_FLOPS "log10 multiplies    "
#define WEFT_LINE_SIZE "log2 largest result "
#define WEFT_LINE_PEAK "log2 live at once   "
#define WEFT_LINE_SLICED "sliced labels       "
#define WEFT_LINE_OVERHEAD "slicing overhead    "
#define WEFT_LINE_SECONDS "predicted ms        "
/* What the line of the overhead ends with. */
#define WEFT_LINE_TIMES "x"

/* What is ordered. */
typedef struct weft_order_counts {
    size_t operands;
    size_t labels; /* different ones, of any extent */
} weft_order_counts;

typedef struct weft_order_lines {
    size_t begin, end;  /* of the order in the text */
    const char *sliced; /* the line of the sliced labels, to the end of the text; NULL if there is none */
} weft_order_lines;

/* WEFT_BAD_FILE for what is at `offset` of `text`, which `name` names: the sentence after name, line and column. */
weft_status *weft_order_refuse(const char *name, const char *text, size_t offset, const char *format, ...) WEFT_MUST_USE
    WEFT_FORMAT(4, 5);
weft_status *weft_order_refuse_v(const char *name, const char *text, size_t offset, const char *format,
                                 va_list arguments) WEFT_MUST_USE;

/* Finds the order in `text`: all of it, or the line after those of a plan. These are checked: each is known and there
 * once, has a number, and what it counts is what `counts` says. A plan has as many labels as had extents over one when
 * it was made, so at most all. Of what stands after the order, a line of a plan and a second order are refused. */
weft_status *weft_order_lines_read(const char *name, const char *text, const weft_order_counts *counts,
                                   weft_order_lines *out_lines) WEFT_MUST_USE;
/* Goes past the name of the line and the blanks after it. */
const char *weft_order_line_value(const char *line, const char *name);
#endif
