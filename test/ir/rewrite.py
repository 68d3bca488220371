# SPDX-License-Identifier: Apache-2.0
"""Rewriting what cases expect: what is up to date stays as it is, what is wrong becomes what it was: rewrite.py RUN
FILE..."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

RUN, *FILES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
# The first line that a case expects.
EXPECTED = re.compile(r"(?<=^# expect\n).*$", re.MULTILINE)
ERROR = re.compile(r"(?<=^# error: ).*$", re.MULTILINE)


class Rewrite(unittest.TestCase):
    def run_on(self, text, *options):
        """The status, what is printed, and what becomes of a file with that text."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cases"
            path.write_text(text)
            done = subprocess.run([RUN, *options, path], capture_output=True, text=True)
            return done.returncode, done.stdout, path.read_text()

    def test_up_to_date(self):
        for path in FILES:
            with self.subTest(path.name):
                text = path.read_text()
                status, out, after = self.run_on(text, "--rewrite")
                self.assertEqual((status, after), (0, text))
                self.assertNotIn("rewritten", out)

    def test_wrong_texts(self):
        found = 0
        for path in FILES:
            with self.subTest(path.name):
                text = path.read_text()
                wrong, count = EXPECTED.subn("nothing of the kind\n", text)
                found += count
                status, out, after = self.run_on(wrong, "--rewrite")
                self.assertEqual((status, after), (0, text))
                self.assertEqual(out.count(": rewritten\n"), count)
                if count > 0:
                    status, _, after = self.run_on(wrong)
                    self.assertEqual((status, after), (1, wrong))
        self.assertGreater(found, 100)

    def test_wrong_errors(self):
        found = 0
        for path in FILES:
            with self.subTest(path.name):
                wrong, count = ERROR.subn("nothing of the kind", path.read_text())
                found += count
                status, _, after = self.run_on(wrong, "--rewrite")
                self.assertEqual((status, after.count("nothing of the kind")), (0, 0))
                messages = ERROR.findall(path.read_text())
                self.assertTrue(all(part in whole for part, whole in zip(messages, ERROR.findall(after))))
                self.assertEqual(self.run_on(after)[0], 0)
        self.assertGreater(found, 50)

    def test_what_fails_stays(self):
        graph = 'weft 0.1\ngraph {\n  %x = input() {name = "x", dtype = f32, shape = [2]}\n  return %x\n}\n'
        broken = graph.replace("f32", "f7")
        for text in [f"# case: none is reported\n# error: some\n{graph}",
                     f"# case: one is reported\n{broken}# expect\n{broken}"]:
            with self.subTest(text.split("\n")[0]):
                status, _, after = self.run_on(text, "--rewrite")
                self.assertEqual((status, after), (1, text))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
