/* SPDX-License-Identifier: Apache-2.0 */
/* Levels as such, and that of the processor. The compiler's functions for it need a library of the compiler's. */
#include <cpuid.h>
#include <weft/executor.h>
#include "runtime/base/isa.h"

/* ---- the processor ---- */

/* What it has: features of leaf 1, of leaf 7 and of leaf 0x80000001, and the registers that the system saves. */
typedef struct features {
    unsigned basic, extended, more, saved;
} features;

enum {
    BASIC_V2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT,
    BASIC_V3 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C,
    EXTENDED_V3 = bit_BMI | bit_AVX2 | bit_BMI2,
    SAVED_V3 = 0x06, /* registers of SSE and AVX */
    SAVED_V4 = 0xe6, /* and those of AVX-512 */
};

static const unsigned extended_v4 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;

static unsigned find_saved(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static features find_features(void)
{
    features found = {0};
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) found.basic = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) found.extended = b;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) found.more = c;
    if ((found.basic & bit_OSXSAVE) != 0) found.saved = find_saved();
    return found;
}

static bool has(unsigned found, unsigned needed)
{
    return (found & needed) == needed;
}

weft_isa weft_isa_of_processor(void)
{
    const features f = find_features();
    if (!has(f.basic, BASIC_V2) || !has(f.more, bit_LAHF_LM)) return WEFT_ISA_BASE;
    if (!has(f.basic, BASIC_V3) || !has(f.extended, EXTENDED_V3) || !has(f.more, bit_LZCNT) || !has(f.saved, SAVED_V3))
        return WEFT_ISA_V2;
    return has(f.extended, extended_v4) && has(f.saved, SAVED_V4) ? WEFT_ISA_V4 : WEFT_ISA_V3;
}

/* ---- levels ---- */

const char *weft_isa_level_name(weft_isa level)
{
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    return names[level];
}

const char *weft_isa_name(void)
{
    return weft_isa_level_name(weft_isa_level());
}

unsigned weft_isa_vector_bytes(void)
{
    static const unsigned bytes[] = {16, 16, 32, 64};
    return bytes[weft_isa_level()];
}
