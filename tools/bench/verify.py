#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans instances and contracts those that fit, each in two orders found with the budget, whose results must agree."""

import argparse
import json
import pathlib
import subprocess
import sys

BYTES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/verify", description=__doc__)
    parser.add_argument("instances", nargs="+", help="instance files")
    parser.add_argument("--dtype", default="f32,f64,c64", help="separated by commas (default f32,f64,c64)")
    parser.add_argument("--budget", type=float, default=1, help="seconds for a plan (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of operands and plans (default 1)")
    parser.add_argument("--threads", type=int, default=1, help="(default 1)")
    parser.add_argument("--memory", type=float, default=2, help="GiB for the largest intermediate (default 2)")
    parser.add_argument("--limit", type=float, default=60,
                        help="predicted seconds of a run that is not begun; ten times as long ends one (default 60)")
    parser.add_argument("--json", help="file that gets a line for each")
    parser.add_argument("--weft", help=argparse.SUPPRESS)
    return parser.parse_args()


def call(options, path, *more):
    """The object of --stats; an error of the command is its failure."""
    words = [options.weft, "einsum", "--instance", path, "--stats", "--time-budget", str(options.budget),
             "--seed", str(options.seed), "--threads", str(options.threads), *more]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10 * options.limit)
    except subprocess.TimeoutExpired:
        return {"failure": f"beyond {10 * options.limit:g} s"}
    if done.returncode != 0:
        return {"failure": done.stderr.strip() or f"ended with {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def verify(options, path, dtype):
    row = {"instance": pathlib.Path(path).stem, "dtype": dtype} | call(options, path, "--dtype", dtype, "--plan-only")
    if "failure" in row:
        return row
    gib = 2 ** row["log2_size"] * BYTES[dtype] / 2**30
    if gib > options.memory:
        return row | {"skipped": f"an intermediate of {gib:.3g} GiB"}
    if row["predicted_ms"] > options.limit * 1e3:
        return row | {"skipped": f"predicted {row['predicted_ms'] / 1e3:.3g} s"}
    return row | call(options, path, "--dtype", dtype, "--check")


def line(row):
    cells = [row["instance"], row["dtype"]]
    cells += [f"{row[key]:.{digits}f}" if key in row else "-"
              for key, digits in (("log10_flops", 2), ("log2_size", 1), ("plan_ms", 0), ("compile_ms", 0),
                                  ("run_ms", 2))]
    done = f"agree to {row['check_difference']:.1e}" if "check_difference" in row else None
    return "| " + " | ".join([*cells, row.get("failure") or row.get("skipped") or done]) + " |"


def main():
    options = parse_arguments()
    print("| instance | dtype | log10 multiplies | log2 size | planning ms | compiling ms | running ms | two orders |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    failed = False
    for path in options.instances:
        for dtype in options.dtype.split(","):
            row = verify(options, path, dtype)
            failed |= "failure" in row
            print(line(row), flush=True)
            if options.json:
                with open(options.json, "a") as log:
                    print(json.dumps({key: value for key, value in row.items() if "order" not in key}), file=log)
    sys.exit(failed)


if __name__ == "__main__":
    main()
