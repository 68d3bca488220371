/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_OUTPUT_H
#define WEFT_TOOLS_OUTPUT_H
/*
 * Files that results are written to. A regular file gets its new content at once, when all of it is written beside it:
 * whatever goes wrong before, it stays as it was, and it keeps its permissions. A symbolic link keeps pointing where it
 * does. Devices and pipes are written directly, as are "-" and "/dev/stdout", the standard output, and other
 * descriptors by their names in /dev. Nothing is removed but what was made here. Errors are WEFT_BAD_FILE, and the
 * sentence names the file; a signal that interrupt.h takes ends the writing, even to a pipe that is not being read,
 * with WEFT_CANCELLED. One that comes when all is written changes nothing; the next thing that signals can end ends by
 * it.
 */
#include <stdio.h>
#include <weft/base.h>

/* Whether `path` names the standard output. */
bool weft_output_is_standard(const char *path);
/* Whether both name one regular file: that which is there, by whatever links, or one that is to be made, where its folder
 * and its name there are the same. A descriptor names the file that is open there. What goes to one descriptor twice
 * stands there one after the other: that is not the same. */
bool weft_output_is_same(const char *first, const char *second);
/* Checks, before the work, whether the file can be written. */
weft_status *weft_output_check(const char *path) WEFT_MUST_USE;
/* Writes what `write` puts into `file`; what `write` returns is the error. `file` of a regular file can seek. */
weft_status *weft_output_write(const char *path, weft_status *(*write)(const void *context, FILE *file),
                               const void *context) WEFT_MUST_USE;
#endif
