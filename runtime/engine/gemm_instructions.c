/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_instructions.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "runtime/base/isa.h"

/* Tiles, and products of bf16 in them. */
static bool has_tiles(void)
{
    const unsigned tiles = 1U << 22 | 1U << 24;
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & tiles) == tiles;
}

/* Products of pairs of bf16, and conversions to it. */
static bool has_pairs(void)
{
    const unsigned pairs = 1U << 5;
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & pairs) == pairs;
}

/* Whether the system saves their shapes and their contents; it has XGETBV where it saves the registers of v4. */
static bool is_saved(void)
{
    const unsigned needed = 1U << 17 | 1U << 18;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & needed) == needed;
}

static bool is_permitted(void)
{
    enum { REQUEST = 0x1023, CONTENTS = 18 };
    return syscall(SYS_arch_prctl, REQUEST, CONTENTS) == 0;
}

static bool has_level(void)
{
    return weft_isa_level() == WEFT_ISA_V4 && !weft_isa_is_forced();
}

static bool acquired;

static void acquire(void)
{
    acquired = has_level() && has_tiles() && has_pairs() && is_saved() && is_permitted();
}

bool weft_tiles_acquire(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, acquire);
    return acquired;
}

bool weft_pairs_are_fast(void)
{
    return has_level() && has_pairs() && !has_tiles();
}

bool weft_has_byte_products(void)
{
    const unsigned bytes = 1U << 11;
    unsigned a, b, c, d;
    return has_level() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bytes) == bytes;
}
#else
bool weft_tiles_acquire(void)
{
    return false;
}

bool weft_pairs_are_fast(void)
{
    return false;
}

bool weft_has_byte_products(void)
{
    return false;
}
#endif
