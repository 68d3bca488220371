# SPDX-License-Identifier: Apache-2.0
"""numpy, jax and onnxruntime over the same inputs. Imported once the limits on threads are set."""

import ctypes
import importlib
import os
import time
from functools import partial


# Freed blocks are kept and lie on huge pages: jax makes a new array for each result and would mostly measure page
# faults.
MEMORY = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.arena_max=1:"
    "glibc.malloc.trim_threshold=17179869184"
}


def choose_core():
    """Before OpenBLAS is loaded, which does not know every virtual machine, and may have been told a slower core."""
    with open("/proc/cpuinfo", encoding="ascii") as lines:
        flags = next((line for line in lines if line.startswith("flags")), "").split()
    known = [core for flag, core in (("avx512bw", "SkylakeX"), ("avx2", "Haswell")) if flag in flags]
    os.environ.pop("OPENBLAS_L2_SIZE", None)
    if known:
        os.environ["OPENBLAS_CORETYPE"] = known[0]


def core_in_use():
    """What numpy's OpenBLAS says that it multiplies with; None for another library."""
    import numpy

    numpy.ones((2, 2)) @ numpy.ones((2, 2))
    with open("/proc/self/maps", encoding="ascii") as lines:
        paths = {line.split()[-1] for line in lines if "openblas" in line.lower()}
    for library in map(ctypes.CDLL, sorted(paths)):
        for name in "openblas_get_corename", "openblas_get_corename64_":
            for function in (getattr(library, prefix + name, None) for prefix in ("", "scipy_")):
                if function is not None:
                    function.restype = ctypes.c_char_p
                    return function().decode()
    return None


def limit_threads(threads):
    """Before either library is imported."""
    choose_core()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[name] = str(threads)
    eigen = "false" if threads == 1 else "true"
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={eigen} intra_op_parallelism_threads={threads}"
    os.environ["JAX_PLATFORMS"] = "cpu"


def arrays_of(bench):
    """numpy arrays over the memory of a Bench: inputs, then the output."""
    import numpy

    types = {"f32": (ctypes.c_float, numpy.float32), "f64": (ctypes.c_double, numpy.float64),
             "i64": (ctypes.c_int64, numpy.int64)}
    arrays = []
    for number, tensor in enumerate(bench.case.tensors):
        element, dtype = types[bench.case.dtype_of(tensor)]
        count = 1
        for extent in tensor.shape:
            count *= extent
        memory = (element * count).from_address(bench.memory(number))
        arrays.append(numpy.frombuffer(memory, dtype=dtype).reshape(tensor.shape))
    return arrays


# ---- numpy: a call to be timed, with as little as possible around it ----


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


def numpy_layer_norm(n, x, scale, bias, y):
    n.subtract(x, x.mean(axis=1, keepdims=True), out=y)
    factor = 1 / n.sqrt(n.einsum("ij,ij->i", y, y)[:, None] / x.shape[1] + 1e-5)
    n.multiply(y, factor, out=y)
    n.multiply(y, scale, out=y)
    n.add(y, bias, out=y)


def numpy_attention(n, q, k, v, y):
    scores = n.matmul(q * q.dtype.type(q.shape[-1] ** -0.5), k.swapaxes(-1, -2))
    scores -= scores.max(axis=-1, keepdims=True)
    n.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    n.matmul(scores, v, out=y)


# ---- jax: what is traced; `n` is jax.numpy ----


def jax_chain(n, x):
    y = n.sqrt(n.abs(x * 1.5 + 0.25)) - x
    return n.minimum(n.maximum(y * x, -0.5), 0.5)


def jax_softmax(n, x):
    e = n.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def jax_layer_norm(n, x, scale, bias):
    centered = x - x.mean(axis=1, keepdims=True)
    return centered / n.sqrt((centered * centered).mean(axis=1, keepdims=True) + 1e-5) * scale + bias


def jax_gelu(_, x):
    import jax

    return jax.nn.gelu(x, approximate=False)


def jax_attention(n, q, k, v):
    import jax

    scores = n.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
    return n.einsum("bhij,bhjd->bhid", jax.nn.softmax(scores, axis=-1), v)


def jax_conv(_, x, w):
    import jax

    return jax.lax.conv(x, w, (1, 1), "SAME")


# ---- onnxruntime: nodes of a model, (op, inputs, output, attributes); its inputs are a, b, ..., its result y ----

