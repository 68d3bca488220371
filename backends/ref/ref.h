/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_REF_REF_H
#define WEFT_BACKENDS_REF_REF_H
/*
 * The reference backend: walks a program's graph node by node and computes one element at a time. It is the oracle that
 * everything else is compared with, so it is written to be read, and shares no scalar code with the emitters.
 *
 * Every value is a dense row-major tensor of its own; the arrays of the caller, whatever their strides, are copied in
 * by `input` nodes and copied out at the end. Floats are computed in long double, or in double where that would round
 * twice, and rounded to their dtype once for each op; integers wrap in their own width, and bool is the integer of one
 * bit.
 */
#include "lib/pass/compile.h"
#include "runtime/program/variant.h"

/* ---- elements ---- */

/* One element, outside of memory. The kind of its dtype says which member counts. */
typedef union weft_element {
    int64_t integer; /* BOOL, UNSIGNED, SIGNED */
    long double real;
    long double _Complex number;
} weft_element;

/* C's CMPLXL, which not every compiler has. */
static inline long double _Complex weft_element_complex(long double re, long double im)
{
    const union {
        long double parts[2];
        long double _Complex number;
    } both = {{re, im}};
    return both.number;
}

weft_element weft_element_load(weft_dtype dtype, const void *data);
/* Wraps or rounds (to nearest, ties to even) to `dtype`. */
void weft_element_store(weft_dtype dtype, weft_element element, void *data);
/* As weft_cast: to bool is "not zero", a complex number loses its imaginary part, float to integer saturates. */
weft_element weft_element_cast(weft_dtype from, weft_element element, weft_dtype to);
/* What a maximum starts from: -infinity, or the least integer. */
weft_element weft_element_least(weft_dtype dtype);
weft_element weft_element_greatest(weft_dtype dtype);
weft_dtype_kind weft_element_kind(weft_dtype dtype);

/* The result of an elementwise op on elements of one kind; for unary ops `b.integer` is the width of the dtype in bits.
 */
typedef weft_element (*weft_element_function)(weft_element a, weft_element b);
/* NULL where the op means nothing for that kind. */
weft_element_function weft_element_function_of(weft_op_id op, weft_dtype_kind kind);
/* The same where the result is stored as `dtype`: arithmetic of f64 is done in double, which rounds once. */
weft_element_function weft_element_rounded_of(weft_op_id op, weft_dtype dtype);
/* The derivative of log(gamma(x)): infinite at zeros, NaN at negative integers. */
long double weft_digamma_evaluate(long double x);

/* ---- walking ---- */

/* Sets index[0 .. rank-1] to zeros; false when a tensor of that shape has no elements. */
bool weft_index_start(size_t rank, const int64_t *shape, int64_t *out_index);
/* The next index in row-major order; false past the last. */
bool weft_index_next(size_t rank, const int64_t *shape, int64_t *index);
/* Address of an element: the strides decide, with any sign. */
char *weft_view_at(const weft_view *view, const int64_t *index);
/* Address of an element of a dense tensor by its row-major position. */
char *weft_view_nth(const weft_view *view, int64_t position);
int64_t weft_view_count(const weft_view *view);
bool weft_view_same_shape(const weft_view *a, const weft_view *b);
/* Element by element between equal dtypes and shapes. */
void weft_view_copy(const weft_view *destination, const weft_view *source);

/* ---- tensors ---- */

/* A dense value of one node, in one block with its shape and strides. */
typedef struct weft_tensor_block {
    weft_view view;
    size_t bytes; /* of the whole block */
    int64_t extents[];
} weft_tensor_block;

/* `op` is named in the error: OUT_OF_RANGE for a negative extent or a size that overflows. */
weft_status *weft_tensor_block_create(const weft_allocator *allocator, const char *op, weft_dtype dtype, size_t rank,
                                      const int64_t *shape, weft_tensor_block **out_block) WEFT_MUST_USE;
void weft_tensor_block_destroy(const weft_allocator *allocator, weft_tensor_block *block);

/* ---- evaluation ---- */

/* What a built variant keeps: where the value of each symbolic extent of the program is found. */
typedef struct weft_reference {
    const weft_allocator *allocator;
    weft_program *program; /* retained */
    weft_map slots;        /* weft_expr -> slot of the variant's formulas + 1 */
    bool ordered;          /* products add up as compiled ones do */
} weft_reference;

/* What is the same for all of a run. */
typedef struct weft_reference_run {
    const weft_reference *reference;
    const weft_kernel_context *context;
    const int64_t *values; /* of the formulas */
} weft_reference_run;

/* One op to compute. */
typedef struct weft_reference_call {
    const weft_reference_run *run;
    const weft_graph *graph;
    uint32_t node;
    const weft_op_def *op;
    weft_location location;
    const weft_allocator *allocator;
    const weft_attr *attrs; /* extents in them are constants */
    size_t input_count, output_count;
    const weft_view *inputs; /* dense, except for those of `input` */
    weft_view *outputs;      /* dense */
} weft_reference_call;

typedef weft_status *(*weft_reference_function)(const weft_reference_call *call);

#define WEFT_OP(name, inputs, attributes, dtypes, op_class, infer)                                                     \
    weft_status *weft_reference_##name(const weft_reference_call *call);
#include "lib/graph/op.def"
#undef WEFT_OP

/* An op that is not built in: its own kernel. */
weft_status *weft_reference_extension(const weft_reference_call *call);

/* Computes `body` from one argument for each of its inputs into `outputs`, whose layouts are free. Outputs may share
 * memory with arguments: they are written when all is computed. */
weft_status *weft_reference_evaluate(const weft_reference_run *run, const weft_compiled *body, size_t argument_count,
                                     const weft_view *arguments, const weft_view *outputs) WEFT_MUST_USE;

/* An error of `call`'s op: "op: ...". */
weft_status *weft_reference_error(const weft_reference_call *call, weft_code code, const char *format,
                                  ...) WEFT_MUST_USE WEFT_FORMAT(3, 4);
bool weft_reference_is_cancelled(const weft_kernel_context *context);
/* "the run was cancelled WHEN op". */
weft_status *weft_reference_cancelled(const weft_reference_call *call, const char *when, const char *op) WEFT_MUST_USE;
#endif
