# SPDX-License-Identifier: Apache-2.0
"""`weft check-gradients` on small graphs: gradients.py WEFT."""
import re

import numpy

from support import FAILED, MISUSED, OK, Command, main

SMOOTH = """weft 0.1
symbol n in [1, 16]
symbol m in [1, 16]
graph {
  %x = input() {name = "x", dtype = f32, shape = [n, m]}
  %w = input() {name = "w", dtype = f16, shape = [m, 3]}
  %i = input() {name = "i", dtype = i64, shape = [n]}
  %0 = tanh(%x)
  %1 = cast(%w) {dtype = f32}
  %2 = dot(%0, %1) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %3 = log(%x)
  return y = %2, "its log" = %3, i = %i
}
"""
COMPLEX = """weft 0.1
graph {
  %z = input() {name = "z", dtype = c64, shape = [3]}
  %0 = exp(%z)
  %1 = mul(%0, %z)
  %2 = abs(%1)
  return w = %1, size = %2
}
"""
RELU = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f64, shape = [8]}
  %0 = constant() {dtype = f64, shape = [], data = [0]}
  %1 = broadcast(%0) {shape = [8], axes = []}
  %2 = le(%x, %1)
  %3 = select(%2, %1, %x)
  return y = %3
}
"""
BITS = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [8]}
  %0 = bitcast(%x) {dtype = i32}
  %1 = bitcast(%0) {dtype = f32}
  %2 = exp(%x)
  %3 = add(%1, %2)
  return y = %3
}
"""
BENT = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [1]}
  %0 = bitcast(%x) {dtype = i32}
  %1 = bitcast(%0) {dtype = f32}
  %2 = constant() {dtype = f32, shape = [1], data = [2]}
  %3 = constant() {dtype = f32, shape = [1], data = [30]}
  %4 = mul(%1, %2)
  %5 = mul(%1, %3)
  %6 = max(%4, %5)
  return y = %6
}
"""
WHILE = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f64, shape = []}
  %c = constant() {dtype = f64, shape = [], data = [10]}
  %0 = while(%x, %c) {carried = 1} condition (%a : f64[], %k : f64[]) {
    %0 = lt(%a, %k)
    yield %0
  } body (%a : f64[], %k : f64[]) {
    %0 = add(%a, %a)
    yield %0
  }
  return y = %0
}
"""
INDICES = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f64, shape = [2]}
  %i = input() {name = "i", dtype = i64, shape = [3]}
  %0 = gather(%x, %i) {axes = [0], batch = []}
  %1 = sin(%0)
  return y = %1
}
"""
FAST = """weft 0.1
graph {
  %%x = input() {name = "x", dtype = f64, shape = [4]}
  %%0 = constant() {dtype = f64, shape = [], data = [%d.0]}
  %%1 = broadcast(%%0) {shape = [4], axes = []}
  %%2 = stop_gradient(%%x)
  %%3 = mul(%%1, %%2)
  %%4 = sin(%%3)
  %%5 = mul(%%4, %%x)
  return y = %%4, z = %%5
}
"""
# Of large terms that cancel, so that the gradients are zero, or what rounding leaves.
CANCEL = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f64, shape = [6]}
  %0 = constant() {dtype = f64, shape = [], data = [1e8]}
  %1 = broadcast(%0) {shape = [6], axes = []}
  %2 = constant() {dtype = f64, shape = [], data = [6]}
  %3 = reduce_sum(%x) {axes = [0]}
  %4 = div(%3, %2)
  %5 = broadcast(%4) {shape = [6], axes = []}
  %6 = sub(%x, %5)
  %7 = mul(%6, %1)
  %8 = reduce_sum(%7) {axes = [0]}
  %9 = sin(%x)
  %10 = cos(%x)
  %11 = mul(%9, %9)
  %12 = mul(%10, %10)
  %13 = add(%11, %12)
  %14 = mul(%13, %1)
  %15 = sub(%14, %1)
  return sum = %8, circle = %14, nothing = %15
}
"""

