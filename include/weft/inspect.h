/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_INSPECT_H
#define WEFT_INSPECT_H
/* Inspecting programs and the op table, for tools. Nothing here changes what a program does. */
#include <weft/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- generated code ---- */

typedef enum weft_emit_format {
    WEFT_EMIT_LOOPS,     /* kernels of the loop IR as lowered from the graph */
    WEFT_EMIT_SCHEDULED, /* the same with their ranges bound for the machine */
    WEFT_EMIT_LLVM,      /* LLVM IR */
    WEFT_EMIT_ASM,       /* assembler for this machine */
    WEFT_EMIT_PTX,       /* PTX, scheduled for a GPU */
    WEFT_EMIT_SCHEDULE   /* schedules of each kernel for the machine, and what they are estimated to take */
} weft_emit_format;

/* Identifies everything that kernels for this machine depend on: "llvm 19.1.7 x86_64-pc-linux-gnu znver3 +avx2,...".
 * Static. NO_COMPILER when the code generator cannot be loaded; INVALID_ARGUMENT and UNSUPPORTED for a bad WEFT_ISA, as
 * weft_executor_create. */
weft_status *weft_emit_target(const char **out_target) WEFT_MUST_USE;

/*
 * The kernels of `program` as text, in the order in which they run, with row-major arrays and no specialisation; each
 * after a comment with its number and name. Work done by a library or an extension is not included. `machine` (NULL:
 * weft_machine_host) and `schedules` (may be NULL) are as for an executor; not for PTX. `*out_text` is freed with
 * weft_text_destroy. UNSUPPORTED names an op that no kernel computes; INVALID_ARGUMENT is as for an executor's machine.
 * For all formats except LOOPS also the errors of weft_emit_target, and for LLVM and ASM UNSUPPORTED below level
 * x86-64-v2.
 */
weft_status *weft_program_emit(const weft_program *program, weft_emit_format format, const weft_machine *machine,
                               const weft_schedules *schedules, char **out_text) WEFT_MUST_USE;

/* ---- what is computed where ---- */

typedef enum weft_program_view_engine {
    WEFT_ENGINE_KERNEL,    /* generated code */
    WEFT_ENGINE_PRODUCT,   /* the library of matrix products */
    WEFT_ENGINE_SORT,      /* the runtime's sort */
    WEFT_ENGINE_EXTENSION, /* an extension's own kernel */
    WEFT_ENGINE_REGION     /* a fold, while or cond around the steps of its regions */
} weft_program_view_engine;

typedef enum weft_program_view_role {
    WEFT_VIEW_GIVEN,   /* an input or a constant: has memory before the run */
    WEFT_VIEW_STEP,    /* computed by one step, `step` */
    WEFT_VIEW_REPEATED /* computed again in every step that reads it */
} weft_program_view_role;

/* Output `output` of node `node`. */
typedef struct weft_program_view_value {
    uint32_t node, output;
} weft_program_view_value;

typedef struct weft_program_view_node {
    const char *op; /* "add", "family.op" */
    /* Of the input, or given to the tensor; NULL: none. A parameter of a region that stands for a value around it has
     * the name, or else the op, of that one after its own: "captured0 = w", "captured1 = result 1 of fold". */
    const char *name;
    const char *attributes; /* without regions, as the text form has them: "{axes = [1]}"; long data are "..." */
    size_t input_count;
    const weft_program_view_value *inputs; /* of nodes before this one */
    size_t output_count;
    const char *const *types; /* of each output: "f32[n, 4]" */
    weft_program_view_role role;
    uint32_t step;
    size_t region_count;
    const struct weft_program_view_region *regions; /* of a fold, while or cond */
} weft_program_view_node;

typedef struct weft_program_view_step {
    weft_program_view_engine engine;
    uint32_t node; /* whose value it writes; a long reduction takes two steps, an output that is also another value one
                      to copy it */
} weft_program_view_step;

typedef struct weft_program_view_output {
    const char *name;
    weft_program_view_value value;
    /* The input worth donating for it, of several the first: a run that may overwrite that input updates it in place,
     * or writes the output over it, see weft_executor_run. SIZE_MAX: none; in regions always. */
    size_t donor;
} weft_program_view_output;

/* A program as the "llvm" runtime runs it, with row-major arrays and no specialisation. Read only. */
typedef struct weft_program_view {
    size_t node_count;
    const weft_program_view_node *nodes; /* in order: operands first */
    size_t step_count;
    const weft_program_view_step *steps; /* in order of execution */
    size_t output_count;
    const weft_program_view_output *outputs;
} weft_program_view;

/* "body", "condition", "then", "else". Its inputs are nodes "input"; its outputs have their number as name. */
typedef struct weft_program_view_region {
    const char *name;
    weft_program_view view;
} weft_program_view_region;

/* UNSUPPORTED names an op that no engine computes. */
weft_status *weft_program_view_create(const weft_program *program, const weft_program_view **out_view) WEFT_MUST_USE;
void weft_program_view_destroy(const weft_program_view *view);

/* ---- graphs as they are traced ---- */

/* The op that made `tensor`, its operands, and its attributes in the order of the op's schema; they live as long as the
 * graph. NULL, 0 and a failed tensor for a failed tensor and past the last input. */
const weft_op_def *weft_tensor_op(weft_tensor tensor);
size_t weft_tensor_input_count(weft_tensor tensor);
weft_tensor weft_tensor_input(weft_tensor tensor, size_t input);
const weft_attr *weft_tensor_attrs(weft_tensor tensor);
/* The name it was given; NULL when it has none. */
const char *weft_tensor_name(weft_tensor tensor);

/* ---- ops ---- */

/* Built-in op number `index`, in the order of the table; NULL past its end. */
const weft_op_def *weft_op_builtin(size_t index);

#ifdef __cplusplus
}
#endif
#endif
