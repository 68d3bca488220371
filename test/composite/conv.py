# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/conv.h>."""
import ctypes
import itertools

from binding import POINTER, Extent, Ints, Tensor, ints, numpy, structure
from oracle import NUMBERS

CASES = {}
ConvOptions = structure("weft_conv_options", stride=Ints, dilation=Ints, low=Ints, high=Ints, groups=ctypes.c_int64,
                        bias=Tensor, output_padding=Ints)
PoolOptions = structure("weft_pool_options", size=Ints, stride=Ints, dilation=Ints, low=Ints, high=Ints,
                        ceil_mode=ctypes.c_bool, count_include_pad=ctypes.c_bool)
ResizeOptions = structure("weft_resize_options", mode=ctypes.c_int, coordinates=ctypes.c_int, scales=POINTER,
                          prefer_floor=ctypes.c_bool)


def case(function):
    CASES[function.__name__] = function
    return function


class Windows:
    """Random lists of a window over `count` axes; as options, and as numpy."""

    def __init__(self, draw, count, largest=3):
        self.size = [draw.randint(1, largest) for _ in range(count)]
        self.stride = [draw.choice([1, 1, 2, 3]) for _ in range(count)]
        self.dilation = [draw.choice([1, 1, 2]) for _ in range(count)]
        self.low, self.high = ([draw.choice([0, 0, 1, 2]) for _ in range(count)] for _ in range(2))

    def least(self):
        """The least extents with a window inside."""
        return [(size - 1) * dilation + 1 for size, dilation in zip(self.size, self.dilation)]

    def lists(self, *names):
        return {name: ints(getattr(self, name)) for name in names}

    def view(self, x, value, beyond=None):
        """Windows over the last axes of x: places, then window axes."""
        count = len(self.size)
        beyond = beyond or [0] * count
        pads = [(0, 0)] * (x.ndim - count) + [(a, b + c) for a, b, c in zip(self.low, self.high, beyond)]
        x = numpy.pad(x, pads, constant_values=value)
        windows = numpy.lib.stride_tricks.sliding_window_view(x, self.least(), tuple(range(x.ndim - count, x.ndim)))
        places = [slice(None, None, stride) for stride in self.stride]
        return windows[(..., *places, *[slice(None, None, dilation) for dilation in self.dilation])]


def convolved(x, w, groups, windows):
    view = windows.view(x, 0)
    count = len(windows.size)
    view = view.reshape(len(x), groups, w.shape[1], *view.shape[2:])
    kernel = w.reshape(groups, -1, *w.shape[1:])
    places, inner = "xyz"[:count], "uvw"[:count]
    result = numpy.einsum(f"ngc{places}{inner},goc{inner}->ngo{places}", view, kernel)
    return result.reshape(len(x), -1, *result.shape[3:])


@case
def conv(draw):
    count, dtype, groups = draw.randint(1, 3), draw.choice(NUMBERS), draw.choice([1, 1, 2, 3])
    windows = Windows(draw, count)
    each, out = draw.choice([1, 1, 2, 5]), draw.choice([1, 1, 2, 4])
    extents = [least + draw.randint(0, 9 if count < 3 else 3) for least in windows.least()]
    x = draw.operand([draw.randint(1, 3), groups * each, *extents], dtype, static=[1])
    w = draw.operand([groups * out, each, *windows.size], dtype, static=range(count + 2))
    bias = draw.operand([groups * out], dtype, static=[0]) if draw.random() < 0.5 else None

    def trace(t, a, b, *rest):
        options = ConvOptions(groups=groups, **windows.lists("stride", "dilation", "low", "high"))
        if rest:
            options.bias = rest[0]
        return [t.conv(a, b, ctypes.byref(options))]
    wide = [a if a.dtype.kind == "i" else a.astype(float) for a in (x, w)]
    expected, scale = convolved(*wide, groups, windows), convolved(*map(abs, wide), groups, windows)
    if bias is not None:
        expected = expected + bias.reshape(-1, *[1] * count)
        scale = scale + abs(bias).max()
    return draw.trial(trace, expected, ulp=8, scale=scale)


def transposed(x, w, groups, windows, more):
    """As its definition says it: every product is added where it belongs."""
    count, out = len(windows.size), w.shape[1]
    full = [(m - 1) * stride + least for m, stride, least in zip(x.shape[2:], windows.stride, windows.least())]
    result = numpy.zeros((len(x), groups * out, *[extent + extra for extent, extra in zip(full, more)]), x.dtype)
    split = x.reshape(len(x), groups, -1, *x.shape[2:])
    kernel = w.reshape(groups, -1, *w.shape[1:])
    for k in itertools.product(*map(range, windows.size)):
        products = numpy.einsum("ngc...,gco->ngo...", split, kernel[(..., *k)]).reshape(len(x), -1, *x.shape[2:])
        places = [slice(i * dilation, i * dilation + (m - 1) * stride + 1, stride)
                  for i, dilation, stride, m in zip(k, windows.dilation, windows.stride, x.shape[2:])]
        result[(slice(None), slice(None), *places)] += products
    ends = [slice(low, extent + extra - high)
            for low, high, extent, extra in zip(windows.low, windows.high, full, more)]
    return result[(slice(None), slice(None), *ends)]


