# SPDX-License-Identifier: Apache-2.0
"""The programs of programs.c for numpy, jax, torch and onnxruntime, by family and name.

An entry has a function for each library that has a good way: `n` is its module, then come the arrays; for onnxruntime the
nodes of a model, (op, inputs, output, attributes), with inputs a, b, ... and the result y. `every` is of all three.
"""


class Ways(dict):
    def __init__(self, every=None, numpy=None, jax=None, torch=None, onnx=None):
        ways = {"numpy": numpy or every, "jax": jax or every, "torch": torch or every, "onnxruntime": onnx}
        super().__init__((name, way) for name, way in ways.items() if way)

    def without(self, *names):
        """Where a library has no such dtype, or no way that can be compared."""
        for name in names:
            self.pop(name)
        return self


def node(op, inputs="a", **attributes):
    return [(op, inputs, "y", attributes)]


def nn():
    import jax

    return jax.nn


def functional():
    import torch

    return torch.nn.functional


def lax():
    import jax

    return jax.lax


def special():
    import jax

    return jax.scipy.special


def segment_sum(values, numbers, count):
    import jax

    return jax.ops.segment_sum(values, numbers, count)


# ---- what takes more than a line ----


def chain(links):
    def way(n, x):
        y = x
        for _ in range(links // 4):
            y = n.maximum((y * 0.75 + x) * 0.5, x.dtype.type(-1)) if n.__name__ == "numpy" else (
                n.clip((y * 0.75 + x) * 0.5, -1))
        return y

    return Ways(way)


def softmax(n, x, axis=1):
    e = n.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(n, x, scale, bias):
    c = x - x.mean(axis=1, keepdims=True)
    return c / n.sqrt((c * c).mean(axis=1, keepdims=True) + 1e-5) * scale + bias


def heads(n, k, h):
    return n.repeat(k, h // k.shape[1], 1)


def attention(n, q, k, v, mask=None):
    if k.shape[1] != q.shape[1]:
        k, v = heads(n, k, q.shape[1]), heads(n, v, q.shape[1])
    scores = n.matmul(q * q.dtype.type(q.shape[-1] ** -0.5), n.swapaxes(k, -1, -2))
    if mask is not None:
        scores = scores + mask
    return n.matmul(softmax(n, scores, -1), v)


def causal(n, q, k, v):
    length = q.shape[-2]
    return attention(n, q, k, v, n.where(n.tril(n.ones((length, length), bool)), 0, -n.inf).astype(q.dtype))


def torch_attention(_, q, k, v, mask=None, **options):
    grouped = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    return functional().scaled_dot_product_attention(q, k, v, attn_mask=mask, **grouped, **options)


def attention_nodes(width, mask=None):
    nodes = [("Constant", "", "scale", {"value_float": width**-0.5}), ("Mul", "a scale", "scaled", {}),
             ("Transpose", "b", "keys", {"perm": [0, 1, 3, 2]}), ("MatMul", "scaled keys", "scores", {})]
    if mask:
        nodes.append(("Add", f"scores {mask}", "masked", {}))
    return nodes + [("Softmax", "masked" if mask else "scores", "weights", {"axis": -1}),
                    ("MatMul", "weights c", "y", {})]


def conv(stride=1, pad=1, groups=1, rank=2):
    def jax(_, x, w):
        return lax().conv_general_dilated(x, w, (stride,) * rank, [(pad, pad)] * rank, feature_group_count=groups)

    def torch(_, x, w):
        function = functional().conv2d if rank == 2 else functional().conv1d
        return function(x, w, stride=stride, padding=pad, groups=groups)

    return Ways(jax=jax, torch=torch, onnx=node("Conv", "a b", strides=[stride] * rank, pads=[pad] * (2 * rank),
                                                group=groups))


def max_pool(n, x):
    return lax().reduce_window(x, -n.inf, lax().max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])


def pool_2(n, x):
    b, c, h, w = x.shape
    return x.reshape(b, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))


def box(n, x):
    x = x.to(n.int32) if n.__name__ == "torch" else x.astype("int32")
    x = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
    x = (x[:-2] + x[1:-1] + x[2:]) // 9
    return x.to(n.uint8) if n.__name__ == "torch" else x.astype("uint8")


