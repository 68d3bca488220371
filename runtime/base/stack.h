/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_STACK_H
#define WEFT_RUNTIME_BASE_STACK_H
/* Stacks that are large enough for compiling. */
#include <weft/base.h>
#include <pthread.h>

/* Bytes: what is left of a caller's stack for compiling there, and the least that threads of ours have. LLVM takes some
 * 60 KB, and graphs a hundred for each level that is followed down. */
enum { WEFT_STACK_NEEDED = 1 << 20 };

/*
 * Calls `body` here if this thread's stack has WEFT_STACK_NEEDED bytes left; else, or where the stack is not the
 * thread's own, on a thread that is made for it and has no signals. OUT_OF_MEMORY if there is none to be had.
 */
weft_status *weft_stack_call(const weft_allocator *allocator, void (*body)(void *context), void *context) WEFT_MUST_USE;

/* Starts a thread with WEFT_STACK_NEEDED bytes of stack, or what threads have by default, and with all signals blocked
 * except synchronous ones and profiling; false when there is none to be had. */
bool weft_thread_start(void *(*body)(void *context), void *context, pthread_t *out_thread);
#endif
