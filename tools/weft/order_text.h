/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_ORDER_TEXT_H
#define WEFT_TOOLS_ORDER_TEXT_H
/*
 * Orders as other planners write them: a list of steps, [(0, 1), (0, 1)], over positions in a list that loses them and
 * gets the result at its end (opt_einsum, numpy), or over values, of which steps make new ones (cotengra's ssa); or a
 * tree of operand numbers, ((0, 1), 2). Brackets are round or square; a step or a group may have any number of members:
 * one is passed on, more than two are folded from the left. What weft prints of a plan may stand before the order, and
 * what a run prints after it then.
 */
#include <weft/graph.h>
#include "order_lines.h"

/* Reads the order of `operand_count` operands from where `lines` says it is in `text`: the two values of each step, as
 * einsum takes them for SSA, in memory that is to be freed. A sentence of an error begins with `name`, line and column.
 */
weft_status *weft_order_parse(const char *name, const char *text, const weft_order_lines *lines, size_t operand_count,
                              weft_ints *out_values) WEFT_MUST_USE;
#endif
