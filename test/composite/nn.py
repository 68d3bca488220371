# SPDX-License-Identifier: Apache-2.0
"""Cases of <weft/nn.h>."""
import ctypes
import math

from binding import Extent, Tensor, numpy, structure

CASES = {}
NormOptions = structure("weft_norm_options", scale=Tensor, bias=Tensor, epsilon=ctypes.c_double)
ClassOptions = structure("weft_class_options", weights=Tensor, ignores=ctypes.c_bool, ignored=ctypes.c_int64,
                         reduction=ctypes.c_int)
AttentionOptions = structure("weft_attention_options", mask=Tensor, causal=ctypes.c_bool, causal_offset=Extent,
                             scale=ctypes.c_double)


def case(function):
    CASES[function.__name__] = function
    return function


def clip(x, low, high):
    return numpy.maximum(numpy.minimum(x, high), low)


# Each its arguments, its formula and the special values it is tried on.
ACTIVATIONS = {
    "relu": ([], lambda x: numpy.maximum(x, 0)),
    "leaky_relu": ([0.125], lambda x, slope: numpy.where(x >= 0, x, x * slope)),
    "hard_sigmoid": ([0.25, 0.5], lambda x, slope, offset: clip(x * slope + offset, 0, 1)),
    "hard_swish": ([], lambda x: x * clip(x / 6 + 0.5, 0, 1)),
    "hard_tanh": ([-1.5, 2.0], clip),
    "softsign": ([], lambda x: x / (1 + abs(x))),
    "silu": ([], lambda x: x / (1 + numpy.exp(-x))),
    "gelu": ([], lambda x: x / 2 * (1 + numpy.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))),
    "softplus": ([], lambda x: numpy.logaddexp(x, 0)),
    "mish": ([], lambda x: x * numpy.tanh(numpy.logaddexp(x, 0))),
    "elu": ([1.5], lambda x, alpha: numpy.where(x > 0, x, alpha * numpy.expm1(x))),
    "celu": ([1.5], lambda x, alpha: numpy.where(x > 0, x, alpha * numpy.expm1(x / alpha))),
    "selu": ([], lambda x: 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x))),
    "gelu_tanh": ([], lambda x: x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))),
}


def activation(name):
    def draw_trial(draw):
        x = draw.operand(draw.extents(0, 3), draw.float(), special=draw.random() < 0.5)
        arguments, formula = ACTIVATIONS[name]
        wide = x.astype(numpy.float64)
        return draw.trial(lambda t, a: [t.weft.trace(name, a, *arguments)], formula(wide, *arguments),
                          ulp=4, scale=numpy.minimum(abs(numpy.nan_to_num(wide)), 1e3))
    return draw_trial


CASES.update({name: activation(name) for name in ACTIVATIONS})


@case
def prelu(draw):
    dtype, shape = draw.float(), draw.extents(1, 3)
    x, slope = draw.operand(shape, dtype), draw.operand(shape[-1:], dtype)
    return draw.trial(lambda t, a, b: [t.prelu(a, b)], numpy.where(x >= 0, x, x * slope).astype(float), ulp=1)


def softmax_of(x, axis):
    powers = numpy.exp(x - x.max(axis, keepdims=True, initial=-numpy.inf))
    return powers / powers.sum(axis, keepdims=True)


@case
def softmax(draw):
    x = draw.operand(draw.extents(1, 4), draw.float(), special=draw.random() < 0.3)
    axis, wide = draw.axis(x.ndim), x.astype(numpy.float64)
    powers = wide - wide.max(axis, keepdims=True, initial=-numpy.inf)
    return draw.trial(lambda t, a: [t.softmax(a, axis), t.log_softmax(a, axis)], softmax_of(wide, axis),
                      powers - numpy.log(numpy.exp(powers).sum(axis, keepdims=True)), ulp=32)


# ---- normalisation ----

def drawn_options(draw, shape, dtype):
    """Scale, bias and epsilon, each there or not; the options of them, and the function of what is normalised."""
    scale = draw.operand(shape, dtype) if draw.random() < 0.7 else None
    bias = draw.operand(shape, dtype) if draw.random() < 0.7 else None
    epsilon = draw.choice([0.0, 1e-3])

    def options(tensors):
        tensors = list(tensors)
        result = NormOptions(epsilon=epsilon)
        if scale is not None:
            result.scale = tensors.pop(0)
        if bias is not None:
            result.bias = tensors.pop(0)
        return ctypes.byref(result)

    def affine(x, align=lambda operand: operand):
        x = x if scale is None else x * align(scale).astype(numpy.float64)
        return x if bias is None else x + align(bias).astype(numpy.float64)
    return options, affine, epsilon or 1e-5


