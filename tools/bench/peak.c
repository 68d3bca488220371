/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"

/* Compiled for the machine at hand, with fused multiply-adds. */

#ifdef __AVX512F__
enum { WIDTH = 64 };
#else
enum { WIDTH = 32 };
#endif
/* Enough sums to hide a latency of 5 cycles of two units, few enough for 16 registers. */
enum { SUMS = 10, STEPS = 100000, TRIALS = 20 };

#define PEAK(type)                                                                                                     \
    typedef type type##_lanes __attribute__((vector_size(WIDTH)));                                                     \
    static volatile type type##_one = 1;                                                                               \
    static int64_t run_##type(void)                                                                                    \
    {                                                                                                                  \
        type##_lanes sums[SUMS], a = {0}, b = {0};                                                                     \
        for (int i = 0; i < SUMS; i++) sums[i] = b + type##_one;                                                       \
        a += type##_one;                                                                                               \
        int64_t begin = weft_bench_now();                                                                              \
        for (int step = 0; step < STEPS; step++) {                                                                     \
            _Pragma("GCC unroll 10") for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * a + b;                         \
            __asm__ volatile("" : "+x"(a), "+x"(b));                                                                   \
        }                                                                                                              \
        int64_t spent = weft_bench_now() - begin;                                                                      \
        for (int i = 0; i < SUMS; i++) type##_one = sums[i][0];                                                        \
        return spent;                                                                                                  \
    }                                                                                                                  \
    static double peak_##type(void)                                                                                    \
    {                                                                                                                  \
        int64_t least = INT64_MAX;                                                                                     \
        for (int i = 0; i < TRIALS; i++) {                                                                             \
            int64_t spent = run_##type();                                                                              \
            if (spent < least) least = spent;                                                                          \
        }                                                                                                              \
        return 2e9 * STEPS * SUMS * (WIDTH / sizeof(type)) / (double)least;                                            \
    }

PEAK(float)
PEAK(double)

double peak_f32(void)
{
    return peak_float();
}

double peak_f64(void)
{
    return peak_double();
}
