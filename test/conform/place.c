/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/place.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)
#define POISON 0xa5
/* Of the buffers of an executor; nothing else asks for so much. */
#define BUFFER_ALIGNMENT 64

/* ---- memory between guard pages ---- */

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* `size` bytes of poison, at least one page of them, between two pages without access. */
static unsigned char *map_guarded(size_t size, size_t *out_mapped)
{
    size_t mapped = size + 2 * PAGE;
    unsigned char *mapping = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    if (mprotect(mapping + PAGE, size, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, mapped);
        return NULL;
    }
    memset(mapping + PAGE, POISON, size);
    *out_mapped = mapped;
    return mapping;
}

/* ---- layouts ---- */

/* The next stride; any where it overflows, of an array of nothing. */
static int64_t extended(int64_t stride, int64_t extent)
{
    int64_t next;
    return extent > 0 && !__builtin_mul_overflow(stride, extent, &next) ? next : stride;
}

/* Row-major strides over extents that are `step` times as long on the last axis. */
static void row_major(size_t rank, const int64_t *shape, int64_t step, int64_t *out_strides)
{
    int64_t stride = step;
    for (size_t i = rank; i-- > 0;) {
        out_strides[i] = stride;
        stride = extended(stride, shape[i]);
    }
}

static void column_major(size_t rank, const int64_t *shape, int64_t *out_strides)
{
    int64_t stride = 1;
    for (size_t i = 0; i < rank; i++) {
        out_strides[i] = stride;
        stride = extended(stride, shape[i]);
    }
}

/* Strides m and m + 1 meet after m + 1 and m steps; the axis of the latter has m elements. */
static void interleaved(size_t rank, const int64_t *shape, int64_t *out_strides)
{
    row_major(rank, shape, 1, out_strides);
    if (rank < 2) return;
    const int64_t *extents = shape + rank - 2;
    size_t shorter = extents[1] < extents[0], axis = rank - 2;
    int64_t m = extents[shorter], stride = m * (m + extents[1 - shorter] - 1);
    out_strides[axis + shorter] = m + 1;
    out_strides[axis + 1 - shorter] = m;
    while (axis-- > 0) {
        out_strides[axis] = stride;
        stride = extended(stride, shape[axis]);
    }
}

/* Row-major over the other axes, 0 along `axis`. */
static void broadcast_along(size_t rank, const int64_t *shape, size_t axis, int64_t *out_strides)
{
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
        out_strides[i] = i == axis ? 0 : stride;
        if (i != axis) stride = extended(stride, shape[i]);
    }
}

static void fill_strides(size_t rank, const int64_t *shape, weft_test_layout layout, int64_t *out_strides)
{
    switch (layout) {
    case WEFT_TEST_TRANSPOSED: column_major(rank, shape, out_strides); break;
    case WEFT_TEST_STEPPED: row_major(rank, shape, 2, out_strides); break;
    case WEFT_TEST_INTERLEAVED: interleaved(rank, shape, out_strides); break;
    case WEFT_TEST_BROADCAST_FIRST: broadcast_along(rank, shape, 0, out_strides); break;
    case WEFT_TEST_BROADCAST_LAST: broadcast_along(rank, shape, rank - 1, out_strides); break;
    default: row_major(rank, shape, 1, out_strides); break;
    }
    for (size_t i = 0; i < rank && layout == WEFT_TEST_REVERSED; i++) out_strides[i] = -out_strides[i];
}

/* ---- placed arrays ---- */

