# SPDX-License-Identifier: Apache-2.0
"""Who contracts, in a process of its own: weft through libweft-bench, numpy, torch, jax. The driver ends the process
when a contestant takes too long, and begins again without it."""

import ctypes
import importlib
import itertools
import math
import os
import statistics
import time

import instance as forms
import native
import peers

DTYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128", "i32": "int32", "bool": "bool"}
PEERS = ("numpy", "torch", "jax")
CALM_S = 0.25  # thread pools spin for a while after their last call
SAMPLE_NS = 5_000_000  # a sample repeats short calls until it lasts about this long
CHECKED = 10**7.5  # multiplications of a part that is checked
CHECKED_WHOLE = 10**9.7  # of what has no parts
LETTERS = 52
clock = time.perf_counter_ns
LOOPED = 10**9  # elements of one operand times the other's, for which numpy's plain loop may be the best


def limit_threads(threads):
    """Before the process of the peers starts."""
    peers.limit_threads(threads)
    os.environ.update(peers.MEMORY)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


# ---- data ----


def draw_operands(x, dtype, seed):
    """Floats are positive, or nearly so, that nothing cancels, and scaled so that results are around 1, however many
    terms they sum."""
    import numpy

    draw = numpy.random.default_rng(seed)
    if dtype == "bool":
        return [draw.random(shape) < 0.1 for shape in x.shapes]
    if dtype == "i32":
        return [draw.integers(-9, 10, shape, "i4") for shape in x.shapes]
    labels = {label for labels in x.inputs for label in labels}
    log2 = [math.log2(max(size, 1)) for size in x.sizes]
    summed = sum(log2[label] for label in labels) - sum(log2[label] for label in set(x.output))
    sizes = [sum(log2[label] for label in labels) for labels in x.inputs]
    share = summed / sum(sizes) if sum(sizes) > 0 else 0
    part = "float64" if dtype in ("f64", "c128") else "float32"
    operands = []
    for shape, size in zip(x.shapes, sizes):
        values = numpy.asarray(draw.random(shape, part)) + numpy.asarray(0.5, part)
        if dtype.startswith("c"):
            values = values + 1j * (0.1 * draw.random(shape, part) - numpy.asarray(0.05, part))
        values *= 2 ** (-share * size)
        operands.append(numpy.ascontiguousarray(values, DTYPES[dtype]))
    return operands


def text_of(inputs, output):
    import opt_einsum

    terms = ["".join(map(opt_einsum.get_symbol, labels)) for labels in [*inputs, output]]
    return ",".join(terms[:-1]) + "->" + terms[-1]


