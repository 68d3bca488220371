# SPDX-License-Identifier: Apache-2.0
"""Cases for f16 and bf16: sums of so many terms, and numbers of such size, that a sum or a square in those dtypes alone
would be wrong or overflow. Like those of gradients.json, but without what to expect, which is what f64 gives."""
import math
import random

LONG = 5000  # f16 counts to 2048, bf16 to 256
MEAN = "mean"


def numbers(draw, shape, low, high):
    count = math.prod(shape)
    return {"shape": list(shape), "data": [draw.uniform(low, high) for _ in range(count)]}


def case(name, inputs, steps, shapes, integers=None):
    """`inputs` maps names to a shape and bounds of the numbers, `integers` to arrays; each of `steps` is an op, what it
    is given and attributes, and its result is r0, r1, ..; `shapes` are those of the results with the last names."""
    draw = random.Random(name)
    entries = [{"name": key, "dtype": "f64", "wrt": True, **numbers(draw, *value)} for key, value in inputs.items()]
    entries += [{"name": key, "dtype": "i64", "wrt": False, "shape": [len(value)], "data": value}
                for key, value in (integers or {}).items()]
    rows = [{"out": [f"r{number}"], "op": op, "in": operands, "attrs": attrs}
            for number, (op, operands, attrs) in enumerate(steps)]
    last = [f"r{len(rows) - len(shapes) + number}" for number in range(len(shapes))]
    return {
        "name": name, "group": "sized", "inputs": entries, "steps": rows, "outputs": last,
        "cotangents": [numbers(draw, shape, 0.5, 1) for shape in shapes],
        "tangents": [numbers(draw, entry["shape"], 0.5, 1) if entry["wrt"] else None for entry in entries],
        "tolerance": {"relative": 1e-10, "absolute": 1e-10},
    }


def along(op, bounds=(100, 300), **attrs):
    """A reduction of long rows."""
    attrs = {"axes": [1], "keep": False, **attrs}
    return case(" ".join([op, *map(str, attrs.values())]), {"x": ((2, LONG), *bounds)}, [(op, ["x"], attrs)], [(2,)])


def whole(op, bounds=(100, 300), inputs=None, **attrs):
    """A function that keeps the shape of long rows."""
    operands = {"x": ((2, LONG), *bounds), **(inputs or {})}
    return case(op, operands, [(op, list(operands), attrs)], [(2, LONG)])


def loss(op, bounds=(-100, 100), target=(-100, 100), **attrs):
    return case(op, {"x": ((8, 640), *bounds), "t": ((8, 640), *target)},
                [(op, ["x", "t"], {"reduction": MEAN, **attrs})], [()])


def normal(op, **attrs):
    inputs = {"x": ((4, LONG), 200, 300), "scale": ((LONG,), 0.5, 2), "bias": ((LONG,), -1, 1)}
    return case(op, inputs, [(op, list(inputs), attrs)], [(4, LONG)])


def sloped(op, low, high):
    """At places where the slope, or what it is computed from, is beyond f16, but not what it is multiplied by."""
    steps = [("mul", ["x", "s"], {}), (op, ["r0"], {}), ("mul", ["r1", "s"], {})]
    small = {"name": "s", "dtype": "f64", "wrt": False, "shape": [64], "data": [2.0 ** -6] * 64}
    made = case(f"slope of {op}", {"x": ((64,), low, high)}, steps, [(64,)])
    made["inputs"].append(small)
    made["tangents"].append(None)
    return made


