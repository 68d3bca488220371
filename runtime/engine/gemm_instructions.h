/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_INSTRUCTIONS_H
#define WEFT_RUNTIME_ENGINE_GEMM_INSTRUCTIONS_H
/* Instructions of x86-64 for products beyond its levels: of tiles of bf16, which a system saves only for processes that
 * ask, and of pairs of bf16 and fours of bytes in vectors. */
#include <stdbool.h>

/* Whether all threads of this process may multiply tiles of bf16 (AMX). The first call asks the system, which refuses
 * where a thread has an alternate stack for signals that is too short, and allows no such stack from then on. Never
 * where WEFT_ISA names a level. */
bool weft_tiles_acquire(void);

/* Whether this process may add up products of pairs of bf16 at the rate of single ones of f32 (AVX512_BF16): not on
 * processors with tiles, used or not, where pairs have half of that rate (runtime/engine/README.md). Never where
 * WEFT_ISA names a level. */
bool weft_pairs_are_fast(void);

/* Whether it may add up products of four bytes in each lane of a vector (AVX512_VNNI). Never where WEFT_ISA names a
 * level. */
bool weft_has_byte_products(void);
#endif
