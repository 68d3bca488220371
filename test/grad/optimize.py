# SPDX-License-Identifier: Apache-2.0
"""The optimisers of <weft/optimize.h> in training runs beside torch: optimize.py BUILD.

optimize.json has the runs, a hundred steps of each optimiser on a network of two layers, and what torch gives in f64.
"""
import ctypes
import json
import math
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
from binding import Tensor, numpy
from declared import Declared
from trial import Library

CONTENT = json.loads((FOLDER / "optimize.json").read_text(encoding="ascii"))
STEPS = 100
# What takes the step, and how many tensors of state each has.
TAKES_STEP = {"adam", "adagrad"}
STATES = {"sgd": 1, "adam": 2, "rmsprop": 2, "adagrad": 1, "lion": 1}
# How far the losses of a run in another dtype, which begin with 1.9, may be from those of f64.
NARROW = {"f32": 2e-5, "f16": 0.02, "bf16": 0.06}


class Step:
    """A step of training as a program: from parameters and state to the loss, new parameters and new state. Parameters
    of f16 and bf16 come and go as f32."""

    def __init__(self, weft, declared, row, dtype):
        self.weft, self.row, self.dtype = weft, row, dtype
        self.wide = numpy.dtype("f8" if dtype == "f64" else "f4")
        self.graph = weft.create_graph()
        options = {name: value for name, value in row["options"].items() if name not in ("rate", "clip", "schedule")}
        self.options = declared.struct(f"weft_{row['kind']}_options")[1](**options)
        self.operands = [numpy.array(CONTENT["x"], self.wide), numpy.array(CONTENT["targets"]), numpy.array(0)]
        self.parameters = [numpy.array(data, self.wide).reshape(shape) for data, shape in
                           zip(CONTENT["initial"], CONTENT["shapes"])]
        self.state = [numpy.zeros_like(array) for array in self.parameters for _ in range(STATES[row["kind"]])]
        given = [*self.operands, *self.parameters, *self.state]
        self.program = self.compile([weft.input(self.graph, f"x{number}", array.dtype, array.shape)
                                     for number, array in enumerate(given)])

    def cast(self, tensor, dtype):
        found = ctypes.c_int()
        self.weft.dtype_find(dtype.encode(), ctypes.byref(found))
        return self.weft.trace("cast", tensor, found)

    def compile(self, inputs):
        weft, count = self.weft, len(self.parameters)
        x, targets, step = inputs[:3]
        parameters = [self.cast(tensor, self.dtype) for tensor in inputs[3:3 + count]]
        loss = self.loss(self.cast(x, self.dtype), targets, *parameters)
        gradients = weft.several("grad", count, loss, parameters)
        norm = loss
        if "clip" in self.row["options"]:
            clipped = (Tensor * count)()
            norm = weft.trace("clip_gradients", gradients, self.row["options"]["clip"], clipped)
            gradients = list(clipped)
        states = iter(inputs[3 + count:])
        updated = [self.update(p, g, step, [next(states) for _ in range(STATES[self.row["kind"]])]) for p, g in
                   zip(parameters, gradients)]
        wide = "f64" if self.dtype == "f64" else "f32"
        results = [loss, norm, *[p for p, _, _ in updated], *[p for _, _, p in updated]]
        states = [tensor for _, state, _ in updated for tensor in state]
        return weft.compile(self.graph, [*[self.cast(tensor, wide) for tensor in results], *states])

    def loss(self, x, targets, w1, b1, w2, b2):
        call = self.weft.trace
        hidden = call("tanh", call("add", call("matmul", x, w1), b1))
        return call("cross_entropy", call("add", call("matmul", hidden, w2), b2), targets, 1, None)

    def rate(self, step):
        if "schedule" not in self.row["options"]:
            return self.weft.trace("scalar", self.graph, self.weft.dtype(self.wide), self.row["options"]["rate"])
        name, *numbers = self.row["options"]["schedule"]
        return self.weft.trace(name, step, *numbers)

    def update(self, p, g, step, state):
        """The new parameter and state, and what the parameter should be: that of a wide one, rounded once."""
        wide = "f64" if self.dtype == "f64" else "f32"
        new, states = self.call(p, g, step, state)
        exact, _ = self.call(self.cast(p, wide), self.cast(g, wide), step, state)
        return new, states, self.cast(exact, self.dtype)

    def call(self, p, g, step, state):
        out = [Tensor() for _ in state]
        counted = [step] if self.row["kind"] in TAKES_STEP else []
        new = self.weft.trace(self.row["kind"], p, g, self.rate(step), *counted, *state, ctypes.byref(self.options),
                              *map(ctypes.byref, out))
        # Without momentum the state is passed on as it is.
        return new, [tensor if tensor.graph else kept for tensor, kept in zip(out, state)]

    def run(self, runtime, turn):
        """The loss and the norm of the gradients; parameters and state are replaced."""
        self.operands[2] = numpy.array(turn)
        count = len(self.parameters)
        arrays = [*self.operands, *self.parameters, *self.state]
        results = self.weft.run(self.program, arrays, [self.wide] * (2 + 2 * count + len(self.state)),
                                runtime=runtime.encode())
        self.parameters, exact, self.state = results[2:2 + count], results[2 + count:2 + 2 * count], results[2 + 2 * count:]
        for new, right in zip(self.parameters, exact):
            numpy.testing.assert_array_equal(new, right)
        return float(results[0]), float(results[1])

    def train(self, runtime):
        """Losses, and norms of gradients, before each tenth step and after the last."""
        found = [self.run(runtime, turn) for turn in range(STEPS)]
        final = self.parameters
        found.append(self.run(runtime, STEPS))
        self.parameters = final
        return [list(column[::10]) for column in zip(*found)]


