# SPDX-License-Identifier: Apache-2.0
"""Random index expressions against numpy: numpy_random.py BUILD [--shard I/N] [NUMBER...].

Each reads x[...], or replaces, adds to or takes the maximum with x[...], on the reference and on generated code. Odd ones
have symbolic extents, and bounds and indices that are expressions of them, and run a second time with other extents.
What numpy refuses must be refused. What is wrong is printed with its number, which repeats it alone.
"""
import argparse
import ctypes
import pathlib
import random
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from binding import SIZE, Extent, Failure, Layout, Tensor, Weft, items, numpy, shard, structure

COUNT = 2000
DTYPES = [numpy.float32, numpy.float64, numpy.int64, numpy.int32, numpy.uint8, numpy.bool_]
EXTENTS, WEIGHTS = (0, 1, 2, 3, 5, 8), (1, 3, 8, 8, 6, 4)
RANGE, ONE, NEW_AXIS, ELLIPSIS, PICK = range(5)  # as weft_index_kind counts
MODES = {"read": None, "set": 0, "add": 1, "max": 3}  # as weft_scatter_mode counts
POINTS = 3000
OPEN = 1 - 2**63

Item = structure("weft_index_item", kind=ctypes.c_int, step=ctypes.c_int64, start=Extent, stop=Extent, indices=Tensor)
Items = structure("weft_index_items", count=SIZE, items=ctypes.POINTER(Item))


class Bound:
    """An integer, or an extent of x plus an integer; None is open."""

    def __init__(self, draw, rank, symbolic, most):
        self.axis = draw.randrange(rank) if symbolic and rank > 0 and draw.random() < 0.3 else None
        self.offset = draw.randint(-most, most)

    def value(self, shape):
        return self.offset + (0 if self.axis is None else shape[self.axis])

    def extent(self, weft, x):
        constant = weft.extent_of(ctypes.c_int64(self.offset))
        return constant if self.axis is None else weft.extent_add(weft.tensor_extent(x, ctypes.c_int64(self.axis)),
                                                                  constant)


class Expression:
    def __init__(self, draw, symbolic):
        self.draw, self.symbolic = draw, symbolic
        self.dtype, self.mode = draw.choice(DTYPES), draw.choice(list(MODES))
        if self.mode == "add" and self.dtype == numpy.bool_:
            self.mode = "set"
        self.rank = draw.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
        self.ones = [draw.random() < 0.1 for _ in range(self.rank)]
        self.index_shape = [draw.choice([0, 1, 2, 2, 3, 3, 4]) for _ in range(draw.choice([0, 1, 1, 1, 2, 2]))]
        self.items = self.draw_items()
        self.layout = Layout(draw, self.rank, 0.1)
        self.draw_extents()

    def draw_items(self):
        """Pairs of a kind and what belongs to it."""
        picks = self.draw.random() < 0.5
        kinds = [RANGE, RANGE, ONE] + [PICK] * 3 * picks
        drawn = [self.draw.choice(kinds) for _ in range(self.draw.randint(0, self.rank))]
        for _ in range(self.draw.choice([0, 0, 0, 1, 2])):
            drawn.insert(self.draw.randint(0, len(drawn)), NEW_AXIS)
        if self.draw.random() < 0.4:
            drawn.insert(self.draw.randint(0, len(drawn)), ELLIPSIS)
        return [(kind, self.draw_item(kind)) for kind in drawn]

    def draw_item(self, kind):
        def bound():
            return Bound(self.draw, self.rank, self.symbolic, 10) if self.draw.random() < 0.7 else None
        if kind == RANGE:
            return None if self.draw.random() < 0.2 else (bound(), bound(), self.draw.choice([1, 1, 1, 1, -1, 2, -2, 3, -7, 20]))
        if kind == ONE:
            return Bound(self.draw, self.rank, self.symbolic, 2)
        if kind == PICK:
            shape = [1 if self.draw.random() < 0.2 else extent for extent in self.index_shape]
            return shape[self.draw.choice([0, 0, 0, 1]):], self.draw.choice([numpy.int64, numpy.int64, numpy.int32])
        return None

    def draw_extents(self):
        self.shape = [POINTS + 1]
        while numpy.prod(self.shape) > POINTS:
            self.shape = [1 if one else self.draw.choices(EXTENTS, WEIGHTS)[0] for one in self.ones]

    def axes(self):
        """The axis of x that each item takes, None for those that take none."""
        axis, left = 0, self.rank - sum(kind in (RANGE, ONE, PICK) for kind, _ in self.items)
        for kind, _ in self.items:
            yield axis if kind in (RANGE, ONE, PICK) else None
            axis += left if kind == ELLIPSIS else kind != NEW_AXIS

    def indices(self, values):
        """Index tensors, where they can be inside of x: what the run checks is tested elsewhere."""
        for (kind, item), axis in zip(self.items, self.axes()):
            if kind == PICK:
                extent = max(self.shape[axis], 1)
                yield values.integers(-extent, extent, item[0]).astype(item[1])

    def key(self, indices):
        indices = iter(indices)
        key = []
        for kind, item in self.items:
            if kind == RANGE:
                start, stop, step = item or (None, None, None)
                key.append(slice(*(bound and bound.value(self.shape) for bound in (start, stop)), step))
            else:
                key.append(item.value(self.shape) if kind == ONE else None if kind == NEW_AXIS else
                           ... if kind == ELLIPSIS else next(indices))
        return tuple(key)

    def data(self, values, shape):
        return values.integers(0, 2 if self.dtype == numpy.bool_ else 9, shape).astype(self.dtype)

    def value_shape(self, shape):
        """A shape that broadcasts to `shape`."""
        kept = [1 if self.draw.random() < 0.15 else extent for extent in shape]
        return kept[self.draw.choice([0, 0, 0, 0, 1, 2]):]

    def expected(self, x, key, value):
        if self.mode == "read":
            return x[key]
        result = x.copy()
        if self.mode == "set":
            result[key] = value
        else:
            (numpy.add if self.mode == "add" else numpy.maximum).at(result, key, value)
        return result


