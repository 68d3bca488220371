/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of a cache on disk, with some of its bytes changed, and cut, is the value as it was, or is none. Where its
 * checksum is made to fit, it may be another value, which is loaded as an object, or is an error. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backends/llvm/image.h"
#include "runtime/base/map.h"
#include "runtime/base/store.h"
#include "runtime/program/kept_code.h"
#include "test/fuzz/edit.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char key[] = "weft 0.1 x86-64-v3\nkernel {}", value[] = "what is kept under this key";

static struct {
    char directory[64], path[128];
    weft_store *store;
    unsigned char whole[256];
    size_t size;
} cache;

static void finish(void)
{
    weft_store_close(cache.store);
    remove(cache.path);
    rmdir(cache.directory);
}

/* The path of the one entry. */
static void find_entry(void)
{
    DIR *directory = opendir(cache.directory);
    if (directory == NULL) abort();
    for (const struct dirent *at; (at = readdir(directory)) != NULL;)
        if (at->d_name[0] != '.') snprintf(cache.path, sizeof cache.path, "%s/%.40s", cache.directory, at->d_name);
    closedir(directory);
}

static void write_entry(const void *content, size_t size)
{
    FILE *file = fopen(cache.path, "wb");
    if (file == NULL || fwrite(content, 1, size, file) != size || fclose(file) != 0) abort();
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    snprintf(cache.directory, sizeof cache.directory, "/tmp/fuzz-store-XXXXXX");
    if (mkdtemp(cache.directory) == NULL || weft_store_open(NULL, cache.directory, 1 << 20, &cache.store) != NULL)
        abort();
    atexit(finish);
    weft_store_write(cache.store, key, sizeof key, value, sizeof value);
    find_entry();
    FILE *file = fopen(cache.path, "rb");
    if (file == NULL) abort();
    cache.size = fread(cache.whole, 1, sizeof cache.whole, file);
    fclose(file);
    return 0;
}

/* The hash of all before it, which stands at the end. */
static void fix(unsigned char *entry, size_t size)
{
    uint64_t hash;
    if (size < sizeof hash) return;
    hash = weft_hash(entry, size - sizeof hash);
    memcpy(entry + size - sizeof hash, &hash, sizeof hash);
}

static void load(const weft_bytes *object)
{
    weft_image *image = NULL;
    weft_kernel_function function;
    weft_status *status = weft_image_load(object->data, object->size, "weft_kernel", &image, &function);
    if (status == NULL) weft_image_unload(image);
    weft_status_destroy(status);
}

/* The same bytes as code that goes with a program: at most one entry, and another one after it. */
static void take(const unsigned char *entry, size_t size, bool fixed)
{
    weft_kept_code *kept;
    weft_bytes entries, again;
    weft_bytes_init(&entries, NULL);
    weft_bytes_init(&again, NULL);
    weft_bytes_append(&entries, entry, size);
    weft_bytes_append(&entries, cache.whole, cache.size);
    if (weft_kept_code_create(weft_allocator_default(), &kept) != NULL ||
        weft_kept_code_add_entries(kept, entries.data, entries.size) != NULL)
        abort();
    weft_kept_code_append(kept, &again);
    if (!fixed && again.size != 0 && (again.size != cache.size || memcmp(again.data, cache.whole, cache.size) != 0))
        abort();
    weft_kept_code_destroy(kept);
    weft_bytes_finish(&entries);
    weft_bytes_finish(&again);
}

/* The first byte says whether the checksum is made to fit. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    size_t entry_size;
    unsigned char *entry = weft_fuzz_edit(cache.whole, cache.size, data + 1, size - 1, &entry_size);
    if (entry == NULL) return 0;
    bool fixed = (data[0] & 1) != 0;
    if (fixed) fix(entry, entry_size);
    write_entry(entry, entry_size);
    weft_bytes found;
    weft_bytes_init(&found, NULL);
    bool has = weft_store_read(cache.store, key, sizeof key, &found);
    bool same = has && found.size == sizeof value && memcmp(found.data, value, sizeof value) == 0;
    if (has && !same && !fixed) abort();
    if (!has && entry_size == cache.size && memcmp(entry, cache.whole, entry_size) == 0) abort();
    if (has) load(&found);
    take(entry, entry_size, fixed);
    weft_bytes_finish(&found);
    free(entry);
    return 0;
}
