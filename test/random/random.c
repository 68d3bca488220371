/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on generated code against the oracle: random [FIRST-SEED [COUNT]]. A program that differs, fails or
 * dies is made as small as it can be and printed with its seed. Each one runs in a process of its own.
 */
#include "test/random/trial.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "test/random/generate.h"
#include "test/random/shrink.h"

static bool try_seed(uint64_t seed)
{
    char problem[512];
    char *text = weft_test_generate(seed);
    bool good = weft_test_try_apart(seed, text, problem, sizeof problem);
    if (!good) {
        printf("FAILED seed %" PRIu64 ": %s\n", seed, problem);
        char *small = weft_test_shrink(seed, text, problem, sizeof problem);
        printf("as small as it gets: %s\n%s\n", problem, small);
        free(small);
        fflush(stdout);
    }
    weft_text_destroy(text);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 150;
    uint64_t failed = 0;
    if (!weft_test_trials_begin()) return 1;
    for (uint64_t seed = first; seed < first + count; seed++) failed += !try_seed(seed);
    weft_test_trials_end();
    printf("%" PRIu64 " programs agree, %" PRIu64 " do not\n", count - failed, failed);
    return failed == 0 ? 0 : 1;
}
