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
    const uint32_t *output_alias; /* of a variant: which output may be in the memory of an input; NULL: none */
    bool has_weights;            /* in a file */
    bool freestanding;
    const struct weft_imports *imports;
} weft_header_request;

/* Between the name of a function and the digest of the header, in its symbol: "mlp_run_as_in_header_5f3a1b2c". */
#define WEFT_HEADER_MARK "_as_in_header_"

/* Names of inputs, outputs and symbols become fields: what an identifier cannot have becomes '_', keywords and what is
 * there already get a number. `out_digest` is that of what the header says of the interface. */
weft_status *weft_header_write(const weft_header_request *request, weft_bytes *out_text,
                               uint32_t *out_digest) WEFT_MUST_USE;
#endif
