/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_ISA_H
#define WEFT_RUNTIME_BASE_ISA_H
/*
 * The instructions that this process may use, in products and in generated code. It is what the processor has, or less
 * where the environment variable WEFT_ISA names a level: x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, as in the System V
 * ABI for AMD64. Read once.
 */
#include <weft/base.h>

typedef enum weft_isa { WEFT_ISA_BASE, WEFT_ISA_V2, WEFT_ISA_V3, WEFT_ISA_V4 } weft_isa;

/* INVALID_ARGUMENT when WEFT_ISA names no level, UNSUPPORTED when the processor lacks that level. */
weft_status *weft_isa_check(const weft_allocator *allocator) WEFT_MUST_USE;
/* The level of the process; that of the processor where the check fails. */
weft_isa weft_isa_level(void);
/* Whether WEFT_ISA named it. */
bool weft_isa_is_forced(void);
/* That of the processor and of what its system saves of it, whatever WEFT_ISA says. */
weft_isa weft_isa_of_processor(void);
/* "x86-64-v3". Static. */
const char *weft_isa_level_name(weft_isa level);
/* What code that was generated for one processor needs to run on another: its level and, unless WEFT_ISA names that,
 * all instructions beyond it. Nothing in it is about speed, so different processors have the same text. Static. */
const char *weft_isa_text(void);
#endif
