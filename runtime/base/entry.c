/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/entry.h"
#include <string.h>
#include "runtime/base/map.h"

/* Then the key, the value, and the hash of all before it. */
typedef struct entry_header {
    char magic[8]; /* its last letter is the version of the format */
    uint64_t key_size, value_size;
} entry_header;

static const char magic[8] = {'w', 'e', 'f', 't', 's', 't', 'o', '1'};

enum { AROUND = sizeof(entry_header) + sizeof(uint64_t) };

void weft_entry_append(weft_bytes *out_bytes, const void *key, size_t key_size, const void *value, size_t value_size)
{
    size_t begin = out_bytes->size;
    entry_header header = {.key_size = key_size, .value_size = value_size};
    memcpy(header.magic, magic, sizeof magic);
    weft_bytes_append(out_bytes, &header, sizeof header);
    weft_bytes_append(out_bytes, key, key_size);
    weft_bytes_append(out_bytes, value, value_size);
    if (out_bytes->failed) return;
    uint64_t hash = weft_hash(out_bytes->data + begin, out_bytes->size - begin);
    weft_bytes_append(out_bytes, &hash, sizeof hash);
}

bool weft_entry_find(const char *data, size_t size, weft_entry *out_entry)
{
    entry_header header;
    uint64_t hash;
    if (size < AROUND) return false;
    memcpy(&header, data, sizeof header);
    size_t most = size - AROUND;
    if (memcmp(header.magic, magic, sizeof magic) != 0 || header.key_size > most ||
        header.value_size > most - header.key_size)
        return false;
    const char *key = data + sizeof header, *value = key + header.key_size, *end = value + header.value_size;
    memcpy(&hash, end, sizeof hash);
    *out_entry = (weft_entry){.size = (size_t)(end - data) + sizeof hash,
                              .sound = hash == weft_hash(data, (size_t)(end - data)),
                              .key = key,
                              .value = value,
                              .key_size = header.key_size,
                              .value_size = header.value_size};
    return true;
}
