# SPDX-License-Identifier: Apache-2.0
"""Profiles, traces and pages: profile.py WEFT [--small]."""
import html.parser
import json
import os
import random
import re
import resource
import subprocess
import sys
import unittest

from support import FAILED, MISUSED, OK, WEFT, Command, main

# Without what only takes longer than the rest.
SMALL = "--small" in sys.argv
LINE = re.compile(r"^ *([\d.]+) +([\d.]+)% +(\S+) +(\S+) +(\S+) +(\S+)  ( *)(.+)$")

PRODUCT = """weft 0.1
symbol n in [1, 1024]
graph {
  %a = input() {name = "a", dtype = f32, shape = [n, n]}
  %0 = add(%a, %a)
  %1 = dot(%0, %a) {batch_a = [], batch_b = [], contract_a = [1], contract_b = [0]} as product
  %2 = fold(%1) {trips = 3, carried = 1} body (%k : i64[], %x : f32[n, n]) {
    %0 = mul(%x, %x)
    yield %0
  }
  return "y </script> \\" <" = %2
}
"""


LOOP = """weft 0.1
graph {
  %x = constant() {dtype = i64, shape = [], data = [0]}
  %t = fold(%x) {trips = TRIPS, carried = 1} body (%i : i64[], %a : i64[]) {
    %b = add(%a, %i)
    yield %b
  }
  return t = %t
}
"""


class Page(html.parser.HTMLParser):
    """The boxes of a page, and what its script is told."""

    def __init__(self, text):
        super().__init__()
        self.nodes, self.steps, self.reading, self.data, self.foreign = set(), set(), False, "", []
        self.feed(text)
        self.told = json.loads(self.data)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.reading = tag == "script" and attrs.get("type") == "application/json"
        self.foreign += [attrs[name] for name in ("src", "href") if name in attrs]
        kinds = attrs.get("class", "").split() if tag == "g" else []
        self.nodes.update(int(kind[1:]) for kind in kinds if kinds[0] == "node" and re.fullmatch(r"n\d+", kind))
        self.nodes.update(int(kind[2:]) for kind in kinds if kinds[0] == "edge" and re.fullmatch(r"by\d+", kind))
        self.steps.update(int(kind[1:]) for kind in kinds if kinds[0] == "cluster" and re.fullmatch(r"s\d+", kind))

    def handle_endtag(self, tag):
        self.reading = False

    def handle_data(self, data):
        self.data += data if self.reading else ""


