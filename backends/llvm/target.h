/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_TARGET_H
#define WEFT_BACKENDS_LLVM_TARGET_H
/* The processor that code is generated for, and LLVM's target machine. */
#include <llvm-c/TargetMachine.h>
#include "lib/loop/loop.h"

typedef struct weft_processor {
    char *triple, *cpu, *features;
    char *name;   /* what objects depend on */
    bool gathers; /* faster than it loads lane by lane */
} weft_processor;

/* The host, or the level that WEFT_ISA names. Found once, kept for the life of the process. NULL when out of memory. */
const weft_processor *weft_processor_find(void);

typedef enum weft_target {
    WEFT_TARGET_HOST,
    WEFT_TARGET_HOST_QUICK, /* code generation without optimisation */
    WEFT_TARGET_PTX         /* sm_90 */
} weft_target;

/* A target machine which nobody else uses until it is given back: one of those that were, or a new one. To make one and
 * what it derives from the features takes 0.8 ms. */
weft_status *weft_target_machine_acquire(const weft_allocator *allocator, weft_target target,
                                         LLVMTargetMachineRef *out_machine) WEFT_MUST_USE;
void weft_target_machine_release(weft_target target, LLVMTargetMachineRef machine);
#endif
