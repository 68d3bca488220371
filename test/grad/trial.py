# SPDX-License-Identifier: Apache-2.0
"""A case of gradients.json, traced in one way and run on arrays."""
import ctypes
import json

from binding import POINTER, SIZE, Failure, Policy, Shape, Tensor, Tensors, Weft, items, numpy
from compare import WIDE, elements
from steps import Tracer

QUICK = 2  # WEFT_CODE_QUICK
NAMES = ["bool", "u1", "i4", "u4", "i8", "V2", "f2", "f4", "f8", "c8", "c16"]  # as weft_dtype counts
# Convolutions whose kernels have known sizes: transposed ones want that, and others have a rule then.
KERNELS = ["conv2d_stride_apart", "conv2d_stride_depthwise", "conv2d_stride_1x1", "conv_transpose1d", "conv_transpose1d_cut",
           "conv_transpose1d_stride", "conv_transpose2d_apart", "conv_transpose2d_depthwise", "conv_transpose2d_dilation",
           "conv_transpose2d_groups", "conv_transpose2d_output_padding", "conv_transpose2d_pad"]
# Inputs whose axes stay numbers where other extents become symbols.
KNOWN = {("attention_grouped", "q"): [0], **{(name, "w"): [2, 3] for name in KERNELS}}


class Library(Weft):
    """The C interface with both runtimes and einsum; `quick`: code is not optimised."""

    def __init__(self, build, quick=False, threads=1):
        super().__init__(build / "extensions/einsum/libweft-einsum.so", ["llvm", "reference"], ["einsum"],
                         threads=threads, code=QUICK if quick else 0)
        self.library.weft_tensor_shape.restype = Shape
        self.library.weft_tensor_rank.restype = SIZE

    def error(self, graph):
        """The graph's error as text, which is forgotten, or None."""
        status = self.graph_error(graph)
        text = self.status_message(POINTER(status)).decode() if status else None
        self.graph_clear_error(graph)
        return text

    def several(self, name, count, *arguments):
        """What a function writes into an array of `count` tensors, its last argument."""
        out = (Tensor * count)()
        self.trace(name, *arguments, out)
        return list(out)

    def compile_some(self, graph, outputs, passes):
        """A program of some outputs; the graph stays."""
        program = POINTER()
        self.library.weft_compile(graph, Tensors(len(outputs), items(Tensor, outputs)),
                                  ctypes.byref(Policy(passes=passes)), ctypes.byref(program))
        return program


class Case:
    """A case of the file with its arrays."""

    def __init__(self, row):
        self.row, self.name, self.group = row, row["name"], row["group"]
        self.inputs = row["inputs"]
        self.wrt = [number for number, entry in enumerate(self.inputs) if entry["wrt"]]
        self.tolerance = row["tolerance"]
        text = json.dumps([row["inputs"], row["steps"]])
        self.is_complex = '"c128"' in text or '"complex"' in text
        self.kinds = [WIDE[entry["dtype"]] for entry in self.inputs]
        self.operands = [elements(entry, kind) for entry, kind in zip(self.inputs, self.kinds)]

    def tangents(self):
        return [elements(self.row["tangents"][i], self.kinds[i]) for i in self.wrt]

    def expected(self, section, dtypes):
        """The arrays that a section must give, of the dtypes."""
        kind = section.split(",")[0]
        rows = self.row[kind]
        if kind in ("vjp", "hvp"):
            rows = [rows[i] for i in self.wrt]
        return [elements(row, dtype) for row, dtype in zip(rows, dtypes)]