class Gradients(Command):
    def setUp(self):
        super().setUp()
        for name, text in [("smooth", SMOOTH), ("complex", COMPLEX), ("relu", RELU), ("bits", BITS), ("indices", INDICES)]:
            (self.folder / f"{name}.weft").write_text(text)

    def lines(self, status, *arguments):
        """What each line says of an output and an input."""
        found, out, error = self.weft("check-gradients", *arguments)
        self.assertEqual(found, status, out + error)
        return dict(line.split(": ", 1) for line in out.splitlines())

    def is_small(self, line):
        jvp, vjp = map(float, re.fullmatch(r"jvp (\S+), vjp (\S+)( \(\d+ of \d+ numbers skipped\))?", line).groups()[:2])
        self.assertLess(jvp, 1e-8)
        self.assertLess(vjp, 1e-13)

    def test_every_pair_has_a_line(self):
        """In f64, whatever the dtypes of the graph are."""
        lines = self.lines(OK, "smooth.weft")
        self.assertEqual(list(lines), ["y by x", "its log by x", "y by w", "its log by w"])
        for line in lines.values():
            self.is_small(line)

    def test_second_order(self):
        lines = self.lines(OK, "smooth.weft", "--order", "2", "--set", "n=2", "--points", "1")
        self.assertEqual(list(lines)[4:], [f"gradient of {one} by {other}" for other in "xw" for one in "xw"])
        for line in lines.values():
            self.is_small(line)

    def test_complex(self):
        for line in self.lines(OK, "complex.weft", "--order", "2").values():
            self.is_small(line)

    def test_seed(self):
        """Repeats a check; another draws other points."""
        first, again, other = (self.weft("check-gradients", "smooth.weft", "--seed", seed) for seed in "112")
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_kinks(self):
        """Between points they are avoided; at one, what lies between the slopes of both sides is right."""
        self.is_small(self.lines(OK, "relu.weft")["y by x"])
        self.save("x.npy", (8,), [0.5, -1, 0, 2, 3, 4, 5, 6], "<f8")
        line = self.lines(OK, "relu.weft", "x=x.npy")["y by x"]
        self.assertRegex(line, r"^jvp \S+, vjp \S+ \(3 of 24 numbers at a kink\)$")

    def test_wrong_at_a_kink(self):
        """The chain of bitcasts has the slope 0, and the function 2 to the left and 30 to the right."""
        (self.folder / "bent.weft").write_text(BENT)
        self.save("x.npy", (1,), [0], "<f4")
        status, out, error = self.weft("check-gradients", "bent.weft", "x=x.npy", "--points", "1")
        self.assertEqual((status, error), (FAILED, "weft check-gradients: 1 of 1 derivative is wrong\n"))
        self.assertRegex(out.splitlines()[-1],
                         r"^y by x: wrong: number 0 of jvp is 0, one-sided differences give -?[\d.]+ and -?[\d.]+$")

    def test_terms_that_cancel(self):
        """What rounding leaves of them is no wrong derivative."""
        (self.folder / "cancel.weft").write_text(CANCEL)
        for seed in range(1, 9):
            self.assertEqual(len(self.lines(OK, "cancel.weft", "--seed", str(seed))), 3)

    def test_what_changes_fast(self):
        """Is not taken for rounding: none of these gradients are zero."""
        for scale in (10, 1000, 3000, 10000, 100000):
            (self.folder / "fast.weft").write_text(FAST % scale)
            for seed in range(1, 4):
                status, _, error = self.weft("check-gradients", "fast.weft", "--seed", str(seed))
                self.assertEqual((status, error), (FAILED, "weft check-gradients: 2 of 2 derivatives are wrong\n"))

    def test_what_cannot_be_checked(self):
        """Has another exit status than what is wrong."""
        (self.folder / "while.weft").write_text(WHILE)
        status, _, error = self.weft("check-gradients", "while.weft")
        self.assertEqual(status, MISUSED)
        self.assertRegex(error, r"^weft check-gradients: while: the op has no derivative in .* \(while.weft:5\)\n$")
        self.refuses(MISUSED, "check-gradients: none.weft cannot be read: No such file or directory", "check-gradients",
                     "none.weft")
        (self.folder / "broken.weft").write_text("weft 0.1\ngraph {\n")
        self.assertEqual(self.weft("check-gradients", "broken.weft")[0], MISUSED)
        self.refuses(MISUSED, "check-gradients: none.npy: cannot be opened: No such file or directory",
                     "check-gradients", "relu.weft", "x=none.npy")

    def test_own_dtypes(self):
        status, out, _ = self.weft("check-gradients", "bits.weft")
        first, line = out.splitlines()
        self.assertRegex(first, "^in its own dtypes, with tolerances to match, since it is no graph in f64: bits.weft:")
        self.assertEqual(status, FAILED)  # the chain of bitcasts has no slope, but differences see one
        self.assertIn("y by x: wrong", line)

    def test_misuse(self):
        for sentence, *words in [
                ("'x.npy' does not begin with the name of an input and '=', as in x=x.npy", "relu.weft", "x.npy"),
                ("the graph has no input 'w'; its inputs: x", "relu.weft", "w=x.npy"),
                ("--set names 'k', but the graph has no such symbol; its outputs need: n, m", "smooth.weft", "--set", "k=2"),
                ("--order takes one of 1|2|3|4, not '5'", "smooth.weft", "--order", "5"),
                ("--order takes one of 1|2|3|4, not '0'", "smooth.weft", "--order", "0"),
                ("--set gives 'n' twice", "smooth.weft", "--set", "n=2", "--set", "n=3")]:
            self.refuses(MISUSED, f"check-gradients: {sentence}", "check-gradients", *words)
        unneeded = SMOOTH.replace("graph {", "symbol k in [1, 9]\ngraph {", 1)
        (self.folder / "unneeded.weft").write_text(unneeded)
        self.assertEqual(self.lines(OK, "unneeded.weft", "--set", "k=2"), self.lines(OK, "smooth.weft"))
        self.refuses(MISUSED, "check-gradients: symbol k = 10 is outside [1, 9] (given by --set)",
                     "check-gradients", "unneeded.weft", "--set", "k=10")
        self.weft("opt", "relu.weft", "--save", "relu.saved")
        self.refuses(MISUSED, "check-gradients: 'relu.saved' is a saved program; gradients are those of a graph",
                     "check-gradients", "relu.saved")
        (self.folder / "given.weft").write_text('weft 0.1\nsymbol n in [1, 9]\ngraph {\n  %x = input() {name = "x", dtype = f32, shape = [n, 3]}\n'
                                                "  %0 = exp(%x)\n  return y = %0\n}\n")
        for sentence, given in [
                ("[2, 32] in its file, but [2, 3] in the graph", numpy.zeros((2, 32), "f4")),
                ("[6] in its file, but [4, 3] in the graph", numpy.zeros(6)),
                ("i32[4, 3] in its file, but f64[4, 3] in the graph", numpy.zeros((4, 3), "i4")),
                ("c64[4, 3] in its file, but f64[4, 3] in the graph", numpy.zeros((4, 3), "c8"))]:
            numpy.save(self.folder / "given.npy", given)
            self.refuses(MISUSED, f"check-gradients: input 'x' is {sentence}", "check-gradients", "given.weft", "x=given.npy")
        (self.folder / "rows.weft").write_text('weft 0.1\nsymbol n in [1, 9]\nsymbol m in [1, 9]\ngraph {\n'
                                               '  %x = input() {name = "x", dtype = f32, shape = [n]}\n'
                                               "  %0 = reshape(%x) {shape = [m, 3]}\n  return y = %0\n}\n")
        source = "by --set, or else by default"
        self.refuses(MISUSED, "check-gradients: reshape: f64[n] and f64[m, 3] must have equally many elements "
                     f"(operand 0 is x): n = 6 ({source}) must equal 3*m = 12 (m = 4 {source}) (rows.weft:6)",
                     "check-gradients", "rows.weft", "--set", "n=6")
        (self.folder / "whole.weft").write_text(RELU.replace("f64", "i64"))
        self.refuses(MISUSED, "check-gradients: the graph has no gradient: it takes an input and an output of a float dtype",
                     "check-gradients", "whole.weft")


if __name__ == "__main__":
    main()