class Check:
    """Parts of the result in the widest dtype of their kind, by numpy: those with the first, the last and any index
    under as many labels of the output as it takes to keep them cheap; and the sum of all."""

    def __init__(self, x, pairs, dtype, operands):
        import numpy

        self.x, self.pairs, self.operands, self.dtype = x, pairs, operands, numpy.dtype(DTYPES[dtype])
        self.wide = {"f": "f8", "c": "c16", "i": "i8", "b": "?"}[self.dtype.kind]
        draw = numpy.random.default_rng(2)
        picks = [lambda size: 0, lambda size: size - 1, lambda size: int(draw.integers(size))]
        self.parts = [part for pick in picks if (part := self.take_part(pick, draw))]
        summed = forms.Instance("", x.inputs, (), x.sizes)
        self.sum = None
        if self.wide != "?" and self.cheap(summed):
            self.sum = self.contract(x.inputs, (), operands)

    def cheap(self, x, most=CHECKED):
        return forms.cost(x, self.pairs)[0] <= math.log10(most)

    def contract(self, inputs, output, operands):
        import numpy

        path = forms.to_path(self.pairs, len(inputs)) or [(0,)]
        inputs, operands = zip(*map(self.widen, itertools.repeat([*inputs, output]), range(len(inputs)), operands))
        text = text_of(inputs, output)
        if len(self.x.sizes) > LETTERS:
            import opt_einsum

            return numpy.asarray(opt_einsum.contract(text, *operands, optimize=path))
        return numpy.asarray(numpy.einsum(text, *operands, optimize=["einsum_path", *path]))

    def widen(self, terms, number, operand):
        """Labels and values of an operand, summed over what no other term has."""
        own, others = terms[number], {label for i, term in enumerate(terms) if i != number for label in term}
        axes = tuple(i for i, label in enumerate(own) if label not in others and own.count(label) == 1)
        if not axes or self.wide == "?":
            return own, operand.astype(self.wide)
        return [label for i, label in enumerate(own) if i not in axes], operand.sum(axes, self.wide)

    def take_part(self, pick, draw):
        """(what to fix of each axis of the result, values), or None where it would be dear anyhow."""
        fixed, left = {}, list(draw.permutation(sorted(set(self.x.output))))
        part = forms.Instance("", self.x.inputs, self.x.output, self.x.sizes)
        while left and not self.cheap(part):
            label = int(left.pop())
            fixed[label] = pick(self.x.sizes[label])
            part.sizes[label] = 1
        if not self.cheap(part, CHECKED_WHOLE):
            return None
        at = [tuple(fixed.get(label, slice(None)) for label in labels) for labels in [*self.x.inputs, self.x.output]]
        keep = [[label for label in labels if label not in fixed] for labels in [*self.x.inputs, self.x.output]]
        operands = [operand[index] for operand, index in zip(self.operands, at)]
        return at[-1], self.contract(keep[:-1], keep[-1], operands)

    def error(self, result):
        """The greatest difference over the magnitude, in units of what rounding explains; None where all is dear.
        Errors of the terms that an element sums add up one by one."""
        import numpy

        if result.shape != tuple(self.x.sizes[label] for label in self.x.output):
            return math.inf
        pairs = [(result[at].astype(self.wide), values) for at, values in self.parts]
        if self.sum is not None:
            pairs.append((result.sum(dtype=self.wide), self.sum))
        if self.dtype.kind in "ib":
            return math.inf if any((a != b).any() for a, b in pairs) else 0
        terms = sum(1 + work / size for work, size in forms.steps(self.x, self.pairs) if size)
        bound = 16 * numpy.finfo(self.dtype).eps * math.sqrt(terms + 1)
        worst = [abs(a - b).max(initial=0) / (bound * max(abs(b).max(initial=0), 1e-300)) for a, b in pairs]
        return float(max(worst, key=lambda value: math.inf if math.isnan(value) else value)) if worst else None


class Excluded(Exception):
    pass


def refuse_large(x, pairs, dtype, options):
    """What is not begun: the memory for operands, result and the two largest intermediates, or its multiplications."""
    import numpy

    elements = [math.prod(shape) for shape in x.shapes] + [math.prod(x.sizes[label] for label in x.output)]
    steps = list(forms.steps(x, pairs))
    bytes_ = (sum(elements) + sum(sorted(size for _, size in steps[:-1])[-2:])) * numpy.dtype(DTYPES[dtype]).itemsize
    if bytes_ > options.memory * 2**30:
        raise Excluded(f"takes {bytes_ / 2**30:.1f} GiB")
    if (work := sum(work for work, _ in steps)) > options.most * options.limit:
        raise Excluded(f"takes 10^{math.log10(work):.1f} multiplications")


# ---- weft ----


class Weft:
    def __init__(self, library, case, dtype, operands, options):
        import numpy

        self.contraction = native.Contraction(library, case.text, dtype, case.x.shapes, options.threads,
                                              options.plan_seconds)
        self.pairs = self.contraction.pairs
        refuse_large(case.x, self.pairs, dtype, options)
        self.result = numpy.empty([case.x.sizes[label] for label in case.x.output], DTYPES[dtype])
        self.contraction.compile([array.ctypes.data for array in [*operands, self.result]])
        facts = self.contraction.facts
        self.plan_ms, self.compile_ms = facts.plan_ns / 1e6, (facts.program_ns + facts.compile_ns) / 1e6
        self.least = facts.first_ns

    def run(self, repeat):
        return self.spent(repeat)

    def spent(self, repeat, arrays=False):
        begin = clock()
        passed = self.contraction.run(repeat, arrays)
        return passed if clock is time.perf_counter_ns else clock() - begin

    @property
    def value(self):
        """Short ones may share their memory with another contestant."""
        if self.least < SAMPLE_NS:
            self.run(1)
        return self.result

    def close(self):
        self.contraction.close()


