# SPDX-License-Identifier: Apache-2.0
"""Gradients of random programs against differences: programs.py WEFT RANDOM [--seed S] [--count N] [-v] [SEED...].

Programs are those of test/random, in f64; `weft check-gradients` compares them, to the second order. What it cannot
compare, as a program without a float input or one whose drawn indices are out of range, is counted.
"""
import argparse
import math
import re
import subprocess
import sys

MOST = 2000  # elements of a tensor: the reference runs each program hundreds of times
OK, FAILED, MISUSED = 0, 1, 2


def count_elements(shape):
    """Of "[n, 3]"; a symbol is 4, as it is in the check."""
    return math.prod(int(extent) if extent.isdigit() else 4 for extent in re.findall(r"\w+", shape))


def is_small(text):
    return all(count_elements(shape) <= MOST for shape in re.findall(r"[a-z]\w* ?(\[[^\]]*\])", text))


def check(options, seed):
    """What came of that program: "right", "wrong", or why it was not compared."""
    text = subprocess.run([options.random, "--seed", str(seed), "--print"], capture_output=True, text=True,
                          check=False).stdout
    if not text.startswith("weft"):
        return "no program"
    if not is_small(text):
        return "too large"
    if re.search(r"= (bitcast|stop_gradient)\(", text):
        return "without a slope by convention"
    try:
        done = subprocess.run([options.weft, "check-gradients", "-", "--order", "2", "--points", "1", "--seed", str(seed)],
                              input=text, capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return "too slow"
    if options.verbose:
        print(f"{seed}: {done.stdout}{done.stderr}", end="")
    if done.returncode == OK:
        return "right" if "jvp" in done.stdout else "nowhere smooth"
    if "has no derivative" in done.stderr:  # rules.c knows which ops have none
        return "without a rule"
    if done.returncode == MISUSED and "has no gradient" in done.stderr:
        return "no floats"
    unfit = re.search("out of range|must equal|must be at most|is outside", done.stderr)
    if done.returncode in (FAILED, MISUSED) and unfit:
        return "drawn data do not fit"
    wrong = re.findall("wrong: .*", done.stdout)
    if wrong and all("nan" in line for line in wrong) and re.search("(is|are) wrong", done.stderr):
        return "NaN beside a branch not taken"
    print(f"{seed}: {done.stdout}{done.stderr}", end="")
    return "wrong"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weft")
    parser.add_argument("random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("seeds", type=int, nargs="*")
    options = parser.parse_args()
    seeds = options.seeds or range(options.seed, options.seed + options.count)
    found = [check(options, seed) for seed in seeds]
    for kind in sorted(set(found)):
        print(f"{found.count(kind)} {kind}")
    few = not options.seeds and found.count("right") < len(found) / 6
    sys.exit("wrong" in found or few)


if __name__ == "__main__":
    main()
