/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_BINDING_H
#define WEFT_TOOLS_BINDING_H
/* Values of symbols on a command line. */
#include <weft/program.h>
#include "options.h"

/* Puts `source` in place of the interface's "given in extents" in a message. Takes `status`. */
weft_status *weft_binding_name_source(weft_status *status, const char *source) WEFT_MUST_USE;
/* Splits "n=5"; the name is to be freed. */
weft_status *weft_binding_parse(const char *text, weft_binding *out_binding) WEFT_MUST_USE;
bool weft_binding_is_needed(const weft_program *program, const char *name);
/* Checks the value of a symbol that no output needs, as a run checks the others; a misuse is one that the graph does
 * not have. Without a graph, for a saved program, the run checks them all. */
weft_status *weft_binding_check_unneeded(const weft_program *program, weft_graph *graph,
                                         const weft_binding *extent) WEFT_MUST_USE;
#endif
