/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_TABLES_H
#define WEFT_LIB_OBJECT_TABLES_H
/* Programs and variants as data of an object. */
#include "lib/object/image.h"
#include "runtime/object/object.h"

/* The place of a struct weft_program: what runs read of it. */
size_t weft_tables_put_program(weft_image_data *image, const weft_program *program);
/* Where constants are: in the image, or in a file of weights. */
typedef struct weft_constants {
    weft_map places;     /* by address */
    weft_bytes *weights; /* NULL: in the image */
} weft_constants;

/* Of a weft_variant of so many outputs, for one level; `symbols` has the name of each step's code, or NULL. Constants
 * are found in `constants` by their address, or put there. */
size_t weft_tables_put_variant(weft_image_data *image, const weft_variant *variant, weft_isa level, size_t input_count,
                               const char *const *symbols, weft_constants *constants);
/* Fills in the manifest at place `at`. */
void weft_tables_fill_manifest(weft_image_data *image, size_t at, const weft_program *program, const char *name,
                               const char *isa);
/* Has it know the file of weights, which is complete. */
void weft_tables_fill_weights(weft_image_data *image, size_t at, const weft_bytes *weights);
#endif
