/* SPDX-License-Identifier: Apache-2.0 */
/* A file of weights with some of its bytes changed, and cut, is refused with a sentence; the whole one is mapped. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/object/digest.h"
#include "runtime/object/object.h"
#include "test/fuzz/edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE = 4096, NUMBERS = 8 }; /* NUMBERS: where size and digest are in the header */

/* Makes the whole file, and the manifest of its program. */
static void make_whole(unsigned char *whole, weft_rt_manifest *out_manifest)
{
    memcpy(whole, WEFT_RT_WEIGHTS_MAGIC, NUMBERS);
    for (size_t i = WEFT_RT_WEIGHTS_HEADER; i < SIZE; i++) whole[i] = (unsigned char)(i * 37 >> 3);
    uint64_t digest = weft_digest(whole + WEFT_RT_WEIGHTS_HEADER, SIZE - WEFT_RT_WEIGHTS_HEADER);
    const uint64_t numbers[2] = {SIZE, digest};
    memcpy(whole + NUMBERS, numbers, sizeof numbers);
    *out_manifest = (weft_rt_manifest){.name = "fuzz", .weights_size = SIZE, .weights_digest = digest};
}

static void map(const weft_rt_manifest *manifest, const unsigned char *whole, const unsigned char *file, size_t size)
{
    char path[64];
    const void *weights = NULL;
    weft_rt_error error = {.code = WEFT_RT_OK};
    int memory = memfd_create("weights", MFD_CLOEXEC);
    if (memory < 0 || write(memory, file, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    weft_rt_code code = weft_rt_weights_map(manifest, path, &weights, &error);
    bool same = size == SIZE && memcmp(file, whole, SIZE) == 0;
    if ((code == WEFT_RT_OK) != same || (same && memcmp(weights, whole, SIZE) != 0)) abort();
    if (!same && (error.code != WEFT_RT_BAD_FILE || error.message[0] == '\0' || weights != NULL)) abort();
    weft_rt_weights_unmap(manifest, weights);
    close(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char whole[SIZE];
    static weft_rt_manifest manifest;
    size_t file_size;
    if (manifest.name == NULL) make_whole(whole, &manifest);
    unsigned char *file = weft_fuzz_edit(whole, SIZE, data, size, &file_size);
    if (file != NULL) map(&manifest, whole, file, file_size);
    free(file);
    return 0;
}
