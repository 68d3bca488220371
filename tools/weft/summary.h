/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_SUMMARY_H
#define WEFT_TOOLS_SUMMARY_H
/* What a saved program is, in lines as an object has them. */
#include <weft/program.h>

weft_status *weft_summary_print(const weft_program *program) WEFT_MUST_USE;
#endif