# Older versions of numpy only warn of a wrong index where nothing is selected; newer ones refuse it.
warnings.filterwarnings("error", "Out of bound index", DeprecationWarning)


class Index(Weft):
    def __init__(self, build):
        super().__init__(build / "lib/libweft.so", ["llvm", "reference"])

    def compile_one(self, expression, value_shape):
        graph = self.create_graph()
        x = self.input(graph, "x0", expression.dtype, [
            f"n{axis}" if expression.symbolic and not one else expression.shape[axis]
            for axis, one in enumerate(expression.ones)])
        listed = Items(len(expression.items), items(Item, list(self.list(graph, expression, x))))
        if expression.mode == "read":
            return self.compile(graph, [self.trace("index", x, listed)])
        value = self.input(graph, "x1", expression.dtype, value_shape)
        return self.compile(graph, [self.trace("index_update", x, value, ctypes.c_int(MODES[expression.mode]), listed)])

    def list(self, graph, expression, x):
        opened, number = self.extent_of(ctypes.c_int64(OPEN)), 1
        for kind, item in expression.items:
            start = stop = opened
            indices, step = Tensor(), 1
            if kind == RANGE and item is not None:
                start, stop = (bound.extent(self, x) if bound else opened for bound in item[:2])
                step = item[2]
            if kind == ONE:
                start = item.extent(self, x)
            if kind == PICK:
                number += 1
                indices = self.input(graph, f"x{number}", item[1], item[0])
            yield Item(kind, step, start, stop, indices)


def run(weft, expression, program, runtimes):
    """Runs the program, which is None where there is none yet, and gives it back."""
    values = numpy.random.default_rng(expression.draw.getrandbits(32))
    x = expression.layout.view(expression.shape, lambda base: expression.data(values, base))
    indices = list(expression.indices(values))
    key, refused, value = expression.key(indices), False, None
    try:
        value_shape = expression.value_shape(x[key].shape)
        value = expression.data(values, value_shape)
        expected = expression.expected(x, key, value)
    except (IndexError, ValueError, DeprecationWarning):
        refused, value_shape = True, []
        value = expression.data(values, [])
    try:
        if program is None:
            program = weft.compile_one(expression, value_shape)
        for runtime in runtimes[:1] if refused else runtimes:
            result = weft.run(program, [x, value, *indices], [x.dtype], runtime=runtime)[0]
            if refused and (x.size > 0 or not indices):  # weft looks at indices only where there is something to index
                raise Failure(f"{runtime} gives {result.shape}, where numpy refuses")
            if not refused and (result.shape != expected.shape or not (result == expected).all()):
                raise Failure(f"{runtime} gives {result.tolist()}, not {expected.tolist()}")
    except Failure as failure:
        if not refused or "numpy refuses" in str(failure):
            raise
    return program


def check(weft, number):
    expression = Expression(random.Random(number), number % 2 == 1)
    try:
        program = run(weft, expression, None, [b"ref", b"llvm"])
        if expression.symbolic and expression.mode == "read" and program is not None:
            expression.draw_extents()
            program = run(weft, expression, program, [b"llvm"])
        if program is not None:
            weft.program_release(program)
    except Failure as failure:
        print(f"{number}: {expression.mode} {expression.dtype.__name__}{expression.shape} "
              f"{expression.key(expression.indices(numpy.random.default_rng(0)))}: {failure}")
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--shard", type=shard, default=slice(None))
    parser.add_argument("numbers", type=int, nargs="*")
    options = parser.parse_args()
    weft = Index(options.build)
    numbers = (options.numbers or range(COUNT))[options.shard]
    failed = sum(not check(weft, number) for number in numbers)
    print(f"{len(numbers)} expressions, {failed} of them wrong")
    weft.executor_destroy(weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