class AtOnce(Weft):
    """Arrays in, array out, on the memory of a Weft; planned and compiled at the first call."""

    plan_ms = compile_ms = None

    def __init__(self, weft):
        self.contraction, self.pairs, self.result, self.least = weft.contraction, weft.pairs, weft.result, 0

    def run(self, repeat):
        return self.spent(repeat, arrays=True)


# ---- peers: the faster of the ways that each has to contract in a given order, the result dense as weft's is ----


def ways_numpy(text, expression, path, operands):
    import numpy

    dense = numpy.ascontiguousarray
    if text:
        yield lambda: dense(numpy.einsum(text, *operands, optimize=["einsum_path", *path]))
    else:
        yield lambda: dense(expression(*operands, backend="numpy"))
    if len(operands) <= 2 and math.prod(operand.size for operand in operands) <= LOOPED:
        yield lambda: dense(numpy.einsum(text, *operands))


def ways_torch(text, expression, path, operands):
    import torch

    torch.set_num_threads(int(os.environ["NPROC"]))
    tensors = [torch.from_numpy(operand) for operand in operands]
    yield lambda: expression(*tensors, backend="torch").contiguous()
    if text and len(operands) <= 2:
        yield lambda: torch.einsum(text, *tensors).contiguous()


def ways_jax(text, expression, path, operands):
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    arrays = [jax.device_put(operand) for operand in operands]
    function = jax.jit(lambda *given: expression(*given, backend="jax"))
    yield lambda: function(*arrays).block_until_ready()
    if len(operands) <= 2:
        direct = jax.jit(lambda *given: jax.numpy.einsum(text, *given))
        yield lambda: direct(*arrays).block_until_ready()


WAYS = {"numpy": ways_numpy, "torch": ways_torch, "jax": ways_jax}


class Peer:
    """In the order `pairs`. `begin` is told of each way before its first call, and raises for one to be left out."""

    def __init__(self, name, case, pairs, plan_ms, operands, begin):
        import opt_einsum

        x, self.pairs, self.plan_ms, self.compile_ms = case.x, pairs, plan_ms, None
        path, text = forms.to_path(pairs, len(x.inputs)) or [(0,)], text_of(x.inputs, x.output)
        expression = opt_einsum.contract_expression(text, *x.shapes, optimize=path)
        self.least = failure = None
        for number, way in enumerate(WAYS[name](text if len(x.sizes) <= LETTERS else None, expression, path, operands)):
            try:
                begin(number)
                first = timed(way, 1)
                again = min(timed(way, 1), first) if first < 1e9 else first
            except Exception as error:  # of whatever kind: limits on labels, on axes, on dtypes
                failure = failure or error
                continue
            if self.least is None or again < self.least:
                self.least, self.way = again, way
                self.compile_ms = (first - again) / 1e6 if name == "jax" else None
        if self.least is None:
            raise failure

    def run(self, repeat):
        begin = clock()
        for _ in range(repeat):
            self.result = self.way()
        return clock() - begin

    @property
    def value(self):
        import numpy

        return numpy.asarray(self.result)


def timed(function, repeat):
    begin = clock()
    for _ in range(repeat):
        function()
    return clock() - begin


def find_own_order(x):
    """opt_einsum's, and the milliseconds that it took."""
    import opt_einsum

    begin = time.perf_counter()
    path, _ = opt_einsum.contract_path(text_of(x.inputs, x.output), *x.shapes, shapes=True, optimize="auto")
    return forms.from_path(path, len(x.inputs)), (time.perf_counter() - begin) * 1e3


# ---- a case ----


