# SPDX-License-Identifier: Apache-2.0
"""Bits of generated code are the same at every ISA level: levels.py LEVEL-PROGRAM CONFORM ARGUMENT...

Each case runs once at each level that the processor has. Products of the library may differ where multiplications are
not fused, which is below x86-64-v3; nothing else may.
"""
import subprocess
import sys

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
SKIPPED = 77


def has(runner, level):
    """Whether the processor has the level."""
    return subprocess.run([runner, level, sys.executable, "-c", ""], stdout=subprocess.DEVNULL).returncode != SKIPPED


def hashes(command, level):
    """Line without hash -> hash."""
    runner, program, *arguments = command
    result = subprocess.run([runner, level, program, "-b", *arguments], stdout=subprocess.PIPE, text=True)
    lines = result.stdout.splitlines()
    if result.returncode != 0 or not lines:
        sys.exit(f"at {level}:\n{result.stdout}")
    return dict(line.rsplit(" ", 1) for line in lines[:-1])


def main():
    command = sys.argv[1:]
    levels = [level for level in LEVELS if has(command[0], level)]
    if len(levels) < 2:
        print("this processor has one level")
        return SKIPPED
    found = {level: hashes(command, level) for level in levels}
    last = max(found)
    differ = 0
    for level, lines in found.items():
        if lines.keys() != found[last].keys():
            sys.exit(f"{level} and {last} have other cases")
        fused = level >= "x86-64-v3"
        for name, value in lines.items():
            if value != found[last][name] and (fused or not name.endswith(" product")):
                differ += 1
                print(f"{level} and {last} differ: {name}")
    library = sum(name.endswith(" product") for name in found[last])
    print(f"{', '.join(found)}: {len(found[last])} results, {library} by the library for products; {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
