/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_GRADIENT_H
#define WEFT_GRADIENT_H
/*
 * Derivatives. These functions trace the derivative of values of a graph as further values of the same graph: ordinary
 * ones, which are optimised, compiled and differentiated again like all others, in any order of nesting.
 *
 * With J the Jacobian of `outputs` as functions of `wrt` ("with respect to"), the tensors that are held independent:
 * weft_jvp gives J t, forward mode; weft_vjp gives J* g, reverse mode. J* is the adjoint for the inner product
 * Re sum conj(a) b. So the cotangent of a complex z = x + yi is dL/dx + dL/dy i, and z - rate * dL/dz descends.
 *
 *  - `wrt` are inputs or any other values, of floats or complex numbers: DTYPE_MISMATCH for others. What does not
 *    depend on them has the derivative zero. A result has exactly the type of the value that it belongs to, and needs
 *    no guards except those of the value.
 *  - Integers, bools, comparisons, positions (argmax, argsort) and steps (floor, sign) pass no derivative on.
 *  - Where a function has a kink, the derivative is the middle of the one-sided ones if that is a convention: abs at 0
 *    has 0, and the operands of max and min, or the elements of reduce_max, that are equal share it. relu has 0 at 0.
 *    An infinite slope is infinite; outside of its domain a function has NaN. norm, standard_deviation and atan2 have 0
 *    where all they depend on is 0.
 *  - Where the slope of a function is not finite, and what it is multiplied by is exactly 0, the product is 0: a branch
 *    that weft_select does not take spoils nothing (log, sqrt, pow, div, exp and the like), in derivatives of
 *    derivatives neither. mul is not guarded: x log(x) at 0 needs a select around what log is given, too.
 *  - Slopes of f16 and bf16 are computed in f32, and so are sums inside of one reduction; the cotangent of a value has
 *    its dtype, and so have sums of several.
 *  - The cotangents of a value with several uses are added in the order in which these were traced, except that a loop
 *    goes on from the sum of the uses after it, and that parts of a value written at places known at run time alone are
 *    added last. The bits do not depend on threads.
 *  - An op that has no derivative, on a path from `wrt` to `outputs`, is UNSUPPORTED; the message names it.
 *
 * All return result 0 and write all results to the last argument, which may be NULL. Errors stick to the graph, as
 * those of all tracing functions do. In a body (region.h) they differentiate what the body has computed, with respect
 * to tensors made in it or around it.
 *
 * Griewank and Walther, "Evaluating Derivatives", 2008.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The gradient of `loss`, a float of rank 0: a result for each of `wrt`, of its type. */
weft_tensor weft_grad(weft_tensor loss, weft_tensors wrt, weft_tensor *out_gradients);

/* J* g: `cotangents` has one for each of `outputs`, of its type, or WEFT_NO_TENSOR for zero, which also stands for the
 * cotangent of integers and bools. Results have the types of `wrt`. */
weft_tensor weft_vjp(weft_tensors outputs, weft_tensors cotangents, weft_tensors wrt, weft_tensor *out_cotangents);

/* J t: `tangents` has one for each of `wrt`, of its type, or WEFT_NO_TENSOR for zero. Results have the types of
 * `outputs`; those of integers and bools are zeros. */
weft_tensor weft_jvp(weft_tensors outputs, weft_tensors wrt, weft_tensors tangents, weft_tensor *out_tangents);

/* H t, H the Hessian of `loss`, a float of rank 0, by forward over reverse mode. Types as for weft_jvp's tangents. */
weft_tensor weft_hvp(weft_tensor loss, weft_tensors wrt, weft_tensors tangents, weft_tensor *out_products);

/* The whole Jacobian, of shape [shape of output, shape of wrt]: a loop over the elements of `wrt` in forward mode, or
 * of `output` in reverse mode, whichever are known to be fewer. Both are floats of one dtype. */
weft_tensor weft_jacobian(weft_tensor output, weft_tensor wrt);

/* `x`, which passes no derivative on, in any mode and order. */
weft_tensor weft_stop_gradient(weft_tensor x);

/* Traces what a function computes: fills out_results from `inputs`. */
typedef void (*weft_function)(void *context, const weft_tensor *inputs, weft_tensor *out_results);

/*
 * The results of `function` for `inputs`, one or more: the first is returned, and all are written to out_results unless
 * that is NULL. Reverse mode does not keep what is computed inside: it computes it again from `inputs`, and from what
 * the function uses besides, once the cotangents are there. That trades time for memory, and changes no bit.
 */
weft_tensor weft_checkpoint(weft_tensors inputs, size_t result_count, weft_function function, void *context,
                            weft_tensor *out_results);

/*
 * A derivative of one's own. `vjp` fills out_cotangents for the inputs, which come with the results and with a
 * cotangent for each (zeros where there is none); `jvp` fills out_tangents for the results from those of the inputs.
 * Both see inputs of the types given; what they leave WEFT_NO_TENSOR counts as zero, anything else has the type of the
 * value that it belongs to (INVALID_ARGUMENT). Either may be NULL: then the function itself is differentiated in that
 * mode. They are called when a derivative is traced: `context` must live as long as the graph.
 */
typedef struct weft_gradient_rule {
    void *context;
    void (*vjp)(void *context, weft_tensors inputs, weft_tensors results, weft_tensors cotangents,
                weft_tensor *out_cotangents);
    void (*jvp)(void *context, weft_tensors inputs, weft_tensors results, weft_tensors tangents,
                weft_tensor *out_tangents);
} weft_gradient_rule;
/* The results of `function` for `inputs`, as of weft_checkpoint, differentiated by `rule`. */
weft_tensor weft_custom_gradient(weft_tensors inputs, size_t result_count, weft_function function, void *context,
                                 const weft_gradient_rule *rule, weft_tensor *out_results);

#ifndef WEFT_NO_LOCATIONS
#define weft_grad(...) WEFT_LOCATED_(grad, __VA_ARGS__)
#define weft_vjp(...) WEFT_LOCATED_(vjp, __VA_ARGS__)
#define weft_jvp(...) WEFT_LOCATED_(jvp, __VA_ARGS__)
#define weft_hvp(...) WEFT_LOCATED_(hvp, __VA_ARGS__)
#define weft_jacobian(...) WEFT_LOCATED_(jacobian, __VA_ARGS__)
#define weft_stop_gradient(...) WEFT_LOCATED_(stop_gradient, __VA_ARGS__)
#define weft_checkpoint(...) WEFT_LOCATED_(checkpoint, __VA_ARGS__)
#define weft_custom_gradient(...) WEFT_LOCATED_(custom_gradient, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
