/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_INTERRUPT_H
#define WEFT_TOOLS_INTERRUPT_H
/*
 * SIGINT, SIGTERM and SIGHUP during a long operation: the first one asks it to end, the second one ends the process at
 * once. At other times they do what they do to any process; after a result was written (output.h) they stay taken, so
 * that the process ends as it would without one.
 */
#include <stdbool.h>

/* Takes the signals from now on, except those that the process ignores. */
void weft_interrupt_begin(void);
/* Takes them no longer; whether one came since they were taken. */
bool weft_interrupt_end(void);
/* What becomes true when one came, until the end: for `cancelled` of plans and runs. */
const volatile bool *weft_interrupt_flag(void);
/* The exit status of a process that ended for one, or 0 where none ever came. */
int weft_interrupt_exit_status(void);
/* The file that is to be removed when the second one comes; NULL: none. The text must stay. */
void weft_interrupt_remove(const char *path);
#endif
