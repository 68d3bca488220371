# SPDX-License-Identifier: Apache-2.0
"""The cases of gradients.json and more.json.

usage: gradients.py BUILD [--group G] [--case NAME] [--mode MODE] [--shard I/N] [-v]

Each is traced and run in f64 and f32, with numbers and with symbols for extents, on generated code and, with no pass
run over the graph, on the reference; in f16 and bf16 on the reference alone. Code is optimised in f64 with numbers, and
in the other modes not, which takes most of the time otherwise. Compared are the values, vjp, jvp, the
gradient of a loss, and the product of its Hessian with the tangents, each in several ways (trial.py). Except in f64 the
expected numbers are those of f64 at the same inputs; f16 and bf16 have cases of their own (sized.py), on both. What
fails is printed with -v, and counted by group without.
"""
import argparse
import collections
import itertools
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
from binding import Failure, shard
from compare import difference, narrow, narrow_tolerance, widened
from declared import Declared
from trial import Case, Library, Trial
import sized
import training


WIDE, HALVES = ["f64", "f32"], ["f16", "bf16"]


class Mode:
    """One way to run a case."""

    def __init__(self, floats, symbolic):
        self.floats, self.symbolic = floats, symbolic
        self.words = [floats, "symbols" if symbolic else "numbers"]


class Runner:
    def __init__(self, build, wanted, verbose):
        self.library, self.quick, self.verbose = Library(build), Library(build, quick=True), verbose
        root = FOLDER.parent.parent
        self.declared = Declared([*sorted((root / "include/weft").glob("*.h")),
                                  root / "extensions/einsum/include/weft/einsum.h"])
        modes = [Mode(*both) for both in itertools.product(WIDE, (False, True))] + [Mode(name, False) for name in HALVES]
        self.modes = [mode for mode in modes if wanted <= {*mode.words, "ref", "llvm"}]
        self.runtimes = [runtime for runtime in ("ref", "llvm") if not wanted & {"ref", "llvm"} - {runtime}]
        self.failed = collections.defaultdict(set)

    def trial(self, case, floats, symbolic):
        is_optimised = floats == "f64" and not symbolic
        return Trial(self.library if is_optimised else self.quick, self.declared, case, floats, symbolic)

    def run(self, case):
        for mode in self.modes:
            if mode.floats not in HALVES:
                self.run_mode(case, mode, self.runtimes)
            elif not case.is_complex:
                self.run_mode(case, mode, [runtime for runtime in self.runtimes if runtime == "ref"])

    def run_halves(self, case):
        for mode in self.modes:
            if mode.floats in HALVES:
                self.run_mode(case, mode, self.runtimes)

    def run_mode(self, case, mode, runtimes):
        trial = self.trial(case, mode.floats, mode.symbolic)
        is_narrow = mode.floats != "f64"
        operands = [narrow(array, mode.floats) for array in trial.operands]
        expected = self.wide_results(case, operands, mode.symbolic) if is_narrow else {}
        tolerance = narrow_tolerance(case.tolerance, mode.floats)
        for runtime in runtimes:
            results, failures = trial.run(runtime, operands)
            title = ", ".join([runtime, *mode.words])
            for section, failure in failures.items():
                self.fail(case.group, case.name, f"{title}: {section}: {failure}")
            for section, arrays in results.items():
                right = expected[section] if is_narrow else case.expected(section, trial.dtypes[section])
                right = [widened(narrow(array, mode.floats)) for array in right]
                self.compare(case, f"{title}: {section}", map(widened, arrays), right, tolerance)
        trial.close()

    def wide_results(self, case, operands, symbolic):
        """What f64 gives on the reference at inputs that the narrow dtype can hold."""
        trial = self.trial(case, "f64", symbolic)
        results, _ = trial.run("ref", [widened(array).astype(exact.dtype)
                                       for array, exact in zip(operands, trial.operands)])
        trial.close()
        return results

    def compare(self, case, title, arrays, expected, tolerance):
        for number, (array, right) in enumerate(zip(arrays, expected)):
            problem = difference(array, right, tolerance)
            if problem:
                self.fail(case.group, case.name, f"{title} {number}: {problem}")

    def train(self, row):
        for runtime in self.runtimes:
            for symbolic in (False, True):
                try:
                    found = training.problems(self.library, row, runtime, symbolic)
                except Failure as failure:
                    found = [str(failure)]
                for problem in found:
                    self.fail("training", row["name"], f"{runtime}: {problem}")

    def fail(self, group, name, text):
        self.failed[group].add(name)
        if self.verbose:
            print(f"{group}/{name}: {text}")


def chosen(rows, group, options):
    return [row for row in rows if (not options.group or row.get("group", group) in options.group) and
            (not options.case or row["name"] in options.case)][options.shard]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--group", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--mode", help="of ref or llvm, f64, f32, f16 or bf16, numbers or symbols: those wanted, with commas")
    parser.add_argument("--shard", type=shard, default=slice(None))
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    content, more = (json.loads((FOLDER / name).read_text()) for name in ("gradients.json", "more.json"))
    cases = chosen(content["cases"] + more["cases"], None, options)
    large = chosen(sized.rows(), "sized", options)
    runs = chosen(content["training"], "training", options)
    runner = Runner(options.build, set(options.mode.split(",")) if options.mode else set(), options.verbose)
    for row in cases:
        runner.run(Case(row))
    for row in large:
        runner.run_halves(Case(row))
    for row in runs:
        runner.train(row)
    for group, names in sorted(runner.failed.items()):
        print(f"{group}: {len(names)} wrong: {', '.join(sorted(names))}")
    print(f"{len(cases) + len(large)} cases and {len(runs)} training runs, {sum(map(len, runner.failed.values()))} of them wrong")
    for library in (runner.library, runner.quick):
        library.executor_destroy(library.executor)
    sys.exit(bool(runner.failed))


if __name__ == "__main__":
    main()