def standard(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + epsilon)


@case
def layer_norm(draw):
    dtype, shape = draw.float(), draw.extents(1, 4)
    x, axis = draw.operand(shape, dtype), draw.axis(len(shape))
    options, affine, epsilon = drawn_options(draw, shape[axis:], dtype)
    axes, wide = tuple(range(axis % x.ndim, x.ndim)), x.astype(numpy.float64)
    square = (wide * wide).mean(axes, keepdims=True)
    return draw.trial(lambda t, a, *rest: [t.layer_norm(a, axis, options(rest)), t.rms_norm(a, axis, options(rest))],
                      affine(standard(wide, axes, epsilon)), affine(wide / numpy.sqrt(square + epsilon)),
                      ulp=64, scale=20)


def by_channel(rank):
    return lambda operand: operand.reshape(-1, *[1] * (rank - 2))


@case
def group_norm(draw):
    dtype, shape, groups = draw.float(), draw.extents(2, 4, least=1), draw.randint(1, 3)
    shape[1] *= groups
    x = draw.operand(shape, dtype)
    options, affine, epsilon = drawn_options(draw, shape[1:2], dtype)
    split = x.astype(numpy.float64).reshape(shape[0], groups, -1)
    normal = standard(split, 2, epsilon).reshape(shape)
    return draw.trial(lambda t, a, *rest: [t.group_norm(a, groups, options(rest))],
                      affine(normal, by_channel(x.ndim)), ulp=64, scale=20)


@case
def batch_norm(draw):
    dtype, shape = draw.float(), draw.extents(2, 4, least=1)
    x = draw.operand(shape, dtype)
    mean, variance = draw.operand(shape[1:2], dtype), draw.operand(shape[1:2], dtype, low=0.1, high=4)
    options, affine, epsilon = drawn_options(draw, shape[1:2], dtype)
    align = by_channel(x.ndim)
    axes, wide = (0, *range(2, x.ndim)), x.astype(numpy.float64)
    given = (wide - align(mean.astype(float))) / numpy.sqrt(align(variance.astype(float)) + epsilon)

    def trace(t, a, b, c, *rest):
        train = (Tensor(), Tensor())
        outputs = [t.batch_norm(a, b, c, options(rest)),
                   t.batch_norm_train(a, options(rest), *map(ctypes.byref, train))]
        return outputs + list(train)
    return draw.trial(trace, affine(given, align), affine(standard(wide, axes, epsilon), align), wide.mean(axes),
                      wide.var(axes), ulp=64, scale=400)


# ---- attention and embedding ----

