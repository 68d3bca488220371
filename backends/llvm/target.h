/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_TARGET_H
#define WEFT_BACKENDS_LLVM_TARGET_H
/* The processor that code is generated for, and LLVM's target machine. */
#include <llvm-c/TargetMachine.h>
#include "lib/loop/loop.h"
#include "runtime/base/isa.h"

typedef struct weft_processor {
    const char *triple, *cpu, *features;
    const char *name; /* for people; of the host */
    weft_isa level;
    uint32_t vector_bytes;
    bool gathers;        /* faster than it loads lane by lane */
    bool slow_roots;     /* of vectors of eight doubles: slower than twenty products */
    bool slow_quotients; /* of vectors of sixteen floats: slower than ten instructions */
    size_t last_cache;   /* bytes of data in the last cache before memory; 0: unknown */
    bool gpu;            /* the others do not matter then */
    const char *suffix;  /* of names of functions that kernels for one processor share in a module */
} weft_processor;

typedef enum weft_target {
    WEFT_TARGET_HOST,
    WEFT_TARGET_HOST_QUICK, /* code generation without optimisation */
    WEFT_TARGET_PTX,        /* sm_90 */
    WEFT_TARGET_AARCH64     /* for objects alone */
} weft_target;

/* Of the host, it is the one that it is, or the level that WEFT_ISA names. Found once, kept for the life of the
 * process. NULL when out of memory. */
const weft_processor *weft_processor_find(weft_target target);
/* Any processor that has a level which code is generated for. Static. */
const weft_processor *weft_processor_of_level(weft_isa level);
/* What objects for an architecture are compiled with. */
weft_target weft_target_of_architecture(weft_architecture architecture);

/* A target machine which nobody else uses until it is given back: one of those that were, or a new one. To make one and
 * what it derives from the features takes 0.8 ms. */
weft_status *weft_target_machine_acquire(const weft_allocator *allocator, weft_target target,
                                         LLVMTargetMachineRef *out_machine) WEFT_MUST_USE;
void weft_target_machine_release(weft_target target, LLVMTargetMachineRef machine);
#endif
