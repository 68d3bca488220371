# SPDX-License-Identifier: Apache-2.0
"""Signals, and what is told while a search goes on: interrupt.py WEFT."""
import json
import os
import pathlib
import pty
import random
import signal
import subprocess
import time

import numpy

from support import OK, WEFT, Command, main

COUNT = 120
LONG = ["--time-budget", "20", "--objective", "flops"]


def regular(count):
    """A random graph in which each tensor has three links."""
    ends = [i // 3 for i in range(3 * count)]
    random.Random(1).shuffle(ends)
    inputs = [[] for _ in range(count)]
    for i, end in enumerate(ends):
        inputs[end].append(i // 2)
    return {"inputs": inputs, "output": [], "size_dict": {str(i): 2 for i in range(3 * count // 2)}}


def take_signals():
    """Whoever began this may ignore some."""
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, signal.SIG_DFL)


class Signals(Command):
    def start(self, *arguments, **options):
        usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": take_signals}
        process = subprocess.Popen([WEFT, *arguments], cwd=self.folder, **{**usual, **options})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for pipe in filter(None, [process.stdout, process.stderr]):
            self.addCleanup(pipe.close)
        return process


class Interrupt(Signals):
    def setUp(self):
        super().setUp()
        (self.folder / "regular.json").write_text(json.dumps(regular(COUNT)))

    def interrupt(self, number, *more):
        """Ends a search once it has an order; what it prints."""
        process = self.start("einsum", "--instance", "regular.json", *LONG, "--progress", *more)
        told = []
        while not told or "10^" not in told[-1]:
            told.append(process.stderr.readline())
            self.assertRegex(told[-1], r"^searching for \d+\.\d s of 20 s(: 10\^\d+\.\d\d multiplies, by [a-z]+)?\n$")
        process.send_signal(number)
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + number)
        return out, error.splitlines()[-1]

    def check_order(self, text):
        self.assertEqual(len(json.loads(text)), COUNT - 1)
        (self.folder / "order").write_text(text)
        self.assertEqual(self.weft("einsum", "--instance", "regular.json", "--plan-only", "--order", "order")[0], OK)

    def test_plan_only(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            out, error = self.interrupt(number, "--plan-only", "--stats", "--tree", "tree.txt")
            self.assertRegex(error, r"^weft einsum: interrupted after \d+\.\d s; the order is the best found so far$")
            lines = out.splitlines()
            self.assertEqual(lines[0], f"operands            {COUNT}")
            self.check_order(lines[-2])
            self.assertEqual(json.loads(lines[-1])["operands"], COUNT)
            self.assertGreater((self.folder / "tree.txt").stat().st_size, 1000)

    def test_forms(self):
        out, _ = self.interrupt(signal.SIGINT, "--plan-only", "--print-order", "path")
        self.check_order(out.splitlines()[-1])

    def test_runs(self):
        (self.folder / "r.npy").write_text("old")
        out, error = self.interrupt(signal.SIGINT, "-o", "r.npy")
        self.assertRegex(error, r"^weft einsum: interrupted after .*, and nothing was run$")
        self.check_order(out.splitlines()[-1])
        self.assertEqual((self.folder / "r.npy").read_text(), "old")

    def test_long_runs(self):
        """A matrix for each pair of twelve labels, of which a small memory takes few at once."""
        pairs = [[i, j] for j in range(12) for i in range(j)]
        (self.folder / "long.json").write_text(json.dumps({"inputs": pairs, "output": [], "sizes": {
            str(i): 64 for i in range(12)}}))
        for symbolic in [[], ["--symbolic"]]:
            process = self.start("einsum", "--instance", "long.json", "--memory-limit", "1M", "--moves", "100",
                                 *symbolic)
            self.assertRegex(process.stderr.readline(), r"^weft einsum: the run is predicted to take \d\S* hours; "
                                                        r"slicing overhead \d\S*x\n$")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, OK)

    def test_second_signal_ends_at_once(self):
        """Both come before the search can look at the first."""
        process = self.start("einsum", "--instance", "regular.json", *LONG, "--progress")
        process.stderr.readline()
        for number in [signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT]:
            process.send_signal(number)
        self.assertEqual(process.communicate(timeout=60)[0], "")
        self.assertIn(process.returncode, [-signal.SIGINT, -signal.SIGTERM])

    def test_ignored_signals_stay_ignored(self):
        process = self.start("einsum", "--instance", "regular.json", "--plan-only", "--time-budget", "2", "--progress",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, OK)

    def test_terminal(self):
        """One line that changes, and is gone at the end; nothing without a terminal or --progress."""
        quiet = ["einsum", "--instance", "regular.json", "--plan-only", "--time-budget", "1.5"]
        self.assertEqual(self.weft(*quiet)[2], "")
        try:
            screen, terminal = pty.openpty()
        except OSError as none:
            self.skipTest(f"no pseudo-terminal: {none}")
        process = self.start(*quiet, stderr=terminal)
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(screen, 4096):
                shown += piece
        except OSError:  # how the end shows
            pass
        os.close(screen)
        self.assertEqual(process.wait(60), OK)
        self.assertRegex(shown.decode(), r"^(\rsearching for \d+\.\d s of 1\.5 s(: 10\^\d+\.\d\d multiplies, by [a-z]+)? *)+"
                                         r"\r *\r$")


PAIR = """weft 0.1
graph {
  %x = input() {name = "x", dtype = f32, shape = [COUNT]}
  %y = neg(%x)
  return y = %y, x = %x
}
"""


LOOP = """weft 0.1
graph {
  %x = constant() {dtype = i64, shape = [], data = [0]}
  %t = fold(%x) {trips = 900000, carried = 1} body (%i : i64[], %a : i64[]) {
    %b = add(%a, %i)
    yield %b
  }
  return t = %t
}
"""


QUIET = ["--backend", "ref", "--threads", "1"]  # asleep means that it waits for who reads


class Writing(Signals):
    """The first signal ends what is being written, and nothing of it stays."""
    def setUp(self):
        super().setUp()
        count = 1 << 22
        numpy.save(self.folder / "x.npy", numpy.random.default_rng(1).integers(0, 256, 4 * count, "u1").view("f4"))
        (self.folder / "pair.weft").write_text(PAIR.replace("COUNT", str(count)))

    def wait_asleep(self, process):
        asleep = 0
        while asleep < 10:
            time.sleep(0.05)
            state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            asleep = asleep + 1 if state == "S" else 0

    def count_written(self):
        try:
            return sum(file.stat().st_size for file in self.folder.glob(".weft-*"))
        except FileNotFoundError:  # it was there to find out whether there is a place for it
            return 0

    def end(self, process, number, name):
        process.send_signal(number)
        self.assertEqual(process.wait(20), 128 + number)
        self.assertEqual(process.stderr.read(), f"weft {name} was written\n")

    def test_blocked_pipes(self):
        os.mkfifo(self.folder / "pipe")
        run = ["run", "pair.weft", "x.npy", *QUIET, "-o"]
        with self.subTest("nobody reads"):
            process = self.start("einsum", "i->i", "x.npy", *QUIET, "-o", "-")
            self.wait_asleep(process)
            self.end(process, signal.SIGINT, "einsum: interrupted while standard output")
            process = self.start(*run, "y=-", "-o", "x=late.npy", "--trace", "late.json")
            self.wait_asleep(process)
            self.end(process, signal.SIGTERM, "run: interrupted while standard output")
        with self.subTest("nobody opens"):
            process = self.start(*run, "y=pipe")
            self.wait_asleep(process)
            self.end(process, signal.SIGHUP, "run: interrupted while pipe")
        with self.subTest("a slow reader"):
            process = self.start(*run, "y=pipe")
            with open(self.folder / "pipe", "rb") as pipe:
                pipe.read(1 << 20)
                self.wait_asleep(process)
                self.end(process, signal.SIGINT, "run: interrupted while pipe")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(("late", "."))], [])

    def count_seconds(self, process):
        """The processor's, of the process until now."""
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_nothing_is_made_after_the_signal(self):
        """Of a trace that is long: most of it was not yet text when nobody read on."""
        os.mkfifo(self.folder / "pipe")
        (self.folder / "loop.weft").write_text(LOOP)
        process = self.start("run", "loop.weft", "--trace", "pipe", "--threads", "1")
        with open(self.folder / "pipe", "rb") as pipe:
            pipe.read(1 << 16)
            self.wait_asleep(process)
            before = self.count_seconds(process)
            process.send_signal(signal.SIGTERM)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(process.stderr.read(), "weft run: interrupted while pipe was written\n")
        self.assertLess(usage.ru_utime + usage.ru_stime - before, 0.5)

    def test_slow_readers_get_all(self):
        os.mkfifo(self.folder / "pipe")
        process = self.start("einsum", "i->i", "x.npy", *QUIET, "-o", "pipe")
        self.wait_asleep(process)
        self.assertEqual((self.folder / "pipe").read_bytes(), (self.folder / "x.npy").read_bytes())
        self.assertEqual((process.wait(60), process.stderr.read()), (OK, ""))

    def test_files(self):
        before = sorted([*os.listdir(self.folder), "y.npz"])
        (self.folder / "y.npz").write_text("old")
        for number in [signal.SIGTERM, signal.SIGHUP]:
            with self.subTest(number):
                process = self.start("run", "pair.weft", "x.npy", "-o", "y.npz", "--deflate")
                while self.count_written() < 1 << 16:
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                self.end(process, number, "run: interrupted while y.npz")
                self.assertEqual((self.folder / "y.npz").read_text(), "old")
                self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_signals_after_the_result(self):
        """What has its name is a success, whatever comes while the process ends."""
        result = self.folder / "late.npy"
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            process = self.start("einsum", "i->i", "x.npy", "-o", "late.npy")
            while not result.exists() and process.poll() is None:
                pass
            process.send_signal(number)
            self.assertEqual((process.wait(20), process.stderr.read()), (OK, ""))
            self.assertEqual(result.read_bytes(), (self.folder / "x.npy").read_bytes())
            result.unlink()


if __name__ == "__main__":
    main()