def inverse_3(n, m):
    def cofactor(row, column):
        a, b, c, d = (row + 1) % 3, (row + 2) % 3, (column + 1) % 3, (column + 2) % 3
        return m[:, a, c] * m[:, b, d] - m[:, a, d] * m[:, b, c]

    cofactors = [[cofactor(i, k) for k in range(3)] for i in range(3)]
    determinant = sum(m[:, 0, k] * cofactors[0][k] for k in range(3))
    rows = [n.stack([cofactors[k][i] for k in range(3)], -1) for i in range(3)]
    return n.stack(rows, -2) / determinant[:, None, None]


def relu(n, x):
    return n.maximum(x, 0) if n.__name__ != "torch" else n.relu(x)


def perceptron(n, x, u, v, w):
    return relu(n, relu(n, x @ u) @ v) @ w


def sigmoid(n, x):
    return 1 / (1 + n.exp(-x)) if n.__name__ != "torch" else n.sigmoid(x)


def swiglu(n, x, u, v, w):
    g = x @ u
    return (g * sigmoid(n, g) * (x @ v)) @ w


def gelu_layers_torch(_, x, u, w):
    return functional().gelu(x @ u) @ w


def lstm_cell(n, x, h, w, u, c):
    width = c.shape[1]
    gates = x @ w + h @ u
    i, f, g, o = (gates[:, k * width:(k + 1) * width] for k in range(4))
    return sigmoid(n, o) * n.tanh(sigmoid(n, f) * c + sigmoid(n, i) * n.tanh(g))


def adam(n, p, g, m, v):
    m, v = m + (g - m) * 0.1, v * 0.999 + g * g * 0.001
    return p - 0.001 / (1 - 0.9 ** 10) * (m / (n.sqrt(v) / (1 - 0.999 ** 10) ** 0.5 + 1e-8)), m, v


def momentum(n, p, g, v):
    v = v * 0.9 + g
    return p - 0.001 * v, v


def gelu_and_gradient_jax(_, x):
    import jax

    y, back = jax.vjp(lambda x: jax.nn.gelu(x, approximate=False), x)
    return y, back(jax.numpy.ones_like(x))[0]


def gelu_and_gradient_torch(n, x):
    return functional().gelu(x), n.ops.aten.gelu_backward(n.ones_like(x), x)


def cosine(n, a, b):
    return n.einsum("ij,ij->i", a, b) / (n.linalg.norm(a, axis=1) * n.linalg.norm(b, axis=1))


def rope(n, x, cosines, sines):
    c, s, h = cosines[:, None], sines[:, None], x.shape[2] // 2
    return n.concatenate([x[..., :h] * c - x[..., h:] * s, x[..., h:] * c + x[..., :h] * s], 2)


def rotate_pairs(n, x, cosines, sines):
    c, s, a, b = cosines[:, None], sines[:, None], x[..., ::2], x[..., 1::2]
    return n.stack([a * c - b * s, b * c + a * s], -1).reshape(x.shape)


