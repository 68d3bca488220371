# SPDX-License-Identifier: Apache-2.0
"""Composites on both runtimes against numpy, over random shapes, dtypes and options: numpy_random.py BUILD [--shard I/N]
[CASE...].

A CASE is the name of one, or NAME:NUMBER for a single trial; all by default. Every trial runs generated code and, with no
pass run over the graph, the reference. Every second one has symbols for extents.
"""
import argparse
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from binding import Failure, Weft, numpy, shard
from oracle import Draw, Tracer, differences
import conv
import elementwise
import linear
import nn
import shape
import statistic

TRIALS = 6
CASES = {**conv.CASES, **elementwise.CASES, **linear.CASES, **nn.CASES, **shape.CASES, **statistic.CASES}


def check(weft, name, number):
    """Whether that trial is right."""
    draw = Draw(f"{name}:{number}")
    with numpy.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        trial = CASES[name](draw)
    operands = [operand.data for operand in trial.operands]
    for runtime, passes in ((b"llvm", None), (b"ref", b"")):
        try:
            tracer = Tracer(weft, number % 2 == 1)
            outputs = trial.trace(tracer, *tracer.inputs(trial.operands))
            wanted = tracer.dtypes(outputs)
            program = weft.compile(tracer.graph, outputs, passes)
            results = weft.run(program, operands, wanted, runtime=runtime,
                               symbols=tracer.symbols.items())
            weft.program_release(program)
            for output, (result, expected) in enumerate(zip(results, trial.expected)):
                problem = differences(result, expected, trial.ulp, trial.scale)
                if problem:
                    raise Failure(f"output {output}: {problem}")
        except Failure as failure:
            types = ", ".join(f"{operand.dtype}{list(operand.shape)}" for operand in operands)
            print(f"{name}:{number} of {types}, {runtime.decode()}: {failure}")
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--shard", type=shard, default=slice(None))
    parser.add_argument("chosen", nargs="*")
    options = parser.parse_args()
    weft = Weft(options.build / "lib/libweft.so", ["llvm", "reference"])
    chosen = options.chosen or list(CASES)
    trials = [(name, int(number)) for name, _, number in (entry.partition(":") for entry in chosen) if number]
    trials += [(entry, number) for entry in chosen if ":" not in entry for number in range(TRIALS)]
    trials = trials[options.shard]
    failed = sum(not check(weft, name, number) for name, number in trials)
    print(f"{len(trials)} trials of {len(chosen)} cases, {failed} of them wrong")
    weft.executor_destroy(weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
