/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_OUTPUT_H
#define WEFT_TOOLS_OUTPUT_H
/*
 * Result files. A regular file is replaced atomically, once all of it has been written next to it: if anything fails
 * before, it stays as it was. It keeps its permissions, and symbolic links their targets. Devices and pipes are written
 * directly, as are "-" and "/dev/stdout", the standard output, and other descriptors by their names in /dev. Only files
 * made here are removed. Errors are WEFT_BAD_FILE, and the message names the file; a signal that interrupt.h handles
 * ends the writing with WEFT_CANCELLED, even to a pipe that is not being read. A signal after the last write changes
 * nothing here; it ends the next interruptible operation.
 */
#include <stdio.h>
#include <weft/base.h>

/* Whether `path` names the standard output. */
bool weft_output_is_standard(const char *path);
/* Whether both name one regular file: that which is there, by whatever links, or one that is to be made, where its
 * folder and its name there are the same. A descriptor names the file that is open there. What goes to one descriptor
 * twice stands there one after the other: that is not the same. */
bool weft_output_is_same(const char *first, const char *second);
/* Checks, before the work, whether the file can be written. */
weft_status *weft_output_check(const char *path) WEFT_MUST_USE;
/* Writes what `write` puts into `file`; what `write` returns is the error. `file` of a regular file can seek. */
weft_status *weft_output_write(const char *path, weft_status *(*write)(const void *context, FILE *file),
                               const void *context) WEFT_MUST_USE;
#endif