@case
def conv_transpose(draw):
    count, dtype, groups = draw.randint(1, 3), draw.choice(NUMBERS), draw.choice([1, 1, 2])
    windows = Windows(draw, count)
    each, out = draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    more = [draw.randint(0, stride - 1) for stride in windows.stride]
    single = draw.random() < 0.25
    extents = [1 if single else draw.randint(3, 7 if count < 3 else 4) for _ in range(count)]
    windows.low, windows.high = ([min(pad, least) for pad, least in zip(pads, windows.least())]
                                 for pads in (windows.low, windows.high))
    x = draw.operand([draw.randint(1, 3), groups * each, *extents], dtype, static=range(1, count + 2) if single else [1])
    w = draw.operand([groups * each, out, *windows.size], dtype, static=range(count + 2))
    wide = [a if a.dtype.kind == "i" else a.astype(float) for a in (x, w)]

    def trace(t, a, b):
        options = ConvOptions(groups=groups, output_padding=ints(more),
                              **windows.lists("stride", "dilation", "low", "high"))
        return [t.conv_transpose(a, b, ctypes.byref(options))]
    return draw.trial(trace, transposed(*wide, groups, windows, more), ulp=8,
                      scale=transposed(*map(abs, wide), groups, windows, more))


@case
def unfold(draw):
    count = draw.randint(1, 3)
    windows = Windows(draw, count)
    extents = [least + draw.randint(0, 5) for least in windows.least()]
    x = draw.operand([draw.randint(1, 3), draw.randint(1, 3), *extents], draw.choice(NUMBERS))
    view = numpy.moveaxis(windows.view(x, 0), range(2, 2 + count), range(-count, 0))
    expected = view.reshape(len(x), x.shape[1] * numpy.prod(windows.size), -1)

    def trace(t, a):
        options = ConvOptions(**windows.lists("stride", "dilation", "low", "high"))
        return [t.unfold(a, windows.size, ctypes.byref(options))]
    return draw.trial(trace, expected, ulp=0)