bool weft_test_place_create(weft_dtype dtype, size_t rank, const int64_t *shape, weft_test_layout layout, bool at_end,
                            weft_test_place *out_place)
{
    int64_t strides[WEFT_MAX_RANK], low = 0, high = 1;
    bool is_empty = false;
    fill_strides(rank, shape, layout, strides);
    for (size_t i = 0; i < rank; i++) is_empty |= shape[i] == 0;
    for (size_t i = 0; i < rank && !is_empty; i++) {
        int64_t reach = strides[i] * (shape[i] - 1);
        if (reach < 0) low += reach;
        else high += reach;
    }
    if (is_empty) high = 0;
    size_t element = weft_dtype_size(dtype), bytes = (size_t)(high - low) * element;
    weft_test_place place = {.size = bytes == 0 ? PAGE : whole_pages(bytes)};
    place.mapping = map_guarded(place.size, &place.mapped);
    if (place.mapping == NULL) return false;
    place.pages = place.mapping + PAGE;
    unsigned char *first = at_end ? place.pages + place.size - bytes : place.pages;
    weft_status *status =
        weft_array_wrap(NULL, dtype, rank, shape, strides, first + (size_t)-low * element, NULL, NULL, &place.array);
    if (status != NULL) {
        weft_status_destroy(status);
        munmap(place.mapping, place.mapped);
        return false;
    }
    *out_place = place;
    return true;
}

void weft_test_place_destroy(weft_test_place *place)
{
    weft_array_release(place->array);
    if (place->mapping != NULL) munmap(place->mapping, place->mapped);
    *place = (weft_test_place){.array = NULL};
}

void weft_test_visit(const weft_array *array, weft_test_visitor visit, void *context)
{
    size_t rank = weft_array_rank(array), element = weft_dtype_size(weft_array_dtype(array));
    const int64_t *shape = weft_array_shape(array), *strides = weft_array_strides(array);
    int64_t index[WEFT_MAX_RANK] = {0}, offset = 0, count = weft_array_count(array);
    for (int64_t number = 0; number < count; number++) {
        visit(context, number, (char *)weft_array_data(array) + offset * (int64_t)element);
        for (size_t i = rank; i-- > 0;) {
            offset += strides[i];
            if (++index[i] < shape[i]) break;
            offset -= strides[i] * shape[i];
            index[i] = 0;
        }
    }
}

typedef struct coverage {
    const weft_test_place *place;
    unsigned char *bytes; /* 1 where an element lies */
    size_t element;
} coverage;

static void cover(void *context, int64_t number, void *element)
{
    const coverage *covered = context;
    (void)number;
    memset(covered->bytes + ((unsigned char *)element - covered->place->pages), 1, covered->element);
}

bool weft_test_place_is_clean(const weft_test_place *place)
{
    coverage covered = {place, calloc(place->size, 1), weft_dtype_size(weft_array_dtype(place->array))};
    if (covered.bytes == NULL) return false;
    weft_test_visit(place->array, cover, &covered);
    bool clean = true;
    for (size_t i = 0; i < place->size && clean; i++) clean = covered.bytes[i] || place->pages[i] == POISON;
    free(covered.bytes);
    return clean;
}

/* ---- the allocator ---- */

static size_t guarded_bytes(size_t size, size_t alignment)
{
    return whole_pages((size + alignment - 1) / alignment * alignment);
}

static void *allocate_guarded(size_t size, size_t alignment)
{
    size_t mapped, rounded = (size + alignment - 1) / alignment * alignment;
    unsigned char *mapping = map_guarded(guarded_bytes(size, alignment), &mapped);
    return mapping == NULL ? NULL : mapping + mapped - PAGE - rounded;
}

static void release_guarded(void *block, size_t size, size_t alignment)
{
    size_t rounded = (size + alignment - 1) / alignment * alignment, inside = guarded_bytes(size, alignment);
    munmap((unsigned char *)block + rounded - inside - PAGE, inside + 2 * PAGE);
}

static void *guarded_resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    const weft_allocator *plain = weft_allocator_default();
    (void)self;
    if (alignment < BUFFER_ALIGNMENT) return plain->resize(plain->self, block, old_size, new_size, alignment);
    void *moved = new_size == 0 ? NULL : allocate_guarded(new_size, alignment);
    if (new_size != 0 && moved == NULL) return NULL;
    if (block != NULL && moved != NULL) memcpy(moved, block, old_size < new_size ? old_size : new_size);
    if (block != NULL) release_guarded(block, old_size, alignment);
    return moved;
}

const weft_allocator *weft_test_guarded_allocator(void)
{
    static const weft_allocator allocator = {NULL, guarded_resize};
    return &allocator;
}
