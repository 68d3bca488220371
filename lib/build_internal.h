/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_BUILD_INTERNAL_H
#define WEFT_LIB_BUILD_INTERNAL_H
/* Shared by build.c (what steps there are), build_memory.c (what memory), build_step.c (filling the steps in) and
 * build_visit.c (looking at them). */
#include "lib/build.h"
#include "lib/compile.h"
#include "lib/loop/lower.h"
#include "lib/loop/view.h"

/* A step before its code is made. */
typedef struct planned_step {
    weft_step_kind kind;
    uint32_t node;
    uint32_t target;      /* memory */
    weft_lowered lowered; /* KERNEL */
    weft_strides a, b, c; /* GEMM */
} planned_step;

typedef struct variant_builder {
    const weft_build_request *request;
    const weft_compiled *compiled;
    const weft_graph *graph;
    weft_partition *partition;
    weft_variant *variant;
    weft_arena arena;      /* of the attempt */
    weft_extents *extents; /* sizes and strides outside of kernels */
    weft_space space;
    weft_lowering lowering;
    const char **fixed_names;
    weft_memory *memories; /* parallel to variant->buffers */
    uint32_t memory_count;
    uint32_t *first_memory;
    planned_step *steps;
    uint32_t step_count;
    struct {
        uint32_t source, target;
    } * copies; /* outputs that are also something else */
    uint32_t copy_count;
} variant_builder;

/* What is done with an attempt that went through. */
typedef weft_status *(*weft_attempt_end)(variant_builder *builder, const void *context);
/* Makes attempts until one goes through. */
weft_status *weft_builder_run(const weft_build_request *request, weft_attempt_end end, const void *context,
                              weft_variant **out_variant) WEFT_MUST_USE;

/* Gives memory to every value that needs it; buffers of the variant. */
weft_status *weft_builder_place(variant_builder *builder) WEFT_MUST_USE;
/* Slot of an expression of builder->extents. */
weft_status *weft_builder_slot(variant_builder *builder, weft_expr expr, uint32_t *out_slot) WEFT_MUST_USE;
/* Fills in views for a GEMM step; forces in the partition what cannot be read as it lies. */
weft_status *weft_builder_plan_gemm(variant_builder *builder, planned_step *step) WEFT_MUST_USE;
weft_status *weft_builder_fill_gemm(variant_builder *builder, const planned_step *planned,
                                    weft_step *out_step) WEFT_MUST_USE;
weft_status *weft_builder_fill_host(variant_builder *builder, const planned_step *planned,
                                    weft_step *out_step) WEFT_MUST_USE;
/* Schedules the kernel, finds or makes its code. */
weft_status *weft_builder_fill_kernel(variant_builder *builder, const weft_code_generator *generator,
                                      const planned_step *planned, weft_step *out_step) WEFT_MUST_USE;
#endif
