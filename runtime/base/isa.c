/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/isa.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/status.h"

enum { LONGEST = 31 };

static struct {
    weft_isa host, level;
    bool forced;
    char asked[LONGEST + 1]; /* what WEFT_ISA says, cut; empty without it */
    bool known;              /* whether it names a level */
} isa;

static void find(void)
{
    isa.host = isa.level = weft_isa_of_processor();
    const char *asked = getenv("WEFT_ISA");
    if (asked == NULL || *asked == '\0') return;
    strncpy(isa.asked, asked, LONGEST);
    for (int i = 0; i < WEFT_ISA_COUNT; i++) {
        if (strcmp(weft_isa_level_name((weft_isa)i), asked) != 0) continue;
        isa.known = true;
        isa.forced = weft_isa_includes(isa.host, (weft_isa)i);
        if (isa.forced) isa.level = (weft_isa)i;
    }
}

static void ensure_found(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

void weft_isa_list(weft_architecture architecture, weft_bytes *text)
{
    const char *between = "";
    for (int i = 0; i < WEFT_ISA_COUNT; i++) {
        const weft_isa_row *row = weft_isa_describe((weft_isa)i);
        if (row->architecture != architecture || !row->generated) continue;
        weft_bytes_print(text, "%s%s", between, row->name);
        between = ", ";
    }
}

static weft_status *refuse_unknown(const weft_allocator *allocator)
{
    weft_architecture architecture = weft_isa_describe(isa.host)->architecture;
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    weft_isa_list(architecture, &text);
    for (int i = 0; i < WEFT_ISA_COUNT; i++) {
        const weft_isa_row *row = weft_isa_describe((weft_isa)i);
        if (row->architecture == architecture && !row->generated)
            weft_bytes_print(&text, " or, for runtime \"ref\" alone, %s", row->name);
    }
    weft_status *status = weft_bytes_status(&text);
    if (status == NULL)
        status = weft_status_create(allocator, WEFT_INVALID_ARGUMENT, "WEFT_ISA", "WEFT_ISA is \"%s\"; it must be %s",
                                    isa.asked, text.data);
    weft_bytes_finish(&text);
    return status;
}

weft_status *weft_isa_check(const weft_allocator *allocator)
{
    ensure_found();
    if (isa.asked[0] == '\0' || isa.forced) return NULL;
    if (!isa.known) return refuse_unknown(allocator);
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
