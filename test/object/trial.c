/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial: _prepare of a freestanding object, `add` of two vectors of n elements, in memory of every size: it says
 * OUT_OF_MEMORY and how much to try with, until it says how much a run takes, always the same; a run in a quarter of
 * it says that the workspace is too small.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "add.h"

enum { ELEMENTS = 1000, MOST = 1 << 16, STEP = 61 };

static float x[ELEMENTS], y[ELEMENTS], z[ELEMENTS];
static const add_call call = {.extents = {.n = ELEMENTS}, .x = x, .y = y, .z = z};

static bool fail(const char *what, size_t size)
{
    printf("FAILED with %zu bytes: %s\n", size, what);
    return false;
}

/* Whether `_prepare` keeps its word with so many bytes; what it says is needed, 0 where these suffice, or it is not
 * known. */
static bool try(size_t size, size_t *out_needed)
{
    char *memory = malloc(size + 1); /* of exactly that size for sanitizers and valgrind */
    weft_rt_workspace workspace = {.memory = memory, .size = size, .binding = memory};
    weft_rt_error error = {WEFT_RT_OK, ""};
    if (memory == NULL) return false;
    memory[size] = 'e';
    weft_rt_code code = add_prepare(&call, &workspace, NULL, &error);
    bool kept = memory[size] == 'e';
    bool has_memory = workspace.memory != NULL;
    *out_needed = code == WEFT_RT_OK && !has_memory ? workspace.size : 0;
    free(memory);
    if (!kept) return fail("it writes behind the memory", size);
    if (workspace.binding != NULL) return fail("a binding is left", size);
    if (has_memory && (code != WEFT_RT_OK || workspace.size != size))
        return fail("memory stays as it should not", size);
    if (*out_needed != 0 && *out_needed <= size) return fail("memory that suffices is taken away", size);
    if (code == WEFT_RT_OK) return true;
    if (code != WEFT_RT_OUT_OF_MEMORY) return fail(error.message, size);
    return workspace.size == (size < MOST / 8 ? MOST / 8 : 2 * size) || fail("it asks for another size", size);
}

static bool run(size_t needed)
{
    char *memory = malloc(needed);
    weft_rt_workspace workspace = {.memory = memory, .size = needed / 4};
    weft_rt_error error = {WEFT_RT_OK, ""};
    bool small = memory != NULL && add_run(&call, &workspace, &error) == WEFT_RT_OUT_OF_MEMORY;
    workspace.size = needed;
    bool good = small && add_run(&call, &workspace, &error) == WEFT_RT_OK && z[ELEMENTS - 1] == x[ELEMENTS - 1] + 1;
    free(memory);
    return good || fail("runs", needed);
}

int main(void)
{
    size_t needed = 0, least = 0;
    for (int i = 0; i < ELEMENTS; i++) x[i] = (float)i, y[i] = 1;
    for (size_t size = 0; size < MOST; size += STEP) {
        size_t said;
        if (!try(size, &said)) return 1;
        if (needed != 0 && (said == 0) != (size >= needed))
            return !fail("memory stays, or goes, as it should not", size);
        if (needed != 0 && said != 0 && said != needed) return !fail("it says something else", size);
        if (needed == 0 && said != 0) least = size;
        if (needed == 0) needed = said;
    }
    if (needed == 0 || !run(needed)) return 1;
    printf("a run takes %zu bytes, to know that takes at most %zu\n", needed, least);
    return 0;
}
