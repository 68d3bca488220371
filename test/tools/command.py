# SPDX-License-Identifier: Apache-2.0
"""Drives the command line on small files: command.py WEFT."""
import itertools
import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree

from support import FAILED, GRAPH, MISUSED, OK, WEFT, Command, load, main

FORMATS = "graph|trees|loops|schedule|scheduled|llvm|asm|ptx"


class General(Command):
    def test_version(self):
        status, out, _ = self.weft("--version")
        self.assertEqual(status, OK)
        self.assertRegex(out, r"^weft \d+\.\d+\.\d+\n$")

    def test_help(self):
        _, out, _ = self.weft("help")
        commands = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
        self.assertEqual(commands, ["einsum", "run", "compile", "opt", "view", "check-gradients", "info"])
        for more in ["help", "--help", "-h"]:
            self.prints(out, "help", more)
        for name in commands:
            with self.subTest(name):
                long = self.weft("help", name)
                self.assertEqual(long, self.weft(name, "--help"))
                self.assertEqual(long, self.weft(name, "-h"))
                self.assertLessEqual(max(map(len, long[1].splitlines())), 140)
                self.assertEqual(long[0], OK)
                self.assertIn(f"usage: weft {name}", long[1])

    def test_misuse(self):
        self.assertEqual(self.weft()[0], MISUSED)
        self.assertEqual(self.weft("fly"), (MISUSED, "", "weft: unknown command 'fly'; 'weft help' lists them\n"))
        self.assertEqual(self.weft("eisnum"), (MISUSED, "", "weft: unknown command 'eisnum'; did you mean 'einsum'?\n"))
        self.assertEqual(self.weft("help", "fly")[0], MISUSED)
        self.refuses(MISUSED, "info: usage is 'weft info [NAME.o|SAVED]', not with 2 operands", "info", "x", "y")
        self.refuses(MISUSED, "info: --measure says nothing about an object or a saved program", "info", "x.o", "--measure")
        self.refuses(MISUSED, "info: unknown option '--stats'", "info", "--stats")
        self.refuses(FAILED, "info: g.weft: it has no program that 'weft compile' made, and is no saved one; 'weft opt' prints "
                     "a graph", "info", "g.weft")
        for typed, meant in [("--optimise", "--optimize"), ("--memory-limits", "--memory-limit"), ("--ordr", "--order"),
                             ("--objectve=flops", "--objective")]:
            self.refuses(MISUSED, f"einsum: unknown option '{typed.partition('=')[0]}'; did you mean '{meant}'?",
                         "einsum", typed)
        for typed in ["--fast", "-z", "--" + "o" * 300]:
            self.refuses(MISUSED, f"einsum: unknown option '{typed}'", "einsum", typed)
        self.refuses(MISUSED, f"opt: --emit needs a value: {FORMATS}", "opt", "g.weft", "--emit")
        self.refuses(MISUSED, "run: -o needs a value, but the option '--stats' follows: [NAME=]OUT.npy or OUT.npz",
                     "run", "g.weft", "-o", "--stats")
        self.refuses(MISUSED, f"opt: --emit takes one of {FORMATS}, not 'l'", "opt", "g.weft", "--emit=l")
        self.refuses(MISUSED, "run: --stats takes no value, but has 'yes'", "run", "g.weft", "--stats=yes")
        for option, least, most, counts in [
                ("--threads", 0, 1024, ["-1", "1.5", "", "1025", "99999999999999999999"]),
                ("--repeat", 1, 10**9, ["0", "1000000001", " 3", "+3", "3 ", "0x3", "--3"])]:
            for count in counts:
                self.refuses(MISUSED, f"run: {option} takes an integer from {least} to {most}, not '{count}'",
                             "run", "g.weft", option, count)
        self.assertIn("threads, at most 1024 ", self.weft("help", "run")[1])

    def test_operands_that_mean_nothing(self):
        self.refuses(MISUSED, "--version: usage is 'weft --version', not with 1 operand", "--version", "extra")
        for words in [["help", "run", "extra"], ["--help", "run", "extra"], ["help", "help", "run"]]:
            self.refuses(MISUSED, "help: usage is 'weft help [COMMAND]', not with 2 operands", *words)

    def test_options_given_twice(self):
        """Each may be given once, except those whose help says how often."""
        self.assertIn("An option may be given once unless", self.weft("help")[1])
        lists = set()
        for name in ["einsum", "run", "compile", "opt", "view", "check-gradients", "info"]:
            text = self.weft("help", name)[1].split("\n\n")[2]
            for option, value, told in re.findall(r"^  (-\S+) (\S*)\s+(\S.*)$", text, re.M):
                if "may be repeated" in told:
                    lists.add((name, option))
                    continue
                one, two = value.split("|")[:2] if "|" in value and "." not in value else ("1", "2")
                words = [option, one, option, two] if value else [option, option]
                tail = f", with '{one}' and '{two}'" if value else ""
                with self.subTest(name, option=option):
                    self.refuses(MISUSED, f"{name}: {option} is given twice{tail}", name, *words)
        plugins = {(name, "--plugin") for name in ["run", "compile", "opt", "view", "check-gradients", "info"]}
        others = {("run", "-o"), ("run", "--set"), ("check-gradients", "--set"), ("opt", "--schedule"),
                  ("compile", "--constant"), ("run", "--schedule"), ("compile", "--schedule")}
        self.assertEqual(lists, others | plugins)

    def test_names_that_are_empty(self):
        (self.folder / "row.weft").write_text(ROW)
        for name, option in [("einsum", "-o"), ("einsum", "--tree"), ("einsum", "--order"), ("einsum", "--instance"),
                             ("einsum", "--machine"), ("run", "-o"), ("run", "--trace"), ("run", "--view"),
                             ("view", "-o"), ("opt", "--plugin")]:
            self.refuses(MISUSED, f"{name}: {option} takes the name of a file, not ''", name, option, "")
        for words in [["run", ""], ["opt", ""], ["view", "", "-o", "g.svg"], ["run", "row.weft", "", "--set", "n=2"],
                      ["einsum", "i->", ""]]:
            self.refuses(MISUSED, f"{words[0]}: the name of a file to read is empty", *words)

    def test_name_of_an_object(self):
        self.refuses(MISUSED, "compile: a graph from standard input needs a name: --name NAME", "compile", "-",
                     input=GRAPH)

    def test_foreign_text_is_escaped(self):
        """An error is one line that a terminal can show, whatever the input holds; what is readable stays so."""
        bad, shown = "\x1b[31m\n\x7f\u009b\u202eü\u0436", r"\x1b[31m\n\x7f\xc2\x9b\xe2\x80\xae" + "ü\u0436"
        self.assertEqual(self.weft(bad)[2], f"weft: unknown command '{shown}'; 'weft help' lists them\n")
        self.refuses(MISUSED, f"run: unknown option '-{shown}'", "run", f"-{bad}")
        self.refuses(FAILED, f"run: {shown}.weft cannot be read: No such file or directory", "run", f"{bad}.weft")
        self.refuses(FAILED, "einsum: ü.npz: cannot be opened: No such file or directory", "einsum", "i->", "ü.npz:x")
        (self.folder / "text.weft").write_text(GRAPH.replace("[n, 3]", "[n, \x1b]", 1))
        status, _, error = self.weft("run", "text.weft")
        self.assertEqual((status, error.count("\n")), (FAILED, 1))
        self.assertIn(r"text.weft:4:54: an extent expression needs a number, a symbol or '(' at '\x1b'", error)
        (self.folder / "key.json").write_text('{"inputs": [[0]], "output": [], "size\\u001b": [2]}')
        self.refuses(FAILED, r'einsum: key.json: "size\x1b" is unknown here; did you mean "sizes"?',
                     "einsum", "--instance", "key.json")
        (self.folder / "name.weft").write_text(ROW.replace("return y", 'return "y\\x1b[31m\\n\u0436"'))
        self.prints("y\\x1b[31m\\n\u0436 =\n[21. 22.]\n", "run", "name.weft", "a.npy", "--set", "n=2")
        self.refuses(MISUSED, "run: the graph has no output 'z'; its outputs: y\\x1b[31m\\n\u0436",
                     "run", "name.weft", "a.npy", "--set", "n=2", "-o", "z=z.npy")

    def test_results_given_twice(self):
        for name, words in [("einsum", ["ij->", "a.npy", "-o", "x.npy", "-o", "y.npy"]),
                            ("view", ["g.weft", "-o", "x.npy", "-o", "y.npy"]),
                            ("einsum", ["ij->", "a.npy", "--tree", "x.npy", "--tree=y.npy"]),
                            ("run", ["g.weft", "x=a.npy", "w=w.npy", "--trace", "x.npy", "--trace", "y.npy"])]:
            self.refuses(MISUSED, f"{name}: {words[-2].partition('=')[0] if words[-2][0] == '-' else '--tree'} is given "
                                  "twice, with 'x.npy' and 'y.npy'", name, *words)

    def test_nobody_reads(self):
        """What was asked for is done all the same, and nothing is said of it."""
        (self.folder / "c.json").write_text('{"inputs": [[0, 1], [1, 2]], "output": [0, 2], "sizes": [2, 3, 4]}')
        process = subprocess.Popen([WEFT, "einsum", "--instance", "c.json", "-o", "r.npy"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), -signal.SIGPIPE)
        self.assertEqual(load(self.folder / "r.npy")[0], (2, 4))
        for what in (["opt", "g.weft"], ["--version"], ["help", "run"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([WEFT, *what], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (FAILED, f"weft {what[0]}: standard output cannot be written: No space left on device\n"))

    def test_info(self):
        status, out, error = self.weft("info")
        self.assertEqual((status, error), (OK, ""))
        for start in ["weft ", "target ", "isa ", "blis ", "products ", "memory ", "runtimes ", "extensions  einsum "]:
            self.assertIn(f"\n{start}", "\n" + out)
        rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
        dtypes = "bool u8 i32 u32 i64 bf16 f16 f32 f64 c64 c128".split()
        add = dict(zip(dtypes, rows["add"]))
        self.assertIn("r", add["f32"])
        self.assertEqual(add["bool"], ".")
        self.assertEqual(set(rows["exp"][:5]), {"."})


class Einsum(Command):
    product = "[[ 32.  38.  44.  50.]\n [ 68.  83.  98. 113.]]\n"

    def test_prints(self):
        for backend in ["llvm", "ref"]:
            for more in [[], ["--symbolic"], ["--threads", "2"], ["--repeat=3"], ["--optimize", "left"],
                         ["--code", "quick"], ["--code=tiered", "--repeat=3"], ["--products", "library"]]:
                with self.subTest(backend=backend, more=more):
                    self.prints(self.product, "einsum", "ij,jk->ik", "a.npy", "b.npy", "--backend", backend, *more)
        self.prints("21.\n", "einsum", "ij->", "a.npy")
        self.save("s.npy", (), [3])
        for expression in ["->", "", ",->", ",", " -> "]:
            with self.subTest(expression):
                self.prints("9.\n" if "," in expression else "3.\n", "einsum", expression,
                            *["s.npy"] * (1 + expression.count(",")))

    def test_orders(self):
        expected = "[[ 552.  716.]\n [1236. 1598.]]\n"
        for order, text in [("auto", "ij,jk,kl->il"), ("path:1-2,0-1", "ij,jk,kl->il"), ("nested", "ij,(jk,kl)->il")]:
            for more in [[], ["--symbolic"]]:
                with self.subTest(order=order, more=more):
                    self.prints(expected, "einsum", text, "a.npy", "b.npy", "c.npy", "--optimize", order, *more)

    def test_writes(self):
        self.prints("", "einsum", "ij,jk->ki", "a.npy", "b.npy", "-o", "out.npy")
        self.assertEqual(load(self.folder / "out.npy"), ((4, 2), [32, 68, 38, 83, 44, 98, 50, 113]))

    def test_stats(self):
        status, out, _ = self.weft("einsum", "ij,jk,kl->il", "a.npy", "b.npy", "c.npy", "--optimize", "path:1-2,0-1",
                                   "--stats", "--repeat", "4")
        stats = json.loads(out.splitlines()[-1])
        self.assertEqual(status, OK)
        self.assertAlmostEqual(stats["log10_flops"], 1.5563025, 5)
        self.assertAlmostEqual(stats["log2_size"], 2.5849625, 5)
        self.assertEqual(stats["order"], "1-2,0-1")
        self.assertEqual((stats["cache"]["hits"], stats["cache"]["misses"], stats["cache"]["entries"]), (3, 1, 1))
        self.assertTrue(all(stats[name] >= 0 for name in ["plan_ms", "compile_ms", "run_ms", "kernels", "peak_bytes", "packed_bytes"]))

    def test_cache(self):
        folder = self.folder / "cache"
        for hits, writes in [(0, 1), (1, 0)]:
            status, out, error = self.weft("einsum", "ij,jk->ik", "a.npy", "b.npy", "--cache", folder, "--stats")
            stats = json.loads(out.splitlines()[-1])
            self.assertEqual((status, error), (OK, ""))
            self.assertTrue(out.startswith(self.product))
            self.assertEqual((stats["disk"]["hits"], stats["disk"]["writes"], stats["kernels"]), (hits, writes, writes))
            self.assertEqual(stats["disk"]["refused"], 0)
        entry, = folder.iterdir()
        entry.write_bytes(entry.read_bytes()[:-1])
        _, out, _ = self.weft("einsum", "ij,jk->ik", "a.npy", "b.npy", "--cache", folder, "--stats")
        self.assertTrue(out.startswith(self.product))
        self.assertEqual(json.loads(out.splitlines()[-1])["disk"],
                         {"hits": 0, "misses": 1, "refused": 1, "writes": 1, "evictions": 0, "failures": 0})
        folder.chmod(0o777)
        self.refuses(FAILED, f"einsum: the cache directory {folder} cannot be used: users other than its owner may "
                     "write to it", "einsum", "ij,jk->ik", "a.npy", "b.npy", "--cache", folder)
        self.refuses(FAILED, "einsum: the cache directory a.npy cannot be used: Not a directory",
                     "einsum", "ij,jk->ik", "a.npy", "b.npy", "--cache", "a.npy")

    def test_abbreviates(self):
        self.save("long.npy", (2000,), range(2000))
        self.prints("[   0.    1.    2. ... 1997. 1998. 1999.]\n", "einsum", "i->i", "long.npy")
        self.save("empty.npy", (0, 3), [])
        self.prints("[]\n", "einsum", "ij->ji", "empty.npy")

    def test_dtypes(self):
        self.save("i.npy", (2, 2), [1, -2, 3, 40], "<i8")
        self.prints("[[ 1  3]\n [-2 40]]\n", "einsum", "ij->ji", "i.npy")
        self.save("d.npy", (2,), [0.1, float("nan")], "<f8")
        self.prints("[0.1 nan]\n", "einsum", "i->i", "d.npy")

    def test_failures(self):
        self.refuses(FAILED, "einsum: none.npy: cannot be opened: No such file or directory",
                     "einsum", "i->i", "none.npy")
        status, _, error = self.weft("einsum", "ij,jk->ik", "a.npy", "c.npy")
        self.assertEqual(status, FAILED)
        self.assertRegex(error, r"^weft einsum: .*'j'.* 3 .* 4 .*\n$")
        self.save("d.npy", (3, 4), range(12), "<f8")
        self.assertEqual(self.weft("einsum", "ij,jk->ik", "a.npy", "d.npy")[0], FAILED)
        for order in ["best", "path", "path:", "path:0", "path:0-1,", "path:0-1x"]:
            with self.subTest(order):
                status, _, error = self.weft("einsum", "ij,jk->ik", "a.npy", "b.npy", "--optimize", order)
                self.assertEqual(status, MISUSED)
                self.assertRegex(error, rf"^weft einsum: --optimize .*, not '.*'\n$")


class Run(Command):
    def test_prints(self):
        for backend in ["llvm", "ref"]:
            self.prints("y =\n[[   2.   40.  600.]\n [   8.  100. 1200.]]\ntotal =\n[ 642. 1308.]\n",
                        "run", "g.weft", "x=a.npy", "w=w.npy", "--backend", backend)

    def test_writes(self):
        self.prints("", "run", "g.weft", "w=w.npy", "x=a.npy", "-o", "total=t.npy", "-o", "y=y.npy")
        self.assertEqual(load(self.folder / "t.npy"), ((2,), [642, 1308]))
        self.assertEqual(load(self.folder / "y.npy")[0], (2, 3))

    def test_stats(self):
        _, out, _ = self.weft("run", "g.weft", "w=w.npy", "x=a.npy", "--stats", "--repeat", "2")
        stats = json.loads(out.splitlines()[-1])
        self.assertEqual(stats["cache"]["hits"], 1)
        self.assertGreater(stats["compile_ms"], 0)

    def test_names(self):
        self.refuses(MISUSED, "run: input 'w' is missing; the graph's inputs: x, w", "run", "g.weft", "x=a.npy")
        self.refuses(MISUSED, "run: input 'x' is given twice", "run", "g.weft", "x=a.npy", "x=b.npy")
        self.refuses(MISUSED, "run: the graph has no input 'z'; its inputs: x, w", "run", "g.weft", "z=a.npy")
        self.refuses(MISUSED, "run: it is unclear which input 'a.npy' is; write NAME=a.npy; the graph's inputs: x, w",
                     "run", "g.weft", "a.npy")
        self.refuses(MISUSED, "run: input 'x' has no file after '='", "run", "g.weft", "x=", "w=w.npy")
        self.refuses(MISUSED, "run: it is unclear which output 'y.npy' is; write NAME=y.npy; the graph's outputs: y, total",
                     "run", "g.weft", "x=a.npy", "w=w.npy", "-o", "y.npy")
        self.refuses(MISUSED, "run: the graph has no output 'z'; its outputs: y, total",
                     "run", "g.weft", "x=a.npy", "w=w.npy", "-o", "z=z.npy")

    def test_inputs_that_no_output_needs(self):
        """They may be given, and are not read."""
        unneeded = '  %u = input() {name = "u", dtype = f32, shape = [n]}\n  %v = exp(%u)\n'
        (self.folder / "u.weft").write_text(ROW.replace("  %0 =", unneeded + "  %0 =", 1))
        run, known = ["run", "u.weft", "--set", "n=2"], "; the graph's inputs: x, u"
        for given in [["a.npy"], ["x=a.npy", "u=w.npy"], ["u=none.npy", "x=a.npy"], ["a.npy", "u=-"]]:
            self.prints("y =\n[21. 22.]\n", *run, *given)
        self.refuses(MISUSED, f"run: input 'x' is missing{known}", *run, "u=w.npy")
        self.refuses(MISUSED, "run: input 'u' is given twice", *run, "x=a.npy", "u=w.npy", "u=w.npy")
        self.refuses(MISUSED, "run: input 'u' has no file after '='", *run, "x=a.npy", "u=")
        self.refuses(MISUSED, "run: the graph has no input 'z'; its inputs: x, u", *run, "x=a.npy", "z=w.npy")
        (self.folder / "c.weft").write_text(ROW.replace("%1 = reduce_sum(%x) {axes = [0, 1]}",
                                                        "%1 = constant() {dtype = f32, shape = [], data = [4]}"))
        for given in [[], ["a.npy"], ["x=a.npy"]]:
            self.prints("y =\n[4. 5.]\n", "run", "c.weft", "--set", "n=2", *given)
        self.refuses(MISUSED, "run: the graph has no input 'z'; its inputs: x", "run", "c.weft", "--set", "n=2", "z=w.npy")

    def test_failures(self):
        status, _, error = self.weft("run", "g.weft", "x=b.npy", "w=w.npy")
        self.assertEqual(status, FAILED)
        self.assertRegex(error, r'^weft run: .*"x".* 1 .* 4.* 3\n$')
        (self.folder / "bad.weft").write_text("weft 0.1\ngraph {\n  %0 = fly()\n")
        self.assertRegex(self.weft("run", "bad.weft")[2], r"^weft run: bad\.weft:3:\d+: .*fly.*\n$")
        self.refuses(FAILED, "run: none.weft cannot be read: No such file or directory", "run", "none.weft")

    def test_arrays_in_place_of_the_graph(self):
        for arrays in ["a.npy", "x=a.npy", "in.npz"]:
            for words in [["run", arrays, "g.weft"], ["opt", arrays], ["view", arrays, "-o", "g.svg"], ["compile", arrays],
                          ["check-gradients", arrays, "g.weft"]]:
                self.refuses(MISUSED, f"{words[0]}: the graph comes first, such as graph.weft; '{arrays}' names arrays",
                             *words)


ROW = """weft 0.1
symbol n in [1, 16]
graph {
  %x = input() {name = "x", dtype = f32, shape = [2, 3]}
  %0 = iota() {dtype = f32, shape = [n], axis = 0}
  %1 = reduce_sum(%x) {axes = [0, 1]}
  %2 = broadcast(%1) {shape = [n], axes = []}
  %3 = add(%2, %0)
  return y = %3
}
"""


DEAD = """weft 0.1
symbol n in [0, 100]
symbol m in [7, 7]
graph {
  %x = input() {name = "x", dtype = f32, shape = [3]}
  %d = iota() {dtype = f32, shape = [n], axis = 0}
  %y = neg(%x)
  return y = %y
}
"""


class Single(Command):
    """A graph of one input, one output and a symbol that no input has."""
    def setUp(self):
        super().setUp()
        (self.folder / "row.weft").write_text(ROW)
        self.save("a=b c.npy", (2, 3), [1, 2, 3, 4, 5, 6])

    def test_names_may_be_left_out(self):
        for given in ["a.npy", "x=a.npy", "x=a=b c.npy"]:
            self.prints("y =\n[21. 22.]\n", "run", "row.weft", given, "--set", "n=2")
            for out in ["o.npy", "y=o.npy"]:
                self.prints("", "run", "row.weft", given, "--set=n=2", "-o", out)
                self.assertEqual(load(self.folder / "o.npy"), ((2,), [21, 22]))
        self.refuses(MISUSED, "run: the graph has no input 'a'; its inputs: x", "run", "row.weft", "a=b c.npy")

    def test_results_are_no_members(self):
        """What an input names as a member of an archive is no file of a result, which could not be read back."""
        rule = "which inputs do; one result is written to OUT.npy, all of 'weft run' to OUT.npz"
        for given in ["o.npz:y", "o.npz:", "o.npz:a/o.npy"]:
            for out in [given, f"y={given}"]:
                self.refuses(MISUSED, f"run: '{given}' names an array of an archive, {rule}",
                             "run", "row.weft", "a.npy", "--set", "n=2", "-o", out)
            self.refuses(MISUSED, f"einsum: '{given}' names an array of an archive, {rule}",
                         "einsum", "ij->j", "w.npy", "-o", given)
        self.assertEqual(list(self.folder.glob("o.npz*")), [])
        self.refuses(MISUSED, "run: input 'x' is given twice", "run", "row.weft", "a.npy", "a.npy")

    def test_symbols(self):
        run = ["run", "row.weft", "a.npy"]
        self.prints("y =\n[21. 22. 23.]\n", *run, "--set", "n=3", "--set", "n=3")
        for text in ["n", "n=", "=3", "n=3,m=4", "n,m=3", "n+0=3", " n=3", "3=3", "n=3.5", "n=3 ", "n= 3", "n=+3", "n=--3",
                     "n=99999999999999999999", ""]:
            self.refuses(MISUSED, f"run: --set takes SYMBOL=INTEGER such as n=5, not '{text}'", *run, "--set", text)
        self.refuses(MISUSED, "run: no input binds the symbol 'n'; --set n=N gives it a value", *run)
        self.refuses(MISUSED, "run: --set gives 'n' twice, as 3 and as 4", *run, "--set", "n=3", "--set", "n=4")
        self.refuses(MISUSED, "run: --set names 'm', but the graph has no such symbol; its outputs need: n",
                     *run, "--set", "m=3", "--set", "n=3")
        self.refuses(FAILED, "run: symbol n = 17 is outside [1, 16] (given by --set)", *run, "--set", "n=17")
        self.refuses(FAILED, 'run: input "x": axis 0 has extent 2, but the program requires n = 5 (given by --set)',
                     "run", "g.weft", "x=a.npy", "w=w.npy", "--set", "n=5")

    def test_symbols_that_no_output_needs(self):
        (self.folder / "dead.weft").write_text(DEAD)
        run = ["run", "dead.weft", "w.npy"]
        for more in [[], ["--set", "n=3"], ["--set", "n=100", "--set", "n=100"], ["--set", "m=7", "--set", "n=0"]]:
            self.prints("y =\n[  -1.  -10. -100.]\n", *run, *more)
        self.refuses(FAILED, "run: symbol n = 101 is outside [0, 100] (given by --set)", *run, "--set", "n=101")
        self.refuses(MISUSED, "run: --set gives 'n' twice, as 3 and as 4", *run, "--set", "n=3", "--set", "n=4")
        for text in ["k", "N", "min"]:
            self.refuses(MISUSED, f"run: --set names '{text}', but the graph has no such symbol", *run, "--set", f"{text}=3")

    def test_standard_input_and_output(self):
        array, graph = self.folder / "a.npy", self.folder / "row.weft"
        expected = (OK, "y =\n[21. 22.]\n", "")
        for source, arguments in [(array, ["row.weft", "-"]), (array, ["row.weft", "x=-"]), (graph, ["-", "a.npy"]),
                                  (array, ["row.weft", "x=/dev/stdin"])]:
            for piped in [False, True]:
                with self.subTest(arguments, piped=piped), open(source, "rb") as file:
                    feed = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) if piped else None
                    self.assertEqual(self.weft("run", *arguments, "--set", "n=2", stdin=feed.stdout if piped else file),
                                     expected)
                    if piped:
                        feed.stdout.close()
                        feed.wait()
        with open(array, "rb") as file:
            done = subprocess.run([WEFT, "einsum", "ij->", "-", "-o", "-"], stdin=file, capture_output=True)
        (self.folder / "o.npy").write_bytes(done.stdout)
        self.assertEqual((load(self.folder / "o.npy"), done.stderr), (((), [21]), b""))
        self.refuses(MISUSED, "einsum: standard input is given 2 times, but is read once", "einsum", "i,i->", "-", "-")
        for option in ["--stats", "--profile"]:
            self.refuses(MISUSED, f"run: {option} prints to standard output, which gets an array by -o",
                         "run", "row.weft", "a.npy", "-o", "y=-", option)
        self.refuses(MISUSED, "einsum: --print-order prints to standard output, which gets an array by -o",
                     "einsum", "ij->", "a.npy", "-o", "-", "--print-order", "path")
        status, _, error = self.weft("run", "-", "a.npy", stdin=subprocess.DEVNULL)
        self.assertEqual(status, FAILED)
        self.assertRegex(error, r"^weft run: standard input:1:1: .+\n$")
        self.refuses(FAILED, "einsum: standard input: the file ends inside the magic string and version",
                     "einsum", "ij->", "-", stdin=subprocess.DEVNULL)

    def test_closed_descriptors(self):
        """A file that is opened does not take the place of a closed standard one."""
        def close(number):
            return lambda: os.close(number)
        einsum = ["einsum", "ij->", "a.npy"]
        self.refuses(FAILED, "einsum: standard input cannot be read: Bad file descriptor", "einsum", "ij->", "-",
                     preexec_fn=close(0))
        self.refuses(FAILED, "einsum: standard output cannot be written: Bad file descriptor", *einsum, preexec_fn=close(1))
        self.refuses(FAILED, "einsum: standard output cannot be written: Bad file descriptor", *einsum, "-o", "-",
                     preexec_fn=close(1))
        self.assertEqual(self.weft(*einsum, "-o", "o.npy", "--stats", preexec_fn=close(1))[0], FAILED)
        self.assertEqual(load(self.folder / "o.npy"), ((), [21]))
        self.assertEqual(self.weft(*einsum, preexec_fn=close(2))[:2], (OK, "21.\n"))
        self.assertEqual(self.weft("einsum", "ij->", "none.npy", "-o", "o.npy", preexec_fn=close(2))[0], FAILED)


class Tune(Command):
    TUNE = ["run", "g.weft", "x=a.npy", "w=w.npy", "--tune", "0.2", "--schedules", "s", "-o", "y=y.npy"]

    def test_tune(self):
        status, out, error = self.weft(*self.TUNE)
        self.assertEqual((status, out), (OK, ""))
        self.assertRegex(error, r"^schedules tried: \d+, kernels: 2, faster now: \d; all take \S+ us, \S+ before\n$")
        text = (self.folder / "s").read_text()
        self.assertRegex(text, r'^schedules 0\.1\ntarget "weft \d+\.\d+\.\d+, llvm ')
        self.assertEqual(load(self.folder / "y.npy"), ((2, 3), [2, 40, 600, 8, 100, 1200]))
        self.assertEqual(self.weft(*self.TUNE[:4], "--schedules", "s", "-o", "y=y.npy"), (OK, "", ""))
        self.assertEqual(self.weft(*self.TUNE)[0], OK)

    def test_schedules_of_another_machine(self):
        (self.folder / "s").write_text('schedules 0.1 target "another" kernel "0123456789abcdef" "lanes i0 8 x 1"')
        note = "s: its schedules are for another machine or another version of weft, and are not used\n"
        self.assertEqual(self.weft(*self.TUNE[:4], "--schedules", "s", "-o", "y=y.npy"), (OK, "", note))
        text = (self.folder / "s").read_text()
        self.refuses(MISUSED, "run: --tune would replace the schedules in s, which are for another machine or another "
                     "version of weft: name another file", *self.TUNE)
        self.assertEqual((self.folder / "s").read_text(), text)

    def test_given(self):
        """A run and an object with a schedule that is given, or found: the result is the same, the code is not."""
        self.assertEqual(self.weft(*self.TUNE[:4], "--schedule", "lanes i1 8 x 2", "-o", "y=y.npy"), (OK, "", ""))
        self.assertEqual(load(self.folder / "y.npy"), ((2, 3), [2, 40, 600, 8, 100, 1200]))
        compile = ["compile", "g.weft", "--isa", "native", "-o", "."]
        codes = []
        for more in [], ["--schedule", "lanes i1 8 x 2"]:
            self.prints("", *compile, *more)
            codes.append((self.folder / "g.o").read_bytes())
        self.assertNotEqual(*codes)
        (self.folder / "s").write_text('schedules 0.1 target "another" kernel "0123456789abcdef" "lanes i0 8 x 1"')
        note = "s: its schedules are for another machine or another version of weft, and are not used\n"
        self.assertEqual(self.weft(*compile, "--schedules", "s"), (OK, "", note))
        self.assertEqual((self.folder / "g.o").read_bytes(), codes[0])
        self.assertEqual(self.weft(*compile[:2], "-o", ".", "--target", "aarch64-linux-gnu", "--schedules", "s"),
                         (OK, "", note))

    def test_misuse(self):
        run = self.TUNE[:4]
        status, _, error = self.weft("compile", "g.weft", "-o", ".", "--schedule", "lanes i1 8 x 2", "--target",
                                     "aarch64-linux-gnu")
        self.assertEqual(status, MISUSED)
        self.assertRegex(error, r"^weft compile: the schedules are for x86-64-v\d, the level of this process, and the "
                                r"object is for armv8-a\n")
        self.refuses(MISUSED, "run: --schedule takes MOVES or KERNEL:MOVES, not '0'", *run, "--schedule", "0")
        self.refuses(MISUSED, "run: --tune writes what it finds into a file: --schedules FILE", *run, "--tune", "1")
        self.refuses(MISUSED, "run: --tune looks for schedules, and --schedule gives one", *self.TUNE, "--schedule",
                     "lanes i1 8 x 2")
        self.refuses(MISUSED, "run: --tune is for the schedules of --backend llvm", *self.TUNE, "--backend", "ref")
        for option, value in [("--schedules", "s"), ("--schedule", "lanes i1 8 x 2")]:
            for backend in "ref", "ref-ordered":
                self.refuses(MISUSED, f"run: {option} is for the schedules of --backend llvm", *run, option, value,
                             "--backend", backend)
        self.refuses(MISUSED, "run: --tune takes a number above 0 and at most 1e9, not '0'", *run, "--tune", "0")
        for option, name in [("-o", "y=s"), ("--trace", "s")]:
            with self.subTest(option):
                status, _, error = self.weft(*run, "--tune", "1", "--schedules", "s", option, name)
                self.assertEqual(status, MISUSED)
                self.assertIn("'s'", error)


class Opt(Command):
    def test_graph(self):
        status, out, _ = self.weft("opt", "g.weft", "--passes", "canonicalize")
        self.assertEqual(status, OK)
        (self.folder / "again.weft").write_text(out)
        self.prints(out, "opt", "again.weft", "--passes", "")

    def test_emit(self):
        marks = {"loops": "kernel {", "schedule": "# by the rules", "scheduled": "lane", "llvm": "define", "asm": "kernel0:",
                 "ptx": ".visible .entry kernel0("}
        for name, mark in marks.items():
            with self.subTest(name):
                status, out, error = self.weft("opt", "g.weft", "--emit", name)
                self.assertEqual((status, error), (OK, ""))
                self.assertIn(mark, out)

    def test_reason(self):
        """A recurrence is no product, and nothing else is done about it with AVX2."""
        (self.folder / "scan.weft").write_text("""weft 0.1
graph {
  %a = input() {name = "a", dtype = f32, shape = [64, 784]}
  %x = input() {name = "x", dtype = f32, shape = [64, 784]}
  %0 = scan_linear(%a, %x) {axis = 1, reverse = false}
  return y = %0
}
""")
        env = {**os.environ, "WEFT_ISA": "x86-64-v3"}
        status, out, error = self.weft("opt", "scan.weft", "--emit", "schedule", env=env)
        if status == OK:
            self.assertIn("# by the rules: rows run in order", out)
        else:
            self.assertIn("x86-64-v3", error)

    def test_products(self):
        """A product of the library has no loops, and is drawn as one."""
        (self.folder / "product.weft").write_text("""weft 0.1
graph {
  %a = input() {name = "a", dtype = f32, shape = [2, 3]}
  %b = input() {name = "b", dtype = f32, shape = [3, 4]}
  %0 = dot(%a, %b) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  return y = %0
}
""")
        status, out, _ = self.weft("opt", "product.weft", "--emit", "loops", "--products", "generated")
        self.assertEqual(status, OK)
        self.assertIn("kernel {", out)
        self.prints("", "opt", "product.weft", "--emit", "loops", "--products", "library")
        drawn = [self.weft("view", "product.weft", "-o", "-", "--format", "dot", "--products", products)[1]
                 for products in ["generated", "library"]]
        self.assertNotEqual(*drawn)
        results = [self.weft("run", "product.weft", "a=a.npy", "b=b.npy", "--products", products)[:2]
                   for products in ["generated", "library"]]
        self.assertEqual(results[0][0], OK)
        self.assertEqual(*results)
        self.assertEqual(self.weft("run", "product.weft", "a=a.npy", "b=b.npy", "--products", "fast")[:2], results[0])
        self.refuses(MISUSED, "compile: --products fast is for programs that run here: objects compute products as without it",
                     "compile", "product.weft",
                     "--products", "fast")
        self.refuses(MISUSED, "run: --products takes one of generated|library|fast, not 'blis'", "run", "product.weft",
                     "--products", "blis")

    def test_functions(self):
        """Fast functions are other code, and close to the accurate ones."""
        (self.folder / "exp.weft").write_text("""weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [3]}
  %0 = exp(%x)
  return y = %0
}
""")
        self.save("three.npy", (3,), [-200, 0, 1])
        code = [self.weft("opt", "exp.weft", "--emit", "scheduled", "--functions", functions)[1]
                for functions in ["accurate", "fast"]]
        self.assertNotEqual(*code)
        self.prints("y =\n[       0.        1. 2.7182817]\n", "run", "exp.weft", "x=three.npy", "--functions", "fast")
        self.refuses(MISUSED, "run: --functions takes one of accurate|fast, not 'exact'", "run", "exp.weft",
                     "--functions", "exact")

    def test_schedules(self):
        """A schedule that is printed can be given; each kernel has its own."""
        _, out, _ = self.weft("opt", "g.weft", "--emit", "schedule")
        kernels = out.split("\n\n")
        self.assertEqual(len(kernels), 2)
        for number, kernel in enumerate(kernels):
            for moves in [line for line in kernel.splitlines() if not line.startswith("#")]:
                with self.subTest(number, moves=moves):
                    self.assertEqual(self.weft("opt", "g.weft", "--emit", "scheduled", "--schedule", f"{number}:{moves}")[0::2],
                                     (OK, ""))
        ruled, given = (self.weft("opt", "g.weft", "--emit", "scheduled", *more)[1]
                        for more in [(), ("--schedule", "lanes i1 8 x 2")])
        self.assertNotIn("lane 8 x 2", ruled)
        self.assertEqual(given.count("lane 8 x 2"), 1)
        self.assertLess(given.index("lane 8 x 2"), given.index("kernel 1"))

    def test_schedules_that_are_refused(self):
        for moves, message in [("2:lanes i0 8 x 1", "there is no kernel 2; the number of the program's kernels is 2"),
                               ("lanes i0 8 x 1",
                                'move 1 of the schedule, "lanes i0 8 x 1": the range is not the last outer one, nor the last of its stage'),
                               ("jam", "schedule:1:4: expected a range, as in i0, found the end of the text")]:
            with self.subTest(moves):
                status, out, error = self.weft("opt", "g.weft", "--emit", "scheduled", "--schedule", moves)
                self.assertEqual((status, out), (FAILED, ""))
                self.assertIn(message, error)
        self.refuses(MISUSED, "opt: --schedule takes MOVES or KERNEL:MOVES, not '0'", "opt", "g.weft", "--emit", "asm",
                     "--schedule", "0")
        self.refuses(FAILED, "opt: none cannot be read: No such file or directory", "opt", "g.weft", "--emit", "asm",
                     "--schedules", "none")
        self.refuses(MISUSED, "opt: --schedules changes what --emit scheduled, llvm, asm and ptx print, not graph", "opt",
                     "g.weft", "--schedules", "none")
        self.refuses(MISUSED, "opt: --machine changes what --emit schedule, scheduled, llvm and asm print, not ptx", "opt",
                     "g.weft", "--machine", "none", "--emit", "ptx")
        (self.folder / "bad").write_text("schedules 0.1 target kernel")
        self.refuses(FAILED, "opt: bad:1:22: expected the target, found 'kernel'", "opt", "g.weft", "--emit", "asm",
                     "--schedules", "bad")

    def test_estimates_for_a_machine(self):
        """Operations that take a second each."""
        machine = {"version": 3, "threads": 1, "product_rates": [1e9] * 4, "operations": 1, "cache_bandwidth": 1e9,
                   "sort_rate": 1e9, "bandwidth": 1e9, "dispatch_seconds": 0, "fork_join_seconds": 0}
        (self.folder / "slow.json").write_text(json.dumps(machine))
        host, slow = (float(re.search("^# ([0-9.e+]+) us: computing",
                                      self.weft("opt", "g.weft", "--emit", "schedule", *more)[1], re.MULTILINE)[1])
                      for more in [(), ("--machine", "slow.json")])
        self.assertLess(host, 1e6)
        self.assertGreater(slow, 1e6)

    def test_emit_at_levels(self):
        """What makes code, or tells of it, follows WEFT_ISA or refuses it; what makes none does not ask."""
        bogus, base = ({**os.environ, "WEFT_ISA": level} for level in ["bogus", "x86-64"])
        sentence = 'WEFT_ISA is "bogus"; it must be x86-64-v2, x86-64-v3, x86-64-v4 or, for runtime "ref" alone, x86-64'
        for name in ["scheduled", "llvm", "asm", "ptx"]:
            with self.subTest(name):
                self.refuses(FAILED, f"opt: {sentence}", "opt", "g.weft", "--emit", name, env=bogus)
        self.assertEqual(self.weft("info", env=bogus), (FAILED, "", f"weft info: {sentence}\n"))
        sentence = "the LLVM code generator needs x86-64-v2, but WEFT_ISA asks for x86-64"
        for name in ["llvm", "asm"]:
            with self.subTest(name):
                self.refuses(FAILED, f"opt: {sentence}", "opt", "g.weft", "--emit", name, env=base)
        for name in ["loops", "scheduled", "ptx"]:
            with self.subTest(name):
                self.assertEqual(self.weft("opt", "g.weft", "--emit", name, env=base)[0::2], (OK, ""))
        self.assertEqual(self.weft("opt", "g.weft", "--emit", "loops", env=bogus)[0::2], (OK, ""))

    def test_extremum_with_a_constant(self):
        """One instruction where the constant is neither NaN nor zero; NaN stays NaN in any case."""
        special = [float("nan"), -0.0, 0.0, -1.5, 1.0, float("inf"), float("-inf"), 1e-45]
        self.save("s.npy", (16,), special + [2.0] * 8)
        numbers = ["-1.5", "0.0", "-0.0", "inf", "nan"]
        for op, first, number in itertools.product(["max", "min"], [True, False], numbers):
            operands = "%k, %x" if first else "%x, %k"
            (self.folder / "m.weft").write_text(f"""weft 0.1
graph {{
  %x = input() {{name = "x", dtype = f32, shape = [16]}}
  %c = constant() {{dtype = f32, shape = [], data = [{number}]}}
  %k = broadcast(%c) {{shape = [16], axes = []}}
  %y = {op}({operands})
  return y = %y
}}
""")
            with self.subTest(op=op, first=first, number=number):
                for backend in ["llvm", "ref"]:
                    self.prints("", "run", "m.weft", "s.npy", "-o", f"{backend}.npy", "--backend", backend)
                found, expected = ([value if value == value else None for value in load(self.folder / f"{name}.npy")[1]]
                                   for name in ["llvm", "ref"])
                self.assertEqual(found, expected)
                if number in ["-1.5", "inf"]:
                    self.assertNotIn("blend", self.weft("opt", "m.weft", "--emit", "asm")[1])

    def test_memory_asked_for_early(self):
        """With AVX-512, where an array is long or a row is read again, unless that is short or long, or nothing but moved
        and more than caches hold."""
        for rows, columns, op, asks in [(100, 1024, "softmax", True), (100, 1000, "softmax", True),
                                        (100, 60, "softmax", False), (32, 4096, "softmax", False),
                                        (512, 4096, "softmax", True), (100, 1024, "sum", False),
                                        (512, 1024, "sum", True), (1 << 24, 1024, "sum", True),
                                        (8, 100000, "sum", True), (8, 1000000, "sum", True),
                                        (320, 1024, "sqrt", True), (1 << 24, 1024, "neg", False),
                                        (1 << 24, 1024, "tanh", True)]:
            reduced = f"""%m = reduce_max(%x) {{axes = [1]}}
  %r = reshape(%m) {{shape = [{rows}, 1]}}
  %b = broadcast(%r) {{shape = [{rows}, {columns}], axes = [0, 1]}}
  %c = sub(%x, %b)
  %e = exp(%c)
  %y = reduce_sum(%e) {{axes = [1]}}""" if op == "softmax" else f"%y = {op}(%x)"
            if op == "sum":
                reduced = "%y = reduce_sum(%x) {axes = [1]}"
            (self.folder / "p.weft").write_text(f"""weft 0.1
graph {{
  %x = input() {{name = "x", dtype = f32, shape = [{rows}, {columns}]}}
  {reduced}
  return y = %y
}}
""")
            for level in ["x86-64-v3", "x86-64-v4"]:
                status, out, error = self.weft("opt", "p.weft", "--emit", "llvm", env={**os.environ, "WEFT_ISA": level})
                with self.subTest(rows=rows, columns=columns, op=op, level=level):
                    if status == OK:
                        self.assertEqual("@llvm.prefetch" in out, asks and level == "x86-64-v4")
                    else:
                        self.assertIn(level, error)

    def test_rows_of_a_table_asked_for_early(self):
        """With AVX-512, of a line or more, where L2 does not hold the table; elements that are scattered, where memory
        has it."""
        for rows, columns, asks in [(50000, 32, True), (1000, 32, False), (300000, 8, False), (4000, 1000, True),
                                    (1000, 1, False), (1 << 28, 1, True)]:
            for op in ["%y = gather(%x, %i) {axes = [0], batch = []}",
                       "%y = scatter(%x, %u, %i) {axes = [0], batch = [], mode = \"add\"}"]:
                (self.folder / "p.weft").write_text(f"""weft 0.1
graph {{
  %x = input() {{name = "x", dtype = f32, shape = [{rows}, {columns}]}}
  %i = input() {{name = "i", dtype = i64, shape = [20]}}
  %u = input() {{name = "u", dtype = f32, shape = [20, {columns}]}}
  {op}
  return y = %y
}}
""")
                for level in ["x86-64-v3", "x86-64-v4"]:
                    status, out, error = self.weft("opt", "p.weft", "--emit", "llvm",
                                                   env={**os.environ, "WEFT_ISA": level})
                    with self.subTest(rows=rows, columns=columns, op=op, level=level):
                        if status == OK:
                            kernel = out[out.index("# kernel 1"):] if "# kernel 1" in out else out
                            wanted = asks and level == "x86-64-v4" and (columns > 1 or "scatter" in op)
                            self.assertEqual("@llvm.prefetch" in kernel, wanted)
                        else:
                            self.assertIn(level, error)

    def test_rows_with_a_pad_asked_for_early(self):
        """With AVX-512 their loads are masked ones, which processors do not fetch ahead."""
        (self.folder / "p.weft").write_text("""weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [400, 28, 28]}
  %z = constant() {dtype = f32, shape = [], data = [0]}
  %y = pad(%x, %z) {low = [0, 1, 1], high = [0, 1, 1]}
  return y = %y
}
""")
        status, out, error = self.weft("opt", "p.weft", "--emit", "llvm",
                                       env={**os.environ, "WEFT_ISA": "x86-64-v4"})
        if status == OK:
            self.assertRegex(out, r"@llvm.prefetch.p0\(ptr \S+, i32 0,")
        else:
            self.assertIn("x86-64-v4", error)

    def test_long_copies(self):
        """Runs of 16 KB and more that are only copied are the C library's."""
        for dtype, columns, op, copies in [("f32", 4096, "%x", True), ("f32", 4095, "%x", False),
                                           ("i64", 2048, "%x", True), ("bool", 16384, "%x", False),
                                           ("f32", 4096, "neg(%x)", False)]:
            (self.folder / "c.weft").write_text(f"""weft 0.1
graph {{
  %x = input() {{name = "x", dtype = {dtype}, shape = [64, {columns}]}}
  {"%v = neg(%x)" if op != "%x" else ""}
  %y = flip({"%v" if op != "%x" else "%x"}) {{axes = [0]}}
  return y = %y
}}
""")
            with self.subTest(dtype=dtype, columns=columns, op=op):
                self.assertEqual("llvm.memcpy" in self.weft("opt", "c.weft", "--emit", "llvm")[1], copies)

    def test_constants_in_memory(self):
        """With AVX2 the constants of a math function's polynomials are operands in memory; a few stay in registers."""
        for op, stored in [("sin", True), ("rsqrt", False)]:
            (self.folder / "f.weft").write_text(f"""weft 0.1
graph {{
  %x = input() {{name = "x", dtype = f32, shape = [4096]}}
  %y = {op}(%x)
  return y = %y
}}
""")
            for level in ["x86-64-v2", "x86-64-v3", "x86-64-v4"]:
                env = {**os.environ, "WEFT_ISA": level}
                status, out, error = self.weft("opt", "f.weft", "--emit", "llvm", env=env)
                with self.subTest(op=op, level=level):
                    if status == OK:
                        found = re.search(r"load <8 x float>, ptr @kernel0_f32_", out) is not None
                        self.assertEqual(found, stored and level == "x86-64-v3")
                    else:
                        self.assertIn(level, error)

    def test_unknown_pass(self):
        self.refuses(MISUSED, "opt: there is no pass 'foo'; the passes are lower, merge_folds, hoist, canonicalize, match_dot, match_sort, simplify, defer_division, canonicalize_dot",
                     "opt", "g.weft", "--passes", "lower,foo")
        for passes in ["lower,", ",lower", ",", "lower,,simplify"]:
            self.refuses(MISUSED, f"opt: --passes takes names with one comma between two of them, not '{passes}'",
                         "opt", "g.weft", "--passes", passes)
        self.refuses(MISUSED, "opt: --passes does nothing to the trees of --emit, which are those of the graph as it is given",
                     "opt", "g.weft", "--passes", "lower", "--emit", "trees")


class Compile(Command):
    def test_freestanding(self):
        status, _, error = self.weft("compile", "g.weft", "--freestanding", "-o", "free")
        if status != OK:
            self.assertEqual(error, "weft compile: this weft cannot make freestanding objects: it was built without clang "
                             "19, opt and llvm-link\n")
            return
        self.assertIn("Link g.o, which needs no library.", (self.folder / "free" / "g.h").read_text())
        self.assertNotIn("Requires:", (self.folder / "free" / "g.pc").read_text())

    def test_folder(self):
        """A file is not taken for one, nor made one."""
        (self.folder / "there").write_text("")
        for name in ["g.o", "out/g.h", "libg.a", "there"]:
            self.refuses(MISUSED, f"compile: -o {name}: it is the folder that NAME.o, NAME.h and NAME.pc are written to; "
                         "--name says NAME", "compile", "g.weft", "-o", name)

    def test_name(self):
        """Files that differ before their ending make objects that differ."""
        for file in ["my-net.v1.weft", "my-net.v2.weft"]:
            (self.folder / file).write_bytes((self.folder / "g.weft").read_bytes())
            self.prints("", "compile", file, "-o", "named")
        self.assertEqual({path.stem for path in (self.folder / "named").iterdir()}, {"my_net_v1", "my_net_v2"})

    def test_constants(self):
        """Inputs that are constants are no inputs of the object, which is that of a graph that has them as such."""
        self.save("rows.npy", (2,), [1, 2])
        for words in [("w=w.npy",), ("w=w.npy", "--weights", "file")]:
            self.prints("", "compile", "g.weft", "-o", "bound", "--constant", *words)
            told = self.weft("info", "bound/g.o")[1].splitlines()
            self.assertEqual([line for line in told if line.startswith("input")], ["input     x: f32 [n, 3]"])
        self.assertTrue((self.folder / "bound" / "g.weights").is_file())
        self.prints("", "opt", "g.weft", "--save", "g.saved")
        self.prints("", "compile", "g.saved", "-o", "bound", "--constant", "w=w.npy")
        for reason, *files in [("the graph has no input 'v'; its inputs: x, w", "v=w.npy"),
                               ("it is unclear which input 'w.npy' is; write NAME=w.npy; the graph's inputs: x, w", "w.npy"),
                               ("input 'w' is given twice", "w=w.npy", "w=a.npy")]:
            self.refuses(MISUSED, f"compile: {reason}", "compile", "g.weft",
                         *(word for file in files for word in ["--constant", file]))
        for reason, file in [('axis 0 of the array for input "w" has extent 2, but the program requires 3', "w=rows.npy"),
                             ('the array for input "w" has rank 2, but the program requires 1', "w=a.npy"),
                             ('input "x" cannot be a constant: axis 0 has extent n, which is no number', "x=a.npy"),
                             ("none.npy: cannot be opened: No such file or directory", "w=none.npy")]:
            self.refuses(FAILED, f"compile: {reason}", "compile", "g.weft", "--constant", file)

    def test_extents_that_no_call_has(self):
        (self.folder / "even.weft").write_text(
            'weft 0.1\nsymbol n in [1, 9]\nrequire n <= 5 "too many"\ngraph {\n'
            '  %x = input() {name = "x", dtype = f32, shape = [n]}\n  %y = exp(%x)\n  return y = %y\n}\n')
        for extents, reason in [("n=6", "too many: n = 6 (given in extents) must be at most 5 (even.weft:3)"),
                                ("n=1,n=1", "a group has two values for symbol n"),
                                ("n=10", '"n=10" is not one value from 1 to 9')]:
            self.refuses(MISUSED, f'compile: extents "{extents}": {reason}', "compile", "even.weft", "--extents", extents)


class View(Command):
    def test_svg(self):
        self.prints("", "view", "g.weft", "-o", "g.svg")
        root = xml.etree.ElementTree.parse(self.folder / "g.svg").getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for text in ["x", "w", "y", "total", "mul", "reduce_sum", "f32[n, 3]", "f32[n]", "step 0: kernel"]:
            self.assertIn(text, texts)

    def test_standard_output(self):
        for name in ["svg", "dot", "html"]:
            self.prints("", "view", "g.weft", "-o", f"g.{name}")
            text = (self.folder / f"g.{name}").read_text()
            self.prints(text, "view", "g.weft", "-o", "-", "--format", name)
            self.prints("", "view", "g.weft", "-o", "other.svg", "--format", name)
            self.assertEqual((self.folder / "other.svg").read_text(), text)
        self.refuses(MISUSED, "view: standard output needs a format: --format svg, dot or html",
                     "view", "g.weft", "-o", "-")

    def test_run_draws_all_formats(self):
        self.assertIn("--view FILE.html|FILE.svg|FILE.dot", self.weft("help", "run")[1])
        for name, mark in [("html", "<svg"), ("svg", "<svg"), ("dot", "digraph")]:
            self.prints("", "run", "g.weft", "x=a.npy", "w=w.npy", "-o", "total=t.npy", "--view", f"r.{name}")
            self.assertIn(mark, (self.folder / f"r.{name}").read_text())

    def test_dot(self):
        self.prints("", "view", "g.weft", "-o", "g.dot")
        text = (self.folder / "g.dot").read_text()
        self.assertIn("subgraph cluster_s0", text)
        self.assertEqual(text.count("{"), text.count("}"))
        self.assertRegex(text, r'n0 -> n\d+ \[label="f32\[n, 3\]" class="from0 to\d+"\]')

    def test_regions(self):
        (self.folder / "loop.weft").write_text("""weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [3]}
  %0 = fold(%x) {trips = 4, carried = 1} body (%i : i64[], %a : f32[3]) {
    %0 = exp(%a)
    yield %0
  }
  return y = %0
}
""")
        self.prints("", "view", "loop.weft", "-o", "loop.svg")
        root = xml.etree.ElementTree.parse(self.folder / "loop.svg").getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for text in ["step 0: region", "body of step 0: fold", "exp", "a"]:
            self.assertIn(text, texts)
        self.prints("", "view", "loop.weft", "-o", "loop.dot")
        text = (self.folder / "loop.dot").read_text()
        self.assertIn('label="body of step 0: fold"', text)
        self.assertRegex(text, r'r0_n\d+ -> r0_n\d+ \[label="f32\[3\]" \]')

    def test_misuse(self):
        self.refuses(MISUSED, "view: -o is needed: a file that ends in .svg, .dot or .html", "view", "g.weft")
        self.refuses(MISUSED, "view: -o takes a file that ends in .svg, .dot or .html, not 'g.png'",
                     "view", "g.weft", "-o", "g.png")
        self.refuses(FAILED, "view: none/g.svg cannot be written: No such file or directory",
                     "view", "g.weft", "-o", "none/g.svg")


if __name__ == "__main__":
    main()