class Trial:
    """A case traced: `sections` maps what is computed to its tensors, `failures` to why it could not be traced."""

    def __init__(self, weft, declared, case, floats, symbolic):
        self.weft, self.case = weft, case
        self.tracer = Tracer(weft, declared, floats, symbolic)
        self.graph = self.tracer.graph
        self.operands, self.sections, self.failures = list(case.operands), {}, {}
        for number, entry in enumerate(case.inputs):
            known = KNOWN.get((case.name, entry["name"]), [])
            extents = [self.tracer.known(extent) if axis in known else self.tracer.symbol(extent)
                       for axis, extent in enumerate(entry["shape"])]
            self.tracer.values[entry["name"]] = self.tracer.input(f"x{number}", entry["dtype"], extents)
        self.inputs = [self.tracer.values[case.inputs[i]["name"]] for i in case.wrt]
        self.trace("values", self.values)
        if "values" in self.sections:
            self.trace_gradients()
        self.dtypes = {name: [NAMES[weft.tensor_dtype(tensor)] for tensor in tensors]
                       for name, tensors in self.sections.items()}

    def trace(self, name, function):
        """Traces a section, which fails alone."""
        try:
            tensors, error = function(), self.weft.error(self.graph)
        except Failure as failure:
            error = str(failure)
        if error is None:
            self.sections[name] = tensors
        else:
            self.failures[name] = error

    def values(self):
        self.tracer.run(self.case.row["steps"])
        return [self.tracer.values[name] for name in self.case.row["outputs"]]

    def beside(self, tensors, arrays):
        """Inputs of the types of `tensors`, with what they are bound to."""
        result = []
        for tensor, array in zip(tensors, arrays):
            name = f"x{len(self.operands)}".encode()
            dtype = ctypes.c_int(self.weft.tensor_dtype(tensor))
            result.append(self.weft.trace("input", self.graph, name, dtype, self.weft.tensor_shape(tensor)))
            self.operands.append(array)
        return result

    def trace_gradients(self):
        weft, wrt, count = self.weft, self.inputs, len(self.inputs)
        outputs = self.sections["values"]
        kinds = [NAMES[weft.tensor_dtype(tensor)] for tensor in outputs]
        cotangents = self.beside(outputs, [elements(row, numpy.dtype("f8" if kind in ("f2", "V2") else kind))
                                           for row, kind in zip(self.case.row["cotangents"], kinds)])
        tangents = self.beside(wrt, self.case.tangents())
        loss = self.loss(outputs, cotangents)
        self.trace("vjp", lambda: weft.several("vjp", count, outputs, cotangents, wrt))
        self.trace("vjp, each input alone",
                   lambda: [weft.several("vjp", 1, outputs, cotangents, [x])[0] for x in wrt])
        self.trace("vjp, each output alone", lambda: self.by_output(outputs, cotangents, wrt))
        self.trace("vjp, of the loss", lambda: weft.several("grad", count, loss, wrt))
        self.trace("jvp", lambda: weft.several("jvp", len(outputs), outputs, wrt, tangents))
        if "jvp" in self.sections:
            self.trace("vjp, of jvp by the tangents",
                       lambda: weft.several("vjp", count, self.sections["jvp"], cotangents, tangents))
        if "hvp" in self.case.row:
            self.trace_products(outputs, cotangents, wrt, tangents, loss)

    def by_output(self, outputs, cotangents, wrt):
        """The sum of what each output gives where the others have no cotangent."""
        total = None
        for number, cotangent in enumerate(cotangents):
            given = [Tensor()] * len(outputs)
            given[number] = cotangent
            terms = self.weft.several("vjp", len(wrt), outputs, given, wrt)
            total = terms if total is None else [self.weft.trace("add", *pair) for pair in zip(total, terms)]
        return total

    def trace_products(self, outputs, cotangents, wrt, tangents, loss):
        weft, count = self.weft, len(wrt)
        gradient, slopes = self.sections.get("vjp"), self.sections.get("jvp")
        self.trace("hvp", lambda: weft.several("hvp", count, loss, wrt, tangents))
        if gradient:
            self.trace("hvp, forward over reverse", lambda: weft.several("jvp", count, gradient, wrt, tangents))
            self.trace("hvp, reverse over reverse", lambda: weft.several("vjp", count, gradient, tangents, wrt))
        if slopes:
            self.trace("hvp, reverse over forward", lambda: weft.several("vjp", count, slopes, cotangents, wrt))

    def loss(self, outputs, cotangents):
        """The inner product of the outputs with their cotangents."""
        trace, terms = self.weft.trace, []
        for output, cotangent in zip(outputs, cotangents):
            if NAMES[self.weft.tensor_dtype(output)].startswith("c"):
                product = trace("real", trace("mul", trace("conj", cotangent), output))
            else:
                product = trace("mul", cotangent, output)
            terms.append(trace("reduce_sum", product, list(range(self.weft.tensor_rank(product))), False))
        total = terms[0]
        for term in terms[1:]:
            total = trace("add", total, term)
        return total

    # ---- runs ----

    def run(self, runtime, operands):
        """The arrays of each section, and why others have none."""
        try:
            return self.run_sections(list(self.sections), runtime, operands), self.failures
        except Failure:
            return self.run_alone(runtime, operands)

    def run_alone(self, runtime, operands):
        """The same, section by section."""
        results, failures = {}, dict(self.failures)
        for name in list(self.sections):
            try:
                results.update(self.run_sections([name], runtime, operands))
            except Failure as failure:
                failures[name] = str(failure)
        return results, failures

    def run_sections(self, names, runtime, operands):
        outputs = [tensor for name in names for tensor in self.sections[name]]
        dtypes = [dtype for name in names for dtype in self.dtypes[name]]
        program = self.weft.compile_some(self.graph, outputs, b"" if runtime == "ref" else None)
        try:
            arrays = iter(self.weft.run(program, operands, dtypes, runtime=runtime.encode(),
                                        symbols=self.tracer.symbols.items()))
        finally:
            self.weft.program_release(program)
        return {name: [next(arrays) for _ in self.sections[name]] for name in names}

    def close(self):
        self.weft.graph_destroy(self.graph)
