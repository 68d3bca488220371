/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_HEADER_H
#define WEFT_LIB_OBJECT_HEADER_H
/* The header of an object. */
#include "runtime/base/memory.h"
#include "runtime/program/program.h"

typedef struct weft_header_request {
    const weft_allocator *allocator;
    const weft_program *program;
    const char *name, *isa;
    const uint32_t *input_alias; /* of a variant: which input an output may share memory with; NULL: none */
    bool has_weights;            /* in a file */
    bool freestanding;
} weft_header_request;

/* Names of inputs, outputs and symbols become fields: what an identifier cannot have becomes '_', keywords and what is
 * there already get a number. */
weft_status *weft_header_write(const weft_header_request *request, weft_bytes *out_text) WEFT_MUST_USE;
#endif