@case
def attention(draw):
    dtype, lead = draw.float(), draw.extents(0, 1)
    length, keys, depth, values, shared = draw.extents(5, least=1)
    shared, each = min(shared, 4), draw.randint(1, 3)
    heads = draw.random() < 0.8
    if not heads:
        lead, each, shared = [], 1, 1
    q = draw.operand(lead + [shared * each] * heads + [length, depth], dtype, static=[-3] * heads)
    k = draw.operand(lead + [shared] * heads + [keys, depth], dtype, static=[-3] * heads)
    v = draw.operand(lead + [shared] * heads + [keys, values], dtype, static=[-3] * heads)
    kind, causal, scale = draw.choice([None, numpy.bool_, dtype]), draw.random() < 0.4, draw.choice([0.0, 0.7])
    offset = keys - length if draw.random() < 0.5 else 0
    mask = None
    if kind:
        full = [shared * each] * heads + [length, keys]
        mask = draw.operand([draw.choice([1, extent]) for extent in full[draw.randint(0, len(full) - 1):]], kind,
                            static=[-3] if heads else [])
    scores = q.astype(float) @ numpy.repeat(k.astype(float), each, -3 if heads else 0).swapaxes(-1, -2)
    scores = scores * (scale or depth ** -0.5)
    if mask is not None:
        scores = numpy.where(mask, scores, -numpy.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = numpy.where(numpy.tri(length, keys, offset, dtype=bool), scores, -numpy.inf)
    weights = numpy.nan_to_num(softmax_of(scores, -1))
    expected = weights @ numpy.repeat(v.astype(float), each, -3 if heads else 0)

    def trace(t, a, b, c, *rest):
        bound = t.weft.extent_sub(t.extent(keys), t.extent(length)) if offset else t.weft.extent_of(0)
        options = AttentionOptions(causal=causal, causal_offset=bound, scale=scale)
        if rest:
            options.mask = rest[0]
        return [t.attention(a, b, c, ctypes.byref(options))]
    return draw.trial(trace, expected, ulp=4000, scale=abs(v).max(initial=1))


@case
def embedding(draw):
    table = draw.operand(draw.extents(1, 3, least=1), draw.float())
    x = draw.operand(draw.extents(0, 2), draw.choice([numpy.int32, numpy.int64]), low=-len(table), high=len(table))
    padding = draw.choice([-2**63, 0, -1])
    is_padding = (x == padding).reshape(x.shape + (1,) * (table.ndim - 1))
    expected = numpy.where(is_padding, table.dtype.type(0), table[x])
    return draw.trial(lambda t, a, b: [t.embedding(a, b, padding)], expected, ulp=0)


# ---- losses ----

REDUCTIONS = [numpy.mean, numpy.sum, lambda x: x, lambda x: numpy.sum(x) / numpy.float64(x.shape[0])]


def loss(draw, name, formula, arguments=(), low=None, high=None, cancels=True):
    dtype, shape = draw.float(), draw.extents(1, 3)
    x = draw.operand(shape, dtype)
    target = draw.operand(shape if draw.random() < 0.7 else shape[1:], dtype, low=low, high=high)
    reduction = draw.randint(0, 3)
    values = formula(x.astype(numpy.float64), target.astype(numpy.float64))
    expected = REDUCTIONS[reduction](values)
    scale = REDUCTIONS[reduction](abs(values) + (abs(x) + 1 if cancels else 0))
    return draw.trial(lambda t, a, b: [t.weft.trace(name, a, b, *[
        t.scalar(dtype, value) if name == "bce_with_logits" and isinstance(value, float) else value
        for value in arguments], ctypes.c_int(reduction))], expected, scale=scale)


@case
def mse_loss(draw):
    return loss(draw, "mse_loss", lambda x, y: (x - y) ** 2)


@case
def l1_loss(draw):
    return loss(draw, "l1_loss", lambda x, y: abs(x - y))


@case
def huber_loss(draw):
    def formula(x, y):
        distance = abs(x - y)
        return numpy.where(distance <= 0.75, distance ** 2 / 2, 0.75 * (distance - 0.375))
    return loss(draw, "huber_loss", formula, [0.75])


@case
def bce_with_logits(draw):
    weight = draw.choice([None, 2.5])

    def formula(x, y):
        return (weight or 1) * y * numpy.logaddexp(0, -x) + (1 - y) * numpy.logaddexp(0, x)
    return loss(draw, "bce_with_logits", formula, [weight or Tensor()], low=0, high=1, cancels=False)


@case
def kl_divergence(draw):
    def formula(x, y):
        return numpy.where(y == 0, 0, y * (numpy.log(y) - x))
    return loss(draw, "kl_divergence", formula, low=0, high=1)


@case
def class_losses(draw):
    dtype, shape = draw.float(), draw.extents(1, 3, least=1)
    axis = draw.axis(len(shape))
    x = draw.operand(shape, dtype)
    rows = shape[:axis % len(shape)] + shape[axis % len(shape) + 1:]
    count, reduction = shape[axis], draw.randint(0, 2)
    targets = draw.operand(rows, draw.choice([numpy.int32, numpy.int64]), low=0, high=count)
    shares = draw.operand(shape, dtype, low=0, high=1)
    weights = draw.operand([count], dtype, low=0.1, high=2) if draw.random() < 0.5 else None
    ignores, ignored = draw.random() < 0.5, draw.randint(-1, 2)
    logs = numpy.moveaxis(x.astype(float), axis, -1)
    logs = logs - logs.max(-1, keepdims=True)
    logs = logs - numpy.log(numpy.exp(logs).sum(-1, keepdims=True))
    own = numpy.ones(count) if weights is None else weights.astype(float)
    counts = own[targets] * ~((targets == ignored) & ignores)
    picked = -numpy.take_along_axis(logs, targets[..., None].astype(int), -1)[..., 0] * counts
    nll = -numpy.take_along_axis(numpy.moveaxis(x.astype(float), axis, -1), targets[..., None].astype(int), -1)
    nll = nll[..., 0] * counts
    soft = -(logs * own * numpy.moveaxis(shares.astype(float), axis, -1)).sum(-1)

    def trace(t, a, b, c, *rest):
        options = ClassOptions(ignores=ignores, ignored=ignored, reduction=reduction)
        if rest:
            options.weights = rest[0]
        return [t.cross_entropy(a, b, axis, ctypes.byref(options)), t.nll_loss(a, b, axis, ctypes.byref(options)),
                t.cross_entropy(a, c, axis, ctypes.byref(options))]
    reduce = REDUCTIONS[reduction]
    means = [values.sum() / counts.sum() for values in (picked, nll)] if reduction == 0 else map(reduce, (picked, nll))
    return draw.trial(trace, *means, reduce(soft), ulp=32, scale=float(1 + (abs(x).max() + 5) * max(x.size, 1)))
