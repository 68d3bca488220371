/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_EXTENSION_H
#define WEFT_RUNTIME_PROGRAM_EXTENSION_H
#include <weft/extension.h>

/* Whether the table of an op is new enough to have what objects need, up to bitcode_size. */
static inline bool weft_op_knows_objects(const weft_op_def *op)
{
    return op->size >= offsetof(weft_op_def, bitcode_size) + sizeof op->bitcode_size;
}

/* Whether it has derivatives. */
static inline bool weft_op_knows_gradients(const weft_op_def *op)
{
    return op->size >= offsetof(weft_op_def, jvp) + sizeof op->jvp;
}

/* Whether it counts its outputs itself. */
static inline bool weft_op_counts_outputs(const weft_op_def *op)
{
    return op->size >= offsetof(weft_op_def, count_outputs) + sizeof op->count_outputs && op->count_outputs != NULL;
}

/* weft_extension_check for the public function `where`, which its errors name. */
weft_status *weft_extension_check_for(const char *where, const weft_extension *extension) WEFT_MUST_USE;
#endif
