/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that networks are made of: activations, normalisations, losses, whole-image pooling. */
#include "test/onnx/op.h"

/* ---- activations ---- */

weft_status *onnx_hard_sigmoid(onnx_node *node)
{
    double slope = onnx_float(node, "alpha", 0.2), offset = onnx_float(node, "beta", 0.5);
    node->outputs[0] = weft_hard_sigmoid(node->inputs[0], slope, offset);
    return NULL;
}

weft_status *onnx_leaky_relu(onnx_node *node)
{
    node->outputs[0] = weft_leaky_relu(node->inputs[0], onnx_float(node, "alpha", 0.01));
    return NULL;
}

weft_status *onnx_thresholded_relu(onnx_node *node)
{
    weft_tensor x = node->inputs[0], least = onnx_number(x, onnx_float(node, "alpha", 1));
    node->outputs[0] = weft_select(weft_gt(x, least), x, onnx_number(x, 0));
    return NULL;
}

weft_status *onnx_shrink(onnx_node *node)
{
    weft_tensor x = node->inputs[0], zero = onnx_number(x, 0);
    weft_tensor least = onnx_number(x, onnx_float(node, "lambd", 0.5)),
                bias = onnx_number(x, onnx_float(node, "bias", 0));
    weft_tensor below = weft_select(weft_lt(x, weft_neg(least)), weft_add(x, bias), zero);
    node->outputs[0] = weft_select(weft_gt(x, least), weft_sub(x, bias), below);
    return NULL;
}

weft_status *onnx_softmax(onnx_node *node)
{
    if (node->import->opset < 13) return onnx_unsupported(node, "softmax over flattened axes of old versions");
    node->outputs[0] = weft_softmax(node->inputs[0], onnx_int(node, "axis", -1));
    return NULL;
}

weft_status *onnx_log_softmax(onnx_node *node)
{
    if (node->import->opset < 13) return onnx_unsupported(node, "softmax over flattened axes of old versions");
    node->outputs[0] = weft_log_softmax(node->inputs[0], onnx_int(node, "axis", -1));
    return NULL;
}

/* 1 at the first greatest element along the axis. */
weft_status *onnx_hardmax(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    int64_t axis = onnx_int(node, "axis", -1);
    weft_tensor first = weft_argmax(x, axis, false);
    weft_tensor hot = weft_one_hot(first, weft_tensor_extent(x, axis), weft_tensor_dtype(x));
    node->outputs[0] = weft_moveaxis(hot, WEFT_INTS(-1), WEFT_INTS(axis));
    return NULL;
}

weft_status *onnx_elu(onnx_node *node)
{
    node->outputs[0] = weft_elu(node->inputs[0], onnx_float(node, "alpha", 1));
    return NULL;
}

weft_status *onnx_celu(onnx_node *node)
{
    node->outputs[0] = weft_celu(node->inputs[0], onnx_float(node, "alpha", 1));
    return NULL;
}

/* gamma * (x, or alpha * (exp(x) - 1) below 0) */
weft_status *onnx_selu(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    double gamma = onnx_float(node, "gamma", 1.0507010221481323);
    node->outputs[0] = weft_mul(weft_elu(x, onnx_float(node, "alpha", 1.6732631921768188)), onnx_number(x, gamma));
    return NULL;
}

/* x / (bias + alpha / size * sum of the squares of `size` neighbouring channels)^beta */
weft_status *onnx_local_response_norm(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    int64_t size = onnx_int(node, "size", 1), low = (size - 1) / 2, rank = (int64_t)weft_tensor_rank(x);
    weft_extent before[WEFT_MAX_RANK], after[WEFT_MAX_RANK];
    for (int64_t i = 0; i < rank; i++) {
        before[i] = weft_extent_of(i == 1 ? low : 0);
        after[i] = weft_extent_of(i == 1 ? size - 1 - low : 0);
    }
    weft_tensor padded = weft_pad(weft_mul(x, x), onnx_number(x, 0), (weft_shape){(size_t)rank, before},
                                  (weft_shape){(size_t)rank, after});
    weft_tensor sum = weft_reduce_sum(weft_window(padded, 1, weft_extent_of(size), 1, 1), WEFT_INTS(-1), false);
    weft_tensor scaled = weft_mul(sum, onnx_number(x, onnx_float(node, "alpha", 1e-4) / (double)size));
    weft_tensor base = weft_add(scaled, onnx_number(x, onnx_float(node, "bias", 1)));
    node->outputs[0] = weft_div(x, weft_pow(base, onnx_number(x, onnx_float(node, "beta", 0.75))));
    return NULL;
}

/* ---- normalisations ---- */

weft_status *onnx_layer_norm(onnx_node *node)
{
    weft_tensor x = node->inputs[0];
    int64_t rank = (int64_t)weft_tensor_rank(x), axis = onnx_int(node, "axis", -1), axes[WEFT_MAX_RANK];
    double epsilon = onnx_float(node, "epsilon", 1e-5);
    size_t count = 0;
    for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; i++) axes[count++] = i;
    weft_norm_options options = {.scale = node->inputs[1], .epsilon = epsilon};
    if (onnx_has(node, 2)) options.bias = node->inputs[2];
    node->outputs[0] = weft_layer_norm(x, axis, &options);
    node->outputs[1] = weft_mean(x, (weft_ints){count, axes}, true);
    weft_tensor variance = weft_variance(x, (weft_ints){count, axes}, 0, true);
    weft_tensor deviation = weft_sqrt(weft_add(variance, onnx_number(x, epsilon)));
    node->outputs[2] = weft_div(onnx_number(x, 1), deviation);
    return NULL;
}

