# SPDX-License-Identifier: Apache-2.0
"""Builds the programs that learn with an installed weft, and runs them: train.py BUILD SOURCE."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "test/install"))
from installed import SOURCE, Installed, run  # noqa: E402

FOLDER = SOURCE / "test/example/train"


class Training(Installed):
    def train(self, name, *arguments):
        """What the program prints, and its losses."""
        program = self.build(name, "-Wconversion", "-Wshadow", FOLDER / f"{name}.c", *self.flags("weft-einsum"), "-lm")
        said = run(program, *arguments, env=self.environment)
        losses = [float(number) for number in re.findall(r"^step +\d+: loss (\S+?),?(?: .*)?$", said, re.MULTILINE)]
        self.assertEqual(len(losses), 6, said)
        return said, losses

    # Limits are such that the programs miss them where the gradient of one layer is left out.

    def check_digits(self, name, least, most_loss):
        said, losses = self.train(name, FOLDER / "digits.txt")
        self.assertGreaterEqual(int(re.search(r"(\d+) of 450 recognised", said).group(1)), least, said)
        self.assertLess(losses[-1], most_loss)

    def test_layers(self):
        self.check_digits("layers", 405, 0.01)

    def test_convolution(self):
        self.check_digits("convolution", 414, 0.006)

    def test_characters(self):
        _, losses = self.train("characters", SOURCE / "LICENSE")
        self.assertGreater(losses[0], 4)
        self.assertLess(losses[-1], 1.85)

    def test_recurrent(self):
        said, _ = self.train("recurrent")
        self.assertGreaterEqual(int(re.search(r"(\d+) of 64 remembered", said).group(1)), 62, said)

    def test_equation(self):
        said, losses = self.train("equation")
        found = dict(re.findall(r"([abcd]) (\d\.\d+)", said))
        for name, right in {"a": 1.1, "b": 0.4, "c": 0.4, "d": 0.1}.items():
            self.assertAlmostEqual(float(found[name]), right, delta=0.005, msg=said)
        self.assertLess(losses[-1], 1e-4)

    def test_chain(self):
        """No state has less energy than the lowest."""
        said, _ = self.train("chain")
        off = float(re.search(r"off by (\S+)", said).group(1))
        self.assertTrue(-1e-9 < off < 3e-3, said)

    def test_no_data(self):
        for name in ("layers", "characters"):
            program = self.build(f"{name}-without", FOLDER / f"{name}.c", *self.flags("weft-einsum"), "-lm")
            for arguments, code, complaint in [([], 2, "usage: "), (["nothing"], 1, "nothing: cannot be read")]:
                done = subprocess.run([program, *arguments], env=self.environment, capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, code)
                self.assertTrue(done.stderr.startswith(complaint), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
