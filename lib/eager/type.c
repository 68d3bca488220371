/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/eager/eager.h"

/* dtype, then the extents. */
enum { MOST_WORDS = 1 + WEFT_MAX_RANK };

static size_t fill_key(int64_t *key, weft_dtype dtype, size_t rank, const int64_t *extents)
{
    key[0] = (int64_t)dtype;
    if (rank > 0) memcpy(key + 1, extents, rank * sizeof *extents);
    return (1 + rank) * sizeof *key;
}

static size_t size_of(size_t rank)
{
    return sizeof(weft_eager_type) + rank * sizeof(int64_t);
}

/* Of an array that cannot be: its bytes overflow an int64. */
static bool fits(weft_dtype dtype, size_t rank, const int64_t *extents, int64_t *out_count)
{
    int64_t count = 1, bytes;
    for (size_t i = 0; i < rank; i++) {
        if (extents[i] == 0) count = 0;
    }
    *out_count = count;
    for (size_t i = 0; i < rank && count > 0; i++) {
        if (extents[i] < 0 || __builtin_mul_overflow(*out_count, extents[i], out_count)) return false;
    }
    return !__builtin_mul_overflow(*out_count, (int64_t)weft_dtype_size(dtype), &bytes);
}

static weft_status *make(weft_eager *eager, const int64_t *key, size_t size, weft_eager_type **out_type)
{
    size_t rank = size / sizeof *key - 1;
    int64_t count;
    if (!fits((weft_dtype)key[0], rank, key + 1, &count))
        return weft_status_create(eager->allocator, WEFT_OUT_OF_RANGE, "weft_eager",
                                  "the elements of the shape do not fit in memory");
    weft_eager_type *type = weft_allocate(eager->allocator, size_of(rank));
    if (type == NULL) return weft_status_out_of_memory();
    *type = (weft_eager_type){.references = 1, .dtype = (weft_dtype)key[0], .rank = rank, .count = count};
    memcpy(type->extents, key + 1, rank * sizeof *key);
    if (!weft_map_insert(&eager->types, key, size, type)) {
        weft_free(eager->allocator, type, size_of(rank));
        return weft_status_out_of_memory();
    }
    *out_type = type;
    return NULL;
}

weft_status *weft_eager_type_acquire(weft_eager *eager, weft_dtype dtype, size_t rank, const int64_t *extents,
                                     weft_eager_type **out_type)
{
    int64_t key[MOST_WORDS];
    size_t size = fill_key(key, dtype, rank, extents);
    weft_eager_type *found = weft_map_find(&eager->types, key, size);
    if (found == NULL) return make(eager, key, size, out_type);
    found->references++;
    *out_type = found;
    return NULL;
}

void weft_eager_type_release(weft_eager *eager, weft_eager_type *type)
{
    int64_t key[MOST_WORDS];
    if (type == NULL || --type->references > 0) return;
    weft_map_remove(&eager->types, key, fill_key(key, type->dtype, type->rank, type->extents));
    weft_free(eager->allocator, type, size_of(type->rank));
}
