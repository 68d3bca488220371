/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_FORMS_H
#define WEFT_LIB_OBJECT_FORMS_H
/*
 * Ops of extensions may be lowered by the extents that they will meet, such as an einsum of three operands, whose order
 * depends on them. A program that has any is compiled once more for each set of sizes that was asked for, and for
 * typical ones, which serve all others: of each symbol the geometric middle of its range, from 1 on, or its least value
 * where the range ends beyond 2^31.
 */
#include "lib/object/options.h"
#include "runtime/program/program.h"

/* Zero-initialised except for the first two. */
typedef struct weft_forms {
    const weft_program *program;
    const weft_object_plan *plan;
    int64_t *typical;
    size_t count;
    weft_program **items; /* of sizes asked for, then the typical ones; NULL: the program is the same for all */
} weft_forms;

weft_status *weft_forms_make(weft_forms *forms) WEFT_MUST_USE;
/* Accepts one that could not be made. */
void weft_forms_finish(weft_forms *forms);
/* For one of the sets of sizes of the plan, or all others: NULL. */
const weft_program *weft_forms_find(const weft_forms *forms, const int64_t *values);
/* Lines of the text that `weft info` prints: which sizes each order is for. */
void weft_forms_describe(const weft_forms *forms, weft_bytes *text);
#endif
