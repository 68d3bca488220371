/* SPDX-License-Identifier: Apache-2.0 */
/* Processors of x86-64. The compiler's functions for their levels need a library of the compiler's. */
#include <cpuid.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weft/executor.h>
#include "runtime/base/isa.h"

/* ---- the level ---- */

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

/* ---- all instructions ---- */

enum { EAX, EBX, ECX, EDX, REGISTERS };

#define BIT(number) (1u << (number))

/* What `cpuid` says, and which bits of it are instructions that a compiler may choose. */
static const struct {
    unsigned leaf, subleaf;
    uint32_t instructions[REGISTERS];
} leaves[] = {
    {.leaf = 1,
     /* SSE3, PCLMUL, SSSE3, FMA, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, AES, AVX, F16C, RDRND */
     .instructions[ECX] = BIT(0) | BIT(1) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) |
                          BIT(25) | BIT(28) | BIT(29) | BIT(30)},
    {.leaf = 7,
     /* BMI, AVX2, BMI2, AVX-512 F, DQ, RDSEED, ADX, AVX-512 IFMA, PF, ER, CD, SHA, AVX-512 BW, VL */
     .instructions[EBX] = BIT(3) | BIT(5) | BIT(8) | BIT(16) | BIT(17) | BIT(18) | BIT(19) | BIT(21) | BIT(26) |
                          BIT(27) | BIT(28) | BIT(29) | BIT(30) | BIT(31),
     /* PREFETCHWT1, AVX-512 VBMI, VBMI2, GFNI, VAES, VPCLMUL, AVX-512 VNNI, BITALG, VPOPCNTDQ, RDPID, MOVDIR */
     .instructions[ECX] = BIT(0) | BIT(1) | BIT(6) | BIT(8) | BIT(9) | BIT(10) | BIT(11) | BIT(12) | BIT(14) | BIT(22) |
                          BIT(27) | BIT(28),
     /* AVX-512 4VNNIW, 4FMAPS, VP2INTERSECT, SERIALIZE, AMX BF16, AVX-512 FP16, AMX, AMX INT8 */
     .instructions[EDX] = BIT(2) | BIT(3) | BIT(8) | BIT(14) | BIT(22) | BIT(23) | BIT(24) | BIT(25)},
    {.leaf = 7,
     .subleaf = 1,
     /* SHA512, SM3, SM4, RAO-INT, AVX-VNNI, AVX-512 BF16, CMPCCXADD, AMX FP16, AVX-IFMA */
     .instructions[EAX] = BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(7) | BIT(21) | BIT(23),
     /* AVX-VNNI-INT8, AVX-NE-CONVERT, AMX COMPLEX, AVX-VNNI-INT16, PREFETCHI, AVX10, APX */
     .instructions[EDX] = BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(14) | BIT(19) | BIT(21)},
    {.leaf = 0x80000001u,
     /* LZCNT, SSE4A, PREFETCHW, XOP, FMA4, TBM */
     .instructions[ECX] = BIT(5) | BIT(6) | BIT(8) | BIT(11) | BIT(16) | BIT(21)},
};

/* Which registers of AVX, AVX-512 and AMX the system saves: without them their instructions cannot be used. */
static uint32_t read_saved(void)
{
    const uint32_t registers = BIT(2) | BIT(5) | BIT(6) | BIT(7) | BIT(17) | BIT(18);
    uint32_t low, high, a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low & registers;
}

static char text[128];

static void append_word(char before, uint32_t word)
{
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%c%" PRIx32, before, word);
}

/* A processor that does not know the leaf has none of its instructions. */
static void append_leaf(size_t row)
{
    uint32_t found[REGISTERS] = {0};
    (void)__get_cpuid_count(leaves[row].leaf, leaves[row].subleaf, &found[EAX], &found[EBX], &found[ECX], &found[EDX]);
    for (size_t i = 0; i < REGISTERS; i++)
        if (leaves[row].instructions[i] != 0) append_word('.', found[i] & leaves[row].instructions[i]);
}

static void write_text(void)
{
    strcpy(text, weft_isa_name());
    if (weft_isa_is_forced()) return;
    append_word('+', read_saved());
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) append_leaf(i);
}

const char *weft_isa_text(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, write_text);
    return text;
}
