/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_DESCRIBE_H
#define WEFT_LIB_OBJECT_DESCRIBE_H
/* The text of an object: what `weft info NAME.o` prints, a line for each thing. */
#include "lib/object/options.h"
#include "runtime/object/object.h"

void weft_describe_program(weft_bytes *text, const weft_program *program, const weft_object_plan *plan);
/* Of a variant: what it is for, how many steps of each kind it has, and what these import. */
void weft_describe_variant(weft_bytes *text, const weft_program *program, const weft_variant *variant,
                           const weft_rt_variant *entry);
/* Which outputs may have the memory of an input: `output_alias` as in a variant, or NULL. */
void weft_describe_aliases(weft_bytes *text, const weft_program *program, const uint32_t *output_alias);
#endif
