# SPDX-License-Identifier: Apache-2.0
"""Derivatives of random einsum expressions, in any order of forward and reverse mode: gradient_random.py BUILD
[--count N] [--shard I/N] [NUMBER...].

Expressions are those of numpy_random.py in floats and complex numbers; operands may be the same tensor, its conjugate,
or cut off by stop_gradient. Up to three passes follow, each with respect to some inputs so far. What is expected is a
sum of products of inputs, which the rules for products keep one, and which numpy.einsum evaluates. Extents are numbers
or symbols, nodes are lowered or stay, labels are sliced, memory is limited; runs are on generated code and on the
reference. What is wrong is printed with its number, which repeats it alone.
"""
import ctypes
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "grad"))
from binding import POINTER, SIZE, TEXT, Failure, Ints, Policy, Tensor, Tensors, ints, items, numpy, structure
from numpy_random import ORDERS, Expression, check_all
from trial import Library

DTYPES = [numpy.dtype(name) for name in ("f4", "f8", "f8", "c8", "c16")]
POINTS = 1000
MOST_TERMS = 300  # of what is expected: no pass is added after

EinsumOptions = structure("weft_einsum_options", size=SIZE, order=ctypes.c_int, minimize=ctypes.c_int, path=Ints,
                          nested=TEXT, tree=POINTER, sliced=Ints, seed=ctypes.c_uint64, moves=ctypes.c_uint64,
                          time_budget=ctypes.c_double, threads=SIZE, machine=POINTER, cancelled=POINTER,
                          dtype=ctypes.c_int, memory_limit=SIZE, report=POINTER, watch=POINTER)

# ---- what is expected -----------------------------------------------------------------------------------------------


class Factor:
    """An input, or "eye" or "ones", over labels, each of which it has once; conjugated or not."""

    def __init__(self, name, labels, conjugated=False):
        self.name, self.labels, self.conjugated = name, labels, conjugated

    def turned(self, over):
        return Factor(self.name, self.labels, self.conjugated != over)


class Term:
    """The sum of the product of factors over all labels that `output` does not have."""

    def __init__(self, factors, output):
        self.factors, self.output = factors, output

    def tangents(self, given):
        """Terms with one factor replaced by its tangent."""
        for at, factor in enumerate(self.factors):
            if factor.name in given:
                replaced = Factor(given[factor.name], factor.labels, factor.conjugated)
                yield Term(self.factors[:at] + [replaced] + self.factors[at + 1:], self.output)

    def cotangents(self, cotangent, name):
        """Those of an input: for <g, A x> there is <A* g, x>, for <g, A conj(x)> there is <conj(A* g), x>."""
        for at, factor in enumerate(self.factors):
            if factor.name == name:
                rest = [other.turned(not factor.conjugated) for other in self.factors[:at] + self.factors[at + 1:]]
                yield Term(rest + [Factor(cotangent, self.output, factor.conjugated)], factor.labels)


class Sums:
    """Values as lists of terms over inputs."""

    def __init__(self, expression, names):
        self.labels, self.extents = {}, []
        factors = []
        for name, axes, ones in zip(names, expression.axes(), expression.ones):
            own = []
            for axis in axes:
                own.append(self.place(expression, axis, axis in ones, own, factors))
            factors.append(Factor(name[0], own, name[1]))
        output = []
        for axis in output_axes(expression):
            output.append(self.place(expression, axis, False, output, factors))
        self.result = [Term(factors, output)]

    def label(self, extent):
        self.extents.append(extent)
        return len(self.extents) - 1

    def place(self, expression, axis, is_one, taken, factors):
        """The label of an axis: one of its own if it is stretched or there already."""
        if is_one:
            return self.label(1)
        if axis not in self.labels:
            self.labels[axis] = self.label(extent_of(expression, axis))
        label = self.labels[axis]
        if label in taken:
            other = self.label(self.extents[label])
            factors.append(Factor("eye", [label, other]))
            return other
        return label

    def evaluate(self, terms, values, size=False):
        """The sum, or with `size` that of absolute values."""
        total = 0
        for term in terms:
            known = {label for factor in term.factors for label in factor.labels}
            arguments = []
            for factor in term.factors + [Factor("ones", [label]) for label in term.output if label not in known]:
                arguments += [self.value(factor, values, size), factor.labels]
            total = total + numpy.einsum(*arguments, term.output, optimize="greedy")
        return numpy.asarray(total)

    def value(self, factor, values, size):
        if factor.name == "eye":
            return numpy.eye(self.extents[factor.labels[0]])
        if factor.name == "ones":
            return numpy.ones(self.extents[factor.labels[0]])
        value = values[factor.name]
        value = value.astype("c16" if value.dtype.kind == "c" else "f8")
        return abs(value) if size else value.conj() if factor.conjugated else value


def extent_of(expression, axis):
    """One where no operand has more."""
    is_one = all(axis in ones for axes, ones in zip(expression.axes(), expression.ones) if axis in axes)
    return 1 if is_one else expression.extents[axis]