class Optimizers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weft = Library(pathlib.Path(BUILD))
        cls.declared = Declared(sorted((FOLDER.parent.parent / "include/weft").glob("*.h")))

    @classmethod
    def tearDownClass(cls):
        cls.weft.executor_destroy(cls.weft.executor)

    def step(self, row, dtype):
        step = Step(self.weft, self.declared, row, dtype)
        self.addCleanup(self.weft.program_release, step.program)
        return step

    def check_run(self, row, runtime):
        step = self.step(row, "f64")
        losses, norms = step.train(runtime)
        numpy.testing.assert_allclose(losses, row["losses"], rtol=1e-10, atol=0)
        for array, right in zip(step.parameters, row["final"]):
            numpy.testing.assert_allclose(array.flatten(), right, rtol=1e-10, atol=1e-12)
        if row["norms"]:
            numpy.testing.assert_allclose(norms[:-1], row["norms"], rtol=1e-10, atol=0)

    def test_torch(self):
        for row in CONTENT["runs"]:
            for runtime in ("llvm", "ref"):
                with self.subTest(row["name"], runtime=runtime):
                    self.check_run(row, runtime)

    def test_narrow_parameters(self):
        """State is f32 then, and a step is that of an f32 rounded once."""
        for row in CONTENT["runs"]:
            for dtype, slack in NARROW.items():
                with self.subTest(row["name"], dtype=dtype):
                    losses, _ = self.step(row, dtype).train("llvm")
                    numpy.testing.assert_allclose(losses, row["losses"], rtol=0, atol=slack)


# ---- rates ----

def along(curve, step, rate, least, warmup, total):
    if step < warmup:
        return rate * (step + 1) / warmup
    part = min(1.0, (step - warmup) / (total - warmup)) if total > warmup else 1.0
    return least + (rate - least) * curve(part)


FORMULAS = {
    "rate_step": lambda step, rate, factor, every: rate * factor ** (step // every),
    "rate_cosine": lambda *numbers: along(lambda part: (1 + math.cos(math.pi * part)) / 2, *numbers),
    "rate_linear": lambda *numbers: along(lambda part: 1 - part, *numbers),
}
ENDS = [(0, 10), (4, 10), (10, 10), (0, 1), (0, 0), (1, 3)]


class Rates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weft = Library(pathlib.Path(BUILD))

    @classmethod
    def tearDownClass(cls):
        cls.weft.executor_destroy(cls.weft.executor)

    def check_rate(self, name, *numbers):
        graph = self.weft.create_graph()
        step = self.weft.input(graph, "x0", numpy.int64, [])
        program = self.weft.compile(graph, [self.weft.trace(name, step, *numbers)])
        for count in range(14):
            (rate,) = self.weft.run(program, [numpy.array(count)], [numpy.float64])
            right = FORMULAS[name](count, *numbers)
            self.assertTrue(math.isclose(rate, right, rel_tol=1e-14, abs_tol=1e-16), (name, numbers, count, rate, right))
        self.weft.program_release(program)

    def test_steps(self):
        for numbers in [(0.5, 0.5, 3), (2.0, 0.9, 1), (1.0, 1.5, 20), (1.0, 0.0, 4)]:
            self.check_rate("rate_step", *numbers)

    def test_curves(self):
        for name in ("rate_cosine", "rate_linear"):
            for warmup, total in ENDS:
                self.check_rate(name, 0.3, 0.01, warmup, total)
                self.check_rate(name, 0.3, 0.0, warmup, total)


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
