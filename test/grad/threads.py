# SPDX-License-Identifier: Apache-2.0
"""Gradients of programs that are large enough for several threads have the same bits for any number of them: threads.py
BUILD."""
import ctypes
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
from binding import POINTER, Extent, Tensor, numpy
from declared import Declared
from trial import Library

COUNTS = [2, 3, 7]
FOLD_BODY = ctypes.CFUNCTYPE(None, POINTER, Tensor, ctypes.POINTER(Tensor), ctypes.POINTER(Tensor))


def dense(trace, _declared, w1, w2, x, classes):
    hidden = trace("gelu", trace("matmul", x, w1))
    return trace("cross_entropy", trace("matmul", hidden, w2), classes, -1, None)


def embedding(trace, _declared, table, indices):
    """Most rows are read many times, so that their gradients are sums."""
    rows = trace("gather", table, indices, 0)
    return trace("reduce_sum", trace("sin", rows), [0, 1], False)


def norm(trace, _declared, x, c):
    return trace("reduce_sum", trace("mul", trace("layer_norm", x, -1, None), c), [0, 1], False)


def attention(causal):
    def loss(trace, declared, q, k, v):
        options = declared.struct("weft_attention_options")[1](causal=causal)
        y = trace("attention", q, k, v, ctypes.byref(options))
        return trace("reduce_sum", trace("mul", y, y), [0, 1, 2], False)
    return loss


def convolution(trace, _declared, x, w):
    y = trace("tanh", trace("conv", x, w, None))
    return trace("reduce_sum", y, [0, 1, 2, 3], False)


def recurrence(trace, _declared, w, h):
    def step(_context, _index, carried, out_next):
        out_next[0] = trace("tanh", trace("matmul", carried[0], w))

    last = trace("fold", Extent(None, 20), [h], FOLD_BODY(step), None, None)
    return trace("reduce_sum", trace("mul", last, last), [0, 1], False)


def column_sums(trace, _declared, x):
    running = trace("cumsum", trace("exp", x), 0, False, False)
    return trace("logsumexp", trace("reduce_max", running, [1], False), [0], False)


# The loss, the shapes of what it is differentiated by, and those of the rest; integers are below the number after them.
LOSSES = {
    "dense": (dense, [(300, 200), (200, 50)], [(257, 300)], ((257,), 50)),
    "embedding": (embedding, [(500, 64)], [], ((20000,), 500)),
    "norm": (norm, [(700, 500)], [(700, 500)], None),
    "attention": (attention(False), [(6, 200, 64)] * 3, [], None),
    "causal": (attention(True), [(6, 200, 64)] * 3, [], None),
    "convolution": (convolution, [(2, 16, 50, 50), (24, 16, 3, 3)], [], None),
    "recurrence": (recurrence, [(200, 200), (64, 200)], [], None),
    "column sums": (column_sums, [(900, 600)], [], None),
}


def gradients_of(weft, declared, loss, wrt, operands):
    graph, results = weft.create_graph(), (Tensor * wrt)()
    inputs = [weft.input(graph, f"x{number}", array.dtype, list(array.shape)) for number, array in enumerate(operands)]
    value = loss(weft.trace, declared, *inputs)
    weft.trace("grad", value, inputs[:wrt], results)
    program = weft.compile(graph, [value, *results])
    arrays = weft.run(program, operands, ["f4"] * (1 + wrt), runtime=b"llvm")
    weft.program_release(program)
    return arrays


class Threads(unittest.TestCase):
    def test_bits(self):
        one, others = Library(BUILD, threads=1), [Library(BUILD, threads=count) for count in COUNTS]
        headers = sorted((FOLDER.parent.parent / "include/weft").glob("*.h"))
        declared, random = Declared(headers), numpy.random.default_rng(1)
        for name, (loss, shapes, rest, integers) in LOSSES.items():
            operands = [random.standard_normal(shape).astype("f4") / 8 for shape in shapes + rest]
            if integers is not None:
                operands.append(random.integers(0, integers[1], integers[0]))
            expected = gradients_of(one, declared, loss, len(shapes), operands)
            for count, weft in zip(COUNTS, others):
                with self.subTest(name, threads=count):
                    for left, right in zip(expected, gradients_of(weft, declared, loss, len(shapes), operands)):
                        self.assertTrue(numpy.isfinite(left).all())
                        self.assertEqual(left.tobytes(), right.tobytes())


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
