/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_INTERRUPT_H
#define WEFT_TOOLS_INTERRUPT_H
/* SIGINT and SIGTERM: the first one asks what takes long to end, the second one ends the process at once. */
#include <weft/base.h>

/* Takes the signals from now on, but for those that the process ignores. */
void weft_interrupt_begin(void);
/* What becomes true when one came: for `cancelled` of plans and runs. */
const volatile bool *weft_interrupt_flag(void);
/* The exit status of a process that ended for one, or 0 where none came. */
int weft_interrupt_exit_status(void);
#endif
