/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_NN_H
#define WEFT_NN_H
/*
 * Building blocks of neural networks, composed of the primitives of ops.h, whose rules hold here too. Operands are
 * floats unless stated otherwise (WEFT_DTYPE_MISMATCH). f16 and bf16 compute in f32 and round once at the end, except
 * for the products inside, whose results are rounded too.
 *
 * Omitted optional operands are WEFT_NO_TENSOR, which is what zero-initialised options contain. Options may be NULL,
 * for all zeros.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- activations ---- */
/* max(x, 0), with slope 0 at 0; integers too. */
weft_tensor weft_relu(weft_tensor x);
/* x for x >= 0, slope * x below. A slope that is NaN is INVALID_ARGUMENT. */
weft_tensor weft_leaky_relu(weft_tensor x, double slope);
/* The same with a slope from a tensor, which broadcasts. */
weft_tensor weft_prelu(weft_tensor x, weft_tensor slope);
/* max(0, min(1, slope * x + offset)); 1/6 and 1/2 are the usual ones. */
weft_tensor weft_hard_sigmoid(weft_tensor x, double slope, double offset);
/* x * hard_sigmoid(x, 1/6, 1/2). */
weft_tensor weft_hard_swish(weft_tensor x);
/* max(low, min(high, x)). */
weft_tensor weft_hard_tanh(weft_tensor x, double low, double high);
/* x / (1 + |x|). */
weft_tensor weft_softsign(weft_tensor x);
/* x * sigmoid(x). */
weft_tensor weft_silu(weft_tensor x);
/* x / 2 * (1 + erf(x / sqrt(2))). Hendrycks and Gimpel, "Gaussian error linear units". Below -1 the sum cancels: here
 * and in weft_gelu_tanh the error is about an ulp of x, however small the result. */
weft_tensor weft_gelu(weft_tensor x);
/* log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|)). */
weft_tensor weft_softplus(weft_tensor x);
/* x * tanh(softplus(x)). */
weft_tensor weft_mish(weft_tensor x);
/* x for x > 0, alpha * (exp(x) - 1) elsewhere, with slope alpha at 0. */
weft_tensor weft_elu(weft_tensor x, double alpha);
/* x for x >= 0, alpha * (exp(x / alpha) - 1) below. */
weft_tensor weft_celu(weft_tensor x, double alpha);
/* scale * elu(x, alpha) with scale = 1.0507009873554805 and alpha = 1.6732632423543772. Klambauer et al.,
 * "Self-normalizing neural networks". */
weft_tensor weft_selu(weft_tensor x);
/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). Hendrycks and Gimpel, "Gaussian error linear units". */
weft_tensor weft_gelu_tanh(weft_tensor x);

/* exp(x - max) / sum(exp(x - max)) along `axis`; NaN where all are -inf or one is inf. */
weft_tensor weft_softmax(weft_tensor x, int64_t axis);
/* (x - max) - log(sum(exp(x - max))): the logarithm of softmax without its underflow. */
weft_tensor weft_log_softmax(weft_tensor x, int64_t axis);

/* ---- normalisation ---- */
/* All compute (x - mean) / sqrt(variance + epsilon) * scale + bias, with the population variance. */
typedef struct weft_norm_options {
    weft_tensor scale, bias; /* of x's dtype, or f32 if x is f16 or bf16; default 1 and 0 */
    double epsilon;          /* 0 stands for 1e-5; negative or NaN is INVALID_ARGUMENT */
} weft_norm_options;
/* Over axes axis .. rank - 1; scale and bias broadcast to these. */
weft_tensor weft_layer_norm(weft_tensor x, int64_t axis, const weft_norm_options *options);
/* The same without a mean: x / sqrt(mean(x^2) + epsilon) * scale + bias. */
weft_tensor weft_rms_norm(weft_tensor x, int64_t axis, const weft_norm_options *options);
/* x is [n, c, ...]. `groups` must divide c; each group of consecutive channels is normalised over itself and all later
 * axes. Scale and bias are [c]. groups = c normalises every channel by itself ("instance norm"). */
