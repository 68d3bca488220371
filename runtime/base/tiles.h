/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_TILES_H
#define WEFT_RUNTIME_BASE_TILES_H
/* Registers of x86-64 that hold matrices (AMX). A system saves them only for processes that ask. */
#include <stdbool.h>

/* Whether all threads of this process may multiply tiles of bf16. The first call asks the system, which refuses where a
 * thread has an alternate stack for signals that is too short, and allows no such stack from then on. Never where
 * WEFT_ISA names a level. */
bool weft_tiles_acquire(void);
#endif
