/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_IMAGE_H
#define WEFT_LIB_OBJECT_IMAGE_H
/*
 * Constant data with addresses in it, as an object contains them: structs laid out as in this process, which is as
 * every other processor with 64 bits and the same byte order lays them out.
 */
#include "lib/object/request.h"
#include "runtime/base/map.h"

typedef struct weft_image_data {
    const weft_allocator *allocator;
    weft_arena arena; /* names of symbols */
    weft_bytes bytes;
    size_t pointer_count, pointer_capacity;
    weft_object_pointer *pointers;
    weft_map texts; /* place of each, plus one */
    bool failed;    /* for want of memory; what is put afterwards is nowhere */
} weft_image_data;

void weft_image_init(weft_image_data *image, const weft_allocator *allocator);
void weft_image_finish(weft_image_data *image);
/* NULL, or out of memory if anything failed. */
weft_status *weft_image_status(const weft_image_data *image) WEFT_MUST_USE;

/* The place of a copy of `size` bytes; `data` NULL: of zeros. */
size_t weft_image_put(weft_image_data *image, const void *data, size_t size, size_t alignment);
/* Writes over what was put at a place. */
void weft_image_write(weft_image_data *image, size_t at, const void *data, size_t size);
/* Has the pointer at `at` point to place `to`, or to a symbol. */
void weft_image_point(weft_image_data *image, size_t at, size_t to);
void weft_image_point_to_symbol(weft_image_data *image, size_t at, const char *symbol);
/* The same to zeros: their place. */
size_t weft_image_point_to_room(weft_image_data *image, size_t at, size_t size);
/* To a copy of `size` bytes, and of a text; `data` and `text` NULL: the pointer stays NULL. */
void weft_image_point_to_copy(weft_image_data *image, size_t at, const void *data, size_t size);
void weft_image_point_to_text(weft_image_data *image, size_t at, const char *text);
#endif
