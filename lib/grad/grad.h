/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAD_GRAD_H
#define WEFT_LIB_GRAD_GRAD_H
/* Rules of derivatives, as data; and what they share. Conventions: <weft/gradient.h>. */
#include <weft/gradient.h>
#include <weft/extension.h>
#include "lib/graph/graph.h"

typedef weft_status *(*weft_gradient_function)(const weft_gradient_context *context, weft_tensor *out_values);

/* One op, or one function of composed.def. With neither function the derivative is zero, unless there is a reason. */
typedef struct weft_gradient_row {
    unsigned id; /* weft_op_id or weft_composed_id */
    weft_gradient_function vjp, jvp;
    const char *no_vjp; /* why it has none: "...", to follow the name of the op */
} weft_gradient_row;

typedef struct weft_gradient_family {
    size_t count;
    const weft_gradient_row *rows;
} weft_gradient_family;

/* Of ops. */
extern const weft_gradient_family weft_gradient_elementwise;
extern const weft_gradient_family weft_gradient_movement;
extern const weft_gradient_family weft_gradient_index;
extern const weft_gradient_family weft_gradient_reduce; /* and products */
extern const weft_gradient_family weft_gradient_scan;   /* and sorting */
extern const weft_gradient_family weft_gradient_region;
/* Of functions that are composed. */
extern const weft_gradient_family weft_gradient_activation;
extern const weft_gradient_family weft_gradient_normalize;
extern const weft_gradient_family weft_gradient_loss;
extern const weft_gradient_family weft_gradient_attention;
extern const weft_gradient_family weft_gradient_convolution;
extern const weft_gradient_family weft_gradient_snapshots;
extern const weft_gradient_family weft_gradient_pool;

/* What `host` of the context of a vjp points to: the cotangents of the inputs so far, from uses after the node. A rule
 * may go on from one and return the new sum, where it says so. */
typedef struct weft_gradient_sums {
    const weft_tensor *values; /* WEFT_NO_TENSOR: zero so far */
    bool *continued;
} weft_gradient_sums;
/* The results of weft_checkpoint computed again, and the inputs that they are computed from. */
weft_status *weft_gradient_open_checkpoint(const weft_gradient_context *context, weft_arena *arena,
                                           weft_tensors *out_results, weft_tensors *out_inputs) WEFT_MUST_USE;

/* The row of a built-in op or of a composed function; of an extension's op one in *out_own. NULL: there is none. */
const weft_gradient_row *weft_gradient_row_of(const weft_op_def *op, weft_gradient_row *out_own);
/* Whether values of the dtype have derivatives: floats and complex numbers. */
bool weft_gradient_has(weft_dtype dtype);

/* ---- the sweeps: for tensors that may lie in several nested graphs, and tensors of their types ---- */

/* J* g, plus `sums` of the types of `wrt` (NULL: nothing). Zeros are WEFT_NO_TENSOR, given and made. */
weft_status *weft_gradient_pull(weft_tensors outputs, weft_tensors cotangents, weft_tensors wrt,
                                const weft_tensor *sums, weft_tensor *out_cotangents) WEFT_MUST_USE;
/* J t, likewise. */
weft_status *weft_gradient_push(weft_tensors outputs, weft_tensors wrt, weft_tensors tangents,
                                weft_tensor *out_tangents) WEFT_MUST_USE;

/* ---- for rules ---- */

static inline bool weft_gradient_given(const weft_gradient_context *context, size_t i)
{
    return context->given.items[i].graph != NULL;
}
/* The sum, where either may be zero. */
weft_tensor weft_gradient_add(weft_tensor a, weft_tensor b);
/* The complex conjugate; real numbers as they are. */
weft_tensor weft_gradient_conj(weft_tensor x);
/* g d of a cotangent or tangent and a slope, 0 where g is 0 and d is not finite. */
weft_tensor weft_gradient_scale(weft_tensor g, weft_tensor d);
/* UNSUPPORTED by `function`: the sentence, and where what has no derivative was traced. */
weft_status *weft_gradient_refuse(const weft_gradient_context *context, const char *function, const char *format, ...)
    WEFT_FORMAT(3, 4) WEFT_MUST_USE;
/* Of cotangents of `inputs` by weft_gradient_pull, where one that is there twice has the whole twice: the first keeps
 * it. */
void weft_gradient_drop_repeated(weft_tensors inputs, weft_tensor *out_values);
/* Zeros of the type of `like`. */
weft_tensor weft_gradient_zeros(weft_tensor like);
/* Elements that are still near where the reverse pass needs them: of f32 8 MB, what a core has of L3 holds twice that.
 * Measured on Sapphire Rapids. */
#define WEFT_GRADIENT_NEAR (1 << 21)
/* x for functions of it that the forward pass has, too: where it has more elements than that, a value of its own, so
 * that they are computed again and take no memory meanwhile. */
weft_tensor weft_gradient_afresh(weft_tensor x);
/* The op of the context again, over other operands. */
weft_tensor weft_gradient_again(const weft_gradient_context *context, weft_tensors inputs);
/* The jvp of a linear op of one operand: itself. */
weft_status *weft_gradient_jvp_linear(const weft_gradient_context *context, weft_tensor *out_values) WEFT_MUST_USE;
#endif