weft_tensor weft_group_norm(weft_tensor x, int64_t groups, const weft_norm_options *options);
/* x is [n, c, ...], the others are [c]. With given statistics, or with those of x over all axes except c, which are
 * written too (the variance with correction 0; either pointer may be NULL). */
weft_tensor weft_batch_norm(weft_tensor x, weft_tensor mean, weft_tensor variance, const weft_norm_options *options);
weft_tensor weft_batch_norm_train(weft_tensor x, const weft_norm_options *options, weft_tensor *out_mean,
                                  weft_tensor *out_variance);

/* ---- attention and embedding ---- */
typedef struct weft_attention_options {
    weft_tensor mask; /* bool: where queries may look; or of q's dtype: added to the scores. Broadcasts to them */
    bool causal;      /* query i looks at keys up to i + causal_offset */
    weft_extent causal_offset; /* s - l where the queries are the last of the keys */
    double scale;              /* 0 stands for 1 / sqrt(d); where d is 0 scores are 0 */
} weft_attention_options;
/*
 * softmax(q k^T * scale) v. q is [..., h, l, d], k [..., g, s, d], v [..., g, s, e], the result [..., h, l, e]; leading
 * axes are equal, and there may be no heads at all. Where g differs from h both are static and g divides h: query head
 * i uses key head i / (h / g), which is not repeated in memory. Scores are [..., h, l, s], but on "llvm" only some rows
 * of them exist at a time where they would leave the caches: the memory grows with l, not with l * s. What `causal`
 * hides is not computed there. A query that may attend to nothing gives zeros. A weight below e^-80 of the greatest of
 * its row, e^-700 in f64, is zero: it would be denormal, or nearly. Vaswani et al., "Attention is all you need".
 */
weft_tensor weft_attention(weft_tensor q, weft_tensor k, weft_tensor v, const weft_attention_options *options);

/* Rows of `table` [v, ...]: the result has the shape of `indices` (integers) in place of v. Rules as for weft_gather;
 * any dtype. An index equal to `padding` gives a row of zeros, whether the table has a row of that index or not;
 * WEFT_NO_PADDING: there is no such index. */
weft_tensor weft_embedding(weft_tensor table, weft_tensor indices, int64_t padding);
#define WEFT_NO_PADDING INT64_MIN

/* ---- losses: of two operands that broadcast ---- */
typedef enum weft_reduction_kind {
    WEFT_REDUCTION_MEAN, /* over all elements */
    WEFT_REDUCTION_SUM,
    WEFT_REDUCTION_NONE,
    WEFT_REDUCTION_BATCH_MEAN /* sum / extent of the first axis */
} weft_reduction_kind;
/* (x - target)^2. */
weft_tensor weft_mse_loss(weft_tensor x, weft_tensor target, weft_reduction_kind reduction);
/* |x - target|. */
weft_tensor weft_l1_loss(weft_tensor x, weft_tensor target, weft_reduction_kind reduction);
/* d^2 / 2 where d = |x - target| <= delta, delta * (d - delta / 2) elsewhere. */
weft_tensor weft_huber_loss(weft_tensor x, weft_tensor target, double delta, weft_reduction_kind reduction);
/* -(positive * target * log(sigmoid(x)) + (1 - target) * log(1 - sigmoid(x))), without its overflow. `positive`, which
 * broadcasts, may be WEFT_NO_TENSOR for 1. */
weft_tensor weft_bce_with_logits(weft_tensor x, weft_tensor target, weft_tensor positive,
                                 weft_reduction_kind reduction);
/* target * (log(target) - x) for logarithms x and probabilities `target`; 0 where `target` is 0. */
weft_tensor weft_kl_divergence(weft_tensor x, weft_tensor target, weft_reduction_kind reduction);

