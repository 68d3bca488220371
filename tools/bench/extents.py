#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the programs of the suite with symbols for extents beside the same ones with known extents. See README.md."""

import argparse
import json
import os
import pathlib
import statistics
import sys

import needs

FORMS = ["known", "outermost", "any", "hot"]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/extents", description=__doc__)
    parser.add_argument("--families", default="", help="beginnings of families, separated by commas (default all)")
    parser.add_argument("--programs", default="", help="a part of the names (default all)")
    parser.add_argument("--forms", default=",".join(FORMS[1:]), help="which of outermost, any and hot")
    parser.add_argument("--rounds", type=int, default=11, help="samples of each form (default 11)")
    parser.add_argument("--bound", type=float, default=1.1, help="ratios above it are counted (default 1.1)")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--library", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.forms = options.forms.split(",")
    if any(form not in FORMS[1:] for form in options.forms):
        parser.error("--forms takes some of outermost, any and hot")
    if options.rounds < 1:
        parser.error("--rounds takes a positive number")
    return options


def make(suite, index, forms):
    """A program in each form; one that cannot be is named, and left out."""
    from native import Failure
    from suite import Ready

    made = {}
    for form in forms:
        try:
            made[form] = Ready(suite, index, 1, FORMS.index(form), made.get("known"))
        except Failure as error:
            print(f"{form}: {error}", file=sys.stderr)
    return made


def sample(forms, rounds):
    """Times of a run in ns; short ones are repeated for 2 ms."""
    repeat = max(1, int(2e6 / max(1, forms["known"].run(3) / 3)))
    times = {form: [] for form in forms}
    for _ in range(rounds):
        for form, ready in forms.items():
            ready.run(1)
            times[form].append(ready.run(repeat) / repeat)
    return times


def bits_of(ready):
    for result in ready.results:
        result.fill(0)
    ready.run(1)
    return b"".join(result.tobytes() for result in ready.results)


def measure(suite, index, options):
    forms = make(suite, index, ["known", *options.forms])
    try:
        times = sample(forms, options.rounds)
        program, known, bits = forms["known"].program, times.pop("known"), bits_of(forms["known"])
        result = {"family": program.family.decode(), "name": program.name.decode(), "known_ns": statistics.median(known),
                  "differs": [form for form in times if bits_of(forms[form]) != bits]}
        for form, values in times.items():
            result[form] = statistics.median(a / b for a, b in zip(values, known))
            result[form + " least"] = min(values) / min(known)
        return result
    finally:
        for ready in forms.values():
            ready.close()


def line_of(result, options):
    import bench

    cells = [f"{result[form]:.2f} ({result[form + ' least']:.2f})" if form in result else "-" for form in options.forms]
    differs = [" and ".join(result["differs"]) + " differ"] if result["differs"] else []
    return "| " + " | ".join([result["family"], result["name"], bench.scaled(result["known_ns"]), *cells, *differs]) + " |"


def main():
    options = parse_arguments()
    needs.modules("numpy", "ml_dtypes")
    from suite import Suite, chosen

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    suite, results = Suite(options.library), []
    indices = chosen(suite.programs(), options)
    print("| family | program | known | " + " | ".join(options.forms) + " |")
    print("|---|---|---:|" + "---:|" * len(options.forms))
    for index in indices:
        results.append(measure(suite, index, options))
        print(line_of(results[-1], options), flush=True)
    for form in options.forms:
        ratios = [result[form] for result in results if form in result]
        if ratios:
            print(f"{form}: {len(ratios)} programs, geometric mean {statistics.geometric_mean(ratios):.3f}, "
                  f"{sum(ratio > options.bound for ratio in ratios)} above {options.bound:g}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
