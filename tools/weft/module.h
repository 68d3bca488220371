/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_MODULE_H
#define WEFT_TOOLS_MODULE_H
/* Graphs from files, with the ops of einsum known. */
#include <weft/program.h>

weft_status *weft_module_load(const char *path, weft_module **out_module) WEFT_MUST_USE;
/* Loads and compiles; `passes` as in weft_policy. */
weft_status *weft_program_load(const char *path, const char *passes, weft_program **out_program) WEFT_MUST_USE;
#endif