OPSET = 20
LAYER_NORM = [("LayerNormalization", "a b c", "y", {"axis": 1, "epsilon": 1e-5})]
GELU = [("Gelu", "a", "y", {})]
CONV = [("Conv", "a b", "y", {"pads": [1, 1, 1, 1]})]
EMBEDDING = [("Gather", "a b", "y", {"axis": 0})]
ATTENTION = [
    ("Constant", "", "scale", {"value_float": 64**-0.5}),
    ("Mul", "a scale", "scaled", {}),
    ("Transpose", "b", "keys", {"perm": [0, 1, 3, 2]}),
    ("MatMul", "scaled keys", "scores", {}),
    ("Softmax", "scores", "weights", {"axis": -1}),
    ("MatMul", "weights c", "y", {}),
]

# ---- the table: what each peer has for a case; None where it has nothing like it ----


def call(function):
    """numpy's way to call one function with all arrays."""
    return lambda n, *arrays: partial(getattr(n, function), *arrays)


def ready(function):
    return lambda n, *arrays: partial(function, n, *arrays)


WAYS = {
    "broadcast-add": (call("add"), lambda n, a, b: a + b, None),
    "chain": (ready(numpy_chain), jax_chain, None),
    "softmax": (ready(numpy_softmax), jax_softmax, None),
    "row-sum": (lambda n, x, y: partial(n.sum, x, axis=1, out=y), lambda n, x: x.sum(axis=1), None),
    "column-sum": (lambda n, x, y: partial(n.sum, x, axis=0, out=y), lambda n, x: x.sum(axis=0), None),
    "transpose": (lambda n, x, y: partial(n.copyto, y, x.T), lambda n, x: x.T, None),
    "matmul": (call("matmul"), lambda n, a, b: a @ b, None),
    "layer-norm": (ready(numpy_layer_norm), jax_layer_norm, LAYER_NORM),
    "gelu": (None, jax_gelu, GELU),
    "attention": (ready(numpy_attention), jax_attention, ATTENTION),
    "conv": (None, jax_conv, CONV),
    "embedding": (lambda n, t, i, y: partial(n.take, t, i, 0, y, "clip"), lambda n, t, i: t[i], EMBEDDING),
    "add-4": (call("add"), lambda n, a, b: a + b, None),
}


def way_of(case, peer):
    name = case.name.decode()
    return WAYS["matmul" if name.startswith("matmul") else name][list(PEERS).index(peer)]


def timed(function, repeat):
    begin = time.perf_counter_ns()
    for _ in range(repeat):
        function()
    return time.perf_counter_ns() - begin


def make_numpy(way, bench):
    import numpy

    return partial(timed, way(numpy, *arrays_of(bench))), None


def make_jax(way, bench):
    """What runs it, and the milliseconds it took to compile."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # else the pinned threads wait for each other
    inputs = [jax.device_put(a) for a in arrays_of(bench)[:-1]]
    function = partial(way, jax.numpy)
    jax.jit(lambda x: x + 1).lower(inputs[0]).compile()
    begin = time.perf_counter_ns()
    jitted = jax.jit(function)
    jitted.lower(*inputs).compile()
    spent = (time.perf_counter_ns() - begin) / 1e6
    return partial(timed, lambda: jitted(*inputs).block_until_ready()), spent


def model_of(nodes, arrays):
    import onnx
    from onnx import helper

    names = list("abcdef"[: len(arrays) - 1]) + ["y"]
    values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in zip(names, arrays)]
    made = [helper.make_node(op, inputs.split(), [output], **attributes) for op, inputs, output, attributes in nodes]
    graph = helper.make_graph(made, "case", values[:-1], values[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def make_onnxruntime(way, bench):
    """The same; all arrays are bound where they are."""
    import onnxruntime

    arrays, options = arrays_of(bench), onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["NPROC"])
    options.inter_op_num_threads = 1
    model = model_of(way, arrays)
    begin = time.perf_counter_ns()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    spent = (time.perf_counter_ns() - begin) / 1e6
    binding = session.io_binding()
    for value, array in zip(session.get_inputs(), arrays):
        binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    binding.bind_output("y", "cpu", 0, arrays[-1].dtype, arrays[-1].shape, bench.memory(len(arrays) - 1))
    return partial(timed, partial(session.run_with_iobinding, binding)), spent


PEERS = {"numpy": make_numpy, "jax": make_jax, "onnxruntime": make_onnxruntime}


def contestants(bench):
    """(name, what runs it, milliseconds it took to compile or None) of all that have a way for the case."""
    for name, make in PEERS.items():
        way = way_of(bench.case, name)
        if way is not None:
            yield name, *make(way, bench)


def versions(names):
    """Of modules; numpy's with the core that its OpenBLAS has chosen."""
    found = {name: importlib.import_module(name).__version__ for name in names}
    core = core_in_use() if "numpy" in found else None
    if core is not None:
        found["numpy"] += f" (OpenBLAS for {core})"
    return found
