/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_IMPORTS_H
#define WEFT_LIB_OBJECT_IMPORTS_H
/* The kernels of extensions that an object calls: functions outside, or of bitcode that becomes part of it. */
#include "lib/object/request.h"
#include "runtime/program/variant.h"

/* Zero-initialised except for the first two. */
typedef struct weft_imports {
    const weft_allocator *allocator;
    const char *name; /* of the object */
    size_t count, capacity;
    weft_object_import *items;
} weft_imports;

void weft_imports_finish(weft_imports *imports);
/* Has the object call the kernel of a HOST step. UNSUPPORTED names the op and what its extension does not offer;
 * INVALID_ARGUMENT: two functions would have one name. */
weft_status *weft_imports_add(weft_imports *imports, const weft_step *step,
                              const weft_resolved *resolved) WEFT_MUST_USE;
/* Lines of the text that `weft info` prints. */
void weft_imports_describe(const weft_imports *imports, weft_bytes *text);
#endif
