/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_ISA_H
#define WEFT_RUNTIME_BASE_ISA_H
/*
 * Levels of instructions, and the one that this process may use, in products and in generated code. It is what the
 * processor has, or less where the environment variable WEFT_ISA names a level. Read once.
 */
#include "runtime/base/memory.h"

typedef enum weft_architecture { WEFT_X86_64, WEFT_AARCH64 } weft_architecture;

/* Those of x86-64 are in the System V ABI for AMD64. Later levels of an architecture include earlier ones. */
typedef enum weft_isa {
    WEFT_ISA_BASE,
    WEFT_ISA_V2,
    WEFT_ISA_V3,
    WEFT_ISA_V4,
    WEFT_ISA_ARMV8A,
    WEFT_ISA_COUNT
} weft_isa;

typedef struct weft_isa_row {
    char name[12]; /* "x86-64-v3" */
    uint8_t architecture;
    bool generated; /* code generators make code for it */
    uint8_t vector_bytes, registers;
} weft_isa_row;

/* Static. */
const weft_isa_row *weft_isa_describe(weft_isa level);
/* Whether a processor that has one level runs code that needs the other. */
bool weft_isa_includes(weft_isa level, weft_isa needed);
/* "x86-64-v3". Static. */
const char *weft_isa_level_name(weft_isa level);
/* Appends the levels of an architecture that code is generated for: "x86-64-v2, x86-64-v3, x86-64-v4". */
void weft_isa_list(weft_architecture architecture, weft_bytes *text);

/* INVALID_ARGUMENT when WEFT_ISA names no level, UNSUPPORTED when the processor lacks that level. */
weft_status *weft_isa_check(const weft_allocator *allocator) WEFT_MUST_USE;
/* The level of the process; that of the processor where the check fails. */
weft_isa weft_isa_level(void);
/* Whether WEFT_ISA named it. */
bool weft_isa_is_forced(void);
/* That of the processor and of what its system saves of it, whatever WEFT_ISA says. */
weft_isa weft_isa_of_processor(void);
/* What code that was generated for one processor needs to run on another: its level and, unless WEFT_ISA names that,
 * all instructions beyond it. Nothing in it is about speed, so different processors have the same text. Static. */
const char *weft_isa_text(void);
#endif
