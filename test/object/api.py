#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has the command compile a few graphs, and a C program that uses their headers.

usage: api.py [--target TARGET] [--under COMMAND] WEFT CC LIBRARY INCLUDE API.c [FLAG...]

The program is for TARGET, and run as an argument of COMMAND.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

LAYER = """weft 0.1
symbol n in [1, 4096]
graph {
  %x = input() {name = "x", dtype = f32, shape = [n, 5]}
  %w = constant() {dtype = f32, shape = [5, 2], data = [0, -1, 1, 0, 2, 1, 3, 2, 4, 3]}
  %0 = dot(%x, %w) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %z = constant() {dtype = f32, shape = [], data = [0]}
  %1 = broadcast(%z) {shape = [n, 2], axes = []}
  %y = max(%0, %1)
  return y = %y
}
"""
CACHE = """weft 0.1
graph {
  %c = input() {name = "cache", dtype = f32, shape = [4, 3]}
  %r = input() {name = "row", dtype = f32, shape = [1, 3]}
  %a = input() {name = "at", dtype = i64, shape = []}
  %0 = dynamic_update_slice(%c, %r, %a) {axes = [0]}
  return out = %0
}
"""
# A step of training: the velocity of w, and w.
MOVED = """weft 0.1
graph {
  %w = input() {name = "w", dtype = f32, shape = [40, 30]}
  %v = input() {name = "v", dtype = f32, shape = [40, 30]}
  %x = input() {name = "x", dtype = f32, shape = [30, 40]}
  %0 = dot(%w, %x) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %1 = dot(%0, %x) {batch_a = [], batch_b = [], contract_a = [0], contract_b = [1]}
  %2 = add(%v, %1)
  %3 = sub(%w, %2)
  return moved = %3, velocity = %2
}
"""
SIZED = """weft 0.1
symbol n in [1, 100]
symbol m in [1, 100]
graph {
  %x = input() {name = "x", dtype = f64, shape = [n, m]}
  %0 = reduce_sum(%x) {axes = [1]}
  return y = %0
}
"""
MANY = """weft 0.1
symbol n in [1, 1000]
graph {
  %a = input() {name = "a", dtype = f32, shape = [n, n]}
  %b = input() {name = "b", dtype = f32, shape = [n, n]}
  %0 = dot(%a, %b) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %1 = exp(%0)
  return c = %1
}
"""
# Has arrays between its steps.
STAGED = """weft 0.1
symbol n in [1, 1000]
graph {
  %a = input() {name = "a", dtype = f32, shape = [n, n]}
  %0 = exp(%a)
  %1 = dot(%0, %0) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %2 = dot(%1, %0) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  return c = %2
}
"""
# Is packed for one size, and read as it lies for all others.
DENSE = """weft 0.1
symbol n in [1, 64]
graph {
  %x = input() {name = "x", dtype = f32, shape = [n, 700]}
  %w = constant() {dtype = f32, shape = [700, 300], data = [""" + ", ".join(
      str((i * 37 % 101 - 50) / 64) for i in range(700 * 300)) + """]}
  %y = dot(%x, %w) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  return y = %y
}
"""
LEVELS = {"x86_64-linux-gnu": "x86-64-v3", "aarch64-linux-gnu": "armv8-a"}
# Its weights are packed for the kernels of each level.
WEIGHTS = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [48, 64]}
  %w = constant() {dtype = f32, shape = [96, 64], data = [""" + ", ".join(["1"] * 64 * 96) + """]}
  %y = dot(%x, %w) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [1]}
  return y = %y
}
"""
# Fields of the header: keywords, macros, types, and what would end a comment.
NAMES = ["x", "x_layout", "_Bool", "NULL", "linux", "int64_t", "class", "weft_rt_layout", "extents", "__LINE__"]
NAMED = "weft 0.1\nsymbol int64_t in [1, 9]\ngraph {\n" + "".join(
    f'  %i{i} = input() {{name = "{name}", dtype = f32, shape = [int64_t]}}\n' for i, name in enumerate(NAMES)) + """
  %0 = add(%i0, %i1)
  %1 = add(%i2, %i3)
  %2 = add(%i4, %i5)
  %3 = add(%i6, %i7)
  %4 = add(%i8, %i9)
  return "*\\\\\\n/ float *evil; /* x" = %0, "*/" = %1, "/* ??/" = %2, "7" = %3, "é" = %4
}
"""
OBJECTS = {"layer": (LAYER, []), "other": (LAYER, ["--weights", "file"]), "cache": (CACHE, []), "moved": (MOVED, []),
           "sized": (SIZED, ["--extents", "n=3,m=4;m=6,n=8"]), "many": (MANY, []),
           "staged": (STAGED, []), "dense": (DENSE, ["--extents", "n=33"])}


def check_names(weft, compiler, include, folder):
    """The header of a graph with hostile names compiles as C and C++, and the call is what its arrays make it."""
    (folder / "named.weft").write_text(NAMED)
    subprocess.run([weft, "compile", folder / "named.weft", "-o", folder], check=True)
    arrays = len(NAMES) + 5
    source = (f'#include "named.h"\ntypedef char same[sizeof(named_call) == 8 * {1 + 2 * arrays} ? 1 : -1];\n'
              "int main(void) { named_call call; (void)call; return sizeof(same) == 1 ? 0 : 1; }\n")
    for name, options in [("named.c", ["-std=c99", "-pedantic"]), ("named.c", ["-std=gnu17"]), ("named.cc", ["-std=c++11"])]:
        (folder / name).write_text(source)
        subprocess.run([compiler, *options, "-Wall", "-Wextra", "-Werror", f"-I{include}", f"-I{folder}", "-c",
                        folder / name, "-o", folder / "named-c.o"], check=True)


def check_headers(weft, compiler, library, include, flags, folder):
    """With the header of another graph, or of one whose sizes differ, a program does not link, and the linker says why."""
    source = folder / "old.c"
    source.write_text('#include "old.h"\nint main(void) { old_call call = {.x = 0}; weft_rt_workspace w = {0};\n'
                      "return old_prepare(&call, &w, 0, 0) == WEFT_RT_OK || old_run(&call, &w, 0) == WEFT_RT_OK; }\n")
    for stem, graph, links in [("same", LAYER, True), ("wider", LAYER.replace("4096", "8192"), False), ("sized", SIZED, False)]:
        for place, text in ("old", LAYER), (stem, graph):
            (folder / place).mkdir(exist_ok=True)
            (folder / place / "old.weft").write_text(text)
            subprocess.run([weft, "compile", folder / place / "old.weft", "-o", folder / place], check=True)
        linked = subprocess.run([compiler, "-std=gnu17", *flags, f"-I{include}", f"-I{folder / 'old'}", source,
                                 folder / stem / "old.o", library, "-Wl,--gc-sections", "-pthread", "-o",
                                 folder / "old-program"], check=False, capture_output=True, text=True)
        if (linked.returncode == 0) != links or (not links and "old_run_as_in_header_" not in linked.stderr):
            sys.exit(f"header of layer, object of {stem}: {linked.stderr}")


def check_targets(weft, folder):
    """Objects are made for processors that this one need not be."""
    (folder / "weights.weft").write_text(WEIGHTS)
    for options in ["--isa", "x86-64-v2,x86-64-v3,x86-64-v4"], ["--target", "aarch64-linux-gnu"]:
        subprocess.run([weft, "compile", folder / "weights.weft", "-o", folder, *options], check=True)


def info(weft, path):
    return subprocess.run([weft, "info", path], check=False, capture_output=True, text=True)


def check_info(weft, folder, target, level):
    """What `weft info` says of an object, of a program, and of what is damaged."""
    layer = info(weft, folder / "layer.o")
    expected = ["name      layer", f"target    {target}", f"isa       {level}", "library   libweft-rt",
                "symbol    n in [1, 4096]", "input     x: f32 [n, 5]", "output    y: f32 [n, 2]",
                f"variant   {level}, row-major: 1 kernel"]
    missing = [line for line in expected if line not in layer.stdout.splitlines()]
    program = info(weft, folder / "api")
    missing += [stem for stem in OBJECTS if f"name      {stem}" not in program.stdout.splitlines()]
    weights = info(weft, folder / "other.o").stdout
    cache = info(weft, folder / "cache.o").stdout.splitlines()
    missing += [] if "in place  output out may have the memory of input cache" in cache else ["in place"]
    moved = info(weft, folder / "moved.o").stdout.splitlines()
    missing += [line for line in ("in place  output moved may have the memory of input w",
                                  "in place  output velocity may have the memory of input v") if line not in moved]
    missing += [] if "weights   other.weights, 4096 bytes, digest " in weights else ["weights"]
    whole = (folder / "layer.o").read_bytes()
    damaged = folder / "damaged.o"
    for at in range(0, len(whole), len(whole) // 60 + 1):
        damaged.write_bytes(whole[:at])
        cut = info(weft, damaged)
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        altered = info(weft, damaged)
        told = cut.returncode == 1 or cut.stdout == layer.stdout
        if not told or altered.returncode not in (0, 1):
            missing.append(f"damaged at {at}")
    if missing:
        sys.exit(f"weft info does not tell: {missing}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", choices=LEVELS, default="x86_64-linux-gnu")
    parser.add_argument("--under", type=str.split, default=[])
    parsed, words = parser.parse_known_args()
    weft, compiler, library, include, source, *flags = words
    level = LEVELS[parsed.target]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for stem, (text, options) in OBJECTS.items():
            graph = folder / f"{stem}.weft"
            graph.write_text(text)
            subprocess.run([weft, "compile", graph, "-o", folder, "--target", parsed.target, "--isa", level, *options],
                           check=True)
        program = folder / "api"
        subprocess.run([compiler, "-std=gnu17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin-malloc", *flags,
                        f'-DLEVEL="{level}"', f"-I{include}", f"-I{folder}", source, *[folder / f"{stem}.o" for stem in OBJECTS], library,
                        "-pthread", "-o", program], check=True)
        check_info(weft, folder, parsed.target, level)
        check_targets(weft, folder)
        if not parsed.under:
            check_names(weft, compiler, include, folder)
            check_headers(weft, compiler, library, include, flags, folder)
        sys.exit(subprocess.run([*parsed.under, program, folder], check=False).returncode)


if __name__ == "__main__":
    main()
