/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/isa.h"
#include <cpuid.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/executor.h>

enum { LEVELS = WEFT_ISA_V4 + 1, LONGEST = 31 };

static struct {
    weft_isa host, level;
    bool forced;
    char asked[LONGEST + 1]; /* what WEFT_ISA says, cut; empty without it */
    bool known;              /* whether it names a level */
    char text[128];
} isa;

static void find(void)
{
    isa.host = isa.level = weft_isa_of_processor();
    const char *asked = getenv("WEFT_ISA");
    if (asked == NULL || *asked == '\0') return;
    strncpy(isa.asked, asked, LONGEST);
    for (int i = 0; i < LEVELS; i++) {
        if (strcmp(weft_isa_level_name((weft_isa)i), asked) != 0) continue;
        isa.known = true;
        isa.forced = (weft_isa)i <= isa.host;
        if (isa.forced) isa.level = (weft_isa)i;
    }
}

static void ensure_found(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

weft_status *weft_isa_check(const weft_allocator *allocator)
{
    ensure_found();
    if (isa.asked[0] == '\0' || isa.forced) return NULL;
    if (!isa.known)
        return weft_status_create(
            allocator, WEFT_INVALID_ARGUMENT, "WEFT_ISA",
            "WEFT_ISA is \"%s\"; it must be x86-64-v2, x86-64-v3, x86-64-v4 or, for runtime \"ref\" alone, x86-64",
            isa.asked);
    return weft_status_create(allocator, WEFT_UNSUPPORTED, "WEFT_ISA", "this processor has %s, not %s",
                              weft_isa_level_name(isa.host), isa.asked);
}

weft_isa weft_isa_level(void)
{
    ensure_found();
    return isa.level;
}

bool weft_isa_is_forced(void)
{
    ensure_found();
    return isa.forced;
}

/* ---- instructions ---- */

enum { EAX, EBX, ECX, EDX, REGISTERS };

#define BIT(number) (1u << (number))

/* What `cpuid` says, and which bits of it are instructions that a compiler may choose. */
static const struct {
    unsigned leaf, subleaf;
    uint32_t instructions[REGISTERS];
} features[] = {
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

static void append_word(char before, uint32_t word)
{
    size_t used = strlen(isa.text);
    snprintf(isa.text + used, sizeof isa.text - used, "%c%" PRIx32, before, word);
}

/* A processor that does not know the leaf has none of its instructions. */
static void append_features(size_t row)
{
    uint32_t found[REGISTERS] = {0};
    (void)__get_cpuid_count(features[row].leaf, features[row].subleaf, &found[EAX], &found[EBX], &found[ECX],
                            &found[EDX]);
    for (size_t i = 0; i < REGISTERS; i++)
        if (features[row].instructions[i] != 0) append_word('.', found[i] & features[row].instructions[i]);
}

static void write_text(void)
{
    strcpy(isa.text, weft_isa_name());
    if (weft_isa_is_forced()) return;
    append_word('+', read_saved());
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) append_features(i);
}

const char *weft_isa_text(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, write_text);
    return isa.text;
}
