/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_COMPILE_H
#define WEFT_LIB_OBJECT_COMPILE_H
/* From a program to an object. Knows no particular code generator. */
#include <weft/object.h>
#include "lib/object/request.h"

struct weft_object {
    weft_allocator allocator;
    weft_bytes code, header, pkg_config, weights;
};

/* Appends the object. */
typedef weft_status *(*weft_object_emitter)(const weft_allocator *allocator, const weft_object_request *request,
                                            weft_bytes *out_object);

/* weft_object_create, with what emits the object. */
weft_status *weft_object_compile(const weft_program *program, const weft_object_options *options,
                                 weft_object_emitter emit, weft_object **out_object) WEFT_MUST_USE;
#endif
