# SPDX-License-Identifier: Apache-2.0
"""The table of `weft info` against the holes it may have: matrix.py WEFT HOLES."""
import pathlib
import subprocess
import sys
import unittest

LACKS = {".": "both", "r": "llvm", "l": "ref", "lr": None}


def read_table(text):
    """The holes: (op, dtype) and what lacks it; and all ops."""
    lines = text.split("Runtimes that compute each op")[1].splitlines()[1:]
    dtypes, holes, ops = lines[0].split(), {}, []
    for line in lines[1:]:
        op, *marks = line.split()
        ops.append(op)
        assert len(marks) == len(dtypes), line
        holes.update({(op, dtype): LACKS[mark] for dtype, mark in zip(dtypes, marks) if LACKS[mark]})
    return ops, dtypes, holes


def read_holes(path):
    """Lines `lacks | dtypes | ops | reason`."""
    allowed = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        lacks, dtypes, ops, reason = (part.strip() for part in line.split("|"))
        assert lacks in LACKS.values() and reason, f"{path.name}:{number}: {line}"
        for cell in ((op, dtype) for op in ops.split() for dtype in dtypes.split()):
            assert cell not in allowed, f"{path.name}:{number}: {cell} has a reason already"
            allowed[cell] = lacks
    return allowed


class Matrix(unittest.TestCase):
    maxDiff = None

    def test_every_hole_has_a_reason(self):
        weft, path = sys.argv[1], pathlib.Path(sys.argv[2])
        done = subprocess.run([weft, "info"], capture_output=True, text=True, check=True)
        ops, dtypes, holes = read_table(done.stdout)
        allowed = read_holes(path)
        self.assertGreater(len(ops), 50)
        new = {cell: lacks for cell, lacks in holes.items() if allowed.get(cell) != lacks}
        stale = {cell: lacks for cell, lacks in allowed.items() if holes.get(cell) != lacks}
        for text, cells in [("no reason in", new), ("a stale entry of", stale)]:
            for (op, dtype), lacks in cells.items():
                print(f"{text} {path.name}: {lacks} | {dtype} | {op}")
        print(f"{len(ops) * len(dtypes)} cells, {len(holes)} holes, {len(new)} without a reason, {len(stale)} stale")
        self.assertEqual((new, stale), ({}, {}))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
