#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects with an op of the sample plugin, whose kernel is linked with them, or contained in them.

usage: plugin.py WEFT CC LIBRARY INCLUDE SAMPLE.so SAMPLE_BITCODE.so SAMPLE.c
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile

GRAPH = """weft 0.1
symbol n in [1, 100]
symbol m in [1, 100]
graph {
  %x = input() {name = "x", dtype = f64, shape = [n, m]}
  %0 = sample.swish(%x)
  %1 = sample.median(%x)
  return s = %0, y = %1
}
"""
ROWS, COLUMNS = 5, 6
PROGRAM = """#include <stdio.h>
#include "NAME.h"
enum { N = ROWS, M = COLUMNS };
static _Alignas(64) char memory[1 << 16];
int main(void)
{
    double x[N * M], s[N * M], y[N];
    weft_rt_workspace workspace = {memory, sizeof memory, NULL, NULL};
    weft_rt_error error;
    NAME_call call = {.extents = {.n = N, .m = M}, .x = x, .s = s, .y = y};
    for (int i = 0; i < N * M; i++) x[i] = i * 37 % 31 / 8.0;
    if (NAME_prepare(&call, &workspace, NULL, &error) != WEFT_RT_OK || NAME_run(&call, &workspace, &error) != WEFT_RT_OK) {
        puts(error.message);
        return 1;
    }
    for (int i = 0; i < N; i++) printf("%a\\n", y[i]);
    return 0;
}
"""


def check(condition, what):
    if not condition:
        sys.exit(what)


class Builder:
    def __init__(self, folder, weft, compiler, library, include):
        self.folder, self.weft, self.compiler, self.library, self.include = folder, weft, compiler, library, include
        (folder / "graph.weft").write_text(GRAPH)

    def compile(self, name, plugin, *options):
        subprocess.run([self.weft, "compile", self.folder / "graph.weft", "-o", self.folder, "--name", name, "--plugin", plugin,
                        *options], check=True)
        told = subprocess.run([self.weft, "info", self.folder / f"{name}.o"], check=True, stdout=subprocess.PIPE, text=True)
        return told.stdout.splitlines()

    def link(self, name, *more):
        source = self.folder / f"{name}-main.c"
        source.write_text(PROGRAM.replace("NAME", name).replace("ROWS", str(ROWS)).replace("COLUMNS", str(COLUMNS)))
        return subprocess.run([self.compiler, "-std=gnu17", "-O1", "-ffunction-sections", "-ffp-contract=off",
                               f"-I{self.include}", f"-I{self.folder}", source, self.folder / f"{name}.o", *more,
                               "-Wl,--gc-sections", "-pthread", "-o", self.folder / name],
                              check=False, stderr=subprocess.PIPE, text=True)

    def needs(self, name):
        listed = subprocess.run(["nm", "--undefined-only", "--format=just-symbols", self.folder / f"{name}.o"], check=True,
                                stdout=subprocess.PIPE, text=True)
        return set(listed.stdout.split())

    def run(self, name, *more):
        linked = self.link(name, *more)
        check(linked.returncode == 0, linked.stderr)
        ran = subprocess.run([self.folder / name], check=False, stdout=subprocess.PIPE, text=True)
        x = [i * 37 % 31 / 8 for i in range(ROWS * COLUMNS)]
        expected = [statistics.median(x[row * COLUMNS:(row + 1) * COLUMNS]) for row in range(ROWS)]
        check(ran.returncode == 0 and [float.fromhex(line) for line in ran.stdout.split()] == expected, f"{name}: {ran.stdout}")


def main():
    weft, compiler, library, include, plugin, with_bitcode, source = sys.argv[1:]
    kernel = {"sample_median_kernel", "sample_median_scratch"}
    names = "sample_median_kernel, sample_median_scratch, of op sample.median"
    with tempfile.TemporaryDirectory() as name:
        b = Builder(pathlib.Path(name), weft, compiler, library, include)
        told = b.compile("outside", plugin)
        check("extension sample 1.0" in told and f"import    {names}" in told, told)
        check(kernel <= b.needs("outside"), "no import")
        check("sample_median_kernel" in (b.folder / "outside.h").read_text(), "the header does not say what to link")
        missing = b.link("outside", library)
        check(missing.returncode != 0 and "sample_median_kernel" in missing.stderr, missing.stderr)
        b.run("outside", source, library)
        told = b.compile("inside", with_bitcode)
        check("extension sample 1.0" in told and f"contains  {names}" in told, told)
        check(not kernel & b.needs("inside"), "an import")
        b.run("inside", library)
        told = b.compile("alone", with_bitcode, "--freestanding")
        check("library   none: freestanding" in told, told)
        check(b.needs("alone") <= {"memcpy", "memmove", "memset"}, f"needs {b.needs('alone')}")
        b.run("alone")
        b.compile("half", plugin, "--freestanding")
        check(b.needs("half") - kernel <= {"memcpy", "memmove", "memset"}, f"needs {b.needs('half')}")
        b.run("half", source)


if __name__ == "__main__":
    main()