@case
def window_add(draw):
    """Every element of every window is added where it was; what follows the last window stays."""
    size, stride, dilation = draw.randint(1, 20), draw.choice([1, 1, 2, 3, 5, 8, 9]), draw.choice([1, 1, 2, 3])
    dtype, around = draw.choice(NUMBERS), [draw.randint(0, 3) for _ in range(draw.randint(0, 2))]
    axis, extent = draw.randint(0, len(around)), draw.choice([(size - 1) * dilation, (size - 1) * dilation + 1, 30])
    count = max(0, (extent - (size - 1) * dilation - 1) // stride + 1)
    static = range(draw.choice([0, len(around) + 2]))
    x = draw.operand([*around[:axis], count, *around[axis:], size], dtype, static=static)
    wide = numpy.moveaxis(x if x.dtype.kind == "i" else x.astype(float), axis, -2)
    expected, scale = numpy.zeros((2, *wide.shape[:-2], extent), wide.dtype)
    for i in range(count):
        for k in range(size):
            expected[..., i * stride + k * dilation] += wide[..., i, k]
            scale[..., i * stride + k * dilation] += abs(wide[..., i, k])

    def trace(t, a):
        return [t.window_add(a, axis - len(around) - 1, Extent(value=extent), stride, dilation)]
    return draw.trial(trace, numpy.moveaxis(expected, -1, axis), ulp=2, scale=numpy.moveaxis(scale, -1, axis))


# ---- pooling ----

def drawn_pool(draw, dtype, largest=3):
    count = draw.randint(1, 3)
    windows = Windows(draw, count, largest)
    windows.low, windows.high = ([min(pad, size // 2) for pad, size in zip(pads, windows.size)]
                                 for pads in (windows.low, windows.high))
    extents = [least + draw.randint(0, 7) for least in windows.least()]
    x = draw.operand(draw.extents(0, 2, least=1) + extents, dtype, special=dtype != numpy.int32 and draw.random() < 0.2)
    ceil, beyond = draw.random() < 0.5, [0] * count
    for i, least in enumerate(windows.least()):
        end = windows.low[i] + extents[i] + windows.high[i]
        places = -((least - end) // windows.stride[i]) + 1 if ceil else (end - least) // windows.stride[i] + 1
        if ceil and (places - 1) * windows.stride[i] >= windows.low[i] + extents[i]:
            places -= 1
        beyond[i] = max((places - 1) * windows.stride[i] + least - end, 0)
    return x, windows, ceil, beyond, tuple(range(-count, 0))


def pool_options(windows, ceil, include=False):
    return ctypes.byref(PoolOptions(ceil_mode=ceil, count_include_pad=include,
                                    **windows.lists("size", "stride", "dilation", "low", "high")))


@case
def max_pool(draw):
    dtype = draw.choice([numpy.float32, numpy.float64, numpy.int32])
    x, windows, ceil, beyond, axes = drawn_pool(draw, dtype, largest=5)
    least = numpy.iinfo(dtype).min if dtype == numpy.int32 else -numpy.inf
    return draw.trial(lambda t, a: [t.max_pool(a, pool_options(windows, ceil))],
                      windows.view(x, least, beyond).max(axes), ulp=0)


@case
def average_pool(draw):
    x, windows, ceil, beyond, axes = drawn_pool(draw, draw.float())
    include = draw.random() < 0.5
    ones = numpy.ones_like(x, float)
    inside = windows.view(ones, 1 if include else 0)
    if any(beyond):
        pads = [(0, 0)] * (x.ndim - len(axes)) + list(zip(windows.low, windows.high))
        ones = numpy.pad(ones, pads, constant_values=1 if include else 0)
        low, high, windows.low, windows.high = windows.low, windows.high, [0] * len(axes), [0] * len(axes)
        inside = windows.view(ones, 0, beyond)
        windows.low, windows.high = low, high
    sums = windows.view(x.astype(float), 0, beyond).sum(axes)
    return draw.trial(lambda t, a: [t.average_pool(a, pool_options(windows, ceil, include))],
                      sums / inside.sum(axes), ulp=16, scale=20)


def adaptive(x, sizes, reduce):
    for axis, size in zip(range(-len(sizes), 0), sizes):
        m = x.shape[axis]
        bins = [range(i * m // size, -(-(i + 1) * m // size)) for i in range(size)]
        x = numpy.stack([reduce(x.take(places, axis), axis) for places in bins], axis)
    return x


@case
def adaptive_pool(draw):
    count = draw.randint(1, 3)
    x = draw.operand(draw.extents(count, count + 2, least=1), draw.float())
    sizes = [draw.randint(1, 6) for _ in range(count)]
    return draw.trial(lambda t, a: [t.adaptive_max_pool(a, sizes), t.adaptive_average_pool(a, sizes)],
                      adaptive(x, sizes, numpy.max), adaptive(x.astype(float), sizes, numpy.mean), scale=20)


# ---- resizing ----

def places_of(m, size, coordinates, scale):
    i = numpy.arange(size)
    if coordinates == 1:
        return i * (m - 1) / max(size - 1, 1)
    part = i if coordinates == 2 else i + 0.5
    at = part / scale if scale else part * m / size
    return at if coordinates == 2 else at - 0.5


def resized(x, sizes, mode, coordinates, scales, down):
    for axis, size, scale in zip(range(-len(sizes), 0), sizes, scales or [None] * len(sizes)):
        m = x.shape[axis]
        at = places_of(m, size, coordinates, scale)
        if mode == 0:
            nearest = numpy.floor(at) if coordinates == 2 else numpy.ceil(at - 0.5) if down else numpy.floor(at + 0.5)
            x = x.take(numpy.clip(nearest, 0, m - 1).astype(int), axis)
        else:
            at = numpy.clip(at, 0, m - 1)
            place = numpy.floor(at).astype(int)
            share = (at - place).reshape(-1, *[1] * (-axis - 1))
            a, b = x.take(place, axis), x.take(numpy.minimum(place + 1, m - 1), axis)
            x = a + (b - a) * share
    return x


@case
def resize(draw):
    count, mode = draw.randint(1, 3), draw.randint(0, 1)
    x = draw.operand(draw.extents(count, count + 1, least=1), draw.float() if mode else draw.choice(NUMBERS))
    coordinates, down = draw.randint(0, 2), draw.random() < 0.5
    scales = [draw.choice([0.5, 1.5, 2.0, 2.7]) for _ in range(count)] if draw.random() < 0.5 else None
    extents = x.shape[x.ndim - count:]
    sizes = [max(int(m * s), 1) for m, s in zip(extents, scales)] if scales else draw.extents(count, least=1)
    values = (ctypes.c_double * count)(*scales) if scales else None
    options = ResizeOptions(mode=mode, coordinates=coordinates, scales=ctypes.cast(values, POINTER) if scales else None,
                            prefer_floor=down)
    wide = x.astype(float) if mode else x
    return draw.trial(lambda t, a: [t.resize(a, t.extents(sizes), ctypes.byref(options))],
                      resized(wide, sizes, mode, coordinates, scales, down), ulp=8, scale=100 if mode else 0)
