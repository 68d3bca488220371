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

static const char *const names[LEVELS] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

static struct {
    weft_isa host, level;
    bool forced;
    char asked[LONGEST + 1]; /* what WEFT_ISA says, cut; empty without it */
    bool known;              /* whether it names a level */
    char text[128];
} isa;

static weft_isa find_host(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return WEFT_ISA_V4;
    if (__builtin_cpu_supports("x86-64-v3")) return WEFT_ISA_V3;
    return __builtin_cpu_supports("x86-64-v2") ? WEFT_ISA_V2 : WEFT_ISA_BASE;
}

/* ---- instructions ---- */

/* A word of what `cpuid` says, and which of its bits are instructions that a compiler may choose. */
typedef struct feature_word {
    unsigned leaf, subleaf, number; /* of the register: eax, ebx, ecx, edx */
    uint32_t instructions;
} feature_word;

#define BIT(number) (1u << (number))

static const feature_word feature_words[] = {
    /* SSE3, PCLMUL, SSSE3, FMA, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, AES, AVX, F16C, RDRND */
    {1, 0, 2,
     BIT(0) | BIT(1) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | BIT(25) | BIT(28) |
         BIT(29) | BIT(30)},
    /* BMI, AVX2, BMI2, AVX-512 F, DQ, RDSEED, ADX, AVX-512 IFMA, PF, ER, CD, SHA, AVX-512 BW, VL */
    {7, 0, 1,
     BIT(3) | BIT(5) | BIT(8) | BIT(16) | BIT(17) | BIT(18) | BIT(19) | BIT(21) | BIT(26) | BIT(27) | BIT(28) |
         BIT(29) | BIT(30) | BIT(31)},
    /* PREFETCHWT1, AVX-512 VBMI, VBMI2, GFNI, VAES, VPCLMUL, AVX-512 VNNI, BITALG, VPOPCNTDQ, RDPID, MOVDIRI, MOVDIR64B
     */
    {7, 0, 2,
     BIT(0) | BIT(1) | BIT(6) | BIT(8) | BIT(9) | BIT(10) | BIT(11) | BIT(12) | BIT(14) | BIT(22) | BIT(27) | BIT(28)},
    /* AVX-512 4VNNIW, 4FMAPS, VP2INTERSECT, SERIALIZE, AMX BF16, AVX-512 FP16, AMX, AMX INT8 */
    {7, 0, 3, BIT(2) | BIT(3) | BIT(8) | BIT(14) | BIT(22) | BIT(23) | BIT(24) | BIT(25)},
    /* SHA512, SM3, SM4, RAO-INT, AVX-VNNI, AVX-512 BF16, CMPCCXADD, AMX FP16, AVX-IFMA */
    {7, 1, 0, BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(7) | BIT(21) | BIT(23)},
    /* AVX-VNNI-INT8, AVX-NE-CONVERT, AMX COMPLEX, AVX-VNNI-INT16, PREFETCHI, AVX10, APX */
    {7, 1, 3, BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(14) | BIT(19) | BIT(21)},
    /* LZCNT, SSE4A, PREFETCHW, XOP, FMA4, TBM */
    {0x80000001u, 0, 2, BIT(5) | BIT(6) | BIT(8) | BIT(11) | BIT(16) | BIT(21)},
};

static uint32_t read_word(const feature_word *word)
{
    unsigned registers[4];
    if (!__get_cpuid_count(word->leaf, word->subleaf, &registers[0], &registers[1], &registers[2], &registers[3]))
        return 0;
    return registers[word->number] & word->instructions;
}

/* Which registers of AVX, AVX-512 and AMX the system saves: without them their instructions cannot be used. */
static uint32_t read_saved(void)
{
    const feature_word system = {1, 0, 2, BIT(27)};
    const uint32_t registers = BIT(2) | BIT(5) | BIT(6) | BIT(7) | BIT(17) | BIT(18);
    uint32_t low, high;
    if (read_word(&system) == 0) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low & registers;
}

static void write_text(void)
{
    size_t used = (size_t)snprintf(isa.text, sizeof isa.text, "%s", names[isa.level]);
    for (size_t i = 0; i < sizeof feature_words / sizeof *feature_words && !isa.forced; i++)
        used += (size_t)snprintf(isa.text + used, sizeof isa.text - used, "%c%" PRIx32, i == 0 ? '+' : '.',
                                 read_word(&feature_words[i]));
    if (!isa.forced) snprintf(isa.text + used, sizeof isa.text - used, ".%" PRIx32, read_saved());
}

/* ---- the level ---- */

static void find_level(void)
{
    isa.host = isa.level = find_host();
    const char *asked = getenv("WEFT_ISA");
    if (asked == NULL || *asked == '\0') return;
    strncpy(isa.asked, asked, LONGEST);
    for (int i = 0; i < LEVELS; i++) {
        if (strcmp(names[i], asked) != 0) continue;
        isa.known = true;
        isa.forced = (weft_isa)i <= isa.host;
        if (isa.forced) isa.level = (weft_isa)i;
    }
}

static void find(void)
{
    find_level();
    write_text();
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
    return weft_status_create(allocator, WEFT_UNSUPPORTED, "WEFT_ISA", "this processor has %s, not %s", names[isa.host],
                              isa.asked);
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

const char *weft_isa_level_name(weft_isa level)
{
    return names[level];
}

const char *weft_isa_text(void)
{
    ensure_found();
    return isa.text;
}

const char *weft_isa_name(void)
{
    return names[weft_isa_level()];
}

unsigned weft_isa_vector_bytes(void)
{
    static const unsigned bytes[LEVELS] = {16, 16, 32, 64};
    return bytes[weft_isa_level()];
}
