# SPDX-License-Identifier: Apache-2.0
"""Bits of generated code are the same at every ISA level, and unoptimised: levels.py LEVEL-PROGRAM CONFORM ARGUMENT...

Each case runs once at each level that the processor has, and on the processor as it is, which has instructions beyond
every level, with optimised code and without. Products of the library may differ where multiplications are not fused,
which is below x86-64-v3; nothing else may. Which products are the library's may depend on how long vectors are.
"""
import os
import subprocess
import sys

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
OWN = "the processor"
QUICK = "unoptimised code"
SKIPPED = 77


def has(runner, level):
    done = subprocess.run([runner, level, sys.executable, "-c", ""], stdout=subprocess.DEVNULL)
    return done.returncode != SKIPPED


def hashes(command, level, *options):
    """Of each line the title, "product" or "generated", and the hash. Several cases may have the same title."""
    runner, program, *arguments = command
    start = [] if level == OWN else [runner, level]
    result = subprocess.run([*start, program, "-b", *options, *arguments], stdout=subprocess.PIPE, text=True)
    lines = result.stdout.splitlines()
    if result.returncode != 0 or not lines:
        sys.exit(f"at {level}:\n{result.stdout}")
    return [line.rsplit(" ", 2) for line in lines[:-1]]


def main():
    command = sys.argv[1:]
    os.environ.pop("WEFT_ISA", None)
    levels = [level for level in LEVELS if has(command[0], level)]
    own = hashes(command, OWN)
    differ = 0
    for level in [*levels, QUICK]:
        lines = hashes(command, OWN, "-q") if level == QUICK else hashes(command, level)
        if [title for title, *_ in lines] != [title for title, *_ in own]:
            sys.exit(f"{level} and {OWN} have other cases")
        fused = level == QUICK or level >= "x86-64-v3"
        for (title, source, value), (*_, expected) in zip(lines, own):
            if value != expected and (fused or source != "product"):
                differ += 1
                print(f"{level} and {OWN} differ: {title}")
    library = sum(source == "product" for _, source, _ in own)
    print(f"{', '.join(levels)}, {QUICK}, {OWN}: {len(own)} results, {library} by the library for products; {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