class Session:
    """The contestants of a case; `tell` hears who begins, `excluded` are those that may not."""

    def __init__(self, library, case, dtype, options, tell, excluded):
        self.case, self.dtype, self.options, self.tell, self.excluded = case, dtype, options, tell, excluded
        self.operands = draw_operands(case.x, dtype, 1)
        self.made, self.failures = {}, {}
        self.weft = self.attempt("weft", lambda: Weft(library, case, dtype, self.operands, options))
        if self.weft:
            self.make_others()

    def attempt(self, name, make):
        """What `make` gives becomes a contestant; None where it fails, and the table says why."""
        try:
            self.begin(name)
            self.made[name] = make()
        except Excluded as reason:
            self.failures[name] = str(reason)
        except Exception as failure:  # of whatever kind
            self.failures[name] = f"{type(failure).__name__}: {str(failure)[:200]}"
        return self.made.get(name)

    def begin(self, name):
        if name in self.excluded:
            raise Excluded(self.excluded[name])
        self.tell(name)

    def make_others(self):
        if self.case.group == "latency":
            self.attempt("weft, arrays", lambda: AtOnce(self.weft))
        for name in self.options.peers:
            self.attempt(name, lambda: self.make_peer(name, name, self.weft.pairs))
        if len(self.case.x.inputs) > 2 and self.options.peers:
            self.tell("opt_einsum")
            pairs, plan_ms = find_own_order(self.case.x)
            for name in self.options.peers:
                full = f"{name}, own order"
                self.attempt(full, lambda: self.make_peer(name, full, pairs, plan_ms))

    def make_peer(self, name, full, pairs, plan_ms=None):
        refuse_large(self.case.x, pairs, self.dtype, self.options)
        return Peer(name, self.case, pairs, plan_ms, self.operands, lambda way: self.begin(f"{full}, way {way}"))

    def sample(self):
        """Nanoseconds of a call, round by round; each begins with another contestant, as long as the time allows."""
        repeats = {name: repeats_of(who, lambda name=name: self.begin(name)) for name, who in self.made.items()}
        names, times, begin = list(self.made), {name: [] for name in self.made}, time.monotonic()
        for round_ in range(self.options.rounds):
            for name in names[round_ % len(names):] + names[:round_ % len(names)]:
                time.sleep(CALM_S if self.options.threads > 1 else 0)
                self.begin(name)
                times[name].append(self.made[name].run(repeats[name]) / repeats[name])
            if (time.monotonic() - begin) * (round_ + 2) / (round_ + 1) > self.options.seconds:
                break
        return times

    def measure(self):
        if not self.made:
            return {"failures": self.failures}
        times = self.sample()
        self.tell("the check")
        check, rows = Check(self.case.x, self.weft.pairs, self.dtype, self.operands), {}
        for name, who in self.made.items():
            flops, size = forms.cost(self.case.x, who.pairs)
            rows[name] = {"log10_flops": flops, "log2_size": size, "plan_ms": who.plan_ms, "compile_ms": who.compile_ms,
                          "times_ms": [t / 1e6 for t in times[name]], "error": check.error(who.value)}
        facts = self.weft.contraction.facts
        self.weft.close()
        return {"contestants": rows, "failures": self.failures, "predicted_ms": facts.predicted_seconds * 1e3,
                "peak_bytes": facts.peak_bytes, "steps": facts.steps}


def repeats_of(who, begin):
    repeat = 1
    while who.least < SAMPLE_NS:
        begin()
        spent = who.run(repeat)
        if spent >= SAMPLE_NS / 2:
            return max(1, round(repeat * SAMPLE_NS / spent))
        repeat *= 2 if spent > SAMPLE_NS / 20 else 10
    return 1


def serve(pipe, options):
    """Answers cases with rows, telling who begins."""
    global clock
    clock = time.process_time_ns if options.processor_time else time.perf_counter_ns
    library = native.Library(options.library)
    for name in {"opt_einsum", *options.peers}:
        importlib.import_module(name)
    while True:
        case, dtype, excluded = pipe.recv()
        session = Session(library, case, dtype, options, lambda name: pipe.send(("begins", name)), excluded)
        pipe.send(("done", session.measure()))
        del session


def bandwidth(options):
    library = native.Library(options.library)
    return library.c.weft_bench_bandwidth(options.threads, ctypes.c_size_t(1 << 28))