class Profile(Command):
    def setUp(self):
        super().setUp()
        (self.folder / "p.weft").write_text(PRODUCT)
        self.save("square.npy", (64, 64), [0.5] * 4096)

    def run_profiled(self, *more):
        status, out, error = self.weft("run", "p.weft", "a=square.npy", "-o", "o.npy", *more)
        self.assertEqual((status, error), (OK, ""))
        return out

    def test_table(self):
        lines = self.run_profiled("--profile", "--repeat", "3").splitlines()
        self.assertEqual(lines[0].split(), ["ms", "share", "MB", "GB/s", "Mflop", "GF/s", "step"])
        rows = [LINE.match(line).groups() for line in lines[1:]]
        square = 4 * 64 * 64 / 1e6
        expected = [("", "0 kernel add", 2 * square, 64 * 64 / 1e6),
                    ("", "1 product product", 3 * square, 2 * 64**3 / 1e6),
                    ("", "2 region fold", None, None),
                    ("  ", "3 kernel mul (3 times)", 6 * square, 3 * 64 * 64 / 1e6),
                    ("", "all steps; medians of 3 runs; bytes and flops are estimates", 11 * square, None)]
        self.assertEqual([(row[6], row[7]) for row in rows], [row[:2] for row in expected])
        for (_, _, megabytes, _, megaflops, *_), (_, name, moved, done) in zip(rows, expected):
            with self.subTest(name):
                if name != expected[-1][1]:
                    self.assertEqual(megaflops, "-" if done is None else f"{done:.3f}")
                self.assertEqual(megabytes, "-" if moved is None else f"{moved:.3f}")
        self.assertAlmostEqual(sum(float(row[1]) for row in rows[:3]), 100, delta=0.2)

    def test_trace(self):
        self.assertEqual(self.run_profiled("--trace", "t.json", "--repeat", "2"), "")
        trace = json.loads((self.folder / "t.json").read_text())
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual([event["args"]["step"] for event in events], [0, 1, 3, 3, 3, 2])
        self.assertEqual(events[1]["name"], "product")
        for event in events:
            self.assertTrue(event["ts"] >= 0 and event["dur"] >= 0 and event["pid"] == 1 and event["tid"] == 1)
        ends = [event["ts"] + event["dur"] for event in events]
        self.assertTrue(all(ends[i] <= events[i + 1]["ts"] + 0.01 for i in [0, 1, 2, 3]))
        self.assertTrue(events[5]["ts"] <= events[2]["ts"] and ends[4] <= ends[5] + 0.01)
        self.assertEqual(events[0]["args"]["flops"], 64 * 64)
        self.assertEqual(min(event["ts"] for event in events), 0)

    def peak(self, *more):
        """Bytes of memory that a run of the loop takes at most."""
        with open(self.folder / "out", "w") as out:
            process = subprocess.Popen([WEFT, "run", "loop.weft", *more], cwd=self.folder, stdout=out, stderr=out)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, OK)
        return 1024 * usage.ru_maxrss

    def test_sums_need_no_calls(self):
        (self.folder / "loop.weft").write_text(LOOP.replace("TRIPS", str(1_000_000)))
        plain = self.peak()
        self.assertLess(self.peak("--profile") - plain, 8 << 20)
        self.assertIn("1 kernel add (1000000 times)", (self.folder / "out").read_text())

    @unittest.skipIf(SMALL, "large")
    def test_long_trace(self):
        """A million calls, and what is outside of the loop."""
        (self.folder / "loop.weft").write_text(LOOP.replace("TRIPS", str(1_000_007)))
        found, out, error = self.weft("run", "loop.weft", "--trace", "t.json")
        self.assertEqual((found, error), (OK, "the trace has 1000001 calls of steps; 7 later ones in loops and branches "
                                              "are left out\n"))
        with open(self.folder / "t.json") as trace:
            lines = trace.read().splitlines()
        self.assertIn('"calls_left_out":7', lines[0])
        events = [line for line in lines if '"ph":"X"' in line]
        self.assertEqual(len(events), 1_000_001)
        self.assertEqual(json.loads(events[-1])["name"], "fold")

    def test_einsum(self):
        status, out, _ = self.weft("einsum", "ij,jk->ik", "a.npy", "b.npy", "-o", "o.npy", "--profile")
        self.assertEqual(status, OK)
        self.assertIn("all steps; bytes and flops are estimates", out)

    def test_stats_stay_last(self):
        self.assertEqual(json.loads(self.run_profiled("--profile", "--stats").splitlines()[-1])["cache"]["misses"], 1)

    def test_failures(self):
        self.refuses(FAILED, "run: none/t.json cannot be written: No such file or directory",
                     "run", "p.weft", "a=square.npy", "-o", "o.npy", "--trace", "none/t.json")
        self.refuses(MISUSED, "run: --view takes a file that ends in .svg, .dot or .html, not 'p.png'",
                     "run", "p.weft", "a=square.npy", "--view", "p.png")

    def test_page(self):
        self.prints("", "view", "p.weft", "-o", "p.html")
        page = Page((self.folder / "p.html").read_text())
        self.assertEqual(page.foreign, [])
        self.assertEqual(sorted(page.nodes), list(range(len(page.told["nodes"]))))
        ops = [node["op"] for node in page.told["nodes"]]
        self.assertEqual(ops, ["input", "add", "dot", "fold", "output"])
        dot, fold, output = page.told["nodes"][2:]
        self.assertEqual(output["name"], 'y </script> " <')
        self.assertEqual(dot["name"], "product")
        self.assertIn("contract_a = [1]", dot["attributes"])
        self.assertEqual(dot["types"], ["f32[n, n]"])
        self.assertEqual([region["name"] for region in fold["regions"]], ["body"])
        self.assertIn("mul", fold["regions"][0]["ops"])
        self.assertEqual(sorted(page.steps), [step["number"] for step in page.told["steps"]])
        self.assertFalse(any("ms" in step for step in page.told["steps"]))

    def test_page_with_times(self):
        self.run_profiled("--view", "p.html")
        told = Page((self.folder / "p.html").read_text()).told
        self.assertEqual([step["name"] for step in told["steps"]], ["add", "product", "fold"])
        self.assertAlmostEqual(sum(step["share"] for step in told["steps"]), 1)
        self.assertEqual(told["steps"][1]["flops"], 2 * 64**3)
        self.run_profiled("--view", "p.html", "--backend", "ref")
        told = Page((self.folder / "p.html").read_text()).told
        self.assertIn("The runs had other steps", told["note"])
        self.assertFalse(any("ms" in step for step in told["steps"]))

    @unittest.skipIf(SMALL, "large")
    def test_large_page(self):
        choose = random.Random(1)
        values, lines = ["%x"], []
        for i in range(300):
            a, b = choose.choice(values[-6:]), choose.choice(values[-12:])
            permutes, kinds = " {axes = [1, 0]}", ["add", "mul", "max", "tanh", "permute"]
            op = choose.choice(kinds)
            operands = {"tanh": f"({a})", "permute": f"({a}){permutes}"}.get(op, f"({a}, {b})")
            lines.append(f"  %{i} = {op}{operands}\n")
            values.append(f"%{i}")
        head = 'weft 0.1\ngraph {\n  %x = input() {name = "x", dtype = f32, shape = [4, 4]}\n'
        sums = "".join(f"  %{i + 300} = add({values[i + 1]}, {'%299' if i == 0 else f'%{i + 299}'})\n"
                       for i in range(299))
        (self.folder / "large.weft").write_text(head + "".join(lines) + sums + "  return y = %598\n}\n")
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.prints("", "view", "large.weft", "-o", "large.html")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin, 20)
        page = Page((self.folder / "large.html").read_text())
        self.assertGreater(len(page.nodes), 500)
        self.assertEqual(sorted(page.nodes), list(range(len(page.told["nodes"]))))


if __name__ == "__main__":
    main()
