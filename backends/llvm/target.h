/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_TARGET_H
#define WEFT_BACKENDS_LLVM_TARGET_H
/* The processor that code is generated for, and LLVM's target machine. */
#include <llvm-c/TargetMachine.h>
#include "lib/loop/loop.h"

typedef struct weft_processor {
    char *triple, *cpu, *features;
    char *name; /* what objects depend on */
} weft_processor;

/* The host, or the level that WEFT_ISA names. Found once, kept for the life of the process. NULL when out of memory. */
const weft_processor *weft_processor_find(void);

/* A target machine of the caller's own, for the host or for sm_90. */
weft_status *weft_target_machine_create(const weft_allocator *allocator, bool gpu,
                                        LLVMTargetMachineRef *out_machine) WEFT_MUST_USE;
#endif
