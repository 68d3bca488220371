# SPDX-License-Identifier: Apache-2.0
"""Ops with data-dependent indices, and concat."""
from binding import numpy
from number import DTYPES, Case, kind_of, narrow, wide

MODES = {"set": lambda x, update: update, "add": numpy.add, "mul": numpy.multiply, "max": numpy.maximum,
         "min": numpy.minimum}


def concats(draw, dtype):
    for count in (1, draw.randint(2, 5)):
        shape = draw.shape(1, 4, 400)
        axis = draw.randrange(len(shape))
        shapes = [[*shape[:axis], draw.choice([0, 1, 2, 5, 11]), *shape[axis + 1:]] for _ in range(count)]
        operands = [draw.strided(draw.any(dtype, one), 0.1) for one in shapes]
        yield Case(operands, numpy.concatenate(operands, axis), dtype, {"axis": axis}, bits=True)


class Places:
    """Axes that index tensors choose from, others that they share with x, and the index tensors."""

    def __init__(self, draw):
        self.shape = draw.shape(1, 4, 200)
        while 0 in self.shape and draw.random() < 0.8:
            self.shape = draw.shape(1, 4, 200)
        rank = len(self.shape)
        self.axes = sorted(draw.sample(range(rank), draw.randint(1, rank)))
        self.batch = [axis for axis in range(rank) if axis not in self.axes and draw.random() < 0.3]
        self.own = [draw.choice([0, 1, 2, 3, 5]) for _ in range(draw.choice([0, 1, 1, 2]))]
        if any(self.shape[axis] == 0 for axis in self.axes):
            self.own = [0]
        self.lay_out()
        self.indices = [self.draw_indices(draw, self.shape[axis]) for axis in self.axes]
        self.key = self.full_key()

    def lay_out(self):
        """The result has x's axes without `axes`, and those of the index tensors where the lowest of these was. Axes of
        index tensors are in the order of the result."""
        self.result, self.taken, self.index_shape = [], {}, []
        self.expanded = []  # the shape of the index tensors among the axes of the result
        for axis, extent in enumerate(self.shape):
            if axis == self.axes[0]:
                self.result += self.own
                self.index_shape += self.own
                self.expanded += self.own
            if axis not in self.axes:
                self.taken[axis] = len(self.result)
                self.result.append(extent)
                self.index_shape += [extent] * (axis in self.batch)
                self.expanded.append(extent if axis in self.batch else 1)

    def draw_indices(self, draw, extent):
        extent = max(extent, 1)
        values = draw.values.integers(-extent, extent, self.index_shape)
        return draw.strided(values.astype(draw.choice([numpy.int64, numpy.int32])), 0.1)

    def full_key(self):
        key = []
        for axis, extent in enumerate(self.shape):
            if axis in self.axes:
                key.append(self.indices[self.axes.index(axis)].reshape(self.expanded))
            else:
                place = self.taken[axis]
                aligned = [-1 if other == place else 1 for other in range(len(self.result))]
                key.append(numpy.arange(extent).reshape(aligned))
        return tuple(numpy.broadcast_arrays(*key)) if self.result else tuple(key)

    @property
    def attributes(self):
        return {"axes": self.axes, "batch": self.batch}

    def broken(self, draw):
        """The index tensors with one index out of range, and what the run says; None where there is none."""
        first = self.indices[0]
        extent = self.shape[self.axes[0]]
        if first.size == 0 or numpy.prod(self.result) == 0:
            return None
        broken, at = numpy.array(first), draw.randrange(first.size)
        wrong = draw.choice([extent, -extent - 1, extent + 100])
        broken.flat[at] = wrong
        sentence = f"index {wrong} at position {at} is out of range for extent {extent} (axis {self.axes[0]})"
        return [broken, *self.indices[1:]], sentence


def gathers(draw, dtype):
    for _ in range(2):
        places = Places(draw)
        x = draw.strided(draw.any(dtype, places.shape), 0.1)
        yield Case([x, *places.indices], x[places.key], dtype, places.attributes, bits=True)
    broken = places.broken(draw)
    if broken:
        yield Case([x, *broken[0]], x[places.key], dtype, places.attributes, fails=broken[1])


def scatter(mode, x, key, updates, dtype):
    """One update after the other in row-major order, each rounded."""
    result = x.copy()
    for at in numpy.ndindex(updates.shape):
        place = tuple(axis[at] for axis in key)
        if mode == "set":
            result[place] = updates[at]
        else:
            result[place] = narrow(MODES[mode](wide(result[place]), wide(updates[at])), dtype)[()]
    return result


def scatters(draw, dtype):
    """Sums and products of f64 and complex numbers are of whole numbers, which are exact in long double too."""
    modes = [mode for mode in MODES if mode == "set" or (mode in ("max", "min") and kind_of(dtype) != "c")
             or (mode in ("add", "mul") and dtype != "bool")]
    for mode in modes:
        places = Places(draw)
        whole = mode in ("add", "mul") and dtype in ("f64", "c64", "c128")
        x, updates = (draw.strided((draw.small if whole else draw.any)(dtype, shape), 0.1 * number)
                      for number, shape in enumerate((places.shape, places.result)))
        yield Case([x, updates, *places.indices], scatter(mode, x, places.key, updates, dtype), dtype,
                   {**places.attributes, "mode": mode}, zeros=mode not in ("max", "min"), bits=mode == "set")
    broken = places.broken(draw)
    if broken:
        yield Case([x, updates, *broken[0]], x, dtype, {**places.attributes, "mode": mode}, fails=broken[1])


def part(draw, shape):
    """Some axes, and where and how much is taken of each."""
    axes = draw.axes(len(shape))
    sizes = [draw.randint(0, shape[axis]) for axis in axes]
    starts = [draw.randint(0, shape[axis] - size) for axis, size in zip(axes, sizes)]
    key = [slice(None)] * len(shape)
    for axis, start, size in zip(axes, starts, sizes):
        key[axis] = slice(start, start + size)
    return axes, sizes, [numpy.array(start) for start in starts], tuple(key)


def dynamic_slices(draw, dtype):
    for _ in range(2):
        x = draw.strided(draw.any(dtype, draw.shape(0, 4)), 0.1)
        axes, sizes, starts, key = part(draw, x.shape)
        yield Case([x, *starts], x[key], dtype, {"axes": axes, "sizes": sizes}, bits=True)
    x = draw.any(dtype, [5, 7])
    wrong = draw.choice([-1, 4])
    yield Case([x, numpy.array(wrong)], x, dtype, {"axes": [1], "sizes": [4]}, fails=f"{wrong}")


def dynamic_updates(draw, dtype):
    for _ in range(2):
        x = draw.strided(draw.any(dtype, draw.shape(0, 4)), 0.1)
        axes, _, starts, key = part(draw, x.shape)
        update = draw.strided(draw.any(dtype, x[key].shape), 0.1)
        expected = x.copy()
        expected[key] = update
        yield Case([x, update, *starts], expected, dtype, {"axes": axes}, bits=True)


ENTRIES = {"concat": concats, "gather": gathers, "scatter": scatters, "dynamic_slice": dynamic_slices,
           "dynamic_update_slice": dynamic_updates}
