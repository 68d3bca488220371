/* SPDX-License-Identifier: Apache-2.0 */
/* Learns to tell digits by two convolutions and a layer: convolution digits.txt. */
#include "digits.h"

enum { FIRST = 8, SECOND = 16 };

static void declare(trainer *t)
{
    train_parameter(t, "w1", TRAIN_SHAPE(FIRST, 1, 3, 3), 0.333);
    train_parameter(t, "b1", TRAIN_SHAPE(FIRST), 0.333);
    train_parameter(t, "w2", TRAIN_SHAPE(SECOND, FIRST, 3, 3), 0.118);
    train_parameter(t, "b2", TRAIN_SHAPE(SECOND), 0.118);
    train_parameter(t, "w3", TRAIN_SHAPE(4 * SECOND, DIGITS), 0.125);
    train_parameter(t, "b3", TRAIN_SHAPE(DIGITS), 0.125);
}

static weft_tensor parameter(const trainer *t, size_t k)
{
    return t->inputs[t->parameters[k]];
}

/* A convolution that keeps the size, and the largest of each two by two. */
static weft_tensor block(weft_tensor x, weft_tensor w, weft_tensor b)
{
    const weft_conv_options around = {.low = WEFT_INTS(1, 1), .high = WEFT_INTS(1, 1), .bias = b};
    return weft_max_pool(weft_relu(weft_conv(x, w, &around)), &(weft_pool_options){.size = WEFT_INTS(2, 2)});
}

static weft_tensor network(trainer *t, weft_tensor pictures)
{
    weft_tensor x = weft_reshape(pictures, WEFT_SHAPE(weft_tensor_extent(pictures, 0), 1, SIDE, SIDE));
    x = block(x, parameter(t, 0), parameter(t, 1));
    x = block(x, parameter(t, 2), parameter(t, 3));
    return weft_add(weft_matmul(weft_flatten(x, 1, -1), parameter(t, 4)), parameter(t, 5));
}

int main(int argc, char **argv)
{
    return digits_train(argc, argv, declare, network, 0.01);
}
