/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/isa.h"
#include <pthread.h>
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
} isa;

static weft_isa find_host(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return WEFT_ISA_V4;
    if (__builtin_cpu_supports("x86-64-v3")) return WEFT_ISA_V3;
    return __builtin_cpu_supports("x86-64-v2") ? WEFT_ISA_V2 : WEFT_ISA_BASE;
}

static void find(void)
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

const char *weft_isa_name(void)
{
    return names[weft_isa_level()];
}

unsigned weft_isa_vector_bytes(void)
{
    static const unsigned bytes[LEVELS] = {16, 16, 32, 64};
    return bytes[weft_isa_level()];
}