def output_axes(expression):
    depth = max(expression.depths[i] if "..." in term else 0 for i, term in enumerate(expression.terms))
    digits = [str(digit) for digit in reversed(range(depth))]
    if "->" in expression.text:
        term = expression.text.split("->")[1].strip()
        before, dots, after = term.partition("...")
        return [*before, *(digits if dots else []), *after]
    axes = [axis for term in expression.terms for axis in term if axis != "..."]
    return [*digits, *sorted(axis for axis in set(axes) if axes.count(axis) == 1)]


# ---- what is traced -------------------------------------------------------------------------------------------------

class Pass:
    """Reverse: results with a cotangent, and inputs; forward: inputs, and those of them with a tangent."""

    def __init__(self, draw, inputs, result_count):
        self.is_reverse = draw.random() < 0.5
        self.wrt = draw.sample(inputs, draw.randint(1, len(inputs)))
        among = range(result_count if self.is_reverse else len(self.wrt))
        self.given = sorted(draw.sample(among, draw.randint(1, len(among))))

    def __str__(self):
        return f"{'reverse' if self.is_reverse else 'forward'} {','.join(self.wrt)} given {self.given}"


class Drawn(Expression):
    """An expression, how it is contracted, and how its operands are made of inputs."""

    def __init__(self, number):
        draw = random.Random(number)
        while True:
            super().__init__(draw)
            self.dtype = draw.choice(DTYPES)
            self.draw_extents()
            if self.points <= POINTS:
                break
        self.number = number
        self.symbolic, self.keep = number % 4 in (1, 3), number % 4 == 3 or draw.random() < 0.5
        self.order = draw.choice(list(ORDERS))
        self.steps = self.path(self.order)
        self.limit = draw.choice([0, 0, 1 << 20]) if self.order == "auto" else 0
        letters = [axis for axis in self.used if axis.isalpha() and len(self.terms) > 1]
        self.sliced = draw.sample(letters, min(len(letters), draw.choice([0, 0, 1, 2]))) if self.order != "auto" else []
        self.sources = [self.draw_source(i) for i in range(len(self.terms))]

    def draw_source(self, i):
        """How operand i is made: of an earlier one where the shapes agree, or of an input of its own."""
        shapes = self.shapes(True)
        same = [k for k in range(i) if shapes[k] == shapes[i]]
        if not same or self.draw.random() < 0.4:
            return i, "own"
        return self.draw.choice(same), self.draw.choice(["own", "conj" if self.dtype.kind == "c" else "own", "stopped"])

    def resolve(self, i):
        """The input that operand i is made of, whether it is conjugated, whether it is stopped."""
        source, how = self.sources[i]
        if source == i:
            return i, False, False
        first, conjugated, stopped = self.resolve(source)
        return first, conjugated != (how == "conj"), stopped or how == "stopped"

    def options(self):
        return EinsumOptions(size=ctypes.sizeof(EinsumOptions), order=ORDERS[self.order], path=ints(self.steps),
                             sliced=ints([ord(label) for label in self.sliced]), memory_limit=self.limit)

    def __str__(self):
        shapes = ", ".join(map(str, self.shapes(self.symbolic)))
        return (f"{self.number}: {self.text} of {shapes}, {self.dtype}, {self.order} {self.steps}"
                f"{' kept' if self.keep else ''}{f' limit {self.limit}' if self.limit else ''}"
                f"{' sliced ' + ''.join(self.sliced) if self.sliced else ''}, {self.extents}, {self.sources}")


