/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/base.h>

enum { LONGEST = 32 };

/* Wagner and Fischer's: counts[i] is of the first i bytes of `given`, after each byte of `name`. */
static size_t count_changes(const char *name, const char *given, size_t length)
{
    size_t counts[LONGEST + 1];
    for (size_t i = 0; i <= length; i++) counts[i] = i;
    for (size_t k = 0; name[k] != 0; k++) {
        size_t before = counts[0];
        counts[0] = k + 1;
        for (size_t i = 1; i <= length; i++) {
            size_t changed = before + (name[k] != given[i - 1]),
                   other = counts[i] < counts[i - 1] ? counts[i] : counts[i - 1];
            before = counts[i];
            counts[i] = changed < other + 1 ? changed : other + 1;
        }
    }
    return counts[length];
}

bool weft_text_is_nearer(const char *name, const char *given, size_t length, size_t *least)
{
    if (name == NULL || given == NULL || least == NULL || length > LONGEST) return false;
    size_t changes = count_changes(name, given, length);
    bool nearer = changes < *least;
    if (nearer) *least = changes;
    return nearer;
}
