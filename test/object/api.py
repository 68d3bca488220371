#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has the command compile a few graphs, and a C program that uses their headers.

usage: api.py WEFT CC LIBRARY INCLUDE API.c [FLAG...]
"""
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
OBJECTS = {"layer": (LAYER, []), "other": (LAYER, ["--weights", "file"]), "cache": (CACHE, []),
           "sized": (SIZED, ["--extents", "n=3,m=4;m=6,n=8"]), "many": (MANY, [])}


def main():
    weft, compiler, library, include, source, *flags = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for stem, (text, options) in OBJECTS.items():
            graph = folder / f"{stem}.weft"
            graph.write_text(text)
            subprocess.run([weft, "compile", graph, "-o", folder, "--isa", "x86-64-v3", *options], check=True)
        program = folder / "api"
        subprocess.run([compiler, "-std=gnu17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin-malloc", *flags,
                        f"-I{include}", f"-I{folder}", source, *[folder / f"{stem}.o" for stem in OBJECTS], library,
                        "-lm", "-pthread", "-o", program], check=True)
        sys.exit(subprocess.run([program, folder], check=False).returncode)


if __name__ == "__main__":
    main()
