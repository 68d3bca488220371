# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: a folder of small files, and calls of the command in it."""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

WEFT = pathlib.Path(sys.argv[1]).resolve()
OK, FAILED, MISUSED = 0, 1, 2
LETTERS = {"<f4": "f", "<f8": "d", "<i8": "q", "|b1": "?"}

GRAPH = """weft 0.1
symbol n in [1, 1024]
graph {
  %x = input() {name = "x", dtype = f32, shape = [n, 3]}
  %w = input() {name = "w", dtype = f32, shape = [3]}
  %0 = broadcast(%w) {shape = [n, 3], axes = [1]}
  %1 = mul(%x, %0)
  %2 = add(%1, %1)
  %3 = reduce_sum(%2) {axes = [1]}
  return y = %2, total = %3
}
"""


def save(path, descr, shape, values):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    body = struct.pack(f"<{len(values)}{LETTERS[descr]}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body)


def load(path):
    data = path.read_bytes()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end])  # what weft itself wrote
    letter = LETTERS[header["descr"]]
    count = (len(data) - end) // struct.calcsize(letter)
    return header["shape"], list(struct.unpack(f"<{count}{letter}", data[end:]))


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.save("a.npy", (2, 3), [1, 2, 3, 4, 5, 6])
        self.save("b.npy", (3, 4), range(12))
        self.save("c.npy", (4, 2), range(8))
        self.save("w.npy", (3,), [1, 10, 100])
        (self.folder / "g.weft").write_text(GRAPH)

    def save(self, name, shape, values, descr="<f4"):
        save(self.folder / name, descr, shape, values)

    def weft(self, *arguments, **options):
        done = subprocess.run([WEFT, *arguments], cwd=self.folder, capture_output=True, text=True, **options)
        return done.returncode, done.stdout, done.stderr

    def prints(self, expected, *arguments):
        self.assertEqual(self.weft(*arguments), (OK, expected, ""))

    def refuses(self, status, sentence, *arguments, **options):
        found, _, error = self.weft(*arguments, **options)
        self.assertEqual((found, error), (status, f"weft {sentence}\n"))


def main():
    unittest.main(module="__main__", argv=sys.argv[:1])