class Traced:
    """An expression with its passes in a graph, and what is expected of all results."""

    def __init__(self, weft, drawn):
        self.weft, self.drawn = weft, drawn
        self.graph = weft.create_graph()
        self.values, self.tensors, self.passes = [], [], []
        self.results, self.expected, self.shapes = [], [], []
        self.random = numpy.random.default_rng(drawn.number)
        made = self.make_operands()
        self.sums = Sums(drawn, made)
        result = weft.trace("einsum", drawn.text.encode(), self.operands, ctypes.byref(drawn.options()))
        self.check()
        last, terms = [result], [self.sums.result]
        self.shapes = [self.sums.evaluate(terms[0], self.known()).shape]
        self.keep(last, terms)
        for _ in range(drawn.draw.randint(1, 3)):
            if sum(map(len, terms)) > MOST_TERMS:
                break
            inputs = [f"x{i}" for i in range(len(self.values))]
            last, terms = self.take(Pass(drawn.draw, inputs, len(last)), last, terms)
            self.keep(last, terms)

    def check(self):
        error = self.weft.error(self.graph)
        if error:
            raise Failure(error)

    def keep(self, results, terms):
        self.check()
        self.results += results
        self.expected += terms

    def draw_value(self, shape):
        value = self.random.standard_normal(shape)
        if self.drawn.dtype.kind == "c":
            value = value + 1j * self.random.standard_normal(shape)
        return numpy.asarray(value).astype(self.drawn.dtype)

    def add_input(self, shape, value_shape):
        """A further input; of the shape of a tensor if `shape` is one."""
        name = f"x{len(self.values)}"
        if isinstance(shape, Tensor):
            tensor = self.weft.trace("input", self.graph, name.encode(), self.weft.dtype(self.drawn.dtype),
                                     self.weft.tensor_shape(shape))
        else:
            tensor = self.weft.input(self.graph, name, self.drawn.dtype, shape)
        self.tensors.append(tensor)
        self.values.append(self.draw_value(value_shape))
        return name

    def make_operands(self):
        """The operands; for each the input it is made of, or one of its own that stands for a stopped one, and whether
        it is conjugated."""
        drawn, inputs, made = self.drawn, {}, []
        self.operands, self.stopped = [], {}
        shapes, numbers = drawn.shapes(drawn.symbolic), drawn.shapes()
        for i in range(len(drawn.terms)):
            first, conjugated, stopped = drawn.resolve(i)
            if first not in inputs:
                inputs[first] = self.add_input(shapes[first], numbers[first])
            name = inputs[first]
            tensor = self.tensors[int(name[1:])]
            if stopped:
                tensor = self.weft.trace("stop_gradient", tensor)
                self.stopped["stopped " + name] = name
                name = "stopped " + name
            if conjugated:
                tensor = self.weft.trace("conj", tensor)
            self.operands.append(tensor)
            made.append((name, conjugated))
        return made

    def known(self):
        values = {f"x{i}": value for i, value in enumerate(self.values)}
        return {**values, **{stopped: values[name] for stopped, name in self.stopped.items()}}

    def take(self, step, last, terms):
        self.passes.append(step)
        wrt = [self.tensors[int(name[1:])] for name in step.wrt]
        given, beside = [Tensor()] * (len(last) if step.is_reverse else len(wrt)), {}
        for i in step.given:
            like = last[i] if step.is_reverse else wrt[i]
            shape = self.shapes[i] if step.is_reverse else self.values[int(step.wrt[i][1:])].shape
            beside[i] = self.add_input(like, shape)
            given[i] = self.tensors[-1]
        if step.is_reverse:
            made = self.weft.several("vjp", len(wrt), last, given, wrt)
            new = [[term for i in step.given for old in terms[i] for term in old.cotangents(beside[i], name)]
                   for name in step.wrt]
            self.shapes = [self.values[int(name[1:])].shape for name in step.wrt]
        else:
            made = self.weft.several("jvp", len(last), last, wrt, given)
            given_names = {step.wrt[i]: name for i, name in beside.items()}
            new = [[term for old in terms[i] for term in old.tangents(given_names)] for i in range(len(last))]
        return made, new

    def run(self, runtime):
        program = POINTER()
        policy = Policy(size=ctypes.sizeof(Policy), keep_symbolic_extensions=self.drawn.keep,
                        passes=b"" if runtime == "ref" and not self.drawn.keep and self.drawn.number % 3 == 0 else None)
        self.weft.library.weft_compile(self.graph, Tensors(len(self.results), items(Tensor, self.results)),
                                       ctypes.byref(policy), ctypes.byref(program))
        try:
            there = {extent for shape in self.drawn.shapes(self.drawn.symbolic) for extent in shape}
            symbols = [(f"n_{axis}", extent) for axis, extent in self.drawn.extents.items() if f"n_{axis}" in there]
            got = self.weft.run(program, self.values, [self.drawn.dtype] * len(self.results), runtime=runtime.encode(),
                                symbols=symbols)
        finally:
            self.weft.program_release(program)
        for number, array in enumerate(got):
            self.compare(number, array)

    def compare(self, number, array):
        terms, values = self.expected[number], self.known()
        expected = self.sums.evaluate(terms, values) if terms else numpy.zeros(array.shape)
        if array.shape != expected.shape:
            raise Failure(f"result {number} has the shape {array.shape}, not {expected.shape}")
        if not terms:
            wrong = array != 0
        else:
            places = numpy.finfo(self.drawn.dtype).eps
            points = math.prod(max(extent, 1) for extent in self.sums.extents)
            allowed = min(8 * (points + 8) * places, places**0.5) * self.sums.evaluate(terms, values, True)
            wrong = ~(abs(array - expected) <= allowed)
        if wrong.any():
            at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
            raise Failure(f"{wrong.sum()} of {wrong.size} elements of result {number} differ; at {at} is {array[at]}, "
                          f"not {expected[at]}")

    def close(self):
        self.weft.graph_destroy(self.graph)


def check(weft, number):
    """Whether the derivatives of expression `number` are right."""
    drawn, traced, runtime = Drawn(number), None, "trace"
    try:
        traced = Traced(weft, drawn)
        for runtime in ("llvm", "ref"):
            traced.run(runtime)
    except Failure as failure:
        passes = "; ".join(map(str, traced.passes)) if traced else ""
        print(f"{drawn}, {passes}: {runtime}: {failure}", flush=True)
        return False
    finally:
        if traced:
            traced.close()
    return True


if __name__ == "__main__":
    check_all(__doc__, 200, Library, check)
