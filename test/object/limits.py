#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What objects need, and what programs weigh that are linked with them.

usage: limits.py WEFT CC LIBRARY INCLUDE [--sizes] [--freestanding]

--sizes: LIBRARY is optimised, so that limits hold. --freestanding: WEFT can make such objects.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

VECTORS = "".join(f"  %{x} = input() {{name = \"{x}\", dtype = f32, shape = [n]}}\n" for x in "ab")
SOFTMAX = """  %x = input() {name = "x", dtype = f32, shape = [n, 100]}
  %m = reduce_max(%x) {axes = [1]}
  %mb = broadcast(%m) {shape = [n, 100], axes = [0]}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce_sum(%e) {axes = [1]}
  %sb = broadcast(%s) {shape = [n, 100], axes = [0]}
  %y = div(%e, %sb)
  return y = %y
"""
MLP = """  %x = input() {name = "x", dtype = f32, shape = [n, 784]}
  %w = input() {name = "w", dtype = f32, shape = [784, 256]}
  %v = input() {name = "v", dtype = f32, shape = [256, 10]}
  %0 = dot(%x, %w) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %z = constant() {dtype = f32, shape = [], data = [0]}
  %zb = broadcast(%z) {shape = [n, 256], axes = []}
  %1 = max(%0, %zb)
  %y = dot(%1, %v) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  return y = %y
"""
CHECKED = """  %x = input() {name = "x", dtype = f32, shape = [n, m]}
  %i = input() {name = "i", dtype = i64, shape = [3]}
  %y = gather(%x, %i) {axes = [0], batch = []}
  return y = %y
"""


def product(*dtypes):
    lines = [f"""  %a{d} = input() {{name = "a{d}", dtype = {d}, shape = [n, n]}}
  %b{d} = input() {{name = "b{d}", dtype = {d}, shape = [n, n]}}
  %c{d} = dot(%a{d}, %b{d}) {{batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}}
""" for d in dtypes]
    return "".join(lines) + "  return " + ", ".join(f"c{d} = %c{d}" for d in dtypes) + "\n"


def sort(dtype):
    return (f'  %a = input() {{name = "a", dtype = {dtype}, shape = [n]}}\n'
            "  %b = sort(%a) {axis = 0, descending = false}\n  return b = %b\n")


# Each graph, and the most bytes of sections that a program for x86-64-v3 has with it, linked and freestanding: what a
# release build had, and 1 to 5 %.
GRAPHS = {
    "add": (VECTORS + "  %c = add(%a, %b)\n  return c = %c\n", 57800, 56000),
    "softmax": (SOFTMAX, 61500, 59700),
    "mlp": (MLP, 147500, 146000),
    "product": (product("f32"), 121500, 117000),
    "products": (product("f16", "bf16", "f32", "f64", "c64", "c128"), 170500, 170000),
    "sort": (sort("f32"), 113000, 107200),
    "sort64": (sort("i64"), 120000, 104700),
}


def dot(a, b, contract_b=0, contract_a=1):
    return f"dot(%{a}, %{b}) {{batch_a = [], batch_b = [], contract_a = [{contract_a}], contract_b = [{contract_b}]}}"


NUMBERS = "  %x = iota() {dtype = f32, shape = [n, 50], axis = 0}\n"
NUMBERED = NUMBERS + "".join(
    f"""  %{name} = iota() {{dtype = f32, shape = {shape}, axis = 1}}
  %{name}c = constant() {{dtype = f32, shape = [], data = [0.001]}}
  %{name}b = broadcast(%{name}c) {{shape = {shape}, axes = []}}
  %{name}0 = mul(%{name}, %{name}b)
""" for name, shape in [("w", "[50, 600]"), ("v", "[600, 300]"), ("t", "[300, 600]")])
# Without inputs, with arrays between their steps.
STAGED = {
    "sorted": NUMBERS + """  %a = sort(%x) {axis = 0, descending = true}
  %b = exp(%a)
  %y = sort(%b) {axis = 1, descending = false}
  return y = %y
""",
    "centered": NUMBERS + """  %a = sort(%x) {axis = 0, descending = true}
  %s = reduce_sum(%a) {axes = [0]}
  %sb = broadcast(%s) {shape = [n, 50], axes = [1]}
  %d = sub(%a, %sb)
  %e = sort(%d) {axis = 0, descending = true}
  %y = mul(%e, %d)
  return y = %y
""",
    "ranks": NUMBERS + """  %a = argsort(%x) {axis = 0, descending = true}
  %b = sort(%a) {axis = 1, descending = false}
  %s = reduce_max(%b) {axes = [0]}
  %sb = broadcast(%s) {shape = [n, 50], axes = [1]}
  %c = sub(%sb, %a)
  %y = sort(%c) {axis = 1, descending = false}
  return y = %y
""",
    "products": NUMBERED + f"""  %a = {dot("x", "w0")}
  %b = exp(%a)
  %c = {dot("b", "v0")}
  %d = {dot("b", "t0", 1)}
  %y = add(%c, %d)
  return y = %y
""",
    "halves": NUMBERED + f"""  %h = cast(%x) {{dtype = f16}}
  %i = cast(%w0) {{dtype = f16}}
  %a = {dot("h", "i")}
  %b = sort(%a) {{axis = 1, descending = false}}
  %y = cast(%b) {{dtype = f32}}
  return y = %y
""",
    "gram": NUMBERED + f"""  %a = sort(%x) {{axis = 0, descending = true}}
  %b = {dot("a", "a", 0, 0)}
  %y = exp(%b)
  return y = %y
""",
}
PREPARED = """#include "{0}.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{{
    for (int i = 1; i < argc; i++) {{
        const {0}_call call = {{.extents = {{atoi(argv[i])}}}};
        weft_rt_workspace workspace = {{0}};
        if ({0}_prepare(&call, &workspace, NULL, NULL) != WEFT_RT_OK) return 1;
        printf("%zu\\n", workspace.size);
    }}
    return 0;
}}
"""
LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v3,x86-64-v4"]