weft_status *onnx_instance_norm(onnx_node *node)
{
    int64_t channels;
    weft_norm_options options = {
        .scale = node->inputs[1], .bias = node->inputs[2], .epsilon = onnx_float(node, "epsilon", 1e-5)};
    weft_extent_is_static(weft_tensor_extent(node->inputs[0], 1), &channels);
    node->outputs[0] = weft_group_norm(node->inputs[0], channels, &options);
    return NULL;
}

/* momentum * old + (1 - momentum) * seen */
static weft_tensor blend(weft_tensor old, weft_tensor seen, double momentum)
{
    return weft_add(weft_mul(old, onnx_number(old, momentum)), weft_mul(seen, onnx_number(old, 1 - momentum)));
}

weft_status *onnx_batch_norm(onnx_node *node)
{
    weft_tensor mean, variance;
    double momentum = onnx_float(node, "momentum", 0.9);
    weft_norm_options options = {
        .scale = node->inputs[1], .bias = node->inputs[2], .epsilon = onnx_float(node, "epsilon", 1e-5)};
    if (onnx_int(node, "training_mode", 0) == 0) {
        node->outputs[0] = weft_batch_norm(node->inputs[0], node->inputs[3], node->inputs[4], &options);
        return NULL;
    }
    node->outputs[0] = weft_batch_norm_train(node->inputs[0], &options, &mean, &variance);
    node->outputs[1] = blend(node->inputs[3], mean, momentum);
    node->outputs[2] = blend(node->inputs[4], variance, momentum);
    return NULL;
}

/* (x - mean) / (standard deviation + 1e-9) */
weft_status *onnx_mean_variance_norm(onnx_node *node)
{
    static const int64_t usual[] = {0, 2, 3};
    weft_tensor x = node->inputs[0];
    weft_ints axes = onnx_ints(node, "axes");
    if (axes.items == NULL) axes = (weft_ints){3, usual};
    weft_tensor deviation = weft_standard_deviation(x, axes, 0, true);
    node->outputs[0] = weft_div(weft_sub(x, weft_mean(x, axes, true)), weft_add(deviation, onnx_number(x, 1e-9)));
    return NULL;
}

/* ---- pooling of all there is ---- */

static weft_ints behind_channels(weft_tensor x, int64_t *storage)
{
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 2; i < rank; i++) storage[i - 2] = (int64_t)i;
    return (weft_ints){rank - 2, storage};
}

weft_status *onnx_global_average_pool(onnx_node *node)
{
    int64_t axes[WEFT_MAX_RANK];
    node->outputs[0] = weft_mean(node->inputs[0], behind_channels(node->inputs[0], axes), true);
    return NULL;
}

weft_status *onnx_global_max_pool(onnx_node *node)
{
    int64_t axes[WEFT_MAX_RANK];
    node->outputs[0] = weft_reduce_max(node->inputs[0], behind_channels(node->inputs[0], axes), true);
    return NULL;
}

/* ---- losses ---- */

/* Logarithms x [n, c, ...], classes `target` [n, ...]; classes of weight 0 count as nothing. */
static weft_tensor likelihood_loss(onnx_node *node, weft_tensor x)
{
    weft_tensor target = weft_cast(node->inputs[1], WEFT_I64), zero = onnx_number(target, 0);
    weft_tensor kept = weft_ge(target, onnx_number(target, -1e18));
    if (onnx_has_attribute(node, "ignore_index"))
        kept = weft_ne(target, onnx_number(target, (double)onnx_int(node, "ignore_index", 0)));
    target = weft_select(kept, target, zero);
    weft_tensor hot = weft_one_hot(target, weft_tensor_extent(x, 1), WEFT_BOOL);
    hot = weft_moveaxis(hot, WEFT_INTS(-1), WEFT_INTS(1));
    weft_tensor picked = weft_reduce_sum(weft_select(hot, x, onnx_number(x, 0)), WEFT_INTS(1), false);
    weft_tensor weight = weft_full_like(picked, 1);
    if (onnx_has(node, 2)) weight = weft_gather(node->inputs[2], target, 0);
    weight = weft_select(kept, weight, onnx_number(weight, 0));
    weft_tensor loss = weft_neg(weft_mul(picked, weight));
    if (onnx_string_is(node, "reduction", "none", false)) return loss;
    int64_t axes[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(loss);
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    weft_tensor sum = weft_reduce_sum(loss, (weft_ints){rank, axes}, false);
    if (onnx_string_is(node, "reduction", "sum", false)) return sum;
    return weft_div(sum, weft_reduce_sum(weight, (weft_ints){rank, axes}, false));
}

weft_status *onnx_likelihood_loss(onnx_node *node)
{
    node->outputs[0] = likelihood_loss(node, node->inputs[0]);
    return NULL;
}

weft_status *onnx_cross_entropy_loss(onnx_node *node)
{
    node->outputs[1] = weft_log_softmax(node->inputs[0], 1);
    node->outputs[0] = likelihood_loss(node, node->outputs[1]);
    return NULL;
}
