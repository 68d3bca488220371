/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/object/digest.h"
#include "runtime/object/object.h"

static weft_rt_code refuse(weft_rt_error *out_error, const char *path, const char *reason)
{
    if (out_error == NULL) return WEFT_RT_BAD_FILE;
    out_error->code = WEFT_RT_BAD_FILE;
    snprintf(out_error->message, sizeof out_error->message, "weights \"%s\": %s", path, reason);
    return WEFT_RT_BAD_FILE;
}

/* What is wrong with the file; NULL: nothing. */
static const char *find_fault(const weft_rt_manifest *manifest, const char *file)
{
    static const char zeros[WEFT_RT_WEIGHTS_HEADER];
    uint64_t numbers[2];
    size_t magic = strlen(WEFT_RT_WEIGHTS_MAGIC), used = magic + sizeof numbers;
    memcpy(numbers, file + magic, sizeof numbers);
    if (memcmp(file, WEFT_RT_WEIGHTS_MAGIC, magic) != 0 ||
        memcmp(file + used, zeros, WEFT_RT_WEIGHTS_HEADER - used) != 0)
        return "it is no file of weights";
    if (numbers[0] != manifest->weights_size || numbers[1] != manifest->weights_digest)
        return "it is of another program, or of another version of this one";
    uint64_t digest =
        weft_digest(file + WEFT_RT_WEIGHTS_HEADER, (size_t)manifest->weights_size - WEFT_RT_WEIGHTS_HEADER);
    return digest == manifest->weights_digest ? NULL : "its digest is wrong: it was altered";
}

static weft_rt_code map_file(const weft_rt_manifest *manifest, const char *path, int file, const void **out_weights,
                             weft_rt_error *out_error)
{
    char reason[128];
    struct stat status;
    if (fstat(file, &status) != 0) return refuse(out_error, path, strerror(errno));
    if (!S_ISREG(status.st_mode)) return refuse(out_error, path, "it is no regular file");
    if ((uint64_t)status.st_size != manifest->weights_size) {
        snprintf(reason, sizeof reason, "it has %" PRIu64 " bytes, but those of %s have %" PRIu64,
                 (uint64_t)status.st_size, manifest->name, manifest->weights_size);
        return refuse(out_error, path, reason);
    }
    void *memory = mmap(NULL, (size_t)manifest->weights_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) return refuse(out_error, path, strerror(errno));
    const char *fault = find_fault(manifest, memory);
    if (fault == NULL) {
        *out_weights = memory;
        return WEFT_RT_OK;
    }
    munmap(memory, (size_t)manifest->weights_size);
    return refuse(out_error, path, fault);
}

weft_rt_code weft_rt_weights_map(const weft_rt_manifest *manifest, const char *path, const void **out_weights,
                                 weft_rt_error *out_error)
{
    if (manifest == NULL || path == NULL || out_weights == NULL) {
        if (out_error != NULL)
            *out_error =
                (weft_rt_error){WEFT_RT_INVALID_ARGUMENT, "weights: the manifest, path or out_weights is NULL"};
        return WEFT_RT_INVALID_ARGUMENT;
    }
    if (manifest->weights_size == 0) return refuse(out_error, path, "the constants of the program are in its object");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return refuse(out_error, path, strerror(errno));
    weft_rt_code code = map_file(manifest, path, file, out_weights, out_error);
    close(file);
    return code;
}

void weft_rt_weights_unmap(const weft_rt_manifest *manifest, const void *weights)
{
    if (manifest != NULL && weights != NULL) munmap((void *)(uintptr_t)weights, (size_t)manifest->weights_size);
}
