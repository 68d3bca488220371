# SPDX-License-Identifier: Apache-2.0
"""Command lines in documents: lines.py WEFT SAMPLE.so."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from support import OK, WEFT, Command, main

SOURCE = pathlib.Path(__file__).resolve().parents[2]

ROW = """weft 0.1
symbol n in [1, 16]
graph {
  %x = input() {name = "x", dtype = f32, shape = [3, 4]}
  %0 = reduce_sum(%x) {axes = [1]}
  %1 = broadcast(%0) {shape = [3, 2], axes = [0]}
  return y = %1
}
"""


LAYER = """weft 0.1
symbol n in [1, 100]
graph {
  %x = input() {name = "x", dtype = f32, shape = [n, 2]}
  %w = constant() {dtype = f32, shape = [2, 2], data = [1, 2, 3, 4]}
  %0 = dot(%x, %w) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]}
  %b = input() {name = "b", dtype = f32, shape = [2]}
  %1 = broadcast(%b) {shape = [n, 2], axes = [1]}
  %2 = add(%0, %1)
  return y = %2
}
"""


class Lines(Command):
    """Every command line in the README and the guide works as it stands."""
    def setUp(self):
        super().setUp()
        (self.folder / "graph.weft").write_text(ROW)
        (self.folder / "layer.weft").write_text(LAYER)
        self.save("x.npy", (3, 4), range(12))
        self.save("bias.npy", (2,), range(2))
        shutil.copy(sys.argv[2], self.folder / "libmine.so")
        (self.folder / "network.json").write_text(json.dumps(
            {"inputs": [[0, 1], [1, 2], [2, 3], [3, 4]], "output": [0, 4], "sizes": [2, 3, 4, 5, 6]}))
        with zipfile.ZipFile(self.folder / "in.npz", "w") as archive:
            archive.write(self.folder / "x.npy", "x.npy")

    def test_documented(self):
        pages = [SOURCE / "README.md", *sorted((SOURCE / "tools/doc/guide").glob("*.md"))]
        lines = [(page, line) for page in pages
                 for line in re.findall(r"^    ((?:cat .*\| )?weft .*?)(?:   .*)?$", page.read_text(), re.MULTILINE)]
        lines = [(page, line) for page, line in lines if not line.startswith("weft 0.1")]
        self.assertGreater(len(lines), 15)
        for page, line in lines:
            with self.subTest(line, page=page.name):
                quick = line.replace("-budget 60", "-budget 0.1").replace("--tune 20", "--tune 0.1")
                done = subprocess.run(["bash", "-o", "pipefail", "-c", quick],
                                      cwd=self.folder, capture_output=True, text=True,
                                      env=os.environ | {"HOME": str(self.folder), "PATH": f"{WEFT.parent}:{os.environ['PATH']}"})
                told = r"schedules tried: \d+, .*\n" if "--tune" in line else ""
                self.assertEqual(done.returncode, OK)
                self.assertRegex(done.stderr, f"^{told}$")


if __name__ == "__main__":
    main()
