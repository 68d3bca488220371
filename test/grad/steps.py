# SPDX-License-Identifier: Apache-2.0
"""Tracing the steps of a case: each is a call of the function of that name, with attributes by the names of its
parameters."""
import ctypes

from binding import POINTER, Extent, Tensor, Tensors, argument, ints, items
from compare import WIDE, elements, narrow

FOLD_BODY = ctypes.CFUNCTYPE(None, POINTER, Tensor, ctypes.POINTER(Tensor), ctypes.POINTER(Tensor))
BRANCH = ctypes.CFUNCTYPE(None, POINTER, ctypes.POINTER(Tensor))
# Of a parameter that a step may leave out, the value that stands for that.
OMITTED = {("embedding", "padding"): -2**63}


class Tracer:
    """Traces in one graph. `floats` is the dtype that stands for f64; with f32 c64 does for c128. `symbols` maps an
    extent to the name that stands for it; it may grow."""

    def __init__(self, weft, declared, floats, symbolic):
        self.weft, self.declared, self.symbolic = weft, declared, symbolic
        self.names = {"f64": floats, **({"c128": "c64"} if floats == "f32" else {})}
        self.graph = weft.create_graph()
        self.symbols = {}
        self.values = {}

    # ---- operands ----

    def dtype(self, name):
        found = ctypes.c_int()
        self.weft.dtype_find(self.dtype_name(name).encode(), ctypes.byref(found))
        return found

    def dtype_name(self, name):
        return self.names.get(name, name)

    def symbol(self, value):
        """The extent `value`, as a symbol in a graph that has them; 0 and 1 are never one."""
        if self.symbolic and value > 1:
            self.symbols[f"n{value}"] = value
        return self.extent(value)

    def known(self, value):
        """The extent `value` as a number."""
        return self.weft.shape(self.graph, [value]).extents[0]

    def extent(self, value):
        """The extent `value`, by the symbol that stands for it if there is one."""
        name = f"n{value}"
        return self.weft.shape(self.graph, [name if name in self.symbols else value]).extents[0]

    def input(self, name, dtype, extents):
        return self.weft.trace("input", self.graph, name.encode(), self.dtype(dtype), list(extents) or
                               self.weft.shape(self.graph, []))

    # ---- calls ----

    def run(self, steps):
        for step in steps:
            results = self.call(step["op"], [self.values[name] for name in step["in"]], step.get("attrs", {}), step)
            self.values.update(zip(step["out"], results))

    def call(self, op, operands, attributes, step):
        """The results of one step."""
        if op in ("fold", "cond"):
            return getattr(self, op)(operands, attributes, step)
        if op == "constant":
            return [self.constant(**attributes)]
        if op == "einsum":
            return [self.weft.trace("einsum", attributes["expr"].encode(), operands, POINTER())]
        if "ignored" in attributes:
            attributes = {**attributes, "ignores": True}
        parameters = self.declared.parameters(op)
        operands = self.distribute(parameters, operands)
        return [self.weft.trace(op, *[self.value(op, name, kind, operands, attributes) for name, kind in parameters])]

    def constant(self, dtype, shape, data):
        view = elements({"shape": shape, "data": data}, WIDE[dtype])
        view = narrow(view, self.names["f64"])
        return self.weft.trace("constant", self.graph, self.dtype(dtype), ints(shape), POINTER(view.ctypes.data))

    def distribute(self, parameters, operands):
        """An iterator over tensors, and the list of those that are left to a parameter that is a list: each other
        parameter takes one."""
        count = len(operands)
        if any(kind == "weft_tensors" for _, kind in parameters):
            count = sum(kind == "weft_tensor" for _, kind in parameters)
        return iter(operands[:count]), operands[count:]

    def value(self, op, name, kind, operands, attributes):
        """What is passed for one parameter, or is in one field of options."""
        single, several = operands
        if kind == "weft_graph *":
            return self.graph
        if kind == "weft_tensor":
            return next(single, Tensor())
        if kind == "weft_tensors":
            return Tensors(len(several), items(Tensor, several))
        struct = kind.removeprefix("const ").removesuffix(" *")
        if self.declared.struct(struct):
            options = self.options(op, struct, operands, attributes)
            return ctypes.byref(options) if kind.endswith("*") else options
        if kind.endswith("*"):
            return POINTER()
        return self.attribute(kind, attributes.get(name, OMITTED.get((op, name))))

    def attribute(self, kind, value):
        """An attribute, which is None where a step leaves it out, as its parameter takes it."""
        if kind == "weft_dtype":
            return self.dtype(value)
        if kind == "weft_ints":
            return ints(value or [])
        if kind == "weft_extent":
            return Extent() if value is None else self.extent(value)
        if kind == "weft_shape":
            return argument([self.extent(extent) for extent in value] or self.weft.shape(self.graph, []))
        if kind in self.declared.enums:
            return ctypes.c_int(self.declared.enums[kind].get(value, 0))
        return argument({"bool": bool, "double": float}.get(kind, int)(value or 0))

    def options(self, op, struct, operands, attributes):
        fields, create = self.declared.struct(struct)
        return create(**{name: self.value(op, name, kind, operands, attributes) for name, kind in fields
                         if name in attributes or kind == "weft_tensor"})

    # ---- regions ----

    def body(self, region, operands, out):
        """Traces a region whose parameters are `operands`, and fills in its results."""
        self.values.update(zip(region["params"], operands))
        self.run(region["steps"])
        for number, name in enumerate(region["yield"]):
            out[number] = self.values[name]

    def fold(self, operands, attributes, step):
        region = step["body"]
        count = len(operands)
        body = FOLD_BODY(lambda _context, index, carried, out:
                         self.body(region, [copy(index), *map(copy, carried[:count])], out))
        results = (Tensor * count)()
        trips = self.symbol(attributes["trips"])
        self.weft.trace("fold", trips, operands, body, POINTER(), results)
        return list(results)

    def cond(self, operands, _attributes, step):
        then, otherwise = (BRANCH(lambda _context, out, region=region: self.body(region, [], out))
                           for region in (step["then"], step["else"]))
        results = (Tensor * len(step["out"]))()
        self.weft.trace("cond", operands[0], len(step["out"]), then, otherwise, POINTER(), results)
        return list(results)


def copy(tensor):
    """A tensor that outlives the call that passed it."""
    return Tensor(tensor.graph, tensor.node, tensor.output)
