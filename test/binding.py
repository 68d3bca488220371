# SPDX-License-Identifier: Apache-2.0
"""The C interface from Python, for tests with numpy as the oracle: Weft(libraries) and what it takes and gives.

Functions are called by their names without the prefix. In traced calls Python values stand for C ones: int and bool for
numbers, float for double, a list for a list of tensors, extents or ints, None for no options.
"""
import ctypes
import sys

try:
    import numpy
except ImportError:
    print("numpy is not installed: nothing to compare with")
    sys.exit(77)

POINTER, SIZE, TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p


def shard(text):
    """I/N as the slice that takes every Nth item, from the Ith on."""
    first, step = map(int, text.split("/"))
    return slice(first, None, step)


def structure(name, /, **fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


def items(kind, values):
    return (kind * len(values))(*values)


Extent = structure("weft_extent", graph=POINTER, value=ctypes.c_int64)
Tensor = structure("weft_tensor", graph=POINTER, node=ctypes.c_uint32, output=ctypes.c_uint32)
Shape = structure("weft_shape", rank=SIZE, extents=ctypes.POINTER(Extent))
Tensors = structure("weft_tensors", count=SIZE, items=ctypes.POINTER(Tensor))
Ints = structure("weft_ints", count=SIZE, items=POINTER)
Binding = structure("weft_binding", name=TEXT, value=ctypes.c_int64)
Policy = structure("weft_policy", size=SIZE, keep_symbolic_extensions=ctypes.c_bool, passes=TEXT,
                   products=ctypes.c_int, functions=ctypes.c_int)
ExecutorOptions = structure("weft_executor_options", allocator=POINTER, threads=ctypes.c_uint, variant_capacity=SIZE,
                            kernel_capacity=SIZE, buffer_capacity=SIZE, machine=POINTER, schedules=POINTER, code=ctypes.c_int,
                            specialize_after=ctypes.c_uint32, specialized_capacity=SIZE, specialized_bytes=SIZE,
                            cache_directory=TEXT, cache_bytes=ctypes.c_uint64)
Run = structure("weft_run", runtime=TEXT, input_count=SIZE, inputs=POINTER, output_count=SIZE, outputs=POINTER,
                extent_count=SIZE, extents=POINTER, donated=POINTER, cancelled=POINTER, specialize=ctypes.c_bool, wait_count=ctypes.c_uint32,
                report=POINTER, profile=POINTER, memory_limit=SIZE, named_input_count=SIZE,
                named_inputs=POINTER, named_output_count=SIZE, named_outputs=POINTER, queue=POINTER, waits=POINTER,
                signal=POINTER)

RESULTS = {
    "weft_symbol": Extent, "weft_extent_of": Extent, "weft_extent_add": Extent, "weft_extent_sub": Extent,
    "weft_tensor_extent": Extent, "weft_runtime_llvm": POINTER, "weft_runtime_reference": POINTER,
    "weft_status_message": TEXT, "weft_graph_error": POINTER, "weft_program_input_count": SIZE,
    "weft_program_input_name": TEXT, "weft_program_text": TEXT, "weft_array_rank": SIZE,
    "weft_array_shape": ctypes.POINTER(ctypes.c_int64), "weft_tensor_is_valid": ctypes.c_bool,
    "weft_dtype_find": ctypes.c_bool,
}
STATUSES = ["weft_graph_create", "weft_graph_parse", "weft_compile", "weft_executor_create", "weft_executor_register_runtime",
            "weft_executor_register_extension", "weft_executor_run", "weft_array_wrap", "weft_array_copy"]


class Failure(Exception):
    pass


def ints(values):
    return Ints(len(values), ctypes.cast(items(ctypes.c_int64, values), POINTER))


def argument(value):
    """A Python value as what a C function takes."""
    if isinstance(value, bool):
        return ctypes.c_bool(value)
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    if isinstance(value, (list, tuple)):
        if value and isinstance(value[0], Tensor):
            return Tensors(len(value), items(Tensor, value))
        if value and isinstance(value[0], Extent):
            return Shape(len(value), items(Extent, value))
        return ints(value)
    return value


class Weft:
    """An executor with the runtimes and extensions named, and the C functions without their prefix; a status becomes a
    Failure."""

    def __init__(self, library, runtimes, extensions=(), threads=1, code=0):
        self.library = ctypes.CDLL(str(library))
        for name, result in RESULTS.items():
            getattr(self.library, name).restype = result
        for name in STATUSES:
            function = getattr(self.library, name)
            function.restype, function.errcheck = POINTER, self.check
        self.executor = POINTER()
        self.executor_create(ctypes.byref(ExecutorOptions(threads=threads, code=code)), ctypes.byref(self.executor))
        for name in runtimes:
            self.executor_register_runtime(self.executor, POINTER(getattr(self, "runtime_" + name)()))
        for name in extensions:
            function = getattr(self, name + "_extension")
            function.restype = POINTER
            self.executor_register_extension(self.executor, POINTER(function()))

    def __getattr__(self, name):
        return getattr(self.library, "weft_" + name)

    def check(self, status, _function, _arguments):
        if status is not None:
            message = self.status_message(POINTER(status)).decode()
            self.status_destroy(POINTER(status))
            raise Failure(message)

    def trace(self, name, *arguments):
        """The tensor that a tracing function gives."""
        function = getattr(self.library, "weft_" + name)
        function.restype = Tensor
        return function(*map(argument, arguments))

    def create_graph(self):
        graph = POINTER()
        self.graph_create(None, ctypes.byref(graph))
        return graph

    def shape(self, graph, extents):
        """Extents are numbers or the names of symbols."""
        values = [self.extent_of(ctypes.c_int64(extent)) if isinstance(extent, int) else
                  self.symbol(graph, extent.encode(), ctypes.c_int64(0), ctypes.c_int64(1 << 20)) for extent in extents]
        return Shape(len(values), items(Extent, values))

    def input(self, graph, name, dtype, shape):
        return self.trace("input", graph, name.encode(), self.dtype(dtype), self.shape(graph, shape))

    def compile(self, graph, outputs, passes=None):
        """A program; frees the graph."""
        program, policy = POINTER(), Policy(passes=passes)
        try:
            tensors = Tensors(len(outputs), items(Tensor, outputs))
            self.library.weft_compile(graph, tensors, ctypes.byref(policy), ctypes.byref(program))
        finally:
            self.graph_destroy(graph)
        return program

    def dtype(self, dtype):
        found = ctypes.c_int()
        kind = numpy.dtype(dtype)
        name = {"?": "bool", "V": "bf16"}.get(kind.char, f"{kind.kind}{8 * kind.itemsize}")
        if not self.dtype_find(name.encode(), ctypes.byref(found)):
            raise Failure(f"weft has no dtype {name}")
        return found

    def wrap(self, view):
        """A weft_array over the elements of `view` where they are."""
        strides = [stride // view.itemsize for stride in view.strides]
        array = POINTER()
        self.array_wrap(None, self.dtype(view.dtype), SIZE(view.ndim), items(ctypes.c_int64, view.shape),
                        items(ctypes.c_int64, strides), POINTER(view.ctypes.data), None, None, ctypes.byref(array))
        return array

    def read(self, array, dtype):
        """A copy of the elements of a weft_array."""
        result = numpy.empty(self.array_shape(array)[:self.array_rank(array)], dtype)
        view = self.wrap(result)
        self.array_copy(view, array)
        self.array_release(view)
        return result

    def run(self, program, operands, dtypes, results=None, runtime=None, symbols=()):
        """Runs `program`, whose input xi is operands[i]; the results are copies, or lie in the views `results`. Values of
        symbols that no input binds are pairs in `symbols`."""
        arrays = [self.wrap(operand) for operand in operands]
        names = [self.program_input_name(program, SIZE(i)) for i in range(self.program_input_count(program))]
        inputs = items(POINTER, [arrays[int(name[1:])] for name in names])
        outputs = items(POINTER, [None] * len(dtypes) if results is None else [self.wrap(view) for view in results])
        values = items(Binding, [Binding(name.encode(), value) for name, value in symbols])
        call = Run(runtime=runtime, extent_count=len(values), extents=ctypes.cast(values, POINTER), input_count=len(names), inputs=ctypes.cast(inputs, POINTER),
                   output_count=len(dtypes), outputs=ctypes.cast(outputs, POINTER))
        try:
            self.executor_run(self.executor, program, ctypes.byref(call))
            if results is None:
                results = [self.read(POINTER(output), dtype) for output, dtype in zip(outputs, dtypes)]
            return results
        finally:
            for array in [*arrays, *map(POINTER, outputs)]:
                self.array_release(array)


class Layout:
    """Axes in any order, backwards, with gaps, or with one element repeated."""

    def __init__(self, draw, rank, repeated=0.0):
        self.order = draw.sample(range(rank), rank)
        self.steps = [draw.choice([1, 1, 1, -1, 2, -3]) for _ in range(rank)]
        self.single = [draw.random() < repeated for _ in range(rank)]

    def view(self, shape, create):
        """A view of what `create` gives for a shape."""
        base = [0] * len(shape)
        for axis, place in enumerate(self.order):
            base[place] = 1 if self.single[axis] else shape[axis] * abs(self.steps[axis])
        steps = [slice(None, None, step) for step in self.steps]
        view = create(base).transpose(self.order)[(..., *steps)]
        return numpy.broadcast_to(view, shape) if any(self.single) else view
