/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EINSUM_PLAN_RANDOM_H
#define EINSUM_PLAN_RANDOM_H
/* Random numbers that a seed and a stream determine: splitmix64 (Steele, Lea, Flood, 2014). */
#include <stdint.h>

typedef struct einsum_random {
    uint64_t state;
} einsum_random;

static inline uint64_t einsum_random_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Streams of one seed are independent of each other. */
static inline einsum_random einsum_random_start(uint64_t seed, uint64_t stream)
{
    return (einsum_random){einsum_random_mix(seed ^ einsum_random_mix(stream + UINT64_C(0x9e3779b97f4a7c15)))};
}

static inline uint64_t einsum_random_next(einsum_random *random)
{
    return einsum_random_mix(random->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Uniform in [0, 1). */
static inline double einsum_random_unit(einsum_random *random)
{
    return (double)(einsum_random_next(random) >> 11) * 0x1p-53;
}

/* Uniform in [0, count); count is at least 1. */
static inline uint32_t einsum_random_below(einsum_random *random, uint32_t count)
{
    return (uint32_t)((einsum_random_next(random) >> 32) * count >> 32);
}
#endif
