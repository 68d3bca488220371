# SPDX-License-Identifier: Apache-2.0
"""The C half (bench.h, contraction.h) through ctypes."""

import ctypes
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_double, c_int64, c_size_t, c_uint, c_uint64, c_void_p

INPUTS, RANK, FLOORS = 3, 4, 2


class Tensor(Structure):
    _fields_ = [("rank", c_size_t), ("extents", c_int64 * RANK), ("reach", c_double), ("below", c_int64)]

    @property
    def shape(self):
        return tuple(self.extents[: self.rank])


class Case(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("bound", c_char_p),
        ("dtype", c_char_p),
        ("input_count", c_size_t),
        ("inputs", Tensor * INPUTS),
        ("output", Tensor),
        ("bytes", c_double),
        ("flops", c_double),
        ("tolerance", c_double),
        ("trace", c_void_p),
        ("scratch", c_size_t),
        ("prepare", c_void_p),
        ("floors", c_void_p * FLOORS),
        ("rows", c_int64),
        ("chunks", c_uint),
    ]

    def dtype_of(self, tensor):
        return "i64" if tensor.below else self.dtype.decode()

    @property
    def tensors(self):
        return [self.inputs[i] for i in range(self.input_count)] + [self.output]


class Facts(Structure):
    _fields_ = [
        ("program_ns", c_int64),
        ("compile_ns", c_int64),
        ("peak_bytes", c_uint64),
        ("steps", c_uint64),
        ("error", c_double),
    ]


class Ints(Structure):
    _fields_ = [("count", c_size_t), ("items", POINTER(c_int64))]

    @classmethod
    def of(cls, values):
        return cls(len(values), (c_int64 * len(values))(*values))


class ContractionOptions(Structure):
    _fields_ = [
        ("text", c_char_p),
        ("dtype", c_char_p),
        ("operand_count", c_size_t),
        ("shapes", POINTER(Ints)),
        ("threads", c_uint),
        ("time_budget", c_double),
    ]


class ContractionFacts(Structure):
    _fields_ = [
        ("plan_ns", c_int64),
        ("program_ns", c_int64),
        ("compile_ns", c_int64),
        ("first_ns", c_int64),
        ("peak_bytes", c_uint64),
        ("steps", c_uint64),
        ("predicted_seconds", c_double),
    ]


class Failure(Exception):
    pass


class Library:
    def __init__(self, path):
        self.c = c = ctypes.CDLL(path)
        for name, result, arguments in (
            ("weft_status_message", c_char_p, [c_void_p]),
            ("weft_status_destroy", None, [c_void_p]),
            ("weft_bench_case_count", c_size_t, []),
            ("weft_bench_case_at", POINTER(Case), [c_size_t]),
            ("weft_bench_create", c_void_p, [c_size_t, c_uint, POINTER(c_void_p)]),
            ("weft_bench_destroy", None, [c_void_p]),
            ("weft_bench_facts_of", POINTER(Facts), [c_void_p]),
            ("weft_bench_memory", c_void_p, [c_void_p, c_size_t]),
            ("weft_bench_run_floor", c_int64, [c_void_p, c_int64]),
            ("weft_bench_run", c_void_p, [c_void_p, c_int64, POINTER(c_int64)]),
            ("weft_bench_contraction_create", c_void_p, [POINTER(ContractionOptions), POINTER(c_void_p)]),
            ("weft_bench_contraction_compile", c_void_p, [c_void_p, POINTER(c_void_p)]),
            ("weft_bench_contraction_destroy", None, [c_void_p]),
            ("weft_bench_contraction_facts_of", POINTER(ContractionFacts), [c_void_p]),
            ("weft_bench_contraction_order", Ints, [c_void_p]),
            ("weft_bench_contraction_run", c_void_p, [c_void_p, c_bool, c_int64, POINTER(c_int64)]),
            ("weft_bench_bandwidth", c_double, [c_uint, c_size_t]),
        ):
            function = getattr(c, name)
            function.restype, function.argtypes = result, arguments

    def try_(self, status):
        if status:
            message = self.c.weft_status_message(status).decode()
            self.c.weft_status_destroy(status)
            raise Failure(message)

    def cases(self):
        return [self.c.weft_bench_case_at(i).contents for i in range(self.c.weft_bench_case_count())]


class Bench:
    """One case made ready; floor() and weft() give the nanoseconds of `repeat` passes."""

    def __init__(self, library, index, threads):
        self.library, self.handle = library, c_void_p()
        library.try_(library.c.weft_bench_create(index, threads, byref(self.handle)))
        self.case = library.c.weft_bench_case_at(index).contents
        self.facts = library.c.weft_bench_facts_of(self.handle).contents

    def close(self):
        self.library.c.weft_bench_destroy(self.handle)

    def memory(self, number):
        return self.library.c.weft_bench_memory(self.handle, number)

    def floor(self, repeat):
        return self.library.c.weft_bench_run_floor(self.handle, repeat)

    def weft(self, repeat):
        spent = c_int64()
        self.library.try_(self.library.c.weft_bench_run(self.handle, repeat, byref(spent)))
        return spent.value


class Contraction:
    """An einsum that is planned, and after compile() can be run."""

    def __init__(self, library, text, dtype, shapes, threads, time_budget):
        self.library, self.handle = library, c_void_p()
        self.options = ContractionOptions(text.encode(), dtype.encode(), len(shapes),
                                          (Ints * len(shapes))(*map(Ints.of, shapes)), threads, time_budget)
        library.try_(library.c.weft_bench_contraction_create(byref(self.options), byref(self.handle)))
        order = library.c.weft_bench_contraction_order(self.handle)
        self.pairs = [(order.items[i], order.items[i + 1]) for i in range(0, order.count, 2)]

    def compile(self, addresses):
        memory = (c_void_p * len(addresses))(*addresses)
        self.library.try_(self.library.c.weft_bench_contraction_compile(self.handle, memory))

    @property
    def facts(self):
        return self.library.c.weft_bench_contraction_facts_of(self.handle).contents

    def run(self, repeat, arrays=False):
        """Nanoseconds of `repeat` calls."""
        spent = c_int64()
        self.library.try_(self.library.c.weft_bench_contraction_run(self.handle, arrays, repeat, byref(spent)))
        return spent.value

    def close(self):
        self.library.c.weft_bench_contraction_destroy(self.handle)
