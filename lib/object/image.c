/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/image.h"
#include <string.h>

void weft_image_init(weft_image_data *image, const weft_allocator *allocator)
{
    *image = (weft_image_data){.allocator = allocator};
    weft_arena_init(&image->arena, allocator);
    weft_bytes_init(&image->bytes, allocator);
    weft_map_init(&image->texts, allocator);
}

void weft_image_finish(weft_image_data *image)
{
    weft_map_finish(&image->texts, NULL);
    weft_free(image->allocator, image->pointers, image->pointer_capacity * sizeof *image->pointers);
    weft_bytes_finish(&image->bytes);
    weft_arena_finish(&image->arena);
}

weft_status *weft_image_status(const weft_image_data *image)
{
    return image->failed || image->bytes.failed ? weft_status_out_of_memory() : NULL;
}

static void append_zeros(weft_image_data *image, size_t size)
{
    static const char zeros[64];
    for (size_t done = 0; done < size; done += sizeof zeros)
        weft_bytes_append(&image->bytes, zeros, size - done < sizeof zeros ? size - done : sizeof zeros);
}

size_t weft_image_put(weft_image_data *image, const void *data, size_t size, size_t alignment)
{
    weft_bytes_pad(&image->bytes, alignment);
    size_t place = image->bytes.size;
    if (data != NULL) weft_bytes_append(&image->bytes, data, size);
    else append_zeros(image, size);
    return place;
}

/* The place of a text, one for equal ones. */
static size_t put_text(weft_image_data *image, const char *text)
{
    size_t size = strlen(text) + 1;
    uintptr_t known = (uintptr_t)weft_map_find(&image->texts, text, size);
    if (known != 0) return known - 1;
    size_t place = weft_image_put(image, text, size, 1);
    if (!weft_map_insert(&image->texts, text, size, (void *)(place + 1))) image->failed = true;
    return place;
}

void weft_image_write(weft_image_data *image, size_t at, const void *data, size_t size)
{
    if (!image->bytes.failed) memcpy(image->bytes.data + at, data, size);
}

static void add_pointer(weft_image_data *image, weft_object_pointer pointer)
{
    if (!weft_reserve(image->allocator, &image->pointers, &image->pointer_capacity, image->pointer_count + 1,
                      sizeof pointer))
        image->failed = true;
    else image->pointers[image->pointer_count++] = pointer;
}

void weft_image_point(weft_image_data *image, size_t at, size_t to)
{
    add_pointer(image, (weft_object_pointer){.at = at, .offset = to});
}

void weft_image_point_to_symbol(weft_image_data *image, size_t at, const char *symbol)
{
    const char *copy = weft_arena_string(&image->arena, symbol, strlen(symbol));
    if (copy == NULL) image->failed = true;
    else add_pointer(image, (weft_object_pointer){.at = at, .symbol = copy});
}

size_t weft_image_point_to_room(weft_image_data *image, size_t at, size_t size)
{
    size_t place = weft_image_put(image, NULL, size, _Alignof(max_align_t));
    weft_image_point(image, at, place);
    return place;
}

void weft_image_point_to_copy(weft_image_data *image, size_t at, const void *data, size_t size)
{
    if (data != NULL) weft_image_point(image, at, weft_image_put(image, data, size, _Alignof(max_align_t)));
}

void weft_image_point_to_text(weft_image_data *image, size_t at, const char *text)
{
    if (text != NULL) weft_image_point(image, at, put_text(image, text));
}
