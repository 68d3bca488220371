# SPDX-License-Identifier: Apache-2.0
"""The networks of layers.c and convolution.c in torch, from the same numbers: digits_torch.py digits.txt."""
import math
import sys

import numpy
import torch

TRAINED, BATCH, EPOCHS, RATE = 1344, 32, 30, 0.01
LAYERS = [((64, 32), 0.125), ((32,), 0.125), ((32, 10), 0.177), ((10,), 0.177)]
CONVOLUTION = [((8, 1, 3, 3), 0.333), ((8,), 0.333), ((16, 8, 3, 3), 0.118), ((16,), 0.118), ((64, 10), 0.125),
               ((10,), 0.125)]


def parameters(shapes):
    """As train.h draws them."""
    random = 1
    for shape, size in shapes:
        numbers = numpy.empty(shape, numpy.float32)
        for i in range(numbers.size):
            random = (random * 1664525 + 1013904223) % 2**32
            numbers.flat[i] = size * (2 * (random >> 8) / 2**24 - 1)
        yield torch.tensor(numbers, requires_grad=True)


def layers(x, w1, b1, w2, b2):
    return torch.relu(x @ w1 + b1) @ w2 + b2


def convolution(x, w1, b1, w2, b2, w3, b3):
    f = torch.nn.functional
    x = f.max_pool2d(torch.relu(f.conv2d(x.reshape(-1, 1, 8, 8), w1, b1, padding=1)), 2)
    return f.max_pool2d(torch.relu(f.conv2d(x, w2, b2, padding=1)), 2).flatten(1) @ w3 + b3


def read(path):
    with open(path, encoding="ascii") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    pictures = torch.tensor([[int(mark, 17) / 16 for mark in marks] for _, marks in rows])
    return pictures, torch.tensor([int(label) for label, _ in rows])


def train(network, shapes, pictures, labels):
    own = list(parameters(shapes))
    optimizer, steps = torch.optim.Adam(own, lr=RATE), TRAINED // BATCH * EPOCHS
    for step in range(steps):
        first = step * BATCH % TRAINED
        optimizer.param_groups[0]["lr"] = RATE * (0.01 + 0.99 * (1 + math.cos(math.pi * step / steps)) / 2)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(pictures[first:first + BATCH], *own),
                                                 labels[first:first + BATCH])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hits = network(pictures[TRAINED:TRAINED + 450], *own).argmax(1) == labels[TRAINED:TRAINED + 450]
    print(f"{network.__name__}: loss {loss.item():.6f}, {int(hits.sum())} of 450 recognised")


def main():
    torch.set_num_threads(1)
    pictures, labels = read(sys.argv[1])
    train(layers, LAYERS, pictures, labels)
    train(convolution, CONVOLUTION, pictures, labels)


if __name__ == "__main__":
    main()