MAIN = """#include "{0}.h"
#include <stdlib.h>
static {0}_call call = {{.extents = {{4}}}};
int main(void)
{{
    weft_rt_workspace workspace = {{0}};
    {1}
    if ({0}_prepare(&call, &workspace, NULL, NULL) != WEFT_RT_OK) return 1;
    workspace.memory = malloc(workspace.size);
    return {0}_run(&call, &workspace, NULL) == WEFT_RT_OK;
}}
"""
COMPILERS = {"memcpy", "memmove", "memset"}
STARTING = {"__libc_start_main", "__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
            "_ITM_registerTMCloneTable"}
LIBRARY = COMPILERS | STARTING | {
    "__register_atfork", "__sched_cpucount", "__tls_get_addr", "aligned_alloc", "clock_gettime", "free", "getenv",
    "madvise", "malloc", "memcmp", "posix_memalign", "realloc", "sched_getaffinity", "sched_getcpu",
    "sched_setaffinity", "sem_destroy", "sem_init", "sem_post", "sem_wait", "sigdelset", "sigfillset", "snprintf", "strcmp",
    "strcpy", "strlen", "strncmp", "strncpy", "sysconf", "vsnprintf",
}


def output(*command, **environment):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}).stdout


def needs(path):
    """The symbols that a file leaves to others."""
    return {line.split("@")[0] for line in output("nm", "--undefined-only", "--format=just-symbols", path).split()}


