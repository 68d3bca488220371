/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_INTERPRET_H
#define WEFT_TEST_INTERPRET_H
/*
 * Walks a kernel of the loop IR point by point, one scalar after the other, in the order that loop.h defines: what
 * generated code is compared with, bit for bit. It shares nothing with the emitters.
 */
#include <weft/runtime.h>
#include "lib/loop/loop.h"

/* Runs iterations begin <= t < end like a weft_kernel_function. Fails the test when it runs into something it does not
 * know. */
void weft_test_interpret(const weft_kernel *kernel, const weft_kernel_frame *frame, int64_t begin, int64_t end);
/* How many iterations the kernel has with these scalars. */
int64_t weft_test_iterations(const weft_kernel *kernel, const weft_kernel_frame *frame);
#endif
