/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_NARROW_H
#define WEFT_LIB_LOOP_NARROW_H
/*
 * Integers of four bytes or more that can be computed in 16 bits, of which a vector holds more: their values are known
 * to fit, from those of bytes and constants on, and all that uses them can take them so.
 */
#include "lib/loop/loop.h"

typedef enum weft_narrow_kind {
    WEFT_NARROW_NONE,
    WEFT_NARROW_UNSIGNED, /* 0 to 65535 */
    WEFT_NARROW_SIGNED    /* perhaps less than zero */
} weft_narrow_kind;

/*
 * What each instruction of the kernel is, in memory of `arena`. Operands of narrow instructions and of comparisons with
 * a narrow operand are narrow, bytes, bools, or constants, which such an instruction takes in 16 bits itself; where one
 * of them is signed, all of them fit in 15 bits and the sign.
 */
weft_status *weft_kernel_find_narrow(const weft_kernel *kernel, weft_arena *arena,
                                     const weft_narrow_kind **out_narrow) WEFT_MUST_USE;
#endif
