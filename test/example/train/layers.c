/* SPDX-License-Identifier: Apache-2.0 */
/* Learns to tell digits by two layers: layers digits.txt. */
#include "digits.h"

enum { HIDDEN = 32 };

static void declare(trainer *t)
{
    train_parameter(t, "w1", TRAIN_SHAPE(CELLS, HIDDEN), 0.125);
    train_parameter(t, "b1", TRAIN_SHAPE(HIDDEN), 0.125);
    train_parameter(t, "w2", TRAIN_SHAPE(HIDDEN, DIGITS), 0.177);
    train_parameter(t, "b2", TRAIN_SHAPE(DIGITS), 0.177);
}

static weft_tensor parameter(const trainer *t, size_t k)
{
    return t->inputs[t->parameters[k]];
}

static weft_tensor network(trainer *t, weft_tensor pictures)
{
    weft_tensor hidden = weft_relu(weft_add(weft_matmul(pictures, parameter(t, 0)), parameter(t, 1)));
    return weft_add(weft_matmul(hidden, parameter(t, 2)), parameter(t, 3));
}

int main(int argc, char **argv)
{
    return digits_train(argc, argv, declare, network, 0.01);
}
