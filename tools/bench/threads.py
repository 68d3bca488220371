#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same contraction on one thread and on several, in turn: what the others give, with its interval. See README.md."""

import argparse
import json
import math
import pathlib
import statistics
import sys
import time

import contestants
import instance as forms
import native
import needs

BATCHES = 9


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/threads", description=__doc__)
    parser.add_argument("files", nargs="*", help="instance files or tables of expressions (default contractions.txt)")
    parser.add_argument("--cases", default="", help="groups or beginnings of expressions, separated by spaces")
    parser.add_argument("--dtype", default="f32", help="f32, f64, c64 or c128 (default f32)")
    parser.add_argument("--threads", type=int, default=2, help="of the one that has several (default 2)")
    parser.add_argument("--seconds", type=float, default=10, help="for the rounds of a case (default 10)")
    parser.add_argument("--rounds", type=int, default=11, help="least of them (default 11)")
    parser.add_argument("--most", type=float, default=2.0, help="seconds of one call, beyond which it is left out")
    parser.add_argument("--json", help="file that gets a line for each case")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(options):
    files = options.files or [pathlib.Path(__file__).with_name("contractions.txt")]
    starts = tuple(options.cases.split())
    return [case for path in files for case in forms.load_cases(path)
            if not starts or case.group in starts or case.x.name.startswith(starts)]


class Contestant:
    """A sample is the median of some batches of calls, of which what interrupts one or two says nothing."""

    def __init__(self, library, case, dtype, operands, threads):
        self.weft = contestants.Weft(library, case, dtype, operands, Limits(threads))
        repeat = contestants.repeats_of(self.weft, lambda: None)
        self.batches = min(repeat, BATCHES)
        self.repeat = repeat // self.batches

    def sample(self):
        time.sleep(contestants.CALM_S)
        self.weft.run(1)
        return statistics.median(self.weft.run(self.repeat) / self.repeat for _ in range(self.batches))


class Limits:
    memory, most, limit, plan_seconds = 4, 1e11, 10, 0

    def __init__(self, threads):
        self.threads = threads


def interval(values):
    """The median, and the order statistics between which it lies with 95 %."""
    values, half = sorted(values), 0.98 * math.sqrt(len(values))
    low = max(0, math.floor(len(values) / 2 - half) - 1)
    return statistics.median(values), values[low], values[-1 - low]


def measure(library, case, options):
    dtype = case.dtype or options.dtype
    operands = contestants.draw_operands(case.x, dtype, 1)
    both = [Contestant(library, case, dtype, operands, threads) for threads in (1, options.threads)]
    row = {"case": case.x.name, "group": case.group, "dtype": dtype, "threads": options.threads, "times_ms": [[], []]}
    if both[0].weft.least > options.most * 1e9:
        return row
    begin = time.monotonic()
    while len(row["times_ms"][0]) < options.rounds or time.monotonic() - begin < options.seconds:
        turn = len(row["times_ms"][0]) % 2
        for which in (turn, 1 - turn):
            row["times_ms"][which].append(both[which].sample() / 1e6)
    row["same"] = both[0].weft.value.tobytes() == both[1].weft.value.tobytes()
    for contestant in both:
        contestant.weft.close()
    return row


def line(row):
    one, several = row["times_ms"]
    if not one:
        return f"| `{row['case']}` {row['dtype']} | too long |"
    middle, low, high = interval([a / b for a, b in zip(one, several)])
    return (f"| `{row['case']}` {row['dtype']} | {statistics.median(one):.3g} | {statistics.median(several):.3g} | "
            f"{middle:.3f} [{low:.3f}, {high:.3f}] | {len(one)} |" + ("" if row["same"] else " results differ |"))


def main():
    options = parse_arguments()
    needs.modules("numpy")
    contestants.limit_threads(options.threads)
    library, failed = native.Library(options.library), False
    print(f"| contraction | 1 thread, ms | {options.threads} threads, ms | times as fast [95 %] | rounds |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for case in chosen(options):
        row = measure(library, case, options)
        failed |= not row.get("same", True)
        print(line(row), flush=True)
        if options.json:
            with open(options.json, "a") as log:
                print(json.dumps(row), file=log)
    sys.exit(failed)


if __name__ == "__main__":
    main()