/* ---- losses of classes: these lie along `axis` of x ---- */
typedef struct weft_class_options {
    weft_tensor weights; /* [c], of x's dtype, or f32 if x is f16 or bf16: weight of each class; default 1 */
    bool ignores;        /* rows of class `ignored` have weight 0 */
    int64_t ignored;
    weft_reduction_kind reduction; /* MEAN divides the sum of weighted losses by the sum of weights */
} weft_class_options;
/* -x at the class of each row: x holds logarithms of probabilities, `targets` (integers) has x's shape without `axis`.
 * Rules for classes as for weft_gather. */
weft_tensor weft_nll_loss(weft_tensor x, weft_tensor targets, int64_t axis, const weft_class_options *options);
/* weft_nll_loss of log_softmax(x). Where `targets` are floats of x's shape they are probabilities: then a row's loss is
 * the sum of -targets * weights * log_softmax(x), a mean is by the number of rows, and `ignored` plays no part. */
weft_tensor weft_cross_entropy(weft_tensor x, weft_tensor targets, int64_t axis, const weft_class_options *options);

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_relu(...) WEFT_LOCATED_(relu, __VA_ARGS__)
#define weft_leaky_relu(...) WEFT_LOCATED_(leaky_relu, __VA_ARGS__)
#define weft_prelu(...) WEFT_LOCATED_(prelu, __VA_ARGS__)
#define weft_hard_sigmoid(...) WEFT_LOCATED_(hard_sigmoid, __VA_ARGS__)
#define weft_hard_swish(...) WEFT_LOCATED_(hard_swish, __VA_ARGS__)
#define weft_hard_tanh(...) WEFT_LOCATED_(hard_tanh, __VA_ARGS__)
#define weft_softsign(...) WEFT_LOCATED_(softsign, __VA_ARGS__)
#define weft_silu(...) WEFT_LOCATED_(silu, __VA_ARGS__)
#define weft_gelu(...) WEFT_LOCATED_(gelu, __VA_ARGS__)
#define weft_softplus(...) WEFT_LOCATED_(softplus, __VA_ARGS__)
#define weft_mish(...) WEFT_LOCATED_(mish, __VA_ARGS__)
#define weft_elu(...) WEFT_LOCATED_(elu, __VA_ARGS__)
#define weft_celu(...) WEFT_LOCATED_(celu, __VA_ARGS__)
#define weft_selu(...) WEFT_LOCATED_(selu, __VA_ARGS__)
#define weft_gelu_tanh(...) WEFT_LOCATED_(gelu_tanh, __VA_ARGS__)
#define weft_softmax(...) WEFT_LOCATED_(softmax, __VA_ARGS__)
#define weft_log_softmax(...) WEFT_LOCATED_(log_softmax, __VA_ARGS__)
#define weft_layer_norm(...) WEFT_LOCATED_(layer_norm, __VA_ARGS__)
#define weft_rms_norm(...) WEFT_LOCATED_(rms_norm, __VA_ARGS__)
#define weft_group_norm(...) WEFT_LOCATED_(group_norm, __VA_ARGS__)
#define weft_batch_norm(...) WEFT_LOCATED_(batch_norm, __VA_ARGS__)
#define weft_batch_norm_train(...) WEFT_LOCATED_(batch_norm_train, __VA_ARGS__)
#define weft_attention(...) WEFT_LOCATED_(attention, __VA_ARGS__)
#define weft_embedding(...) WEFT_LOCATED_(embedding, __VA_ARGS__)
#define weft_mse_loss(...) WEFT_LOCATED_(mse_loss, __VA_ARGS__)
#define weft_l1_loss(...) WEFT_LOCATED_(l1_loss, __VA_ARGS__)
#define weft_huber_loss(...) WEFT_LOCATED_(huber_loss, __VA_ARGS__)
#define weft_bce_with_logits(...) WEFT_LOCATED_(bce_with_logits, __VA_ARGS__)
#define weft_kl_divergence(...) WEFT_LOCATED_(kl_divergence, __VA_ARGS__)
#define weft_nll_loss(...) WEFT_LOCATED_(nll_loss, __VA_ARGS__)
#define weft_cross_entropy(...) WEFT_LOCATED_(cross_entropy, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
