/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_ARTIFACT_H
#define WEFT_TOOLS_ARTIFACT_H
/* What an object that `weft compile` wrote, or a program linked with some, says about itself. */
#include <weft/base.h>

/* Prints it. `name` is the file's, for messages; BAD_FILE for what is no file of such objects. */
weft_status *weft_artifact_print(const char *name, const char *data, size_t size) WEFT_MUST_USE;
#endif
