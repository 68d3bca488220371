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
#endif
