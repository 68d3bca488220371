# SPDX-License-Identifier: Apache-2.0
"""Saved programs in place of graphs: saved.py WEFT."""
import json
import os

from support import FAILED, MISUSED, OK, Command, main

SUMMARY = """weft      0.1
policy    products library, functions fast
symbol    n in [1, 1024]
input     x: f32 [n, 3]
input     w: f32 [3]
output    y: f32 [n, 3]
output    total: f32 [n]
"""


class Saved(Command):
    def setUp(self):
        super().setUp()
        self.prints("", "opt", "g.weft", "--functions", "fast", "--products", "library", "--save", "g.saved")

    def test_same_results(self):
        inputs = ["x=a.npy", "w=w.npy"]
        expected = self.weft("run", "g.weft", *inputs)
        self.assertEqual(expected[0], OK)
        self.assertEqual(self.weft("run", "g.saved", *inputs), expected)
        with open(self.folder / "g.saved") as saved:
            self.assertEqual(self.weft("run", "-", *inputs, stdin=saved), expected)

    def test_says_what_it_is(self):
        self.prints(SUMMARY, "info", "g.saved")
        self.assertEqual(self.weft("opt", "g.saved"), self.weft("opt", "g.weft"))

    def test_is_saved_again(self):
        self.prints("", "opt", "g.saved", "--save", "again")
        self.assertEqual((self.folder / "again").read_bytes(), (self.folder / "g.saved").read_bytes())
        status, out, _ = self.weft("opt", "g.saved", "--save", "again", "--emit", "graph")
        self.assertEqual((status, out), self.weft("opt", "g.weft")[:2])

    def test_other_commands(self):
        self.prints("", "compile", "g.saved", "-o", ".")
        self.assertIn("functions fast", self.weft("info", "g.o")[1])
        self.prints("", "view", "g.saved", "-o", "g.dot")
        self.prints("", "view", "g.weft", "--products", "library", "-o", "same.dot")
        self.assertEqual((self.folder / "g.dot").read_text(), (self.folder / "same.dot").read_text())

    def test_code_is_used(self):
        inputs = ["x=a.npy", "w=w.npy"]
        expected = self.weft("run", "g.weft", *inputs)[1]
        self.assertEqual(self.weft("run", "g.weft", *inputs, "--save", "code"), (OK, expected, ""))
        self.assertIn("code      2 kernels\n", self.weft("info", "code")[1])
        for options, kernels in [(["--saved-code"], 0), ([], 2)]:
            status, out, _ = self.weft("run", "code", *inputs, *options, "--stats")
            results, stats = out.rsplit("\n", 2)[:2]
            self.assertEqual((status, results + "\n"), (OK, expected))
            self.assertEqual(json.loads(stats)["kernels"], kernels)
        self.prints(expected, "run", "code", *inputs, "--saved-code", "--save", "again")
        self.assertEqual((self.folder / "again").read_bytes(), (self.folder / "code").read_bytes())
        self.prints("", "opt", "code", "--save", "plain")
        self.assertNotIn("code ", self.weft("info", "plain")[1])
        sentence = "'{}' has no code for {} of this run, compiled now; --save keeps code\n"
        self.assertEqual(self.weft("run", "plain", *inputs, "--saved-code"),
                         (OK, expected, sentence.format("plain", "2 kernels")))
        code = bytearray((self.folder / "code").read_bytes())
        code[-1] ^= 1
        (self.folder / "damaged").write_bytes(code)
        self.assertEqual(self.weft("run", "damaged", *inputs, "--saved-code"),
                         (OK, expected, sentence.format("damaged", "1 kernel")))
        other = {**os.environ, "WEFT_ISA": "x86-64-v2"}
        self.assertEqual(self.weft("run", "code", *inputs, "--saved-code", env=other),
                         (OK, expected, sentence.format("code", "2 kernels")))
        self.prints(expected, "run", "plain", *inputs, "--saved-code", "--backend", "ref")

    def test_no_code_is_needed(self):
        (self.folder / "dot.weft").write_text("""weft 0.1
graph {
  %a = input() {name = "a", dtype = f32, shape = [2, 3]}
  %b = input() {name = "b", dtype = f32, shape = [3, 4]}
  %y = dot(%a, %b) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  return %y
}
""")
        inputs = ["a=a.npy", "b=b.npy"]
        expected = self.weft("run", "dot.weft", *inputs)[1]
        self.prints(expected, "run", "dot.weft", *inputs, "--products", "library", "--save", "dot.saved")
        self.prints(expected, "run", "dot.saved", *inputs, "--saved-code")

    def test_code_is_of_saved_programs(self):
        inputs = ["x=a.npy", "w=w.npy"]
        self.refuses(MISUSED, "run: --saved-code is for a saved program, which 'g.weft' is not", "run", "g.weft",
                     *inputs, "--saved-code")
        self.refuses(MISUSED, "run: --save is for the code of --backend llvm; 'weft opt --save' saves a program without "
                     "code", "run", "g.weft", *inputs, "--backend", "ref", "--save", "code")
        self.refuses(MISUSED, "run: a result of --save in 'g.saved' would overwrite 'g.saved', which is also read",
                     "run", "g.saved", *inputs, "--save", "g.saved")

    def test_is_compiled_already(self):
        for command, *options in [["run", "--products", "library"], ["run", "--functions", "fast"],
                                  ["compile", "--functions", "fast"], ["opt", "--passes", "lower"],
                                  ["view", "-o", "g.svg", "--products", "library"]]:
            name = options[-2]
            self.refuses(MISUSED, f"{command}: {name} is for a graph that is compiled now; 'g.saved' is a saved "
                         "program", command, "g.saved", *options)
        self.refuses(MISUSED, "opt: --emit trees is for a graph that is compiled now", "opt", "g.saved", "--emit",
                     "trees")

    def test_files_that_are_wrong(self):
        whole = (self.folder / "g.saved").read_bytes()
        for name, content, reason in [("cut", whole[:-1], "it is damaged"),
                                      ("longer", whole + b" ", "it is damaged"),
                                      ("changed", whole.replace(b"axes = [1]}", b"axes = [0]}"), "it is damaged"),
                                      ("head", whole[:20], "its first line is damaged"),
                                      ("old", whole.replace(b"program 0.1 ", b"program 0.0 ", 1),
                                       "it was saved by weft 0.0, this is 0.1")]:
            (self.folder / name).write_bytes(content)
            for command in ["run", "opt", "info", "compile"]:
                self.refuses(FAILED, f"{command}: {name}: {reason}", command, name)
        self.refuses(MISUSED, "opt: --save needs the name of a file, not '-'", "opt", "g.weft", "--save", "-")
        self.refuses(MISUSED, "opt: a result of --save in 'g.saved' would overwrite 'g.saved', which is also read",
                     "opt", "g.saved", "--save", "g.saved")
        self.refuses(MISUSED, "opt: --save writes a program, and --emit trees makes none", "opt", "g.weft", "--emit",
                     "trees", "--save", "new")
        self.refuses(FAILED, "opt: no/g cannot be written: No such file or directory", "opt", "g.weft", "--save",
                     "no/g")


if __name__ == "__main__":
    main()