def rows():
    classes = [7 * row % 640 for row in range(8)]
    return [
        case("sum of a broadcast", {"x": ((3,), 1, 2)}, [("broadcast", ["x"], {"shape": [LONG, 3]})], [(LONG, 3)]),
        case("bias", {"x": ((LONG, 3), 1, 2), "b": ((3,), 1, 2)}, [("add", ["x", "b"], {})], [(LONG, 3)]),
        case("product", {"a": ((LONG, 4), 0.5, 1), "b": ((4, 3), 0.5, 1)}, [("matmul", ["a", "b"], {})], [(LONG, 3)]),
        case("wide product", {"a": ((2, LONG), 0.5, 1), "b": ((LONG, 3), 0.5, 1)}, [("matmul", ["a", "b"], {})],
             [(2, 3)]),
        case("one row often", {"x": ((2, 3), 1, 2)}, [("gather", ["x", "i"], {"axis": 0})], [(LONG, 3)],
             {"i": [1] * LONG}),
        case("ties", {"x": ((2, LONG), 3, 3)}, [("reduce_max", ["x"], {"axes": [1], "keep": False})], [(2,)]),
        case("ties of a scatter", {"x": ((2,), 3, 3), "u": ((LONG,), 3, 3)},
             [("scatter", ["x", "u", "i"], {"axes": [0], "mode": "max"})], [(2,)], {"i": [1] * LONG}),
        along("reduce_sum", (0.5, 1)), along("reduce_prod", (0.998, 1.002)), along("mean"), along("logsumexp"),
        along("variance", correction=1), along("standard_deviation", correction=1),
        *(along("norm", p=p) for p in (1, 2, 3, "inf")),
        whole("softmax", (-300, 300), axis=1), whole("log_softmax", (-300, 300), axis=1),
        whole("cumsum", (0.5, 1), axis=1), whole("cumprod", (0.998, 1.002), axis=1),
        whole("cummax", (2, 2), axis=1),
        normal("layer_norm", axis=1), normal("rms_norm", axis=1),
        case("group_norm", {"x": ((2, 4, LONG), 200, 300), "scale": ((4,), 0.5, 2), "bias": ((4,), -1, 1)},
             [("group_norm", ["x", "scale", "bias"], {"groups": 2})], [(2, 4, LONG)]),
        case("batch_norm_train", {"x": ((LONG, 3), 200, 300), "scale": ((3,), 0.5, 2), "bias": ((3,), -1, 1)},
             [("batch_norm_train", ["x", "scale", "bias"], {})], [(LONG, 3)]),
        loss("mse_loss"), loss("l1_loss"), loss("huber_loss", delta=50), loss("bce_with_logits", target=(0, 1)),
        loss("kl_divergence", (-9, -5), (0, 1)),
        case("cross_entropy", {"x": ((8, 640), -300, 300)},
             [("cross_entropy", ["x", "c"], {"axis": 1, "reduction": MEAN})], [()], {"c": classes}),
        case("attention", {"q": ((1, 16, 64), 0, 1), "k": ((1, 3000, 64), 0, 1), "v": ((1, 3000, 4), 0, 1)},
             [("attention", ["q", "k", "v"], {})], [(1, 16, 4)]),
        case("conv", {"x": ((1, 2, 72, 72), 0.5, 1), "w": ((2, 2, 3, 3), 0.5, 1)}, [("conv", ["x", "w"], {})],
             [(1, 2, 70, 70)]),
        case("windows", {"x": ((1200,), 0.5, 1)},
             [("window", ["x"], {"axis": 0, "size": 600, "stride": 1, "dilation": 1})], [(601, 600)]),
        sloped("atan", 2 ** 15, 2 ** 15.9), sloped("rsqrt", 2 ** -7, 2 ** -5), sloped("asinh", 2 ** 15, 2 ** 15.9),
        sloped("cbrt", 2 ** -10, 2 ** -8), sloped("tan", 100.2, 100.4),
        case("quotient", {"a": ((64,), 2 ** -14, 2 ** -12), "b": ((64,), 2 ** -11, 2 ** -10)},
             [("div", ["a", "b"], {}), ("mul", ["r0", "a"], {})], [(64,)]),
        case("angles", {"y": ((64,), 2 ** 14, 2 ** 15), "x": ((64,), 2 ** 14, 2 ** 15)}, [("atan2", ["y", "x"], {})],
             [(64,)]),
    ]
