/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_SPELLING_H
#define WEFT_RUNTIME_SPELLING_H
/* Numbers as text: printf and strtod spell the decimal point as the thread's locale does. Between these two calls it is
 * a point. */
#include <locale.h>

typedef struct weft_spelling {
    locale_t plain, old;
} weft_spelling;

static inline weft_spelling weft_spelling_enter(void)
{
    weft_spelling spelling = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (spelling.plain != (locale_t)0) spelling.old = uselocale(spelling.plain);
    return spelling;
}

static inline void weft_spelling_leave(weft_spelling spelling)
{
    if (spelling.plain == (locale_t)0) return;
    uselocale(spelling.old);
    freelocale(spelling.plain);
}
#endif