def sections(path):
    """Name, flags and bytes of each section that is there when a program runs."""
    found = re.findall(r"^ *\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +(\S*) ",
                       output("readelf", "--sections", "--wide", path), re.M)
    return [(name, flags, int(size, 16)) for name, size, flags in found if "A" in flags]


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        for name, (body, *_) in GRAPHS.items():
            (cls.folder / f"{name}.weft").write_text(f"weft 0.1\nsymbol n in [1, 4096]\ngraph {{\n{body}}}\n")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def compile(self, name, level, *options):
        subprocess.run([WEFT, "compile", self.folder / f"{name}.weft", "-o", self.folder, "--isa", level, *options],
                       check=True)
        return self.folder / f"{name}.o"

    def link(self, name, pool, *library):
        (self.folder / "main.c").write_text(
            MAIN.format(name, "workspace.pool = weft_rt_pool_create(2);" if pool else ""))
        return self.build(name, *library)

    def build(self, name, *library):
        source, program = self.folder / "main.c", self.folder / f"{name}-program"
        subprocess.run([CC, "-std=gnu17", "-O2", f"-I{INCLUDE}", f"-I{self.folder}", source, self.folder / f"{name}.o",
                        *library, "-Wl,--gc-sections", "-Wl,--as-needed", "-pthread", "-o", program], check=True)
        return program

    def check_program(self, name, program, allowed, limit):
        foreign = {symbol for symbol in needs(program) if not symbol.startswith("pthread_")} - allowed
        self.assertEqual(foreign, set())
        needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "--dynamic", program))
        self.assertLessEqual(set(needed), {"libc.so.6", "ld-linux-x86-64.so.2"})
        size = sum(size for _, _, size in sections(program))
        print(f"{name}: {size} bytes of sections, at most {limit}")
        if SIZES:
            self.assertLessEqual(size, limit)

    def check_object(self, path, allowed):
        self.assertEqual({symbol for symbol in needs(path) if not re.fullmatch(allowed, symbol)}, set())
        writable = [(name, size) for name, flags, size in sections(path)
                    if "W" in flags and size > 0 and not name.startswith(".data.rel.ro")]
        return writable

    def test_objects(self):
        """An object refers to the code of its own levels, and has nothing that is written."""
        for level in LEVELS:
            own = [part[-2:] for part in level.split(",")]
            vectors = "|".join(own) if "v2" not in own else "portable"
            functions = "|weft_fma_f(32|64)" if "v2" in own else ""
            for name in GRAPHS:
                with self.subTest(name=name, level=level):
                    path = self.compile(name, level)
                    self.assertEqual(self.check_object(
                        path, rf"weft_rt_(prepare|run)|weft_step_\w+|weft_plan_branches|weft_(gemm|key_sort)_({vectors})_\w+|"
                              rf"mem(cpy|move|set){functions}"), [])

    def test_programs(self):
        for name, (_, limit, _) in GRAPHS.items():
            with self.subTest(name=name):
                self.compile(name, "x86-64-v3")
                self.check_program(name, self.link(name, True, LIBRARY_FILE), LIBRARY, limit)

    def test_freestanding(self):
        if not FREESTANDING:
            self.skipTest("this weft cannot make freestanding objects")
        for name, (_, _, limit) in GRAPHS.items():
            with self.subTest(name=name):
                path = self.compile(name, "x86-64-v3", "--freestanding")
                writable = self.check_object(path, "mem(cpy|move|set)")
                self.assertLessEqual(set(writable), {(".bss", 4)})  # the level of the processor, once it is known
                self.check_program(name + ", freestanding", self.link(name, False),
                                   COMPILERS | STARTING | {"malloc"}, limit)
            for level in "x86-64-v2,x86-64-v3", "x86-64-v4":
                with self.subTest(name=name, level=level):
                    self.check_object(self.compile(name, level, "--freestanding"), "mem(cpy|move|set)")

    def test_temporaries_take_what_they_take_in_an_executor(self):
        """From one size to another, a workspace grows by what the peak of an executor grows by, with what products pack,
        to the byte, if both compute for the same processors."""
        level = "x86-64-v3"
        sizes = [100, 101, 128, 999, 4096]
        for name, body in STAGED.items():
            graph = self.folder / f"{name}.weft"
            graph.write_text(f"weft 0.1\nsymbol n in [1, 4096]\ngraph {{\n{body}}}\n")
            self.compile(name, level)
            (self.folder / "main.c").write_text(PREPARED.format(name))
            program = self.build(name, LIBRARY_FILE)
            prepared = [int(size) for size in output(program, *map(str, sizes)).split()]
            stats = [json.loads(output(WEFT, "run", graph, "--set", f"n={n}", "--threads", "1", "--stats", "-o",
                                       self.folder / "y.npy", WEFT_ISA=level).splitlines()[-1]) for n in sizes]
            peaks = [stat["peak_bytes"] + stat["packed_bytes"] for stat in stats]
            self.assertGreater(stats[0]["peak_bytes"], 4096, name)
            self.assertEqual("dot" in body, any(stat["packed_bytes"] > 0 for stat in stats), name)
            with self.subTest(name=name):
                self.assertEqual([size - prepared[0] for size in prepared], [peak - peaks[0] for peak in peaks])

    def test_equal_graphs_make_equal_files(self):
        """Wherever a graph is, whatever its path is called, and whoever compiles it."""
        text = f'weft 0.1\nsymbol n in [2, 4096]\nsymbol m in [2, 4096]\nrequire n <= m "too long"\ngraph {{\n{CHECKED}}}\n'
        files = []
        for place in "here", "a (strange) place/%s/with: folders":
            folder = self.folder / place
            folder.mkdir(parents=True)
            (folder / "checked.weft").write_text(text)
            path = "checked.weft" if place == "here" else folder / "checked.weft"
            subprocess.run([WEFT, "compile", path, "-o", folder / "out", "--weights", "file"], check=True, cwd=folder)
            files.append({file.name: file.read_bytes() for file in sorted((folder / "out").iterdir())})
        self.assertEqual(set(files[0]), set(files[1]))
        for name, content in files[0].items():
            self.assertEqual(content, files[1][name], name)
        for sentence in b"checked.weft:4", b"(checked.weft:8)":
            self.assertIn(sentence, files[0]["checked.o"])


if __name__ == "__main__":
    WEFT, CC = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    LIBRARY_FILE, INCLUDE = sys.argv[3:5]
    SIZES, FREESTANDING = "--sizes" in sys.argv, "--freestanding" in sys.argv
    unittest.main(argv=sys.argv[:1])
