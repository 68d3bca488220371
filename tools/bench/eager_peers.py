# SPDX-License-Identifier: Apache-2.0
"""The cases of eager.c in numpy, torch, jax and mlx: eager_peers.py NAME answers as that program does."""
import importlib
import sys
import time

import needs

BATCH, WIDE, HIDDEN, CLASSES, LONG, LINKS = 32, 64, 128, 10, 1000, 1000
SECONDS = 0.2


def filled(shape, scale):
    import numpy
    count = int(numpy.prod(shape))
    return (scale * numpy.sin(numpy.arange(count) + 1.0)).astype("f4").reshape(shape)


class Peer:
    """`array` takes one of numpy, `done` waits for results; operators do the rest."""

    def __init__(self):
        self.two, self.four, self.many, self.squares = (
            [self.array(filled(shape, 1 + i)) for i in range(2)] for shape in ((2, 2), (4,), (LONG,), (WIDE, WIDE)))
        self.batch, self.wanted = self.array(filled((BATCH, WIDE), 1)), self.array(filled((BATCH, CLASSES), 1))
        self.start()

    def start(self):
        self.weights = [self.array(filled((WIDE, HIDDEN), 0.1)), self.array(filled((HIDDEN, CLASSES), 0.1))]

    def jit(self, function):
        return function

    def cases(self):
        product, add, chain = self.jit(lambda x, y: x @ y), self.jit(lambda x, y: x + y), self.jit(self.chain)
        return {"product-2": lambda: self.done(product(*self.two)), "add-4": lambda: self.done(add(*self.four)),
                "add-1000": lambda: self.done(add(*self.many)), "product-64": lambda: self.done(product(*self.squares)),
                "chain-1000": lambda: self.done(chain(*self.many)), "network": self.network()}

    @staticmethod
    def chain(x, y):
        for _ in range(LINKS // 2):
            x = x * 0.999
            x = x + y
        return x

    def loss(self, weights):
        away = self.relu(self.batch @ weights[0]) @ weights[1] - self.wanted
        return (away * away).mean()


class Numpy(Peer):
    name = "numpy"

    def array(self, x):
        return x

    def done(self, x):
        return x

    def network(self):
        return None


class Torch(Peer):
    name = "torch"

    def __init__(self):
        import torch
        torch.set_num_threads(1)
        self.torch = torch
        super().__init__()

    def array(self, x):
        return self.torch.from_numpy(x)

    def done(self, x):
        return x

    def relu(self, x):
        return self.torch.relu(x)

    def network(self):
        def step():
            for weight in self.weights:
                weight.requires_grad_()
            loss = self.loss(self.weights)
            gradients = self.torch.autograd.grad(loss, self.weights)
            with self.torch.no_grad():
                self.weights = [weight - 0.01 * gradient for weight, gradient in zip(self.weights, gradients)]
            return loss.detach()
        return step


class Jax(Peer):
    """Each function jitted: what is measured is a call of one that is compiled."""
    name = "jax"

    def __init__(self):
        import jax
        self.jax = jax
        super().__init__()

    def array(self, x):
        return self.jax.numpy.asarray(x)

    def done(self, x):
        return x.block_until_ready()

    def jit(self, function):
        return self.jax.jit(function)

    def relu(self, x):
        return self.jax.numpy.maximum(x, 0)

    def network(self):
        def update(weights):
            loss, gradients = self.jax.value_and_grad(self.loss)(weights)
            return loss, [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients)]
        update = self.jax.jit(update)

        def step():
            loss, self.weights = update(self.weights)
            return loss.block_until_ready()
        return step


class Mlx(Peer):
    name = "mlx"

    def __init__(self):
        self.mlx = importlib.import_module("mlx.core")
        super().__init__()

    def array(self, x):
        return self.mlx.array(x)

    def done(self, x):
        self.mlx.eval(x)
        return x

    def relu(self, x):
        return self.mlx.maximum(x, 0)

    def network(self):
        update = self.mlx.value_and_grad(self.loss)

        def step():
            loss, gradients = update(self.weights)
            self.weights = [weight - 0.01 * gradient for weight, gradient in zip(self.weights, gradients)]
            self.mlx.eval(loss, self.weights)
            return loss
        return step


def sum_of(x):
    import numpy
    return numpy.asarray(x, dtype="f8").sum()


def measure(peer, case):
    peer.start()
    case()
    total = sum_of(case())
    elapsed, n = 0.0, 1
    while elapsed < SECONDS:
        begin = time.process_time()
        for _ in range(n):
            case()
        elapsed = time.process_time() - begin
        count, n = n, 2 * n
    return elapsed / count * 1e9, total


def main():
    name = sys.argv[1]
    needs.modules(*dict.fromkeys(["numpy", name]))
    peer = {kind.name: kind for kind in (Numpy, Torch, Jax, Mlx)}[name]()
    cases = peer.cases()
    for line in sys.stdin:
        case = cases[line.strip()]
        print("-" if case is None else "%.1f %.9g" % measure(peer, case), flush=True)


if __name__ == "__main__":
    main()
