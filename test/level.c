/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level LEVEL PROGRAM [ARGUMENT...]: runs a program with WEFT_ISA=LEVEL, or ends with 77, which Meson takes for a
 * skipped test, where the processor lacks that level.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "runtime/base/isa.h"

enum { BAD_CALL = 2, SKIPPED = 77 };

int main(int argc, char **argv)
{
    if (argc < 3 || setenv("WEFT_ISA", argv[1], 1) != 0) return BAD_CALL;
    weft_status *status = weft_isa_check(NULL);
    if (status != NULL) {
        bool lacks = weft_status_code(status) == WEFT_UNSUPPORTED;
        printf("%s\n", weft_status_message(status));
        weft_status_destroy(status);
        return lacks ? SKIPPED : BAD_CALL;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return BAD_CALL;
}
