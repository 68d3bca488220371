# SPDX-License-Identifier: Apache-2.0
"""The training runs of gradients.json: a step is one program, whose results are the inputs of the next."""
from binding import numpy
from compare import difference, elements


class Step:
    """Traces one step of training: from weights and state to the loss, the gradients, new weights and new state."""

    def __init__(self, weft, row, symbolic):
        self.weft, self.optimizer = weft, row["optimizer"]
        self.graph = weft.create_graph()
        self.names = list(row["initial"])
        self.data = [elements(row["x"], numpy.float64), elements(row["targets"], numpy.int64)]
        self.weights = [elements(array, numpy.float64) for array in row["initial"].values()]
        slots = {"sgd": 1, "adam": 2}[self.optimizer["kind"]]
        self.state = [numpy.zeros_like(array) for array in self.weights * slots]
        rows = "rows" if symbolic else len(self.data[0])
        inputs = [self.input(number, array, [rows, *array.shape[1:]] if number < 2 else array.shape)
                  for number, array in enumerate(self.data + self.weights + self.state + self.corrections(1))]
        x, targets, weights = inputs[0], inputs[1], inputs[2:2 + len(self.weights)]
        state, corrections = inputs[2 + len(weights):-2], inputs[-2:]
        loss = self.loss(x, targets, *weights)
        gradients = weft.several("grad", len(weights), loss, weights)
        update = getattr(self, self.optimizer["kind"])
        updated = [update(w, g, state[number::len(weights)], corrections) for number, (w, g) in
                   enumerate(zip(weights, gradients))]
        slots_updated = [slot for number in range(slots) for slot in [after[1][number] for after in updated]]
        self.program = weft.compile(self.graph, [loss, *gradients, *[after[0] for after in updated], *slots_updated])

    def input(self, number, array, extents):
        return self.weft.input(self.graph, f"x{number}", array.dtype, extents)

    def loss(self, x, targets, w1, b1, w2, b2):
        call = self.weft.trace
        hidden = call("tanh", call("add", call("matmul", x, w1), b1))
        return call("cross_entropy", call("add", call("matmul", hidden, w2), b2), targets, 1, None)

    def times(self, factor, tensor):
        """A number times a tensor."""
        return self.weft.trace("mul", self.weft.trace("full_like", tensor, float(factor)), tensor)

    def descend(self, weight, step):
        return self.weft.trace("sub", weight, self.times(self.optimizer["rate"], step))

    def sgd(self, weight, gradient, state, _corrections):
        velocity = self.weft.trace("add", self.times(self.optimizer["momentum"], state[0]), gradient)
        return self.descend(weight, velocity), [velocity]

    def adam(self, weight, gradient, state, corrections):
        call, beta1, beta2 = self.weft.trace, self.optimizer["beta1"], self.optimizer["beta2"]
        mean = call("add", self.times(beta1, state[0]), self.times(1 - beta1, gradient))
        square = call("add", self.times(beta2, state[1]), self.times(1 - beta2, call("mul", gradient, gradient)))
        root = call("sqrt", call("div", square, corrections[1]))
        below = call("add", root, call("full_like", root, self.optimizer["epsilon"]))
        return self.descend(weight, call("div", call("div", mean, corrections[0]), below)), [mean, square]

    def corrections(self, turn):
        """By what Adam divides its averages in a turn, from 1."""
        return [numpy.array(1 - self.optimizer.get(name, 0.0) ** turn) for name in ("beta1", "beta2")]

    def run(self, runtime, turn):
        """The loss and the gradients; weights and state are replaced."""
        operands = self.data + self.weights + self.state + self.corrections(turn)
        count = len(self.weights)
        results = self.weft.run(self.program, operands, [numpy.float64] * (1 + 2 * count + len(self.state)),
                                runtime=runtime.encode())
        self.weights, self.state = results[1 + count:1 + 2 * count], results[1 + 2 * count:]
        return results[0], results[1:1 + count]


def problems(weft, row, runtime, symbolic):
    """Sentences on what differs."""
    step = Step(weft, row, symbolic)
    found, losses = [], []

    def compare(title, array, right):
        problem = difference(array, elements(right, numpy.float64), row["tolerance"])
        if problem:
            found.append(f"{title}: {problem}")
    for turn in range(row["steps_of_training"] + 1):
        before = step.weights
        loss, gradients = step.run(runtime, turn + 1)
        losses.append(loss)
        if turn == 0:
            for name, gradient in zip(step.names, gradients):
                compare(f"first gradient of {name}", gradient, row["first_gradients"][name])
    for name, array in zip(step.names, before):
        compare(f"final {name}", array, row["final"][name])
    right = [*row["losses"], row["final_loss"]]
    compare("losses", numpy.array(losses), {"shape": [len(right)], "data": right})
    weft.program_release(step.program)
    return found
