/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_BUILD_BUILD_H
#define WEFT_LIB_BUILD_BUILD_H
/* Building variants: program -> fusion -> kernels -> code -> table of steps. Knows no particular code generator. */
#include "lib/loop/loop.h"
#include "lib/lower/fusion.h"
#include "lib/schedule/schedule.h"
#include "runtime/program/variant.h"

/* Kernels that become one object. */
typedef struct weft_code_group {
    const weft_kernel *const *kernels; /* scheduled */
    size_t count;                      /* 1 or more */
    const char *symbol;                /* the first one's function */
    int64_t *offsets;                  /* to be filled: bytes from that function to each one's, in the same section */
} weft_code_group;

/* What turns scheduled kernels into an object that the runtime's driver loads. */
typedef struct weft_code_generator {
    /* Appends what objects depend on besides their kernels; part of the key of every kernel. Equal for processes that
     * can exchange objects. Needs no code generator. */
    void (*append_target)(weft_bytes *key);
    weft_status *(*emit)(const weft_allocator *allocator, const weft_code_group *group, weft_bytes *out_object);
    /* The same in less time, for slower code of the same bits; NULL: there is no such way. */
    weft_status *(*emit_quick)(const weft_allocator *allocator, const weft_code_group *group, weft_bytes *out_object);
} weft_code_generator;

/* Builds the variant `request` describes. UNSUPPORTED names an op that no engine here runs. */
weft_status *weft_variant_build(const weft_build_request *request, const weft_code_generator *generator,
                                weft_variant **out_variant) WEFT_MUST_USE;

/* Called with a variant that has no code yet, and the scheduled kernel of each step; NULL: of one that is none. */
typedef weft_status *(*weft_variant_visitor)(void *context, const weft_variant *variant,
                                             const weft_kernel *const *kernels);
/* Plans the variant that `request`, which needs no pool and no caches, describes, and hands it to `visit`. */
weft_status *weft_variant_visit(const weft_build_request *request, weft_variant_visitor visit,
                                void *context) WEFT_MUST_USE;

typedef struct weft_step_view {
    weft_step_kind kind;
    uint32_t node;
    struct weft_steps_view *parts[2]; /* of a REGION: its regions; the second may be NULL */
} weft_step_view;

/* The fusion plan of a program or region and its steps: the node that each computes and how. */
typedef struct weft_steps_view {
    const weft_fusion *fusion;
    size_t step_count;
    const weft_step_view *steps;
    const uint32_t *output_alias; /* of a program: weft_variant.output_alias */
} weft_steps_view;

/* A kernel as it is lowered, with functions and complex numbers expanded, and scheduled. */
typedef struct weft_kernel_view {
    const char *name;
    const weft_kernel *lowered, *expanded, *scheduled;
} weft_kernel_view;

/* Called with every kernel of a program in the order of its steps; for tools and tests. */
typedef weft_status *(*weft_kernel_visitor)(void *context, const weft_kernel_view *kernel);
/* Lowers and schedules `program`, with contiguous arrays and no specialisation, and visits its kernels without
 * generating code. `schedules` may be NULL. */
weft_status *weft_program_visit_kernels(const weft_program *program, const weft_machine *machine,
                                        const weft_schedules *schedules, weft_kernel_visitor visit,
                                        void *context) WEFT_MUST_USE;

typedef weft_status *(*weft_steps_visitor)(void *context, const weft_steps_view *view);
weft_status *weft_program_visit_steps(const weft_program *program, weft_steps_visitor visit,
                                      void *context) WEFT_MUST_USE;
#endif
