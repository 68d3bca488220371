/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_OPTIMIZE_H
#define WEFT_OPTIMIZE_H
/*
 * Optimisers: one step of each, as functions of tensors that return the parameter after it.
 *
 *     weft_tensor gradient = weft_grad(loss, WEFT_TENSORS(w), NULL);
 *     weft_tensor next = weft_sgd(w, gradient, rate, velocity, &(weft_sgd_options){.momentum = 0.9}, &next_velocity);
 *
 * What an optimiser remembers of a parameter are tensors of its shape, which begin with zeros: inputs of the program
 * whose next values are outputs. Donate them and the parameter (weft_run.donated of executor.h), and a step updates all
 * in place and allocates nothing.
 *
 *  - Parameters are of floats. Of f16 and bf16 the computation and the state are f32, and the parameter is rounded
 *    once.
 *  - `gradient` has the type of the parameter, as weft_grad gives it (DTYPE_MISMATCH, SHAPE_MISMATCH).
 *  - `rate`, and `step`, which counts the steps before this one, have rank 0: a float of any dtype, and an i64.
 *  - In options 0 stands for the default; numbers out of the ranges given are INVALID_ARGUMENT.
 *
 * Formulas and defaults are those of PyTorch's torch.optim, whose numbers they give, except that no optimiser decays
 * weights by default; papers are named, and Lion is its paper's. Next values may be left out by NULL.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_sgd_options {
    double momentum;     /* in [0, 1) */
    double weight_decay; /* >= 0: times the parameter, added to the gradient */
    bool nesterov;       /* looks ahead by the momentum, which is not 0; Sutskever et al., 2013 */
} weft_sgd_options;
/* p - rate * v, where v = momentum * velocity + gradient. Without momentum v is the gradient, and a velocity does not
 * matter: it may be WEFT_NO_TENSOR, and is the next one, too, as it is; eagerly there is no next one then, and its
 * place NULL. */
weft_tensor weft_sgd(weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor velocity,
                     const weft_sgd_options *options, weft_tensor *out_velocity);

typedef struct weft_adam_options {
    double beta1, beta2; /* in (0, 1); default 0.9 and 0.999 */
    double epsilon;      /* > 0; default 1e-8 */
    double weight_decay; /* >= 0 */
    bool decoupled;      /* AdamW (Loshchilov and Hutter, 2019): the decay shrinks the parameter, by rate * decay */
} weft_adam_options;
/* Kingma and Ba, 2015. The state are the means of gradients and of their squares. */
weft_tensor weft_adam(weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor step, weft_tensor mean,
                      weft_tensor square, const weft_adam_options *options, weft_tensor *out_mean,
                      weft_tensor *out_square);

typedef struct weft_rmsprop_options {
    double alpha;        /* in (0, 1); default 0.99 */
    double epsilon;      /* > 0; default 1e-8 */
    double momentum;     /* in [0, 1) */
    double weight_decay; /* >= 0 */
} weft_rmsprop_options;
/* p - rate * g / (sqrt(square) + epsilon); Hinton, 2012. Without momentum a velocity does not matter, as for weft_sgd.
 */
weft_tensor weft_rmsprop(weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor square,
                         weft_tensor velocity, const weft_rmsprop_options *options, weft_tensor *out_square,
                         weft_tensor *out_velocity);

typedef struct weft_adagrad_options {
    double epsilon;      /* > 0; default 1e-10 */
    double rate_decay;   /* >= 0: the rate is divided by 1 + step * rate_decay */
    double weight_decay; /* >= 0 */
} weft_adagrad_options;
/* p - rate * g / (sqrt(sum of squares) + epsilon); Duchi et al., 2011. `step` may be WEFT_NO_TENSOR without rate_decay.
 */
weft_tensor weft_adagrad(weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor step,
                         weft_tensor square, const weft_adagrad_options *options, weft_tensor *out_square);

typedef struct weft_lion_options {
    double beta1, beta2; /* in (0, 1); default 0.9 and 0.99 */
    double weight_decay; /* >= 0, decoupled */
} weft_lion_options;
/* p (1 - rate * decay) - rate * sign(beta1 * mean + (1 - beta1) * g); Chen et al., 2023. */
weft_tensor weft_lion(weft_tensor parameter, weft_tensor gradient, weft_tensor rate, weft_tensor mean,
                      const weft_lion_options *options, weft_tensor *out_mean);

/* ---- gradients ---- */

/* The 2-norm of all gradients together, as f32, or f64 if one of them is; out_gradients are they, scaled so that it is
 * at most `limit` (> 0, finite). What is scaled by is the lesser of 1 and limit / (norm + 1e-6), as in PyTorch. So
 * where the norm is infinite (an element is, or the sum of squares overflows) finite elements become 0 and others NaN,
 * and where it is NaN all do: look at the norm, or use weft_select on weft_is_finite of it to leave out such a step. */
weft_tensor weft_clip_gradients(weft_tensors gradients, double limit, weft_tensor *out_gradients);

/* ---- rates as functions of the step, an i64 of rank 0: f64 of rank 0. INVALID_ARGUMENT for numbers out of the ranges
 * given, or not finite ---- */

/* `rate` times `factor` to the power of floor(step / every); factor >= 0, every >= 1. */
weft_tensor weft_rate_step(weft_tensor step, double rate, double factor, int64_t every);
/* From 0 to `rate` over `warmup` steps in equal parts, step 0 taking the first; then along half a cosine down to
 * `least` at step `total`, and `least` from there on. 0 <= warmup <= total. Loshchilov and Hutter, 2017. */
weft_tensor weft_rate_cosine(weft_tensor step, double rate, double least, int64_t warmup, int64_t total);
/* The same down a straight line. */
weft_tensor weft_rate_linear(weft_tensor step, double rate, double least, int64_t warmup, int64_t total);

#ifndef WEFT_NO_LOCATIONS
#define weft_sgd(...) WEFT_LOCATED_(sgd, __VA_ARGS__)
#define weft_adam(...) WEFT_LOCATED_(adam, __VA_ARGS__)
#define weft_rmsprop(...) WEFT_LOCATED_(rmsprop, __VA_ARGS__)
#define weft_adagrad(...) WEFT_LOCATED_(adagrad, __VA_ARGS__)
#define weft_lion(...) WEFT_LOCATED_(lion, __VA_ARGS__)
#define weft_clip_gradients(...) WEFT_LOCATED_(clip_gradients, __VA_ARGS__)
#define weft_rate_step(...) WEFT_LOCATED_(rate_step, __VA_ARGS__)
#define weft_rate_cosine(...) WEFT_LOCATED_(rate_cosine, __VA_ARGS__)
#define weft_rate_linear(...) WEFT_LOCATED_(rate_linear, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