def distances(n, a, b):
    return (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * (a @ b.T)


def cross_entropy(n, x, t):
    most = x.max(axis=1, keepdims=True)
    logs = n.log(n.exp(x - most).sum(axis=1)) + most[:, 0]
    return (logs - x[n.arange(len(t)), t]).mean()


def batch_norm(n, x, mean, variance, scale, bias):
    factor = scale / n.sqrt(variance + 1e-5)
    return x * factor[:, None, None] + (bias - mean * factor)[:, None, None]


def group_norm(n, x, scale, bias):
    b, c, h, w = x.shape
    g = x.reshape(b, 8, -1)
    d = g - g.mean(axis=2, keepdims=True)
    y = (d / n.sqrt((d * d).mean(axis=2, keepdims=True) + 1e-5)).reshape(x.shape)
    return y * scale[:, None, None] + bias[:, None, None]


def numpy_add_at(n, x, i, v):
    y = x.copy()
    n.add.at(y, i, v)
    return y


def numpy_add_columns(n, x, i, v):
    y = x.copy()
    n.add.at(y, (slice(None), i), v)
    return y


def space_to_depth(n, x):
    x = x.reshape(8, 32, 28, 2, 28, 2)
    axes = (0, 3, 5, 1, 2, 4)
    return (x.permute(axes) if n.__name__ == "torch" else n.transpose(x, axes)).reshape(8, 128, 28, 28)


def moved(*axes):
    return Ways(lambda n, x: n.ascontiguousarray(n.transpose(x, axes)), jax=lambda n, x: n.transpose(x, axes),
                torch=lambda n, x: x.permute(axes).contiguous())



# ---- the table ----

ADD = Ways(lambda n, a, b: n.add(a, b))
MUL = Ways(lambda n, a, b: n.multiply(a, b))
MATMUL = Ways(lambda n, a, b: n.matmul(a, b))
MATMUL_16 = Ways(lambda n, a, b: n.matmul(a, b)).without("numpy")  # which multiplies no such numbers fast


def unary(name, onnx=None):
    return Ways(lambda n, x: getattr(n, name)(x), onnx=onnx and node(onnx))


def cast(name):
    return Ways(lambda n, x: x.astype(getattr(n, name)), torch=lambda n, x: x.to(getattr(n, name)))


def sums(axis):
    return Ways(lambda n, x: n.sum(x, axis), jax=lambda n, x: x.sum(axis))


def maxima(axis):
    return Ways(lambda n, x: x.max(axis), torch=lambda n, x: n.amax(x, axis))


def scan(name, axis):
    return Ways(lambda n, x: getattr(n, name)(x, axis))


SOFTMAX = Ways(softmax, jax=lambda n, x: nn().softmax(x, 1), torch=lambda n, x: n.softmax(x, 1),
               onnx=node("Softmax", axis=1))
LAYER_NORM = Ways(layer_norm, torch=lambda n, x, s, b: functional().layer_norm(x, (x.shape[1],), s, b, 1e-5),
                  onnx=node("LayerNormalization", "a b c", axis=1, epsilon=1e-5))
SIGMOID = Ways(sigmoid, jax=lambda n, x: nn().sigmoid(x), onnx=node("Sigmoid"))
SILU = Ways(lambda n, x: x * sigmoid(n, x), jax=lambda n, x: nn().silu(x), torch=lambda n, x: functional().silu(x))
CUMSUM = {axis: Ways(lambda n, x, axis=axis: n.cumsum(x, axis)) for axis in (0, 1)}
ROWS = Ways(lambda n, x, i: n.take(x, i, 0), jax=lambda n, x, i: x[i], torch=lambda n, x, i: x[i],
            onnx=node("Gather", "a b", axis=0))
SORT_0 = Ways(lambda n, x: n.sort(x, 0), torch=lambda n, x: n.sort(x, 0)[0])
SORT_1 = Ways(lambda n, x: n.sort(x, 1), torch=lambda n, x: n.sort(x, 1)[0])
ATTENTION = Ways(attention, torch=torch_attention, onnx=attention_nodes(64))
BIASED = Ways(lambda n, a, b, c: relu(n, a @ b + c))
INDEX_ADD = Ways(numpy=numpy_add_at, jax=lambda n, x, i, v: x.at[i].add(v), torch=lambda n, x, i, v: n.index_add(x, 0, i, v))

WAYS = {
    "elementwise": {
        "add 1k": ADD, "add 4M": ADD, "broadcast column": ADD, "channel bias": ADD, "u8 add": ADD,
        "broadcast row": MUL, "narrow column": MUL, "outer": MUL, "c64 a*b": MUL,
        "chain 16 1k": chain(16), "chain 4 64k": chain(4), "chain 16 4M": chain(16),
        "plus transpose": Ways(lambda n, a, b: a + b.T),
        "f32 to f16": cast("float16"), "f32 to u8": cast("uint8"), "f32 to i32": cast("int32"),
        "i64 to f32": cast("float32"),
        "bf16 a*b+c": Ways(lambda n, a, b, c: a * b + c), "f64 a*b+c": Ways(lambda n, a, b, c: a * b + c),
        "f32 a/b": Ways(lambda n, a, b: a / b),
        "i32 remainder of 7": Ways(lambda n, x: n.remainder(x, 7)),
        "bool and, xor": Ways(lambda n, a, b: n.bitwise_xor(n.bitwise_and(a, b), a)),
        "select": Ways(lambda n, a, b: n.where(a > b, a, b)),
        "clamp": Ways(lambda n, x: n.clip(x, -0.5, 0.5)),
        "is_finite": unary("isfinite"), "c64 abs": unary("abs"), "sqrt": unary("sqrt", "Sqrt"),
        "i32 shift": Ways(lambda n, x: x << 3),
        "inverses of 3 x 3": Ways(inverse_3),
    },
    "functions": {
        "sin": unary("sin", "Sin"), "sin of large": unary("sin"), "cos": unary("cos", "Cos"), "tan": unary("tan"),
        "exp": unary("exp", "Exp"), "log": unary("log", "Log"), "tanh": unary("tanh", "Tanh"),
        "erf": Ways(jax=lambda n, x: special().erf(x), torch=lambda n, x: n.erf(x), onnx=node("Erf")),
        "sigmoid": SIGMOID, "silu": SILU, "silu bf16": SILU,
        "sin and cos": Ways(lambda n, x: (n.sin(x), n.cos(x))),
        "gelu": Ways(jax=lambda n, x: nn().gelu(x, approximate=False), torch=lambda n, x: functional().gelu(x),
                     onnx=node("Gelu")),
        "softplus": Ways(lambda n, x: n.logaddexp(x, 0), jax=lambda n, x: nn().softplus(x),
                         torch=lambda n, x: functional().softplus(x), onnx=node("Softplus")),
        "expm1": unary("expm1"), "log1p": unary("log1p"), "cbrt": unary("cbrt").without("torch"), "atan": unary("arctan"),
        "asin": unary("arcsin"), "sinh": unary("sinh"), "atan2": Ways(lambda n, a, b: n.arctan2(a, b)),
        "pow": Ways(lambda n, a, b: n.pow(a, b), onnx=node("Pow", "a b")), "pow f64": Ways(lambda n, a, b: n.pow(a, b)),
        "pow 3": Ways(lambda n, x: x**3), "pow 2": Ways(lambda n, x: x**2), "pow -1": Ways(lambda n, x: x**-1.0),
        "pow 0.5": Ways(lambda n, x: x**0.5),
        "rsqrt": Ways(lambda n, x: 1 / n.sqrt(x), jax=lambda n, x: lax().rsqrt(x), torch=lambda n, x: n.rsqrt(x)),
        "exp f64": unary("exp"), "log f64": unary("log"), "sin f64": unary("sin"), "tanh f64": unary("tanh"),
        "exp c64": unary("exp"), "exp f16": unary("exp"),
    },
    "reductions": {
        "min and max of all": Ways(lambda n, x: (n.min(x), n.max(x)), torch=lambda n, x: n.aminmax(x)),
        "sums and squares of rows": Ways(lambda n, x: (x.sum(1), (x * x).sum(1))),
        "sum of rows": sums(1), "sum of columns": sums(0), "sum of all": sums(0), "sum over 0, 2": sums((0, 2)),
        "sum over 1": sums(1), "sum of rows, f64": sums(1), "sum of rows, bf16": sums(1).without("numpy"),
        "sum of rows, c64": sums(1), "sum of 262144 x 4": sums(1), "sum of 16 x 65536": sums(0), "sum of 32 x 32": sums(1),
        "sum of columns, i32": Ways(lambda n, x: n.sum(x, 0, dtype=n.int32)),
        "max of rows": maxima(1), "max of columns": maxima(0), "max over 1": maxima(1), "max of all, u8": maxima(0),
        "max of rows, u8": maxima(1), "max of rows, bf16": maxima(1).without("numpy"),
        "product of rows": Ways(lambda n, x: n.prod(x, 1)), "any of columns": Ways(lambda n, x: x.any(0)),
        "any of rows": Ways(lambda n, x: x.any(1)),
        "argmax of rows": Ways(lambda n, x: n.argmax(x, 1)), "argmax of columns": Ways(lambda n, x: n.argmax(x, 0)),
        "variance of rows": Ways(lambda n, x: x.var(1), torch=lambda n, x: n.var(x, 1, correction=0)),
        "variance of columns": Ways(lambda n, x: x.var(0), torch=lambda n, x: n.var(x, 0, correction=0)),
        "sum of squares": Ways(lambda n, x: n.dot(x, x)),
        "all of 100000 x 10": Ways(lambda n, x: n.all(x, 0)),
        "positive ones of rows": Ways(lambda n, x: n.count_nonzero(x > 0, 1)),
        "logsumexp of rows": Ways(
            lambda n, x: n.log(n.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1),
            jax=lambda n, x: special().logsumexp(x, 1), torch=lambda n, x: n.logsumexp(x, 1)),
        "rows less their mean": Ways(lambda n, x: x - x.mean(1, keepdims=True)),
        "mean of all": Ways(lambda n, x: x.mean()),
        "max of channels last": maxima((0, 1)),
        "mean of steps along rows": Ways(lambda n, x: n.abs(x[:, 1:] - x[:, :-1]).mean()),
    },
    "scans": {
        "cumsum of rows": CUMSUM[1], "cumsum of columns": CUMSUM[0], "cumsum 1M": CUMSUM[0],
        "cumsum of rows, i32": Ways(lambda n, x: n.cumsum(x, 1, dtype=n.int32)), "cumsum of rows, f64": CUMSUM[1],
        "cummax of rows": Ways(numpy=lambda n, x: n.maximum.accumulate(x, 1), jax=lambda n, x: lax().cummax(x, 1),
                               torch=lambda n, x: n.cummax(x, 1)[0]),
        "cumprod of columns": Ways(lambda n, x: n.cumprod(x, 0)),
    },
    "movement": {
        "transpose": moved(1, 0), "transpose u8": moved(1, 0), "transpose 65536 x 8": moved(1, 0),
        "transpose 262144 x 3, u8": moved(1, 0), "permute 0213": moved(0, 2, 1, 3), "permute 0231": moved(0, 2, 3, 1),
        "permute 201, bf16": moved(2, 0, 1),
        "concat of columns": Ways(lambda n, *x: n.concatenate(x, 1), onnx=node("Concat", "a b c d", axis=1)),
        "concat of rows": Ways(lambda n, *x: n.concatenate(x, 0), onnx=node("Concat", "a b c d", axis=0)),
        "stack last": Ways(lambda n, a, b: n.stack([a, b], -1)),
        "pad": Ways(lambda n, x: n.pad(x, 1), torch=lambda n, x: functional().pad(x, (1, 1, 1, 1))),
        "every second": Ways(lambda n, x: n.ascontiguousarray(x[:, ::2]), jax=lambda n, x: x[:, ::2],
                             torch=lambda n, x: x[:, ::2].contiguous()),
        "interior": Ways(lambda n, x: n.ascontiguousarray(x[12:1012, 12:1012]), jax=lambda n, x: x[12:1012, 12:1012],
                         torch=lambda n, x: x[12:1012, 12:1012].contiguous()),
        "flip": Ways(lambda n, x: n.ascontiguousarray(x[::-1, ::-1]), jax=lambda n, x: x[::-1, ::-1],
                     torch=lambda n, x: n.flip(x, (0, 1))),
        "roll": Ways(lambda n, x: n.roll(x, (3, 5), (0, 1))),
        "tile": Ways(lambda n, x: n.tile(x, (1, 100))),
        "repeat rows": Ways(lambda n, x: n.repeat(x, 4, 0), torch=lambda n, x: n.repeat_interleave(x, 4, 0)),
        "repeat columns": Ways(lambda n, x: n.repeat(x, 4, 1), torch=lambda n, x: n.repeat_interleave(x, 4, 1)),
        "space to depth": Ways(space_to_depth), "lower triangle": Ways(lambda n, x: n.tril(x)),
    },
    "indexing": {
        "rows": ROWS, "elements": ROWS, "elements of 1M": ROWS, "embedding": ROWS,
        "columns": Ways(lambda n, x, i: n.take(x, i, 1), jax=lambda n, x, i: x[:, i], torch=lambda n, x, i: x[:, i],
                        onnx=node("Gather", "a b", axis=1)),
        "along columns": Ways(lambda n, x, i: n.take_along_axis(x, i, 0), torch=lambda n, x, i: n.gather(x, 0, i),
                              onnx=node("GatherElements", "a b", axis=0)),
        "along rows": Ways(lambda n, x, i: n.take_along_axis(x, i, 1), torch=lambda n, x, i: n.gather(x, 1, i),
                           onnx=node("GatherElements", "a b", axis=1)),
        "3 of 8 columns": Ways(lambda n, x, i: n.take(x, i, 1), jax=lambda n, x, i: x[:, i], torch=lambda n, x, i: x[:, i]),
        "add columns": Ways(numpy=numpy_add_columns, jax=lambda n, x, i, v: x.at[:, i].add(v),
                            torch=lambda n, x, i, v: n.index_add(x, 1, i, v)),
        "add at 1M": INDEX_ADD, "add rows": INDEX_ADD,
        "embedding bag": Ways(lambda n, t, i: t[i].sum(1), torch=lambda n, t, i: functional().embedding_bag(i, t, mode="sum")),
        "one_hot": Ways(numpy=lambda n, i: n.eye(1000, dtype="f4")[i], jax=lambda n, i: nn().one_hot(i, 1000, dtype="f4"),
                        torch=lambda n, i: functional().one_hot(i, 1000).float()),
        "bincount": Ways(lambda n, i: n.bincount(i, minlength=1000), jax=lambda n, i: n.bincount(i, length=1000)),
    },
    "sorting": {
        "sort 64k": SORT_0, "sort 1M": SORT_0, "sort of columns": SORT_0, "sort of long columns": SORT_0,
        "sort 1M, u8": SORT_0, "sort 1M, i64": SORT_0,
        "sort 1M, few values": SORT_0, "sort 1M, half NaN": SORT_0, "sort of the sorted": SORT_0,
        "sort of rows": SORT_1, "sort of rows of 16": SORT_1,
        "argsort of rows": Ways(lambda n, x: n.argsort(x, 1, stable=True),
                                torch=lambda n, x: n.sort(x, dim=1, stable=True)[1]),
        "10 largest of 1M": Ways(numpy=lambda n, x: -n.sort(n.partition(-x, 9)[:10]), jax=lambda n, x: lax().top_k(x, 10)[0],
                                 torch=lambda n, x: n.topk(x, 10)[0]),
        "8 largest of rows of 64": Ways(jax=lambda n, x: lax().top_k(x, 8)[0], torch=lambda n, x: n.topk(x, 8, 1)[0]),
        "100 largest of rows": Ways(numpy=lambda n, x: -n.sort(n.partition(-x, 99, 1)[:, :100], 1),
                                    jax=lambda n, x: lax().top_k(x, 100)[0], torch=lambda n, x: n.topk(x, 100, 1)[0]),
        "unique": Ways(lambda n, x: n.unique(x)).without("jax"),  # whose result has no size when it is compiled
        "median of rows": Ways(lambda n, x: n.median(x, 1)).without("torch"),  # the lower of two
        "search": Ways(lambda n, a, v: n.searchsorted(a, v)),
    },
    "norms": {
        "softmax 2048 x 1024": SOFTMAX, "softmax 256 x 50257": SOFTMAX, "softmax of channels": SOFTMAX,
        "softmax f64": SOFTMAX,
        "softmax of columns": Ways(lambda n, x: softmax(n, x, 0), jax=lambda n, x: nn().softmax(x, 0),
                                   torch=lambda n, x: n.softmax(x, 0), onnx=node("Softmax", axis=0)),
        "log_softmax": Ways(jax=lambda n, x: nn().log_softmax(x, 1), torch=lambda n, x: n.log_softmax(x, 1),
                            onnx=node("LogSoftmax", axis=1)),
        "layer norm": LAYER_NORM, "layer norm of 64": LAYER_NORM,
        "layer norm bf16": Ways(torch=LAYER_NORM["torch"]),
        "rms norm": Ways(lambda n, x, s: x / n.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * s,
                         torch=lambda n, x, s: functional().rms_norm(x, (x.shape[1],), s, 1e-5)),
        "batch norm": Ways(batch_norm, torch=lambda n, x, m, v, s, b: functional().batch_norm(x, m, v, s, b),
                           onnx=node("BatchNormalization", "a d e b c", epsilon=1e-5)),
        "group norm": Ways(group_norm, torch=lambda n, x, s, b: functional().group_norm(x, 8, s, b)),
        "cross entropy": Ways(cross_entropy, torch=lambda n, x, t: functional().cross_entropy(x, t)),
    },
    "attention": {
        "12 heads of 512 x 64": ATTENTION, "short": Ways(attention, torch=torch_attention, onnx=attention_nodes(32)),
        "one query": ATTENTION, "length 4096": ATTENTION,
        "causal": Ways(causal, torch=lambda n, *x: torch_attention(n, *x, is_causal=True)),
        "mask": Ways(attention, torch=torch_attention, onnx=attention_nodes(128, "d")),
        "grouped heads": Ways(attention, torch=torch_attention),
    },
    "windows": {
        "3x3, 128 channels of 28": conv(), "3x3, 64 channels of 56": conv(), "1x1": conv(pad=0),
        "7x7 stride 2": conv(2, 3), "3x3, 16 channels of 16": conv(), "grouped": conv(groups=4),
        "depthwise": conv(groups=128), "depthwise stride 2": conv(2, groups=128), "1-D, 5": conv(pad=2, rank=1),
        "max pool": Ways(jax=max_pool, torch=lambda n, x: functional().max_pool2d(x, 3, 2, 1),
                         onnx=node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)),
        "average pool": Ways(pool_2, torch=lambda n, x: functional().avg_pool2d(x, 2),
                             onnx=node("AveragePool", kernel_shape=[2, 2], strides=[2, 2])),
        "global pool": Ways(lambda n, x: x.mean((2, 3))),
        "box of 3x3, u8": Ways(box),
    },
    "networks": {
        "784-512-512-10, 32 rows": Ways(perceptron), "784-512-512-10, 1 row": Ways(perceptron),
        "product, relu, softmax": Ways(lambda n, x, w, b: softmax(n, relu(n, x @ w + b)),
                                       torch=lambda n, x, w, b: n.softmax(n.relu(x @ w + b), 1)),
        "768-3072-768 gelu": Ways(jax=lambda n, x, u, w: nn().gelu(x @ u, approximate=False) @ w, torch=gelu_layers_torch),
        "swiglu": Ways(swiglu),
        "norm, product": Ways(lambda n, x, w: layer_norm(n, x, 1, 0) @ w,
                              torch=lambda n, x, w: functional().layer_norm(x, (512,)) @ w),
        "LSTM cell": Ways(lstm_cell), "cosine similarity": Ways(cosine), "rotary embedding": Ways(rope),
        "rotation of pairs": Ways(rotate_pairs),
        "distances": Ways(distances), "Adam": Ways(adam), "SGD with momentum": Ways(momentum),
        "gelu and gradient": Ways(jax=gelu_and_gradient_jax, torch=gelu_and_gradient_torch),
    },
    "products": {
        **{name: MATMUL for name in ("f32 64", "f32 128", "f32 256", "f32 512", "f32 1024", "f32 3000", "f64 64", "f64 256",
                                     "f64 512", "c64 128", "c64 512", "128 x 768 x 768", "300 x 200 x 100", "4 of 256",
                                     "32 of 128", "32 of 64, c64")},
        "bf16 512": MATMUL_16, "bf16 512, fast": MATMUL_16, "128 x 768 x 768, fast": MATMUL_16, "f16 256": MATMUL_16,
        "i32 256": MATMUL,
        "A.T B 384": Ways(lambda n, a, b: a.T @ b), "A B.T 384": Ways(lambda n, a, b: a @ b.T),
        "A.T B.T 384": Ways(lambda n, a, b: a.T @ b.T), "gram 10000 x 64": Ways(lambda n, a: a.T @ a),
        "bias, relu 512": BIASED,
    },
    "small products": {
        **{name: MATMUL for name in ("f32 8", "f32 16", "f32 20", "f32 25", "f32 32", "f32 33", "f32 40", "f32 56", "f32 96",
                                     "f64 16", "f64 32", "c64 32", "128 of 8", "128 of 16")},
        "bf16 32": MATMUL_16, "bias, relu 64": BIASED,
    },
    "skinny products": {
        **{name: MATMUL for name in ("1 x 784 x 512", "4 x 784 x 512", "16 x 784 x 512", "2048 x 512 x 1", "2048 x 512 x 4",
                                     "2048 x 512 x 16", "vector 1024", "vector 4096", "1024 by vector",
                                     "512 by vector, f64", "64 of 256 by vector", "4096 x 512 x 8", "8 x 512 x 4096",
                                     "65536 x 3 x 3")},
        "2048 by vector, bf16": MATMUL_16, "4 x 2048 by (2048 x 2048).T": Ways(lambda n, a, b: a @ b.T),
    },
}


def ways_of(family, name):
    if family != "einsum":
        return WAYS[family][name]
    return Ways(jax=lambda n, *x: n.einsum(name, *x), torch=lambda n, *x: n.einsum(name, *x).contiguous(),
                numpy=lambda n, *x: n.ascontiguousarray(n.einsum(name, *x, optimize=True)))
