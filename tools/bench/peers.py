# SPDX-License-Identifier: Apache-2.0
"""numpy and jax over the same inputs. Imported once the limits on threads are set."""

import ctypes
import os
import time
from functools import partial


# Freed blocks are kept and lie on huge pages: jax makes a new array for each result and would mostly measure page
# faults.
MEMORY = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.arena_max=1:"
    "glibc.malloc.trim_threshold=17179869184"
}


def limit_threads(threads):
    """Before either library is imported."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[name] = str(threads)
    eigen = "false" if threads == 1 else "true"
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={eigen} intra_op_parallelism_threads={threads}"
    os.environ["JAX_PLATFORMS"] = "cpu"


def arrays_of(bench):
    """numpy arrays over the memory of a Bench: inputs, then the output."""
    import numpy

    types = {"f32": (ctypes.c_float, numpy.float32), "f64": (ctypes.c_double, numpy.float64)}
    element, dtype = types[bench.case.dtype.decode()]
    arrays = []
    for number, tensor in enumerate(bench.case.tensors):
        count = 1
        for extent in tensor.shape:
            count *= extent
        memory = (element * count).from_address(bench.memory(number))
        arrays.append(numpy.frombuffer(memory, dtype=dtype).reshape(tensor.shape))
    return arrays


def numpy_chain(n, x, y):
    n.multiply(x, 1.5, out=y)
    n.add(y, 0.25, out=y)
    n.abs(y, out=y)
    n.sqrt(y, out=y)
    n.subtract(y, x, out=y)
    n.multiply(y, x, out=y)
    n.maximum(y, -0.5, out=y)
    n.minimum(y, 0.5, out=y)


def numpy_softmax(n, x, y):
    n.subtract(x, x.max(axis=1, keepdims=True), out=y)
    n.exp(y, out=y)
    n.divide(y, y.sum(axis=1, keepdims=True), out=y)


def jax_chain(n, x):
    y = n.sqrt(n.abs(x * 1.5 + 0.25)) - x
    return n.minimum(n.maximum(y * x, -0.5), 0.5)


def jax_softmax(n, x):
    e = n.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# For numpy a call to be timed, with as little as possible around it; for jax what is traced.
ADD = (lambda n, *arrays: partial(n.add, *arrays), lambda n, a, b: a + b)
MATMUL = (lambda n, *arrays: partial(n.matmul, *arrays), lambda n, a, b: a @ b)
WAYS = {
    "broadcast-add": ADD,
    "chain": (lambda n, x, y: partial(numpy_chain, n, x, y), jax_chain),
    "softmax": (lambda n, x, y: partial(numpy_softmax, n, x, y), jax_softmax),
    "row-sum": (lambda n, x, y: partial(n.sum, x, axis=1, out=y), lambda n, x: x.sum(axis=1)),
    "column-sum": (lambda n, x, y: partial(n.sum, x, axis=0, out=y), lambda n, x: x.sum(axis=0)),
    "transpose": (lambda n, x, y: partial(n.copyto, y, x.T), lambda n, x: x.T),
    "matmul": MATMUL,
    "add-4": ADD,
}


def way_of(case):
    name = case.name.decode()
    return WAYS["matmul" if name.startswith("matmul") else name]


def timed(function, repeat):
    begin = time.perf_counter_ns()
    for _ in range(repeat):
        function()
    return time.perf_counter_ns() - begin


def make_numpy(bench):
    import numpy

    return partial(timed, way_of(bench.case)[0](numpy, *arrays_of(bench))), None


def make_jax(bench):
    """What runs it, and the milliseconds it took to compile."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # else the pinned threads wait for each other
    inputs = [jax.device_put(a) for a in arrays_of(bench)[:-1]]
    function = partial(way_of(bench.case)[1], jax.numpy)
    jax.jit(lambda x: x + 1).lower(inputs[0]).compile()
    begin = time.perf_counter_ns()
    jitted = jax.jit(function)
    jitted.lower(*inputs).compile()
    spent = (time.perf_counter_ns() - begin) / 1e6
    return partial(timed, lambda: jitted(*inputs).block_until_ready()), spent


PEERS = {"numpy": make_numpy, "jax": make_jax}


def versions():
    import jax
    import numpy

    return {"numpy": numpy.__version__, "jax": jax.__version__}
