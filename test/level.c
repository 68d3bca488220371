/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level [--other] LEVEL PROGRAM [ARGUMENT...]: runs a program with WEFT_ISA=LEVEL, or ends with 77, which Meson takes
 * for a skipped test, where the processor lacks that level; with --other also where programs run at it anyway.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/base/isa.h"

enum { BAD_CALL = 2, SKIPPED = 77 };

int main(int argc, char **argv)
{
    bool other = argc > 1 && strcmp(argv[1], "--other") == 0;
    char **words = argv + 1 + other;
    if (argc < 3 + other) return BAD_CALL;
    const char *usual = getenv("WEFT_ISA");
    if (other && usual != NULL && strcmp(usual, words[0]) == 0) return SKIPPED;
    if (unsetenv("WEFT_ISA") != 0) return BAD_CALL;
    weft_isa level = WEFT_ISA_BASE, own = weft_isa_level();
    while (level < WEFT_ISA_COUNT && strcmp(weft_isa_level_name(level), words[0]) != 0) level++;
    if (level == WEFT_ISA_COUNT) return BAD_CALL;
    if (!weft_isa_includes(own, level) || (other && usual == NULL && level == own)) {
        printf("this processor has %s\n", weft_isa_level_name(own));
        return SKIPPED;
    }
    if (setenv("WEFT_ISA", words[0], 1) == 0) execv(words[1], words + 1);
    perror(words[1]);
    return BAD_CALL;
}
