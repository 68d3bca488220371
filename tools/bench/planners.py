# SPDX-License-Identifier: Apache-2.0
"""Who plans: weft through its command, cotengra, opt_einsum. Each takes an instance, a budget in seconds and a seed and
gives an order (pairs of values) and the seconds it took."""

import importlib
import json
import os
import subprocess
import time
import types

import instance as forms

MANY = 10**9  # trials: time ends them


class Clock:
    """What budgets are measured by: the time that passes, or what the process takes from its processor."""

    def __init__(self, processor):
        self.read = time.process_time if processor else time.monotonic
        self.processor = processor

    def bind(self, module):
        """Makes `module`, which asks time.time(), go by this clock."""
        if self.processor:
            module.time = types.SimpleNamespace(time=time.process_time, sleep=time.sleep)


def symbols(x):
    """Inputs, output and sizes as the libraries take them."""
    name = [chr(192 + label) for label in range(len(x.sizes))]
    return ([[name[label] for label in labels] for labels in x.inputs], [name[label] for label in x.output],
            dict(zip(name, x.sizes)))


# ---- weft ----


class Weft:
    """With a share of the budget, or so many moves instead; one move leaves a single greedy order where no exact method
    applies."""

    def __init__(self, options, share=1, moves=None):
        self.command, self.threads, self.more = options.weft, options.threads, options.weft_option
        self.share, self.moves = share, moves

    def __call__(self, path, x, budget, seed):
        effort = ["--moves", str(self.moves)] if self.moves else ["--time-budget", str(budget * self.share)]
        done = subprocess.run(
            [self.command, "einsum", "--instance", path, "--plan-only", "--print-order", "ssa", "--stats",
             "--objective", "flops", *effort, "--seed", str(seed), "--threads", str(self.threads), *self.more],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        order, stats = done.stdout.splitlines()[-2:]
        return [tuple(pair) for pair in json.loads(order)], json.loads(stats)["plan_ms"] / 1e3


# ---- cotengra ----


class Hyper:
    """Its search over the parameters of several methods, each trial refined by `more`."""

    def __init__(self, clock, methods, optlib, **more):
        import cotengra

        self.optimizer, self.clock, self.optlib, self.more = cotengra.HyperOptimizer, clock, optlib, more
        known = cotengra.list_hyper_functions()
        self.methods = [method for method in methods if method in known]
        clock.bind(importlib.import_module("cotengra.hyperoptimizers.hyper"))

    def __call__(self, path, x, budget, seed):
        begin = self.clock.read()
        seeded = {"optlib_opts": {"sampler_opts": {"seed": seed}}} if self.optlib == "optuna" else {"seed": seed}
        optimizer = self.optimizer(methods=self.methods, max_repeats=MANY, max_time=budget, parallel=False,
                                   optlib=self.optlib, on_trial_error="ignore", **seeded, **self.more)
        tree = optimizer.search(*symbols(x))
        return forms.from_ssa(tree.get_ssa_path(), len(x.inputs)), self.clock.read() - begin


class RandomGreedy:
    """cotengra's greedy trials, in batches that double until half of the time is spent."""

    def __init__(self, clock):
        import cotengra

        self.optimizer, self.clock = cotengra.RandomGreedyOptimizer, clock

    def __call__(self, path, x, budget, seed):
        begin, batch = self.clock.read(), 1
        optimizer = self.optimizer(max_repeats=batch, seed=seed, parallel=False)
        ssa = optimizer.ssa_path(*symbols(x))
        while (spent := self.clock.read() - begin) < budget / 2:
            batch = max(1, min(2 * batch, int(batch * (budget - spent) / spent)))
            optimizer.max_repeats = batch
            ssa = optimizer.ssa_path(*symbols(x))
        return forms.from_ssa(ssa, len(x.inputs)), self.clock.read() - begin


# ---- opt_einsum ----


class OptEinsum:
    def __init__(self, clock, method):
        import opt_einsum

        self.library, self.clock, self.method = opt_einsum, clock, method
        clock.bind(importlib.import_module("opt_einsum.path_random"))

    def __call__(self, path, x, budget, seed):
        import random

        random.seed(seed)
        inputs, output, sizes = symbols(x)
        method, begin = self.method, self.clock.read()
        if method == "random-greedy":
            find = self.library.RandomGreedy(max_repeats=MANY, max_time=budget, minimize="flops")
        else:
            find = self.library.paths.get_path_fn(method)
        found = find([frozenset(labels) for labels in inputs], frozenset(output), sizes)
        return forms.from_path(found, len(inputs)), self.clock.read() - begin


# ---- all ----

METHODS = ("greedy", "kahypar")
MAKERS = {
    "weft": lambda options, clock: Weft(options),
    "weft-tenth": lambda options, clock: Weft(options, share=0.1),
    "weft-greedy": lambda options, clock: Weft(options, moves=1),
    "cotengra": lambda options, clock: Hyper(clock, METHODS, "optuna", reconf_opts={}),
    "cotengra-cmaes": lambda options, clock: Hyper(clock, METHODS, "cmaes", reconf_opts={}),
    "cotengra-anneal": lambda options, clock: Hyper(clock, METHODS, "cmaes", simulated_annealing_opts={},
                                                    reconf_opts={}),
    "cotengra-greedy": lambda options, clock: RandomGreedy(clock),
    **{"opt_einsum-" + method: lambda options, clock, method=method: OptEinsum(clock, method)
       for method in ("greedy", "random-greedy", "optimal", "dp", "auto-hq")},
}


def limit_threads():
    """Before any of the libraries is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
