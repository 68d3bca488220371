/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_RNG_H
#define WEFT_TEST_RNG_H
/*
 * The random numbers of all tests: the same on every machine, and without the lock that rand() takes. They follow from
 * a state that the test keeps; any number may be its first value. Knuth's linear congruential generator of 64 bits with
 * his multiplier for MMIX (The Art of Computer Programming, volume 2, 3.3.4), mixed as MurmurHash3 ends (Appleby 2011).
 */
#include <stdint.h>

static inline uint64_t weft_test_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = (*state ^ *state >> 33) * 0xff51afd7ed558ccdu;
    return x ^ x >> 33;
}

/* Below `count`, from 1. */
static inline uint64_t weft_test_below(uint64_t *state, uint64_t count)
{
    return weft_test_bits(state) % count;
}

/* From `least` to `most`, both of them too. */
static inline int64_t weft_test_between(uint64_t *state, int64_t least, int64_t most)
{
    return least + (int64_t)weft_test_below(state, (uint64_t)(most - least) + 1);
}

/* At least -1 and less than 1, a multiple of 2^-23: a float holds it. */
static inline double weft_test_real(uint64_t *state)
{
    return (double)(weft_test_bits(state) >> 40) * 0x1p-23 - 1;
}
#endif
