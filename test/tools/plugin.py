# SPDX-License-Identifier: Apache-2.0
"""Ops of a plugin on the command line: plugin.py WEFT SAMPLE.so."""
import pathlib
import shutil
import sys

from support import FAILED, MISUSED, OK, Command, main

SAMPLE = str(pathlib.Path(sys.argv[2]).resolve())

GRAPH = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [2, 3]}
  %0 = sample.median(%x)
  %1 = sample.swish(%0)
  return y = %1
}
"""


class Plugin(Command):
    def setUp(self):
        super().setUp()
        (self.folder / "p.weft").write_text(GRAPH)
        self.save("a.npy", (2, 3), [1, -1, 0, 102, 100, 101])

    def test_run(self):
        for backend in ["llvm", "ref"]:
            self.prints("y =\n[  0. 101.]\n",
                        "run", "p.weft", "x=a.npy", "--plugin", SAMPLE, "--backend", backend)

    def test_others(self):
        status, out, _ = self.weft("opt", "p.weft", "--plugin", SAMPLE)
        self.assertEqual(status, OK)
        self.assertIn("sample.median(%x)", out)
        self.assertNotIn("sample.swish", out)
        self.prints("", "view", "p.weft", "-o", "p.html", "--plugin", SAMPLE)
        self.assertIn("sample.median", (self.folder / "p.html").read_text())
        self.assertRegex(self.weft("info", "--plugin", SAMPLE)[1], r"\nextensions  sample .*: sample.swish sample.median\n")

    def test_failures(self):
        self.refuses(FAILED, "run: p.weft:4:8: no registered extension has the op 'sample.median'",
                     "run", "p.weft", "x=a.npy")
        (self.folder / "q.weft").write_text(GRAPH.replace("median", "mediam"))
        self.refuses(FAILED, "run: q.weft:4:8: its extension has no op 'sample.mediam'; did you mean 'sample.median'?",
                     "run", "q.weft", "x=a.npy", "--plugin", SAMPLE)
        status, _, error = self.weft("run", "p.weft", "x=a.npy", "--plugin", "none.so")
        self.assertEqual(status, FAILED)
        self.assertRegex(error, r"^weft run: .*none\.so.*\n$")
        shutil.copy(SAMPLE, self.folder / "other.so")
        self.refuses(MISUSED, "run: --plugin ./other.so has ops of family sample, which others have already",
                     "run", "p.weft", "x=a.npy", "--plugin", SAMPLE, "--plugin", "./other.so")


if __name__ == "__main__":
    main()
